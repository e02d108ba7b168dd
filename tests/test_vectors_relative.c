/* SPDX-License-Identifier: MIT */
/* The golden vectors of the query-dependent terms (FORMULAS C.7 - C.9, C.11 - C.15, C.17, C.19, E.5) and of attention
 * as a whole (C.4, C.31, C.32), plain and fused, through the public API, on every tier. */
#include "truth_json.h"
#include "truth_rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OFFSETS = 64 };

/* A dense matrix of an input: rows of `width` numbers. */
typedef struct matrix {
    float data[MAX_VALUES];
    posenc_view view;
} matrix;

static void dense(matrix *m, int64_t ne0, int64_t ne1) {
    m->view = posenc_view_dense(m->data, POSENC_F32, ne0, ne1, 1, 1);
}

/* The matrix as tokens of one head, or as the rows of a table: [width, 1, n, 1]. */
static posenc_view tokens(const matrix *m) {
    return posenc_view_dense((void *)(uintptr_t)m->data, POSENC_F32, m->view.ne[0], 1, m->view.ne[1], 1);
}

static void read_matrix(const example *e, const char *name, matrix *m) {
    int64_t n = floats(e, name, m->data), w = width(e, name);
    dense(m, w, n / w);
}

/* y[j, i] = (x_i + shift) . table_j */
static void products(const matrix *x, const float *shift, const matrix *table, matrix *y) {
    posenc_relative_table *packed;
    posenc_view queries = tokens(x), rows = tokens(table);
    truth_ok(posenc_relative_table_create(&rows, &packed));
    dense(y, table->view.ne[1], x->view.ne[1]);
    truth_ok(posenc_relative_products(packed, &queries, shift, &y->view, posenc_range_all()));
    posenc_relative_table_free(packed);
}

typedef struct index_memory {
    int32_t data[MAX_OFFSETS];
    posenc_rel_index entries;
} index_memory;

static void make_index(posenc_rel_index_rule rule, int64_t query_start, int64_t n_q, int64_t n_k, index_memory *index) {
    index->entries = (posenc_rel_index){index->data, 0, 0, 0};
    truth_ok(posenc_rel_bias_range(posenc_mask_none(), query_start, n_q, n_k, &index->entries.first,
                                   &index->entries.n_offsets));
    assert_true(index->entries.n_offsets <= MAX_OFFSETS);
    truth_ok(posenc_rel_index_fill(&rule, &index->entries));
}

static int match_logits(const example *e, const posenc_score_params *params, const matrix *x, int64_t n_k, int64_t n_q,
                        int first) {
    matrix y;
    dense(&y, n_k, n_q);
    truth_ok(posenc_logits(params, x != NULL ? &x->view : NULL, &y.view, posenc_range_all()));
    return match(e, y.data, first, (int)(n_k * n_q));
}

/* ---- Shaw ---- */

static int check_c07(const example *e) {
    matrix q, k, table, x, terms;
    index_memory index;
    read_matrix(e, "q", &q);
    read_matrix(e, "k", &k);
    read_matrix(e, "table", &table);
    products(&q, NULL, &k, &x);
    products(&q, NULL, &table, &terms);
    int64_t n = q.view.ne[1];
    make_index(posenc_rel_index_rule_of(POSENC_REL_SHAW, (int64_t)value(e, "k_max"), 0), 0, n, n, &index);
    posenc_score_params params = posenc_score_params_of((float)value(e, "scale"), posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.bias.by_query = (posenc_relative){&terms.view, &index.entries};
    return match_logits(e, &params, &x, n, n, 0);
}

static int check_c08(const example *e) {
    matrix p, v, table, z;
    index_memory index;
    read_matrix(e, "probs", &p);
    read_matrix(e, "v", &v);
    read_matrix(e, "table", &table);
    int64_t n_q = p.view.ne[1], n_k = p.view.ne[0];
    dense(&z, v.view.ne[0], n_q);
    for (int64_t i = 0; i < z.view.ne[0] * n_q; i++)
        z.data[i] = 0.0f;
    make_index(posenc_rel_index_rule_of(POSENC_REL_SHAW, (int64_t)value(e, "k_max"), 0), 0, n_q, n_k, &index);
    posenc_view values = tokens(&v), rows = tokens(&table), sums = tokens(&z);
    truth_ok(posenc_relative_combine(&p.view, &values, 1.0f, &sums, posenc_range_all()));
    truth_ok(posenc_relative_values(&index.entries, posenc_mask_none(), 0, &p.view, &rows, &sums, posenc_range_all()));
    return match(e, z.data, 0, (int)(z.view.ne[0] * n_q));
}

static int check_c09(const example *e) {
    matrix q, table, terms;
    index_memory index;
    read_matrix(e, "q", &q);
    read_matrix(e, "table", &table);
    products(&q, NULL, &table, &terms);
    int64_t n = q.view.ne[1];
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, (int64_t)value(e, "max_relative_pos"), 0);
    rule.sign = -1;
    make_index(rule, 0, n, n, &index);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.bias.by_query = (posenc_relative){&terms.view, &index.entries};
    return match_logits(e, &params, NULL, n, n, 0);
}

/* ---- Transformer-XL ---- */

static int check_c11(const example *e) {
    matrix q, k, r, x, terms;
    index_memory index;
    float u[MAX_VALUES], v[MAX_VALUES];
    read_matrix(e, "q", &q);
    read_matrix(e, "k", &k);
    read_matrix(e, "r", &r);
    floats(e, "u", u);
    floats(e, "v", v);
    products(&q, u, &k, &x);
    products(&q, v, &r, &terms);
    int64_t n_q = q.view.ne[1], n_k = k.view.ne[1];
    make_index(posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, n_k, 0), n_k - n_q, n_q, n_k, &index);
    posenc_score_params params = posenc_score_params_of((float)value(e, "scale"), posenc_mask_causal());
    params.positions.query_start = n_k - n_q;
    params.bias.by_query = (posenc_relative){&terms.view, &index.entries};
    return match_logits(e, &params, &x, n_k, n_q, 0);
}

/* The flat form; and, where it is defined, the relative index does the same. */
static int check_c12(const example *e) {
    matrix x, y, direct;
    index_memory index;
    read_matrix(e, "x", &x);
    int64_t n_k = x.view.ne[0], n_q = x.view.ne[1];
    dense(&y, n_k, n_q);
    dense(&direct, n_k, n_q);
    truth_ok(posenc_relative_shift(&x.view, &y.view));
    make_index(posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, n_k, 0), n_k - n_q, n_q, n_k, &index);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.bias.by_query = (posenc_relative){&x.view, &index.entries};
    params.positions.query_start = n_k - n_q;
    truth_ok(posenc_logits(&params, NULL, &direct.view, posenc_range_all()));
    for (int64_t i = 0; i < n_q; i++)
        truth_same_bits(direct.data + i * n_k, y.data + i * n_k, (size_t)(i + n_k - n_q + 1), "%s, query %d", e->where,
                        (int)i);
    return match(e, y.data, 0, (int)(n_k * n_q));
}

static int check_c13(const example *e) {
    matrix x, y;
    read_matrix(e, "x", &x);
    dense(&y, x.view.ne[1], x.view.ne[1]);
    truth_ok(posenc_relative_skew(&x.view, &y.view));
    return match(e, y.data, 0, (int)(y.view.ne[0] * y.view.ne[1]));
}

/* ---- DeBERTa ---- */

static int has_term(const example *e, const char *term) {
    for (const cJSON *t = input(e, "terms")->child; t != NULL; t = t->next)
        if (strcmp(t->valuestring, term) == 0)
            return 1;
    return 0;
}

static int check_c14(const example *e) {
    matrix q, k, q_rel, k_rel, x, c2p, p2c;
    index_memory index, papers;
    read_matrix(e, "q_content", &q);
    read_matrix(e, "k_content", &k);
    read_matrix(e, "q_rel", &q_rel);
    read_matrix(e, "k_rel", &k_rel);
    products(&q, NULL, &k, &x);
    products(&q, NULL, &k_rel, &c2p);
    products(&k, NULL, &q_rel, &p2c);
    int64_t n = q.view.ne[1];
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA, (int64_t)value(e, "k_max"), 0);
    const cJSON *log_rule = input(e, "bucket_size_and_max_position");
    if (cJSON_IsArray(log_rule))
        rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, (int64_t)number(log_rule->child),
                                        (int64_t)number(log_rule->child->next));
    make_index(rule, 0, n, n, &index);
    rule.sign = -rule.sign;
    make_index(rule, 0, n, n, &papers);
    posenc_score_params params = posenc_score_params_of(
        (float)(1.0 / sqrt((double)(cJSON_GetArraySize(input(e, "terms")) * q.view.ne[0]))), posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    if (has_term(e, "c2p"))
        params.bias.by_query = (posenc_relative){&c2p.view, &index.entries};
    if (has_term(e, "p2c"))
        params.bias.by_key = (posenc_relative){&p2c.view, &index.entries};
    int n_matched = match_logits(e, &params, &x, n, n, 0);
    if (has_term(e, "p2c"))
        params.bias.by_key.index = &papers.entries;
    return n_matched + match_logits(e, &params, &x, n, n, n_matched);
}

static int check_c15(const example *e) {
    int32_t offsets[MAX_POSITIONS], row;
    float buckets[MAX_VALUES];
    int n = (int)integers(e, "r_i_minus_j", offsets);
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, (int64_t)value(e, "bucket_size"),
                                                          (int64_t)value(e, "max_position"));
    if (cJSON_HasObjectItem(e->inputs, "unclipped"))
        rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG_UNCLIPPED, rule.log_buckets, rule.max_position);
    for (int i = 0; i < n; i++) {
        posenc_rel_index index = {&row, -offsets[i], 1, 0};
        truth_ok(posenc_rel_index_fill(&rule, &index));
        buckets[i] = (float)(row - rule.zero);
    }
    return match(e, buckets, 0, n);
}

/* ---- FIRE, CoPE ---- */

static int check_c17(const example *e) {
    float w1[MAX_VALUES], b1[MAX_VALUES], w2[MAX_VALUES], b2[MAX_VALUES], bias[MAX_VALUES];
    posenc_fire_params params = POSENC_FIRE_DEFAULTS;
    params.n_hidden = floats(e, "w1", w1);
    floats(e, "b1", b1);
    floats(e, "w2", w2);
    params.n_heads = floats(e, "b2", b2);
    params.w1 = w1;
    params.b1 = b1;
    params.w2 = w2;
    params.b2 = b2;
    params.c = value(e, "c");
    params.threshold = value(e, "L");
    params.eps = value(e, "eps");
    params.max_distance = 10;
    int64_t n_q = (int64_t)value(e, "n_q"), n_k = (int64_t)value(e, "n_k");
    posenc_fire *fire;
    truth_ok(posenc_fire_create(&params, &fire));
    posenc_view y = posenc_view_dense(bias, POSENC_F32, n_k, n_q, params.n_heads, 1);
    truth_ok(posenc_fire_write(fire, n_k - n_q, &y, posenc_range_all()));
    posenc_fire_free(fire);
    return match(e, bias, 0, (int)(n_k * n_q * params.n_heads));
}

/* The first part are the positions: what the products 0, 1, 2 .. interpolate to. */
static int check_c19(const example *e) {
    matrix q, k, table, x, z, steps, y;
    read_matrix(e, "q", &q);
    read_matrix(e, "k", &k);
    read_matrix(e, "pos_emb", &table);
    products(&q, NULL, &k, &x);
    products(&q, NULL, &table, &z);
    int64_t n = q.view.ne[1], n_positions = table.view.ne[1];
    dense(&steps, n_positions, n);
    for (int64_t i = 0; i < n_positions * n; i++)
        steps.data[i] = (float)(i % n_positions);
    dense(&y, n, n);
    posenc_cope_params params = POSENC_COPE_DEFAULTS;
    params.scale = (float)(1.0 / sqrt((double)q.view.ne[0]));
    matrix zeros = y;
    dense(&zeros, n, n);
    for (int64_t i = 0; i < n * n; i++)
        zeros.data[i] = 0.0f;
    truth_ok(posenc_cope_logits(&params, &zeros.view, &x.view, &steps.view, &y.view, posenc_range_all()));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            y.data[i * n + j] = 0.0f; /* hidden */
    int n_matched = match(e, y.data, 0, (int)(n * n));
    params.form = is(e, "variant", "repo") ? POSENC_COPE_SCALED : POSENC_COPE_LISTING;
    truth_ok(posenc_cope_logits(&params, &x.view, NULL, &z.view, &y.view, posenc_range_all()));
    return n_matched + match(e, y.data, n_matched, (int)(n * n));
}

/* ---- Attention ---- */

static int match_fused(const example *e, const posenc_score_params *params, const matrix *q, const matrix *k,
                       const matrix *v, int first) {
    matrix out;
    dense(&out, v->view.ne[0], q->view.ne[1]);
    void *scratch = malloc(posenc_attention_workspace_bytes(k->view.ne[0], v->view.ne[0]));
    posenc_view queries = tokens(q), keys = tokens(k), values = tokens(v), to = tokens(&out);
    truth_ok(posenc_attention(params, &queries, &keys, &values, &to, scratch,
                              posenc_attention_workspace_bytes(k->view.ne[0], v->view.ne[0]), posenc_range_all()));
    free(scratch);
    return match(e, out.data, first, (int)(out.view.ne[0] * out.view.ne[1]));
}

/* The rows of m behind `at` others, which hold NaN: none of them may be looked at. */
static posenc_view behind(const matrix *m, int64_t at) {
    int64_t dim = m->view.ne[0], n = m->view.ne[1];
    float *data = malloc((size_t)(dim * (at + n)) * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < dim * at; i++)
        data[i] = NAN;
    memcpy(data + dim * at, m->data, (size_t)(dim * n) * sizeof *data);
    return posenc_view_dense(data, POSENC_F32, dim, 1, at + n, 1);
}

/* The same keys with the first one at the end of a segment and the others in the next, each segment a part. */
static int match_parts(const example *e, const posenc_score_params *params, const matrix *q, const matrix *k,
                       const matrix *v, int first) {
    const int32_t at = POSENC_ATTENTION_SEGMENT - 1;
    matrix out;
    dense(&out, v->view.ne[0], q->view.ne[1]);
    posenc_score_params moved = *params;
    moved.positions.query_start += at;
    moved.sequences.k_begin = &at;
    moved.n_batch = 1;
    posenc_attention_args task = {
        .params = &moved, .q = tokens(q), .k = behind(k, at), .v = behind(v, at), .out = tokens(&out)};
    void *scratch = malloc(posenc_attention_workspace_bytes(k->view.ne[0], v->view.ne[0]));
    void *parts = malloc(posenc_attention_split_bytes(&task));
    assert_int_equal(posenc_attention_split_count(&task), 2);
    for (int64_t part = 1; part >= 0; part--)
        truth_ok(posenc_attention_split(&task, scratch, posenc_attention_workspace_bytes(k->view.ne[0], v->view.ne[0]),
                                        parts, posenc_attention_split_bytes(&task), (posenc_range){part, part + 1}));
    truth_ok(posenc_attention_combine_splits(&task, parts, posenc_attention_split_bytes(&task), posenc_range_all()));
    free(parts);
    free(scratch);
    free(task.k.data);
    free(task.v.data);
    return match(e, out.data, first, (int)(out.view.ne[0] * out.view.ne[1]));
}

/* Probabilities, then what they make of v if the file says so: by the plain reference, fused and by parts. Fused, each
 * key for itself as value gives the probabilities. */
static int match_attention(const example *e, const posenc_score_params *params, const matrix *q, const matrix *k,
                           const matrix *v) {
    matrix p, out, unit;
    int64_t n_k = k->view.ne[1];
    dense(&p, n_k, q->view.ne[1]);
    dense(&out, v->view.ne[0], q->view.ne[1]);
    dense(&unit, n_k, n_k);
    for (int64_t i = 0; i < n_k * n_k; i++)
        unit.data[i] = i % (n_k + 1) == 0 ? 1.0f : 0.0f;
    posenc_view queries = tokens(q), keys = tokens(k), values = tokens(v), to = tokens(&out);
    truth_ok(posenc_attention_reference(params, &queries, &keys, &values, &to, &p.view));
    int n = match(e, p.data, 0, (int)(p.view.ne[0] * p.view.ne[1]));
    int n_fused = match_fused(e, params, q, k, &unit, 0) + match_parts(e, params, q, k, &unit, 0);
    if (e->n_expected == n)
        return n + n_fused;
    n_fused += match_fused(e, params, q, k, v, n) + match_parts(e, params, q, k, v, n);
    return n + match(e, out.data, n, (int)(out.view.ne[0] * out.view.ne[1])) + n_fused;
}

static int check_c04(const example *e) {
    matrix q, k, v;
    float slope = (float)value(e, "slope");
    int32_t positions[MAX_POSITIONS];
    read_matrix(e, "q", &q);
    read_matrix(e, "k", &k);
    read_matrix(e, "v", &v);
    int64_t dim = q.view.ne[0], n = q.view.ne[1];
    for (int64_t t = 0; t < n; t++)
        positions[t] = (int32_t)t;
    posenc_rope_params rope =
        truth_rope_params(is(e, "layout", "half") ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED, dim, dim, 0);
    rope.base = value(e, "base");
    truth_rotate(&rope, q.data, n, positions, POSENC_FORWARD);
    truth_rotate(&rope, k.data, n, positions, POSENC_FORWARD);
    posenc_score_params params = posenc_score_params_of((float)(1.0 / sqrt((double)dim)), posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.bias.alibi_slopes = &slope;
    params.n_heads = 1;
    return match_attention(e, &params, &q, &k, &v);
}

/* Gaussian bumps are the queries, the keys and, for want of values, the values. */
static int check_c31(const example *e) {
    matrix pe;
    float centres[MAX_VALUES];
    int64_t n_centres = floats(e, "centers", centres), n = (int64_t)value(e, "L");
    double sigma = value(e, "sigma");
    dense(&pe, n_centres, n);
    for (int64_t t = 0; t < n; t++)
        for (int64_t c = 0; c < n_centres; c++)
            pe.data[t * n_centres + c] = (float)exp(-((double)t - (double)centres[c]) *
                                                    ((double)t - (double)centres[c]) / (2.0 * sigma * sigma));
    posenc_score_params params = posenc_score_params_of((float)value(e, "scale"), posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    return match_attention(e, &params, &pe, &pe, &pe);
}

static int check_c32(const example *e) {
    matrix q, k, v;
    float slope = (float)value(e, "alibi_slope");
    read_matrix(e, "q", &q);
    read_matrix(e, "k", &k);
    read_matrix(e, "v", &v);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.scale = (float)value(e, "scale");
    params.cap = (float)value(e, "softcap");
    params.bias.alibi_slopes = slope != 0.0f ? &slope : NULL;
    params.n_heads = 1;
    params.mask = cJSON_IsTrue(input(e, "causal")) ? posenc_mask_causal() : posenc_mask_none();
    return match_attention(e, &params, &q, &k, &v);
}

/* ---- Gradients ---- */

static int check_e05(const example *e) {
    matrix ds, q, table, w, dq, da;
    index_memory index;
    read_matrix(e, "dS", &ds);
    read_matrix(e, "q", &q);
    read_matrix(e, "table", &table);
    int64_t n_k = ds.view.ne[0], n_q = ds.view.ne[1], dim = q.view.ne[0], n_rows = table.view.ne[1];
    float scale = (float)value(e, "scale");
    dense(&w, n_rows, n_q);
    dense(&dq, dim, n_q);
    dense(&da, dim, n_rows);
    for (int i = 0; i < MAX_VALUES; i++)
        dq.data[i] = da.data[i] = 0.0f;
    make_index(posenc_rel_index_rule_of(POSENC_REL_SHAW, (int64_t)value(e, "k_max"), 0), 0, n_q, n_k, &index);
    posenc_range all = posenc_range_all();
    truth_ok(posenc_relative_sums_by_query(&index.entries, posenc_mask_none(), 0, &ds.view, &w.view, all));
    posenc_view rows = tokens(&table), queries = tokens(&q), to_q = tokens(&dq), to_rows = tokens(&da);
    truth_ok(posenc_relative_combine(&w.view, &rows, scale, &to_q, all));
    truth_ok(posenc_relative_collect(&w.view, &queries, NULL, scale, &to_rows, all));
    int n = match(e, dq.data, 0, (int)(dim * n_q));
    return n + match(e, da.data, n, (int)(dim * n_rows));
}

static void test_vectors(void **state) {
    (void)state;
    static const vector_file files[] = {
        {"C04_rope_alibi", check_c04},
        {"C07_shaw_keys", check_c07},
        {"C08_shaw_values", check_c08},
        {"C09_seed_relative_scores", check_c09},
        {"C11_transformer_xl", check_c11},
        {"C12_rel_shift", check_c12},
        {"C13_unmasked_skew", check_c13},
        {"C14_deberta", check_c14},
        {"C15_deberta_log_bucket", check_c15},
        {"C17_fire", check_c17},
        {"C19_cope", check_c19},
        {"C31_rbf_attention", check_c31},
        {"C32_attention", check_c32},
        {"E05_shaw_grad", check_e05},
    };
    check_vector_files(files, sizeof files / sizeof files[0], 33, 1073, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
