/* SPDX-License-Identifier: MIT */
/* The golden vectors of FORMULAS C.3 (one row), C.5, C.6, C.10, C.16, C.18, C.20, C.21, C.30, E.4 and E.6
 * (tests/vectors) through the public API, on every tier. */
#include "truth_json.h"

#include <math.h>
#include <string.h>

#include "core/for_python.h"

enum { MAX_OFFSETS = 256 };

/* ---- Lines ---- */

/* A line of n_heads heads over offsets first .. -first. */
static posenc_rel_bias symmetric_rel_bias(float *data, int64_t first, int64_t n_heads) {
    return (posenc_rel_bias){data, first, 1 - 2 * first, n_heads, 1 - 2 * first, 0};
}

/* The bias [n_heads][n_q][n_k] that the softmax path makes of a line. */
static int match_rel_bias(const example *e, const posenc_rel_bias *rel_bias, int first) {
    float bias[MAX_VALUES];
    int64_t n_q = (int64_t)value(e, "n_q"), n_k = (int64_t)value(e, "n_k");
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.bias.relative = rel_bias;
    params.positions.query_start = (int64_t)value(e, "q_offset");
    posenc_view y = posenc_view_dense(bias, POSENC_F32, n_k, n_q, rel_bias->n_heads, 1);
    truth_ok(posenc_logits(&params, NULL, &y, posenc_range_all()));
    return match(e, bias, first, (int)(n_q * n_k * rel_bias->n_heads));
}

/* Both parts: the matrix from a line, and the row. */
/* Keys `from` .. n_k - 1 of a row whose first keys, `padded` of them, are padding. */
static int check_counted(const example *e) {
    enum { MOST = 2048, HEADS = 32 };
    static float row[HEADS * MOST], slopes[HEADS], got[MAX_VALUES];
    static uint8_t keep[MOST];
    int64_t n_heads = (int64_t)value(e, "n_heads"), n_k = (int64_t)value(e, "n_k"), from = (int64_t)value(e, "from");
    int n = 0;
    truth_ok(posenc_alibi_slopes(n_heads, 8.0, slopes));
    for (int64_t j = 0; j < n_k; j++)
        keep[j] = j >= (int64_t)value(e, "padded");
    posenc_view bias = posenc_view_dense(row, POSENC_F32, n_k, 1, n_heads, 1);
    truth_ok(posenc_alibi_row(slopes, POSENC_ALIBI_ROW_COUNTED_BF16, keep, &bias));
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t j = from; j < n_k; j++)
            got[n++] = row[h * n_k + j];
    return match(e, got, 0, n);
}

static int check_c03(const example *e) {
    if (is(e, "form", "counted_bf16"))
        return check_counted(e);
    float slopes[MAX_POSITIONS], data[MAX_VALUES], row[MAX_VALUES];
    int64_t n_heads = (int64_t)value(e, "n_heads"), n_q = (int64_t)value(e, "n_q"), n_k = (int64_t)value(e, "n_k");
    truth_ok(posenc_alibi_slopes(n_heads, 8.0, slopes));
    posenc_rel_bias rel_bias = symmetric_rel_bias(data, -20, n_heads);
    truth_ok(posenc_rel_bias_alibi(slopes, &rel_bias));
    if (is(e, "form", "causal"))
        truth_ok(posenc_rel_bias_mask(posenc_mask_causal(), &rel_bias));
    int n = match_rel_bias(e, &rel_bias, 0);
    posenc_view bias = posenc_view_dense(row, POSENC_F32, n_k, 1, n_heads, 1);
    truth_ok(posenc_alibi_row(slopes, POSENC_ALIBI_ROW_FROM_FIRST, NULL, &bias));
    return n + match(e, row, (int)(n_heads * n_q * n_k), (int)(n_heads * n_k));
}

static posenc_t5_params t5_of(const example *e) {
    return (posenc_t5_params){(int64_t)value(e, "num_buckets"), (int64_t)value(e, "max_distance"),
                              cJSON_IsTrue(input(e, "bidirectional"))};
}

static int check_c05(const example *e) {
    float offsets[MAX_VALUES], buckets[MAX_VALUES];
    posenc_t5_params t5 = t5_of(e);
    int n = floats(e, "relative_position_j_minus_i", offsets);
    for (int i = 0; i < n; i++) {
        int32_t bucket, of_line;
        truth_ok(posenc_t5_bucket(&t5, (int32_t)offsets[i], &bucket));
        posenc_rel_index index = {&of_line, (int64_t)offsets[i], 1, t5.num_buckets};
        truth_ok(posenc_rel_index_t5(&t5, &index));
        assert_int_equal(bucket, of_line);
        buckets[i] = (float)bucket;
    }
    return match(e, buckets, 0, n);
}

static int check_c06(const example *e) {
    float table[MAX_VALUES], data[MAX_VALUES];
    int32_t buckets[MAX_OFFSETS];
    posenc_t5_params t5 = t5_of(e);
    int64_t n_heads = width(e, "table");
    floats(e, "table", table);
    posenc_rel_bias rel_bias = symmetric_rel_bias(data, -10, n_heads);
    posenc_rel_index index = {buckets, rel_bias.first, rel_bias.n_offsets, t5.num_buckets};
    posenc_bias_table by_bucket = {table, t5.num_buckets, n_heads, n_heads, 1};
    truth_ok(posenc_rel_index_t5(&t5, &index));
    truth_ok(posenc_rel_bias_gather(&index, &by_bucket, 1.0f, &rel_bias));
    return match_rel_bias(e, &rel_bias, 0);
}

/* This table is [head][offset]. */
static int check_c10(const example *e) {
    float table[MAX_VALUES], data[MAX_VALUES];
    int32_t rows[MAX_OFFSETS];
    int64_t k = (int64_t)value(e, "k_max"), n_rows = 2 * k + 1, n_heads = floats(e, "table", table) / n_rows;
    posenc_rel_bias rel_bias = symmetric_rel_bias(data, -10, n_heads);
    posenc_rel_index index = {rows, rel_bias.first, rel_bias.n_offsets, n_rows};
    posenc_bias_table by_head = {table, n_rows, n_heads, 1, n_rows};
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, k, 0);
    truth_ok(posenc_rel_index_fill(&rule, &index));
    truth_ok(posenc_rel_bias_gather(&index, &by_head, 1.0f, &rel_bias));
    return match_rel_bias(e, &rel_bias, 0);
}

static int check_c16(const example *e) {
    float kernel[MAX_VALUES], sigma = (float)value(e, "sigma"), p = (float)value(e, "p"), a = (float)value(e, "a");
    float log_rel_bias[MAX_OFFSETS], power_rel_bias[MAX_OFFSETS], rbf_rel_bias[2 * MAX_OFFSETS];
    int64_t n = (int64_t)value(e, "L");
    posenc_rel_bias rbf = symmetric_rel_bias(rbf_rel_bias, 1 - n, 1), by_distance = {log_rel_bias, 0, n, 1, n, 0};
    truth_ok(posenc_rel_bias_rbf(&sigma, &rbf));
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.bias.relative = &rbf;
    posenc_view y = posenc_view_dense(kernel, POSENC_F32, n, n, 1, 1);
    truth_ok(posenc_logits(&params, NULL, &y, posenc_range_all()));
    posenc_kerple kerple = {POSENC_KERPLE_LOG, &p, &a, (float)value(e, "eps")};
    truth_ok(posenc_rel_bias_kerple(&kerple, &by_distance));
    kerple.kind = POSENC_KERPLE_POWER;
    by_distance.data = power_rel_bias;
    truth_ok(posenc_rel_bias_kerple(&kerple, &by_distance));
    return match(e, kernel, 0, (int)(n * n)) + match(e, log_rel_bias, (int)(n * n), (int)n) +
           match(e, power_rel_bias, (int)(n * n + n), (int)n);
}

static int check_c18(const example *e) {
    float distances[MAX_VALUES], bias[MAX_VALUES];
    posenc_sandwich sandwich = {(int64_t)value(e, "dbar"), value(e, "base"), (int64_t)value(e, "first_index"), 0};
    int n = floats(e, "distances", distances), n_heads = (int)value(e, "n_heads");
    for (int t = 0; t < n; t++) {
        float backwards[MAX_POSITIONS], forwards[MAX_POSITIONS];
        posenc_rel_bias rel_bias = {backwards, -(int64_t)distances[t], 1, n_heads, 1, 0};
        truth_ok(posenc_rel_bias_sandwich(&sandwich, &rel_bias));
        rel_bias.first = -rel_bias.first;
        rel_bias.data = forwards;
        truth_ok(posenc_rel_bias_sandwich(&sandwich, &rel_bias));
        truth_same_bits(forwards, backwards, (size_t)n_heads, "%s: symmetry", e->where);
        for (int h = 0; h < n_heads; h++)
            bias[h * n + t] = backwards[h];
    }
    return match(e, bias, 0, n_heads * n);
}

static int check_c30(const example *e) {
    float bias[MAX_OFFSETS], amplitude = (float)value(e, "amplitude");
    double omega = value(e, "omega"), phi = value(e, "phi");
    int64_t n_k = (int64_t)value(e, "n_k");
    posenc_rel_bias rel_bias = {bias, -(int64_t)value(e, "query"), n_k, 1, n_k, 0};
    truth_ok(posenc_rel_bias_cosine(&omega, &phi, &amplitude, &rel_bias));
    return match(e, bias, 0, (int)n_k);
}

/* ---- Images ---- */

static int check_c20(const example *e) {
    int64_t height = (int64_t)value(e, "Wh"), wide = (int64_t)value(e, "Ww"), n = height * wide;
    if (cJSON_HasObjectItem(e->inputs, "kind")) { /* pretrained 0: the window itself */
        float coords[MAX_VALUES];
        truth_ok(posenc_swin_v2_coords(height, wide, height, wide, coords));
        return match(e, coords, 0, 2 * (int)((2 * height - 1) * (2 * wide - 1)));
    }
    int32_t index[MAX_VALUES];
    float table[MAX_VALUES], bias[MAX_VALUES], rows[MAX_VALUES];
    int64_t n_heads = width(e, "table"), n_rows = floats(e, "table", table) / n_heads;
    posenc_bias_table by_row = {table, n_rows, n_heads, n_heads, 1};
    posenc_view view = posenc_view_dense(bias, POSENC_F32, n, n, n_heads, 1);
    truth_ok(posenc_swin_index(height, wide, index));
    truth_ok(posenc_swin_bias(height, wide, &by_row, &view));
    for (int64_t i = 0; i < n * n; i++)
        rows[i] = (float)index[i];
    return match(e, rows, 0, (int)(n * n)) + match(e, bias, (int)(n * n), (int)(n * n * n_heads));
}

/* Products of the queries of one axis, [query][key of the axis], with the rows that the library chose. */
static void multiply(const example *e, const char *name, int64_t n_q, int64_t n_k, const float *q, const int32_t *at,
                     int64_t n_queries, float *products) {
    float table[MAX_VALUES], rows[MAX_VALUES];
    int64_t dim = width(e, "q"), n_table = floats(e, name, table) / dim;
    posenc_view from = posenc_view_dense(table, POSENC_F32, dim, n_table, 1, 1);
    posenc_view to = posenc_view_dense(rows, POSENC_F32, dim, n_k, n_q, 1);
    truth_ok(posenc_decomposed_rows(&from, &to));
    for (int64_t i = 0; i < n_queries; i++)
        for (int64_t b = 0; b < n_k; b++) {
            double sum = 0.0;
            for (int64_t c = 0; c < dim; c++)
                sum += (double)q[i * dim + c] * (double)rows[(at[i] * n_k + b) * dim + c];
            products[i * n_k + b] = (float)sum;
        }
}

static int check_c21(const example *e) {
    float scores[MAX_VALUES], q[MAX_VALUES], by_row[MAX_VALUES], by_column[MAX_VALUES];
    int32_t q_size[2], k_size[2], y[MAX_POSITIONS], x[MAX_POSITIONS];
    integers(e, "q_size", q_size);
    integers(e, "k_size", k_size);
    int64_t n_q = q_size[0] * q_size[1], n_k = k_size[0] * k_size[1];
    for (int32_t i = 0; i < n_q; i++) {
        y[i] = i / q_size[1];
        x[i] = i % q_size[1];
    }
    floats(e, "scores", scores);
    floats(e, "q", q);
    multiply(e, "rel_h", q_size[0], k_size[0], q, y, n_q, by_row);
    multiply(e, "rel_w", q_size[1], k_size[1], q, x, n_q, by_column);
    posenc_view h = posenc_view_dense(by_row, POSENC_F32, k_size[0], n_q, 1, 1);
    posenc_view w = posenc_view_dense(by_column, POSENC_F32, k_size[1], n_q, 1, 1);
    posenc_view view = posenc_view_dense(scores, POSENC_F32, n_k, n_q, 1, 1);
    truth_ok(posenc_decomposed_add(&h, &w, &view, posenc_range_all()));
    return match(e, scores, 0, (int)(n_q * n_k));
}

/* ---- Gradients ---- */

static int check_e04(const example *e) {
    float ds[MAX_VALUES], of_line[MAX_VALUES], of_table[MAX_VALUES];
    int32_t buckets[MAX_OFFSETS];
    posenc_t5_params t5 = t5_of(e);
    const cJSON *matrices = input(e, "dS");
    int64_t n_heads = cJSON_GetArraySize(matrices), n_q = cJSON_GetArraySize(matrices->child), n_k = width(e, "dS");
    floats(e, "dS", ds);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    int64_t first, n;
    truth_ok(posenc_rel_bias_range(posenc_mask_none(), 0, n_q, n_k, &first, &n));
    posenc_rel_bias rel_bias = {of_line, first, n, n_heads, n, 0};
    posenc_rel_index index = {buckets, first, n, t5.num_buckets};
    posenc_bias_table table = {of_table, t5.num_buckets, n_heads, n_heads, 1};
    posenc_view view = posenc_view_dense(ds, POSENC_F32, n_k, n_q, n_heads, 1);
    truth_ok(posenc_rel_index_t5(&t5, &index));
    truth_ok(posenc_rel_bias_backward(&params, &view, &rel_bias));
    truth_ok(posenc_bias_table_backward(&index, &rel_bias, 1.0f, &table));
    return match(e, of_table, 0, (int)(t5.num_buckets * n_heads));
}

static int check_e06(const example *e) {
    float p[MAX_VALUES], dp[MAX_VALUES], dx[MAX_VALUES], of_row, dsink;
    int n = floats(e, "y", p);
    floats(e, "dy", dp);
    posenc_score_params params = posenc_score_params_of((float)value(e, "scale"), posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    posenc_view of_p = posenc_view_dense(p, POSENC_F32, n, 1, 1, 1);
    posenc_view of_dp = posenc_view_dense(dp, POSENC_F32, n, 1, 1, 1);
    posenc_view of_dx = posenc_view_dense(dx, POSENC_F32, n, 1, 1, 1);
    truth_ok(posenc_softmax_backward(&params, &of_p, &of_dp, NULL, &of_dx, NULL, &of_row, posenc_range_all()));
    truth_ok(posenc_sink_backward(&of_row, 1, 1, 1, &dsink));
    return match(e, dx, 0, n) + (has(e, "sink") ? match(e, &dsink, n, 1) : 0);
}

/* ---- Every file ---- */

static void test_vectors(void **state) {
    (void)state;
    static const vector_file files[] = {
        {"C03_alibi_bias", check_c03},
        {"C05_t5_bucket", check_c05},
        {"C06_t5_bias", check_c06},
        {"C10_clipped_scalar_bias", check_c10},
        {"C16_kerple", check_c16},
        {"C18_sandwich", check_c18},
        {"C20_swin", check_c20},
        {"C21_sam_decomposed", check_c21},
        {"C30_cosine_head_bias", check_c30},
        {"E04_t5_bias_grad", check_e04},
        {"E06_softmax_backward", check_e06},
    };
    check_vector_files(files, sizeof files / sizeof files[0], 32, 1459, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
