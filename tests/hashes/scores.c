/* SPDX-License-Identifier: MIT */
/* Hashes of the softmax path, attention and analysis. */
#include "public.h"

#include <string.h>

#include "core/for_python.h"

enum { HEADS = 4, QUERIES = 5, BATCH = 2 };

/* ---- Scores ---- */

/* Terms of every kind, drawn; lines and indices reach as far as any query and key do. */
typedef struct drawn {
    posenc_score_params params;
    posenc_rel_bias rel_bias;
    posenc_rel_index index;
    posenc_view bias, by_query, by_key;
    posenc_bool_mask bytes;
} drawn;

enum { FAR = 1100, ROWS = 17 };

static posenc_mask mask_of(sweep *s, int64_t n_k) {
    const posenc_mask masks[] = {posenc_mask_none(),        posenc_mask_causal(),    posenc_mask_window(1 + n_k / 3),
                                 posenc_mask_sides(11, 11), posenc_mask_chunked(40), {n_k / 4, 0, 0, 3}};
    return masks[next(s) % COUNT(masks)];
}

static void draw_terms(sweep *s, drawn *scene, int64_t n_k) {
    posenc_score_params *params = &scene->params;
    uint64_t wanted = next(s);
    params->bias.alibi_slopes = wanted & 1 ? floats(s, HEADS, 0.1) : NULL;
    if (wanted & 2) {
        scene->rel_bias = (posenc_rel_bias){floats(s, HEADS * 2 * FAR, 3.0), -FAR, 2 * FAR, HEADS, 2 * FAR, 0};
        params->bias.relative = &scene->rel_bias;
    }
    if (wanted & 4) {
        scene->bias = tensor(s, (posenc_dtype)(wanted >> 8) % 3, n_k, QUERIES, HEADS, 1);
        params->bias.tensor = &scene->bias;
        params->bias.tensor_slopes = wanted & 8 ? floats(s, HEADS, 2.0) : NULL;
    }
    scene->index = index_of(posenc_rel_index_rule_of(POSENC_REL_SHAW, (ROWS - 1) / 2, 0), -FAR, 2 * FAR);
    if (wanted & 16) {
        scene->by_query = tensor(s, POSENC_F32, ROWS, QUERIES, HEADS, BATCH);
        params->bias.by_query = (posenc_relative){&scene->by_query, &scene->index};
    }
    if (wanted & 32) {
        scene->by_key = tensor(s, POSENC_F32, ROWS, n_k, HEADS, BATCH);
        params->bias.by_key = (posenc_relative){&scene->by_key, &scene->index};
    }
    params->cap = wanted & 64 ? 20.0f : 0.0f;
    params->sinks = wanted & 128 ? floats(s, HEADS, 2.0) : NULL;
}

static void draw_masks(sweep *s, drawn *scene, int64_t n_k) {
    posenc_score_params *params = &scene->params;
    uint64_t wanted = next(s);
    params->mask = mask_of(s, n_k);
    params->positions.query_start = n_k >= QUERIES ? n_k - QUERIES : 0;
    if (wanted % 4 == 0) {
        params->positions.queries = integers(s, QUERIES, 0, (int32_t)n_k);
        params->positions.keys = integers(s, (size_t)n_k, 0, (int32_t)n_k);
        params->mask.n_first = 0;
    } else if (wanted % 4 == 1) {
        const int32_t start = (int32_t)params->positions.query_start;
        params->positions.query_starts = integers(s, BATCH, start - 3, start);
        params->positions.query_start = POSENC_ALIGN_LAST_KEY;
    }
    if (wanted & 4) {
        params->sequences.k_begin = integers(s, BATCH, 0, (int32_t)n_k / 4);
        params->sequences.k_end = integers(s, BATCH, (int32_t)n_k / 2, (int32_t)n_k);
    }
    if (wanted & 8) {
        int32_t *ends = take(4 * sizeof(int32_t));
        ends[1] = (int32_t)n_k / 3;
        ends[2] = (int32_t)n_k / 2;
        ends[3] = (int32_t)n_k + QUERIES;
        params->sequences.cu_seqlens = ends;
        params->sequences.n_seqs = 3;
    }
    if (wanted & 16) {
        uint8_t *bytes = take((size_t)n_k * BATCH);
        for (int64_t j = 0; j < n_k * BATCH; j++)
            bytes[j] = next(s) % 4 == 0;
        scene->bytes = (posenc_bool_mask){bytes, {1, 0, 0, n_k}, POSENC_DROP};
        params->bool_mask = &scene->bytes;
    }
    params->fully_masked = wanted & 32 ? POSENC_FULLY_MASKED_NAN : POSENC_FULLY_MASKED_ZEROS;
}

static void draw_scene(sweep *s, drawn *scene, int64_t n_k) {
    *scene = (drawn){.params = POSENC_SCORE_DEFAULTS};
    scene->params.scale = (float)fabs(even(s, 1.0));
    scene->params.n_heads = HEADS;
    scene->params.n_batch = BATCH;
    draw_terms(s, scene, n_k);
    draw_masks(s, scene, n_k);
}

static const int64_t key_counts[] = {1, 7, 33, 100, 700};

static void hash_sums(sweep *s, const posenc_softmax_sum *sums, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float both[] = {sums[i].max, sums[i].sum};
        hash_floats(&s->hash, both, 2);
    }
}

void hash_softmax(sweep *s) {
    for (size_t k = 0; k < COUNT(key_counts); k++)
        for (int round = 0; round < 48; round++) {
            fresh();
            int64_t n_k = key_counts[k];
            posenc_dtype x_type = (posenc_dtype)(round % 3), y_type = (posenc_dtype)(round / 3 % 3);
            drawn scene;
            draw_scene(s, &scene, n_k);
            posenc_view x = round % 8 == 7 ? adversarial(s, x_type, n_k, QUERIES, HEADS, BATCH)
                                           : tensor(s, x_type, n_k, QUERIES, HEADS, BATCH);
            posenc_view y = zeros(y_type, n_k, QUERIES, HEADS, BATCH);
            CALL(posenc_logits, &scene.params, round % 5 == 0 ? NULL : &x, &y, posenc_range_all());
            hash_view(s, &y);
            CALL(posenc_softmax, &scene.params, &x, &y, posenc_range_all());
            hash_view(s, &y);
            posenc_softmax_sum sums[QUERIES * HEADS * BATCH], joined;
            CALL(posenc_softmax_partial, &scene.params, &x, &y, sums, posenc_range_all());
            hash_view(s, &y);
            hash_sums(s, sums, COUNT(sums));
            for (size_t i = 0; i + 1 < COUNT(sums); i++) {
                float of_both[2];
                CALL(posenc_softmax_combine, &sums[i], &sums[i + 1], &joined, &of_both[0], &of_both[1]);
                hash_sums(s, &joined, 1);
                hash_floats(&s->hash, of_both, 2);
            }
        }
}

/* Lists built from other masks, and softmax by them. */
void hash_block_masks(sweep *s) {
    enum { Q_BLOCK = 2, Q_BLOCKS = (QUERIES + Q_BLOCK - 1) / Q_BLOCK, N_ROWS = Q_BLOCKS * HEADS * BATCH };
    for (size_t k = 0; k < COUNT(key_counts); k++)
        for (int round = 0; round < 24; round++) {
            fresh();
            int64_t n_k = key_counts[k], k_block = 16 << round % 4, n_max = (n_k + k_block - 1) / k_block;
            int64_t ne[4] = {n_k, QUERIES, HEADS, BATCH};
            size_t n = (size_t)(N_ROWS * n_max) * sizeof(int32_t);
            drawn scene;
            draw_scene(s, &scene, n_k);
            posenc_block_mask mask = {take(N_ROWS * sizeof(int32_t)),
                                      take(n),
                                      take(N_ROWS * sizeof(int32_t)),
                                      take(n),
                                      n_max,
                                      round & 4 ? Q_BLOCKS : 0,
                                      round & 8 ? Q_BLOCKS * HEADS : 0,
                                      Q_BLOCK,
                                      k_block};
            CALL(posenc_block_mask_build, &scene.params, ne, &mask);
            for (int64_t row = 0; row < N_ROWS; row++) {
                hash_integers(s, mask.partial_blocks + row * n_max, (size_t)mask.partial_counts[row]);
                hash_integers(s, mask.full_blocks + row * n_max, (size_t)mask.full_counts[row]);
            }
            scene.params.block_mask = &mask;
            posenc_view x = tensor(s, (posenc_dtype)(round % 3), n_k, QUERIES, HEADS, BATCH);
            posenc_view y = zeros((posenc_dtype)(round / 3 % 3), n_k, QUERIES, HEADS, BATCH);
            CALL(posenc_softmax, &scene.params, &x, &y, posenc_range_all());
            hash_view(s, &y);
        }
}

void hash_softmax_backward(sweep *s) {
    for (size_t k = 0; k < COUNT(key_counts); k++)
        for (int round = 0; round < 32; round++) {
            fresh();
            int64_t n_k = key_counts[k];
            enum { N_ROWS = QUERIES * HEADS * BATCH };
            drawn scene;
            draw_scene(s, &scene, n_k);
            posenc_view x = tensor(s, POSENC_F32, n_k, QUERIES, HEADS, BATCH),
                        p = zeros(POSENC_F32, n_k, QUERIES, HEADS, BATCH);
            posenc_view dp = tensor(s, POSENC_F32, n_k, QUERIES, HEADS, BATCH),
                        dx = zeros(POSENC_F32, n_k, QUERIES, HEADS, BATCH);
            posenc_view db = zeros(POSENC_F32, n_k, QUERIES, HEADS, BATCH);
            float rows[N_ROWS], dsinks[HEADS];
            CALL(posenc_softmax, &scene.params, &x, &p, posenc_range_all());
            CALL(posenc_softmax_backward, &scene.params, &p, &dp, &x, &dx, &db, rows, posenc_range_all());
            hash_view(s, &dx);
            hash_view(s, &db);
            hash_floats(&s->hash, rows, N_ROWS);
            CALL(posenc_sink_backward, rows, QUERIES, HEADS, BATCH, dsinks);
            hash_floats(&s->hash, dsinks, HEADS);
        }
}

/* ---- Attention ---- */

enum { KV_HEADS = 2 };

/* Keys or values of any type. */
static posenc_view memory_of(sweep *s, posenc_dtype type, int64_t dim, int64_t n_k, int64_t last) {
    if (!posenc_is_cache_type(type))
        return by_head(tensor(s, type, dim, n_k, KV_HEADS, last));
    if (!posenc_has_blocks(type)) {
        size_t n = (size_t)(dim * n_k * KV_HEADS * last);
        unsigned char *bytes = take(n);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (unsigned char)next(s) & 0xbf; /* below 2 in size */
        return by_head(posenc_view_dense(bytes, type, dim, n_k, KV_HEADS, last));
    }
    size_t n_blocks = (size_t)(dim / POSENC_QUANT_BLOCK * n_k * KV_HEADS * last);
    const size_t size = (size_t)posenc_block_bytes(type);
    unsigned char *blocks = take(n_blocks * size);
    for (size_t b = 0; b < n_blocks; b++, blocks += size) {
        uint16_t scale = (uint16_t)((next(s) & 0x3ff) + (8 << 10)); /* f16, 2^-7 .. 2^-6 */
        memcpy(blocks, &scale, sizeof scale);
        if (posenc_has_offset(type))
            memcpy(blocks + sizeof scale, &(uint16_t){(uint16_t)next(s) & 0xbbff}, sizeof scale); /* below 1 in size */
        for (size_t c = posenc_header_bytes(type); c < size; c++)
            blocks[c] = (unsigned char)next(s);
    }
    return by_head(posenc_view_dense(blocks - n_blocks * size, type, dim, n_k, KV_HEADS, last));
}

void hash_attention(sweep *s) {
    static const int64_t dims[][2] = {{32, 32}, {64, 96}, {128, 32}};
    for (size_t d = 0; d < COUNT(dims); d++)
        for (size_t k = 0; k < COUNT(key_counts); k++)
            for (int round = 0; round < 8; round++) {
                fresh();
                int64_t dim = dims[d][0], v_dim = dims[d][1], n_k = key_counts[k];
                posenc_dtype type = (posenc_dtype)(round % 4), out_type = (posenc_dtype)(round / 2 % 3);
                drawn scene;
                draw_scene(s, &scene, n_k);
                posenc_view q = by_head(tensor(s, (posenc_dtype)(round % 3), dim, QUERIES, HEADS, BATCH));
                posenc_view keys = memory_of(s, type, dim, n_k, BATCH), values = memory_of(s, type, v_dim, n_k, BATCH);
                posenc_view out = by_head(zeros(out_type, v_dim, QUERIES, HEADS, BATCH));
                void *scratch = take(ASK(posenc_attention_workspace_bytes, dim, v_dim));
                hash_bytes(&s->hash, (uint64_t)ASK(posenc_attention_unit_count, &q, &keys), 8);
                CALL(posenc_attention, &scene.params, &q, &keys, &values, &out, scratch,
                     posenc_attention_workspace_bytes(q.ne[0], values.ne[0]), posenc_range_all());
                hash_view(s, &out);
                if (posenc_has_blocks(type) || n_k > 100) /* the reference is slow */
                    continue;
                posenc_view p = zeros(POSENC_F32, n_k, QUERIES, HEADS, BATCH);
                CALL(posenc_attention_reference, &scene.params, &q, &keys, &values, &out, &p);
                hash_view(s, &out);
                hash_view(s, &p);
            }
}

static void hash_task(sweep *s, const posenc_attention_args *task) {
    void *scratch = take(posenc_attention_workspace_bytes(task->q.ne[0], task->v.ne[0]));
    CALL(posenc_attention_run, task, scratch, posenc_attention_workspace_bytes(task->q.ne[0], task->v.ne[0]),
         posenc_range_all());
    hash_view(s, &task->out);
    hash_view(s, task->lse);
    hash_bytes(&s->hash, (uint64_t)ASK(posenc_attention_split_count, task), 8);
    void *parts = take(ASK(posenc_attention_split_bytes, task));
    CALL(posenc_attention_split, task, scratch, posenc_attention_workspace_bytes(task->q.ne[0], task->v.ne[0]), parts,
         posenc_attention_split_bytes(task), posenc_range_all());
    CALL(posenc_attention_combine_splits, task, parts, posenc_attention_split_bytes(task), posenc_range_all());
    hash_view(s, &task->out);
    hash_view(s, task->lse);
}

/* More than one segment of keys; RoPE applied to K on load; pages. */
void hash_attention_task(sweep *s) {
    enum { DIM = 32, LONG = 4200, PAGE = 64, PAGES = 3 };
    for (posenc_dtype type = POSENC_F32; type <= POSENC_Q8_0; type = (posenc_dtype)(type + 1))
        for (int is_paged = 0; is_paged < 2; is_paged++) {
            fresh();
            int64_t n_k = is_paged ? PAGE * PAGES - 5 : LONG, n_batch = is_paged ? BATCH : 1;
            posenc_score_params params = posenc_score_params_of(0.17f, posenc_mask_causal());
            params.n_heads = HEADS;
            params.positions.query_start = n_k - QUERIES;
            params.bias.alibi_slopes = floats(s, HEADS, 0.01);
            posenc_rope_params rope_params = POSENC_ROPE_DEFAULTS;
            rope_params.layout = POSENC_ROPE_HALF;
            rope_params.head_dim = rope_params.n_rot = DIM;
            posenc_rope *rope;
            CALL(posenc_rope_create, &rope_params, &rope);
            posenc_rope_table table = posenc_rope_table_dense(rope, take((size_t)posenc_rope_table_bytes(rope, n_k)));
            CALL(posenc_rope_table_fill, rope, integers(s, (size_t)n_k, 0, 100000), n_k, POSENC_FORWARD, &table);
            int32_t *page_table = integers(s, PAGES * BATCH, 0, 2 * PAGES - 1);
            posenc_attention_pages pages = {page_table, PAGES, n_k};
            posenc_view lse = by_head(zeros(POSENC_F32, 1, QUERIES, HEADS, n_batch));
            posenc_attention_args task = {.params = &params, .lse = &lse};
            task.q = by_head(tensor(s, POSENC_F32, DIM, QUERIES, HEADS, n_batch));
            task.k = memory_of(s, type, DIM, is_paged ? PAGE : n_k, is_paged ? 2 * PAGES : 1);
            task.v = memory_of(s, type, DIM, is_paged ? PAGE : n_k, is_paged ? 2 * PAGES : 1);
            task.out = by_head(zeros(POSENC_F32, DIM, QUERIES, HEADS, n_batch));
            task.pages = is_paged ? &pages : NULL;
            hash_task(s, &task);
            task.k_rope = rope;
            task.k_table = &table;
            hash_task(s, &task);
            posenc_rope_free(rope);
        }
}

/* Keys and values of these types, by one of the ways to compute them. */
static void hash_math(sweep *s, posenc_attention_math math, const int64_t dims[2], const posenc_dtype types[2],
                      int64_t n_k, posenc_dtype q_type) {
    fresh();
    drawn scene;
    draw_scene(s, &scene, n_k);
    posenc_view lse = by_head(zeros(POSENC_F32, 1, QUERIES, HEADS, BATCH));
    posenc_attention_args task = {.params = &scene.params, .lse = &lse, .math = math};
    task.q = by_head(tensor(s, q_type, dims[0], QUERIES, HEADS, BATCH));
    task.k = memory_of(s, types[0], dims[0], n_k, BATCH);
    task.v = memory_of(s, types[1], dims[1], n_k, BATCH);
    task.out = by_head(zeros(POSENC_F32, dims[1], QUERIES, HEADS, BATCH));
    hash_task(s, &task);
}

/* Lists of keys, some of which end early: every way to compute; short ones, and such of more than one segment. */
void hash_attention_lists(sweep *s) {
    enum { DIM = 32, LONG = 4300 };
    static const posenc_dtype types[] = {POSENC_F32, POSENC_F16, POSENC_BF16, POSENC_Q8_0, POSENC_Q4_0};
    for (size_t round = 0; round < 4 * COUNT(types); round++) {
        fresh();
        int64_t n_k = round % 3 ? 300 : LONG, n_max = n_k - 50 * (int64_t)(round % 2);
        int32_t *keys = integers(s, (size_t)(n_max * QUERIES * BATCH), 0, (int32_t)n_k - 1);
        for (int64_t i = 1; i < QUERIES * BATCH; i += 2)
            keys[i * n_max + i * 11] = POSENC_LIST_END;
        posenc_attention_lists lists = {keys, n_max, n_max, QUERIES * n_max, 0, 0};
        posenc_score_params params =
            posenc_score_params_of(0.17f, round % 2 ? posenc_mask_causal() : posenc_mask_none());
        params.n_heads = HEADS;
        params.bias.alibi_slopes = round % 2 ? floats(s, HEADS, 0.01) : NULL;
        posenc_view lse = by_head(zeros(POSENC_F32, 1, QUERIES, HEADS, BATCH));
        posenc_attention_args task = {
            .params = &params, .lse = &lse, .math = (posenc_attention_math)(round / COUNT(types)), .lists = &lists};
        task.q = by_head(tensor(s, POSENC_F32, DIM, QUERIES, HEADS, BATCH));
        task.k = memory_of(s, types[round % COUNT(types)], DIM, n_k, BATCH);
        task.v = memory_of(s, types[(round + 1) % COUNT(types)], DIM, n_k, BATCH);
        task.out = by_head(zeros(POSENC_F32, DIM, QUERIES, HEADS, BATCH));
        hash_task(s, &task);
    }
}

/* Quantised keys or values, or both, in integers. */
void hash_attention_integers(sweep *s) {
    static const int64_t dims[][2] = {{32, 32}, {64, 96}, {128, 32}, {160, 128}};
    static const posenc_dtype types[][2] = {{POSENC_Q8_0, POSENC_Q8_0},
                                            {POSENC_Q4_0, POSENC_Q4_0},
                                            {POSENC_Q8_0, POSENC_Q4_0},
                                            {POSENC_F16, POSENC_Q8_0},
                                            {POSENC_Q4_0, POSENC_BF16}};
    static const int64_t n_keys[] = {33, 129, 163, 300, 700}; /* the first 128 are in float32 */
    for (size_t d = 0; d < COUNT(dims); d++)
        for (size_t k = 0; k < COUNT(n_keys); k++)
            for (size_t round = 0; round < 2 * COUNT(types); round++)
                hash_math(s, POSENC_MATH_INT16, dims[d], types[round / 2], n_keys[k], (posenc_dtype)(round % 3));
}

/* The other formats: in float32, and in integers with each other and with a float type. */
void hash_attention_formats(sweep *s) {
    static const int64_t dims[][2] = {{32, 32}, {64, 96}, {160, 128}};
    static const posenc_dtype types[][2] = {{POSENC_Q5_0, POSENC_Q5_1},  {POSENC_Q5_1, POSENC_Q4_1},
                                            {POSENC_Q4_1, POSENC_Q5_0},  {POSENC_IQ4_NL, POSENC_IQ4_NL},
                                            {POSENC_F16, POSENC_IQ4_NL}, {POSENC_Q5_1, POSENC_BF16}};
    static const int64_t n_keys[] = {33, 163, 700};
    for (size_t d = 0; d < COUNT(dims); d++)
        for (size_t k = 0; k < COUNT(n_keys); k++)
            for (size_t round = 0; round < 2 * COUNT(types); round++)
                hash_math(s, round % 2 ? POSENC_MATH_F32 : POSENC_MATH_INT16, dims[d], types[round / 2], n_keys[k],
                          (posenc_dtype)(round % 3));
}

/* 8-bit floats, in each arithmetic. */
void hash_attention_f8(sweep *s) {
    static const int64_t dims[][2] = {{5, 33}, {64, 96}, {80, 128}};
    static const posenc_dtype types[][2] = {
        {POSENC_F8_E4M3, POSENC_F8_E4M3}, {POSENC_F8_E4M3, POSENC_BF16}, {POSENC_F16, POSENC_F8_E4M3}};
    static const int64_t n_keys[] = {33, 163, 700};
    for (size_t d = 0; d < COUNT(dims); d++)
        for (size_t k = 0; k < COUNT(n_keys); k++)
            for (size_t pair = 0; pair < COUNT(types); pair++)
                for (int math = POSENC_MATH_F32; math <= POSENC_MATH_BF16X3; math++)
                    hash_math(s, (posenc_attention_math)math, dims[d], types[pair], n_keys[k],
                              (posenc_dtype)(math % 3));
}

static void hash_bf16(sweep *s, posenc_attention_math math) {
    static const int64_t dims[][2] = {{1, 33}, {64, 96}, {128, 128}, {160, 32}};
    static const posenc_dtype types[][2] = {
        {POSENC_BF16, POSENC_BF16}, {POSENC_F32, POSENC_F32}, {POSENC_F16, POSENC_F16}, {POSENC_Q8_0, POSENC_Q4_0}};
    for (size_t d = 0; d < COUNT(dims); d++)
        for (size_t k = 0; k < COUNT(key_counts); k++)
            for (size_t round = 0; round < COUNT(types); round++)
                if (d > 0 || round < 3) /* blocks are of 32 channels */
                    hash_math(s, math, dims[d], types[round], key_counts[k], (posenc_dtype)((round + k) % 3));
}

void hash_attention_bf16(sweep *s) {
    hash_bf16(s, POSENC_MATH_BF16);
}

void hash_attention_bf16x2(sweep *s) {
    hash_bf16(s, POSENC_MATH_BF16X2);
}

void hash_attention_bf16x3(sweep *s) {
    hash_bf16(s, POSENC_MATH_BF16X3);
}

void hash_attention_merge(sweep *s) {
    for (int64_t dim = 1; dim < 150; dim = 2 * dim + 3)
        EACH_TYPE(type) {
            fresh();
            posenc_attention_state a, b;
            a.out = by_head(tensor(s, type, dim, QUERIES, HEADS, BATCH));
            a.lse = by_head(tensor(s, POSENC_F32, 1, QUERIES, HEADS, BATCH));
            b.out = by_head(tensor(s, type, dim, QUERIES, HEADS, BATCH));
            b.lse = by_head(tensor(s, POSENC_F32, 1, QUERIES, HEADS, BATCH));
            ((float *)a.lse.data)[1] = -INFINITY;
            CALL(posenc_attention_combine, &a, &b, &a, posenc_range_all());
            hash_view(s, &a.out);
            hash_view(s, &a.lse);
        }
}

/* ---- Analysis ---- */

void hash_similarity(sweep *s) {
    enum { N = 19 };
    for (int64_t dim = 1; dim < 600; dim = 2 * dim + 3) {
        fresh();
        posenc_view e = tensor(s, POSENC_F32, dim, N, 1, 1), similarity = zeros(POSENC_F32, N, N, 1, 1);
        CALL(posenc_cosine_similarity, &e, dim % 3 ? 0.0 : 1e-3, &similarity, posenc_range_all());
        hash_view(s, &similarity);
        float profile[N];
        CALL(posenc_similarity_profile, &e, 4, 0.0, N, profile);
        hash_floats(&s->hash, profile, N);
        posenc_progression progression;
        CALL(posenc_check_progression, &e, 2, 3, 1.0, 0.3, &progression);
        hash_bytes(&s->hash, (uint64_t)progression.holds, 4);
        hash_doubles(&s->hash, &progression.largest, 1);
    }
}

void hash_offsets(sweep *s) {
    enum { N = 100 };
    for (int64_t dim = 2; dim < 300; dim = 2 * dim + 2)
        for (int round = 0; round < 4; round++) {
            fresh();
            posenc_freq *freq;
            CALL(posenc_freq_create, round % 2 ? 500000.0 : 10000.0, dim, &freq);
            int32_t *offsets = integers(s, N, round < 2 ? INT32_MIN : -300, round < 2 ? INT32_MAX : 300);
            double sums[N];
            CALL(posenc_dot_by_offset, freq, offsets, N, sums);
            hash_doubles(&s->hash, sums, N);
            CALL(posenc_alias_distance, freq, offsets, N, sums);
            hash_doubles(&s->hash, sums, N);
            posenc_frequency report[N];
            double *theta = doubles(s, N, round % 2 ? 1.0 : 65536.0);
            CALL(posenc_frequency_report, theta, N, fabs(even(s, 1e6)), report);
            for (size_t i = 0; i < N; i++) {
                const double all[] = {report[i].theta, report[i].wavelength, report[i].turns};
                hash_doubles(&s->hash, all, 3);
            }
            posenc_freq_free(freq);
        }
}

void hash_costs(sweep *s) {
    static const posenc_scheme priced[] = {POSENC_SCHEME_SINUSOIDAL, POSENC_SCHEME_ROPE, POSENC_SCHEME_ALIBI,
                                           POSENC_SCHEME_LEARNED, POSENC_SCHEME_SHAW};
    for (int round = 0; round < 20; round++) {
        int64_t n[11], count;
        for (size_t i = 0; i < COUNT(n); i++)
            n[i] = between(s, 1, 5000);
        posenc_sizes sizes = {n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10]};
        for (int scheme = POSENC_SCHEME_SINUSOIDAL; scheme <= POSENC_SCHEME_CPE; scheme++) {
            CALL(posenc_parameter_count, (posenc_scheme)scheme, &sizes, &count);
            hash_bytes(&s->hash, (uint64_t)count, 8);
        }
        for (size_t i = 0; i < COUNT(priced); i++) {
            CALL(posenc_flops, priced[i], &sizes, &count);
            hash_bytes(&s->hash, (uint64_t)count, 8);
            CALL(posenc_flops_rule_of_thumb, priced[i], &sizes, &count);
            hash_bytes(&s->hash, (uint64_t)count, 8);
        }
    }
}
