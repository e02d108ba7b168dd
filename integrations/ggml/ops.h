/* The operations of the plugin: which nodes it takes, and how they are computed. */
#ifndef POSENC_GGML_OPS_H
#define POSENC_GGML_OPS_H

#include <ggml.h>
#include <posenc/posenc.h>

#include <stdbool.h>

/* Ropes that a backend keeps, and the most pairs that one of them may have. */
#define MAX_ROPES 16
#define MAX_ROPE_PAIRS 512

/* A rope and what it was made from. */
typedef struct kept_rope {
    posenc_rope *rope;
    int32_t op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)];
    int64_t head_dim;
    bool has_factors;
    float factors[MAX_ROPE_PAIRS];
} kept_rope;

/* One backend, which one thread at a time computes with. */
typedef struct backend_state {
    int n_threads;
    int oldest_rope;
    kept_rope ropes[MAX_ROPES];
} backend_state;

/* A node that is ready to run: thread ith of nth computes its part. */
typedef posenc_status (*part_of_node)(const void *node, int ith, int nth);

/* Runs all parts of a node on as many threads as the host allowed and the elements are worth. */
posenc_status run_parts(const backend_state *state, part_of_node part, const void *node, int64_t n_elements);

/* One operation: whether a node is of a form that it takes, and its computation. */
typedef struct operation {
    enum ggml_op op;
    const char *name; /* ggml's, to see that both sides number operations alike */
    bool (*takes)(const struct ggml_tensor *node);
    posenc_status (*compute)(backend_state *state, struct ggml_tensor *node);
} operation;

bool takes_rope(const struct ggml_tensor *node);
posenc_status compute_rope(backend_state *state, struct ggml_tensor *node);
posenc_status compute_rope_back(backend_state *state, struct ggml_tensor *node);
void free_ropes(backend_state *state);

bool takes_soft_max(const struct ggml_tensor *node);
posenc_status compute_soft_max(backend_state *state, struct ggml_tensor *node);
bool takes_diag_mask_inf(const struct ggml_tensor *node);
posenc_status compute_diag_mask_inf(backend_state *state, struct ggml_tensor *node);

/* ---- Tensors ---- */

static inline bool is_f32_or_f16(const struct ggml_tensor *tensor) {
    return tensor->type == GGML_TYPE_F32 || tensor->type == GGML_TYPE_F16;
}

/* f32 or f16, with the elements of a row side by side. */
static inline bool has_plain_rows(const struct ggml_tensor *tensor) {
    return is_f32_or_f16(tensor) && tensor->nb[0] == ggml_type_size(tensor->type);
}

static inline posenc_view view_of(const struct ggml_tensor *tensor) {
    posenc_view view = {.data = tensor->data, .dtype = tensor->type == GGML_TYPE_F32 ? POSENC_F32 : POSENC_F16};
    for (int i = 0; i < 4; i++) {
        view.ne[i] = tensor->ne[i];
        view.nb[i] = (int64_t)tensor->nb[i];
    }
    return view;
}

static inline posenc_rows part_of_rows(int64_t n_rows, int ith, int nth) {
    return (posenc_rows){n_rows * ith / nth, n_rows * (ith + 1) / nth};
}

static inline float float_param(const struct ggml_tensor *node, int i) {
    union {
        int32_t word;
        float value;
    } param = {node->op_params[i]};
    return param.value;
}

#endif
