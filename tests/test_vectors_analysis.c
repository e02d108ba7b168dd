/* SPDX-License-Identifier: MIT */
/* The golden vectors of FORMULAS D through the public API, on every tier. */
#include "truth_json.h"

#include <math.h>

#include "core/for_python.h"

/* Rows 0 .. n-1 of A.1. */
static posenc_view encode(float *rows, int64_t n, int64_t dim) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    params.dim = dim;
    posenc_encoding *pe;
    truth_ok(posenc_sinusoidal_create(&params, &pe));
    int32_t positions[MAX_POSITIONS];
    for (int64_t t = 0; t < n; t++)
        positions[t] = (int32_t)t;
    posenc_view y = posenc_view_dense(rows, POSENC_F32, dim, n, 1, 1);
    truth_ok(posenc_encoding_write(pe, positions, &y));
    posenc_encoding_free(pe);
    return y;
}

static int check_matrix(const example *e) {
    float rows[MAX_VALUES], matrix[MAX_VALUES];
    int64_t n = (int64_t)value(e, "L");
    posenc_view x = encode(rows, n, (int64_t)value(e, "d")), y = posenc_view_dense(matrix, POSENC_F32, n, n, 1, 1);
    truth_ok(posenc_cosine_similarity(&x, value(e, "eps"), &y, posenc_range_all()));
    return match(e, matrix, 0, (int)(n * n));
}

static int check_profile(const example *e) {
    float rows[MAX_VALUES], profile[MAX_VALUES];
    int n = (int)value(e, "max_distance"), n_there = 0;
    posenc_view x = encode(rows, (int64_t)value(e, "L"), (int64_t)value(e, "d"));
    truth_ok(posenc_similarity_profile(&x, (int64_t)value(e, "query"), value(e, "eps"), n, profile));
    while (n_there < n && !isnan(e->expected[n_there]))
        n_there++;
    for (int t = n_there; t < n; t++)
        assert_true(isnan(e->expected[t]) && isnan(profile[t]));
    return match(e, profile, 0, n_there) + n - n_there;
}

static int check_offsets(const example *e) {
    int32_t offsets[MAX_POSITIONS];
    double dots[MAX_POSITIONS], distances[MAX_POSITIONS];
    int n = (int)integers(e, "offsets", offsets);
    posenc_freq *freq;
    truth_ok(posenc_freq_create(value(e, "base"), (int64_t)value(e, "d"), &freq));
    truth_ok(posenc_dot_by_offset(freq, offsets, n, dots));
    truth_ok(posenc_alias_distance(freq, offsets, n, distances));
    posenc_freq_free(freq);
    for (int k = 0; k < n; k++) {
        truth_close(dots[k], e->expected[k], TRUTH_TOLERANCE, "%s, dot %d", e->where, k);
        truth_close(distances[k], e->expected[n + k], TRUTH_TOLERANCE, "%s, distance %d", e->where, k);
    }
    return 2 * n;
}

static int check_progression(const example *e) {
    float rows[MAX_VALUES];
    int64_t step = (int64_t)value(e, "step");
    posenc_view x = encode(rows, 2 * step + 1, (int64_t)value(e, "d"));
    posenc_progression found;
    truth_ok(posenc_check_progression(&x, 0, step, value(e, "atol"), value(e, "rtol"), &found));
    assert_true(found.holds == (int)e->expected[0]);
    truth_close(found.largest, e->expected[1], TRUTH_TOLERANCE, "%s", e->where);
    return 2;
}

static int check_d01(const example *e) {
    if (is(e, "kind", "cosine_matrix"))
        return check_matrix(e);
    if (is(e, "kind", "relative_similarity"))
        return check_profile(e);
    return is(e, "kind", "dot_and_aliasing") ? check_offsets(e) : check_progression(e);
}

static void test_vectors(void **state) {
    (void)state;
    static const vector_file files[] = {{"D01_analysis", check_d01}};
    check_vector_files(files, 1, 7, 47, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
