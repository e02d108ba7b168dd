/* SPDX-License-Identifier: MIT */
/* Rows of sinusoids. Whole pairs at int32 positions go from the angle engine to their columns; for real positions, and
 * where only some columns of pairs are wanted, cosines and sines are made in planes first and then picked. */
#include "encoding/sinusoidal.h"

#include "core/minmax.h"

/* ---- Whole pairs ---- */

static int is_whole_pairs(const posenc_sinusoid *s, const posenc_row_span *span) {
    int64_t first_pair = span->first / s->step;
    return first_pair % POSENC_COLUMN == 0 && span->first % s->step == 0 && (s->step == 2 || span->twin != NULL);
}

static void whole_pairs(const posenc_sinusoid *s, const posenc_kernels *kernels, const posenc_tokens *tokens,
                        const posenc_row_span *span) {
    int32_t positions[POSENC_CHUNK];
    for (int64_t t = 0; t < tokens->n; t++)
        positions[t] = (int32_t)tokens->whole[t];
    int64_t begin = span->first / s->step, end = begin + (span->n + s->step - 1) / s->step;
    for (int64_t pair = begin; pair < end; pair += POSENC_SLICE) {
        int64_t n = posenc_min(end - pair, POSENC_SLICE), column = (pair - begin) * s->step;
        float *first = span->out + column, *second = s->step == 2 ? first + 1 : span->twin + column;
        posenc_row_target target = {
            .cos_out = s->cos_first ? first : second,
            .sin_out = s->cos_first ? second : first,
            .cos_stride = span->stride,
            .sin_stride = span->stride,
            .step = s->step,
            .drop_last = column + n * s->step > span->n,
            .add = span->add,
            .n_far = span->n_far,
            .is_vast = span->is_vast,
        };
        posenc_row_maker maker;
        posenc_row_maker_init(&maker, kernels, s->freq, pair, n);
        posenc_make_rows(&maker, positions, tokens->n, &target);
    }
}

/* ---- By planes ---- */

enum { PLANE_ROWS = 8 };

/* Cosines and sines of some pairs of some tokens. */
typedef struct planes {
    float cosines[PLANE_ROWS][POSENC_SLICE], sines[PLANE_ROWS][POSENC_SLICE];
} planes;

static void make_planes(posenc_row_maker *maker, const posenc_tokens *tokens, int64_t first, int64_t n, planes *p) {
    double positions[PLANE_ROWS];
    for (int64_t t = 0; t < n; t++)
        positions[t] = tokens->is_real ? tokens->real[0][first + t] : (double)tokens->whole[first + t];
    posenc_row_target target = {
        .cos_out = p->cosines[0],
        .sin_out = p->sines[0],
        .cos_stride = POSENC_SLICE,
        .sin_stride = POSENC_SLICE,
        .step = 1,
    };
    posenc_make_real_columns(maker, maker->first, maker->n, positions, n, &target);
}

/* Address of a column in row 0; NULL if it is not wanted. */
static float *place_of(const posenc_sinusoid *s, const posenc_row_span *span, int64_t column) {
    if (column >= span->first && column < span->first + span->n)
        return span->out + (column - span->first);
    column -= s->base.twin;
    if (span->twin != NULL && column >= span->first && column < span->first + span->n)
        return span->twin + (column - span->first);
    return NULL;
}

/* The values of one column, rows first .. first + n - 1. */
static void pick(const posenc_row_span *span, const float *plane, float *to, int64_t first, int64_t n) {
    for (int64_t t = 0; t < n; t++) {
        float *y = to + (first + t) * span->stride, value = plane[t * POSENC_SLICE];
        *y = span->add ? *y + value : value;
    }
}

/* 1 if a column of the pairs is wanted. */
static int is_wanted(const posenc_sinusoid *s, const posenc_row_span *span, int64_t pair, int64_t n) {
    for (int64_t i = pair; i < pair + n; i++)
        if (place_of(s, span, posenc_sinusoid_column(s, i, 0)) != NULL ||
            place_of(s, span, posenc_sinusoid_column(s, i, 1)) != NULL)
            return 1;
    return 0;
}

static void picked_columns(const posenc_sinusoid *s, const posenc_kernels *kernels, const posenc_tokens *tokens,
                           const posenc_row_span *span) {
    planes p;
    posenc_row_maker maker;
    for (int64_t pair = 0; pair < s->freq->n; pair += POSENC_SLICE) {
        int64_t n = posenc_min(s->freq->n - pair, POSENC_SLICE);
        if (!is_wanted(s, span, pair, n))
            continue;
        posenc_row_maker_init(&maker, kernels, s->freq, pair, n);
        for (int64_t first = 0; first < tokens->n; first += PLANE_ROWS) {
            int64_t n_rows = posenc_min(tokens->n - first, PLANE_ROWS);
            make_planes(&maker, tokens, first, n_rows, &p);
            for (int64_t i = 0; i < n; i++)
                for (int second = 0; second < 2; second++) {
                    float *to = place_of(s, span, posenc_sinusoid_column(s, pair + i, second));
                    if (to != NULL)
                        pick(span, second == s->cos_first ? &p.sines[0][i] : &p.cosines[0][i], to, first, n_rows);
                }
        }
    }
}

void posenc_sinusoid_rows(const posenc_generator *g, const posenc_kernels *kernels, const posenc_tokens *tokens,
                          const posenc_row_span *span) {
    const posenc_sinusoid *s = (const posenc_sinusoid *)g;
    if (!tokens->is_real && is_whole_pairs(s, span))
        whole_pairs(s, kernels, tokens, span);
    else
        picked_columns(s, kernels, tokens, span);
}
