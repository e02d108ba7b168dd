/* SPDX-License-Identifier: MIT */
/* Hashes of biases, relative terms and what is learned of them. */
#include "public.h"
#include "core/for_python.h"

enum { HEADS = 5, QUERIES = 6, KEYS = 37, BATCH = 2 };

/* ---- Lines ---- */

/* Offsets around 0, far behind, and at either end of what there is. */
static const int64_t ranges[][2] = {
    {-90, 181}, {-5000, 333}, {-(((int64_t)1 << 31) - 1), 50}, {((int64_t)1 << 31) - 50, 50}};

void hash_masks(sweep *s) {
    static const posenc_mask masks[] = {{-1, 0, 0, 0}, {16, 0, 0, 0}, {8, 8, 0, 0}, {-1, 20, 0, 0}, {30, -1, 0, 0}};
    for (size_t m = 0; m < COUNT(masks); m++) {
        fresh();
        int64_t first, n;
        CALL(posenc_rel_bias_range, masks[m], 7, QUERIES, KEYS, &first, &n);
        hash_bytes(&s->hash, (uint64_t)first, 8);
        hash_bytes(&s->hash, (uint64_t)n, 8);
        posenc_rel_bias rel_bias = rel_bias_of(-40, 81, HEADS);
        CALL(posenc_rel_bias_mask, masks[m], &rel_bias);
        hash_rel_bias(s, &rel_bias);
    }
    for (int64_t n = 0; n < 300; n = 2 * n + 1)
        EACH_TYPE(type) {
            fresh();
            uint8_t *keep = take((size_t)n * BATCH);
            for (int64_t i = 0; i < n * BATCH; i++)
                keep[i] = next(s) % 3 != 0;
            posenc_view y = by_head(adversarial(s, type, 7, n, HEADS, BATCH));
            CALL(posenc_zero_padded, keep, &y);
            hash_view(s, &y);
            double mean;
            CALL(posenc_masked_mean, floats(s, (size_t)n, 4.0), keep, n, &mean);
            hash_doubles(&s->hash, &mean, 1);
        }
}

/* Positions of draft tokens, and softmax over what each sees of 50 keys more. */
void hash_trees(sweep *s) {
    for (int64_t n = 1; n < 130; n = 2 * n + 1) {
        fresh();
        int32_t *parents = take((size_t)n * sizeof *parents), *positions = take((size_t)n * sizeof *positions);
        for (int64_t t = 0; t < n; t++)
            parents[t] = (int32_t)(next(s) % (uint64_t)(t + 1)) - 1;
        CALL(posenc_tree_positions, parents, n, 1000, positions);
        hash_integers(s, positions, (size_t)n);
        posenc_tree tree = {parents, 0};
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_causal());
        params.tree = &tree;
        posenc_view x = tensor(s, POSENC_F32, n + 50, n, HEADS, BATCH);
        CALL(posenc_softmax, &params, &x, &x, posenc_range_all());
        hash_view(s, &x);
    }
}

void hash_alibi(sweep *s) {
    for (int64_t n_heads = 1; n_heads <= 130; n_heads += n_heads < 20 ? 1 : 13)
        for (int round = 0; round < 4; round++) {
            fresh();
            float *slopes = take((size_t)n_heads * sizeof(float));
            CALL(posenc_alibi_slopes_plain, n_heads, round < 2 ? 8.0 : 100.0 / (1 + round), slopes);
            hash_floats(&s->hash, slopes, (size_t)n_heads);
            CALL(posenc_alibi_slopes, n_heads, round < 2 ? 8.0 : 100.0 / (1 + round), slopes);
            hash_floats(&s->hash, slopes, (size_t)n_heads);
            posenc_rel_bias rel_bias = rel_bias_of(ranges[round][0], ranges[round][1], n_heads);
            CALL(posenc_rel_bias_alibi, slopes, &rel_bias);
            hash_rel_bias(s, &rel_bias);
            uint8_t keep[KEYS];
            for (size_t j = 0; j < KEYS; j++)
                keep[j] = next(s) % 2;
            for (int form = POSENC_ALIBI_ROW_FROM_FIRST; form <= POSENC_ALIBI_ROW_COUNTED; form++) {
                posenc_view bias = zeros(POSENC_F32, KEYS, 1, n_heads, 1);
                CALL(posenc_alibi_row, slopes, (posenc_alibi_row_form)form, keep, &bias);
                hash_view(s, &bias);
            }
        }
}

static void hash_gathered(sweep *s, const posenc_rel_index *index) {
    hash_integers(s, index->data, (size_t)index->n_offsets);
    posenc_bias_table table = {floats(s, (size_t)index->n_rows * HEADS, 4.0), index->n_rows, HEADS, HEADS, 1};
    posenc_rel_bias rel_bias = rel_bias_of(index->first, index->n_offsets, HEADS);
    CALL(posenc_rel_bias_gather, index, &table, 0.3f, &rel_bias);
    hash_rel_bias(s, &rel_bias);
}

void hash_t5(sweep *s) {
    static const posenc_t5_params all[] = {POSENC_T5_ENCODER, POSENC_T5_DECODER, {64, 1000, 1},
                                           {5, 7, 0},         {320, 800, 1},     {4096, 1 << 30, 0}};
    for (size_t k = 0; k < COUNT(all); k++)
        for (size_t r = 0; r < COUNT(ranges); r++) {
            fresh();
            posenc_rel_index index = {take((size_t)ranges[r][1] * sizeof(int32_t)), ranges[r][0], ranges[r][1],
                                      all[k].num_buckets};
            CALL(posenc_rel_index_t5, &all[k], &index);
            hash_gathered(s, &index);
            for (int i = 0; i < 100; i++) {
                int32_t bucket;
                CALL(posenc_t5_bucket, &all[k], any_position(s) >> i % 30, &bucket);
                hash_integers(s, &bucket, 1);
            }
            posenc_rel_index_rule clipped = ASK(posenc_rel_index_rule_of, POSENC_REL_SHAW, 17, 0);
            CALL(posenc_rel_index_fill, &clipped, &index);
            hash_gathered(s, &index);
        }
}

void hash_kerple(sweep *s) {
    for (int kind = POSENC_KERPLE_LOG; kind <= POSENC_KERPLE_POWER; kind++)
        for (size_t r = 0; r < COUNT(ranges); r++)
            for (int round = 0; round < 8; round++) {
                fresh();
                float *p = floats(s, HEADS, round < 4 ? 2.0 : 200.0), *a = floats(s, HEADS, round % 2 ? 1.0 : 1000.0);
                posenc_kerple kerple = {(posenc_kerple_kind)kind, p, a, 0.01f};
                posenc_rel_bias rel_bias = rel_bias_of(ranges[r][0], ranges[r][1], HEADS);
                CALL(posenc_rel_bias_kerple, &kerple, &rel_bias);
                hash_rel_bias(s, &rel_bias);
            }
}

void hash_rbf_rel_bias(sweep *s) {
    for (size_t r = 0; r < COUNT(ranges); r++)
        for (int exponent = -20; exponent <= 32; exponent += 4) {
            fresh();
            float *sigma = take(HEADS * sizeof(float));
            for (size_t h = 0; h < HEADS; h++)
                sigma[h] = (float)ldexp(1.0 + fabs(even(s, 1.0)), exponent);
            posenc_rel_bias rel_bias = rel_bias_of(ranges[r][0], ranges[r][1], HEADS);
            CALL(posenc_rel_bias_rbf, sigma, &rel_bias);
            hash_rel_bias(s, &rel_bias);
        }
}

void hash_sandwich(sweep *s) {
    static const int64_t dims[] = {2, 64, 128, 514};
    static const double bases[] = {10000.0, 1.0, 500000.0, 1e30};
    for (size_t r = 0; r < COUNT(ranges); r++)
        for (size_t d = 0; d < COUNT(dims); d++)
            for (int round = 0; round < 4; round++) {
                fresh();
                posenc_sandwich sandwich = {dims[d], bases[((size_t)round + d) % COUNT(bases)], round % 2, round / 2};
                posenc_rel_bias rel_bias = rel_bias_of(ranges[r][0], ranges[r][1], HEADS);
                CALL(posenc_rel_bias_sandwich, &sandwich, &rel_bias);
                hash_rel_bias(s, &rel_bias);
            }
}

void hash_cosine_rel_bias(sweep *s) {
    for (size_t r = 0; r < COUNT(ranges); r++)
        for (int exponent = -40; exponent <= 16; exponent += 4)
            for (int round = 0; round < 3; round++) {
                fresh();
                double *omega = doubles(s, HEADS, ldexp(1.0, exponent)), *phi = round ? doubles(s, HEADS, 4.0) : NULL;
                float *amplitude = round == 2 ? floats(s, HEADS, 10.0) : NULL;
                posenc_rel_bias rel_bias = rel_bias_of(ranges[r][0], ranges[r][1], HEADS);
                CALL(posenc_rel_bias_cosine, omega, phi, amplitude, &rel_bias);
                hash_rel_bias(s, &rel_bias);
            }
}

/* ---- Images ---- */

void hash_swin(sweep *s) {
    static const int64_t windows[][2] = {{1, 1}, {7, 7}, {3, 8}, {8, 12}};
    for (size_t k = 0; k < COUNT(windows); k++) {
        fresh();
        int64_t h = windows[k][0], w = windows[k][1], n = h * w, n_rows = (2 * h - 1) * (2 * w - 1);
        int32_t *index = take((size_t)(n * n) * sizeof(int32_t));
        CALL(posenc_swin_index, h, w, index);
        hash_integers(s, index, (size_t)(n * n));
        posenc_bias_table table = {floats(s, (size_t)n_rows * HEADS, 4.0), n_rows, HEADS, HEADS, 1};
        posenc_view bias = zeros(POSENC_F32, n, n, HEADS, 1);
        CALL(posenc_swin_bias, h, w, &table, &bias);
        hash_view(s, &bias);
        for (int64_t trained = 2; trained < 200; trained = 3 * trained + 1) {
            float *coords = take((size_t)n_rows * 2 * sizeof(float));
            CALL(posenc_swin_v2_coords, h, w, trained, trained + 1, coords);
            hash_floats(&s->hash, coords, (size_t)n_rows * 2);
        }
    }
    for (int round = 0; round < 8; round++) {
        fresh();
        float *x = floats(s, 1000, ldexp(1.0, round));
        CALL(posenc_swin_v2_scale, x, 1000, x);
        hash_floats(&s->hash, x, 1000);
    }
}

void hash_decomposed(sweep *s) {
    static const int64_t shapes[][3] = {{7, 7, 13}, {14, 7, 27}, {5, 13, 9}, {16, 16, 127}}; /* n_q, n_k, n_table */
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int64_t dim = 1; dim < 100; dim = 5 * dim + 3) {
            fresh();
            posenc_view table = tensor(s, POSENC_F32, dim, shapes[k][2], 1, 1);
            posenc_view rows = zeros(POSENC_F32, dim, shapes[k][1], shapes[k][0], 1);
            CALL(posenc_decomposed_rows, &table, &rows);
            hash_view(s, &rows);
            posenc_view by_row = adversarial(s, POSENC_F32, 4, QUERIES, HEADS, BATCH);
            posenc_view by_column = adversarial(s, POSENC_F32, dim, QUERIES, HEADS, BATCH);
            posenc_view scores = adversarial(s, POSENC_F32, 4 * dim, QUERIES, HEADS, BATCH);
            CALL(posenc_decomposed_add, &by_row, &by_column, &scores, posenc_range_all());
            hash_view(s, &scores);
        }
}

/* ---- Relative terms ---- */

static posenc_rel_index_rule reversed(posenc_rel_index_rule rule) {
    rule.sign = -rule.sign;
    return rule;
}

void hash_relative_index(sweep *s) {
    const posenc_rel_index_rule rules[] = {posenc_rel_index_rule_of(POSENC_REL_SHAW, 16, 0),
                                           reversed(posenc_rel_index_rule_of(POSENC_REL_SHAW, 7, 0)),
                                           posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, 40, 0),
                                           posenc_rel_index_rule_of(POSENC_REL_XLNET, 20, 30),
                                           posenc_rel_index_rule_of(POSENC_REL_DEBERTA, 512, 0),
                                           posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 256, 512),
                                           posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 32, 65536),
                                           posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 4, 100)};
    for (size_t k = 0; k < COUNT(rules); k++)
        for (size_t r = 0; r < COUNT(ranges); r++) {
            fresh();
            posenc_rel_index index = index_of(rules[k], ranges[r][0], ranges[r][1]);
            hash_integers(s, index.data, (size_t)index.n_offsets);
        }
    fresh();
    posenc_rel_index index = index_of(posenc_rel_index_rule_of(POSENC_REL_RELATIVE_KEY, 100, 0), -90, 181);
    hash_integers(s, index.data, (size_t)index.n_offsets);
}

/* Differences of published code from its paper. */
void hash_published_code(sweep *s) {
    enum { PUBLISHED_HEADS = 6, PUBLISHED_KEYS = 700 };
    const posenc_rel_index_rule rules[] = {posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG_UNCLIPPED, 256, 512),
                                           posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG_UNCLIPPED, 32, 128)};
    for (size_t k = 0; k < COUNT(rules); k++) {
        fresh();
        posenc_rel_index index = index_of(rules[k], -3000, 6001);
        hash_integers(s, index.data, (size_t)index.n_offsets);
    }
    fresh();
    float slopes[PUBLISHED_HEADS];
    uint8_t keep[PUBLISHED_KEYS];
    for (size_t j = 0; j < PUBLISHED_KEYS; j++)
        keep[j] = next(s) % 8 != 0;
    CALL(posenc_alibi_slopes, PUBLISHED_HEADS, 8.0, slopes);
    posenc_view row = zeros(POSENC_F32, PUBLISHED_KEYS, 1, PUBLISHED_HEADS, 1);
    CALL(posenc_alibi_row, slopes, POSENC_ALIBI_ROW_COUNTED_BF16, keep, &row);
    hash_view(s, &row);
}

/* Queries 3 .. of KEYS keys; runs of equal rows at the ends of the index. */
enum { Q_OFF = 3, ROWS = 9 };

static posenc_rel_index some_index(void) {
    return index_of(posenc_rel_index_rule_of(POSENC_REL_SHAW, (ROWS - 1) / 2, 0), -(QUERIES + Q_OFF),
                    QUERIES + Q_OFF + KEYS);
}

void hash_relative(sweep *s) {
    for (int64_t dim = 1; dim < 150; dim = 2 * dim + 3)
        EACH_TYPE(type) {
            fresh();
            posenc_view rows = by_head(tensor(s, type, dim, ROWS, dim % 2 ? 1 : HEADS, 1)),
                        q = by_head(tensor(s, type, dim, QUERIES, HEADS, BATCH));
            posenc_view y = zeros(POSENC_F32, ROWS, QUERIES, HEADS, BATCH);
            posenc_relative_table *table;
            CALL(posenc_relative_table_create, &rows, &table);
            float *shift = dim % 3 ? floats(s, (size_t)dim * HEADS, 1.0) : NULL;
            CALL(posenc_relative_products, table, &q, shift, &y, posenc_range_all());
            hash_view(s, &y);
            posenc_relative_table_free(table);

            posenc_rel_index index = some_index();
            posenc_view p = tensor(s, POSENC_F32, KEYS, QUERIES, HEADS, BATCH),
                        z = by_head(tensor(s, POSENC_F32, dim, QUERIES, HEADS, BATCH));
            CALL(posenc_relative_values, &index, posenc_mask_none(), Q_OFF, &p, &rows, &z, posenc_range_all());
            hash_view(s, &z);

            posenc_view x = adversarial(s, type, KEYS, QUERIES, HEADS, BATCH),
                        moved = zeros(type, KEYS, QUERIES, HEADS, BATCH);
            CALL(posenc_relative_shift, &x, &moved);
            hash_view(s, &moved);
            posenc_view wide = adversarial(s, type, 2 * QUERIES - 1, QUERIES, HEADS, BATCH);
            posenc_view square = zeros(type, QUERIES, QUERIES, HEADS, BATCH);
            CALL(posenc_relative_skew, &wide, &square);
            hash_view(s, &square);
        }
}

void hash_relative_gradients(sweep *s) {
    const posenc_mask masks[] = {posenc_mask_none(), posenc_mask_causal(), posenc_mask_sides(2, 2)};
    for (size_t m = 0; m < COUNT(masks); m++) {
        fresh();
        posenc_rel_index index = some_index();
        posenc_view x = tensor(s, POSENC_F32, KEYS, QUERIES, HEADS, BATCH);
        posenc_view by_query = zeros(POSENC_F32, ROWS, QUERIES, HEADS, BATCH),
                    by_key = zeros(POSENC_F32, ROWS, KEYS, HEADS, BATCH);
        CALL(posenc_relative_sums_by_query, &index, masks[m], Q_OFF, &x, &by_query, posenc_range_all());
        CALL(posenc_relative_sums_by_key, &index, masks[m], Q_OFF, &x, &by_key, posenc_range_all());
        hash_view(s, &by_query);
        hash_view(s, &by_key);
    }
    for (int64_t dim = 1; dim < 150; dim = 2 * dim + 3)
        EACH_TYPE(type) {
            fresh();
            int64_t n_heads = dim % 2 ? 1 : HEADS;
            posenc_view w = tensor(s, POSENC_F32, ROWS, QUERIES, HEADS, BATCH),
                        table = by_head(tensor(s, type, dim, ROWS, n_heads, 1));
            posenc_view dq = by_head(tensor(s, POSENC_F32, dim, QUERIES, HEADS, BATCH)),
                        q = by_head(tensor(s, type, dim, QUERIES, HEADS, BATCH));
            posenc_view dtable = by_head(tensor(s, POSENC_F32, dim, ROWS, n_heads, 1));
            CALL(posenc_relative_combine, &w, &table, 0.3f, &dq, posenc_range_all());
            CALL(posenc_relative_collect, &w, &q, floats(s, (size_t)dim * HEADS, 1.0), 0.3f, &dtable,
                 posenc_range_all());
            hash_view(s, &dq);
            hash_view(s, &dtable);
        }
}

/* ---- FIRE, CoPE ---- */

void hash_fire(sweep *s) {
    for (int64_t n_hidden = 1; n_hidden < 50; n_hidden = 2 * n_hidden + 1)
        for (int round = 0; round < 5; round++) {
            fresh();
            size_t n = (size_t)n_hidden;
            posenc_fire_params params = POSENC_FIRE_DEFAULTS;
            params.n_heads = HEADS;
            params.n_hidden = n_hidden;
            params.w1 = floats(s, n, 4.0);
            params.b1 = floats(s, n, 1.0);
            params.w2 = floats(s, n * HEADS, 1.0);
            params.b2 = floats(s, HEADS, 1.0);
            params.c = round == 0 ? 0.1 : even(s, 3.0);
            params.threshold = round % 2 ? 512.0 : 3.7;
            params.max_distance = 5000;
            posenc_fire *fire;
            CALL(posenc_fire_create, &params, &fire);
            posenc_view y = tensor(s, POSENC_F32, 300, QUERIES, HEADS, 1),
                        far = tensor(s, POSENC_F32, 300, QUERIES, HEADS, 1);
            CALL(posenc_fire_write, fire, 250, &y, posenc_range_all());
            CALL(posenc_fire_add, fire, round ? 4990 : 0, &far, posenc_range_all());
            hash_view(s, &y);
            hash_view(s, &far);
            posenc_fire_free(fire);
        }
}

void hash_cope(sweep *s) {
    for (int64_t n_k = QUERIES; n_k < 300; n_k = 2 * n_k + 1)
        for (int round = 0; round < 6; round++) {
            fresh();
            posenc_cope_params cope = {0.3f, round % 2 ? POSENC_COPE_SCALED : POSENC_COPE_LISTING, n_k - QUERIES};
            posenc_view x = tensor(s, POSENC_F32, n_k, QUERIES, HEADS, 1),
                        gates = tensor(s, POSENC_F32, n_k, QUERIES, HEADS, 1);
            posenc_view z = tensor(s, POSENC_F32, 1 + 9 * round, QUERIES, HEADS, 1);
            CALL(posenc_cope_logits, &cope, &x, round % 3 ? &gates : NULL, &z, &x, posenc_range_all());
            hash_view(s, &x);
        }
}

/* ---- Gradients of lines, and of what they are made of ---- */

/* Either side of offset 0 the negative of the other: sums cancel, and what is left is what they have rounded. */
static void mirror(const posenc_rel_bias *rel_bias, int64_t reach) {
    for (int64_t h = 0; h < rel_bias->n_heads; h++) {
        float *zero = rel_bias->data + h * rel_bias->stride - rel_bias->first;
        for (int64_t o = rel_bias->first; o < rel_bias->first + rel_bias->n_offsets; o++)
            zero[o] = o == 0 || o > reach ? 0.0f : o < 0 ? -zero[-o] : zero[o];
    }
}

void hash_rel_bias_gradients(sweep *s) {
    for (int round = 0; round < 8; round++) {
        fresh();
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
        params.positions.query_start = round;
        posenc_view ds = tensor(s, POSENC_F32, KEYS, QUERIES, HEADS, BATCH);
        posenc_rel_bias rel_bias = rel_bias_of(-20, 50, HEADS), shared = rel_bias_of(-5, 11, HEADS);
        shared.stride = 0; /* for all heads */
        shared.is_clamped = 1;
        CALL(posenc_rel_bias_backward, &params, &ds, &rel_bias);
        CALL(posenc_rel_bias_backward, &params, &ds, &shared);
        hash_rel_bias(s, &rel_bias);
        hash_rel_bias(s, &shared);

        posenc_rel_index index = index_of(posenc_rel_index_rule_of(POSENC_REL_SHAW, 6, 0), -20, 50);
        posenc_bias_table table = {take(13 * HEADS * sizeof(float)), 13, HEADS, HEADS, 1};
        CALL(posenc_bias_table_backward, &index, &rel_bias, 0.3f, &table);
        hash_floats(&s->hash, table.data, 13 * HEADS);
        float slopes[HEADS], dp[HEADS], da[HEADS];
        CALL(posenc_alibi_backward, &rel_bias, slopes);
        hash_floats(&s->hash, slopes, HEADS);
        for (int kind = POSENC_KERPLE_LOG; kind <= POSENC_KERPLE_POWER; kind++) {
            float *p = floats(s, HEADS, 2.5), *a = floats(s, HEADS, 2.0);
            if (round >= 4)
                mirror(&rel_bias, 20);
            posenc_kerple kerple = {(posenc_kerple_kind)kind, p, a, 0.01f};
            CALL(posenc_kerple_backward, &kerple, round % 2 ? POSENC_CLAMPED_STOPS : POSENC_CLAMPED_PASSES, &rel_bias,
                 dp, da);
            hash_floats(&s->hash, dp, HEADS);
            hash_floats(&s->hash, da, HEADS);
        }
        posenc_view square = tensor(s, POSENC_F32, 12, 12, HEADS, BATCH);
        posenc_bias_table swin = {take(35 * HEADS * sizeof(float)), 35, HEADS, HEADS, 1};
        CALL(posenc_swin_backward, 3, 4, &square, &swin);
        hash_floats(&s->hash, swin.data, 35 * HEADS);
    }
}
