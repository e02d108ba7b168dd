/* SPDX-License-Identifier: MIT */
/* ROPE and ROPE_BACK: ggml's parameters as a posenc_rope, kept from call to call. */
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "core/view.h"

/* ---- ggml's parameters ---- */

static int64_t n_pairs_of(const struct ggml_tensor *node) {
    int64_t n_dims = node->op_params[1];
    return node->op_params[2] == GGML_ROPE_TYPE_VISION ? n_dims : n_dims / 2;
}

static int64_t n_axes_of(const struct ggml_tensor *node) {
    return node->op_params[2] & GGML_ROPE_TYPE_MROPE ? GGML_MROPE_SECTIONS : 1;
}

/* No rope is made of what this refuses, so none that is kept has more than MAX_ROPE_PAIRS. */
static posenc_status read_params(const struct ggml_tensor *node, posenc_rope_params *params) {
    const struct ggml_tensor *factors = node->src[2];
    posenc_rope_ggml ggml = {
        .head_dim = node->ne[0],
        .n_dims = node->op_params[1],
        .mode = node->op_params[2],
        .n_offs = node->op_params[15],
        .n_ctx_orig = node->op_params[4],
        .freq_base = (double)float_param(node, 5),
        .freq_scale = (double)float_param(node, 6),
        .ext_factor = (double)float_param(node, 7),
        .attn_factor = (double)float_param(node, 8),
        .beta_fast = (double)float_param(node, 9),
        .beta_slow = (double)float_param(node, 10),
        .freq_factors = factors != NULL ? factors->data : NULL,
        .n_freq_factors = factors != NULL ? factors->ne[0] : 0,
    };
    memcpy(ggml.sections, node->op_params + 11, sizeof ggml.sections);
    posenc_status status = posenc_rope_params_from_ggml(&ggml, params);
    return status == POSENC_OK && params->n_rot > 2 * MAX_ROPE_PAIRS ? POSENC_ERR_N_ROT : status;
}

posenc_status check_rope(const struct ggml_tensor *node) {
    const struct ggml_tensor *x = node->src[0], *positions = node->src[1], *factors = node->src[2];
    if (!is_f32_or_f16(x) || x->type != node->type)
        return POSENC_ERR_DTYPE;
    posenc_view from = view_to_check(node, x), to = view_to_check(node, node);
    posenc_status status = posenc_check_elementwise(&from, &to);
    if (status == POSENC_OK)
        status = check_list(node, positions, GGML_TYPE_I32, n_axes_of(node) * node->ne[2]);
    if (status == POSENC_OK && factors != NULL)
        status = check_list(node, factors, GGML_TYPE_F32, n_pairs_of(node));
    return status;
}

/* When ggml asks, the factors need have no memory yet: they are not read. */
posenc_status check_rope_arguments(const struct ggml_tensor *node) {
    posenc_rope_params params;
    return read_params(node, &params);
}

static posenc_status make_rope(const struct ggml_tensor *node, posenc_rope **rope) {
    posenc_rope_params params;
    posenc_status status = read_params(node, &params);
    return status == POSENC_OK ? posenc_rope_create(&params, rope) : status;
}

/* ---- Ropes that are kept ---- */

static size_t factors_size(const kept_rope *kept) {
    return (size_t)posenc_rope_pair_count(kept->rope) * sizeof *kept->factors;
}

static bool is_made_from(const kept_rope *kept, const struct ggml_tensor *node, const float *factors) {
    return kept->rope != NULL && kept->head_dim == node->ne[0] && kept->has_factors == (factors != NULL) &&
           memcmp(kept->op_params, node->op_params, sizeof kept->op_params) == 0 &&
           (factors == NULL || memcmp(kept->factors, factors, factors_size(kept)) == 0);
}

static void forget_rows(kept_rows *rows) {
    free(rows->positions);
    free(rows->memory);
    *rows = (kept_rows){0};
}

static void forget_rope(kept_rope *kept) {
    forget_rows(&kept->rows);
    posenc_rope_free(kept->rope);
    kept->rope = NULL;
}

void free_ropes(backend_state *state) {
    for (int i = 0; i < MAX_ROPES; i++)
        forget_rope(&state->ropes[i]);
}

/* The rope of a node: one that is kept, or a new one in place of the oldest. */
static posenc_status rope_of_node(backend_state *state, const struct ggml_tensor *node, kept_rope **rope) {
    const float *factors = node->src[2] != NULL ? node->src[2]->data : NULL;
    for (int i = 0; i < MAX_ROPES; i++) {
        *rope = &state->ropes[i];
        if (is_made_from(*rope, node, factors))
            return POSENC_OK;
    }
    kept_rope *kept = *rope = &state->ropes[state->oldest_rope];
    state->oldest_rope = (state->oldest_rope + 1) % MAX_ROPES;
    forget_rope(kept);
    posenc_status status = make_rope(node, &kept->rope);
    if (status != POSENC_OK)
        return status;
    memcpy(kept->op_params, node->op_params, sizeof kept->op_params);
    kept->head_dim = node->ne[0];
    kept->has_factors = factors != NULL;
    if (factors != NULL)
        memcpy(kept->factors, factors, factors_size(kept));
    return POSENC_OK;
}

/* Rows for these positions, kept or made; without memory for them, or if they are too many, there are none. */
static posenc_status keep_rows(kept_rope *kept, const struct ggml_tensor *positions, int64_t n_tokens,
                               posenc_direction direction) {
    kept_rows *rows = &kept->rows;
    size_t size = (size_t)n_tokens * (size_t)posenc_rope_axis_count(kept->rope) * sizeof *rows->positions;
    if (rows->n_tokens == n_tokens && rows->direction == direction &&
        memcmp(rows->positions, positions->data, size) == 0)
        return POSENC_OK;
    int64_t bytes = posenc_rope_table_bytes(kept->rope, n_tokens);
    if (bytes == 0 || bytes > MAX_TABLE_BYTES || rows->n_tokens != n_tokens)
        forget_rows(rows);
    if (bytes == 0 || bytes > MAX_TABLE_BYTES)
        return POSENC_OK;
    if (rows->n_tokens == 0) {
        rows->positions = malloc(size);
        rows->memory = malloc((size_t)bytes);
        rows->table = posenc_rope_table_dense(kept->rope, rows->memory);
    }
    if (rows->positions == NULL || rows->memory == NULL) {
        forget_rows(rows);
        return POSENC_OK;
    }
    memcpy(rows->positions, positions->data, size);
    rows->n_tokens = n_tokens;
    rows->direction = direction;
    posenc_status status = posenc_rope_table_fill(kept->rope, rows->positions, n_tokens, direction, &rows->table);
    if (status != POSENC_OK)
        forget_rows(rows);
    return status;
}

/* ---- Compute ---- */

typedef struct rope_job {
    const kept_rope *kept;
    const int32_t *positions;
    posenc_view x, y;
    posenc_direction direction;
} rope_job;

static posenc_status rope_part(const void *node, int ith, int nth) {
    const rope_job *job = node;
    const kept_rope *kept = job->kept;
    posenc_range rows = posenc_range_of_thread(job->x.ne[1] * job->x.ne[2] * job->x.ne[3], ith, nth);
    if (kept->rows.n_tokens > 0)
        return posenc_rope_apply_table(kept->rope, &job->x, &kept->rows.table, &job->y, job->direction, rows);
    return posenc_rope_apply(kept->rope, &job->x, job->positions, &job->y, job->direction, rows);
}

static posenc_status rotate(backend_state *state, struct ggml_tensor *node, posenc_direction direction) {
    kept_rope *kept;
    posenc_status status = rope_of_node(state, node, &kept);
    if (status == POSENC_OK)
        status = keep_rows(kept, node->src[1], node->ne[2], direction);
    if (status != POSENC_OK)
        return status;
    rope_job job = {kept, node->src[1]->data, view_of(node->src[0]), view_of(node), direction};
    return run_parts(state, rope_part, &job, ggml_nelements(node));
}

posenc_status compute_rope(backend_state *state, struct ggml_tensor *node) {
    return rotate(state, node, POSENC_FORWARD);
}

posenc_status compute_rope_back(backend_state *state, struct ggml_tensor *node) {
    return rotate(state, node, POSENC_BACKWARD);
}
