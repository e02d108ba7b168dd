/* SPDX-License-Identifier: MIT */
/* analysis.h: every parameter, bad values. Results lie in the arena, where a byte that is written is seen. */
#include "truth_errors.h"

#include <math.h>

#include "core/for_python.h"

static const double bad_sizes[] = {-1.0, -1e-300, INFINITY, -INFINITY, NAN};
enum { N_BAD_SIZES = sizeof bad_sizes / sizeof bad_sizes[0] };

/* Bad in itself, wherever it stands. */
static const struct {
    posenc_view view;
    posenc_status want;
} bad_views[] = {
    {{NULL, POSENC_F32, {DIM, TOKENS, 1, 1}, {4, 32, 128, 128}}, POSENC_ERR_NULL},
    {{arena + 1024, POSENC_F16, {DIM, TOKENS, 1, 1}, {2, 16, 64, 64}}, POSENC_ERR_DTYPE},
    {{arena + 1024, POSENC_BF16, {DIM, TOKENS, 1, 1}, {2, 16, 64, 64}}, POSENC_ERR_DTYPE},
    {{arena + 1024, (posenc_dtype)99, {DIM, TOKENS, 1, 1}, {4, 32, 128, 128}}, POSENC_ERR_DTYPE},
    {{arena + 1024, POSENC_F32, {DIM, -1, 1, 1}, {4, 32, 128, 128}}, POSENC_ERR_SHAPE},
    {{arena + 1024, POSENC_F32, {DIM, TOKENS, 2, 1}, {4, 32, 128, 256}}, POSENC_ERR_SHAPE},
    {{arena + 1024, POSENC_F32, {DIM, TOKENS, 1, 2}, {4, 32, 128, 128}}, POSENC_ERR_SHAPE},
    {{arena + 1024, POSENC_F32, {INT64_MAX, INT64_MAX, 1, 1}, {4, 32, 128, 128}}, POSENC_ERR_SHAPE},
    {{arena + 1024, POSENC_F32, {DIM, TOKENS, 1, 1}, {8, 64, 256, 256}}, POSENC_ERR_STRIDE},
    {{arena + 1024, POSENC_F32, {DIM, TOKENS, 1, 1}, {4, 33, 128, 128}}, POSENC_ERR_STRIDE},
};

void test_analysis_of_rows(void **state) {
    (void)state;
    posenc_view e = posenc_view_dense(in, POSENC_F32, DIM, TOKENS, 1, 1);
    posenc_view y = posenc_view_dense(out, POSENC_F32, TOKENS, TOKENS, 1, 1), overlapping = y, wide = y, flat = y;
    posenc_range all = posenc_range_all();
    posenc_progression *result = (posenc_progression *)(void *)out;

    for (size_t i = 0; i < sizeof bad_views / sizeof bad_views[0]; i++) {
        const posenc_view *bad = &bad_views[i].view;
        RETURNS(bad_views[i].want, posenc_cosine_similarity, bad, 0.0, &y, all);
        RETURNS(bad_views[i].want, posenc_similarity_profile, bad, 0, 0.0, TOKENS, out);
        RETURNS(bad_views[i].want, posenc_check_progression, bad, 0, 1, 0.0, 0.0, result);
        RETURNS(bad_views[i].want, posenc_cosine_similarity, &e, 0.0, bad, all);
    }
    for (int i = 0; i < N_BAD_SIZES; i++) {
        RETURNS(POSENC_ERR_SCALE, posenc_cosine_similarity, &e, bad_sizes[i], &y, all);
        RETURNS(POSENC_ERR_SCALE, posenc_similarity_profile, &e, 0, bad_sizes[i], TOKENS, out);
        RETURNS(POSENC_ERR_SCALE, posenc_check_progression, &e, 0, 1, bad_sizes[i], 0.0, result);
        RETURNS(POSENC_ERR_SCALE, posenc_check_progression, &e, 0, 1, 0.0, bad_sizes[i], result);
    }
    /* Nothing is in them, but rows were read. */
    posenc_view none = {.data = NULL, .dtype = POSENC_F32, .ne = {DIM, TOKENS, 1, 1}, .nb = {4, 4, 4, 4}};
    for (int dim = 2; dim < 4; dim++) {
        none.ne[2] = dim != 2;
        none.ne[3] = dim != 3;
        RETURNS(POSENC_ERR_SHAPE, posenc_cosine_similarity, &none, 0.0, &y, all);
        RETURNS(POSENC_ERR_SHAPE, posenc_similarity_profile, &none, 0, 0.0, TOKENS, out);
        RETURNS(POSENC_ERR_SHAPE, posenc_check_progression, &none, 0, 1, 0.0, 0.0, result);
    }
    RETURNS(POSENC_ERR_NULL, posenc_cosine_similarity, NULL, 0.0, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_cosine_similarity, &e, 0.0, NULL, all);
    wide.ne[0] = flat.ne[1] = TOKENS - 1;
    RETURNS(POSENC_ERR_SHAPE, posenc_cosine_similarity, &e, 0.0, &wide, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_cosine_similarity, &e, 0.0, &flat, all);
    for (int dim = 2; dim < 4; dim++) {
        posenc_view two = posenc_view_dense(out, POSENC_F32, TOKENS, TOKENS, dim == 2 ? 2 : 1, dim == 3 ? 2 : 1);
        RETURNS(POSENC_ERR_SHAPE, posenc_cosine_similarity, &e, 0.0, &two, all);
    }
    flat = y;
    flat.nb[1] = 0;
    RETURNS(POSENC_ERR_STRIDE, posenc_cosine_similarity, &e, 0.0, &flat, all);
    overlapping.data = in + DIM * TOKENS - 1;
    RETURNS(POSENC_ERR_OVERLAP, posenc_cosine_similarity, &e, 0.0, &overlapping, all);
    RETURNS(POSENC_ERR_ROWS, posenc_cosine_similarity, &e, 0.0, &y, ((posenc_range){0, TOKENS + 1}));
    RETURNS(POSENC_ERR_ROWS, posenc_cosine_similarity, &e, 0.0, &y, ((posenc_range){-1, 1}));
    RETURNS(POSENC_ERR_ROWS, posenc_cosine_similarity, &e, 0.0, &y, ((posenc_range){2, 1}));
    RETURNS(POSENC_OK, posenc_cosine_similarity, &e, 0.0, &y, ((posenc_range){1, 1}));

    static const int64_t bad_queries[] = {-1, TOKENS, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 4; i++)
        RETURNS(POSENC_ERR_ROWS, posenc_similarity_profile, &e, bad_queries[i], 0.0, TOKENS, out);
    RETURNS(POSENC_ERR_NULL, posenc_similarity_profile, NULL, 0, 0.0, TOKENS, out);
    RETURNS(POSENC_ERR_NULL, posenc_similarity_profile, &e, 0, 0.0, TOKENS, NULL);
    RETURNS(POSENC_OK, posenc_similarity_profile, &e, 0, 0.0, 0, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_similarity_profile, &e, 0, 0.0, TOKENS, (float *)shifted(out, 2));
    RETURNS(POSENC_ERR_OVERLAP, posenc_similarity_profile, &e, 0, 0.0, TOKENS, in);
    RETURNS(POSENC_ERR_SHAPE, posenc_similarity_profile, &e, 0, 0.0, -1, out);
    RETURNS(POSENC_ERR_SHAPE, posenc_similarity_profile, &e, 0, 0.0, INT64_MAX, out);

    static const int64_t bad_steps[][2] = {{-1, 1},        {0, 2},         {TOKENS, 0},    {1, -1},
                                           {0, INT64_MAX}, {0, INT64_MIN}, {INT64_MAX, 1}, {INT64_MIN, 1}};
    for (int i = 0; i < 8; i++)
        RETURNS(POSENC_ERR_ROWS, posenc_check_progression, &e, bad_steps[i][0], bad_steps[i][1], 0.0, 0.0, result);
    RETURNS(POSENC_ERR_NULL, posenc_check_progression, NULL, 0, 1, 0.0, 0.0, result);
    RETURNS(POSENC_ERR_NULL, posenc_check_progression, &e, 0, 1, 0.0, 0.0, NULL);
}

void test_analysis_of_frequencies(void **state) {
    (void)state;
    double *sums = (double *)(void *)out;
    static posenc_status (*const calls[])(const posenc_freq *, const int32_t *, int64_t,
                                          double *) = {posenc_dot_by_offset, posenc_alias_distance};
    name("posenc_dot_by_offset");
    name("posenc_alias_distance");
    for (int i = 0; i < 2; i++) {
        check(calls[i](NULL, positions, 2, sums), POSENC_ERR_NULL, "no table");
        check(calls[i](freq, NULL, 2, sums), POSENC_ERR_NULL, "no offsets");
        check(calls[i](freq, positions, 2, NULL), POSENC_ERR_NULL, "no sums");
        check(calls[i](freq, positions, -1, sums), POSENC_ERR_SHAPE, "fewer than no offsets");
        check(calls[i](freq, positions, INT64_MAX, sums), POSENC_ERR_SHAPE, "too many offsets");
        check(calls[i](freq, shifted(positions, 2), 1, sums), POSENC_ERR_STRIDE, "misaligned offsets");
        check(calls[i](freq, positions, 1, shifted(sums, HALF_OF_8)), POSENC_ERR_STRIDE, "misaligned sums");
        check(calls[i](freq, NULL, 0, NULL), POSENC_OK, "no offsets at all");
    }

    posenc_frequency *report = (posenc_frequency *)(void *)out;
    double theta[2] = {1.0, 0.5};
    static const double bad_thetas[] = {POSENC_MAX_FREQUENCY * (1.0 + 0x1p-52), -1e300, INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 5; i++)
        RETURNS(POSENC_ERR_FREQUENCY, posenc_frequency_report, ((double[2]){1.0, bad_thetas[i]}), 2, 1.0, report);
    for (int i = 0; i < N_BAD_SIZES; i++)
        RETURNS(POSENC_ERR_CONTEXT, posenc_frequency_report, theta, 2, bad_sizes[i], report);
    RETURNS(POSENC_ERR_SHAPE, posenc_frequency_report, theta, -1, 1.0, report);
    RETURNS(POSENC_ERR_SHAPE, posenc_frequency_report, theta, INT64_MAX, 1.0, report);
    RETURNS(POSENC_ERR_NULL, posenc_frequency_report, NULL, 2, 1.0, report);
    RETURNS(POSENC_ERR_NULL, posenc_frequency_report, theta, 2, 1.0, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_frequency_report, (const double *)shifted(theta, HALF_OF_8), 1, 1.0, report);
    RETURNS(POSENC_ERR_STRIDE, posenc_frequency_report, theta, 2, 1.0, (posenc_frequency *)shifted(report, HALF_OF_8));
    RETURNS(POSENC_OK, posenc_frequency_report, NULL, 0, 1.0, NULL);

    ANSWERS(== 2, posenc_hamming_binary, 1, 2);
    ANSWERS(== 1, posenc_hamming_gray, 1, 2);
}

void test_costs(void **state) {
    (void)state;
    int64_t *count = (int64_t *)(void *)out;
    static posenc_status (*const calls[])(posenc_scheme, const posenc_sizes *, int64_t *) = {
        posenc_parameter_count, posenc_flops, posenc_flops_rule_of_thumb};
    name("posenc_parameter_count");
    name("posenc_flops");
    name("posenc_flops_rule_of_thumb");
    const int64_t large = (int64_t)1 << 40;
    for (int i = 0; i < 3; i++) {
        posenc_sizes good = {.length = 2, .dim = 3, .head_dim = 4, .max_distance = 5, .n_heads = 6};
        check(calls[i](POSENC_SCHEME_SHAW, NULL, count), POSENC_ERR_NULL, "no sizes");
        check(calls[i](POSENC_SCHEME_SHAW, &good, NULL), POSENC_ERR_NULL, "no result");
        check(calls[i](POSENC_SCHEME_UNSET, &good, count), POSENC_ERR_UNSET, "unset scheme");
        static const int unknown[] = {-1, POSENC_SCHEME_CPE + 1, INT32_MAX};
        for (int k = 0; k < 3; k++)
            check(calls[i]((posenc_scheme)unknown[k], &good, count), POSENC_ERR_ENUM, "unknown scheme");
        for (size_t k = 0; k < sizeof good / sizeof(int64_t); k++) {
            static const int64_t bad[] = {-1, ((int64_t)1 << 40) + 1, INT64_MIN, INT64_MAX};
            for (int b = 0; b < 4; b++) {
                posenc_sizes sizes = good;
                ((int64_t *)(void *)&sizes)[k] = bad[b];
                check(calls[i](POSENC_SCHEME_SHAW, &sizes, count), POSENC_ERR_SHAPE, "a size out of range");
            }
        }
        posenc_sizes huge = {.length = large, .head_dim = large, .max_distance = large, .n_heads = large};
        check(calls[i](POSENC_SCHEME_SHAW, &huge, count), POSENC_ERR_SHAPE, "a count beyond int64");
    }
    posenc_sizes empty = {0};
    RETURNS(POSENC_ERR_ENUM, posenc_flops, POSENC_SCHEME_T5, &empty, count);
    RETURNS(POSENC_ERR_ENUM, posenc_flops_rule_of_thumb, POSENC_SCHEME_SWIN, &empty, count);
}
