/* ROPE and ROPE_BACK: ggml's parameters as a posenc_rope, kept from call to call. */
#include <math.h>
#include <stdlib.h>
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
                 n->attn_factor > 0.0 && isfinite(n->attn_factor);
    bool ramp = n->ext_factor >= 0.0 && n->ext_factor <= 1.0 && n->freq_base > 1.0 && n->beta_fast > 0.0 &&
                n->beta_slow > 0.0 && n->n_ctx_orig >= 0;
    return plain && (ramp || n->ext_factor == 0.0);
}

bool takes_rope(const struct ggml_tensor *node) {
    const struct ggml_tensor *x = node->src[0], *positions = node->src[1], *factors = node->src[2];
    rope_node n = read_node(node);
    int64_t n_pairs = n_pairs_of(&n);
    if (!has_plain_rows(x) || !has_plain_rows(node) || x->type != node->type)
        return false;
    if (positions->type != GGML_TYPE_I32 || !ggml_is_contiguous(positions))
        return false;
    if (factors != NULL && (factors->type != GGML_TYPE_F32 || !ggml_is_contiguous(factors) || factors->ne[0] < n_pairs))
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

/* The share of a pair's frequency that YaRN leaves unscaled; ramp holds the pairs at which it starts and ends to fall. */
static double unscaled_share(const rope_node *n, const float *ramp, int64_t i) {
    if (n->ext_factor == 0.0)
        return 0.0;
    double first = (double)ramp[0], width = fmax(0.001, (double)ramp[1] - first);
    return n->ext_factor * (1.0 - fmin(1.0, fmax(0.0, ((double)i - first) / width)));
}

/* Positions are whole numbers, so frequencies that differ by whole turns are the same: what freq_factors that no model
 * has (negative, or next to 0) lead to becomes something between 0 and a turn. */
static double usual_frequency(double theta) {
    const double turn = 6.283185307179586;
    if (theta < 0.0 || theta > POSENC_MAX_FREQUENCY)
        theta -= turn * floor(theta / turn);
    return fmax(theta, 1e-30);
}

/* ggml's frequencies in double. VISION restarts them with each section, while ramp and freq_factors go on. */
static void make_frequencies(const rope_node *n, const float *factors, double *theta) {
    float ramp[2];
    ggml_rope_yarn_corr_dims((int)n->n_dims, (int)n->n_ctx_orig, (float)n->freq_base, (float)n->beta_fast,
                             (float)n->beta_slow, ramp);
    for (int64_t i = 0, start = 0; i < n_pairs_of(n); i++) {
        if (n->mode == GGML_ROPE_TYPE_VISION && i > 0 && axis_of_pair(n, i) != axis_of_pair(n, i - 1))
            start = i;
        double full = pow(n->freq_base, -2.0 * (double)(i - start) / (double)n->n_dims);
        double share = unscaled_share(n, ramp, i);
        double divisor = factors != NULL ? (double)factors[i] : 1.0;
        theta[i] = usual_frequency(full / divisor * (n->freq_scale * (1.0 - share) + share));
    }
}

/* Frequencies are given one by one, as divisors of a base of 1. */
static posenc_status make_rope(const struct ggml_tensor *node, const float *factors, posenc_rope **rope) {
    rope_node n = read_node(node);
    double divisors[MAX_ROPE_PAIRS];
    make_frequencies(&n, factors, divisors);
    for (int64_t i = 0; i < n_pairs_of(&n); i++)
        divisors[i] = 1.0 / divisors[i];
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = n.mode == GGML_ROPE_TYPE_NORMAL ? POSENC_ROPE_INTERLEAVED : POSENC_ROPE_HALF;
    params.head_dim = node->ne[0];
    params.n_rot = 2 * n_pairs_of(&n);
    params.n_offs = n.n_offs;
    params.base = 1.0;
    params.scaling.type = POSENC_SCALING_GGML;
    params.scaling.ext_factor = 0.0;
    params.scaling.attention_factor = n.attn_factor * (n.ext_factor == 0.0 ? 1.0 : 1.0 - 0.1 * log(n.freq_scale));
    params.scaling.freq_factors = divisors;
    params.scaling.n_factors = n_pairs_of(&n);
    if (has_axes(&n))
        set_axes(&n, &params);
    return posenc_rope_create(&params, rope);
}

/* ---- Ropes that are kept ---- */

static bool is_made_from(const kept_rope *kept, const struct ggml_tensor *node, const float *factors, int64_t n_pairs) {
    return kept->rope != NULL && kept->head_dim == node->ne[0] && kept->has_factors == (factors != NULL) &&
           memcmp(kept->op_params, node->op_params, sizeof kept->op_params) == 0 &&
           (factors == NULL || memcmp(kept->factors, factors, (size_t)n_pairs * sizeof *factors) == 0);
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
    rope_node n = read_node(node);
    int64_t n_pairs = n_pairs_of(&n);
    for (int i = 0; i < MAX_ROPES; i++) {
        *rope = &state->ropes[i];
        if (is_made_from(*rope, node, factors, n_pairs))
            return POSENC_OK;
    }
    kept_rope *kept = *rope = &state->ropes[state->oldest_rope];
    state->oldest_rope = (state->oldest_rope + 1) % MAX_ROPES;
    forget_rope(kept);
    posenc_status status = make_rope(node, factors, &kept->rope);
    if (status != POSENC_OK)
        return status;
    memcpy(kept->op_params, node->op_params, sizeof kept->op_params);
    kept->head_dim = node->ne[0];
    kept->has_factors = factors != NULL;
    if (factors != NULL)
        memcpy(kept->factors, factors, (size_t)n_pairs * sizeof *factors);
    return POSENC_OK;
}

/* Rows for these positions, kept or made; without memory for them, or if they are too many, there are none. */
static posenc_status keep_rows(kept_rope *kept, const struct ggml_tensor *positions, int64_t n_tokens,
                               posenc_direction direction) {
    kept_rows *rows = &kept->rows;
    size_t size = ggml_nbytes(positions);
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
    posenc_status status = posenc_rope_fill_table(kept->rope, rows->positions, n_tokens, direction, &rows->table);
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
    posenc_rows rows = part_of_rows(job->x.ne[1] * job->x.ne[2] * job->x.ne[3], ith, nth);
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
