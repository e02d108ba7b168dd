/* SPDX-License-Identifier: MIT */
/* Attention in integers (POSENC_MATH_INT16) over blocks: against plain double of the numbers that the blocks
 * hold, on random data and at its stated bound; the same bits on every tier, in pages, in parts and query by query. */
#include "truth_ways.h"
#include "truth_blocks.h"
#include "truth_half.h"

#include <math.h>
#include <string.h>

#include "kernels/formats.h"

enum {
    BLOCK = POSENC_QUANT_BLOCK,
    MOST_DIM = 128,
    MOST_KEYS = 4700,
    KEYS_EXACT = 128, /* the first ones */
    MOST_Q = 20,      /* 40 that share a KV head: a unit of few, or of many */
    HEADS = 4,
    KV_HEADS = 2
};

/* ---- Blocks ---- */

/* 32 random numbers of the normal kind. */
static void draw_numbers(float x[BLOCK], double size) {
    for (int c = 0; c < BLOCK; c++) {
        double sum = 0.0;
        for (int k = 0; k < 12; k++)
            sum += truth_uniform(-0.5, 0.5);
        x[c] = (float)(size * sum);
    }
}

/* A cache [dim, KV_HEADS, n_k, 1] of random numbers. */
static posenc_view draw_cache(unsigned char *memory, posenc_dtype type, int64_t dim, int64_t n_k, double size) {
    for (int64_t b = 0; b < dim / BLOCK * KV_HEADS * n_k; b++) {
        float x[BLOCK];
        draw_numbers(x, size);
        truth_quantise(x, BLOCK, type, memory + (size_t)b * truth_block_bytes(type));
    }
    return posenc_view_dense(memory, type, dim, KV_HEADS, n_k, 1);
}

/* Values of float types too. */
static posenc_view draw_values(unsigned char *memory, posenc_dtype type, int64_t dim, int64_t n_k) {
    if (truth_is_blocks(type))
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

/* Every type of values, floats and formats, with keys of every format, in turns. */
static posenc_dtype k_type_of(int round) {
    return (posenc_dtype)(POSENC_FLOAT_TYPES + round % (POSENC_FORMATS_END - POSENC_FLOAT_TYPES));
}

static posenc_dtype v_type_of(int round) {
    return (posenc_dtype)((round + round / (POSENC_FORMATS_END - POSENC_FLOAT_TYPES)) % POSENC_FORMATS_END);
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

/* Checks the header's bounds for random numbers. window: keys that a query sees, none of them the first; 0: all. */
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
    check_random("attention in integers, the first 128 keys", 54, KEYS_EXACT - MOST_Q, 0, 4e-6);
    check_random("attention in integers, up to 600 keys", 54, 600, 0, 2e-5);
    check_random("attention in integers, many keys", 9, MOST_KEYS - MOST_Q, 0, 2e-5);
    check_random("attention in integers, windows of few keys", 54, 300, 1 + truth_below(100), 8e-5);
}

/* ---- Outliers ---- */

static unsigned char *block_at(const posenc_view *x, int64_t b, int64_t h, int64_t j) {
    return (unsigned char *)x->data + b * x->nb[0] + h * x->nb[1] + j * x->nb[2];
}

/* In every 50th key one channel of v is `factor` times its size. Where these keys are far, all queries of a head of
 * keys are the same, and such a key is their opposite. */
static void set_outliers(double factor, int are_far) {
    enum { EVERY = 50, CHANNEL = 37 };
    const posenc_view *k = &call.args.k, *v = &call.args.v;
    int64_t dim = k->ne[0], n_rows = call.args.q.ne[2] * HEADS;
    for (int64_t i = HEADS / KV_HEADS; are_far && i < n_rows; i++)
        memcpy(queries + i * dim, queries + (i / (HEADS / KV_HEADS) % KV_HEADS) * (HEADS / KV_HEADS) * dim,
               (size_t)dim * sizeof *queries);
    for (int64_t j = EVERY - 1; j < k->ne[2]; j += EVERY)
        for (int64_t h = 0; h < KV_HEADS; h++) {
            float x[BLOCK];
            draw_numbers(x, 1.0);
            x[CHANNEL % BLOCK] *= (float)factor;
            truth_quantise(x, BLOCK, v->dtype, block_at(v, CHANNEL / BLOCK, h, j));
            for (int64_t b = 0; are_far && b < dim / BLOCK; b++) {
                for (int c = 0; c < BLOCK; c++)
                    x[c] = copysignf(2.0f, -queries[h * (HEADS / KV_HEADS) * dim + b * BLOCK + c]);
                truth_quantise(x, BLOCK, k->dtype, block_at(k, b, h, j));
            }
        }
}

/* The same call on |d_jb| for each value of channel block b. */
static truth_ways call_on_scales(float *memory) {
    const posenc_view *v = &call.args.v;
    truth_ways scales = call;
    scales.args.v = posenc_view_dense(memory, POSENC_F32, v->ne[0], KV_HEADS, v->ne[2], 1);
    for (int64_t i = 0; i < v->ne[0] * KV_HEADS * v->ne[2]; i++) {
        uint16_t half;
        memcpy(&half, block_at(v, i % v->ne[0] / BLOCK, i / v->ne[0] % KV_HEADS, i / v->ne[0] / KV_HEADS), sizeof half);
        memory[i] = fabsf(truth_widen(half, POSENC_F16));
    }
    return scales;
}

/* A channel's error by its mean scale, and what the logits lose. */
static double mean_scale_share(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0: return 1.0 / 8 + 0.01;
    case POSENC_Q4_0: return 1.0 / 127 + 0.001;
    case POSENC_Q5_0: return 1.0 / 63 + 0.001;
    case POSENC_Q4_1: return 1.0 / 127 + 0.001;
    case POSENC_Q5_1: return 1.0 / 63 + 0.001;
    case POSENC_IQ4_NL: return 1.0 / 8 + 0.01;
    }
    return 0.0;
}

static void check_mean_scales(double *worst, long long *n) {
    static float memory[MOST_KEYS * KV_HEADS * MOST_DIM];
    truth_ways scales = call_on_scales(memory);
    int64_t dim = call.args.v.ne[0];
    double share = mean_scale_share(call.args.v.dtype);
    for (int64_t i = 0; i < call.args.q.ne[2]; i++)
        for (int64_t h = 0; h < HEADS; h++) {
            double row[MOST_DIM], mean[MOST_DIM];
            truth_ways_row(&call, i, h, row);
            truth_ways_row(&scales, i, h, mean);
            for (int64_t c = 0; c < dim; c++, ++*n) {
                double got = (double)out[(i * HEADS + h) * dim + c], allowed = share * mean[c];
                truth_close(got, row[c], allowed, "channel %lld, mean scale %g", (long long)c, mean[c]);
                *worst = fmax(*worst, fabs(got - row[c]) / allowed);
            }
        }
}

static void test_outliers(void **state) {
    (void)state;
    static const double factors[] = {300.0, 3000.0, 30000.0};
    double worst = 0.0;
    long long n = 0;
    for (int round = 0; round < 36; round++) {
        open_call(POSENC_Q8_0, k_type_of(round + round / 6), 64, 2, round < 6 ? 4096 : 1000);
        if (round % 4 >= 2)
            call.params.mask = posenc_mask_window(64);
        double most = truth_block_header(call.args.v.dtype) > 2 ? 1e4 : 3e4; /* offsets are of half precision */
        set_outliers(fmin(factors[round % 3], most), round >= 18);
        truth_attend(&call);
        check_mean_scales(&worst, &n);
        truth_ways_close(&call);
    }
    truth_report("attention in integers, outliers in a channel", n, worst, TRUTH_ALLOWED, "random calls");
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

/* ---- Which keys are in integers ---- */

/* Every block of a cache has scale 1 and numbers of 0. */
static void clear_cache(const posenc_view *x) {
    const uint16_t one = truth_narrow(1.0f, POSENC_F16);
    for (int64_t j = 0; j < x->ne[2]; j++)
        for (int64_t h = 0; h < KV_HEADS; h++)
            for (int64_t b = 0; b < x->ne[0] / BLOCK; b++) {
                memset(block_at(x, b, h, j), 0, POSENC_Q8_BYTES);
                memcpy(block_at(x, b, h, j), &one, sizeof one);
            }
}

static void set_number(const posenc_view *x, int64_t c, int64_t j, int number) {
    for (int64_t h = 0; h < KV_HEADS; h++)
        block_at(x, 0, h, j)[2 + c] = (unsigned char)(int8_t)number;
}

/* Channel 0 of every head is `want`. */
static void check_heads(double want, double allowed, const char *what, int64_t j) {
    truth_attend(&call);
    for (int64_t h = 0; h < HEADS; h++)
        truth_close((double)out[h * BLOCK], want, allowed, "%s of key %lld", what, (long long)j);
}

static void set_key(int64_t j, int64_t c, int number, float of_channel_1, float scale) {
    clear_cache(&call.args.k);
    clear_cache(&call.args.v);
    set_number(&call.args.k, c, j, number);
    set_number(&call.args.v, 0, j, 100);
    for (int64_t h = 0; h < HEADS; h++)
        queries[h * BLOCK] = 1.0f, queries[h * BLOCK + 1] = of_channel_1;
    call.params.scale = scale;
}

/* The product with key j depends on a channel of the query that is 0 as an integer. */
static void check_product(int64_t j) {
    set_key(j, 1, 127, 1e-5f, 65504.0f);
    check_heads(j < KEYS_EXACT ? 100.0 : 100.0 / MOST_KEYS, 1e-4, "product", j);
}

/* The weight of key j is 0 as an integer beside those of its group. */
static void check_weight(int64_t j) {
    set_key(j, 0, -12, 0.0f, 1.0f);
    check_heads(j < KEYS_EXACT ? 100.0 / MOST_KEYS * exp(-12.0) : 0.0, 1e-9, "weight", j);
}

/* The first 128 keys of a sequence are not, all others are, those of every block and segment. */
static void test_which_keys(void **state) {
    (void)state;
    static const int64_t keys[] = {0, 127, 128, 511, 512, 1024, 4095, 4096, 4223, 4224, 4607, 4608, MOST_KEYS - 1};
    for (int tier = -1; truth_next_tier(&tier);) {
        open_call(POSENC_Q8_0, POSENC_Q8_0, BLOCK, 1, MOST_KEYS);
        memset(queries, 0, sizeof queries);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            check_product(keys[i]);
            check_weight(keys[i]);
        }
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
static void test_block_masked_for_some(void **state) {
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

/* Keys that no query sees may hold anything, and a query of NaN makes NaN of its own row alone. */
static void test_masked_values(void **state) {
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
        truth_test(test_random),     truth_test(test_outliers),  truth_test(test_small_queries),
        truth_test(test_which_keys), truth_test(test_same_bits), truth_test(test_block_masked_for_some),
        truth_test(test_no_blocks),  truth_test(test_extremes),  truth_test(test_masked_values),
    };
    return truth_run(tests);
}
