/* SPDX-License-Identifier: MIT */
/* Caches of 8-bit floats: all that is written there and read from there, and attention over them, which has the bits of
 * attention over the same numbers in float32. */
#include "truth_half.h"
#include "truth_rope.h"

#include <math.h>
#include <string.h>

#include "half_statement.h"

enum { CODES = 256, ROW = 128, HALVES = 65536 };

static uint8_t codes[HALF_PROBES];
static float numbers[HALF_PROBES];

/* ---- Conversions ---- */

/* n numbers in rows of one head. */
static posenc_view rows_of(void *data, posenc_dtype type, int64_t n) {
    return posenc_view_dense(data, type, ROW, 1, n / ROW, 1);
}

/* Heads as they are into a cache. */
static void write_codes(posenc_view x, posenc_view y) {
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, x.ne[0], 0, 0);
    posenc_rope *rope = truth_rope_new(&params);
    posenc_rope_tensor tensor = posenc_rope_tensor_of(x, y, 0, 1.0f);
    truth_ok(posenc_rope_apply_tensors(rope, &tensor, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()));
    posenc_rope_free(rope);
}

static void expect_code(float x, uint8_t got) {
    uint8_t want = (uint8_t)truth_narrow(x, POSENC_F8_E4M3);
    if (got != want)
        fail_msg("%a becomes %02x instead of %02x", (double)x, got, want);
}

/* The codes of the definition: OCP OFP8 1.0, table 2. */
static void test_statement(void **state) {
    (void)state;
    static const struct {
        uint8_t bits;
        double value;
    } known[] = {{0x00, 0.0},   {0x01, 0x1p-9}, {0x07, 7 * 0x1p-9}, {0x08, 0x1p-6}, {0x38, 1.0},
                 {0x39, 1.125}, {0x7e, 448.0},  {0x80, -0.0},       {0xb8, -1.0},   {0xfe, -448.0}};
    static const struct {
        double value;
        uint8_t bits;
    } rounded[] = {{0x1p-10, 0x00}, {0x1.000002p-10, 0x01}, {0x3p-10, 0x02},   {0x1.ep-7, 0x08}, {1.0625, 0x38},
                   {1.1875, 0x3a},  {432.0, 0x7e},          {448.0, 0x7e},     {464.0, 0x7e},    {480.0, 0x7e},
                   {1e30, 0x7e},    {INFINITY, 0x7e},       {-INFINITY, 0xfe}, {-0x1p-11, 0x80}, {NAN, 0x7f}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        float value = (float)known[i].value, got = truth_widen(known[i].bits, POSENC_F8_E4M3);
        truth_same_bits(&got, &value, 1, "code %02x", known[i].bits);
    }
    for (size_t i = 0; i < sizeof rounded / sizeof rounded[0]; i++)
        assert_int_equal(truth_narrow((float)rounded[i].value, POSENC_F8_E4M3), rounded[i].bits);
    assert_true(isnan(truth_widen(0x7f, POSENC_F8_E4M3)) && isnan(truth_widen(0xff, POSENC_F8_E4M3)));
}

/* Codes, of all of them in turns, as heads of dim channels of a type; and, written again, codes. */
static void check_reading(int64_t dim, posenc_dtype type) {
    uint8_t back[CODES];
    int64_t n = CODES / dim * dim;
    for (int64_t i = 0; i < n; i++)
        codes[i] = (uint8_t)(i + dim);
    posenc_view x = posenc_view_dense(codes, POSENC_F8_E4M3, dim, 1, n / dim, 1),
                y = posenc_view_dense(numbers, type, dim, 1, n / dim, 1);
    truth_ok(posenc_dequantise(&x, &y, posenc_range_all()));
    for (int64_t i = 0; i < n; i++)
        if (!truth_holds((char *)numbers + (size_t)i * truth_size(type), truth_widen(codes[i], POSENC_F8_E4M3), type))
            fail_msg("%02x is read as another number of type %d", codes[i], (int)type);
    if (dim % 2 != 0)
        return;
    write_codes(y, posenc_view_dense(back, POSENC_F8_E4M3, dim, 1, n / dim, 1));
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(back[i], (codes[i] & 0x7f) == 0x7f ? 0x7f : codes[i]);
}

static void test_reading(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int64_t dim = 1; dim <= CODES; dim++)
            for (int type = POSENC_F32; type <= POSENC_BF16; type++)
                check_reading(dim, (posenc_dtype)type);
}

/* Every number of f16 and of bf16. */
static void test_halves(void **state) {
    (void)state;
    static uint16_t halves[HALVES];
    for (int tier = -1; truth_next_tier(&tier);)
        for (int type = POSENC_F16; type <= POSENC_BF16; type++) {
            for (uint32_t i = 0; i < HALVES; i++)
                halves[i] = (uint16_t)i;
            write_codes(rows_of(halves, (posenc_dtype)type, HALVES), rows_of(codes, POSENC_F8_E4M3, HALVES));
            for (uint32_t i = 0; i < HALVES; i++)
                expect_code(truth_widen((uint16_t)i, (posenc_dtype)type), codes[i]);
        }
}

/* Values, what lies half way to the next, the neighbours of both, and larger ones. */
static int64_t put_edges(float *to) {
    int64_t n = 0;
    for (int code = 0; code < CODES; code++)
        for (int is_half = 0; is_half < 2; is_half++) {
            int last = code % 128 >= 126;
            float value = truth_widen((uint16_t)(last ? code - code % 128 + 126 : code), POSENC_F8_E4M3);
            float step = last ? value / 14.0f : truth_widen((uint16_t)(code + 1), POSENC_F8_E4M3) - value;
            float at = is_half ? value + 0.5f * step : value;
            const float probes[] = {at, nextafterf(at, INFINITY), nextafterf(at, -INFINITY), at * 0x1p9f};
            memcpy(to + n, probes, sizeof probes);
            n += (int64_t)(sizeof probes / sizeof probes[0]);
        }
    return n;
}

/* Floats where the rounding changes; and of every exponent. The statement is slow: one in 37. */
static void test_floats(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        int64_t n = put_edges(numbers);
        write_codes(rows_of(numbers, POSENC_F32, n), rows_of(codes, POSENC_F8_E4M3, n));
        for (int64_t i = 0; i < n; i++)
            expect_code(numbers[i], codes[i]);
        for (size_t i = 0; i < HALF_PROBES; i++)
            numbers[i] = half_probe(i);
        write_codes(rows_of(numbers, POSENC_F32, HALF_PROBES), rows_of(codes, POSENC_F8_E4M3, HALF_PROBES));
        for (size_t i = 0; i < HALF_PROBES; i += 37)
            expect_code(numbers[i], codes[i]);
    }
}

/* ---- RoPE ---- */

enum { HEADS = 3, TOKENS = 7, SLOTS = 12, MOST_DIM = 200, SLOT_BYTES = SLOTS * HEADS * MOST_DIM };

static uint8_t cache[SLOT_BYTES], before[SLOT_BYTES];
static float heads[TOKENS * HEADS * MOST_DIM], exact[SLOT_BYTES], weight[MOST_DIM];

static void fill_bytes(uint8_t *to, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)truth_random();
}

static void fill_floats(float *to, size_t n, double most) {
    for (size_t i = 0; i < n; i++)
        to[i] = (float)truth_uniform(-most, most);
}

/* Rows of a cache become the nearest of what the same call writes in float32, and no other byte changes. */
static void check_write(const posenc_rope *rope, int64_t dim, int rotates, int64_t hadamard, int has_norm) {
    static const int32_t rows[TOKENS] = {3, 11, 0, 5, 1, 8, 2}, positions[TOKENS] = {0, 5, 1000, 7, -3, 100000, 1};
    posenc_view from = posenc_view_dense(heads, POSENC_F32, dim, HEADS, TOKENS, 1);
    posenc_rope_tensor tensors[] = {
        posenc_rope_tensor_of(from, posenc_view_dense(cache, POSENC_F8_E4M3, dim, HEADS, SLOTS, 1), rotates, 0.37f),
        posenc_rope_tensor_of(from, posenc_view_dense(exact, POSENC_F32, dim, HEADS, SLOTS, 1), rotates, 0.37f)};
    for (int k = 0; k < 2; k++) {
        tensors[k].rows32 = rows;
        tensors[k].hadamard = hadamard;
        tensors[k].weight = has_norm ? weight : NULL;
    }
    fill_bytes(cache, SLOT_BYTES);
    memcpy(before, cache, SLOT_BYTES);
    truth_ok(posenc_rope_apply_tensors(rope, tensors, 2, positions, NULL, POSENC_FORWARD, posenc_range_all()));
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        int is_written = 0;
        for (int t = 0; t < TOKENS; t++)
            is_written |= rows[t] == slot;
        for (int64_t i = slot * HEADS * dim; i < (slot + 1) * HEADS * dim; i++)
            if (is_written)
                expect_code(exact[i], cache[i]);
            else
                assert_int_equal(cache[i], before[i]);
    }
    assert_memory_equal(cache + SLOTS * HEADS * dim, before + SLOTS * HEADS * dim,
                        (size_t)(SLOTS * HEADS * (MOST_DIM - dim)));
}

/* A shift in place rounds once more; heads shifted by 0 keep their bytes. */
static void check_shift(const posenc_rope *rope, int64_t dim) {
    static const int32_t shifts[SLOTS] = {0, -5, -5, 0, 9, 0, -1, 2, 0, 0, -5, 1};
    posenc_view slots = posenc_view_dense(cache, POSENC_F8_E4M3, dim, HEADS, SLOTS, 1),
                wide = posenc_view_dense(exact, POSENC_F32, dim, HEADS, SLOTS, 1);
    fill_bytes(cache, SLOT_BYTES);
    memcpy(before, cache, SLOT_BYTES);
    truth_ok(posenc_dequantise(&slots, &wide, posenc_range_all()));
    truth_ok(posenc_rope_apply(rope, &wide, shifts, &wide, POSENC_SHIFT, posenc_range_all()));
    truth_ok(posenc_rope_apply(rope, &slots, shifts, &slots, POSENC_SHIFT, posenc_range_all()));
    for (int64_t i = 0; i < SLOTS * HEADS * dim; i++)
        if (shifts[i / (HEADS * dim)] == 0)
            assert_int_equal(cache[i], before[i]);
        else
            expect_code(exact[i], cache[i]);
}

static void test_caches(void **state) {
    (void)state;
    static const int64_t dims[] = {64, 128, 80, 6, 34, 200, 96};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 56; round++) {
            int64_t dim = dims[round % 7];
            posenc_rope_params params = truth_rope_params((posenc_rope_layout)(POSENC_ROPE_HALF + round % 3), dim,
                                                          dim / 4 * 2, dim > 6 && round % 2 ? 2 : 0);
            posenc_rope *rope = truth_rope_new(&params);
            fill_floats(heads, TOKENS * HEADS * MOST_DIM, round % 4 ? 3.0 : 3000.0);
            fill_floats(weight, MOST_DIM, 2.0);
            check_write(rope, dim, round % 5 > 0, round / 7 % 2 ? 2 : 0, round / 14 % 2);
            if (params.layout != POSENC_ROPE_DEINTERLEAVE)
                check_shift(rope, dim);
            posenc_rope_free(rope);
        }
}

/* ---- Refusals ---- */

/* Nothing is written for views that are not whole bytes in order, nor where a call has no caches. */
static void test_refusals(void **state) {
    (void)state;
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, 64, 64, 0);
    posenc_rope *rope = truth_rope_new(&params);
    static const int32_t positions[TOKENS] = {1, 2, 3, 4, 5, 6, 7};
    posenc_view x = posenc_view_dense(heads, POSENC_F32, 64, HEADS, TOKENS, 1),
                y = posenc_view_dense(cache, POSENC_F8_E4M3, 64, HEADS, TOKENS, 1), bad = y;
    memset(cache, 0x55, SLOT_BYTES);
    bad.nb[0] = 2;
    assert_int_equal(posenc_rope_apply(rope, &x, positions, &bad, POSENC_FORWARD, posenc_range_all()),
                     POSENC_ERR_STRIDE);
    bad = y;
    bad.nb[1] = 63;
    assert_int_equal(posenc_rope_apply(rope, &x, positions, &bad, POSENC_FORWARD, posenc_range_all()),
                     POSENC_ERR_STRIDE);
    bad = y;
    bad.ne[0] = 32;
    assert_int_equal(posenc_rope_apply(rope, &x, positions, &bad, POSENC_FORWARD, posenc_range_all()),
                     POSENC_ERR_SHAPE);
    bad = y;
    bad.data = heads;
    assert_int_equal(posenc_rope_apply(rope, &x, positions, &bad, POSENC_FORWARD, posenc_range_all()),
                     POSENC_ERR_OVERLAP);
    assert_int_equal(posenc_dequantise(&bad, &x, posenc_range_all()), POSENC_ERR_OVERLAP);
    assert_int_equal(posenc_dequantise(&x, &y, posenc_range_all()), POSENC_ERR_DTYPE);
    assert_int_equal(posenc_hadamard(&x, &y, 64, posenc_range_all()), POSENC_ERR_DTYPE);
    assert_int_equal(posenc_hadamard(&y, &x, 64, posenc_range_all()), POSENC_ERR_DTYPE);
    posenc_score_params scores = posenc_score_params_of(0.1f, posenc_mask_none());
    assert_int_equal(posenc_attention(&scores, &y, &y, &y, &x, exact, sizeof exact, posenc_range_all()),
                     POSENC_ERR_DTYPE);
    assert_string_equal(posenc_last_error(), "q: dtype is 9, which this call does not take");
    assert_int_equal(posenc_attention(&scores, &x, &y, &y, &y, exact, sizeof exact, posenc_range_all()),
                     POSENC_ERR_DTYPE);
    for (size_t i = 0; i < SLOT_BYTES; i++)
        assert_int_equal(cache[i], 0x55);
    posenc_rope_free(rope);
}

/* ---- Attention ---- */

enum { PAGE = 16, PAGES = 40, KEYS = PAGE * PAGES, QUERIES = 9, Q_HEADS = 8, LISTED = 50, CACHE = KEYS * 4 * MOST_DIM };

/* Caches, at any byte; the same in float32. */
static uint8_t k_codes[CACHE + 3], v_codes[CACHE + 3];
static float k_wide[CACHE], v_wide[CACHE], queries[QUERIES * Q_HEADS * MOST_DIM], cosines[KEYS * MOST_DIM],
    sines[KEYS * MOST_DIM];
static float out[2][QUERIES * Q_HEADS * MOST_DIM];

/* Codes of either sign below `most`. One cache in 50 holds a NaN. */
static void draw_cache(uint8_t *to, float *wide, size_t n, int64_t most) {
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(truth_below(most) | truth_below(2) << 7);
    if (truth_below(50) == 0)
        to[truth_below((int64_t)n)] = 0xff;
    for (size_t i = 0; i < n; i++)
        wide[i] = truth_widen(to[i], POSENC_F8_E4M3);
}

static void attend(const posenc_attention_args *args, float *to) {
    static float scratch[1 << 20];
    posenc_attention_args call = *args;
    call.out.data = to;
    assert_true(posenc_attention_workspace_bytes(args->q.ne[0], args->v.ne[0]) <= sizeof scratch);
    truth_ok(posenc_attention_run(&call, scratch, sizeof scratch, posenc_range_all()));
}

/* Any NaN equals any other. */
static void expect_same(size_t n, const char *what) {
    for (size_t i = 0; i < n; i++)
        if (memcmp(&out[1][i], &out[0][i], sizeof out[0][i]) != 0 && !(isnan(out[1][i]) && isnan(out[0][i])))
            fail_msg("%s: element %zu is %a instead of %a", what, i, (double)out[1][i], (double)out[0][i]);
}

/* Attention over codes, over the same numbers, and over one of each: k, or v. */
static void compare(const posenc_attention_args *args) {
    size_t n = (size_t)(args->out.ne[0] * args->out.ne[1] * args->out.ne[2]);
    posenc_attention_args wide = *args;
    wide.k = posenc_view_dense(k_wide, POSENC_F32, args->k.ne[0], args->k.ne[1], args->k.ne[2], args->k.ne[3]);
    wide.v = posenc_view_dense(v_wide, POSENC_F32, args->v.ne[0], args->v.ne[1], args->v.ne[2], args->v.ne[3]);
    attend(&wide, out[0]);
    attend(args, out[1]);
    expect_same(n, "keys and values");
    wide.k = args->k;
    attend(&wide, out[1]);
    expect_same(n, "keys alone");
}

/* Extents at random, with pages, a list for each query, or RoPE on load in some calls. */
static void check_attention(int round) {
    static const int64_t dims[] = {64, 128, 80, 5, 33, 96, 200, 16};
    static int32_t pages[PAGES], listed[QUERIES * LISTED];
    int64_t dim = dims[truth_below(8)], v_dim = dims[truth_below(8)], kv_heads = 1 + truth_below(4);
    int64_t n_heads = kv_heads * (1 + truth_below(Q_HEADS / kv_heads)), n_q = 1 + truth_below(QUERIES) * truth_below(2);
    int64_t n_k = LISTED + truth_below(KEYS - LISTED), shift = truth_below(4);
    int is_paged = round % 3 == 1, is_listed = round % 3 == 2;
    int64_t tokens = is_paged ? PAGE : n_k, batch = is_paged ? PAGES : 1, size = tokens * batch * kv_heads;
    for (int32_t i = 0; i < PAGES; i++)
        pages[i] = (i * 7 + 3) % PAGES;
    for (int32_t i = 0; i < QUERIES * LISTED; i++)
        listed[i] = (int32_t)(i % LISTED * (n_k / LISTED));
    draw_cache(k_codes + shift, k_wide, (size_t)(size * dim), 0x40);
    draw_cache(v_codes + shift, v_wide, (size_t)(size * v_dim), 0x7f);
    fill_floats(queries, sizeof queries / sizeof queries[0], 1.0);
    posenc_score_params params = posenc_score_params_of(0.2f, is_listed ? posenc_mask_none() : posenc_mask_causal());
    posenc_attention_pages page_table = {pages, PAGES, n_k};
    posenc_attention_lists lists = {.keys = listed, .n_max = LISTED, .query_stride = LISTED};
    posenc_attention_args args = {
        .q = posenc_view_dense(queries, POSENC_F32, dim, n_heads, n_q, 1),
        .k = posenc_view_dense(k_codes + shift, POSENC_F8_E4M3, dim, kv_heads, tokens, batch),
        .v = posenc_view_dense(v_codes + shift, POSENC_F8_E4M3, v_dim, kv_heads, tokens, batch),
        .out = posenc_view_dense(NULL, POSENC_F32, v_dim, n_heads, n_q, 1),
        .params = &params,
        .math = (posenc_attention_math)(POSENC_MATH_F32 + truth_below(POSENC_MATH_BF16X3 + 1)),
        .pages = is_paged ? &page_table : NULL,
        .lists = is_listed ? &lists : NULL,
    };
    posenc_rope_params of_keys = truth_rope_params(POSENC_ROPE_HALF, dim + dim % 2, dim - dim % 2, 0);
    posenc_rope *rope = truth_rope_new(&of_keys);
    posenc_rope_table table = {.cos = cosines, .sin = sines, .row_stride = dim / 2, .step = 1};
    if (truth_below(4) == 0 && dim % 2 == 0) {
        args.k_rope = rope;
        args.k_table = &table;
    }
    compare(&args);
    posenc_rope_free(rope);
}

static void test_attention(void **state) {
    (void)state;
    fill_floats(cosines, KEYS * MOST_DIM, 1.0);
    fill_floats(sines, KEYS * MOST_DIM, 1.0);
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 90; round++)
            check_attention(round);
}

/* The indexer's keys. */
static void test_index(void **state) {
    (void)state;
    static float weights[64 * QUERIES], scratch[1 << 16];
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 12; round++) {
            int64_t dim = 1 + truth_below(MOST_DIM), n_heads = 1 + truth_below(Q_HEADS), n_k = 1 + truth_below(KEYS);
            draw_cache(k_codes, k_wide, (size_t)(dim * n_k), 0x40);
            fill_floats(queries, sizeof queries / sizeof queries[0], 1.0);
            fill_floats(weights, sizeof weights / sizeof weights[0], 1.0);
            posenc_index_args args = {.q = posenc_view_dense(queries, POSENC_F32, dim, n_heads, QUERIES, 1),
                                      .k = posenc_view_dense(k_codes, POSENC_F8_E4M3, dim, 1, n_k, 1),
                                      .weights = posenc_view_dense(weights, POSENC_F32, 1, n_heads, QUERIES, 1),
                                      .scores = posenc_view_dense(out[0], POSENC_F32, n_k, QUERIES, 1, 1)};
            truth_ok(posenc_index_scores(&args, scratch, sizeof scratch, posenc_range_all()));
            args.k = posenc_view_dense(k_wide, POSENC_F32, dim, 1, n_k, 1);
            args.scores.data = out[1];
            truth_ok(posenc_index_scores(&args, scratch, sizeof scratch, posenc_range_all()));
            expect_same((size_t)(n_k * QUERIES), "indexer");
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_statement), truth_test(test_reading),  truth_test(test_halves),    truth_test(test_floats),
        truth_test(test_caches),    truth_test(test_refusals), truth_test(test_attention), truth_test(test_index),
    };
    return truth_run(tests);
}
