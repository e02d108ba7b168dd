/* SPDX-License-Identifier: MIT */
/* Every call on views in which extents are 0 and there is no memory: refused for its shape or taken, never for the
 * pointer, and no address is made of NULL, which the undefined-behaviour sanitizer tells. */
#include "truth_errors.h"

#include <stdlib.h>
#include <string.h>

#include "core/for_python.h"

/* Extents of a call, by what they count; each call leaves out what it does not have. */
typedef enum extent { CHANNELS, HEADS_OF_Q, QUERIES, SEQUENCES, KEYS, HEADS_OF_K, TABLE_ROWS, EXTENTS } extent;

static int64_t extents[EXTENTS];
static const int64_t usual[EXTENTS] = {DIM, 4, 3, 2, 3, 2, 5};

/* Memory of zeros for each view of a call. */
enum { VIEW_FLOATS = 4 * 4 * 4 * 4 * DIM, VIEWS = 12 };
static float memory[VIEWS][VIEW_FLOATS];
static int n_views;

static posenc_view view_of(posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    void *data = ne0 * ne1 * ne2 * ne3 == 0 ? NULL : memory[n_views++];
    return posenc_view_dense(data, type, ne0, ne1, ne2, ne3);
}

static posenc_view floats(int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    return view_of(POSENC_F32, ne0, ne1, ne2, ne3);
}

#define E(which) extents[which]

static posenc_view heads_of_q(posenc_dtype type) {
    return view_of(type, E(CHANNELS), E(HEADS_OF_Q), E(QUERIES), E(SEQUENCES));
}

static posenc_view heads_of_k(posenc_dtype type) {
    return view_of(type, E(CHANNELS), E(HEADS_OF_K), E(KEYS), E(SEQUENCES));
}

static posenc_view scores_of(posenc_dtype type) {
    return view_of(type, E(KEYS), E(QUERIES), E(HEADS_OF_Q), E(SEQUENCES));
}

static posenc_view tokens_of(posenc_dtype type) {
    return view_of(type, E(CHANNELS), E(QUERIES), E(SEQUENCES), 1);
}

static posenc_score_params causal(void) {
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return params;
}

static void *scratch_of(size_t bytes) {
    void *scratch = calloc(bytes + 64, 1);
    assert_non_null(scratch);
    return scratch;
}

/* ---- The calls ---- */

static posenc_status do_rope(posenc_dtype type) {
    posenc_view x = heads_of_q(type), y = heads_of_q(type);
    posenc_status status = posenc_rope_apply(rope, &x, positions, &y, POSENC_FORWARD, posenc_range_all());
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    check(posenc_rope_apply_at(rope, &x, &at, &y, POSENC_SHIFT, posenc_range_all()), status, "posenc_rope_apply_at");
    check(posenc_rope_apply(rope, &y, positions, &y, POSENC_INVERSE, posenc_range_all()), status, "in place");
    return status;
}

static posenc_status do_rope_table(posenc_dtype type) {
    posenc_view x = heads_of_q(type), y = heads_of_q(type);
    posenc_rope_table table = {memory[n_views], memory[n_views + 1], PAIRS, 1, 0};
    return posenc_rope_apply_table(rope, &x, &table, &y, POSENC_FORWARD, posenc_range_all());
}

/* A cache of other rows than there are tokens. */
static posenc_status do_rope_tensors(posenc_dtype type) {
    static const int32_t rows[] = {2, 0, 1};
    static const float weight[DIM];
    posenc_view x = view_of(type, E(CHANNELS), E(HEADS_OF_Q), E(QUERIES), 1);
    posenc_rope_tensor tensors[] = {
        {.x = x, .y = view_of(type, E(CHANNELS), E(HEADS_OF_Q), E(QUERIES), 1), .rotates = 1, .scale = 1.0f},
        {.x = x, .y = view_of(type, E(CHANNELS), E(HEADS_OF_Q), E(TABLE_ROWS), 1), .scale = 1.0f, .rows32 = rows},
        {.x = x, .y = view_of(type, E(CHANNELS), E(HEADS_OF_Q), E(QUERIES), 1), .scale = 2.0f, .weight = weight},
        {.x = x, .y = view_of(type, E(CHANNELS), E(HEADS_OF_Q), E(QUERIES), 1), .scale = 1.0f, .hadamard = 4}};
    return posenc_rope_apply_tensors(rope, tensors, 4, positions, NULL, POSENC_FORWARD, posenc_range_all());
}

/* Blocks, of whose channels there are 32. */
static posenc_status do_rope_blocks(posenc_dtype type) {
    posenc_rope_params params = good_params();
    params.head_dim = params.n_rot = POSENC_QUANT_BLOCK;
    posenc_rope *wide;
    truth_ok(posenc_rope_create(&params, &wide));
    int64_t n = E(CHANNELS) > 0 ? POSENC_QUANT_BLOCK : 0;
    posenc_view x = view_of(type, n, E(HEADS_OF_K), E(QUERIES), 1);
    posenc_view y = view_of(POSENC_Q8_0, n, E(HEADS_OF_K), E(QUERIES), 1);
    posenc_status status = posenc_rope_apply(wide, &x, positions, &y, POSENC_FORWARD, posenc_range_all());
    check(posenc_rope_apply(wide, &y, positions, &y, POSENC_SHIFT, posenc_range_all()), status, "in place");
    check(posenc_rope_apply(wide, &y, positions, &x, POSENC_SHIFT, posenc_range_all()), status, "from blocks");
    posenc_rope_free(wide);
    return status;
}

static posenc_status do_dequantise(posenc_dtype type) {
    int64_t n = E(CHANNELS) > 0 ? POSENC_QUANT_BLOCK : 0;
    posenc_view x = view_of(POSENC_Q8_0, n, E(HEADS_OF_K), E(KEYS), E(SEQUENCES));
    posenc_view y = view_of(type, n, E(HEADS_OF_K), E(KEYS), E(SEQUENCES));
    return posenc_dequantise(&x, &y, posenc_range_all());
}

static posenc_status do_hadamard(posenc_dtype type) {
    posenc_view x = heads_of_q(type), y = heads_of_q(type);
    return posenc_hadamard(&x, &y, 4, posenc_range_all());
}

static posenc_status do_softmax(posenc_dtype type) {
    posenc_score_params params = causal();
    posenc_view x = scores_of(type), y = scores_of(type), bias = view_of(type, E(KEYS), E(QUERIES), 1, 1);
    posenc_softmax_sum sums[4 * 4 * 4];
    static const int32_t begins[] = {0, 0, 0, 0};
    params.sequences.k_begin = begins;
    params.n_batch = E(SEQUENCES);
    params.bias.tensor = &bias;
    posenc_status status = posenc_softmax(&params, &x, &y, posenc_range_all());
    check(posenc_logits(&params, &x, &y, posenc_range_all()), status, "posenc_logits");
    check(posenc_logits(&params, NULL, &y, posenc_range_all()), status, "posenc_logits without scores");
    check(posenc_softmax_partial(&params, &x, &y, sums, posenc_range_all()), status, "posenc_softmax_partial");
    return status;
}

static posenc_status do_softmax_backward(posenc_dtype type) {
    posenc_score_params params = causal();
    (void)type;
    posenc_view p = scores_of(POSENC_F32), dp = scores_of(POSENC_F32), dx = scores_of(POSENC_F32),
                db = scores_of(POSENC_F32);
    float sinks[4 * 4 * 4] = {0};
    return posenc_softmax_backward(&params, &p, &dp, NULL, &dx, &db, sinks, posenc_range_all());
}

static posenc_status do_rel_bias_backward(posenc_dtype type) {
    posenc_score_params params = causal();
    (void)type;
    posenc_view ds = scores_of(POSENC_F32);
    float sums[16];
    posenc_rel_bias bias = {sums, -3, 7, E(HEADS_OF_Q), 0, 0};
    return posenc_rel_bias_backward(&params, &ds, &bias);
}

static posenc_status do_zero_padded(posenc_dtype type) {
    static const uint8_t keep[16];
    posenc_view y = heads_of_q(type);
    return posenc_zero_padded(keep, &y);
}

static posenc_status attend(posenc_attention_math math, posenc_dtype type, const posenc_attention_pages *pages,
                            const posenc_attention_lists *lists) {
    posenc_score_params params = causal();
    posenc_view lse = floats(1, E(HEADS_OF_Q), E(QUERIES), E(SEQUENCES));
    posenc_attention_args args = {
        .params = &params,
        .q = heads_of_q(type),
        .k = heads_of_k(type),
        .v = heads_of_k(type),
        .out = heads_of_q(type),
        .lse = &lse,
        .math = math,
        .pages = pages,
        .lists = lists,
    };
    void *scratch = scratch_of(posenc_attention_workspace_bytes(DIM, DIM));
    void *parts = scratch_of(posenc_attention_split_bytes(&args));
    posenc_status status = posenc_attention_run(
        &args, scratch, posenc_attention_workspace_bytes(args.q.ne[0], args.v.ne[0]), posenc_range_all());
    check(posenc_attention_split(&args, scratch, posenc_attention_workspace_bytes(args.q.ne[0], args.v.ne[0]), parts,
                                 posenc_attention_split_bytes(&args), posenc_range_all()),
          status, "posenc_attention_split");
    check(posenc_attention_combine_splits(&args, parts, posenc_attention_split_bytes(&args), posenc_range_all()),
          status, "posenc_attention_combine_splits");
    free(scratch);
    free(parts);
    return status;
}

static posenc_status do_attention(posenc_dtype type) {
    posenc_status status = attend(POSENC_MATH_F32, type, NULL, NULL);
    n_views = 0;
    check(attend(POSENC_MATH_BF16X3, type, NULL, NULL), status, "BF16X3");
    return status;
}

static posenc_status do_pages(posenc_dtype type) {
    static const int32_t table[8];
    const posenc_attention_pages pages = {table, 1, E(KEYS)};
    return attend(POSENC_MATH_F32, type, &pages, NULL);
}

static posenc_status do_lists(posenc_dtype type) {
    static const int32_t keys[16];
    const posenc_attention_lists lists = {keys, E(KEYS) < 2 ? E(KEYS) : 2, 2, 0, 0, 0};
    return attend(POSENC_MATH_F32, type, NULL, &lists);
}

static posenc_status do_ragged(posenc_dtype type) {
    int32_t n = (int32_t)E(QUERIES), ends[] = {0, n, n, n, n};
    const posenc_attention_ragged ragged = {ends, NULL, E(SEQUENCES)};
    posenc_score_params params = causal();
    posenc_attention_args args = {
        .params = &params,
        .q = view_of(type, E(CHANNELS), E(HEADS_OF_Q), n, 1),
        .k = heads_of_k(type),
        .v = heads_of_k(type),
        .out = view_of(type, E(CHANNELS), E(HEADS_OF_Q), n, 1),
    };
    size_t bytes = posenc_attention_workspace_bytes(DIM, DIM);
    void *scratch = scratch_of(bytes);
    posenc_status status = posenc_attention_run_ragged(&args, &ragged, scratch, bytes, posenc_range_all());
    free(scratch);
    return status;
}

static posenc_status do_reference(posenc_dtype type) {
    posenc_score_params params = causal();
    posenc_view q = heads_of_q(type), k = heads_of_k(type), v = heads_of_k(type), out_view = heads_of_q(type),
                p = scores_of(POSENC_F32);
    return posenc_attention_reference(&params, &q, &k, &v, &out_view, &p);
}

static posenc_status do_combine(posenc_dtype type) {
    posenc_attention_state states[3];
    for (int i = 0; i < 3; i++)
        states[i] = (posenc_attention_state){heads_of_q(type), floats(1, E(HEADS_OF_Q), E(QUERIES), E(SEQUENCES))};
    return posenc_attention_combine(&states[0], &states[1], &states[2], posenc_range_all());
}

static posenc_status do_index(posenc_dtype type) {
    posenc_index_args args = {
        .q = heads_of_q(type),
        .k = view_of(type, E(CHANNELS), 1, E(KEYS), E(SEQUENCES)),
        .weights = floats(1, E(HEADS_OF_Q), E(QUERIES), E(SEQUENCES)),
        .scores = floats(E(KEYS), E(QUERIES), 1, E(SEQUENCES)),
    };
    void *scratch = scratch_of(posenc_index_workspace_bytes(DIM));
    posenc_status status =
        posenc_index_scores(&args, scratch, posenc_index_workspace_bytes(args.q.ne[0]), posenc_range_all());
    free(scratch);
    return status;
}

static posenc_status do_top_k(posenc_dtype type) {
    enum { K = 2 };
    (void)type;
    posenc_view scores = scores_of(POSENC_F32);
    int32_t keys[K * 4 * 4 * 4];
    void *scratch = scratch_of(posenc_top_k_workspace_bytes(E(KEYS), K));
    posenc_status status = posenc_top_k(&scores, NULL, K, keys, scratch, posenc_top_k_workspace_bytes(scores.ne[0], K),
                                        posenc_range_all());
    for (int64_t i = 0; E(KEYS) == 0 && i < K * scores.ne[1] * scores.ne[2] * scores.ne[3]; i++)
        assert_int_equal(keys[i], POSENC_LIST_END);
    free(scratch);
    return status;
}

static const int32_t rel_rows[16];
static const posenc_rel_index rel_index = {(int32_t *)(uintptr_t)rel_rows, -4, 9, 5};

static posenc_status do_relative(posenc_dtype type) {
    posenc_view rows = view_of(type, DIM, 1, 5, 1), q = heads_of_q(type),
                y = floats(5, E(QUERIES), E(HEADS_OF_Q), E(SEQUENCES));
    posenc_relative_table *table;
    truth_ok(posenc_relative_table_create(&rows, &table));
    posenc_status status = posenc_relative_products(table, &q, NULL, &y, posenc_range_all());
    posenc_relative_table_free(table);
    return status;
}

static posenc_status do_relative_table(posenc_dtype type) {
    posenc_view rows = view_of(type, E(CHANNELS), E(HEADS_OF_Q), E(TABLE_ROWS), 1);
    posenc_relative_table *table;
    posenc_status status = posenc_relative_table_create(&rows, &table);
    posenc_relative_table_free(table);
    return status;
}

static posenc_status do_relative_values(posenc_dtype type) {
    (void)type;
    posenc_view p = scores_of(POSENC_F32), rows = floats(E(CHANNELS), 1, 5, 1), z = heads_of_q(POSENC_F32);
    return posenc_relative_values(&rel_index, posenc_mask_none(), 0, &p, &rows, &z, posenc_range_all());
}

static posenc_status do_relative_sums(posenc_dtype type) {
    (void)type;
    posenc_view x = scores_of(POSENC_F32), w = floats(5, E(QUERIES), E(HEADS_OF_Q), E(SEQUENCES));
    return posenc_relative_sums_by_query(&rel_index, posenc_mask_none(), 0, &x, &w, posenc_range_all());
}

static posenc_status do_relative_sums_by_key(posenc_dtype type) {
    (void)type;
    posenc_view x = scores_of(POSENC_F32), w = floats(5, E(KEYS), E(HEADS_OF_Q), E(SEQUENCES));
    return posenc_relative_sums_by_key(&rel_index, posenc_mask_none(), 0, &x, &w, posenc_range_all());
}

static posenc_status do_relative_combine(posenc_dtype type) {
    (void)type;
    posenc_view w = floats(E(TABLE_ROWS), E(QUERIES), E(HEADS_OF_Q), E(SEQUENCES)),
                table = floats(E(CHANNELS), 1, E(TABLE_ROWS), 1), y = heads_of_q(POSENC_F32);
    return posenc_relative_combine(&w, &table, 1.0f, &y, posenc_range_all());
}

static posenc_status do_relative_collect(posenc_dtype type) {
    (void)type;
    posenc_view w = floats(E(TABLE_ROWS), E(QUERIES), E(HEADS_OF_Q), E(SEQUENCES)), x = heads_of_q(POSENC_F32),
                y = floats(E(CHANNELS), 1, E(TABLE_ROWS), 1);
    return posenc_relative_collect(&w, &x, NULL, 1.0f, &y, posenc_range_all());
}

static posenc_status do_relative_shift(posenc_dtype type) {
    (void)type;
    int64_t n = E(QUERIES);
    posenc_view x = floats(2 * n > 0 ? 2 * n - 1 : 0, n, E(HEADS_OF_Q), E(SEQUENCES)),
                y = floats(n, n, E(HEADS_OF_Q), E(SEQUENCES));
    return posenc_relative_skew(&x, &y);
}

static posenc_status do_relative_shift_as_published(posenc_dtype type) {
    (void)type;
    posenc_view x = scores_of(POSENC_F32), y = scores_of(POSENC_F32);
    return posenc_relative_shift(&x, &y);
}

static posenc_status do_fire(posenc_dtype type) {
    static const float weights[4 * 2];
    posenc_fire_params params = POSENC_FIRE_DEFAULTS;
    params.n_heads = 4;
    params.n_hidden = 2;
    params.w1 = params.b1 = params.w2 = params.b2 = weights;
    params.max_distance = 8;
    posenc_fire *fire;
    (void)type;
    truth_ok(posenc_fire_create(&params, &fire));
    posenc_view y = scores_of(POSENC_F32);
    posenc_status status = posenc_fire_write(fire, 0, &y, posenc_range_all());
    check(posenc_fire_add(fire, 0, &y, posenc_range_all()), status, "posenc_fire_add");
    posenc_fire_free(fire);
    return status;
}

static posenc_status do_cope(posenc_dtype type) {
    posenc_cope_params params = POSENC_COPE_DEFAULTS;
    (void)type;
    posenc_view x = scores_of(POSENC_F32), y = scores_of(POSENC_F32),
                z = floats(E(TABLE_ROWS), E(QUERIES), E(HEADS_OF_Q), E(SEQUENCES));
    return posenc_cope_logits(&params, &x, NULL, &z, &y, posenc_range_all());
}

static posenc_status do_alibi_row(posenc_dtype type) {
    static const float alibi[4];
    (void)type;
    posenc_view bias = floats(E(KEYS), 1, E(HEADS_OF_Q), E(SEQUENCES));
    return posenc_alibi_row(alibi, POSENC_ALIBI_ROW_FROM_LAST, NULL, &bias);
}

static posenc_status do_decomposed_rows(posenc_dtype type) {
    (void)type;
    int64_t n = E(QUERIES);
    posenc_view table = floats(E(CHANNELS), n > 0 ? 2 * n - 1 : 0, 1, 1), rows = floats(E(CHANNELS), n, n, 1);
    return posenc_decomposed_rows(&table, &rows);
}

static posenc_status do_encoding(posenc_dtype type) {
    posenc_view x = tokens_of(type), y = tokens_of(type);
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    posenc_status status = posenc_encoding_apply(pe, &at, &x, NULL, &y, posenc_range_all());
    check(posenc_encoding_write(pe, positions, &y), status, "posenc_encoding_write");
    check(posenc_encoding_add(pe, positions, &y), status, "posenc_encoding_add");
    return status;
}

static posenc_status do_gate_backward(posenc_dtype type) {
    (void)type;
    posenc_view e = tokens_of(POSENC_F32), gate = floats(1, E(QUERIES), E(SEQUENCES), 1), dy = tokens_of(POSENC_F32),
                dgate = floats(1, E(QUERIES), E(SEQUENCES), 1), de = tokens_of(POSENC_F32);
    return posenc_gate_backward(&e, &gate, &dy, &dgate, &de, posenc_range_all());
}

static posenc_status do_learned(posenc_dtype type) {
    posenc_view rows = view_of(type, DIM, E(TABLE_ROWS), 1, 1), x = tokens_of(type), y = tokens_of(type);
    posenc_encoding *e;
    posenc_status status = posenc_learned_create(&rows, NULL, &e);
    if (status != POSENC_OK)
        return status;
    static const int64_t ids[16];
    posenc_coords at = posenc_coords_of(ids, POSENC_COORD_I64);
    status = posenc_encoding_apply(e, &at, &x, NULL, &y, posenc_range_all());
    posenc_encoding_free(e);
    return status;
}

static posenc_status do_learned_backward(posenc_dtype type) {
    static const int64_t ids[16];
    posenc_coords at = posenc_coords_of(ids, POSENC_COORD_I64);
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
    posenc_view dy = tokens_of(type), dtable = floats(E(CHANNELS), E(TABLE_ROWS), 1, 1);
    return posenc_learned_backward(&lookup, &at, &dy, &dtable, posenc_range_all());
}

static posenc_status do_resize(posenc_dtype type) {
    posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
    params.w_in = E(KEYS);
    params.w_out = E(QUERIES);
    posenc_view x = view_of(type, E(CHANNELS), E(KEYS), 1, 1), y = view_of(type, E(CHANNELS), E(QUERIES), 1, 1),
                dx = floats(E(CHANNELS), E(KEYS), 1, 1);
    posenc_status status = posenc_table_resize(&params, &x, &y, posenc_range_all());
    check(posenc_table_resize_backward(&params, &y, &dx), status, "posenc_table_resize_backward");
    return status;
}

static posenc_status do_fill(posenc_dtype type) {
    posenc_view y = heads_of_q(type);
    posenc_status status = posenc_fill_normal(1, 0.0, 1.0, &y, posenc_range_all());
    check(posenc_fill_uniform(1, 0.0, 1.0, &y, posenc_range_all()), status, "posenc_fill_uniform");
    return status;
}

static posenc_status do_conv(posenc_dtype type) {
    static const float weights[DIM * 3];
    float dw[DIM * 3] = {0}, db[DIM] = {0};
    posenc_conv_params params = POSENC_CONV_DEFAULTS;
    params.n_channels = E(CHANNELS);
    posenc_conv *conv;
    truth_ok(posenc_conv_create(&params, weights, NULL, &conv));
    posenc_conv_grid grid = {0, 1, E(QUERIES)};
    posenc_view x = tokens_of(type), y = tokens_of(type), dy = tokens_of(POSENC_F32), of_x = tokens_of(POSENC_F32);
    posenc_status status = posenc_conv_apply(conv, grid, &x, &y, posenc_range_all());
    check(posenc_conv_backward_input(conv, grid, &dy, &of_x, posenc_range_all()), status, "posenc_conv_backward_input");
    check(posenc_conv_backward_weights(conv, grid, &of_x, &dy, dw, db, posenc_range_all()), status,
          "posenc_conv_backward_weights");
    posenc_conv_free(conv);
    return status;
}

static posenc_status do_grouped_conv(posenc_dtype type) {
    static const float weights[DIM * DIM * 3];
    float dw[DIM * DIM * 3] = {0}, db[DIM] = {0};
    posenc_grouped_conv_params params = {E(CHANNELS), 2, 3, 1};
    posenc_grouped_conv *conv;
    truth_ok(posenc_grouped_conv_create(&params, weights, NULL, &conv));
    posenc_view x = tokens_of(type), y = tokens_of(type), dy = tokens_of(POSENC_F32), of_x = tokens_of(POSENC_F32);
    posenc_status status = posenc_grouped_conv_apply(conv, &x, &y, posenc_range_all());
    check(posenc_grouped_conv_backward_input(conv, &dy, &of_x, posenc_range_all()), status,
          "posenc_grouped_conv_backward_input");
    check(posenc_grouped_conv_backward_weights(conv, &of_x, &dy, dw, db, posenc_range_all()), status,
          "posenc_grouped_conv_backward_weights");
    posenc_grouped_conv_free(conv);
    return status;
}

static posenc_status do_similarity(posenc_dtype type) {
    (void)type;
    posenc_view e = floats(E(CHANNELS), E(QUERIES), 1, 1), to = floats(E(QUERIES), E(QUERIES), 1, 1);
    return posenc_cosine_similarity(&e, 0.0, &to, posenc_range_all());
}

static posenc_status do_profile(posenc_dtype type) {
    (void)type;
    posenc_view e = floats(E(CHANNELS), E(QUERIES), 1, 1);
    float profile[2];
    posenc_progression steps;
    posenc_status status = posenc_check_progression(&e, 0, 1, 0.0, 0.0, &steps);
    check(posenc_similarity_profile(&e, 0, 0.0, 2, profile), status, "posenc_similarity_profile");
    return status;
}

static const struct {
    const char *name;
    posenc_status (*call)(posenc_dtype type);
} calls[] = {
    {"posenc_rope_apply", do_rope},
    {"posenc_rope_apply_table", do_rope_table},
    {"posenc_rope_apply_tensors", do_rope_tensors},
    {"posenc_rope_apply to Q8_0", do_rope_blocks},
    {"posenc_dequantise", do_dequantise},
    {"posenc_hadamard", do_hadamard},
    {"posenc_softmax", do_softmax},
    {"posenc_softmax_backward", do_softmax_backward},
    {"posenc_rel_bias_backward", do_rel_bias_backward},
    {"posenc_zero_padded", do_zero_padded},
    {"posenc_attention_run", do_attention},
    {"posenc_attention_run in pages", do_pages},
    {"posenc_attention_run by lists", do_lists},
    {"posenc_attention_run_ragged", do_ragged},
    {"posenc_attention_reference", do_reference},
    {"posenc_attention_combine", do_combine},
    {"posenc_index_scores", do_index},
    {"posenc_top_k", do_top_k},
    {"posenc_relative_products", do_relative},
    {"posenc_relative_table_create", do_relative_table},
    {"posenc_relative_values", do_relative_values},
    {"posenc_relative_sums_by_query", do_relative_sums},
    {"posenc_relative_sums_by_key", do_relative_sums_by_key},
    {"posenc_relative_combine", do_relative_combine},
    {"posenc_relative_collect", do_relative_collect},
    {"posenc_relative_skew", do_relative_shift},
    {"posenc_relative_shift", do_relative_shift_as_published},
    {"posenc_fire_write", do_fire},
    {"posenc_cope_logits", do_cope},
    {"posenc_alibi_row", do_alibi_row},
    {"posenc_decomposed_rows", do_decomposed_rows},
    {"posenc_encoding_apply", do_encoding},
    {"posenc_gate_backward", do_gate_backward},
    {"posenc_learned_create", do_learned},
    {"posenc_learned_backward", do_learned_backward},
    {"posenc_table_resize", do_resize},
    {"posenc_fill_normal", do_fill},
    {"posenc_conv_apply", do_conv},
    {"posenc_grouped_conv_apply", do_grouped_conv},
    {"posenc_cosine_similarity", do_similarity},
    {"posenc_similarity_profile", do_profile},
};

/* Every subset of the extents is 0. With none, all is right: the call is not refused for something else. */
void test_nothing(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++)
        for (int zeros = 0; zeros < 1 << EXTENTS; zeros++)
            for (posenc_dtype type = POSENC_F32; type <= POSENC_BF16; type++) {
                for (int i = 0; i < EXTENTS; i++)
                    extents[i] = zeros >> i & 1 ? 0 : usual[i];
                n_views = 0;
                posenc_status status = calls[k].call(type);
                int is_right = zeros == 0 ? status == POSENC_OK : status != POSENC_ERR_NULL;
                if (!is_right)
                    fail_msg("%s, type %d, extents %02x of 0: %s", calls[k].name, type, zeros,
                             posenc_status_string(status));
            }
}
