/* SPDX-License-Identifier: MIT */
/* Uses of posenc_rope_apply_tensors: packed QKV, the norm of Q and K, a cache for K and V,
 * the softmax scale; each against the plain calls or a reference in double. test_rope_tasks.c tries every combination.
 */
#include "truth_half.h"
#include "truth_rope.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const posenc_dtype types[] = {POSENC_F32, POSENC_F16, POSENC_BF16};

/* ---- Packed QKV ---- */

/* Heads first .. first + n - 1 of every token. */
static posenc_view heads(posenc_view all, int64_t first, int64_t n) {
    all.data = (char *)all.data + first * all.nb[1];
    all.ne[1] = n;
    return all;
}

/* Q and K rotate in place inside [head, q | k | v, tokens], V stays; the same bytes as with two plain calls. */
static void test_packed_qkv(void **state) {
    (void)state;
    enum { N_Q = 8, N_KV = 2, TOKENS = 11 };
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 60; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE);
            posenc_rope *rope = truth_rope_new(&params);
            int64_t ne[4] = {params.head_dim, N_Q + 2 * N_KV, TOKENS, 1};
            posenc_dtype type = types[round % 3];
            truth_tensor packed = truth_tensor_random_of(type, ne), plain = truth_tensor_random_of(type, ne);
            truth_copy(&packed.view, &plain.view);
            int32_t positions[TOKENS];
            truth_random_positions(positions, 1, TOKENS);
            posenc_direction direction = truth_random_direction(&params);
            posenc_view q = heads(packed.view, 0, N_Q), k = heads(packed.view, N_Q, N_KV);
            posenc_rope_tensor tasks[] = {{.x = q, .y = q, .rotates = 1, .scale = 1.0f},
                                          {.x = k, .y = k, .rotates = 1, .scale = 1.0f}};
            truth_ok(posenc_rope_apply_tensors(rope, tasks, 2, positions, NULL, direction, posenc_range_all()));
            q = heads(plain.view, 0, N_Q);
            k = heads(plain.view, N_Q, N_KV);
            truth_ok(posenc_rope_apply(rope, &q, positions, &q, direction, posenc_range_all()));
            truth_ok(posenc_rope_apply(rope, &k, positions, &k, direction, posenc_range_all()));
            truth_same_views(&packed.view, &plain.view, "packed QKV");
            truth_nothing_else_changed(&packed, params.n_offs, params.n_rot, "packed QKV");
            truth_tensor_free(&packed);
            truth_tensor_free(&plain);
            posenc_rope_free(rope);
        }
}

/* ---- RMS-norm ---- */

/* u = 2^-24. n squares are added in 32 lanes of at most ceil(n/32) fma each, then five times two lanes; all of them are
 * positive, so the sum is off by (ceil(n/32) + 5) u relative. Division by n and adding eps: u each. The root halves
 * that and adds u; its reciprocal, and two multiplications, u each. */
static double norm_error(int64_t n) {
    return TRUTH_U * TRUTH_SECOND_ORDER * (((double)((n + 31) / 32) + 5.0 + 2.0) / 2.0 + 4.0);
}

static void norm_reference(const truth_tensor *x, int64_t j, int64_t t, const float *weight, double eps, double *y) {
    int64_t n = x->view.ne[0];
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)truth_was(x, i, j, t, 0) * (double)truth_was(x, i, j, t, 0);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)truth_was(x, i, j, t, 0) / sqrt(sum / (double)n + eps) * (double)weight[i];
}

/* The norm, in every third call without weights, and the rotation in double at positions whose angles double holds to
 * 1e-12, and the bound of both: the normed channels are off by norm_error, the rotation adds what truth_reference.h
 * says. */
static void check_norm(const posenc_rope_params *p, posenc_dtype type, int rotates) {
    posenc_rope *rope = truth_rope_new(p);
    int64_t most_heads = truth_below(8) ? 5 : 150; /* more than have their norms made at a time */
    int64_t n = p->head_dim, ne[4] = {n, 1 + truth_below(most_heads), 1 + truth_below(4), 1};
    float weight[TRUTH_MAX_DIM], eps = truth_below(2) ? 1e-5f : 0.0f;
    int norms = truth_below(3) == 0;
    truth_fill(weight, (size_t)n);
    for (int64_t i = 0; i < n && norms; i++)
        weight[i] = 1.0f;
    int32_t positions[4];
    for (int t = 0; t < 4; t++)
        positions[t] = (int32_t)truth_below(2000);
    truth_tensor x = truth_tensor_random_of(type, ne), y = truth_tensor_random(ne);
    posenc_rope_tensor task = {x.view, y.view, rotates, 1.0f, norms ? NULL : weight, eps, NULL, NULL, 0, norms};
    truth_ok(posenc_rope_apply_tensors(rope, &task, 1, positions, NULL, POSENC_FORWARD, posenc_range_all()));
    truth_nothing_else_changed(&y, 0, n, "norm");
    double relative = norm_error(n), u = TRUTH_U * TRUTH_SECOND_ORDER;
    for (int64_t t = 0; t < ne[2]; t++)
        for (int64_t j = 0; j < ne[1]; j++) {
            double normed[TRUTH_MAX_DIM], want[TRUTH_MAX_DIM], bound[TRUTH_MAX_DIM];
            norm_reference(&x, j, t, weight, (double)eps, normed);
            for (int64_t i = 0; i < n; i++) {
                want[i] = normed[i];
                bound[i] = relative * fabs(normed[i]) + 0x1p-140;
            }
            for (int64_t i = 0; rotates && i < p->n_rot / 2; i++) {
                truth_pair at = truth_pair_read(p, i), to = truth_pair_written(p, i);
                double a = positions[t] * posenc_rope_theta(rope, i), c = cos(a), s = sin(a);
                double n0 = normed[at.first], n1 = normed[at.second], size = fabs(n0) + fabs(n1);
                want[to.first] = n0 * c - n1 * s;
                want[to.second] = n1 * c + n0 * s;
                double turned = u * size + 1e-12 * size;
                bound[to.first] =
                    relative * (fabs(n0 * c) + fabs(n1 * s)) + turned + u * (fabs(n1 * s) + fabs(want[to.first]));
                bound[to.second] =
                    relative * (fabs(n1 * c) + fabs(n0 * s)) + turned + u * (fabs(n0 * s) + fabs(want[to.second]));
            }
            for (int64_t i = 0; i < n; i++)
                truth_close((double)truth_get(&y.view, i, j, t, 0), want[i], bound[i],
                            "norm%s of %lld channels, channel %lld", rotates ? " and rotation" : "", (long long)n,
                            (long long)i);
        }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    posenc_rope_free(rope);
}

static void test_norm(void **state) {
    (void)state;
    enum { ROUNDS = 120 };
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < ROUNDS; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_DEINTERLEAVE);
            if (params.n_rot > 256)
                params.n_rot = 256; /* all that the norm goes with */
            check_norm(&params, types[round % 3], round % 4 != 0);
        }
    }
    print_message("%d random norms per tier\n", ROUNDS);
}

/* The fused call gives the bits of the norm into float32, then the rotation from there, if the weights are powers of
 * two: they then multiply exactly, wherever they do. Into any type, scaled or not, the scale of the rotation being the
 * same rounding of the rows. */
static void test_norm_then_rope(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 90; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE);
            if (params.n_rot > 256)
                params.n_rot = 256;
            posenc_rope *rope = truth_rope_new(&params);
            int64_t ne[4] = {params.head_dim, 1 + truth_below(9), 1 + truth_below(6), 1};
            float weight[TRUTH_MAX_DIM], scale = round % 2 ? 0.088388346f : 1.0f;
            for (int64_t i = 0; i < ne[0]; i++)
                weight[i] = ldexpf(truth_below(2) ? 1.0f : -1.0f, (int)truth_below(9) - 4);
            int32_t positions[6];
            truth_random_positions(positions, 1, 6);
            posenc_direction direction = truth_random_direction(&params);
            posenc_dtype to = types[round / 3 % 3];
            truth_tensor x = truth_tensor_random_of(types[round % 3], ne), normed = truth_tensor_random(ne);
            truth_tensor fused = truth_tensor_random_of(to, ne), apart = truth_tensor_random_of(to, ne);
            posenc_rope_tensor both = {x.view, fused.view, 1, scale, weight, 1e-6f, NULL, NULL, 0, 0};
            posenc_rope_tensor norm = {x.view, normed.view, 0, 1.0f, weight, 1e-6f, NULL, NULL, 0, 0};
            posenc_rope_tensor turn = {normed.view, apart.view, 1, scale, NULL, 0.0f, NULL, NULL, 0, 0};
            posenc_range all = posenc_range_all();
            truth_ok(posenc_rope_apply_tensors(rope, &both, 1, positions, NULL, direction, all));
            truth_ok(posenc_rope_apply_tensors(rope, &norm, 1, NULL, NULL, direction, all));
            truth_ok(posenc_rope_apply_tensors(rope, &turn, 1, positions, NULL, direction, all));
            truth_same_views(&fused.view, &apart.view, "norm, then rotation");
            truth_tensor_free(&x);
            truth_tensor_free(&normed);
            truth_tensor_free(&fused);
            truth_tensor_free(&apart);
            posenc_rope_free(rope);
        }
}

/* ---- A cache ---- */

/* K rotated into the cache's type and copied row by row, V converted and copied: the bytes of one call. Rows that no
 * token names keep theirs. */
static void test_scatter(void **state) {
    (void)state;
    enum { TOKENS = 9, ROWS = 32 };
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 90; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE | TRUTH_AXES);
            posenc_rope *rope = truth_rope_new(&params);
            int64_t ne[4] = {params.head_dim, 1 + truth_below(4), TOKENS, 1}, cache[4] = {ne[0], ne[1], ROWS, 1};
            posenc_dtype from = types[round % 3], to = types[round / 3 % 3];
            truth_tensor k = truth_tensor_random_of(from, ne), v = truth_tensor_random_of(from, ne);
            truth_tensor k_cache = truth_tensor_random_of(to, cache), v_cache = truth_tensor_random_of(to, cache);
            truth_tensor rotated = truth_tensor_random_of(to, ne);
            int32_t positions[TOKENS * POSENC_MAX_AXES], rows32[TOKENS];
            int64_t rows64[TOKENS], first = truth_below(ROWS), step = 2 * truth_below(ROWS / 2) + 1; /* all different */
            truth_random_positions(positions, posenc_rope_axis_count(rope), TOKENS);
            for (int64_t t = 0; t < TOKENS; t++)
                rows32[t] = (int32_t)(rows64[t] = (first + t * step) % ROWS);
            posenc_rope_tensor tasks[] = {
                {.x = k.view, .y = k_cache.view, .rotates = 1, .scale = 1.0f, .rows32 = rows32},
                {.x = v.view, .y = v_cache.view, .scale = 1.0f, .rows64 = rows64}};
            truth_ok(posenc_rope_apply_tensors(rope, tasks, 2, positions, NULL, POSENC_FORWARD, posenc_range_all()));

            truth_ok(posenc_rope_apply(rope, &k.view, positions, &rotated.view, POSENC_FORWARD, posenc_range_all()));
            for (int kind = 0; kind < 2; kind++) { /* the copies */
                truth_tensor *got = kind ? &v_cache : &k_cache, expected = truth_tensor_random_of(to, cache);
                TRUTH_EACH(&expected.view, i, j, t, b)
                truth_store(truth_address(&expected.view, i, j, t, b), truth_was(got, i, j, t, b), to);
                for (int64_t t = 0; t < TOKENS; t++) {
                    posenc_view row = expected.view, source = kind ? v.view : rotated.view;
                    row.data = truth_address(&row, 0, 0, rows64[t], 0);
                    source.data = truth_address(&source, 0, 0, t, 0);
                    row.ne[2] = source.ne[2] = 1;
                    truth_convert(&source, &row);
                }
                truth_same_views(&got->view, &expected.view, kind ? "V in the cache" : "K in the cache");
                truth_nothing_else_changed(got, 0, ne[0], "cache");
                truth_tensor_free(&expected);
            }
            truth_tensor_free(&k);
            truth_tensor_free(&v);
            truth_tensor_free(&k_cache);
            truth_tensor_free(&v_cache);
            truth_tensor_free(&rotated);
            posenc_rope_free(rope);
        }
}

/* Two tokens that name one row: the later one stands there. */
static void test_scatter_to_one_row(void **state) {
    (void)state;
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, 8, 8, 0);
    posenc_rope *rope = truth_rope_new(&params);
    truth_tensor x = truth_tensor_dense(8, 2, 3, 1), y = truth_tensor_dense(8, 2, 2, 1);
    int32_t rows[3] = {1, 1, 1};
    posenc_rope_tensor task = {.x = x.view, .y = y.view, .scale = 1.0f, .rows32 = rows};
    truth_ok(posenc_rope_apply_tensors(rope, &task, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()));
    truth_same_bits(truth_at(&y.view, 0, 0, 1, 0), truth_at(&x.view, 0, 0, 2, 0), 16, "the last token");
    float was = truth_was(&y, 0, 0, 0, 0);
    truth_same_bits(truth_at(&y.view, 0, 0, 0, 0), &was, 1, "the other row");
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    posenc_rope_free(rope);
}

/* ---- Scale ---- */

/* A power of two multiplies exactly: the scaled rotation is the rotation, scaled. */
static void test_scale(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 60; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE);
            if (round % 10 == 0) /* more pairs than are rotated at a time, and channels beside them */
                params = truth_rope_params(POSENC_ROPE_INTERLEAVED, 640, 600, 9);
            posenc_rope *rope = truth_rope_new(&params);
            int64_t ne[4] = {params.head_dim, 3, 4, 1};
            int32_t positions[4];
            truth_random_positions(positions, 1, 4);
            truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), z = truth_tensor_random(ne);
            float scale = round % 2 ? 0.125f : -4.0f;
            posenc_rope_tensor task = {.x = x.view, .y = y.view, .rotates = 1, .scale = scale};
            truth_ok(posenc_rope_apply_tensors(rope, &task, 1, positions, NULL, POSENC_FORWARD, posenc_range_all()));
            truth_ok(posenc_rope_apply(rope, &x.view, positions, &z.view, POSENC_FORWARD, posenc_range_all()));
            TRUTH_EACH(&z.view, i, j, t, b)
            *truth_at(&z.view, i, j, t, b) *= scale;
            truth_same_views(&y.view, &z.view, "scaled");
            if (params.layout != POSENC_ROPE_DEINTERLEAVE) { /* in place, where no channel may be scaled twice */
                task.y = x.view;
                truth_ok(
                    posenc_rope_apply_tensors(rope, &task, 1, positions, NULL, POSENC_FORWARD, posenc_range_all()));
                truth_same_views(&x.view, &z.view, "scaled in place");
            }
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            truth_tensor_free(&z);
            posenc_rope_free(rope);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_packed_qkv),         truth_test(test_norm),
        truth_test(test_norm_then_rope),     truth_test(test_scatter),
        truth_test(test_scatter_to_one_row), truth_test(test_scale),
    };
    return truth_run(tests);
}
