/* SPDX-License-Identifier: MIT */
/* Sinusoidal encoding against MPFR: both layouts, both schedules, odd dims; written and added, slices and batches
 * (FORMULAS A.1, A.2, A.4, A.5). */
#include "truth.h"
#include "truth_mpfr.h"
#include "truth_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 48 };

typedef struct encoding {
    posenc_sinusoidal_params params;
    posenc_encoding *pe;
    truth_table truth;
} encoding;

/* Frequencies as FORMULAS writes them, but for `scale`. */
static truth_table unscaled(const posenc_sinusoidal_params *p) {
    int64_t half = p->dim / 2;
    if (p->layout == POSENC_SINUSOIDAL_INTERLEAVED)
        return truth_powers(1.0, p->base, 2, p->dim, (p->dim + 1) / 2); /* base^(-2i/dim) */
    if (p->schedule == POSENC_SCHEDULE_HALF)
        return truth_powers(1.0, p->base, 1, half > 0 ? half : 1, half); /* base^(-i/half) */
    if (p->schedule == POSENC_SCHEDULE_SHIFT)
        return truth_powers(1.0, p->base, 1, half - (int64_t)p->shift, half);
    /* min (base/min)^(-i/max(half-1, 1)); the quotient in MPFR */
    truth_table table = truth_powers(p->min_timescale, p->min_timescale, -1, half > 1 ? half - 1 : 1, half);
    truth_table base = truth_powers(1.0, p->base, 1, half > 1 ? half - 1 : 1, half);
    for (int64_t i = 0; i < half; i++)
        mpfr_mul(table.theta[i], table.theta[i], base.theta[i], MPFR_RNDN);
    truth_table_free(&base);
    return table;
}

static truth_table frequencies(const posenc_sinusoidal_params *p) {
    truth_table table = unscaled(p);
    for (int64_t i = 0; p->scale != 1.0 && i < table.n; i++)
        mpfr_mul_d(table.theta[i], table.theta[i], p->scale, MPFR_RNDN);
    return table;
}

static encoding new_encoding(posenc_sinusoidal_params params) {
    encoding e = {params, NULL, frequencies(&params)};
    truth_ok(posenc_sinusoidal_create(&params, &e.pe));
    return e;
}

static void free_encoding(encoding *e) {
    truth_table_free(&e->truth);
    posenc_encoding_free(e->pe);
}

/* Content of a column: the sine or cosine of a frequency, or 0 by definition. */
typedef enum kind { SINE, COSINE, ZERO } kind;

static kind column_kind(const posenc_sinusoidal_params *p, int64_t column, int64_t *frequency) {
    int64_t half = p->dim / 2;
    int odd_one_out = p->dim % 2 != 0 && column == p->dim - 1;
    if (p->layout == POSENC_SINUSOIDAL_INTERLEAVED) {
        *frequency = column / 2;
        return odd_one_out && p->odd == POSENC_ODD_ZERO ? ZERO : column % 2 == 0 ? SINE : COSINE;
    }
    *frequency = column % (half > 0 ? half : 1);
    return odd_one_out ? ZERO : column < half ? SINE : COSINE;
}

/* Row t of y, all batches being equal, against the truth. */
static void measure_row(const encoding *e, const posenc_view *y, int64_t t, int32_t p, truth_worst *worst) {
    const posenc_sinusoidal_params *params = &e->params;
    char table[120];
    snprintf(table, sizeof table, "layout %d schedule %d odd %d dim %lld base %g min %g", params->layout,
             params->schedule, params->odd, (long long)params->dim, params->base, params->min_timescale);
    mpfr_t c, s;
    mpfr_inits2(TRUTH_BITS, c, s, (mpfr_ptr)NULL);
    for (int64_t column = 0; column < params->dim; column++) {
        int64_t i;
        kind k = column_kind(params, column, &i);
        float got = *truth_at(y, column, t, 0, 0);
        if (k == ZERO) {
            float zero = 0.0f;
            truth_same_bits(&got, &zero, 1, "%s: column that is 0 by definition", table);
            continue;
        }
        truth_angle(&e->truth, i, p, c, s);
        truth_compare(worst, got, k == SINE ? s : c, k == SINE ? "sin" : "cos", p, table, i);
    }
    mpfr_clears(c, s, (mpfr_ptr)NULL);
}

/* Added: one float32 addition of what would have been written. A column that is 0 by definition stays, even a -0. */
static void check_added(const encoding *e, const truth_tensor *sum, const posenc_view *written) {
    const posenc_view *y = &sum->view;
    for (int64_t b = 0; b < y->ne[2]; b++)
        for (int64_t t = 0; t < y->ne[1]; t++)
            for (int64_t column = 0; column < y->ne[0]; column++) {
                int64_t i;
                float was = truth_was(sum, column, t, b, 0);
                float want =
                    column_kind(&e->params, column, &i) == ZERO ? was : was + *truth_at(written, column, t, b, 0);
                truth_same_bits(truth_at(y, column, t, b, 0), &want, 1, "added, column %lld", (long long)column);
            }
    truth_nothing_else_changed(sum, 0, y->ne[0], "added");
}

/* A view of random strides: rows of something wider, batches anywhere, rows downwards. */
static void check_encoding(const posenc_sinusoidal_params *params, int64_t n_tokens, int64_t n_batch,
                           truth_worst *worst) {
    encoding e = new_encoding(*params);
    int32_t positions[MAX_TOKENS];
    int32_t p = truth_position();
    for (int64_t t = 0; t < n_tokens; t++) {
        positions[t] = p;
        p = truth_below(4) == 0 || p == INT32_MAX ? truth_position() : p + 1;
    }
    int64_t ne[4] = {params->dim, n_tokens, n_batch, 1};
    truth_tensor y = truth_tensor_random(ne), first = truth_tensor_dense(ne[0], ne[1], ne[2], 1);
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        truth_ok(posenc_encoding_write(e.pe, positions, &y.view));
        truth_nothing_else_changed(&y, 0, ne[0], "written");
        if (n_tiers == 0)
            truth_copy(&y.view, &first.view);
        truth_same_views(&y.view, &first.view, "tiers differ");

        truth_tensor sum = truth_tensor_random(ne);
        if (truth_below(2) == 0) { /* -0 in the last column */
            *truth_at(&sum.view, ne[0] - 1, 0, 0, 0) = -0.0f;
            truth_mark(&sum);
        }
        truth_ok(posenc_encoding_add(e.pe, positions, &sum.view));
        check_added(&e, &sum, &first.view);
        truth_tensor_free(&sum);
    }
    for (int64_t t = 0; t < n_tokens; t++)
        measure_row(&e, &first.view, t, positions[t], worst);
    for (int64_t b = 1; b < n_batch; b++)
        truth_same_bits(truth_at(&first.view, 0, 0, b, 0), first.view.data, (size_t)(ne[0] * ne[1]), "batch");
    truth_tensor_free(&y);
    truth_tensor_free(&first);
    free_encoding(&e);
}

static posenc_sinusoidal_params variant(int v, int64_t dim) {
    static const posenc_sinusoidal_params variants[] = {
        {POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, 0, 10000.0, 1.0, 0.0, 1.0},
        {POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_HALF, POSENC_ODD_ZERO, 0, 10000.0, 1.0, 0.0, 1.0},
        {POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN, 0, 10000.0, 1.0, 0.0, 1.0},
        {POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF_MINUS_1, POSENC_ODD_ZERO, 0, 10000.0, 1.0, 0.0, 1.0},
        {POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF_MINUS_1, POSENC_ODD_SIN, 0, 10000.0, 0.25, 0.0, 1.0},
    };
    posenc_sinusoidal_params params = variants[v];
    params.dim = dim;
    return params;
}

enum { N_VARIANTS = 5 };

static void test_every_small_dim(void **state) {
    (void)state;
    truth_worst worst = {0};
    for (int v = 0; v < N_VARIANTS; v++)
        for (int64_t dim = 1; dim <= 70; dim++) {
            posenc_sinusoidal_params params = variant(v, dim);
            check_encoding(&params, 1 + truth_below(8), 1 + truth_below(2), &worst);
        }
    truth_judge("sinusoidal, every small dim", &worst);
}

static void test_wide_dims_and_other_bases(void **state) {
    (void)state;
    truth_worst worst = {0};
    for (int v = 0; v < N_VARIANTS; v++)
        for (int k = 0; k < 12; k++) {
            posenc_sinusoidal_params params = variant(v, 71 + truth_below(1000));
            params.base = truth_log_uniform(1.0, 1e7);
            if (v == 4)
                params.min_timescale = truth_log_uniform(1e-3, fmin(params.base, POSENC_MAX_FREQUENCY));
            check_encoding(&params, 1 + truth_below(8), 1 + truth_below(3), &worst);
        }
    truth_judge("sinusoidal, wide dims and other bases", &worst);
}

/* A base below 1; the last are Stable Audio 3's, from 0.5 to 10000 turns a unit. */
static void test_ascending_frequencies(void **state) {
    (void)state;
    truth_worst worst = {0};
    for (int v = 0; v < N_VARIANTS; v++)
        for (int k = 0; k < 12; k++) {
            posenc_sinusoidal_params params = variant(v, 1 + truth_below(300));
            params.base = truth_log_uniform(1.6e-5, 1.0);
            params.min_timescale = truth_log_uniform(1e-3 * params.base, params.base);
            check_encoding(&params, 1 + truth_below(8), 1 + truth_below(3), &worst);
        }
    posenc_sinusoidal_params shifted = variant(2, 256);
    shifted.schedule = POSENC_SCHEDULE_SHIFT;
    shifted.shift = 1.0;
    shifted.base = 0.5 / 10000.0;
    shifted.scale = 3.141592653589793;
    check_encoding(&shifted, 20, 2, &worst);
    truth_judge("sinusoidal, ascending frequencies", &worst);
}

static void test_extreme_timescales(void **state) {
    (void)state;
    static const double pairs[][2] = {{1.0, 1.0},   {1e30, 1.0},    {1e30, 1e-300}, {1e30, 5e-324},
                                      {1.0, 1e-12}, {65536, 65536}, {1e30, 65536},  {1e7, 3.0}};
    truth_worst worst = {0};
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++)
        for (int64_t dim = 1; dim <= 9; dim += 2) {
            posenc_sinusoidal_params params = variant(4, dim);
            params.base = pairs[k][0];
            params.min_timescale = pairs[k][1];
            check_encoding(&params, 20, 1, &worst);
        }
    posenc_sinusoidal_params tiny = variant(4, 2048); /* min_timescale is next to nothing until it is scaled */
    tiny.base = 1.0;
    tiny.min_timescale = 1e-318;
    tiny.scale = 1.7e308;
    check_encoding(&tiny, 4, 1, &worst);
    truth_judge("sinusoidal, extreme timescales", &worst);
}

/* A.5: one position on demand has the bits of the table's row. */
static void test_one_position_on_demand(void **state) {
    (void)state;
    enum { DIM = 300, TOKENS = 100 };
    for (int v = 0; v < N_VARIANTS; v++) {
        encoding e = new_encoding(variant(v, DIM + v % 2));
        int64_t dim = e.params.dim;
        int32_t start = truth_position() / 2, positions[TOKENS];
        for (int t = 0; t < TOKENS; t++)
            positions[t] = start + t;
        truth_tensor table = truth_tensor_dense(dim, TOKENS, 1, 1), row = truth_tensor_dense(dim, 1, 1, 1);
        for (int tier = -1; truth_next_tier(&tier);) {
            truth_ok(posenc_encoding_write(e.pe, positions, &table.view));
            for (int t = 0; t < TOKENS; t++) {
                truth_ok(posenc_encoding_write(e.pe, positions + t, &row.view));
                truth_same_bits(row.view.data, truth_at(&table.view, 0, t, 0, 0), (size_t)dim, "position %d",
                                positions[t]);
            }
        }
        truth_tensor_free(&table);
        truth_tensor_free(&row);
        free_encoding(&e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_every_small_dim),        truth_test(test_wide_dims_and_other_bases),
        truth_test(test_extreme_timescales),     truth_test(test_ascending_frequencies),
        truth_test(test_one_position_on_demand),
    };
    return truth_run(tests);
}
