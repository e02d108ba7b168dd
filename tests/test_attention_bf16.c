/* SPDX-License-Identifier: MIT */
/* Attention in bf16 (POSENC_MATH_BF16, _BF16X2 and _BF16X3): against double on random numbers and at its stated bounds;
 * other types as if they were rounded first, or in the order that is stated of their parts; the same bits on every tier
 * and in every way to call it. */
#include "truth_ways.h"
#include "truth_blocks.h"
#include "truth_half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIM = 160, MOST_KEYS = 4500, MOST_Q = 9, HEADS = 4, KV_HEADS = 2 };

enum { BF16, BF16X2, BF16X3, MATHS };

static const posenc_attention_math maths[] = {POSENC_MATH_BF16, POSENC_MATH_BF16X2, POSENC_MATH_BF16X3};

/* ---- A call ---- */

static unsigned char k_memory[MOST_KEYS * KV_HEADS * MOST_DIM * sizeof(float)], v_memory[sizeof k_memory];
static unsigned char q_memory[MOST_Q * HEADS * MOST_DIM * sizeof(float)];
static float out[MOST_Q * HEADS * MOST_DIM];
static truth_ways call;

static double normal(void) {
    double sum = 0.0;
    for (int k = 0; k < 12; k++)
        sum += truth_uniform(-0.5, 0.5);
    return sum;
}

/* A dense tensor of random numbers. */
static posenc_view draw(void *memory, posenc_dtype type, int64_t dim, int64_t n_heads, int64_t n) {
    posenc_view x = posenc_view_dense(memory, type, dim, n_heads, n, 1);
    if (truth_is_blocks(type)) {
        float row[MOST_DIM];
        for (int64_t i = 0; i < n_heads * n; i++) {
            for (int64_t c = 0; c < dim; c++)
                row[c] = (float)normal();
            truth_quantise(row, dim, type, (char *)memory + i * x.nb[1]);
        }
        return x;
    }
    for (int64_t i = 0; i < dim * n_heads * n; i++)
        truth_store((char *)memory + (size_t)i * truth_size(type), (float)normal(), type);
    return x;
}

typedef struct call_types {
    posenc_dtype q, k, v;
} call_types;

static void open_call(call_types types, int64_t dim, int64_t v_dim, int64_t n_q, int64_t n_k) {
    call.params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    call.params.scale = (float)(1.0 / sqrt((double)dim));
    call.params.mask = posenc_mask_causal();
    call.args = (posenc_attention_args){
        .q = draw(q_memory, types.q, dim, HEADS, n_q),
        .k = draw(k_memory, types.k, dim, KV_HEADS, n_k),
        .v = draw(v_memory, types.v, v_dim, KV_HEADS, n_k),
        .out = posenc_view_dense(out, POSENC_F32, v_dim, HEADS, n_q, 1),
    };
    truth_ways_open(&call);
}

static const call_types all_bf16 = {POSENC_BF16, POSENC_BF16, POSENC_BF16};
static const call_types all_f32 = {POSENC_F32, POSENC_F32, POSENC_F32};

/* ---- Against double ---- */

/* Bounds of the header for random numbers, bf16 numbers but for BF16X3. */
static const double allowed[] = {5e-4, 2e-5, 4e-6};

static posenc_dtype random_type(int64_t dim, int has_blocks) {
    return (posenc_dtype)truth_below(has_blocks && dim % 32 == 0 ? 5 : 3);
}

static void check_rows(int which, double bound, double *worst, long long *n) {
    for (int64_t i = 0; i < call.args.q.ne[2]; i++)
        for (int64_t h = 0; h < HEADS; h++) {
            double row[MOST_DIM], largest = truth_ways_row(&call, i, h, row);
            for (int64_t c = 0; c < call.args.v.ne[0]; c++, ++*n) {
                double got = (double)truth_get(&call.args.out, c, h, i, 0);
                truth_close(got, row[c], bound * largest, "channel %lld of query %lld, math %d", (long long)c,
                            (long long)i, which);
                *worst = fmax(*worst, fabs(got - row[c]) / (bound * largest));
            }
        }
}

static void test_random(void **state) {
    (void)state;
    static const char *const names[] = {"attention in bf16", "attention in bf16, weights in two parts",
                                        "attention in bf16, all in two parts"};
    for (int which = 0; which < MATHS; which++) {
        double worst = 0.0;
        long long n = 0;
        for (int round = 0; round < 24; round++) {
            int64_t dim = 1 + truth_below(MOST_DIM), v_dim = 1 + truth_below(MOST_DIM), n_q = 1 + truth_below(MOST_Q);
            int64_t n_k = n_q + 64 + truth_below(round % 8 ? 600 : MOST_KEYS - MOST_Q - 64);
            call_types types = {random_type(dim, 0), random_type(dim, 1), random_type(v_dim, 1)};
            open_call(which == BF16X3 ? types : all_bf16, dim, v_dim, n_q, n_k);
            call.args.math = maths[which];
            truth_attend(&call);
            check_rows(which, allowed[which], &worst, &n);
            truth_ways_close(&call);
        }
        truth_report(names[which], n, worst, TRUTH_ALLOWED, "random calls");
    }
}

/* Numbers of this type and their parts lose the most: 254.5 units of l, or half a unit of h. */
static float worst_number(posenc_dtype type) {
    return type == POSENC_F32 ? 1.0f + 254.5f * 0x1p-16f : 1.0f + 0x1p-8f;
}

/* One key of weight 1, and many of one that lies between two numbers: what a weight may lose,
 * and in BF16X3 a value with it. */
static void test_worst_weights(void **state) {
    (void)state;
    static const double bounds[] = {0x1p-8, 0x1p-16, 0x1p-15};
    for (int which = 0; which < MATHS; which++) {
        enum { WORST_KEYS = 200 };
        float value = which == BF16X3 ? worst_number(POSENC_F32) : 1.0f;
        double worst = 0.0;
        for (int round = 0; round < 2000; round++) {
            open_call(which == BF16X3 ? all_f32 : all_bf16, 1, 1, 1, WORST_KEYS);
            call.args.math = maths[which];
            call.params.scale = (float)truth_uniform(0.1, 1.0);
            for (int64_t h = 0; h < HEADS; h++)
                truth_store(truth_address(&call.args.q, 0, h, 0, 0), 1.0f, call.args.q.dtype);
            for (int64_t h = 0; h < KV_HEADS; h++)
                for (int64_t j = 0; j < WORST_KEYS; j++) {
                    truth_store(truth_address(&call.args.k, 0, h, j, 0), j ? -0.5f : 0.0f, call.args.k.dtype);
                    truth_store(truth_address(&call.args.v, 0, h, j, 0), j ? value : 0.0f, call.args.v.dtype);
                }
            truth_attend(&call);
            double row[1];
            truth_ways_row(&call, 0, 0, row);
            worst = fmax(worst, fabs((double)out[0] - row[0]));
            truth_ways_close(&call);
        }
        print_message("a weight loses up to %g of %g\n", worst, bounds[which]);
        /* more than half in BF16X3: l of the weight times l of the value is left out */
        assert_true(worst < bounds[which] && worst > bounds[which] * (which == BF16X3 ? 0.55 : 0.25));
    }
}

/* ---- Other types ---- */

static float rounded(double x) {
    float number = truth_widen(truth_narrow((float)x, POSENC_BF16), POSENC_BF16);
    return fabs((double)number) < 0x1p-56 ? 0.0f : number;
}

/* The tensor as numbers of bf16. */
static posenc_view in_bf16(const posenc_view *x) {
    posenc_view y = posenc_view_dense(NULL, POSENC_BF16, x->ne[0], x->ne[1], x->ne[2], 1);
    y.data = malloc((size_t)(y.nb[3]));
    assert_non_null(y.data);
    TRUTH_EACH(x, c, h, j, b) {
        double value = truth_is_blocks(x->dtype)
                           ? truth_read_block((const char *)x->data + h * x->nb[1] + j * x->nb[2], c, x->dtype)
                           : (double)truth_get(x, c, h, j, b);
        truth_store(truth_address(&y, c, h, j, b), rounded(value), POSENC_BF16);
    }
    return y;
}

/* A few numbers about 2^-56 and below, of the types that have them. */
static void set_small(const posenc_view *x) {
    if (x->dtype != POSENC_F32 && x->dtype != POSENC_BF16)
        return;
    TRUTH_EACH(x, c, h, j, b)
    if (truth_below(7) == 0)
        truth_store(truth_address(x, c, h, j, b), (float)ldexp(truth_uniform(-2.0, 2.0), -56), x->dtype);
}

static void test_rounding(void **state) {
    (void)state;
    for (int round = 0; round < 40; round++) {
        int64_t dim = truth_below(2) ? 32 * (1 + truth_below(4)) : 1 + truth_below(100);
        int64_t v_dim = truth_below(2) ? 32 * (1 + truth_below(4)) : 1 + truth_below(100);
        call_types types = {random_type(dim, 0), random_type(dim, 1), random_type(v_dim, 1)};
        int64_t n_q = 1 + truth_below(MOST_Q);
        open_call(types, dim, v_dim, n_q, n_q + truth_below(700));
        call.args.math = maths[round % 2];
        set_small(&call.args.q);
        set_small(&call.args.k);
        set_small(&call.args.v);
        truth_attend(&call);
        truth_ways_keep(&call);
        call.args.q = in_bf16(&call.args.q);
        call.args.k = in_bf16(&call.args.k);
        call.args.v = in_bf16(&call.args.v);
        truth_attend(&call);
        truth_ways_same(&call, "rounded first");
        free(call.args.q.data);
        free(call.args.k.data);
        free(call.args.v.data);
        truth_ways_close(&call);
    }
}

/* ---- All in two parts ---- */

/* The logit of a query and a key alone is its log-sum-exp. */
static void open_single(call_types types, int64_t dim, posenc_view *lse, float *to) {
    open_call(types, dim, dim, 1, 1);
    call.params.scale = 1.0f;
    *lse = posenc_view_dense(to, POSENC_F32, 1, HEADS, 1, 1);
    call.args.lse = lse;
    call.args.math = POSENC_MATH_BF16X3;
}

static void fill(const posenc_view *x, float value) {
    TRUTH_EACH(x, c, h, j, b)
    truth_store(truth_address(x, c, h, j, b), value, x->dtype);
}

/* A product of numbers of f16 loses up to 2^-16, of float32 2^-15; a value of weight 1 2^-17. */
static void test_worst_parts(void **state) {
    (void)state;
    static const double bounds[] = {[POSENC_F32] = 0x1p-15, [POSENC_F16] = 0x1p-16};
    for (posenc_dtype type = POSENC_F32; type <= POSENC_F16; type++) {
        enum { DIM = 128 };
        call_types types = {type, type, type};
        float value = worst_number(type), logits[HEADS];
        posenc_view lse;
        open_single(types, DIM, &lse, logits);
        fill(&call.args.q, value);
        fill(&call.args.k, value);
        fill(&call.args.v, value);
        truth_attend(&call);
        double exact = (double)DIM * (double)value * (double)value, error = fabs((double)logits[0] - exact) / exact;
        double of_value = fabs((double)out[0] - (double)value) / (double)value;
        print_message("a logit loses %g of %g, a value %g\n", error, bounds[type], of_value);
        assert_true(error <= bounds[type] + 0x1p-23 && error > bounds[type] / 1.1);
        assert_true(of_value <= 0x1p-17);
        truth_ways_close(&call);
    }
}

typedef struct parts {
    float h, l;
} parts;

static parts parts_of(const posenc_view *x, int64_t c) {
    float value = truth_get(x, c, 0, 0, 0), h = rounded((double)value);
    return (parts){h, rounded((double)(value - h))};
}

/* x + (e + o) over 32 channels from c on: which parts of q and of k. */
static float add_block(float x, int64_t c, int q_is_low, int k_is_low) {
    float sums[2] = {0.0f, 0.0f};
    for (int64_t i = c; i < c + 32 && i < call.args.q.ne[0]; i++) {
        parts q = parts_of(&call.args.q, i), k = parts_of(&call.args.k, i);
        sums[i % 2] = fmaf(q_is_low ? q.l : q.h, k_is_low ? k.l : k.h, sums[i % 2]);
    }
    return x + (sums[0] + sums[1]);
}

/* The order of attention.h, stated once more: of a logit, and of a value of weight 1. */
static void test_order_of_parts(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        int64_t dim = 1 + truth_below(MOST_DIM);
        float logits[HEADS], x = 0.0f;
        posenc_view lse;
        open_single(all_f32, dim, &lse, logits);
        set_small(&call.args.q);
        set_small(&call.args.k);
        set_small(&call.args.v);
        for (int64_t c = 0; c < dim; c += 32) {
            x = add_block(x, c, 0, 0);
            x = add_block(x, c, 1, 0);
        }
        for (int64_t c = 0; c < dim; c += 32)
            x = add_block(x, c, 0, 1);
        for (int tier = -1; truth_next_tier(&tier);) {
            truth_attend(&call);
            truth_same_bits(logits, &x, 1, "a logit of %lld channels", (long long)dim);
            for (int64_t c = 0; c < dim; c++) {
                parts v = parts_of(&call.args.v, c);
                float value = v.h + v.l;
                truth_same_bits(&out[c], &value, 1, "channel %lld", (long long)c);
            }
        }
        truth_ways_close(&call);
    }
}

/* Numbers of bf16 have no second parts, and weights have two either way. */
static void test_bf16_has_one_part(void **state) {
    (void)state;
    open_call(all_bf16, 80, 48, 7, 600);
    call.args.math = POSENC_MATH_BF16X2;
    truth_attend(&call);
    truth_ways_keep(&call);
    call.args.math = POSENC_MATH_BF16X3;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_attend(&call);
        truth_ways_same(&call, "bf16 in two parts");
    }
    truth_ways_close(&call);
}

/* ---- The same bits however it is called ---- */

static void test_same_bits(void **state) {
    (void)state;
    for (int round = 0; round < 24; round++) {
        int64_t dim = truth_below(2) ? 128 : 1 + truth_below(MOST_DIM), v_dim = 1 + truth_below(MOST_DIM);
        call_types types = {random_type(dim, 0), random_type(dim, 1), random_type(v_dim, 1)};
        int64_t n_q = 1 + truth_below(MOST_Q), n_k = n_q + truth_below(round % 8 ? 300 : MOST_KEYS - MOST_Q);
        open_call(types, dim, v_dim, n_q, n_k);
        call.args.math = maths[round % MATHS];
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
    enum { DIM = 32, QUERIES = 64, KEYS = 512 + 50 };
    for (int which = 0; which < MATHS; which++) {
        open_call(all_bf16, DIM, DIM, 1, KEYS);
        truth_ways_close(&call);
        call.args.math = maths[which];
        call.args.q = draw(q_memory, POSENC_BF16, DIM, KV_HEADS, QUERIES);
        call.args.out = posenc_view_dense(out, POSENC_F32, DIM, KV_HEADS, QUERIES, 1);
        truth_ways_open(&call);
        truth_ways_check(&call);
        truth_ways_close(&call);
    }
}

/* A large head of values beside a small one of keys, and the other way round: memory of both is shared. */
static void test_unlike_dimensions(void **state) {
    (void)state;
    static const int64_t dims[][2] = {{1, 160}, {160, 1}, {3, 33}, {64, 160}};
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++)
        for (int which = 0; which < MATHS; which++) {
            open_call(all_bf16, dims[d][0], dims[d][1], MOST_Q, 1100);
            call.args.math = maths[which];
            double worst = 0.0;
            long long n = 0;
            for (int tier = -1; truth_next_tier(&tier);) {
                truth_attend(&call);
                check_rows(which, 4.0 * allowed[which], &worst, &n);
            }
            truth_ways_close(&call);
        }
}

/* ---- Masked keys, and numbers that are not finite ---- */

static void fill_keys(const posenc_view *x, int64_t begin, int64_t end, float value) {
    for (int64_t j = begin; j < end; j++)
        for (int64_t h = 0; h < x->ne[1]; h++)
            for (int64_t c = 0; c < x->ne[0]; c++)
                truth_store(truth_address(x, c, h, j, 0), value, x->dtype);
}

/* An infinite value that only query i sees is in its row alone. */
static void check_infinite(int64_t key, int64_t first_same, int64_t end_same, int64_t i) {
    int64_t row = HEADS * call.args.v.ne[0];
    fill_keys(&call.args.v, key, key + 1, INFINITY);
    truth_attend(&call);
    truth_same_bits(out + first_same * row, call.first + first_same * row, (size_t)((end_same - first_same) * row),
                    "infinity out of sight");
    for (int64_t c = i * row; c < (i + 1) * row; c++)
        assert_true(!isfinite(out[c]));
}

/* Keys that no query sees may hold anything; an infinite value that only the first or the last query sees. Numbers of
 * float32 have second parts in BF16X3, NaN where the first is infinite. */
static void test_masked_values(void **state) {
    (void)state;
    const call_types *types[] = {&all_bf16, &all_f32};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int which = 0; which < 2 * MATHS; which++) {
            enum { WINDOW = 20, QUERIES = 5, KEYS = 170, FIRST_SEEN = KEYS - QUERIES - WINDOW + 1 };
            open_call(*types[which % 2], 64, 64, QUERIES, KEYS);
            call.args.math = maths[which / 2];
            call.params.mask = posenc_mask_window(WINDOW);
            truth_attend(&call);
            truth_ways_keep(&call);
            fill_keys(&call.args.k, 0, FIRST_SEEN, NAN);
            fill_keys(&call.args.v, 0, FIRST_SEEN, NAN);
            truth_attend(&call);
            truth_ways_same(&call, "NaN out of sight");
            check_infinite(FIRST_SEEN, 1, QUERIES, 0);
            check_infinite(KEYS - 1, 1, QUERIES - 1, QUERIES - 1);
            truth_ways_close(&call);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_random),        truth_test(test_worst_weights),         truth_test(test_rounding),
        truth_test(test_worst_parts),   truth_test(test_order_of_parts),        truth_test(test_bf16_has_one_part),
        truth_test(test_same_bits),     truth_test(test_block_masked_for_some), truth_test(test_unlike_dimensions),
        truth_test(test_masked_values),
    };
    return truth_run(tests);
}
