/* SPDX-License-Identifier: MIT */
/* The operations of the plugin: which nodes it takes, and how they are computed. */
#ifndef POSENC_GGML_OPS_H
#define POSENC_GGML_OPS_H

#include <ggml.h>
#include <posenc/posenc.h>

#include <stdbool.h>

#include "kernels/formats.h"

/* Ropes that a backend keeps, and the most pairs that one of them may have. */
#define MAX_ROPES 16
#define MAX_ROPE_PAIRS 512

#define OP_WORDS (GGML_MAX_OP_PARAMS / (int)sizeof(int32_t))

/* Cosines and sines of the last positions: Q and K of all layers of a graph have the same. */
typedef struct kept_rows {
    int32_t *positions; /* [n_tokens * axes] */
    float *memory;      /* of the table */
    int64_t n_tokens;   /* 0: none */
    posenc_direction direction;
    posenc_rope_table table;
} kept_rows;

/* Tables beyond this are not kept: rows are made as the heads go by. */
#define MAX_TABLE_BYTES (INT64_C(1) << 20)

/* A rope and what it was made from. */
typedef struct kept_rope {
    posenc_rope *rope;
    int32_t op_params[OP_WORDS];
    int64_t head_dim;
    bool has_factors;
    float factors[MAX_ROPE_PAIRS];
    kept_rows rows;
} kept_rope;

/* One backend, which one thread at a time computes with. */
typedef struct backend_state {
    int n_threads;
    int oldest_rope;
    kept_rope ropes[MAX_ROPES];
    char *scratch; /* of all threads, kept from node to node */
    size_t scratch_size;
} backend_state;

/* A line to ggml's log. */
__attribute__((format(printf, 1, 2))) void log_error(const char *format, ...);

/* Scratch of the backend, kept from node to node; NULL if there is none to be had. */
char *scratch_of(backend_state *state, size_t needed);

static inline size_t whole_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* A node that is ready to run: thread ith of nth computes its part. */
typedef posenc_status (*part_of_node)(const void *node, int ith, int nth);

/* Runs all parts of a node on as many threads as the host allowed and the work is worth. */
posenc_status run_parts(const backend_state *state, part_of_node part, const void *node, int64_t work);

/* One operation. Hosts may pin a node to the backend without asking, so what ggml asks is checked again before a node
 * is computed: by `check`, and by `compute` what takes longer. Only values are not known when ggml asks. */
typedef struct operation {
    enum ggml_op op;
    const char *name;     /* ggml's, to see that both sides number operations alike */
    uint32_t known_words; /* of op_params, a bit each; a node with others, or more sources, may mean something new */
    int n_sources;
    posenc_status (*check)(const struct ggml_tensor *node);
    posenc_status (*check_arguments)(const struct ggml_tensor *node); /* NULL: check does it */
    int64_t (*work)(const struct ggml_tensor *node); /* elements to be rotated, scores to be made probabilities */
    posenc_status (*compute)(backend_state *state, struct ggml_tensor *node); /* of a node that passed check */
} operation;

/* Whether this ggml keeps the arguments of an operation where the functions below read them. */
bool arguments_are_known(enum ggml_op op);

posenc_status check_rope(const struct ggml_tensor *node);
posenc_status check_rope_arguments(const struct ggml_tensor *node);
posenc_status compute_rope(backend_state *state, struct ggml_tensor *node);
posenc_status compute_rope_back(backend_state *state, struct ggml_tensor *node);
void free_ropes(backend_state *state);

posenc_status check_soft_max(const struct ggml_tensor *node);
posenc_status compute_soft_max(backend_state *state, struct ggml_tensor *node);
posenc_status check_diag_mask_inf(const struct ggml_tensor *node);
posenc_status compute_diag_mask_inf(backend_state *state, struct ggml_tensor *node);

posenc_status check_flash_attn(const struct ggml_tensor *node);
int64_t work_of_flash_attn(const struct ggml_tensor *node);
posenc_status compute_flash_attn(backend_state *state, struct ggml_tensor *node);

/* ---- Scores ---- */

/* Slopes are made for each node, on the stack. */
#define MAX_HEADS 1024

/* Checks the mask of a node. ggml repeats a mask over heads and batches. NULL: no mask. */
posenc_status check_mask(const struct ggml_tensor *node, const struct ggml_tensor *mask, int64_t n_keys,
                         const struct ggml_tensor *queries);
posenc_status check_sinks(const struct ggml_tensor *node, const struct ggml_tensor *sinks, int64_t n_heads);

/* A mask may have more rows than there are queries. */
posenc_view mask_of(posenc_view mask, int64_t n_queries);

/* ALiBi by slopes that the mask is multiplied with; max_bias 0: none. */
posenc_status check_slopes(float max_bias, int64_t n_heads);
posenc_status set_slopes(posenc_score_params *params, float max_bias, int64_t n_heads, float *slopes);

/* ---- Tensors ---- */

static inline bool is_f32_or_f16(const struct ggml_tensor *tensor) {
    return tensor->type == GGML_TYPE_F32 || tensor->type == GGML_TYPE_F16;
}

static inline enum ggml_type ggml_type_of(posenc_dtype type) {
    switch (type) {
    case POSENC_F32: break;
    case POSENC_F16: return GGML_TYPE_F16;
    case POSENC_BF16: return GGML_TYPE_BF16;
    case POSENC_Q8_0: return GGML_TYPE_Q8_0;
    case POSENC_Q4_0: return GGML_TYPE_Q4_0;
    case POSENC_Q5_0: return GGML_TYPE_Q5_0;
    case POSENC_Q4_1: return GGML_TYPE_Q4_1;
    case POSENC_Q5_1: return GGML_TYPE_Q5_1;
    case POSENC_IQ4_NL: return GGML_TYPE_IQ4_NL;
    case POSENC_F8_E4M3: return GGML_TYPE_COUNT; /* ggml has none */
    }
    return GGML_TYPE_F32;
}

/* POSENC_TYPES for a type that posenc lacks. */
static inline int stored_type(enum ggml_type type) {
    int found = 0;
    while (found < POSENC_TYPES && ggml_type_of((posenc_dtype)found) != type)
        found++;
    return found;
}

static inline posenc_dtype dtype_of(const struct ggml_tensor *tensor) {
    int type = stored_type(tensor->type);
    return type < POSENC_TYPES ? (posenc_dtype)type : POSENC_F32;
}

static inline posenc_view view_of(const struct ggml_tensor *tensor) {
    posenc_view view = {.data = tensor->data, .dtype = dtype_of(tensor)};
    for (int i = 0; i < 4; i++) {
        view.ne[i] = tensor->ne[i];
        view.nb[i] = (int64_t)tensor->nb[i];
    }
    return view;
}

/* A tensor of a node as the library's checks see it. Without memory yet it lies at an address that stands for it, apart
 * from the node's other tensors unless they are views of the same one. */
posenc_view view_to_check(const struct ggml_tensor *node, const struct ggml_tensor *tensor);

/* n numbers or more of four bytes, side by side. */
posenc_status check_list(const struct ggml_tensor *node, const struct ggml_tensor *list, enum ggml_type type,
                         int64_t n);

/* Heads and batches from (head, batch) on, so many of them. */
static inline posenc_view block_of(const posenc_view *view, int64_t head, int64_t batch, int64_t n_heads,
                                   int64_t n_batch) {
    posenc_view block = *view;
    block.data = (char *)view->data + head * view->nb[2] + batch * view->nb[3];
    block.ne[2] = n_heads;
    block.ne[3] = n_batch;
    return block;
}

static inline float float_param(const struct ggml_tensor *node, int i) {
    union {
        int32_t word;
        float value;
    } param = {node->op_params[i]};
    return param.value;
}

#endif
