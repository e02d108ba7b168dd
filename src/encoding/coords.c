/* SPDX-License-Identifier: MIT */
/* Coordinates of tokens: their types, ranges, and the quotients and remainders that parts ask for. */
#include "encoding/encoding.h"

#include "core/coords.h"
#include "core/view.h"

/* floor(p / divide) mod modulo */
static int64_t whole_at(const posenc_coords *at, int64_t i, const posenc_term *term) {
    int64_t p = posenc_whole_coord(at, i);
    if (term->divide > 1)
        p = p / term->divide - (p % term->divide < 0);
    if (term->modulo > 0)
        p = p % term->modulo + (p % term->modulo < 0 ? term->modulo : 0);
    return p;
}

void posenc_load_tokens(const posenc_term *term, const posenc_coords *at, int64_t n_tokens, int64_t batch,
                        int64_t first, int64_t n, posenc_tokens *tokens) {
    const posenc_generator *g = term->generator;
    tokens->n = n;
    tokens->is_real = posenc_coords_are_real(at);
    for (int axis = 0; axis < g->n_axes; axis++) {
        int64_t from = batch * at->batch_stride + (term->axis + axis) * posenc_coord_axis_stride(at, n_tokens) + first;
        if (tokens->is_real) {
            for (int64_t t = 0; t < n; t++)
                tokens->real[axis][t] = posenc_real_coord(at, from + t);
            continue;
        }
        for (int64_t t = 0; t < n; t++) {
            int64_t p = whole_at(at, from + t, term);
            if (axis == 0)
                tokens->whole[t] = p;
            if (g->takes_reals)
                tokens->real[axis][t] = (double)p;
        }
    }
}

/* ---- Checks ---- */

static posenc_status check_type(const posenc_term *term, const posenc_coords *at) {
    int takes_reals = term->divide <= 1 && term->modulo == 0 && term->generator->takes_reals;
    return takes_reals || !posenc_coords_are_real(at) ? POSENC_OK : posenc_refused(POSENC_ERR_DTYPE);
}

/* True if every mapped int32 is in range. A large modulo takes negative positions out of int32. */
static int takes_every_int32(const posenc_term *term) {
    const posenc_generator *g = term->generator;
    return g->lowest <= INT32_MIN && g->highest >= INT32_MAX && term->modulo <= (int64_t)1 << 31;
}

/* The first of n coordinates from i on that the term refuses; n if there is none. */
static int64_t first_refused(const posenc_term *term, const posenc_coords *at, int64_t i, int64_t n) {
    const posenc_generator *g = term->generator;
    int64_t t = 0;
    if (posenc_coords_are_real(at))
        while (t < n && posenc_is_real_position(posenc_real_coord(at, i + t)))
            t++;
    else if (at->type == POSENC_COORD_I32 && takes_every_int32(term))
        t = n;
    else
        while (t < n && whole_at(at, i + t, term) >= g->lowest && whole_at(at, i + t, term) <= g->highest)
            t++;
    return t;
}

/* The first row that a term refuses; the number of rows if there is none. */
static int64_t refused_row(const posenc_term *term, const posenc_coords *at, int64_t n_tokens, int64_t n_batch) {
    int64_t limit = n_tokens * n_batch;
    int64_t n_distinct = at->batch_stride == 0 ? 1 : n_batch; /* batches that have coordinates of their own */
    for (int64_t batch = 0; batch < n_distinct && batch * n_tokens < limit; batch++)
        for (int axis = 0; axis < term->generator->n_axes; axis++) {
            int64_t from = batch * at->batch_stride + (term->axis + axis) * posenc_coord_axis_stride(at, n_tokens);
            int64_t row = batch * n_tokens + first_refused(term, at, from, n_tokens);
            if (row < (batch + 1) * n_tokens && row < limit)
                limit = row;
        }
    return limit;
}

posenc_status posenc_check_term(const posenc_term *term, const posenc_coords *at, int64_t n_tokens, int64_t n_batch,
                                int64_t *row) {
    posenc_status status = posenc_check_coord_array(at, term->axis + term->generator->n_axes, n_tokens, n_batch);
    if (status == POSENC_OK)
        status = check_type(term, at);
    if (status != POSENC_OK)
        return status;
    int64_t n_rows = n_tokens * n_batch, refused = refused_row(term, at, n_tokens, n_batch);
    if (refused == n_rows)
        return POSENC_OK;
    *row = *row < 0 || refused < *row ? refused : *row;
    return posenc_refused(POSENC_ERR_POSITION);
}

posenc_status posenc_check_coords(const posenc_encoding *e, const posenc_coords *at, int64_t n_tokens, int64_t n_batch,
                                  int64_t *row) {
    posenc_status status = posenc_check_coord_array(at, e->n_axes, n_tokens, n_batch);
    for (int f = 0; f < e->n_fields; f++)
        for (int k = 0; k < e->fields[f].n_terms; k++) {
            if (status != POSENC_OK && status != POSENC_ERR_POSITION)
                return status;
            posenc_status more = posenc_check_term(&e->fields[f].terms[k], at, n_tokens, n_batch, row);
            status = more == POSENC_OK ? status : more;
        }
    return status;
}

posenc_status posenc_encoding_check(const posenc_encoding *e, const posenc_coords *at, int64_t n_tokens,
                                    int64_t n_batch, int64_t *row) {
    if (e == NULL || row == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *row = -1;
    if (n_tokens < 0 || n_batch < 0 || n_tokens > POSENC_LIMIT || n_batch > POSENC_LIMIT ||
        posenc_leaves_limit(n_tokens, n_batch))
        return posenc_refused(POSENC_ERR_SHAPE);
    if (n_tokens * n_batch == 0) /* nor does posenc_encoding_apply look at them then */
        return POSENC_OK;
    posenc_status status = posenc_check_coords(e, at, n_tokens, n_batch, row);
    if (status != POSENC_ERR_POSITION)
        *row = -1;
    return status;
}
