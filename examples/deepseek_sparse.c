/* SPDX-License-Identifier: MIT */
/* Sparse attention with an indexer (DeepSeek-V3.2, GLM-5), prefill: the indexer scores all keys that a query sees, the
 * TOP largest are its list, and attention is over these alone. It is compared with plain loops.
 *
 *     cc deepseek_sparse.c $(pkg-config --cflags --libs posenc) -lm
 */
#include "plain.h"

enum { TOKENS = 90, TOP = 16, INDEX_HEADS = 8, INDEX_DIM = 32, HEADS = 4, DIM = 24 };

/* Projections of a layer, already rotated. */
static float index_q[TOKENS][INDEX_HEADS][INDEX_DIM], index_k[TOKENS][INDEX_DIM], weights[TOKENS][INDEX_HEADS];
static float q[TOKENS][HEADS][DIM], k[TOKENS][DIM], v[TOKENS][DIM];

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL)
        exit(1);
    return memory;
}

/* ---- With the library ---- */

static void make_lists(int32_t lists[TOKENS][TOP]) {
    static float scores[TOKENS][TOKENS];
    int32_t ends[TOKENS]; /* causal: the keys before each query's, and its own */
    for (int i = 0; i < TOKENS; i++)
        ends[i] = i + 1;
    posenc_index_args index = {
        .q = posenc_view_dense(index_q, POSENC_F32, INDEX_DIM, INDEX_HEADS, TOKENS, 1),
        .k = posenc_view_dense(index_k, POSENC_F32, INDEX_DIM, 1, TOKENS, 1), /* f16 or bf16 in an engine */
        .weights = posenc_view_dense(weights, POSENC_F32, 1, INDEX_HEADS, TOKENS, 1),
        .scores = posenc_view_dense(scores, POSENC_F32, TOKENS, TOKENS, 1, 1),
        .bounds = {.end = ends, .query_stride = 1},
    };
    size_t scratch_bytes = posenc_index_workspace_bytes(INDEX_DIM);
    void *scratch = allocate(scratch_bytes);
    check(posenc_index_scores(&index, scratch, scratch_bytes, posenc_range_all()), "scores of the indexer");
    free(scratch);
    scratch_bytes = posenc_top_k_workspace_bytes(TOKENS, TOP);
    scratch = allocate(scratch_bytes);
    check(posenc_top_k(&index.scores, &index.bounds, TOP, lists[0], scratch, scratch_bytes, posenc_range_all()),
          "top-k");
    free(scratch);
}

static void sparse_attention(int32_t lists[TOKENS][TOP], float out[TOKENS][HEADS][DIM]) {
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = 1.0f / sqrtf(DIM);
    params.mask = posenc_mask_none(); /* the lists name no key behind the query */
    posenc_attention_lists keys_of_queries = {lists[0], TOP, TOP, TOKENS * TOP, 0, 0};
    posenc_attention_args args = {
        .params = &params,
        .q = posenc_view_dense(q, POSENC_F32, DIM, HEADS, TOKENS, 1),
        .k = posenc_view_dense(k, POSENC_F32, DIM, 1, TOKENS, 1),
        .v = posenc_view_dense(v, POSENC_F32, DIM, 1, TOKENS, 1),
        .out = posenc_view_dense(out, POSENC_F32, DIM, HEADS, TOKENS, 1),
        .lists = &keys_of_queries,
    };
    size_t scratch_bytes = posenc_attention_workspace_bytes(DIM, DIM);
    void *scratch = allocate(scratch_bytes);
    check(posenc_attention_run(&args, scratch, scratch_bytes, posenc_range_all()), "attention");
    free(scratch);
}

/* ---- Plainly ---- */

static double plain_score(int i, int j) {
    double score = 0.0;
    for (int h = 0; h < INDEX_HEADS; h++) {
        double product = 0.0;
        for (int c = 0; c < INDEX_DIM; c++)
            product += (double)index_q[i][h][c] * (double)index_k[j][c];
        score += (double)weights[i][h] * fmax(product, 0.0);
    }
    return score;
}

/* The key's place in the list of query i: how many keys come before it. */
static int plain_place(int i, int j) {
    int place = 0;
    double score = plain_score(i, j);
    for (int other = 0; other <= i; other++) {
        double beside = plain_score(i, other);
        place += beside > score || (beside == score && other < j);
    }
    return place;
}

static void plain_attention(double out[TOKENS][HEADS][DIM]) {
    for (int i = 0; i < TOKENS; i++) {
        double keys[TOP][DIM], values[TOP][DIM], query[DIM];
        for (int j = 0; j <= i; j++) {
            int place = plain_place(i, j);
            for (int c = 0; c < DIM && place < TOP; c++) {
                keys[place][c] = (double)k[j][c];
                values[place][c] = (double)v[j][c];
            }
        }
        for (int h = 0; h < HEADS; h++) {
            for (int c = 0; c < DIM; c++)
                query[c] = (double)q[i][h][c];
            plain_attend(query, keys[0], DIM, values[0], DIM, i + 1 < TOP ? i + 1 : TOP, DIM, DIM, 1.0 / sqrt(DIM),
                         -INFINITY, out[i][h]);
        }
    }
}

int main(void) {
    static int32_t lists[TOKENS][TOP];
    static float out[TOKENS][HEADS][DIM];
    static double expected[TOKENS][HEADS][DIM];
    fill_random(index_q[0][0], TOKENS * INDEX_HEADS * INDEX_DIM);
    fill_random(index_k[0], TOKENS * INDEX_DIM);
    fill_random(weights[0], TOKENS * INDEX_HEADS);
    fill_random(q[0][0], TOKENS * HEADS * DIM);
    fill_random(k[0], TOKENS * DIM);
    fill_random(v[0], TOKENS * DIM);
    make_lists(lists);
    sparse_attention(lists, out);
    plain_attention(expected);
    return compare("sparse attention by an indexer, and plainly", out[0][0], expected[0][0], TOKENS * HEADS * DIM,
                   1e-4);
}
