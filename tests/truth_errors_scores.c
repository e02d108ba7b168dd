/* SPDX-License-Identifier: MIT */
/* Refusals of calls on scores: parameters of softmax, masks, relative biases, relative terms. */
#include "truth_errors.h"

#include <math.h>
#include <stdlib.h>

#include "core/for_python.h"

/* Scores of 8 keys, 3 queries, 4 heads, 2 in the batch: the views of dense(). */
enum { N_K = DIM, N_Q = HEADS, N_HEADS = TOKENS };

static const int64_t limit = (int64_t)1 << 30; /* as softmax.h says of query_start + n_q and n_k */

static posenc_score_params params;
static posenc_view x, y;
static float rel_bias_data[N_HEADS * 64], product_data[5 * N_K * N_HEADS * BATCH], bias_data[N_K];
static int32_t index_data[64];
static posenc_rel_bias rel_bias;
static posenc_rel_index rel_index;
static posenc_view products, bias;
static posenc_bool_mask bytes;
static uint8_t byte_data[N_K];

static void start(void) {
    params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    params.n_heads = N_HEADS;
    params.n_batch = BATCH;
    x = dense(in);
    y = dense(out);
    rel_bias = (posenc_rel_bias){rel_bias_data, -(N_Q - 1), N_K + N_Q - 1, N_HEADS, 64, 0};
    rel_index = (posenc_rel_index){index_data, -(N_Q - 1), N_K + N_Q - 1, 5};
    products = posenc_view_dense(product_data, POSENC_F32, 5, N_Q, N_HEADS, BATCH);
    bias = posenc_view_dense(bias_data, POSENC_F32, N_K, 1, 1, 1);
    bytes = (posenc_bool_mask){byte_data, {1, 0, 0, 0}, POSENC_KEEP};
}

/* Every call on scores answers with this, with what params hold; they are the defaults afterwards. */
static void refused(posenc_status want) {
    static posenc_softmax_sum sums[N_Q * N_HEADS * BATCH];
    posenc_range all = posenc_range_all();
    RETURNS(want, posenc_softmax, &params, &x, &y, all);
    RETURNS(want, posenc_softmax_partial, &params, &x, &y, sums, all);
    RETURNS(want, posenc_logits, &params, &x, &y, all);
    RETURNS(want, posenc_logits, &params, NULL, &y, all);
    start();
}

#define REFUSED(status, setting)                                                                                       \
    do {                                                                                                               \
        params.setting;                                                                                                \
        refused(status);                                                                                               \
    } while (0)

void test_scores(void **state) {
    (void)state;
    static const float bad_floats[] = {INFINITY, -INFINITY, NAN};
    posenc_range all = posenc_range_all();
    static posenc_softmax_sum sums[N_Q * N_HEADS * BATCH];
    start();
    RETURNS(POSENC_ERR_NULL, posenc_softmax, NULL, &x, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_logits, NULL, &x, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_partial, NULL, &x, &y, sums, all);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_partial, &params, &x, &y, NULL, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_softmax_partial, &params, &x, &y, shifted(sums, 2), all);
    for (size_t i = 0; i < sizeof bad_floats / sizeof bad_floats[0]; i++) {
        float bad[N_HEADS] = {0.5f, 0.5f, 0.5f, 0.5f};
        bad[i] = bad_floats[i];
        REFUSED(POSENC_ERR_SCALE, scale = bad_floats[i]);
        REFUSED(POSENC_ERR_SCALE, cap = bad_floats[i]);
        REFUSED(POSENC_ERR_SCALE, bias.alibi_slopes = bad);
        REFUSED(POSENC_ERR_SCALE, bias.tensor_slopes = bad);
        if (bad_floats[i] != -INFINITY)
            REFUSED(POSENC_ERR_SCALE, sinks = bad);
    }
    for (int i = 0; i < 2; i++) { /* arrays that are too short or too long; 0: a count that was forgotten */
        int64_t heads = i == 0 ? N_HEADS - 1 : 0, sequences = i == 0 ? BATCH + 1 : 0;
        static const int32_t lengths[BATCH + 1] = {N_K, N_K, N_K};
        REFUSED(POSENC_ERR_N_HEADS, sinks = slopes; params.n_heads = heads);
        REFUSED(POSENC_ERR_N_HEADS, bias.alibi_slopes = slopes; params.n_heads = heads);
        REFUSED(POSENC_ERR_N_HEADS, bias.tensor_slopes = slopes; params.n_heads = heads);
        REFUSED(POSENC_ERR_SHAPE, sequences.k_begin = lengths; params.n_batch = sequences);
        REFUSED(POSENC_ERR_SHAPE, sequences.k_end = lengths; params.n_batch = sequences);
        REFUSED(POSENC_ERR_SHAPE, sequences.origins = lengths; params.n_batch = sequences);
        params.positions.query_start = POSENC_ALIGN_LAST_KEY;
        REFUSED(POSENC_ERR_SHAPE, positions.query_starts = lengths; params.n_batch = sequences);
    }
    params.scale = 0.0f; /* forgotten; logits of masks and biases alone have none */
    RETURNS(POSENC_ERR_UNSET, posenc_softmax, &params, &x, &y, all);
    RETURNS(POSENC_ERR_UNSET, posenc_softmax_partial, &params, &x, &y, sums, all);
    RETURNS(POSENC_ERR_UNSET, posenc_logits, &params, &x, &y, all);
    params.bias.by_query = (posenc_relative){&products, &rel_index};
    RETURNS(POSENC_ERR_UNSET, posenc_logits, &params, NULL, &y, all);
    params.bias.by_query = (posenc_relative){NULL, NULL};
    RETURNS(POSENC_OK, posenc_logits, &params, NULL, &y, ((posenc_range){0, 0}));
    posenc_score_params zeros = {0};
    RETURNS(POSENC_ERR_UNSET, posenc_softmax, &zeros, &x, &y, all);
    start();
    REFUSED(POSENC_ERR_SCALE, cap = -1.0f);
    REFUSED(POSENC_ERR_SCALE, cap = 1e-40f);
    REFUSED(POSENC_ERR_STRIDE, bias.alibi_slopes = shifted(slopes, 1));
    params.bias.alibi_slopes = slopes;
    REFUSED(POSENC_ERR_STRIDE, bias.alibi_batch_stride = INT64_MAX / 2);
    static const float late[BATCH * N_HEADS] = {[BATCH * N_HEADS - 1] = NAN};
    params.bias.alibi_slopes = late;
    REFUSED(POSENC_ERR_SCALE, bias.alibi_batch_stride = N_HEADS);
    REFUSED(POSENC_ERR_STRIDE, bias.tensor_slopes = shifted(slopes, 2));
    REFUSED(POSENC_ERR_STRIDE, sinks = shifted(slopes, 3));
    REFUSED(POSENC_ERR_ENUM, fully_masked = (posenc_fully_masked_row)3);
    REFUSED(POSENC_ERR_ENUM, fully_masked = (posenc_fully_masked_row)-1);
    REFUSED(POSENC_ERR_ENUM, masked_output = (posenc_masked_output)2);
    REFUSED(POSENC_ERR_ENUM, masked_output = (posenc_masked_output)-1);
}

void test_score_positions(void **state) {
    (void)state;
    const int64_t bad_offsets[] = {-limit - 1, limit - N_Q + 1, INT32_MAX, INT32_MIN, INT64_MIN + 1, INT64_MAX};
    static int32_t queries[N_Q] = {5, 6, 7}, keys[N_K] = {0, 1, 2, 3, 4, 5, 6, 7};
    posenc_range all = posenc_range_all(), nothing = {0, 0};
    start();
    posenc_view huge = posenc_view_dense(out, POSENC_F32, limit + 1, 1, 1, 1);
    posenc_view tall = posenc_view_dense(out, POSENC_F32, 1, limit + 1, 1, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_softmax, &params, &huge, &huge, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_logits, &params, NULL, &tall, all);
    for (size_t i = 0; i < sizeof bad_offsets / sizeof bad_offsets[0]; i++)
        REFUSED(POSENC_ERR_POSITION, positions.query_start = bad_offsets[i]);
    params.positions.query_start = -limit;
    RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    params.positions.query_start = limit - N_Q;
    RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    start();

    static const int32_t late[BATCH] = {0, (1 << 30) - N_Q + 1}, early[BATCH] = {-(1 << 30) - 1, 0};
    static const int32_t ends[BATCH] = {(1 << 30) - N_Q, -(1 << 30)};
    params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    params.positions.query_starts = ends;
    RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    start();
    params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    REFUSED(POSENC_ERR_POSITION, positions.query_starts = late);
    params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    REFUSED(POSENC_ERR_POSITION, positions.query_starts = early);
    REFUSED(POSENC_ERR_POSITION, positions.query_starts = ends); /* beside a start for all */
    params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    REFUSED(POSENC_ERR_STRIDE, positions.query_starts = shifted(late, 1));

    /* Aligned with the last key: a sequence of fewer keys than queries, unless it has none or positions do not matter.
     * */
    static const int32_t too_few[BATCH] = {N_K, N_Q - 1}, as_many[BATCH] = {N_Q, 0};
    params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    params.sequences.k_end = too_few;
    RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    REFUSED(POSENC_ERR_POSITION, mask = posenc_mask_causal());
    params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    params.sequences.k_end = too_few;
    REFUSED(POSENC_ERR_POSITION, bias.alibi_slopes = slopes);
    params.positions.query_start = POSENC_ALIGN_LAST_KEY;
    params.sequences.k_end = as_many;
    params.mask = posenc_mask_causal();
    RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    params.sequences.k_end = too_few;
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    start();

    REFUSED(POSENC_ERR_NULL, positions.queries = queries);
    REFUSED(POSENC_ERR_NULL, positions.keys = keys);
    for (int k = 0; k < 4; k++) {
        static const int32_t bad[] = {1 << 30, -(1 << 30), INT32_MAX, INT32_MIN};
        int32_t bad_queries[N_Q] = {0, bad[k], 0}, bad_keys[N_K] = {0, 0, 0, 0, 0, 0, 0, bad[k]};
        params.positions.keys = keys;
        REFUSED(POSENC_ERR_POSITION, positions.queries = bad_queries);
        params.positions.queries = queries;
        REFUSED(POSENC_ERR_POSITION, positions.keys = bad_keys);
    }
    params.positions.keys = keys;
    REFUSED(POSENC_ERR_STRIDE, positions.queries = shifted(queries, 1));
    params.positions.queries = queries;
    REFUSED(POSENC_ERR_STRIDE, positions.keys = shifted(keys, 2));
    params.positions.queries = queries;
    params.positions.keys = keys;
    REFUSED(POSENC_ERR_MASK, mask.n_first = 1);
    params.positions.queries = queries;
    params.positions.keys = keys;
    REFUSED(POSENC_ERR_POSITION, positions.query_starts = queries);
}

void test_score_masks(void **state) {
    (void)state;
    static const int32_t late[] = {1, 8}, falling[] = {0, 5, 4}, whole[] = {0, 8};
    static const int32_t negative[BATCH] = {0, -1}, long_one[BATCH] = {N_K + 1, 0}, lengths[BATCH] = {3, 4};
    start();
    REFUSED(POSENC_ERR_MASK, mask.before = limit + 1);
    REFUSED(POSENC_ERR_MASK, mask.after = limit + 1);
    REFUSED(POSENC_ERR_MASK, mask.chunk = limit + 1);
    REFUSED(POSENC_ERR_MASK, mask.n_first = limit + 1);
    REFUSED(POSENC_ERR_MASK, mask.chunk = -1);
    REFUSED(POSENC_ERR_MASK, mask = posenc_mask_chunked(0));
    REFUSED(POSENC_ERR_MASK, mask = posenc_mask_chunked(INT64_MIN));
    REFUSED(POSENC_ERR_MASK, mask = posenc_mask_window(0));
    REFUSED(POSENC_ERR_MASK, mask = posenc_mask_window(((int64_t)1 << 30) + 1));
    REFUSED(POSENC_ERR_MASK, mask = posenc_mask_sides(0, ((int64_t)1 << 30) + 1));
    REFUSED(POSENC_ERR_MASK, mask.n_first = -2);
    params.mask.n_first = 4;
    REFUSED(POSENC_ERR_MASK, mask.chunk = 4);

    REFUSED(POSENC_ERR_NULL, sequences.n_seqs = 1);
    REFUSED(POSENC_ERR_SHAPE, sequences.n_seqs = -1);
    params.sequences.n_seqs = 1;
    REFUSED(POSENC_ERR_SHAPE, sequences.cu_seqlens = late);
    params.sequences.n_seqs = 2;
    REFUSED(POSENC_ERR_SHAPE, sequences.cu_seqlens = falling);
    params.sequences.n_seqs = 1;
    REFUSED(POSENC_ERR_STRIDE, sequences.cu_seqlens = shifted(whole, 2));
    static const int32_t early[BATCH] = {0, -(1 << 30) - 1}, far[BATCH] = {0, (1 << 30) + 1};
    REFUSED(POSENC_ERR_POSITION, sequences.origins = early);
    REFUSED(POSENC_ERR_POSITION, sequences.origins = far);
    REFUSED(POSENC_ERR_STRIDE, sequences.origins = shifted(lengths, 2));
    REFUSED(POSENC_ERR_MASK, sequences.k_begin = negative);
    REFUSED(POSENC_ERR_MASK, sequences.k_end = negative);
    REFUSED(POSENC_ERR_MASK, sequences.k_begin = long_one);
    REFUSED(POSENC_ERR_MASK, sequences.k_end = long_one);
    REFUSED(POSENC_ERR_STRIDE, sequences.k_begin = shifted(lengths, 1));
    REFUSED(POSENC_ERR_STRIDE, sequences.k_end = shifted(lengths, 1));

    REFUSED(POSENC_ERR_MASK_UNSET, mask.n_first = -1);
    bytes.polarity = POSENC_POLARITY_UNSET;
    REFUSED(POSENC_ERR_UNSET, bool_mask = &bytes);
    bytes.polarity = (posenc_polarity)3;
    REFUSED(POSENC_ERR_ENUM, bool_mask = &bytes);
    bytes.data = NULL;
    REFUSED(POSENC_ERR_NULL, bool_mask = &bytes);
    bytes.nb[0] = 4;
    REFUSED(POSENC_ERR_STRIDE, bool_mask = &bytes);
    for (int dim = 1; dim < 4; dim++) {
        bytes.nb[dim] = dim == 2 ? INT64_MIN / 2 : INT64_MAX / 2;
        REFUSED(POSENC_ERR_STRIDE, bool_mask = &bytes);
    }

    double mean;
    static const float losses[2];
    RETURNS(POSENC_ERR_NULL, posenc_zero_padded, NULL, &y);
    RETURNS(POSENC_ERR_SHAPE, posenc_masked_mean, losses, byte_data, -1, &mean);
    RETURNS(POSENC_ERR_NULL, posenc_masked_mean, NULL, byte_data, 2, &mean);
    RETURNS(POSENC_ERR_NULL, posenc_masked_mean, losses, NULL, 2, &mean);
    RETURNS(POSENC_ERR_NULL, posenc_masked_mean, losses, byte_data, 2, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_masked_mean, shifted(losses, 1), byte_data, 2, &mean);

    static int32_t parents[] = {-1, 0, 0}, later[] = {-1, 2, 0}, places[3];
    RETURNS(POSENC_ERR_SHAPE, posenc_tree_positions, parents, -1, 0, places);
    RETURNS(POSENC_ERR_SHAPE, posenc_tree_positions, parents, POSENC_MAX_TREE + 1, 0, places);
    RETURNS(POSENC_ERR_POSITION, posenc_tree_positions, parents, 3, -(1 << 30), places);
    RETURNS(POSENC_ERR_POSITION, posenc_tree_positions, parents, 3, (1 << 30) - 2, places);
    RETURNS(POSENC_ERR_NULL, posenc_tree_positions, NULL, 3, 0, places);
    RETURNS(POSENC_ERR_NULL, posenc_tree_positions, parents, 3, 0, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_tree_positions, shifted(parents, 1), 2, 0, places);
    RETURNS(POSENC_ERR_STRIDE, posenc_tree_positions, parents, 2, 0, shifted(places, 2));
    RETURNS(POSENC_ERR_MASK, posenc_tree_positions, later, 3, 0, places);
    RETURNS(POSENC_OK, posenc_tree_positions, NULL, 0, 1 << 30, NULL);
}

void test_score_rel_bias(void **state) {
    (void)state;
    start();
    rel_bias.data = NULL;
    REFUSED(POSENC_ERR_NULL, bias.relative = &rel_bias);
    rel_bias.data = (float *)shifted(rel_bias_data, 2);
    REFUSED(POSENC_ERR_STRIDE, bias.relative = &rel_bias);
    rel_bias.stride = rel_bias.n_offsets - 1;
    REFUSED(POSENC_ERR_STRIDE, bias.relative = &rel_bias);
    rel_bias.n_heads = N_HEADS + 1;
    REFUSED(POSENC_ERR_N_HEADS, bias.relative = &rel_bias);
    rel_bias.stride = rel_bias.n_offsets = 1; /* one offset for each head is no line for all */
    rel_bias.n_heads = N_HEADS + 1;
    REFUSED(POSENC_ERR_N_HEADS, bias.relative = &rel_bias);
    rel_bias.first++;
    REFUSED(POSENC_ERR_OFFSETS, bias.relative = &rel_bias);
    rel_bias.n_offsets--;
    REFUSED(POSENC_ERR_OFFSETS, bias.relative = &rel_bias);
    rel_bias.n_offsets = -1;
    REFUSED(POSENC_ERR_OFFSETS, bias.relative = &rel_bias);
    rel_bias.stride = 0;
    rel_bias.n_offsets = (int64_t)1 << 31;
    REFUSED(POSENC_ERR_OFFSETS, bias.relative = &rel_bias);
    rel_bias.first = INT32_MIN;
    REFUSED(POSENC_ERR_OFFSETS, bias.relative = &rel_bias);
    params.positions.query_start = 1;
    REFUSED(POSENC_ERR_OFFSETS, bias.relative = &rel_bias);
    rel_bias.is_clamped = 1;
    rel_bias.n_offsets = 0;
    REFUSED(POSENC_ERR_OFFSETS, bias.relative = &rel_bias);

    static const int32_t beyond[][BATCH] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}}; /* one of the sequences */
    for (int i = 0; i < 4; i++) {
        params.bias.relative = &rel_bias;
        params.positions.query_start = POSENC_ALIGN_LAST_KEY;
        REFUSED(POSENC_ERR_OFFSETS, positions.query_starts = beyond[i]);
    }

    bias.ne[0] = N_K - 1;
    REFUSED(POSENC_ERR_SHAPE, bias.tensor = &bias);
    bias.ne[0] = 1; /* keys share nothing */
    REFUSED(POSENC_ERR_SHAPE, bias.tensor = &bias);
    bias.ne[2] = N_HEADS - 1;
    REFUSED(POSENC_ERR_SHAPE, bias.tensor = &bias);
    bias.data = NULL;
    REFUSED(POSENC_ERR_NULL, bias.tensor = &bias);
    bias.dtype = POSENC_Q8_0;
    REFUSED(POSENC_ERR_DTYPE, bias.tensor = &bias);
    bias.dtype = (posenc_dtype)99;
    REFUSED(POSENC_ERR_DTYPE, bias.tensor = &bias);
    bias.data = out;
    REFUSED(POSENC_ERR_OVERLAP, bias.tensor = &bias);

    int64_t first, n_offsets;
    posenc_mask bad = {-1, -1, -1, 0}, none = posenc_mask_none();
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_range, none, 0, 1, 1, NULL, &n_offsets);
    RETURNS(POSENC_ERR_NULL, posenc_rel_bias_range, none, 0, 1, 1, &first, NULL);
    RETURNS(POSENC_ERR_MASK, posenc_rel_bias_range, bad, 0, 1, 1, &first, &n_offsets);
    RETURNS(POSENC_ERR_SHAPE, posenc_rel_bias_range, none, 0, -1, 1, &first, &n_offsets);
    RETURNS(POSENC_ERR_SHAPE, posenc_rel_bias_range, none, 0, 1, limit + 1, &first, &n_offsets);
    RETURNS(POSENC_ERR_POSITION, posenc_rel_bias_range, none, limit, 1, 1, &first, &n_offsets);
}

static void use(posenc_relative *term) {
    *term = (posenc_relative){&products, &rel_index};
}

void test_score_relative(void **state) {
    (void)state;
    start();
    for (int by_key = 0; by_key < 2; by_key++) {
        posenc_relative *term = by_key ? &params.bias.by_key : &params.bias.by_query;
        int64_t n = by_key ? N_K : N_Q;
        products.ne[1] = n;
        term->products = &products;
        refused(POSENC_ERR_NULL);
        term->index = &rel_index;
        refused(POSENC_ERR_NULL);
        products.ne[1] = n + 1;
        use(term);
        refused(POSENC_ERR_SHAPE);
        products = posenc_view_dense(product_data, POSENC_F32, 4, n, N_HEADS, BATCH); /* the index has 5 rows */
        use(term);
        refused(POSENC_ERR_SHAPE);
        products = posenc_view_dense(product_data, POSENC_F16, 5, n, N_HEADS, BATCH);
        use(term);
        refused(POSENC_ERR_DTYPE);
        products = posenc_view_dense(product_data, POSENC_F32, 5, n, N_HEADS, BATCH);
        rel_index.n_offsets = (int64_t)1 << 31;
        use(term);
        refused(POSENC_ERR_OFFSETS);
        products = posenc_view_dense(out, POSENC_F32, 5, n, N_HEADS, BATCH);
        use(term);
        refused(POSENC_ERR_OVERLAP);
        products = posenc_view_dense(product_data, POSENC_F32, 5, n, N_HEADS, BATCH);
        rel_index.n_offsets--;
        use(term);
        refused(POSENC_ERR_OFFSETS);
        products = posenc_view_dense(product_data, POSENC_F32, 5, n, N_HEADS, BATCH);
        rel_index.data = NULL;
        use(term);
        refused(POSENC_ERR_NULL);
        static const int32_t no_rows[] = {5, -1, INT32_MAX, INT32_MIN};
        for (int i = 0; i < 4; i++) {
            int32_t *entry = &index_data[i % 2 == 0 ? 0 : N_K + N_Q - 2];
            *entry = no_rows[i];
            products = posenc_view_dense(product_data, POSENC_F32, 5, n, N_HEADS, BATCH);
            use(term);
            refused(POSENC_ERR_ROWS);
            *entry = 0;
        }
    }

    /* More than 2^30 rows: a kernel could not count them in 32 bits. */
    start();
    products = posenc_view_dense(NULL, POSENC_F32, ((int64_t)1 << 30) + 1, N_K, 1, 1);
    rel_index.n_rows = products.ne[0];
    products.data = product_data; /* which nobody reads */
    use(&params.bias.by_key);
    refused(POSENC_ERR_SHAPE);

    /* Keys lie less than 2^28 bytes apart; a single one, and queries, anywhere. */
    static const int64_t far_apart[] = {(int64_t)1 << 28, -((int64_t)1 << 28), (int64_t)1 << 45};
    posenc_range nothing = {0, 0};
    for (int i = 0; i < 3; i++) {
        products = posenc_view_dense(product_data, POSENC_F32, 5, 1, 1, 1);
        products.nb[1] = far_apart[i];
        use(&params.bias.by_query);
        use(&params.bias.by_key);
        RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    }
    start();
    products.ne[1] = N_K;
    products.nb[1] = far_apart[0];
    use(&params.bias.by_key);
    refused(POSENC_ERR_STRIDE);
    products.ne[1] = N_K;
    products.ne[2] = products.ne[3] = 1; /* for all heads, of all batches */
    products.nb[1] = far_apart[1];
    use(&params.bias.by_key);
    refused(POSENC_ERR_STRIDE);
    char *memory = malloc((size_t)far_apart[0] + sizeof(float) * 5);
    if (memory != NULL) {
        products = posenc_view_dense(memory, POSENC_F32, 5, 2, 1, 1);
        products.nb[1] = far_apart[0];
        x.ne[1] = y.ne[1] = 2;
        use(&params.bias.by_query);
        RETURNS(POSENC_OK, posenc_softmax, &params, &x, &y, nothing);
    }
    free(memory);
    start();

    posenc_softmax_sum sum = {0.0f, 1.0f}, joined;
    float a, b;
    RETURNS(POSENC_ERR_NULL, posenc_softmax_combine, NULL, &sum, &joined, &a, &b);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_combine, &sum, NULL, &joined, &a, &b);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_combine, &sum, &sum, NULL, &a, &b);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_combine, &sum, &sum, &joined, NULL, &b);
    RETURNS(POSENC_ERR_NULL, posenc_softmax_combine, &sum, &sum, &joined, &a, NULL);
}
