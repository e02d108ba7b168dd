/* ROPE and ROPE_BACK: ggml's parameters as a posenc_rope, kept from call to call. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* ---- ggml's parameters ---- */

typedef struct rope_node {
    int64_t n_dims, n_offs, n_ctx_orig;
    int mode;
    double freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    int64_t sections[GGML_MROPE_SECTIONS];
} rope_node;

static rope_node read_node(const struct ggml_tensor *node) {
    rope_node n = {
        .n_dims = node->op_params[1],
        .mode = node->op_params[2],
        .n_ctx_orig = node->op_params[4],
        .freq_base = (double)float_param(node, 5),
        .freq_scale = (double)float_param(node, 6),
        .ext_factor = (double)float_param(node, 7),
        .attn_factor = (double)float_param(node, 8),
        .beta_fast = (double)float_param(node, 9),
        .beta_slow = (double)float_param(node, 10),
        .n_offs = node->op_params[15],
    };
    for (int a = 0; a < GGML_MROPE_SECTIONS; a++)
        n.sections[a] = node->op_params[11 + a];
    return n;
}

static bool has_axes(const rope_node *n) {
    return n->mode == GGML_ROPE_TYPE_MROPE || n->mode == GGML_ROPE_TYPE_IMROPE || n->mode == GGML_ROPE_TYPE_VISION;
}

/* VISION rotates twice the channels that it names. */
static int64_t n_pairs_of(const rope_node *n) {
    return n->mode == GGML_ROPE_TYPE_VISION ? n->n_dims : n->n_dims / 2;
}

/* The position that ggml has pair i follow: 0 .. 3. */
static int axis_of_pair(const rope_node *n, int64_t i) {
    if (n->mode == GGML_ROPE_TYPE_IMROPE)
        return i < 3 * n->sections[i % 3] ? (int)(i % 3) : 3;
    int axis = 0;
    for (int64_t end = n->sections[0]; axis < 3 && i >= end; end += n->sections[axis])
        axis++;
    return axis;
}

/* ---- What is taken ---- */

/* Sections that end before the pairs do start over in ggml; no model has that, and it is declined. */
static bool sections_cover(const rope_node *n) {
    int64_t sum = 0;
    for (int a = 0; a < GGML_MROPE_SECTIONS; a++) {
        if (n->sections[a] < 0)
            return false;
        sum += n->sections[a];
    }
    return sum >= n_pairs_of(n) && 2 * n_pairs_of(n) <= POSENC_MAX_AXES_ROT;
}

static bool numbers_are_in_range(const rope_node *n) {
    bool plain = n->freq_base >= 1.0 && n->freq_base <= 1e30 && n->freq_scale >= 1e-9 && n->freq_scale <= 1e9 &&
                 n->attn_factor > 0.0 && isfinite(n->attn_factor) && isfinite(n->ext_factor);
    if (n->ext_factor == 0.0)
        return plain;
    return plain && n->freq_base > 1.0 && n->beta_slow > 0.0 && n->beta_fast >= n->beta_slow &&
           isfinite(n->beta_fast) && (double)n->n_ctx_orig >= 7.0 * n->beta_slow;
}

bool takes_rope(const struct ggml_tensor *node) {
    const struct ggml_tensor *x = node->src[0], *positions = node->src[1], *factors = node->src[2];
    rope_node n = read_node(node);
    int64_t n_pairs = n_pairs_of(&n);
    if (!has_plain_rows(x) || !has_plain_rows(node) || x->type != node->type)
        return false;
    if (positions->type != GGML_TYPE_I32 || !ggml_is_contiguous(positions))
        return false;
    if (factors != NULL &&
        (factors->type != GGML_TYPE_F32 || !ggml_is_contiguous(factors) || factors->ne[0] < n_pairs))
        return false;
    if (n.n_dims < 2 || n.n_dims % 2 != 0 || n_pairs > MAX_ROPE_PAIRS || n.n_offs < 0 ||
        n.n_offs + 2 * n_pairs > x->ne[0])
        return false;
    if (has_axes(&n))
        return sections_cover(&n) && numbers_are_in_range(&n);
    return (n.mode == GGML_ROPE_TYPE_NORMAL || n.mode == GGML_ROPE_TYPE_NEOX) && numbers_are_in_range(&n);
}

/* ---- The rope ---- */

/* Positions by axis; counting pairs makes sections that reach beyond the last pair end with it. */
static void set_axes(const rope_node *n, posenc_rope_params *params) {
    params->axes.kind = n->mode == GGML_ROPE_TYPE_IMROPE ? POSENC_AXES_IMROPE_GGML : POSENC_AXES_MROPE;
    params->axes.n_axes = GGML_MROPE_SECTIONS;
    for (int64_t i = 0; i < n_pairs_of(n); i++)
        params->axes.sections[axis_of_pair(n, i)]++;
}

/* VISION restarts its frequencies with each section while its YaRN ramp and freq_factors go on. Such frequencies are given
 * one by one, as divisors of a base of 1. */
static void set_vision(const rope_node *n, posenc_rope_params *params, double *divisors) {
    float ramp[2];
    ggml_rope_yarn_corr_dims((int)n->n_dims, (int)n->n_ctx_orig, (float)n->freq_base, (float)n->beta_fast,
                             (float)n->beta_slow, ramp);
    double width = fmax(0.001, (double)ramp[1] - (double)ramp[0]);
    for (int64_t i = 0, section_start = 0; i < n->n_dims; i++) {
        if (i > 0 && axis_of_pair(n, i) != axis_of_pair(n, i - 1))
            section_start = i;
        double theta = pow(n->freq_base, -2.0 * (double)(i - section_start) / (double)n->n_dims) / divisors[i];
        double unscaled = n->ext_factor == 0.0 ? 0.0
                          : n->ext_factor * (1.0 - fmin(1.0, fmax(0.0, ((double)i - (double)ramp[0]) / width)));
        divisors[i] = 1.0 / (theta * (n->freq_scale * (1.0 - unscaled) + unscaled));
    }
    if (n->ext_factor != 0.0)
        params->scaling.attention_factor *= 1.0 - 0.1 * log(n->freq_scale);
    params->scaling.ext_factor = 0.0;
    params->scaling.factor = 1.0;
    params->base = 1.0;
}

static posenc_status make_rope(const struct ggml_tensor *node, const float *factors, posenc_rope **rope) {
    rope_node n = read_node(node);
    int64_t n_pairs = n_pairs_of(&n);
    bool is_vision = n.mode == GGML_ROPE_TYPE_VISION;
    double divisors[MAX_ROPE_PAIRS];
    for (int64_t i = 0; i < MAX_ROPE_PAIRS; i++)
        divisors[i] = factors != NULL && i < n_pairs ? (double)factors[i] : 1.0;
    posenc_rope_params params;
    posenc_status status = posenc_rope_params_from_ggml(
        &params, node->ne[0], 2 * n_pairs, n.mode == GGML_ROPE_TYPE_NORMAL ? 0 : 2, n.n_ctx_orig, n.freq_base,
        n.freq_scale, n.ext_factor, n.attn_factor, n.beta_fast, n.beta_slow,
        factors != NULL || is_vision ? divisors : NULL);
    if (status != POSENC_OK)
        return status;
    params.n_offs = n.n_offs;
    if (has_axes(&n))
        set_axes(&n, &params);
    if (is_vision)
        set_vision(&n, &params, divisors);
    return posenc_rope_create(&params, rope);
}

/* ---- Ropes that are kept ---- */

static bool is_made_from(const kept_rope *kept, const struct ggml_tensor *node, const float *factors, int64_t n_pairs) {
    return kept->rope != NULL && kept->head_dim == node->ne[0] && kept->has_factors == (factors != NULL) &&
           memcmp(kept->op_params, node->op_params, sizeof kept->op_params) == 0 &&
           (factors == NULL || memcmp(kept->factors, factors, (size_t)n_pairs * sizeof *factors) == 0);
}

/* The rope of a node: one that is kept, or a new one in place of the oldest. */
static posenc_status rope_of_node(backend_state *state, const struct ggml_tensor *node, const posenc_rope **rope) {
    const float *factors = node->src[2] != NULL ? node->src[2]->data : NULL;
    rope_node n = read_node(node);
    int64_t n_pairs = n_pairs_of(&n);
    for (int i = 0; i < MAX_ROPES; i++) {
        *rope = state->ropes[i].rope;
        if (is_made_from(&state->ropes[i], node, factors, n_pairs))
            return POSENC_OK;
    }
    kept_rope *kept = &state->ropes[state->oldest_rope];
    state->oldest_rope = (state->oldest_rope + 1) % MAX_ROPES;
    posenc_rope_free(kept->rope);
    kept->rope = NULL;
    posenc_status status = make_rope(node, factors, &kept->rope);
    *rope = kept->rope;
    if (status != POSENC_OK)
        return status;
    memcpy(kept->op_params, node->op_params, sizeof kept->op_params);
    kept->head_dim = node->ne[0];
    kept->has_factors = factors != NULL;
    if (factors != NULL)
        memcpy(kept->factors, factors, (size_t)n_pairs * sizeof *factors);
    return POSENC_OK;
}

void free_ropes(backend_state *state) {
    for (int i = 0; i < MAX_ROPES; i++)
        posenc_rope_free(state->ropes[i].rope);
}

/* ---- Compute ---- */

typedef struct rope_job {
    const posenc_rope *rope;
    const int32_t *positions;
    posenc_view x, y;
    posenc_direction direction;
} rope_job;

static posenc_status rope_part(const void *node, int ith, int nth) {
    const rope_job *job = node;
    posenc_rows rows = part_of_rows(job->x.ne[1] * job->x.ne[2] * job->x.ne[3], ith, nth);
    return posenc_rope_apply(job->rope, &job->x, job->positions, &job->y, job->direction, rows);
}

static posenc_status rotate(backend_state *state, struct ggml_tensor *node, posenc_direction direction) {
    rope_job job = {NULL, node->src[1]->data, view_of(node->src[0]), view_of(node), direction};
    posenc_status status = rope_of_node(state, node, &job.rope);
    return status == POSENC_OK ? run_parts(state, rope_part, &job, ggml_nelements(node)) : status;
}

posenc_status compute_rope(backend_state *state, struct ggml_tensor *node) {
    return rotate(state, node, POSENC_FORWARD);
}

posenc_status compute_rope_back(backend_state *state, struct ggml_tensor *node) {
    return rotate(state, node, POSENC_BACKWARD);
}
