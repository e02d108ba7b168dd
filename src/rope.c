/* RoPE: checks, and the walk over tokens. */
#include <posenc/rope.h>

#include <stdlib.h>
#include <string.h>

#include "angles.h"
#include "view.h"

struct posenc_rope {
    posenc_rope_params params;
    posenc_freq *freq;
};

/* ---- Set-up ---- */

static posenc_status check_params(const posenc_rope_params *p) {
    if (p->layout != POSENC_ROPE_HALF && p->layout != POSENC_ROPE_INTERLEAVED)
        return POSENC_ERR_ENUM;
    if (p->head_dim < 1 || p->head_dim > 2 * (int64_t)POSENC_MAX_PAIRS)
        return POSENC_ERR_HEAD_DIM;
    if (p->n_rot < 0 || p->n_rot % 2 != 0 || p->n_offs < 0 || p->n_rot > p->head_dim ||
        p->n_offs > p->head_dim - p->n_rot)
        return POSENC_ERR_N_ROT;
    return posenc_base_is_valid(p->base) ? POSENC_OK : POSENC_ERR_BASE;
}

posenc_status posenc_rope_create(const posenc_rope_params *params, posenc_rope **out) {
    if (out == NULL)
        return POSENC_ERR_NULL;
    *out = NULL;
    if (params == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = check_params(params);
    if (status != POSENC_OK)
        return status;
    posenc_rope *rope = malloc(sizeof *rope);
    if (rope == NULL)
        return POSENC_ERR_MEMORY;
    rope->params = *params;
    status = posenc_freq_create(params->base, params->n_rot, &rope->freq);
    if (status != POSENC_OK) {
        free(rope);
        return status;
    }
    *out = rope;
    return POSENC_OK;
}

void posenc_rope_free(posenc_rope *rope) {
    if (rope == NULL)
        return;
    posenc_freq_free(rope->freq);
    free(rope);
}

const posenc_freq *posenc_rope_freq(const posenc_rope *rope) {
    return rope == NULL ? NULL : rope->freq;
}

/* ---- The walk ---- */

/* The heads of one token that lie in a row range. */
typedef struct heads {
    int64_t batch, token, first, n;
    int64_t rows_left; /* of the range, these included */
} heads;

static int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static heads first_heads(const posenc_view *x, posenc_rows rows) {
    int64_t n_heads = x->ne[1], n_tokens = x->ne[2];
    int64_t token = rows.begin / n_heads, rows_left = rows.end - rows.begin;
    heads h = {.batch = token / n_tokens, .token = token % n_tokens, .first = rows.begin % n_heads, .rows_left = rows_left};
    h.n = min(n_heads - h.first, rows_left);
    return h;
}

static void next_heads(heads *h, const posenc_view *x) {
    h->rows_left -= h->n;
    h->first = 0;
    h->n = min(x->ne[1], h->rows_left);
    h->token += 1;
    if (h->token == x->ne[2]) {
        h->token = 0;
        h->batch += 1;
    }
}

/* Tokens from this one on, in this batch, that the range still wants. */
static int64_t tokens_wanted(const heads *h, const posenc_view *x) {
    int64_t tokens_left = (h->first + h->rows_left - 1) / x->ne[1] + 1;
    return min(tokens_left, x->ne[2] - h->token);
}

/* Rows made ahead, so that consecutive positions are made together. */
enum { ROWS_AHEAD = 8 };

/* Where a token's cosines and sines come from. */
typedef struct row_source {
    /* made here ... */
    const int32_t *positions;
    posenc_row_maker maker;
    int64_t made_begin, made_end; /* tokens whose rows stand below */
    float made_cos[ROWS_AHEAD][POSENC_SLICE], made_sin[ROWS_AHEAD][POSENC_SLICE];
    /* ... or by the caller, when positions is NULL */
    const float *cos_rows, *sin_rows;
    int64_t row_stride;
} row_source;

static void make_rows_ahead(row_source *source, int64_t token, int64_t n) {
    posenc_row_target target = {
        .cos_out = source->made_cos[0],
        .sin_out = source->made_sin[0],
        .cos_stride = POSENC_SLICE,
        .sin_stride = POSENC_SLICE,
        .step = 1,
    };
    posenc_make_rows(&source->maker, source->positions + token, n, &target);
    source->made_begin = token;
    source->made_end = token + n;
}

/* The slice's row of the token. */
static void get_row(row_source *source, const heads *h, const posenc_view *x, const float **cos_row,
                    const float **sin_row) {
    if (source->positions == NULL) {
        *cos_row = source->cos_rows + h->token * source->row_stride + source->maker.first;
        *sin_row = source->sin_rows + h->token * source->row_stride + source->maker.first;
        return;
    }
    if (h->token < source->made_begin || h->token >= source->made_end)
        make_rows_ahead(source, h->token, min(tokens_wanted(h, x), ROWS_AHEAD));
    *cos_row = source->made_cos[h->token - source->made_begin];
    *sin_row = source->made_sin[h->token - source->made_begin];
}

static void copy_channels(const posenc_view *x, const posenc_view *y, const heads *h, int64_t first, int64_t n) {
    for (int64_t head = h->first; n > 0 && head < h->first + h->n; head++)
        memcpy((float *)posenc_view_at(y, head, h->token, h->batch) + first,
               (const float *)posenc_view_at(x, head, h->token, h->batch) + first, (size_t)n * sizeof(float));
}

static void copy_unrotated(const posenc_rope_params *p, const posenc_view *x, const posenc_view *y, const heads *h) {
    int64_t after = p->n_offs + p->n_rot;
    copy_channels(x, y, h, 0, p->n_offs);
    copy_channels(x, y, h, after, p->head_dim - after);
}

/* Rotates the pairs of the source's slice in every row of the range. */
static void rotate_slice(const posenc_rope *rope, row_source *source, const posenc_view *x, const posenc_view *y,
                         posenc_direction direction, posenc_rows rows) {
    const posenc_rope_params *p = &rope->params;
    const posenc_kernels *kernels = source->maker.kernels;
    int interleaved = p->layout == POSENC_ROPE_INTERLEAVED;
    void (*rotate)(const posenc_rope_args *) = interleaved ? kernels->rope_interleaved : kernels->rope_half;
    int64_t first_channel = p->n_offs + source->maker.first * (interleaved ? 2 : 1);
    int copies = x->data != y->data && source->maker.first == 0;

    for (heads h = first_heads(x, rows); h.rows_left > 0; next_heads(&h, x)) {
        posenc_rope_args args = {
            .x = (const float *)posenc_view_at(x, h.first, h.token, h.batch) + first_channel,
            .y = (float *)posenc_view_at(y, h.first, h.token, h.batch) + first_channel,
            .x_stride = (ptrdiff_t)(x->nb[1] / (int64_t)sizeof(float)),
            .y_stride = (ptrdiff_t)(y->nb[1] / (int64_t)sizeof(float)),
            .half = (size_t)p->n_rot / 2,
            .sin_sign = direction == POSENC_INVERSE ? -1.0f : 1.0f,
            .n = (size_t)source->maker.n,
            .n_heads = (size_t)h.n,
        };
        get_row(source, &h, x, &args.cos_row, &args.sin_row);
        rotate(&args);
        if (copies)
            copy_unrotated(p, x, y, &h);
    }
}

static posenc_status check_call(const posenc_rope *rope, const posenc_view *x, const posenc_view *y,
                                posenc_direction direction, posenc_rows *rows) {
    if (rope == NULL)
        return POSENC_ERR_NULL;
    if (direction != POSENC_FORWARD && direction != POSENC_INVERSE)
        return POSENC_ERR_ENUM;
    posenc_status status = posenc_check_input(x);
    if (status == POSENC_OK)
        status = posenc_check_output(y);
    if (status == POSENC_OK && x->ne[0] != rope->params.head_dim)
        status = POSENC_ERR_SHAPE;
    if (status == POSENC_OK)
        status = posenc_check_pair(x, y);
    if (status == POSENC_OK)
        status = posenc_check_rows(rows, x->ne[1] * x->ne[2] * x->ne[3]);
    return status;
}

static void apply(const posenc_rope *rope, row_source *source, const posenc_view *x, const posenc_view *y,
                  posenc_direction direction, posenc_rows rows) {
    const posenc_kernels *kernels = posenc_active_kernels();
    int64_t n_pairs = rope->freq->n, first = 0;
    do {
        int64_t n = n_pairs - first < POSENC_SLICE ? n_pairs - first : POSENC_SLICE;
        posenc_row_maker_init(&source->maker, kernels, rope->freq, first, n);
        source->made_begin = source->made_end = 0;
        rotate_slice(rope, source, x, y, direction, rows);
        first += n;
    } while (first < n_pairs);
}

posenc_status posenc_rope_apply(const posenc_rope *rope, const posenc_view *x, const int32_t *positions,
                                const posenc_view *y, posenc_direction direction, posenc_rows rows) {
    posenc_status status = check_call(rope, x, y, direction, &rows);
    if (status != POSENC_OK || rows.begin == rows.end)
        return status;
    if (positions == NULL)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(positions, 4))
        return POSENC_ERR_STRIDE;
    row_source source;
    source.positions = positions;
    apply(rope, &source, x, y, direction, rows);
    return POSENC_OK;
}

posenc_status posenc_rope_apply_rows(const posenc_rope *rope, const posenc_view *x, const float *cos_rows,
                                     const float *sin_rows, int64_t row_stride, const posenc_view *y,
                                     posenc_direction direction, posenc_rows rows) {
    posenc_status status = check_call(rope, x, y, direction, &rows);
    if (status != POSENC_OK)
        return status;
    if (row_stride < rope->freq->n || row_stride > INT32_MAX)
        return POSENC_ERR_STRIDE;
    if (rows.begin == rows.end)
        return POSENC_OK;
    if (rope->freq->n > 0 && (cos_rows == NULL || sin_rows == NULL))
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(cos_rows, 4) || !posenc_is_aligned(sin_rows, 4))
        return POSENC_ERR_STRIDE;
    row_source source;
    source.positions = NULL;
    source.cos_rows = cos_rows;
    source.sin_rows = sin_rows;
    source.row_stride = row_stride;
    apply(rope, &source, x, y, direction, rows);
    return POSENC_OK;
}
