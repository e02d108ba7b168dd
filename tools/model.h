/* SPDX-License-Identifier: MIT */
/* A model's positional parameters, read from a Hugging Face config.json or from a GGUF file. */
#ifndef POSENC_TOOLS_MODEL_H
#define POSENC_TOOLS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/rope_config.h>

typedef enum position_kind {
    POSITION_UNKNOWN = 0,
    POSITION_NONE,
    POSITION_ROPE,
    POSITION_ALIBI,
    POSITION_SINUSOIDAL,
    POSITION_LEARNED,
    POSITION_RELATIVE_BUCKETS,
    POSITION_RELATIVE_KEYS
} position_kind;

/* Q or K as RoPE sees it: the rotated channels of a head begin at n_offs. */
typedef struct rotated_tensor {
    int64_t n_heads, head_dim, n_offs;
} rotated_tensor;

/* One list of frequencies. Some models have several: for kinds of layers, or for lengths of the context. */
typedef struct model_table {
    char name[64];      /* empty where there is only one */
    int64_t n_layers;   /* that use it; 0: not known */
    int is_alternative; /* in the place of another table, in longer contexts */
    rotated_tensor q, k;
    posenc_rope_params params; /* of a head of Q */
} model_table;

enum { MODEL_MOST_TABLES = 6, MODEL_MOST_LISTS = 8 };

typedef struct model_config {
    char model_type[64], architecture[64];
    position_kind kind;
    int64_t hidden_size, n_heads, n_kv_heads, head_dim, n_layers;
    int64_t max_position; /* 0: not stated */
    double max_bias;      /* ALiBi: the smallest slope is 2^-max_bias */
    int bias_is_scaled;   /* ALiBi: the bias is multiplied by 1/sqrt(head_dim), as the products are */
    /* RoPE */
    int has_qk_norm; /* each head of Q and K is normalised first */
    int n_tables;
    model_table tables[MODEL_MOST_TABLES];
    double *lists[MODEL_MOST_LISTS]; /* that the tables point to */
    char not_understood[320];        /* names, with commas between them */
    char guessed[96];                /* what neither the file nor its type tells */
} model_config;

/* Reads a file. context: the longest sequence to come; 0: as long as the model takes. 1 and *config, to be released
 * with model_free; or 0 and, in error, one line that tells what is wrong and how to put it right, without the path. */
int model_read(const char *path, double context, model_config *config, char *error, size_t error_size);
void model_free(model_config *config);

/* Names and paths may hold anything, but they are printed on one line, and no terminal may obey them: of control
 * characters, and of bytes that are no UTF-8, each becomes '?'. */
void model_make_printable(char *text);

/* What a tensor asks of posenc_rope_create. */
static inline posenc_rope_params model_rope_params(const model_table *table, const rotated_tensor *tensor) {
    posenc_rope_params params = table->params;
    params.head_dim = tensor->head_dim;
    params.n_offs = tensor->n_offs;
    return params;
}

#endif
