/* SPDX-License-Identifier: MIT */
/* The analysis of rows, frequencies, codes and costs against MPFR, plain doubles, and its own laws (FORMULAS D). */
#include "truth.h"
#include "truth_mpfr.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>

#include "core/for_python.h"

/* ---- Rows: D.1 - D.3 ---- */

static double plain_dot(const posenc_view *e, int64_t a, int64_t b) {
    double sum = 0.0;
    for (int64_t c = 0; c < e->ne[0]; c++)
        sum += (double)*truth_at(e, c, a, 0, 0) * (double)*truth_at(e, c, b, 0, 0);
    return sum;
}

static double plain_similarity(const posenc_view *e, int64_t a, int64_t b, double eps) {
    double denominator = sqrt(plain_dot(e, a, a)) * sqrt(plain_dot(e, b, b)) + eps;
    return denominator == 0.0 ? 0.0 : plain_dot(e, a, b) / denominator;
}

static double promised(const posenc_view *e) {
    return (double)(e->ne[0] > 0 ? e->ne[0] : 1) * 0x1p-23;
}

static void check_matrix(int64_t dim, int64_t n, double eps) {
    truth_tensor e = truth_tensor_random((int64_t[4]){dim, n, 1, 1});
    for (int64_t c = 0; n > 1 && c < dim; c++) /* a row of zeros */
        *truth_at(&e.view, c, n / 2, 0, 0) = 0.0f;
    truth_mark(&e);
    truth_tensor first = truth_tensor_dense(n, n, 1, 1);
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        truth_tensor y = truth_tensor_random((int64_t[4]){n, n, 1, 1});
        int64_t split = truth_below(n + 1);
        truth_ok(posenc_cosine_similarity(&e.view, eps, &y.view, (posenc_range){0, split}));
        truth_ok(posenc_cosine_similarity(&e.view, eps, &y.view, (posenc_range){split, n}));
        truth_nothing_else_changed(&y, 0, n, "similarity");
        if (n_tiers == 0)
            truth_ok(posenc_cosine_similarity(&e.view, eps, &first.view, posenc_range_all()));
        truth_same_views(&y.view, &first.view, "tiers or splits differ");
        truth_tensor_free(&y);
    }
    TRUTH_EACH(&first.view, b, a, i2, i3) {
        float got = *truth_at(&first.view, b, a, 0, 0), mirrored = *truth_at(&first.view, a, b, 0, 0);
        truth_close((double)got, plain_similarity(&e.view, a, b, eps), promised(&e.view), "[%lld][%lld] of dim %lld",
                    (long long)a, (long long)b, (long long)dim);
        truth_same_bits(&got, &mirrored, 1, "symmetry");
    }
    float *profile = malloc((size_t)(n + 3) * sizeof *profile);
    for (int64_t q = 0; q < n; q++) {
        truth_ok(posenc_similarity_profile(&e.view, q, eps, n + 3, profile));
        for (int64_t t = 0; t < n + 3; t++)
            if (q + t < n)
                truth_same_bits(profile + t, truth_at(&first.view, q + t, q, 0, 0), 1, "profile");
            else
                assert_true(isnan(profile[t]));
    }
    free(profile);
    truth_nothing_changed(&e, "rows");
    truth_tensor_free(&e);
    truth_tensor_free(&first);
}

static void test_similarity(void **state) {
    (void)state;
    static const int64_t counts[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 130};
    for (int64_t dim = 0; dim <= 70; dim++)
        check_matrix(dim, 1 + dim % 23, dim % 2 == 0 ? 0.0 : 1e-8);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
        check_matrix(1 + truth_below(900), counts[k], 0.25);
    check_matrix(3, 1100, 0.0);
}

/* A NaN stays in its own row and column. */
static void test_similarity_of_nan(void **state) {
    (void)state;
    enum { N = 70 };
    truth_tensor e = truth_tensor_dense(33, N, 1, 1), y = truth_tensor_dense(N, N, 1, 1);
    *truth_at(&e.view, 5, 40, 0, 0) = NAN;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_cosine_similarity(&e.view, 0.0, &y.view, posenc_range_all()));
        TRUTH_EACH(&y.view, b, a, i2, i3)
        assert_int_equal(!!isnan(*truth_at(&y.view, b, a, 0, 0)), a == 40 || b == 40);
    }
    truth_tensor_free(&e);
    truth_tensor_free(&y);
}

static posenc_view encode(float *rows, int64_t n, int64_t dim) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    params.dim = dim;
    posenc_encoding *pe;
    truth_ok(posenc_sinusoidal_create(&params, &pe));
    posenc_view y = posenc_view_dense(rows, POSENC_F32, dim, n, 1, 1);
    for (int32_t t = 0; t < n; t++) {
        posenc_view row = posenc_view_dense(rows + t * dim, POSENC_F32, dim, 1, 1, 1);
        truth_ok(posenc_encoding_write(pe, &t, &row));
    }
    posenc_encoding_free(pe);
    return y;
}

/* D.1 of sinusoidal rows is Toeplitz: D.4 over half the width. */
static void test_sinusoidal_similarity(void **state) {
    (void)state;
    enum { DIM = 64, N = 100 };
    static float rows[N * DIM], matrix[N * N];
    posenc_view e = encode(rows, N, DIM), y = posenc_view_dense(matrix, POSENC_F32, N, N, 1, 1);
    truth_ok(posenc_cosine_similarity(&e, 0.0, &y, posenc_range_all()));
    posenc_freq *freq;
    truth_ok(posenc_freq_create(10000.0, DIM, &freq));
    for (int32_t a = 0; a < N; a++)
        for (int32_t b = 0; b < N; b++) {
            int32_t offset = a - b;
            double by_offset;
            truth_ok(posenc_dot_by_offset(freq, &offset, 1, &by_offset));
            truth_close((double)matrix[a * N + b], by_offset / (DIM / 2), promised(&e), "offset %d", offset);
        }
    posenc_freq_free(freq);
}

static void test_progression(void **state) {
    (void)state;
    float line[7][3], wave[21 * 4];
    for (int p = 0; p < 7; p++)
        for (int c = 0; c < 3; c++)
            line[p][c] = (float)(c - 1) * 0.5f * (float)p + 3.0f;
    posenc_view e = posenc_view_dense(line, POSENC_F32, 3, 7, 1, 1);
    posenc_progression found;
    truth_ok(posenc_check_progression(&e, 6, -3, 0.0, 0.0, &found));
    assert_true(found.holds && found.largest == 0.0);
    line[6][2] += 0.25f; /* now E[6] - E[3] is off by 0.25 */
    truth_ok(posenc_check_progression(&e, 0, 3, 0.25, 0.0, &found));
    assert_true(found.holds && found.largest == 0.25);
    truth_ok(posenc_check_progression(&e, 0, 3, 0.2499, 0.0, &found));
    assert_true(!found.holds);
    truth_ok(posenc_check_progression(&e, 0, 3, 0.0, 0.25 / 1.75, &found)); /* relative to the second difference */
    assert_true(found.holds);
    truth_ok(posenc_check_progression(&e, 0, 3, 0.0, 0.25 / 1.76, &found));
    assert_true(!found.holds);
    line[3][0] = NAN;
    truth_ok(posenc_check_progression(&e, 0, 3, 9.0, 9.0, &found));
    assert_true(!found.holds && isnan(found.largest));
    e = encode(wave, 21, 4);
    truth_ok(posenc_check_progression(&e, 0, 5, 0.1, 1e-5, &found));
    assert_true(!found.holds);
    truth_close(found.largest, 1.37382744, 1e-7, "sinusoidal rows");
}

/* ---- Frequencies: D.4, D.5, D.8 ---- */

/* sum of cos(theta T), and sqrt(sum of 2 (1 - cos(theta T))). */
static void true_sums(const truth_table *table, int32_t offset, double *dot, double *distance) {
    mpfr_t cosine, sine, sum;
    mpfr_inits2(TRUTH_BITS, cosine, sine, sum, (mpfr_ptr)NULL);
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    for (int64_t i = 0; i < table->n; i++) {
        truth_angle(table, i, offset, cosine, sine);
        mpfr_add(sum, sum, cosine, MPFR_RNDN);
    }
    *dot = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_ui_sub(sum, (unsigned long)table->n, sum, MPFR_RNDN);
    mpfr_mul_2ui(sum, sum, 1, MPFR_RNDN);
    mpfr_sqrt(sum, sum, MPFR_RNDN);
    *distance = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clears(cosine, sine, sum, (mpfr_ptr)NULL);
}

static void check_offsets(const truth_table *table, posenc_freq *freq, const int32_t *offsets, int n) {
    double dots[64], distances[64], first[2][64];
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        truth_ok(posenc_dot_by_offset(freq, offsets, n, dots));
        truth_ok(posenc_alias_distance(freq, offsets, n, distances));
        for (int k = 0; k < n; k++) {
            if (n_tiers == 0) {
                first[0][k] = dots[k];
                first[1][k] = distances[k];
            }
            assert_true(dots[k] == first[0][k] && distances[k] == first[1][k]);
            double one_dot, dot, distance;
            truth_ok(posenc_dot_by_offset(freq, offsets + k, 1, &one_dot));
            assert_true(one_dot == dots[k]); /* alone as among others */
            true_sums(table, offsets[k], &dot, &distance);
            truth_close(dots[k], dot, (double)table->n * 0x1p-24, "dot at %d", offsets[k]);
            truth_close(distances[k], distance, fmax(distance * 0x1p-22, 0x1p-43 * sqrt((double)table->n)),
                        "distance at %d", offsets[k]);
        }
    }
}

static void test_offsets(void **state) {
    (void)state;
    static const int64_t dims[] = {0, 2, 4, 8, 64, 254, 256, 258, 700};
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
        int32_t offsets[64] = {0, 1, -1, 6, 44, 710, 62832, INT32_MAX, INT32_MIN};
        for (int k = 9; k < 64; k++)
            offsets[k] = truth_position();
        truth_table table = truth_powers(1.0, 10000.0, 2, dims[d] > 0 ? dims[d] : 1, dims[d] / 2);
        posenc_freq *freq;
        truth_ok(posenc_freq_create(10000.0, dims[d], &freq));
        check_offsets(&table, freq, offsets, 64);
        int n_near = dims[d] == 2 ? truth_near_zeros(&table, 0, offsets) : 0; /* where whole turns almost fit */
        check_offsets(&table, freq, offsets, n_near);
        posenc_freq_free(freq);
        truth_table_free(&table);
    }
}

static void test_frequency_report(void **state) {
    (void)state;
    static const double theta[] = {1.0, 0.01, -0.5, 0.0, POSENC_MAX_FREQUENCY};
    posenc_frequency report[5];
    truth_ok(posenc_frequency_report(theta, 5, 4096.0, report));
    static const double wavelengths[] = {6.283185307179586, 628.3185307179587, 12.566370614359172};
    static const double turns[] = {651.8986469044033, 6.518986469044033, 325.94932345220164};
    for (int i = 0; i < 3; i++) {
        truth_close(report[i].wavelength, wavelengths[i], 1e-15 * wavelengths[i], "wavelength %d", i);
        truth_close(report[i].turns, turns[i], 1e-15 * turns[i], "turns %d", i);
    }
    for (int i = 0; i < 5; i++)
        assert_true(report[i].theta == theta[i]);
    assert_true(isinf(report[3].wavelength) && report[3].turns == 0.0);
}

/* ---- Codes: D.9 ---- */

static void test_hamming(void **state) {
    (void)state;
    assert_int_equal(posenc_hamming_binary(3, 4), 3);
    assert_int_equal(posenc_hamming_gray(3, 4), 1);
    assert_int_equal(posenc_hamming_binary(0, UINT64_MAX), 64);
    assert_int_equal(posenc_hamming_gray(0, UINT64_MAX), 1); /* the last code is next to the first */
    for (int k = 0; k < 10000; k++) {
        uint64_t p = k < 4096 ? (uint64_t)k : truth_random() >> truth_below(63);
        int trailing_ones = 0;
        while (trailing_ones < 64 && (p >> trailing_ones & 1) != 0)
            trailing_ones++;
        assert_int_equal(posenc_hamming_gray(p, p + 1), 1);
        assert_int_equal(posenc_hamming_binary(p, p + 1), p == UINT64_MAX ? 64 : trailing_ones + 1);
        assert_int_equal(posenc_hamming_gray(p, p), 0);
    }
}

/* ---- Costs: D.6, D.7 ---- */

static void test_costs(void **state) {
    (void)state;
    static const struct {
        posenc_scheme scheme;
        posenc_sizes sizes;
        int64_t parameters, flops, rule_of_thumb; /* -1: no such formula */
    } rows[] = {
        {POSENC_SCHEME_SINUSOIDAL, {.length = 2048, .dim = 768}, 0, 768, 768},
        {POSENC_SCHEME_LEARNED, {.length = 2048, .dim = 768}, 1572864, 768, 768},
        {POSENC_SCHEME_ROPE, {.head_dim = 64, .n_heads = 12}, 0, 6 * 64 * 12, 256},
        {POSENC_SCHEME_ALIBI, {.length = 2048, .n_heads = 12}, 0, 2 * 2048 * 12, 2048},
        {POSENC_SCHEME_SHAW,
         {.length = 2048, .head_dim = 64, .n_heads = 12, .max_distance = 16},
         2 * 33 * 64,
         4 * 2048 * 64 * 12,
         262144},
        {POSENC_SCHEME_SANDWICH, {.n_heads = 12}, 0, -1, -1},
        {POSENC_SCHEME_T5, {.n_heads = 12, .n_buckets = 32}, 384, -1, -1},
        {POSENC_SCHEME_TRANSFORMER_XL, {.dim = 512, .head_dim = 64, .n_heads = 8}, 2 * 8 * 64 + 512 * 8 * 64, -1, -1},
        {POSENC_SCHEME_DEBERTA, {.dim = 768, .max_distance = 512}, 2 * 512 * 768, -1, -1},
        {POSENC_SCHEME_KERPLE, {.n_heads = 12}, 24, -1, -1},
        {POSENC_SCHEME_FIRE, {.n_heads = 12, .hidden = 32}, 32 + 32 + 32 * 12 + 12 + 2, -1, -1},
        {POSENC_SCHEME_COPE, {.head_dim = 64, .n_positions = 64}, 4096, -1, -1},
        {POSENC_SCHEME_SWIN, {.n_heads = 3, .window_h = 7, .window_w = 7}, 507, -1, -1},
        {POSENC_SCHEME_SWIN, {.n_heads = 3, .window_h = 7}, 0, -1, -1},
        {POSENC_SCHEME_CPE, {.dim = 64, .kernel = 3}, 64 * 9 + 64, -1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t parameters = -1, flops = -1, rule_of_thumb = -1;
        truth_ok(posenc_parameter_count(rows[i].scheme, &rows[i].sizes, &parameters));
        posenc_status known = rows[i].flops >= 0 ? POSENC_OK : POSENC_ERR_ENUM;
        assert_int_equal(posenc_flops(rows[i].scheme, &rows[i].sizes, &flops), known);
        assert_int_equal(posenc_flops_rule_of_thumb(rows[i].scheme, &rows[i].sizes, &rule_of_thumb), known);
        assert_int_equal(parameters, rows[i].parameters);
        assert_int_equal(flops, rows[i].flops);
        assert_int_equal(rule_of_thumb, rows[i].rule_of_thumb);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_similarity),
        truth_test(test_similarity_of_nan),
        truth_test(test_sinusoidal_similarity),
        truth_test(test_progression),
        truth_test(test_offsets),
        truth_test(test_frequency_report),
        truth_test(test_hamming),
        truth_test(test_costs),
    };
    return truth_run(tests);
}
