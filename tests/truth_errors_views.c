/* SPDX-License-Identifier: MIT */
/* Views: the same bad ones for every call that takes one. */
#include "truth_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/formats.h"

/* ---- The calls ---- */

static posenc_status call_rope(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    name("posenc_rope_apply");
    return posenc_rope_apply(rope, x, positions, y, POSENC_FORWARD, rows);
}

static posenc_status call_rope_table(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    name("posenc_rope_apply_table");
    posenc_rope_table table = {rows_a, rows_b, PAIRS, 1, 0};
    return posenc_rope_apply_table(rope, x, &table, y, POSENC_FORWARD, rows);
}

/* One task; a view that is missing is a task that is missing. */
static posenc_status call_tasks(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    name("posenc_rope_apply_tensors");
    if (x == NULL || y == NULL)
        return posenc_rope_apply_tensors(rope, NULL, 1, positions, NULL, POSENC_FORWARD, rows);
    posenc_rope_tensor task = {*x, *y, 1, 1.0f, NULL, 0.0f, NULL, NULL, 0, 0};
    return posenc_rope_apply_tensors(rope, &task, 1, positions, NULL, POSENC_FORWARD, rows);
}

/* The second of two, the first being good. */
static posenc_status call_second_task(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    if (x == NULL || y == NULL)
        return posenc_rope_apply_tensors(rope, NULL, 2, positions, NULL, POSENC_FORWARD, rows);
    int64_t n_tokens = x->ne[2] == 0 ? 0 : TOKENS * BATCH;
    posenc_view none = posenc_view_dense(NULL, POSENC_F32, DIM, 0, n_tokens, 1); /* no rows: theirs are the ranges */
    posenc_rope_tensor tasks[] = {{none, none, 1, 1.0f, NULL, 0.0f, NULL, NULL, 0, 0},
                                  {*x, *y, 0, 1.0f, NULL, 0.0f, NULL, NULL, 0, 0}};
    return posenc_rope_apply_tensors(rope, tasks, 2, positions, NULL, POSENC_FORWARD, rows);
}

static posenc_status call_hadamard(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    name("posenc_hadamard");
    return posenc_hadamard(x, y, DIM / 2, rows);
}

static posenc_status call_softmax(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    name("posenc_softmax");
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return posenc_softmax(&params, x, y, rows);
}

static posenc_status call_partial(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    static posenc_softmax_sum sums[HEADS * TOKENS * BATCH];
    name("posenc_softmax_partial");
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return posenc_softmax_partial(&params, x, y, sums, rows);
}

/* Without scores. */
static posenc_status call_bias(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    (void)x;
    name("posenc_logits");
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return posenc_logits(&params, NULL, y, rows);
}

static posenc_status call_logits(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return x == NULL ? POSENC_ERR_NULL : posenc_logits(&params, x, y, rows);
}

static posenc_status call_zero_padded(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    static const uint8_t keep[BATCH * TOKENS * HEADS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    (void)x;
    (void)rows;
    name("posenc_zero_padded");
    return posenc_zero_padded(keep, y);
}

/* The gradient in place of what comes in. */
static posenc_status call_backward(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    name("posenc_softmax_backward");
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return posenc_softmax_backward(&params, x, x, NULL, y, NULL, NULL, rows);
}

static posenc_status call_write(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    (void)x;
    (void)rows;
    name("posenc_encoding_write");
    return posenc_encoding_write(pe, positions, y);
}

static posenc_status call_add(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    (void)x;
    (void)rows;
    name("posenc_encoding_add");
    return posenc_encoding_add(pe, positions, y);
}

/* x of another type than y is refused, so that it counts as a call without types. */
static posenc_status call_apply(const posenc_view *x, const posenc_view *y, posenc_range rows) {
    name("posenc_encoding_apply");
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    return x == NULL ? POSENC_ERR_NULL : posenc_encoding_apply(pe, &at, x, NULL, y, rows);
}

static const struct {
    const char *name;
    posenc_status (*call)(const posenc_view *x, const posenc_view *y, posenc_range rows);
    int has_input, has_rows, has_types, n_dims;
} calls[] = {
    {"posenc_rope_apply", call_rope, 1, 1, 1, 4},
    {"posenc_rope_apply_table", call_rope_table, 1, 1, 1, 4},
    {"posenc_rope_apply_tensors", call_tasks, 1, 1, 1, 3},
    {"posenc_rope_apply_tensors, second", call_second_task, 1, 1, 1, 3},
    {"posenc_hadamard", call_hadamard, 1, 1, 1, 4},
    {"posenc_softmax", call_softmax, 1, 1, 1, 4},
    {"posenc_softmax_partial", call_partial, 1, 1, 1, 4},
    {"posenc_logits", call_logits, 1, 1, 1, 4},
    {"posenc_logits, without scores", call_bias, 0, 1, 1, 4},
    {"posenc_softmax_backward", call_backward, 1, 1, 0, 4},
    {"posenc_zero_padded", call_zero_padded, 0, 0, 1, 4},
    {"posenc_encoding_write", call_write, 0, 0, 1, 3},
    {"posenc_encoding_add", call_add, 0, 0, 1, 3},
    {"posenc_encoding_apply", call_apply, 1, 1, 0, 3},
};

enum { N_CALLS = sizeof calls / sizeof calls[0] };

/* A dense view that call k accepts. */
static posenc_view good_view(int k, void *data, posenc_dtype type) {
    if (calls[k].n_dims == 4)
        return posenc_view_dense(data, type, DIM, HEADS, TOKENS, BATCH);
    if (calls[k].has_input)
        return posenc_view_dense(data, type, DIM, HEADS, TOKENS * BATCH, 1);
    return posenc_view_dense(data, type, DIM, TOKENS, BATCH, 1);
}

static void good_views(int k, posenc_view *x, posenc_view *y) {
    *x = good_view(k, in, POSENC_F32);
    *y = good_view(k, out, POSENC_F32);
}

typedef enum field { DATA, DTYPE, NE, NB } field;
typedef enum place { INPUT = 1, OUTPUT = 2, BOTH = 3 } place;

static void set_field(posenc_view *view, field f, int dim, int64_t value) {
    switch (f) {
    case DATA: view->data = value == 0 ? NULL : (char *)view->data + value; break;
    case DTYPE: view->dtype = (posenc_dtype)value; break;
    case NE: view->ne[dim] = value; break;
    case NB: view->nb[dim] = value; break;
    }
}

static void refuse_view(int k, place where, field f, int dim, int64_t value, posenc_status want) {
    posenc_view x, y;
    good_views(k, &x, &y);
    if (calls[k].n_dims <= dim && f == NB)
        return; /* the extent is 1: the stride is never used */
    char what[120];
    for (int p = INPUT; p <= OUTPUT; p++) {
        if (!(where & p) || (p == INPUT && !calls[k].has_input))
            continue;
        posenc_view bad_x = x, bad_y = y;
        set_field(p == INPUT ? &bad_x : &bad_y, f, dim, value);
        snprintf(what, sizeof what, "%s, %s view, field %d[%d] = %lld", calls[k].name, p == INPUT ? "input" : "output",
                 f, dim, (long long)value);
        check(calls[k].call(&bad_x, &bad_y, posenc_range_all()), want, what);
    }
}

void test_views(void **state) {
    (void)state;
    static const int64_t bad_extents[] = {-1, INT64_MIN, INT64_MIN + 1, INT64_MAX, (int64_t)1 << 60, (int64_t)1 << 47};
    static const int64_t bad_strides[] = {
        2, DIM * 4 + 1, INT64_MIN, INT64_MAX, INT64_MAX - 3, INT64_MIN + 4, (int64_t)1 << 60, -((int64_t)1 << 60)};
    static const int64_t overlapping[] = {0, 4, -4, DIM * 4 - 4, -(DIM * 4 - 4)};
    static const int64_t bad_elements[] = {0, 2, 8, -4, INT64_MIN, INT64_MAX};
    for (int k = 0; k < N_CALLS; k++) {
        posenc_view x, y;
        good_views(k, &x, &y);
        if (calls[k].has_input)
            check(calls[k].call(NULL, &y, posenc_range_all()), POSENC_ERR_NULL, "input view NULL");
        check(calls[k].call(&x, NULL, posenc_range_all()), POSENC_ERR_NULL, "output view NULL");
        refuse_view(k, BOTH, DATA, 0, 0, POSENC_ERR_NULL);
        for (int64_t off = 1; off < 4; off++)
            refuse_view(k, BOTH, DATA, 0, off, POSENC_ERR_STRIDE);
        int takes_blocks = strncmp(calls[k].name, "posenc_rope_apply", 17) == 0; /* of DIM channels there are none */
        for (int type = POSENC_FLOAT_TYPES; type < POSENC_FORMATS_END; type++) {
            refuse_view(k, INPUT, DTYPE, 0, type, takes_blocks ? POSENC_ERR_SHAPE : POSENC_ERR_DTYPE);
            refuse_view(k, OUTPUT, DTYPE, 0, type, takes_blocks ? POSENC_ERR_SHAPE : POSENC_ERR_DTYPE);
        }
        refuse_view(k, BOTH, DTYPE, 0, POSENC_F8_E4M3, takes_blocks ? POSENC_ERR_STRIDE : POSENC_ERR_DTYPE);
        refuse_view(k, BOTH, DTYPE, 0, POSENC_TYPES, POSENC_ERR_DTYPE);
        refuse_view(k, BOTH, DTYPE, 0, -1, POSENC_ERR_DTYPE);
        refuse_view(k, BOTH, DTYPE, 0, INT32_MAX, POSENC_ERR_DTYPE);
        for (size_t v = 0; v < sizeof bad_elements / sizeof bad_elements[0]; v++)
            refuse_view(k, BOTH, NB, 0, bad_elements[v], POSENC_ERR_STRIDE);
        for (int dim = 0; dim < 4; dim++)
            for (size_t v = 0; v < sizeof bad_extents / sizeof bad_extents[0]; v++)
                refuse_view(k, BOTH, NE, dim, bad_extents[v], POSENC_ERR_SHAPE);
        for (int dim = 1; dim < 4; dim++) {
            for (size_t v = 0; v < sizeof bad_strides / sizeof bad_strides[0]; v++)
                refuse_view(k, BOTH, NB, dim, bad_strides[v], POSENC_ERR_STRIDE);
            for (size_t v = 0; v < sizeof overlapping / sizeof overlapping[0]; v++)
                refuse_view(k, OUTPUT, NB, dim, overlapping[v], POSENC_ERR_STRIDE);
        }
        for (int dim = 0; dim < 4; dim++) /* one element less than its partner or its set-up object */
            if (calls[k].has_input)
                refuse_view(k, INPUT, NE, dim, x.ne[dim] - 1, POSENC_ERR_SHAPE);
        if (strncmp(calls[k].name, "posenc_encoding", 15) == 0)
            refuse_view(k, OUTPUT, NE, 0, DIM - 1, POSENC_ERR_SHAPE);
    }
}

/* f16 and bf16: taken where the call has types, with the alignment of two bytes; refused elsewhere. */
void test_half_views(void **state) {
    (void)state;
    posenc_range nothing = {0, 0};
    for (int k = 0; k < N_CALLS; k++)
        for (int type = POSENC_F16; type <= POSENC_BF16; type++)
            for (int p = INPUT; p <= OUTPUT; p++) {
                if (p == INPUT && !calls[k].has_input)
                    continue;
                posenc_view views[2], *half = &views[p - 1];
                good_views(k, &views[0], &views[1]);
                *half = good_view(k, half->data, (posenc_dtype)type);
                posenc_view good = *half;
                posenc_status ok = calls[k].has_types ? POSENC_OK : POSENC_ERR_DTYPE;
                int writes = calls[k].has_types && !calls[k].has_rows; /* and so cannot be tried here */
                if (!writes)
                    check(calls[k].call(&views[0], &views[1], nothing), ok, calls[k].name);
                half->data = shifted(good.data, 1);
                check(calls[k].call(&views[0], &views[1], nothing), POSENC_ERR_STRIDE, "misaligned by one byte");
                half->data = shifted(good.data, 2);
                if (!writes)
                    check(calls[k].call(&views[0], &views[1], nothing), ok, "aligned as its elements are");
                *half = good;
                half->nb[1] += 1;
                check(calls[k].call(&views[0], &views[1], nothing), POSENC_ERR_STRIDE, "odd stride");
                *half = good;
                half->nb[0] = 4;
                check(calls[k].call(&views[0], &views[1], nothing), POSENC_ERR_STRIDE, "nb[0] of float32");
            }
}

/* An extent of 1 has no stride: NumPy has 0, or anything, there. */
void test_strides_of_one(void **state) {
    (void)state;
    static const int64_t strides[] = {0, 1, -8, INT64_MIN, INT64_MAX};
    float column[TOKENS], want[TOKENS], got[TOKENS], full[2 * TOKENS - 1];
    for (int i = 0; i < TOKENS; i++)
        column[i] = (float)(i + 1);
    posenc_view x = posenc_view_dense(column, POSENC_F32, 1, TOKENS, 1, 1);
    posenc_view y = posenc_view_dense(want, POSENC_F32, 1, TOKENS, 1, 1), z = y, one = x;
    truth_ok(posenc_relative_shift(&x, &y));
    z.data = got;
    one.ne[1] = 1;
    uint8_t kept = 1;
    for (size_t k = 0; k < sizeof strides / sizeof strides[0]; k++) {
        x.nb[0] = z.nb[0] = strides[k];
        truth_fill(got, TOKENS);
        truth_ok(posenc_relative_shift(&x, &z));
        truth_same_bits(got, want, TOKENS, "a column shifted");
        posenc_view corner = posenc_view_dense(full, POSENC_F32, 1, 1, 1, 1), to = one;
        full[0] = 7.0f;
        to.data = got;
        corner.nb[0] = to.nb[0] = strides[k];
        truth_ok(posenc_relative_skew(&corner, &to));
        truth_same_bits(got, full, 1, "a corner skewed");
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
        posenc_bool_mask mask = {&kept, {k < 3 ? strides[k] : 1, 0, 0, 0}, POSENC_KEEP};
        params.bool_mask = &mask;
        truth_ok(posenc_softmax(&params, &corner, &to, posenc_range_all()));
        assert_true(got[0] == 1.0f);
    }
}

/* Products of extents that leave int64, with and without a 0 among them. */
void test_huge_products(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {
        {DIM, (int64_t)1 << 30, (int64_t)1 << 30, 1},
        {DIM, 0, (int64_t)1 << 46, (int64_t)1 << 46},
        {DIM, (int64_t)1 << 30, (int64_t)1 << 46, 0},
        {0, (int64_t)1 << 30, (int64_t)1 << 46, (int64_t)1 << 46},
        {(int64_t)1 << 46, (int64_t)1 << 46, (int64_t)1 << 46, (int64_t)1 << 46},
    };
    for (int k = 0; k < N_CALLS; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            posenc_view x, y;
            good_views(k, &x, &y);
            memcpy(x.ne, shapes[s], sizeof x.ne);
            memcpy(y.ne, shapes[s], sizeof y.ne);
            char what[100];
            snprintf(what, sizeof what, "%s, huge shape %zu", calls[k].name, s);
            check(calls[k].call(&x, &y, posenc_range_all()), POSENC_ERR_SHAPE, what);
        }
}

/* Empty tensors need no memory. */
void test_empty(void **state) {
    (void)state;
    for (int k = 0; k < N_CALLS; k++)
        for (int dim = 1; dim < calls[k].n_dims; dim++) {
            posenc_view x, y;
            good_views(k, &x, &y);
            x.ne[dim] = y.ne[dim] = 0;
            x.data = y.data = NULL;
            check(calls[k].call(&x, &y, posenc_range_all()), POSENC_OK, calls[k].name);
        }
    posenc_view nothing = posenc_view_dense(NULL, POSENC_F32, 0, HEADS, TOKENS, BATCH);
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    RETURNS(POSENC_OK, posenc_softmax, &params, &nothing, &nothing, posenc_range_all());
}

/* However many rows there are without elements, nobody walks them: this would take years. */
void test_empty_rows(void **state) {
    (void)state;
    const int64_t many = (int64_t)1 << 45, side = (int64_t)1 << 20;
    posenc_range all = posenc_range_all();
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view heads = posenc_view_dense(NULL, POSENC_F32, 0, 1, many, 1);
    posenc_view rows = posenc_view_dense(NULL, POSENC_F32, 0, many, 1, 1);
    posenc_view table = posenc_view_dense(NULL, POSENC_F32, 0, 3, 1, 1);
    posenc_view square = posenc_view_dense(NULL, POSENC_F32, 0, side, side, 1);
    posenc_rel_index index = {NULL, 0, 0, 0};
    RETURNS(POSENC_OK, posenc_positions_masked, NULL, 0, INT64_MAX, 0, 0, NULL);
    RETURNS(POSENC_OK, posenc_gate_backward, NULL, &rows, &rows, NULL, &rows, all);
    RETURNS(POSENC_OK, posenc_softmax, &params, &heads, &heads, all);
    RETURNS(POSENC_OK, posenc_softmax_backward, &params, &heads, &heads, NULL, &heads, NULL, NULL, all);
    RETURNS(POSENC_OK, posenc_decomposed_rows, &table, &square);
    float sum = 1.0f;
    posenc_rel_bias rel_bias = {&sum, 0, 1, 1, 0, 0};
    posenc_view queries = posenc_view_dense(NULL, POSENC_F32, 0, (int64_t)1 << 30, 1, (int64_t)1 << 15);
    RETURNS(POSENC_OK, posenc_rel_bias_backward, &params, &queries, &rel_bias);
    assert_true(sum == 0.0f);
    RETURNS(POSENC_OK, posenc_relative_sums_by_query, &index, params.mask, 0, &heads, &heads, all);
    sum = 1.0f;
    RETURNS(POSENC_OK, posenc_sink_backward, NULL, 0, 1, many, &sum);
    assert_true(sum == 0.0f);
    posenc_view q = posenc_view_dense(NULL, POSENC_F32, DIM, 0, 1, (int64_t)1 << 40), k = q;
    k.nb[3] = 0;
    RETURNS(POSENC_OK, posenc_attention_reference, &params, &q, &k, &k, &q, NULL);
    int32_t page = 0;
    posenc_attention_pages pages = {&page, 0, 0};
    posenc_view key = posenc_view_dense(in, POSENC_F32, DIM, 1, 1, 1);
    posenc_attention_args task = {.params = &params, .q = q, .k = key, .v = key, .out = q, .pages = &pages};
    void *scratch = malloc(posenc_attention_workspace_bytes(DIM, DIM));
    RETURNS(POSENC_OK, posenc_attention_run, &task, scratch, posenc_attention_workspace_bytes(DIM, DIM), all);
    free(scratch);
}

/* Real rows of what has no elements: no address is made of memory that is not there, nor of strides that nobody has
 * looked at. The undefined-behaviour sanitizer saw it. */
void test_rows_of_nothing(void **state) {
    (void)state;
    enum { N_ROWS = 2 };
    posenc_range all = posenc_range_all();
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    posenc_view none = {NULL, POSENC_F32, {0, N_ROWS, 1, 1}, {4, INT64_MAX, 0, 0}};
    int32_t rows[1] = {0};
    posenc_rel_index index = {rows, 0, 1, 3};
    float w[3 * N_ROWS] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    posenc_view sums = posenc_view_dense(w, POSENC_F32, 3, N_ROWS, 1, 1);
    RETURNS(POSENC_OK, posenc_relative_sums_by_query, &index, params.mask, 0, &none, &sums, all);
    for (int i = 0; i < 3 * N_ROWS; i++)
        assert_true(w[i] == 0.0f);

    float gate[N_ROWS] = {0}, dgate[N_ROWS] = {1.0f, 1.0f};
    posenc_view gates = posenc_view_dense(gate, POSENC_F32, 1, N_ROWS, 1, 1), to = gates;
    to.data = dgate;
    none.nb[1] = 0;
    RETURNS(POSENC_OK, posenc_gate_backward, &none, &gates, &none, &to, &none, all);
    assert_true(dgate[0] == 0.0f && dgate[1] == 0.0f);

    posenc_bool_mask mask = {NULL, {1, 0, 0, 0}, POSENC_KEEP};
    posenc_softmax_sum parts[N_ROWS];
    params.bool_mask = &mask;
    RETURNS(POSENC_OK, posenc_softmax_partial, &params, &none, &none, parts, all);
    assert_true(parts[0].sum == 0.0f && parts[1].sum == 0.0f);
    params.bool_mask = NULL;

    posenc_rope_params unrotated = POSENC_ROPE_DEFAULTS;
    unrotated.layout = POSENC_ROPE_HALF;
    unrotated.head_dim = DIM;
    unrotated.rot_fraction = 0.0;
    posenc_rope *plain;
    truth_ok(posenc_rope_create(&unrotated, &plain));
    posenc_rope_table table = posenc_rope_table_dense(plain, NULL);
    posenc_view x = posenc_view_dense(in, POSENC_F32, DIM, 2, 1, 1), y = x;
    float got[2 * DIM];
    y.data = got;
    posenc_attention_args task = {
        .params = &params, .q = x, .k = x, .v = x, .out = y, .k_rope = plain, .k_table = &table};
    void *scratch = malloc(posenc_attention_workspace_bytes(DIM, DIM));
    RETURNS(POSENC_OK, posenc_attention_run, &task, scratch, posenc_attention_workspace_bytes(DIM, DIM), all);
    free(scratch);
    posenc_rope_free(plain);
}

void test_overlap(void **state) {
    (void)state;
    for (int k = 0; k < N_CALLS; k++) {
        if (!calls[k].has_input)
            continue;
        static const int64_t shifts[] = {1, -1, DIM, -DIM, N - 1, -(N - 1)};
        posenc_view x = good_view(k, in, POSENC_F32), y = x, reversed = x;
        for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; s++) {
            posenc_view moved = good_view(k, in + shifts[s], POSENC_F32);
            check(calls[k].call(&x, &moved, posenc_range_all()), POSENC_ERR_OVERLAP, calls[k].name);
        }
        y.nb[1] = x.nb[1] * x.ne[2]; /* the same memory with heads and tokens exchanged */
        y.nb[2] = x.nb[1];
        check(calls[k].call(&x, &y, posenc_range_all()), POSENC_ERR_OVERLAP, "the same memory, other strides");
        int last = calls[k].n_dims - 1;
        reversed.nb[last] = -x.nb[last];
        reversed.data = (char *)x.data + (x.ne[last] - 1) * x.nb[last];
        check(calls[k].call(&x, &reversed, posenc_range_all()), POSENC_ERR_OVERLAP, "the same memory, reversed");
        reversed.data = in + N; /* only what lies before its data is shared */
        check(calls[k].call(&x, &reversed, posenc_range_all()), POSENC_ERR_OVERLAP, "reaches back into the input");
        x.nb[1] = x.nb[2] = x.nb[3] = 0;
        y = good_view(k, in, POSENC_F32);
        check(calls[k].call(&x, &y, posenc_range_all()), POSENC_ERR_OVERLAP, "a broadcast row inside the output");
        y = good_view(k, in + DIM, POSENC_F32);
        posenc_range nothing = {0, 0};
        check(calls[k].call(&x, &y, nothing), POSENC_OK, "neighbours do not overlap");
        x = y = good_view(k, in, POSENC_F32);
        x.nb[last] = y.nb[last] = 2 * x.nb[last];
        y.data = (char *)x.data + x.nb[last] / 2;
        check(calls[k].call(&x, &y, nothing), POSENC_OK, "halves of each of the last dimension");
        y.data = (char *)y.data - 4;
        check(calls[k].call(&x, &y, nothing), POSENC_ERR_OVERLAP, "halves with a float in common");
        x = y = good_view(k, in, POSENC_F32);
        x.ne[last] = y.ne[last] = 1;
        y.nb[last] += DIM * 4; /* by which nobody steps */
        check(calls[k].call(&x, &y, nothing), calls[k].call(&x, &x, nothing), "in place");
        if (calls[k].has_types) {
            x = good_view(k, in, POSENC_F32);
            y = good_view(k, in, POSENC_F16);
            check(calls[k].call(&x, &y, posenc_range_all()), POSENC_ERR_OVERLAP, "the same memory, other types");
            x = good_view(k, in, POSENC_F16);
            y = good_view(k, in, POSENC_BF16);
            check(calls[k].call(&x, &y, posenc_range_all()), POSENC_ERR_OVERLAP, "the same memory, f16 and bf16");
            check(calls[k].call(&y, &x, posenc_range_all()), POSENC_ERR_OVERLAP, "the same memory, bf16 and f16");
            x = good_view(k, in, POSENC_F32);
            y = good_view(k, in + N - 1, POSENC_BF16);
            check(calls[k].call(&x, &y, posenc_range_all()), POSENC_ERR_OVERLAP, "the last element");
            y = good_view(k, in + N, POSENC_BF16);
            check(calls[k].call(&x, &y, nothing), POSENC_OK, "neighbours of other types");
        }
    }
}

/* A single row fits between rows of another tensor, whichever of the two is written and whatever its own strides. */
void test_overlap_between_rows(void **state) {
    (void)state;
    enum { WIDTH = 8, APART = 2 * WIDTH, ROWS = 4 };
    static float memory[(ROWS + 1) * APART];
    const int64_t bytes = (int64_t)sizeof(float);
    posenc_view rows = {memory, POSENC_F32, {WIDTH, ROWS, 1, 1}, {bytes, APART * bytes, 0, 0}};
    posenc_resize_params spread = POSENC_RESIZE_DEFAULTS, gather = POSENC_RESIZE_DEFAULTS;
    spread.w_in = gather.w_out = 1;
    spread.w_out = gather.w_in = ROWS;
    for (int64_t at = 0; at <= APART; at++) {
        posenc_view row = posenc_view_dense(memory + APART + at, POSENC_F32, WIDTH, 1, 1, 1);
        posenc_status status = at == WIDTH ? POSENC_OK : POSENC_ERR_OVERLAP;
        RETURNS(status, posenc_table_resize, &spread, &row, &rows, ((posenc_range){0, 0}));
        RETURNS(status, posenc_table_resize, &gather, &rows, &row, ((posenc_range){0, 0}));
    }
}

void test_row_ranges(void **state) {
    (void)state;
    enum { ROWS = HEADS * TOKENS * BATCH };
    static const posenc_range bad[] = {
        {-1, 0}, {1, 0},   {0, ROWS + 1}, {ROWS + 1, ROWS + 1}, {INT64_MIN, INT64_MAX}, {0, INT64_MAX},
        {0, -2}, {-1, -1}, {1, -1},       {INT64_MIN, -1}};
    for (int k = 0; k < N_CALLS; k++) {
        posenc_view x, y;
        good_views(k, &x, &y);
        for (size_t r = 0; calls[k].has_rows && r < sizeof bad / sizeof bad[0]; r++)
            check(calls[k].call(&x, &y, bad[r]), POSENC_ERR_ROWS, calls[k].name);
        for (int64_t at = 0; calls[k].has_rows && at <= ROWS; at++)
            check(calls[k].call(&x, &y, (posenc_range){at, at}), POSENC_OK, calls[k].name);
    }
}
