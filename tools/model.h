/* A model's positional parameters, read from a Hugging Face config.json. */
#ifndef POSENC_TOOLS_MODEL_H
#define POSENC_TOOLS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/rope.h>

struct cJSON;

typedef enum position_kind {
    POSITION_UNKNOWN = 0,
    POSITION_ROPE,
    POSITION_ALIBI,
    POSITION_SINUSOIDAL,
    POSITION_LEARNED,
    POSITION_RELATIVE_BUCKETS
} position_kind;

/* Q or K as RoPE sees it. */
typedef struct rotated_tensor {
    int64_t n_heads, head_dim, n_offs;
} rotated_tensor;

typedef struct model_config {
    char model_type[48], architecture[64];
    position_kind kind;
    int64_t hidden_size, n_heads, n_kv_heads, head_dim, n_layers;
    int64_t max_position; /* 0: not stated */
    /* RoPE */
    rotated_tensor q, k;
    posenc_rope_layout layout;
    int64_t n_rot;
    double base;
    /* A change of the frequencies: its name ("llama3", "yarn" ...; empty: none) and the object that describes it,
     * whole, so that whoever learns to apply it finds every field. It lives as long as json. */
    char scaling_type[32];
    const struct cJSON *scaling;
    struct cJSON *json;
} model_config;

/* Reads a file. 1 and *config, to be released with model_free; or 0 and, in error, one line that tells what is wrong
 * and how to put it right. */
int model_read(const char *path, model_config *config, char *error, size_t error_size);
void model_free(model_config *config);

#endif
