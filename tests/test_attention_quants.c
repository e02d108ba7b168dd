/* SPDX-License-Identifier: MIT */
/* Attention in integers (POSENC_MATH_INT16) over Q8_0 and Q4_0: against plain double of the numbers that the blocks
 * hold, on random data and at its stated bound; the same bits on every tier, in pages, in parts and query by query. */
#include "truth_ways.h"
#include "truth_blocks.h"
#include "truth_half.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = POSENC_QUANT_BLOCK,
    MOST_DIM = 128,
    MOST_KEYS = 4500,
    KEYS_EXACT = 128, /* the first ones */
    MOST_Q = 20,      /* 40 that share a head of keys: a unit of few, or of many */
    HEADS = 4,
    KV_HEADS = 2
};

/* ---- Blocks ---- */

/* A block of 32 random numbers of the normal kind, rounded as ggml does: the scale is the largest over the largest
 * integer. */
static void draw_block(unsigned char *block, posenc_dtype type, double size) {
    float x[BLOCK], largest = 0.0f;
    for (int c = 0; c < BLOCK; c++) {
        double sum = 0.0;
        for (int k = 0; k < 12; k++)
            sum += truth_uniform(-0.5, 0.5);
        x[c] = (float)(size * sum);
        largest = fabsf(x[c]) > largest ? fabsf(x[c]) : largest;
    }
    float scale = largest / (type == POSENC_Q8_0 ? 127.0f : 8.0f);
    uint16_t half = truth_narrow(scale, POSENC_F16);
    memset(block, 0, truth_block_bytes(type));
    memcpy(block, &half, sizeof half);
    for (int c = 0; c < BLOCK; c++) {
        int n = scale > 0.0f ? (int)lrintf(x[c] / scale) : 0;
        if (type == POSENC_Q8_0)
            block[2 + c] = (unsigned char)(int8_t)n;
        else
            block[2 + c % (BLOCK / 2)] |= (unsigned char)((n > 7 ? 15 : n < -8 ? 0 : n + 8) << (c < BLOCK / 2 ? 0 : 4));
    }
}

/* A cache [dim, KV_HEADS, n_k, 1] of such blocks. */
static posenc_view draw_cache(unsigned char *memory, posenc_dtype type, int64_t dim, int64_t n_k, double size) {
    for (int64_t b = 0; b < dim / BLOCK * KV_HEADS * n_k; b++)
        draw_block(memory + (size_t)b * truth_block_bytes(type), type, size);
    return posenc_view_dense(memory, type, dim, KV_HEADS, n_k, 1);
}

/* Values of float types too. */
static posenc_view draw_values(unsigned char *memory, posenc_dtype type, int64_t dim, int64_t n_k) {
    if (type == POSENC_Q8_0 || type == POSENC_Q4_0)
        return draw_cache(memory, type, dim, n_k, 1.0);
    size_t size = type == POSENC_F32 ? sizeof(float) : sizeof(uint16_t);
    for (int64_t c = 0; c < dim * KV_HEADS * n_k; c++)
        truth_store(memory + (size_t)c * size, (float)truth_uniform(-2.0, 2.0), type);
    return posenc_view_dense(memory, type, dim, KV_HEADS, n_k, 1);
}

/* ---- A call ---- */

static unsigned char k_memory[MOST_KEYS * KV_HEADS * MOST_DIM / BLOCK * POSENC_Q8_BYTES];
static unsigned char v_memory[MOST_KEYS * KV_HEADS * MOST_DIM * sizeof(float)];
static float queries[MOST_Q * HEADS * MOST_DIM], out[MOST_Q * HEADS * MOST_DIM];
static truth_ways call;

/* Every type of values with both of keys, in turns. */
static posenc_dtype k_type_of(int round) {
    return round % 2 ? POSENC_Q4_0 : POSENC_Q8_0;
}

static posenc_dtype v_type_of(int round) {
    static const posenc_dtype types[] = {POSENC_Q8_0, POSENC_F16, POSENC_Q4_0, POSENC_F32, POSENC_BF16};
    return types[round / 2 % 5];
}

static void open_call(posenc_dtype k_type, posenc_dtype v_type, int64_t dim, int64_t n_q, int64_t n_k) {
    call.params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    call.params.scale = (float)(1.0 / sqrt((double)dim));
    call.params.mask = posenc_mask_causal();
    for (int64_t i = 0; i < n_q * HEADS * dim; i++)
        queries[i] = (float)truth_uniform(-2.0, 2.0);
    call.args = (posenc_attention_args){
        .q = posenc_view_dense(queries, POSENC_F32, dim, HEADS, n_q, 1),
        .k = draw_cache(k_memory, k_type, dim, n_k, 1.0),
        .v = draw_values(v_memory, v_type, dim, n_k),
        .out = posenc_view_dense(out, POSENC_F32, dim, HEADS, n_q, 1),
        .math = POSENC_MATH_INT16,
    };
    truth_ways_open(&call);
}

/* Whether the result is that in double, and by how much of `allowed` max |v| it differs; n: how many are compared. */
static void check_rows(double allowed, double *worst, long long *n) {
    int64_t dim = call.args.q.ne[0], n_q = call.args.q.ne[2];
    for (int64_t i = 0; i < n_q; i++)
        for (int64_t h = 0; h < HEADS; h++) {
            double row[MOST_DIM], largest = truth_ways_row(&call, i, h, row);
            for (int64_t c = 0; c < dim; c++, ++*n) {
                double got = (double)out[(i * HEADS + h) * dim + c];
                truth_close(got, row[c], allowed * largest, "channel %lld of query %lld", (long long)c, (long long)i);
                *worst = fmax(*worst, fabs(got - row[c]) / (allowed * largest));
            }
        }
}

/* What the header promises of random numbers. window: keys that a query sees, none of them the first; 0: all. */
static void check_random(const char *what, int rounds, int64_t n_k, int64_t window, double allowed) {
    double worst = 0.0;
    long long n = 0;
    for (int round = 0; round < rounds; round++) {
        int64_t dim = BLOCK * (1 + truth_below(4)), n_q = 1 + truth_below(MOST_Q);
        open_call(k_type_of(round), v_type_of(round), dim, n_q, n_q + (window > 0 ? n_k : truth_below(n_k)));
        if (window > 0)
            call.params.mask = posenc_mask_window(window);
        truth_attend(&call);
        check_rows(allowed, &worst, &n);
        truth_ways_close(&call);
    }
    truth_report(what, n, worst, TRUTH_ALLOWED, "random calls");
}

static void test_random(void **state) {
    (void)state;
    check_random("attention in integers, the first 128 keys", 30, KEYS_EXACT - MOST_Q, 0, 4e-6);
    check_random("attention in integers, up to 600 keys", 30, 600, 0, 2e-5);
    check_random("attention in integers, many keys", 4, MOST_KEYS - MOST_Q, 0, 2e-5);
    check_random("attention in integers, windows of few keys", 30, 300, 1 + truth_below(100), 8e-5);
}

/* A query's block of 2^-100 counts; just below it is 0, and all keys weigh the same. */
static void test_small_queries(void **state) {
    (void)state;
    double worst = 0.0;
    long long n = 0;
    for (int counts = 0; counts < 2; counts++) {
        open_call(POSENC_Q8_0, POSENC_Q8_0, 64, 3, 300);
        call.params.mask = posenc_mask_window(100); /* in integers */
        call.params.scale = 0x1p97f;
        for (int64_t i = 0; i < 3 * HEADS * 64; i++)
            queries[i] = (truth_below(2) ? 1.0f : -1.0f) * (counts ? 0x1p-100f : 0x1.fffffep-101f);
        truth_attend(&call);
        if (!counts)
            memset(queries, 0, sizeof queries);
        check_rows(8e-5, &worst, &n);
        truth_ways_close(&call);
    }
}

/* ---- The same bits however it is called ---- */

static void test_same_bits(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        int64_t n_q = 1 + truth_below(MOST_Q), n_k = n_q + truth_below(round % 8 ? 300 : MOST_KEYS - MOST_Q);
        open_call(k_type_of(round), v_type_of(round), BLOCK * (1 + truth_below(4)), n_q, n_k);
        if (round % 3 == 0)
            call.params.mask = posenc_mask_window(1 + truth_below(200));
        if (round % 5 == 0)
            call.params.mask.n_first = round % 3 == 0 ? 4 : 0;
        truth_ways_check(&call);
        truth_ways_close(&call);
    }
}

/* Queries that see none of the second 512 keys, and others that see 50 of them, each with a head of its own. */
static void test_block_unseen_by_some(void **state) {
    (void)state;
    enum { DIM = BLOCK, QUERIES = 64, KEYS = 512 + 50 };
    open_call(POSENC_Q8_0, POSENC_Q8_0, DIM, 1, KEYS);
    truth_ways_close(&call);
    call.args.q = posenc_view_dense(queries, POSENC_F32, DIM, KV_HEADS, QUERIES, 1);
    call.args.out = posenc_view_dense(out, POSENC_F32, DIM, KV_HEADS, QUERIES, 1);
    for (int i = 0; i < QUERIES * KV_HEADS * DIM; i++)
        queries[i] = (float)truth_uniform(-2.0, 2.0);
    truth_ways_open(&call);
    truth_ways_check(&call);
    truth_ways_close(&call);
}

/* Without blocks there is nothing to compute in integers. */
static void test_no_blocks(void **state) {
    (void)state;
    open_call(POSENC_Q8_0, POSENC_F16, 64, 3, 600);
    call.args.k = draw_values(k_memory, POSENC_BF16, 64, 600);
    call.args.math = POSENC_MATH_F32;
    truth_attend(&call);
    truth_ways_keep(&call);
    call.args.math = POSENC_MATH_INT16;
    truth_attend(&call);
    truth_ways_same(&call, "no blocks");
    truth_ways_close(&call);
}

/* ---- Extremes ---- */

/* The scale of every block of some rows. */
static void set_scales(const posenc_view *x, int64_t j, float scale) {
    uint16_t half = truth_narrow(scale, POSENC_F16);
    for (int64_t h = 0; h < KV_HEADS; h++)
        for (int64_t b = 0; b < x->ne[0] / BLOCK; b++)
            memcpy((char *)x->data + b * x->nb[0] + h * x->nb[1] + j * x->nb[2], &half, sizeof half);
}

/* Scales from nothing to the largest in one group, and a key that outweighs all others: the bound of the header. */
static void test_extremes(void **state) {
    (void)state;
    static const float scales[] = {0.0f, 65504.0f, 0x1p-24f, 1.0f, 0x1p-14f};
    for (int round = 0; round < 20; round++) {
        open_call(POSENC_Q8_0, POSENC_Q8_0, 64, 3, 400);
        for (int64_t j = 0; j < 400; j++)
            set_scales(&call.args.v, j, scales[(j + round) % 5]);
        if (round >= 10) /* keys in integers alone */
            call.params.mask = posenc_mask_window(200);
        if (round % 2) /* one key that all queries like */
            call.params.scale = 8.0f;
        truth_attend(&call);
        for (int64_t i = 0; i < 3; i++)
            for (int64_t h = 0; h < HEADS; h++) {
                double row[MOST_DIM], largest = truth_ways_row(&call, i, h, row);
                for (int64_t c = 0; c < 64; c++)
                    truth_close((double)out[(i * HEADS + h) * 64 + c], row[c], 1e-3 * largest, "extremes");
            }
        truth_ways_close(&call);
    }
}

/* What no query sees may hold anything, and a query of NaN makes NaN of its own row alone. */
static void test_not_seen(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        open_call(POSENC_Q8_0, POSENC_Q8_0, 64, 5, 170);
        call.params.mask = posenc_mask_window(20);
        truth_attend(&call);
        truth_ways_keep(&call);
        for (int64_t j = 0; j < 140; j++) {
            set_scales(&call.args.k, j, NAN);
            set_scales(&call.args.v, j, NAN);
        }
        truth_attend(&call);
        truth_ways_same(&call, "NaN out of sight");
        queries[0] = NAN;
        truth_attend(&call);
        for (int64_t c = 0; c < 5 * HEADS * 64; c++)
            assert_int_equal(isnan(out[c]) != 0, c < 64);
        truth_ways_close(&call);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_random),    truth_test(test_small_queries),
        truth_test(test_same_bits), truth_test(test_block_unseen_by_some),
        truth_test(test_no_blocks), truth_test(test_extremes),
        truth_test(test_not_seen),
    };
    return truth_run(tests);
}
