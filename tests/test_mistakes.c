/* SPDX-License-Identifier: MIT */
/* Mistakes that are easily made in an engine: none gives POSENC_OK with wrong numbers. Each row changes one thing of a
 * right call, and has the text that posenc_last_error() gives for it. Headers say in bold which ones no call sees. */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 64, HEADS = 4, KV_HEADS = 2, TOKENS = 4, CONTEXT = 16, PAST = 5 };

static float q[TOKENS * HEADS * DIM], k[TOKENS * KV_HEADS * DIM], v[TOKENS * KV_HEADS * DIM], out[TOKENS * HEADS * DIM];
static uint16_t k_cache[CONTEXT * KV_HEADS * DIM], v_cache[CONTEXT * KV_HEADS * DIM];
static uint16_t both_caches[2 * CONTEXT * KV_HEADS * DIM]; /* overlap in there and nothing else, whatever lies behind */
static posenc_rope *rope;
static posenc_score_params params;
static posenc_step step;
static void *scratch;
static size_t scratch_bytes;
static const float slopes[HEADS + 1] = {0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f};
static const int32_t ends[3] = {PAST + TOKENS, PAST + TOKENS, PAST + TOKENS};

static posenc_rope_params rope_params(void) {
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = POSENC_ROPE_HALF;
    p.head_dim = p.n_rot = DIM;
    return p;
}

static void start(void) {
    params = posenc_score_params_of(0.125f, posenc_mask_causal());
    step = (posenc_step){.rope = rope, .params = &params, .head_dim = DIM, .n_heads = HEADS, .n_kv_heads = KV_HEADS};
    step.q = q, step.k = k, step.v = v, step.out = out;
    step.k_cache = k_cache, step.v_cache = v_cache, step.cache_bytes = sizeof k_cache;
    step.cache_type = POSENC_F16, step.n_ctx = CONTEXT;
    step.n_past = PAST, step.n_tokens = TOKENS;
}

/* The status, its text, and nothing written. */
static void refused(posenc_status got, posenc_status want, const char *text, const char *what) {
    if (got != want)
        fail_msg("%s: \"%s\" instead of \"%s\"", what, posenc_status_string(got), posenc_status_string(want));
    if (strstr(posenc_last_error(), text) == NULL)
        fail_msg("%s: \"%s\" has no \"%s\"", what, posenc_last_error(), text);
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_true(out[i] == 77.0f);
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        assert_true(q[i] == 0.5f);
    for (size_t i = 0; i < sizeof k_cache / sizeof *k_cache; i++)
        assert_true(k_cache[i] == 0x3c00 && v_cache[i] == 0x3c00);
    start();
}

/* Numbers that no refused call changes. */
static void fill_all(void) {
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        out[i] = 77.0f;
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        q[i] = 0.5f;
    for (size_t i = 0; i < sizeof k_cache / sizeof *k_cache; i++)
        k_cache[i] = v_cache[i] = 0x3c00; /* 1 */
}

#define MISTAKE(status, text, change, call)                                                                            \
    do {                                                                                                               \
        change;                                                                                                        \
        refused(call, status, text, #change);                                                                          \
    } while (0)

/* ---- A step ---- */

static void test_step(void **state) {
    (void)state;
    const posenc_score_params unset = POSENC_SCORE_DEFAULTS;
#define IN_STEP(status, text, change) MISTAKE(status, text, change, posenc_step_run(&step, scratch, scratch_bytes))
    IN_STEP(POSENC_ERR_UNSET, "scale is 0", params.scale = 0.0f);
    IN_STEP(POSENC_ERR_UNSET, "begin with posenc_score_params_of", memset(&params, 0, sizeof params));
    IN_STEP(POSENC_ERR_MASK_UNSET, "mask is not set", params = unset; params.scale = 0.125f);
    IN_STEP(POSENC_ERR_POSITION, "params.positions", params = (posenc_score_params){.scale = 0.125f});
    IN_STEP(POSENC_ERR_SCALE, "cap is -1", params.cap = -1.0f);
    IN_STEP(POSENC_ERR_ENUM, "math is 99", step.math = (posenc_attention_math)99);
    IN_STEP(POSENC_ERR_ENUM, "fully_masked", params.fully_masked = POSENC_FULLY_MASKED_UNIFORM);
    IN_STEP(POSENC_ERR_NULL, "out", step.out = NULL);
    IN_STEP(POSENC_ERR_STRIDE, "out", step.out = (char *)out + 1);
    IN_STEP(POSENC_ERR_OVERLAP, "", step.out = q);
    IN_STEP(POSENC_ERR_OVERLAP, "q overlaps k", step.k = q);
    IN_STEP(POSENC_ERR_OVERLAP, "q overlaps k_cache", step.k_cache = q);
    IN_STEP(POSENC_ERR_OVERLAP, "k_cache overlaps v_cache", step.k_cache = both_caches;
            step.v_cache = both_caches + 2 * KV_HEADS * DIM);
    IN_STEP(POSENC_ERR_OVERLAP, "k_cache overlaps v_cache", step.v_cache = k_cache);
    IN_STEP(POSENC_ERR_N_HEADS, "n_heads of sinks and slopes is 0", params.bias.alibi_slopes = slopes);
    IN_STEP(POSENC_ERR_WORKSPACE, "cache_bytes is 4096, but 16 tokens of this type have 8192",
            step.cache_type = POSENC_F32);
    IN_STEP(POSENC_ERR_WORKSPACE, "cache_bytes", step.cache_type = POSENC_Q8_0);
    IN_STEP(POSENC_ERR_WORKSPACE, "cache_bytes", step.n_ctx = 2 * CONTEXT);
    IN_STEP(POSENC_ERR_WORKSPACE, "cache_bytes", step.n_kv_heads = HEADS; step.n_heads = KV_HEADS);
    IN_STEP(POSENC_ERR_CONTEXT, "n_past 13 and n_tokens 4, but n_ctx is 16", step.n_past = CONTEXT - TOKENS + 1);
    IN_STEP(POSENC_ERR_CONTEXT, "n_past -1", step.n_past = -1);
    IN_STEP(POSENC_ERR_POSITION, "params.positions", params.positions.query_start = 0);
    IN_STEP(POSENC_ERR_MASK, "params.sequences", params.sequences.k_end = ends; params.n_batch = 1);
    IN_STEP(POSENC_ERR_STRIDE, "token_stride is 256 bytes", step.token_stride = HEADS * DIM); /* in elements */
    IN_STEP(POSENC_ERR_N_HEADS, "n_heads of sinks and slopes is 5, but there are 4 heads",
            params.bias.alibi_slopes = slopes;
            params.n_heads = HEADS + 1);
    IN_STEP(POSENC_ERR_NULL, "data is NULL", step.k = NULL);
    IN_STEP(POSENC_ERR_NULL, "k_cache is NULL", step.k_cache = NULL);
    IN_STEP(POSENC_ERR_NULL, "rope is NULL", step.rope = NULL);
    IN_STEP(POSENC_ERR_NULL, "params is NULL", step.params = NULL);
    MISTAKE(POSENC_ERR_WORKSPACE, "scratch: ", (void)0, posenc_step_run(&step, scratch, scratch_bytes / 2));
    MISTAKE(POSENC_ERR_NULL, "scratch", (void)0, posenc_step_run(&step, NULL, scratch_bytes));
    MISTAKE(POSENC_ERR_WORKSPACE, "scratch: ", (void)0, posenc_step_attend(&step, scratch, scratch_bytes / 2, 0, 1));
    MISTAKE(POSENC_ERR_WORKSPACE, "scratch: 0 bytes", (void)0, posenc_step_attend(&step, scratch, 0, 0, 1));
    MISTAKE(POSENC_ERR_ROWS, "ith is 3 and nth 2", (void)0, posenc_step_append(&step, 3, 2));
    MISTAKE(POSENC_ERR_ROWS, "ith is 0 and nth 0", (void)0, posenc_step_append(&step, 0, 0));
    MISTAKE(POSENC_ERR_ROWS, "1 .. 65536", (void)0, posenc_step_attend(&step, scratch, scratch_bytes, 0, 65537));
    MISTAKE(POSENC_ERR_ROWS, "0 .. nth - 1", (void)0, posenc_step_append(&step, 2, 2)); /* threads 1 .. nth */
    MISTAKE(POSENC_ERR_ROWS, "ith is 1 and nth 1", (void)0, posenc_step_attend(&step, scratch, scratch_bytes, 1, 1));
    MISTAKE(POSENC_ERR_ROWS, "ith is -2", (void)0, posenc_step_append(&step, -2, 2));
    MISTAKE(POSENC_OK, "", (void)0, posenc_step_append(&step, POSENC_STEP_CHECK, 2));
    MISTAKE(POSENC_OK, "", (void)0, posenc_step_attend(&step, scratch, scratch_bytes, POSENC_STEP_CHECK, 1));
}

/* ---- Views ---- */

static posenc_status attend_views(posenc_view queries, posenc_view keys, posenc_view values) {
    posenc_view to = posenc_view_dense(out, POSENC_F32, DIM, HEADS, TOKENS, 1);
    return posenc_attention(&params, &queries, &keys, &values, &to, scratch, scratch_bytes, posenc_range_all());
}

static void test_views(void **state) {
    (void)state;
    const posenc_view good = posenc_view_dense(q, POSENC_F32, DIM, HEADS, TOKENS, 1);
    const posenc_view cached = posenc_view_dense(k_cache, POSENC_F16, DIM, KV_HEADS, CONTEXT, 1);
    posenc_view keys = cached;
#define IN_VIEWS(status, text, change)                                                                                 \
    MISTAKE(status, text, change, attend_views(good, keys, cached));                                                   \
    keys = cached
    IN_VIEWS(POSENC_ERR_UNSET, "scale is 0", params.scale = 0.0f);
    IN_VIEWS(POSENC_ERR_UNSET, "scale is 0", memset(&params, 0, sizeof params));
    IN_VIEWS(POSENC_ERR_STRIDE, "k: nb[1] is 64 bytes, but a row has 128", keys.nb[1] = DIM;
             keys.nb[2] = DIM * KV_HEADS);
    IN_VIEWS(POSENC_ERR_SHAPE, "v: ne[1] is 2, but k's is 16", keys = posenc_view_transpose(keys, 1, 2));
    IN_VIEWS(POSENC_ERR_SHAPE, "k: ne[0] is 32, but q's is 64", keys.ne[0] = DIM / 2);
    IN_VIEWS(POSENC_ERR_SHAPE, "n_batch of starts and lengths is 3, but there are 1", params.sequences.k_end = ends;
             params.n_batch = 3);
    IN_VIEWS(POSENC_ERR_DTYPE, "k: dtype is 99", keys.dtype = (posenc_dtype)99);
    MISTAKE(POSENC_ERR_N_HEADS, "k: 3 heads, which do not divide the 4 of q", (void)0,
            attend_views(good, posenc_view_dense(k_cache, POSENC_F16, DIM, 3, 4, 1),
                         posenc_view_dense(v_cache, POSENC_F16, DIM, 3, 4, 1)));
    const int32_t listed[] = {0, 1, CONTEXT};
    const posenc_attention_lists lists = {listed, 3, 0, 0, 0, 0};
    posenc_view to = posenc_view_dense(out, POSENC_F32, DIM, HEADS, TOKENS, 1);
    posenc_attention_args args = posenc_attention_args_of(&params, &good, &cached, &cached, &to);
    args.lists = &lists;
    const posenc_attention_lists too_many = {listed, 3, 0, 0, 3, 8};
    const posenc_bool_mask keep = {(const uint8_t *)listed, {1, 0, 0, 0}, POSENC_KEEP};
    MISTAKE(POSENC_ERR_ROWS, "lists: query 0 of sequence 0 names a key outside 0 .. 15", (void)0,
            posenc_attention_run(&args, scratch, scratch_bytes, posenc_range_all()));
    MISTAKE(POSENC_ERR_MASK, "lists do not go with bool_mask", params.bool_mask = &keep,
            posenc_attention_run(&args, scratch, scratch_bytes, posenc_range_all()));
    MISTAKE(POSENC_ERR_N_HEADS, "lists: n_heads is 8, between 2 KV heads and 4 of q", args.lists = &too_many,
            posenc_attention_run(&args, scratch, scratch_bytes, posenc_range_all()));
}

/* ---- Softmax, RoPE ---- */

static void test_softmax_and_rope(void **state) {
    (void)state;
    posenc_view scores = posenc_view_dense(out, POSENC_F32, DIM, TOKENS, HEADS, 1);
    MISTAKE(POSENC_ERR_UNSET, "scale is 0", params.scale = 0.0f,
            posenc_softmax(&params, &scores, &scores, posenc_range_all()));
    MISTAKE(POSENC_ERR_STRIDE, "y: nb[1] is 64", scores.nb[1] = DIM,
            posenc_softmax(&params, &scores, &scores, posenc_range_all()));
    posenc_rope *none;
    posenc_rope_params p = rope_params();
    MISTAKE(POSENC_ERR_LAYOUT_UNSET, "layout is not set", p.layout = POSENC_ROPE_LAYOUT_UNSET,
            posenc_rope_create(&p, &none));
    p = rope_params();
    MISTAKE(POSENC_ERR_N_ROT, "n_rot is 128", p.n_rot = 2 * DIM, posenc_rope_create(&p, &none));
    p = rope_params();
    MISTAKE(POSENC_ERR_BASE, "base is 0", p.base = 0.0, posenc_rope_create(&p, &none));
#define SCALING(status, text, change)                                                                                  \
    p = rope_params();                                                                                                 \
    MISTAKE(status, text, change, posenc_rope_create(&p, &none))
    const double factors[] = {1.0, -2.0};
    SCALING(POSENC_ERR_SCALING, "scaling.factor is 8, but scaling.type", p.scaling.factor = 8.0);
    SCALING(POSENC_ERR_CONTEXT, "scaling.original_context is 0", p.scaling.type = POSENC_SCALING_LLAMA3);
    SCALING(POSENC_ERR_SCALING, "scaling.factor is 0, but 1 ..", p.scaling.type = POSENC_SCALING_LLAMA3;
            p.scaling.original_context = 8192.0);
    SCALING(POSENC_ERR_SCALING, "scaling.low_freq_factor is 4 and high_freq_factor 1",
            p.scaling.type = POSENC_SCALING_LLAMA3;
            p.scaling.low_freq_factor = 4.0; p.scaling.high_freq_factor = 1.0);
    SCALING(POSENC_ERR_SCALING, "scaling.beta_slow is 32 and beta_fast 1", p.scaling.type = POSENC_SCALING_YARN;
            p.scaling.original_context = 4096.0; p.scaling.factor = 4.0; p.scaling.beta_fast = 1.0;
            p.scaling.beta_slow = 32.0);
    SCALING(POSENC_ERR_FACTORS, "scaling.long_factors is NULL, but context 8192", p.scaling.factor = 2.0;
            p.scaling.type = POSENC_SCALING_LONGROPE; p.scaling.original_context = 4096.0; p.scaling.context = 8192.0);
    SCALING(POSENC_ERR_FACTORS, "scaling.n_factors is 2, but n_rot/2 is 32", p.scaling.freq_factors = factors;
            p.scaling.n_factors = 2);
    SCALING(POSENC_ERR_FACTORS, "scaling.freq_factors[1] is -2", p.scaling.freq_factors = factors;
            p.scaling.n_factors = 2; p.n_rot = 4);
    SCALING(POSENC_ERR_SECTIONS, "axes.sections add up to 31, but 32", p.axes.kind = POSENC_AXES_MROPE;
            p.axes.n_axes = 2; p.axes.sections[0] = 16; p.axes.sections[1] = 15);
    SCALING(POSENC_ERR_SECTIONS, "axes.n_axes is 1, but 2 .. 4", p.axes.kind = POSENC_AXES_MROPE; p.axes.n_axes = 1);
    SCALING(POSENC_ERR_UNSET, "begin with POSENC_ROPE_DEFAULTS",
            p = ((posenc_rope_params){.layout = POSENC_ROPE_HALF, .head_dim = DIM, .base = 1e4}));
    posenc_view x = posenc_view_dense(out, POSENC_F32, DIM, HEADS, TOKENS, 1);
    const int32_t at[TOKENS] = {0, 1, 2, 3};
    MISTAKE(POSENC_ERR_ROWS, "", (void)0,
            posenc_rope_apply(rope, &x, at, &x, POSENC_FORWARD, posenc_range_of_thread(TOKENS * HEADS, 1, 0)));
    MISTAKE(POSENC_ERR_ROWS, "", (void)0,
            posenc_rope_apply(rope, &x, at, &x, POSENC_FORWARD, posenc_range_of_thread(TOKENS * HEADS, 2, 2)));
    posenc_view narrow = posenc_view_dense(out, POSENC_F32, DIM / 2, HEADS, TOKENS, 1);
    MISTAKE(POSENC_ERR_SHAPE, "ne[0] is 32 and 32, but the rope's head_dim is 64", (void)0,
            posenc_rope_apply(rope, &narrow, at, &narrow, POSENC_FORWARD, posenc_range_all()));
    posenc_rope_tensor tensor = {.x = x, .y = x, .rotates = 1};
    MISTAKE(POSENC_ERR_SCALE, "scale is 0", (void)0,
            posenc_rope_apply_tensors(rope, &tensor, 1, at, NULL, POSENC_FORWARD, posenc_range_all()));
}

/* ---- A right step: the numbers of views, in one call and in shares of threads ---- */

static void attend_by_views(const float *new_q, float *to) {
    static float rotated[TOKENS * HEADS * DIM];
    static uint16_t keys_memory[CONTEXT * KV_HEADS * DIM], values_memory[CONTEXT * KV_HEADS * DIM];
    int32_t at[TOKENS];
    for (int t = 0; t < TOKENS; t++)
        at[t] = PAST + t;
    memcpy(keys_memory, k_cache, sizeof k_cache);
    memcpy(values_memory, v_cache, sizeof v_cache);
    posenc_view x = posenc_view_dense((void *)(uintptr_t)new_q, POSENC_F32, DIM, HEADS, TOKENS, 1), queries = x;
    queries.data = rotated;
    posenc_view keys = posenc_view_dense(keys_memory, POSENC_F16, DIM, KV_HEADS, PAST + TOKENS, 1), values = keys;
    values.data = values_memory;
    posenc_rope_tensor tensors[] = {posenc_rope_tensor_of(x, queries, 1, 1.0f),
                                    posenc_rope_tensor_of(posenc_view_dense(k, POSENC_F32, DIM, KV_HEADS, TOKENS, 1),
                                                          posenc_view_slice(keys, 2, PAST, TOKENS), 1, 1.0f),
                                    posenc_rope_tensor_of(posenc_view_dense(v, POSENC_F32, DIM, KV_HEADS, TOKENS, 1),
                                                          posenc_view_slice(values, 2, PAST, TOKENS), 0, 1.0f)};
    truth_ok(posenc_rope_apply_tensors(rope, tensors, 3, at, NULL, POSENC_FORWARD, posenc_range_all()));
    posenc_view result = posenc_view_dense(to, POSENC_F32, DIM, HEADS, TOKENS, 1);
    truth_ok(posenc_attention(&params, &queries, &keys, &values, &result, scratch, scratch_bytes, posenc_range_all()));
}

static void test_right(void **state) {
    (void)state;
    static float new_q[TOKENS * HEADS * DIM], want[TOKENS * HEADS * DIM], wide[TOKENS * (HEADS + 2 * KV_HEADS) * DIM];
    truth_fill(q, sizeof q / sizeof *q);
    truth_fill(k, sizeof k / sizeof *k);
    truth_fill(v, sizeof v / sizeof *v);
    for (size_t i = 0; i < sizeof k_cache / sizeof *k_cache; i++) {
        k_cache[i] = (uint16_t)(0x3000 + truth_below(0x800));
        v_cache[i] = (uint16_t)(0x3000 + truth_below(0x800));
    }
    memcpy(new_q, q, sizeof q);
    attend_by_views(new_q, want);
    int32_t same[TOKENS] = {PAST, PAST + 1, PAST + 2, PAST + 3};
    for (int nth = 1; nth <= 7; nth++) { /* also with positions given, and one projection of q, k and v */
        start();
        memcpy(q, new_q, sizeof q);
        step.positions = nth % 2 ? NULL : same;
        if (nth % 3 == 0) {
            int64_t width = (HEADS + 2 * KV_HEADS) * DIM;
            for (int64_t t = 0; t < TOKENS; t++) {
                memcpy(wide + t * width, new_q + t * HEADS * DIM, HEADS * DIM * sizeof(float));
                memcpy(wide + t * width + HEADS * DIM, k + t * KV_HEADS * DIM, KV_HEADS * DIM * sizeof(float));
                memcpy(wide + t * width + (HEADS + KV_HEADS) * DIM, v + t * KV_HEADS * DIM,
                       KV_HEADS * DIM * sizeof(float));
            }
            step.q = wide, step.k = wide + HEADS * DIM, step.v = wide + (HEADS + KV_HEADS) * DIM;
            step.token_stride = width * (int64_t)sizeof(float);
        }
        memset(out, 0, sizeof out);
        for (int ith = 0; ith < nth; ith++)
            truth_ok(posenc_step_append(&step, ith, nth));
        for (int ith = 0; ith < nth; ith++)
            truth_ok(posenc_step_attend(&step, scratch, scratch_bytes, ith, nth));
        truth_same_bits(out, want, sizeof out / sizeof *out, "%d threads", nth);
    }
    fill_all();
}

/* More tokens than positions are counted at a time: the cache of one call is that of token by token. */
static void test_long_prompt(void **state) {
    (void)state;
    enum { LONG = 300 };
    static float long_q[LONG * HEADS * DIM], long_k[LONG * KV_HEADS * DIM], long_v[LONG * KV_HEADS * DIM];
    static float long_out[LONG * HEADS * DIM];
    static uint16_t caches[2][2][LONG * KV_HEADS * DIM];
    truth_fill(long_k, LONG * KV_HEADS * DIM);
    truth_fill(long_v, LONG * KV_HEADS * DIM);
    for (int way = 0; way < 2; way++) {
        start();
        step.q = long_q, step.out = long_out, step.n_ctx = LONG, step.cache_bytes = sizeof caches[0][0];
        step.k_cache = caches[way][0], step.v_cache = caches[way][1];
        for (int64_t t = 0; t < LONG; t += step.n_tokens) {
            step.n_past = t;
            step.n_tokens = way == 0 ? LONG : 1;
            step.k = long_k + t * KV_HEADS * DIM, step.v = long_v + t * KV_HEADS * DIM;
            for (int ith = 0; ith < 3; ith++)
                truth_ok(posenc_step_append(&step, ith, 3));
        }
    }
    assert_memory_equal(caches[0], caches[1], sizeof caches[0]);
}

/* ---- The text is the thread's, and remains over calls that succeed ---- */

static void test_text(void **state) {
    (void)state;
    refused(posenc_rope_create(NULL, &(posenc_rope *){NULL}), POSENC_ERR_NULL, "NULL", "no parameters");
    params.scale = INFINITY;
    posenc_view scores = posenc_view_dense(q, POSENC_F32, DIM, 1, 1, 1);
    assert_int_equal(posenc_softmax(&params, &scores, &scores, posenc_range_all()), POSENC_ERR_SCALE);
    start();
    char text[300];
    snprintf(text, sizeof text, "%s", posenc_last_error());
    assert_non_null(strstr(text, "scale is inf"));
    truth_ok(posenc_softmax(&params, &scores, &scores, posenc_range_all()));
    assert_string_equal(posenc_last_error(), text);
    /* a call without a text of its own has the status's */
    assert_int_equal(posenc_tree_positions(NULL, 1, 0, NULL), POSENC_ERR_NULL);
    assert_string_equal(posenc_last_error(), posenc_status_string(POSENC_ERR_NULL));
}

int main(void) {
    posenc_rope_params p = rope_params();
    scratch_bytes = posenc_attention_workspace_bytes(DIM, DIM);
    scratch = malloc(scratch_bytes);
    if (scratch == NULL || posenc_rope_create(&p, &rope) != POSENC_OK)
        return 1;
    fill_all();
    start();
    const struct CMUnitTest tests[] = {
        truth_test(test_step),  truth_test(test_views),       truth_test(test_softmax_and_rope),
        truth_test(test_right), truth_test(test_long_prompt), truth_test(test_text)};
    int failed = truth_run(tests);
    posenc_rope_free(rope);
    free(scratch);
    return failed;
}
