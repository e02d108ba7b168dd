/* SPDX-License-Identifier: MIT */
/* Calls on data: scores, their terms and gradients, attention. */
#include "truth_stack.h"

#include <stdlib.h>

#include "core/for_python.h"

enum { QUERIES = 8, KV_HEADS = 2, N_KEYS = KEYS / 2, TABLE_ROWS = 65, HIDDEN = 32 };

static posenc_rope *rope;
static posenc_rope_table table;
static posenc_relative_table *packed;
static posenc_fire *fire;
static posenc_score_params params = POSENC_SCORE_DEFAULTS, rich;
static float rows[DIM * KEYS], slopes[HEADS], results[KEYS], products[TABLE_ROWS * KEYS * HEADS];
static float scores[N_KEYS * QUERIES * HEADS];
static int32_t index_data[2 * KEYS];
static posenc_rel_index rel_index;
static posenc_view by_query, by_key, bias;
static uint8_t bytes[KEYS];
static void *scratch, *parts;

/* Scores of all heads. */
static posenc_view of_scores(float *data, posenc_dtype type) {
    return posenc_view_dense(data, type, N_KEYS, QUERIES, HEADS, 1);
}

/* ---- The softmax path ---- */

static posenc_status softmax_of_halves(void) {
    posenc_view all = posenc_view_dense(x, POSENC_F16, DIM * KEYS, 1, 1, 1);
    return posenc_softmax(&params, &all, &all, posenc_range_all());
}

static posenc_status softmax_of_everything(void) {
    posenc_view all = of_scores(scores, POSENC_BF16);
    return posenc_softmax(&rich, &all, &all, posenc_range_all());
}

static posenc_status make_logits(void) {
    posenc_view all = of_scores(y, POSENC_F32);
    return posenc_logits(&rich, NULL, &all, posenc_range_all());
}

static posenc_status build_block_mask(void) {
    static int32_t counts[2][QUERIES], blocks[2][QUERIES * (N_KEYS / 16 + 1)];
    const int64_t ne[4] = {N_KEYS, QUERIES, HEADS, 1};
    const posenc_block_mask mask = {counts[0], blocks[0], counts[1], blocks[1], N_KEYS / 16 + 1, 0, 0, 1, 16};
    return posenc_block_mask_build(&rich, ne, &mask);
}

static posenc_softmax_sum sums[QUERIES * HEADS];

static posenc_status softmax_partial(void) {
    posenc_view all = of_scores(scores, POSENC_F32);
    return posenc_softmax_partial(&rich, &all, &all, sums, posenc_range_all());
}

static posenc_status softmax_join(void) {
    const posenc_softmax_sum a = {1.0f, 2.0f}, b = {3.0f, 4.0f};
    posenc_softmax_sum joined;
    float factors[2];
    return posenc_softmax_combine(&a, &b, &joined, &factors[0], &factors[1]);
}

static posenc_status softmax_backward(void) {
    posenc_view p = of_scores(x, POSENC_F32), dp = of_scores(z, POSENC_F32), s = of_scores(scores, POSENC_F32),
                dx = of_scores(y, POSENC_F32), db = of_scores(rows, POSENC_F32);
    return posenc_softmax_backward(&rich, &p, &dp, &s, &dx, &db, results, posenc_range_all());
}

static posenc_status sum_sinks(void) {
    return posenc_sink_backward(x, QUERIES, HEADS, 1, results);
}

static posenc_status zero_padded(void) {
    posenc_view all = posenc_view_dense(y, POSENC_F16, DIM, 1, KEYS, 1);
    return posenc_zero_padded(bytes, &all);
}

static posenc_status tree_positions(void) {
    static int32_t parents[POSENC_MAX_TREE], places[POSENC_MAX_TREE]; /* all follow the first */
    parents[0] = -1;
    return posenc_tree_positions(parents, POSENC_MAX_TREE, 0, places);
}

static posenc_status masked_mean(void) {
    double mean;
    return posenc_masked_mean(x, bytes, KEYS, &mean);
}

/* ---- Relative terms, FIRE, CoPE ---- */

static posenc_status multiply_rows(void) {
    posenc_view queries = posenc_view_dense(x, POSENC_F16, DIM, HEADS, TOKENS, 1),
                to = posenc_view_dense(y, POSENC_F32, TABLE_ROWS, TOKENS, HEADS, 1);
    return posenc_relative_products(packed, &queries, rows, &to, posenc_range_all());
}

static posenc_status multiply_rows_of_one(void) {
    posenc_view queries = posenc_view_dense(x, POSENC_F16, DIM, HEADS, 1, 1),
                to = posenc_view_dense(y, POSENC_F32, TABLE_ROWS, 1, HEADS, 1);
    return posenc_relative_products(packed, &queries, NULL, &to, posenc_range_all());
}

static posenc_status relative_values(void) {
    posenc_view p = of_scores(x, POSENC_F32), from = posenc_view_dense(rows, POSENC_BF16, DIM, 1, TABLE_ROWS, 1),
                to = dense(y, HEADS, QUERIES);
    return posenc_relative_values(&rel_index, posenc_mask_none(), 0, &p, &from, &to, posenc_range_all());
}

static posenc_status shift(void) {
    posenc_view from = of_scores(x, POSENC_F16), to = of_scores(y, POSENC_F16);
    return posenc_relative_shift(&from, &to);
}

static posenc_status skew(void) {
    posenc_view from = posenc_view_dense(x, POSENC_F16, 2 * TOKENS - 1, TOKENS, HEADS, 1),
                to = posenc_view_dense(y, POSENC_F16, TOKENS, TOKENS, HEADS, 1);
    return posenc_relative_skew(&from, &to);
}

static posenc_status sums_by_query(void) {
    posenc_view from = of_scores(x, POSENC_F32), to = posenc_view_dense(y, POSENC_F32, TABLE_ROWS, QUERIES, HEADS, 1);
    return posenc_relative_sums_by_query(&rel_index, posenc_mask_none(), 0, &from, &to, posenc_range_all());
}

static posenc_status sums_by_key(void) {
    posenc_view from = of_scores(x, POSENC_F32), to = posenc_view_dense(y, POSENC_F32, TABLE_ROWS, N_KEYS, HEADS, 1);
    return posenc_relative_sums_by_key(&rel_index, posenc_mask_none(), 0, &from, &to, posenc_range_all());
}

static posenc_status combine(void) {
    posenc_view w = posenc_view_dense(x, POSENC_F32, TABLE_ROWS, QUERIES, HEADS, 1),
                from = posenc_view_dense(rows, POSENC_F16, DIM, 1, TABLE_ROWS, 1), to = dense(y, HEADS, QUERIES);
    return posenc_relative_combine(&w, &from, 1.0f, &to, posenc_range_all());
}

static posenc_status collect(void) {
    posenc_view w = posenc_view_dense(x, POSENC_F32, TABLE_ROWS, QUERIES, HEADS, 1),
                from = posenc_view_dense(z, POSENC_F16, DIM, HEADS, QUERIES, 1), to = dense(y, 1, TABLE_ROWS);
    return posenc_relative_collect(&w, &from, rows, 1.0f, &to, posenc_range_all());
}

static posenc_status fire_write(void) {
    posenc_view to = of_scores(y, POSENC_F32);
    return posenc_fire_write(fire, N_KEYS - QUERIES, &to, posenc_range_all());
}

static posenc_status fire_add(void) {
    posenc_view to = of_scores(y, POSENC_F32);
    return posenc_fire_add(fire, N_KEYS - QUERIES, &to, posenc_range_all());
}

static posenc_status cope(void) {
    posenc_cope_params cope_params = POSENC_COPE_DEFAULTS;
    cope_params.query_start = N_KEYS - QUERIES;
    posenc_view from = of_scores(x, POSENC_F32), gates = of_scores(scores, POSENC_F32), to = of_scores(y, POSENC_F32),
                steps = posenc_view_dense(z, POSENC_F32, 64, QUERIES, HEADS, 1);
    return posenc_cope_logits(&cope_params, &from, &gates, &steps, &to, posenc_range_all());
}

/* ---- Attention ---- */

static posenc_status attend(void) {
    posenc_view q = dense(x, HEADS, QUERIES), k = posenc_view_dense(x, POSENC_BF16, DIM, KV_HEADS, N_KEYS, 1), v = k,
                out = dense(y, HEADS, QUERIES);
    return posenc_attention(&rich, &q, &k, &v, &out, scratch, posenc_attention_workspace_bytes(q.ne[0], v.ne[0]),
                            posenc_range_all());
}

static posenc_attention_args rotating(void) {
    return (posenc_attention_args){.params = &params,
                                   .q = dense(x, HEADS, QUERIES),
                                   .k = dense(x, KV_HEADS, N_KEYS),
                                   .v = dense(x, KV_HEADS, N_KEYS),
                                   .out = dense(y, HEADS, QUERIES),
                                   .k_rope = rope,
                                   .k_table = &table};
}

static posenc_status attend_rotating(void) {
    posenc_attention_args task = rotating();
    return posenc_attention_run(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]),
                                posenc_range_all());
}

/* One query of each head, and of some keys: dot_few. */
static posenc_status attend_few(void) {
    posenc_attention_args task = {.params = &params,
                                  .q = dense(x, HEADS, 1),
                                  .k = posenc_view_dense(x, POSENC_F16, DIM, KV_HEADS, 256, 1),
                                  .v = posenc_view_dense(x, POSENC_F16, DIM, KV_HEADS, 256, 1),
                                  .out = dense(y, HEADS, 1)};
    return posenc_attention_run(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]),
                                posenc_range_all());
}

static posenc_status attend_integers(void) {
    posenc_attention_args task = {.params = &params,
                                  .q = dense(x, HEADS, QUERIES),
                                  .k = posenc_view_dense(x, POSENC_Q8_0, DIM, KV_HEADS, N_KEYS, 1),
                                  .v = posenc_view_dense(x, POSENC_Q8_0, DIM, KV_HEADS, N_KEYS, 1),
                                  .out = dense(y, HEADS, QUERIES),
                                  .math = POSENC_MATH_INT16};
    return posenc_attention_run(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]),
                                posenc_range_all());
}

static posenc_status attend_bf16x3(void) {
    posenc_attention_args task = rotating();
    task.k_rope = NULL;
    task.k_table = NULL;
    task.math = POSENC_MATH_BF16X3;
    return posenc_attention_run(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]),
                                posenc_range_all());
}

static posenc_status attend_parts(void) {
    posenc_attention_args task = rotating();
    return posenc_attention_split(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]), parts,
                                  posenc_attention_split_bytes(&task), posenc_range_all());
}

static posenc_status join_parts(void) {
    posenc_attention_args task = rotating();
    return posenc_attention_combine_splits(&task, parts, posenc_attention_split_bytes(&task), posenc_range_all());
}

static posenc_status attend_ragged(void) {
    static const int32_t ends[] = {0, 1, QUERIES}, key_ends[] = {0, 10, N_KEYS};
    const posenc_attention_ragged ragged = {ends, key_ends, 2};
    posenc_attention_args task = rotating();
    return posenc_attention_run_ragged(&task, &ragged, scratch, posenc_attention_workspace_bytes(DIM, DIM),
                                       posenc_range_all());
}

static posenc_status merge(void) {
    posenc_attention_state a = {dense(x, HEADS, 100), posenc_view_dense(rows, POSENC_F32, 1, HEADS, 100, 1)},
                           b = {dense(z, HEADS, 100), posenc_view_dense(scores, POSENC_F32, 1, HEADS, 100, 1)},
                           joined = {dense(y, HEADS, 100), posenc_view_dense(results, POSENC_F32, 1, HEADS, 100, 1)};
    return posenc_attention_combine(&a, &b, &joined, posenc_range_all());
}

static posenc_status attend_plainly(void) {
    posenc_view q = dense(x, HEADS, QUERIES), k = dense(x, KV_HEADS, N_KEYS), out = dense(y, HEADS, QUERIES),
                p = of_scores(z, POSENC_F32);
    return posenc_attention_reference(&params, &q, &k, &k, &out, &p);
}

/* A prompt whose positions are counted on the stack. */
static posenc_step step_of_prompt(void) {
    static uint16_t caches[2][N_KEYS * KV_HEADS * DIM];
    posenc_step step = {.rope = rope, .params = &params, .head_dim = DIM, .n_heads = HEADS, .n_kv_heads = KV_HEADS};
    step.q = x, step.k = x, step.v = x, step.out = y;
    step.k_cache = caches[0], step.v_cache = caches[1], step.cache_bytes = sizeof caches[0];
    step.cache_type = POSENC_F16, step.n_ctx = N_KEYS, step.n_tokens = QUERIES;
    return step;
}

static posenc_status append(void) {
    posenc_step step = step_of_prompt();
    step.q = z;
    return posenc_step_append(&step, 0, 1);
}

static posenc_status attend_step(void) {
    posenc_step step = step_of_prompt();
    return posenc_step_attend(&step, scratch, posenc_attention_workspace_bytes(DIM, DIM), 0, 1);
}

/* ---- Sparse attention ---- */

static posenc_status index_scores(void) {
    posenc_index_args args = {.q = posenc_view_dense(x, POSENC_F16, DIM, HEADS, QUERIES, 1),
                              .k = posenc_view_dense(x, POSENC_BF16, DIM, 1, N_KEYS, 1),
                              .weights = posenc_view_dense(rows, POSENC_F32, 1, HEADS, QUERIES, 1),
                              .scores = posenc_view_dense(y, POSENC_F32, N_KEYS, QUERIES, 1, 1)};
    return posenc_index_scores(&args, scratch, posenc_index_workspace_bytes(args.q.ne[0]), posenc_range_all());
}

static posenc_status top_k(void) {
    static int32_t keys[N_KEYS];
    posenc_view row = posenc_view_dense(scores, POSENC_F32, N_KEYS, 1, 1, 1);
    return posenc_top_k(&row, NULL, N_KEYS / 3, keys, scratch, posenc_top_k_workspace_bytes(row.ne[0], N_KEYS / 3),
                        posenc_range_all());
}

const stack_call score_calls[] = {
    {"posenc_softmax", "f16", softmax_of_halves},
    {"posenc_softmax", "everything, bf16", softmax_of_everything},
    {"posenc_logits", "everything", make_logits},
    {"posenc_block_mask_build", "everything", build_block_mask},
    {"posenc_softmax_partial", "everything", softmax_partial},
    {"posenc_softmax_combine", "", softmax_join},
    {"posenc_softmax_backward", "everything", softmax_backward},
    {"posenc_sink_backward", "", sum_sinks},
    {"posenc_zero_padded", "f16", zero_padded},
    {"posenc_masked_mean", "", masked_mean},
    {"posenc_tree_positions", "", tree_positions},
    {"posenc_relative_products", "f16 and a shift", multiply_rows},
    {"posenc_relative_products", "a lone query", multiply_rows_of_one},
    {"posenc_relative_values", "bf16", relative_values},
    {"posenc_relative_shift", "f16", shift},
    {"posenc_relative_skew", "f16", skew},
    {"posenc_relative_sums_by_query", "", sums_by_query},
    {"posenc_relative_sums_by_key", "", sums_by_key},
    {"posenc_relative_combine", "f16", combine},
    {"posenc_relative_collect", "f16 and a shift", collect},
    {"posenc_fire_write", "", fire_write},
    {"posenc_fire_add", "", fire_add},
    {"posenc_cope_logits", "gates of their own", cope},
    {"posenc_attention", "everything, bf16", attend},
    {"posenc_attention_run", "keys rotated", attend_rotating},
    {"posenc_attention_run", "a lone query, f16", attend_few},
    {"posenc_attention_run", "Q8_0 in integers", attend_integers},
    {"posenc_attention_run", "three products of bf16", attend_bf16x3},
    {"posenc_attention_run_ragged", "keys rotated", attend_ragged},
    {"posenc_attention_split", "keys rotated", attend_parts},
    {"posenc_attention_combine_splits", "", join_parts},
    {"posenc_attention_combine", "", merge},
    {"posenc_attention_reference", "", attend_plainly},
    {"posenc_index_scores", "f16 and bf16", index_scores},
    {"posenc_top_k", "", top_k},
    {"posenc_step_append", "", append},
    {"posenc_step_attend", "", attend_step},
};
const size_t n_score_calls = sizeof score_calls / sizeof score_calls[0];

/* ---- Set-up ---- */

/* Parameters with every term. */
static void set_up_params(void) {
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, TABLE_ROWS / 2, 0);
    rel_index.data = index_data;
    truth_ok(posenc_rel_bias_range(posenc_mask_none(), 0, N_KEYS, N_KEYS, &rel_index.first, &rel_index.n_offsets));
    assert_true(rel_index.n_offsets <= 2 * KEYS);
    truth_ok(posenc_rel_index_fill(&rule, &rel_index));
    by_query = posenc_view_dense(products, POSENC_F32, TABLE_ROWS, QUERIES, HEADS, 1);
    by_key = posenc_view_dense(products, POSENC_F32, TABLE_ROWS, N_KEYS, HEADS, 1);
    bias = of_scores(rows, POSENC_F16);
    rich = params;
    rich.cap = 50.0f;
    rich.bias.alibi_slopes = rich.sinks = slopes;
    rich.n_heads = HEADS;
    rich.bias.by_query = (posenc_relative){&by_query, &rel_index};
    rich.bias.by_key = (posenc_relative){&by_key, &rel_index};
    rich.bias.tensor = &bias;
    rich.mask = posenc_mask_window(200);
    rich.mask.n_first = 4;
    rich.positions.query_start = N_KEYS - QUERIES;
}

void set_up_scores(void) {
    truth_fill(scores, N_KEYS * QUERIES * HEADS);
    truth_ok(posenc_alibi_slopes(HEADS, 8.0, slopes));
    params.mask = posenc_mask_none();
    params.scale = 1.0f;
    for (int j = 0; j < KEYS; j++)
        bytes[j] = j % 3 != 0;
    posenc_rope_params rotation = POSENC_ROPE_DEFAULTS;
    rotation.layout = POSENC_ROPE_HALF;
    rotation.head_dim = rotation.n_rot = DIM;
    truth_ok(posenc_rope_create(&rotation, &rope));
    /* Pairs side by side, which have to be taken apart row by row. */
    table = (posenc_rope_table){.cos = rows, .sin = rows + 1, .row_stride = DIM, .step = 2};
    posenc_view relative = dense(x, 1, TABLE_ROWS);
    truth_ok(posenc_relative_table_create(&relative, &packed));
    posenc_fire_params of_fire = POSENC_FIRE_DEFAULTS;
    of_fire.n_heads = HEADS;
    of_fire.n_hidden = HIDDEN;
    of_fire.w1 = of_fire.b1 = of_fire.w2 = of_fire.b2 = x;
    of_fire.max_distance = KEYS;
    truth_ok(posenc_fire_create(&of_fire, &fire));
    set_up_params();
    posenc_attention_args task = rotating();
    scratch = malloc(posenc_attention_workspace_bytes(DIM, DIM));
    parts = malloc(posenc_attention_split_bytes(&task));
    assert_true(scratch != NULL && parts != NULL);
    truth_ok(posenc_attention_split(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]), parts,
                                    posenc_attention_split_bytes(&task), posenc_range_all()));
}

void tear_down_scores(void) {
    free(scratch);
    free(parts);
    posenc_fire_free(fire);
    posenc_relative_table_free(packed);
    posenc_rope_free(rope);
}
