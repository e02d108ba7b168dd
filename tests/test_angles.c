/* SPDX-License-Identifier: MIT */
/* The angle engine against MPFR: the promise of include/posenc/angles.h, and the independence from how it is called. */
#include "truth.h"
#include "truth_mpfr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/angles.h" /* POSENC_SLICE */

enum { MAX_PAIRS = 256, MAX_POSITIONS = 512 };

static float cosines[MAX_POSITIONS * MAX_PAIRS], sines[MAX_POSITIONS * MAX_PAIRS];
static float other_cosines[MAX_POSITIONS * MAX_PAIRS], other_sines[MAX_POSITIONS * MAX_PAIRS];

/* Rows from every tier; leaves them in cosines and sines after finding them all equal. */
static void make_rows(const posenc_freq *freq, const int32_t *positions, int64_t n_positions) {
    int64_t n = posenc_freq_count(freq);
    size_t n_floats = (size_t)(n_positions * n);
    assert_true(n_positions <= MAX_POSITIONS && n <= MAX_PAIRS);
    for (int tier = -1, first = 1; truth_next_tier(&tier); first = 0) {
        float *c = first ? cosines : other_cosines, *s = first ? sines : other_sines;
        truth_ok(posenc_angle_rows(freq, positions, n_positions, c, s, n));
        truth_same_bits(c, cosines, n_floats, "cosines");
        truth_same_bits(s, sines, n_floats, "sines");
    }
}

/* Every pair of every position against MPFR. */
static void measure(const posenc_freq *freq, const truth_table *truth, const int32_t *positions, int64_t n_positions,
                    const char *table, truth_worst *worst) {
    mpfr_t c, s;
    mpfr_inits2(TRUTH_BITS, c, s, (mpfr_ptr)NULL);
    assert_int_equal(posenc_freq_count(freq), truth->n);
    make_rows(freq, positions, n_positions);
    for (int64_t t = 0; t < n_positions; t++)
        for (int64_t i = 0; i < truth->n; i++) {
            truth_angle(truth, i, positions[t], c, s);
            truth_compare(worst, cosines[t * truth->n + i], c, "cos", positions[t], table, i);
            truth_compare(worst, sines[t * truth->n + i], s, "sin", positions[t], table, i);
        }
    mpfr_clears(c, s, (mpfr_ptr)NULL);
}

static void measure_powers(double base, int64_t dim, const int32_t *positions, int64_t n_positions,
                           truth_worst *worst) {
    char table[64];
    snprintf(table, sizeof table, "base %.17g dim %lld", base, (long long)dim);
    posenc_freq *freq;
    truth_ok(posenc_freq_create(base, dim, &freq));
    truth_table truth = truth_powers(1.0, base, 2, dim, dim / 2);
    for (int64_t i = 0; i < truth.n; i++)
        if (posenc_freq_theta(freq, i) != mpfr_get_d(truth.theta[i], MPFR_RNDN))
            fail_msg("%s: theta_%lld is %a", table, (long long)i, posenc_freq_theta(freq, i));
    measure(freq, &truth, positions, n_positions, table, worst);
    truth_table_free(&truth);
    posenc_freq_free(freq);
}

/* ---- Accuracy ---- */

static void test_powers_at_random_positions(void **state) {
    (void)state;
    enum { TABLES = 80, POSITIONS = 60 };
    truth_worst worst = {0};
    for (int k = 0; k < TABLES; k++) {
        double base = truth_log_uniform(1e4, 1e7);
        int64_t dim = 2 * (1 + truth_below(256));
        int32_t positions[POSITIONS];
        for (int t = 0; t < POSITIONS; t++)
            positions[t] = truth_position();
        measure_powers(base, dim, positions, POSITIONS, &worst);
    }
    truth_judge("cos and sin, random bases and positions", &worst);
}

static void test_powers_at_chosen_positions(void **state) {
    (void)state;
    static const double bases[] = {1.0, 100.0, 10000.0, 500000.0, 1e6, 5e6, 1e7, 1e30};
    static const int32_t positions[] = {
        INT32_MIN, INT32_MIN + 1, INT32_MAX, INT32_MAX - 1, INT32_MAX - 31, -33,         -32,     -31, -1, 0, 1, 31, 32,
        33,        131071,        16777217,  1 << 30,       1000000000,     -1000000007, -131072, 4096};
    truth_worst worst = {0};
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++)
        for (int64_t dim = 2; dim <= 512; dim = dim < 64 ? 8 * dim : 2 * dim)
            measure_powers(bases[b], dim, positions, sizeof positions / sizeof positions[0], &worst);
    truth_judge("cos and sin, positions to 2^31", &worst);
}

/* For every pair, the positions where its sine or cosine comes closest to 0: where relative accuracy is hardest. */
static void test_powers_next_to_zeros(void **state) {
    (void)state;
    static const double bases[] = {10000.0, 500000.0, 1e7};
    enum { DIM = 64 };
    truth_worst worst = {0};
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        truth_table truth = truth_powers(1.0, bases[b], 2, DIM, DIM / 2);
        for (int64_t i = 0; i < truth.n; i++) {
            int32_t positions[128];
            int n = truth_near_zeros(&truth, i, positions);
            for (int k = 0; k < n; k++)
                positions[n + k] = -positions[k];
            double theta = mpfr_get_d(truth.theta[i], MPFR_RNDN);
            char table[64];
            snprintf(table, sizeof table, "zeros of base %g dim %d theta_%lld", bases[b], DIM, (long long)i);
            posenc_freq *freq;
            truth_ok(posenc_freq_create(bases[b], DIM, &freq));
            /* Only pair i is at its zeros: the others are compared by the other tests. */
            make_rows(freq, positions, 2 * n);
            mpfr_t c, s;
            mpfr_inits2(TRUTH_BITS, c, s, (mpfr_ptr)NULL);
            for (int t = 0; t < 2 * n; t++) {
                truth_angle(&truth, i, positions[t], c, s);
                truth_compare(&worst, cosines[t * truth.n + i], c, "cos", positions[t], table, i);
                truth_compare(&worst, sines[t * truth.n + i], s, "sin", positions[t], table, i);
            }
            mpfr_clears(c, s, (mpfr_ptr)NULL);
            posenc_freq_free(freq);

            /* The same frequency rounded to double, given by value, has its own zeros. */
            truth_table rounded = truth_values(&theta, 1);
            n = truth_near_zeros(&rounded, 0, positions);
            truth_ok(posenc_freq_create_values(&theta, 1, &freq));
            measure(freq, &rounded, positions, n, table, &worst);
            posenc_freq_free(freq);
            truth_table_free(&rounded);
        }
        truth_table_free(&truth);
    }
    truth_judge("cos and sin next to their zeros", &worst);
}

static void test_values(void **state) {
    (void)state;
    enum { PAIRS = 96, POSITIONS = 40, TABLES = 12 };
    static const double special[] = {0.0,
                                     -0.0,
                                     POSENC_MAX_FREQUENCY,
                                     -POSENC_MAX_FREQUENCY,
                                     0x1.fffffffffffffp15,
                                     0x1.921fb54442d18p1,   /* pi */
                                     0x1.921fb54442d18p0,   /* pi / 2 */
                                     -0x1.921fb54442d18p-1, /* -pi / 4 */
                                     0x1.921fb54442d18p15,  /* 2^14 pi */
                                     0x1p-31,
                                     1e-12,
                                     1e-300,
                                     5e-324};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    truth_worst worst = {0};
    for (int k = 0; k < TABLES; k++) {
        double theta[PAIRS];
        for (int i = 0; i < PAIRS; i++)
            theta[i] = i < SPECIAL ? special[i]
                                   : truth_log_uniform(1e-10, POSENC_MAX_FREQUENCY) * (truth_below(2) ? 1.0 : -1.0);
        int32_t positions[POSITIONS] = {INT32_MIN, INT32_MAX, 0, 1, -1};
        for (int t = 5; t < POSITIONS; t++)
            positions[t] = truth_position();
        posenc_freq *freq;
        truth_ok(posenc_freq_create_values(theta, PAIRS, &freq));
        truth_table truth = truth_values(theta, PAIRS);
        for (int64_t i = 0; i < PAIRS; i++)
            assert_true(posenc_freq_theta(freq, i) == theta[i]);
        measure(freq, &truth, positions, POSITIONS, "by value", &worst);
        truth_table_free(&truth);
        posenc_freq_free(freq);
    }
    truth_judge("cos and sin, frequencies by value", &worst);
}

/* ---- The same bits however it is called ---- */

/* Runs, jumps, repetitions, descents, block edges; all within a window, so that every position occurs often. */
static void make_adversarial_positions(int32_t *positions, int64_t n) {
    int32_t p = truth_position();
    for (int64_t t = 0; t < n; t++) {
        switch (truth_below(12)) {
        case 0: p = truth_position(); break;
        case 1: p = p < 0 ? p + 32 : p - 32; break;
        case 2: p = p < 0 ? p + 1 : p - 1; break;
        case 3: break;
        case 4: p &= ~31; break;
        default: p = p < INT32_MAX ? p + 1 : INT32_MIN; break;
        }
        positions[t] = p;
    }
}

static void test_batch_order_and_slices_do_not_matter(void **state) {
    (void)state;
    static const int64_t pairs[] = {1, 5, POSENC_SLICE - 1, POSENC_SLICE, POSENC_SLICE + 1, 2 * POSENC_SLICE + 3, 1000};
    enum { POSITIONS = 200 };
    long long n_compared = 0;
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        int64_t n = pairs[k], stride = 2 * n + 3;
        posenc_freq *freq;
        truth_ok(posenc_freq_create(500000.0, 2 * n, &freq));
        int32_t positions[POSITIONS], reversed[POSITIONS];
        make_adversarial_positions(positions, POSITIONS);
        for (int t = 0; t < POSITIONS; t++)
            reversed[t] = positions[POSITIONS - 1 - t];
        float *alone = malloc((size_t)(2 * n) * sizeof(float));
        float *whole = malloc((size_t)(POSITIONS * stride) * sizeof(float));
        float *backwards = malloc((size_t)(POSITIONS * stride) * sizeof(float));
        assert_true(alone != NULL && whole != NULL && backwards != NULL);
        for (int tier = -1; truth_next_tier(&tier);) {
            memset(whole, 0x7f, (size_t)(POSITIONS * stride) * sizeof(float));
            /* cos | sin | three floats that are nobody's */
            truth_ok(posenc_angle_rows(freq, positions, POSITIONS, whole, whole + n, stride));
            truth_ok(posenc_angle_rows(freq, reversed, POSITIONS, backwards, backwards + n, stride));
            for (int64_t t = 0; t < POSITIONS; t++) {
                const float *row = whole + t * stride;
                truth_ok(posenc_angle_rows(freq, positions + t, 1, alone, alone + n, n));
                truth_same_bits(row, alone, (size_t)(2 * n), "%lld pairs, position %d alone", (long long)n,
                                positions[t]);
                truth_same_bits(backwards + (POSITIONS - 1 - t) * stride, row, (size_t)(2 * n),
                                "%lld pairs, position %d in reversed order", (long long)n, positions[t]);
                for (int gap = 0; gap < 3; gap++)
                    assert_memory_equal(row + 2 * n + gap, "\x7f\x7f\x7f\x7f", 4);
                n_compared += 4 * n;
            }
        }
        free(alone);
        free(whole);
        free(backwards);
        posenc_freq_free(freq);
    }
    print_message("%lld values compared by bits\n", n_compared);
}

/* Pair i of a wide table has the bits it has in a table of its own. */
/* Positions that count up past the largest go on with the smallest: each is itself, whatever is before it. */
static void test_run_past_the_largest(void **state) {
    (void)state;
    enum { PAIRS = 20, POSITIONS = 200 };
    static float rows[POSITIONS * 2 * PAIRS], alone[2 * PAIRS];
    posenc_freq *freq;
    truth_ok(posenc_freq_create(10000.0, 2 * PAIRS, &freq));
    for (uint32_t before = 1; before < POSITIONS; before++) {
        int32_t positions[POSITIONS];
        for (uint32_t t = 0; t < POSITIONS; t++)
            positions[t] = (int32_t)(INT32_MAX + 1u - before + t);
        truth_ok(posenc_angle_rows(freq, positions, POSITIONS, rows, rows + PAIRS, 2 * PAIRS));
        for (int t = 0; t < POSITIONS; t++) {
            truth_ok(posenc_angle_rows(freq, positions + t, 1, alone, alone + PAIRS, PAIRS));
            truth_same_bits(rows + t * 2 * PAIRS, alone, 2 * PAIRS, "position %d, %d-th of a run", positions[t], t);
        }
    }
    posenc_freq_free(freq);
}

static void test_pairs_do_not_see_each_other(void **state) {
    (void)state;
    enum { PAIRS = 2 * POSENC_SLICE + 7, POSITIONS = 9 };
    double theta[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        theta[i] = truth_log_uniform(1e-7, POSENC_MAX_FREQUENCY);
    int32_t positions[POSITIONS];
    for (int t = 0; t < POSITIONS; t++)
        positions[t] = truth_position();
    float c[POSITIONS * PAIRS], s[POSITIONS * PAIRS], ci[POSITIONS], si[POSITIONS];
    posenc_freq *freq;
    truth_ok(posenc_freq_create_values(theta, PAIRS, &freq));
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_angle_rows(freq, positions, POSITIONS, c, s, PAIRS));
        for (int i = 0; i < PAIRS; i++) {
            posenc_freq *single;
            truth_ok(posenc_freq_create_values(theta + i, 1, &single));
            truth_ok(posenc_angle_rows(single, positions, POSITIONS, ci, si, 1));
            for (int t = 0; t < POSITIONS; t++) {
                truth_same_bits(c + t * PAIRS + i, ci + t, 1, "cos, pair %d alone", i);
                truth_same_bits(s + t * PAIRS + i, si + t, 1, "sin, pair %d alone", i);
            }
            posenc_freq_free(single);
        }
    }
    posenc_freq_free(freq);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_powers_at_random_positions),
        truth_test(test_powers_at_chosen_positions),
        truth_test(test_powers_next_to_zeros),
        truth_test(test_values),
        truth_test(test_batch_order_and_slices_do_not_matter),
        truth_test(test_run_past_the_largest),
        truth_test(test_pairs_do_not_see_each_other),
    };
    return truth_run(tests);
}
