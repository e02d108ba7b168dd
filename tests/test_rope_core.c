/* SPDX-License-Identifier: MIT */
/* RoPE against the reference (truth_reference.h), its properties at positions up to 2^31, and the same bits however it
 * is called. */
#include "truth_reference.h"

#include <math.h>
#include <string.h>

#define TURN TRUTH_TURN

/* ---- Against the reference ---- */

/* One call out of place and one in place, on every tier. */
static void check_call(const posenc_rope_params *params, const int64_t ne[4], posenc_direction direction) {
    posenc_rope *rope = truth_rope_new(params);
    truth_reference reference = truth_reference_new(params);
    int32_t positions[TRUTH_MAX_POSITIONS];
    truth_random_positions(positions, posenc_rope_axis_count(rope), ne[2]);
    truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), first = truth_tensor_random(ne);
    for (int tier = -1, n_tiers = 0; truth_next_tier(&tier); n_tiers++) {
        truth_ok(posenc_rope_apply(rope, &x.view, positions, &y.view, direction, posenc_range_all()));
        truth_nothing_changed(&x, "input");
        truth_nothing_else_changed(&y, 0, ne[0], "out of place");
        if (n_tiers == 0)
            truth_copy(&y.view, &first.view);
        truth_same_views(&y.view, &first.view, "tiers differ");
    }
    truth_reference_check(&reference, &x, &y.view, positions, direction);
    for (int tier = -1; params->layout != POSENC_ROPE_DEINTERLEAVE && truth_next_tier(&tier);) {
        truth_reset(&x);
        truth_ok(posenc_rope_apply(rope, &x.view, positions, &x.view, direction, posenc_range_all()));
        truth_same_views(&x.view, &y.view, "in place");
        truth_nothing_else_changed(&x, params->n_offs, params->n_rot, "in place");
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&first);
    truth_reference_free(&reference);
    posenc_rope_free(rope);
}

static void test_reference(void **state) {
    (void)state;
    enum { ROUNDS = 160 };
    int seen[3][4] = {{0}};
    for (int round = 0; round < ROUNDS; round++) {
        posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE);
        posenc_direction direction = truth_random_direction(&params);
        int64_t ne[4] = {params.head_dim, 1 + truth_below(5), 1 + truth_below(12), 1 + truth_below(3)};
        check_call(&params, ne, direction);
        seen[params.layout - 1][direction]++;
    }
    for (int direction = 0; direction < 4; direction++)
        assert_true(seen[0][direction] > 0 && seen[1][direction] > 0 && (direction > 0 || seen[2][direction] > 0));
    print_message("%d random calls against the reference\n", ROUNDS);
}

/* One head broadcast to many: input strides of 0. */
static void test_broadcast_input(void **state) {
    (void)state;
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, 48, 32, 8);
    posenc_rope *rope = truth_rope_new(&params);
    truth_reference reference = truth_reference_new(&params);
    truth_tensor x = truth_tensor_dense(48, 1, 1, 1), y = truth_tensor_dense(48, 3, 4, 2);
    memcpy(x.view.ne, y.view.ne, sizeof x.view.ne);
    x.view.nb[1] = x.view.nb[2] = x.view.nb[3] = 0;
    int32_t positions[4] = {0, -7, 1000000, INT32_MIN};
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_rope_apply(rope, &x.view, positions, &y.view, POSENC_FORWARD, posenc_range_all()));
        truth_reference_check(&reference, &x, &y.view, positions, POSENC_FORWARD);
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_reference_free(&reference);
    posenc_rope_free(rope);
}

/* From one slice of every token's row to another: they lie between each other, and were refused as overlapping. */
static void test_packed_slices(void **state) {
    (void)state;
    enum { DIM = 16, HEADS = 3, TOKENS = 5, BATCH = 2, SLICES = 3 };
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, DIM, DIM, 0);
    posenc_rope *rope = truth_rope_new(&params);
    static const int32_t positions[TOKENS] = {0, 5, -7, 1000000, 31};
    truth_tensor packed = truth_tensor_dense(DIM, SLICES * HEADS, TOKENS, BATCH),
                 want = truth_tensor_dense(DIM, HEADS, TOKENS, BATCH);
    posenc_view slices[SLICES];
    for (int i = 0; i < SLICES; i++) {
        slices[i] = packed.view;
        slices[i].ne[1] = HEADS;
        slices[i].data = truth_at(&packed.view, 0, i * HEADS, 0, 0);
    }
    for (int from = 0; from < SLICES; from++)
        for (int to = 0; to < SLICES; to++) {
            truth_ok(posenc_rope_apply(rope, &slices[from], positions, &want.view, POSENC_FORWARD, posenc_range_all()));
            truth_ok(
                posenc_rope_apply(rope, &slices[from], positions, &slices[to], POSENC_FORWARD, posenc_range_all()));
            truth_same_views(&slices[to], &want.view, "slice to slice");
            posenc_view beside = slices[to]; /* one head further: two heads are common to both */
            beside.data = (char *)beside.data + (from == to) * packed.view.nb[1];
            posenc_status status =
                posenc_rope_apply(rope, &slices[from], positions, &beside, POSENC_FORWARD, posenc_range_all());
            assert_int_equal(status, from == to ? POSENC_ERR_OVERLAP : POSENC_OK);
        }
    truth_tensor_free(&packed);
    truth_tensor_free(&want);
    posenc_rope_free(rope);
}

/* ---- Properties, at positions up to 2^31 ---- */

static double radius(const posenc_rope_params *p, const float *x, int64_t i) {
    truth_pair pair = truth_pair_read(p, i);
    return hypot((double)x[pair.first], (double)x[pair.second]);
}

static double distance(const posenc_rope_params *p, const float *x, const float *y, int64_t i) {
    truth_pair pair = truth_pair_read(p, i);
    return hypot((double)x[pair.first] - (double)y[pair.first], (double)x[pair.second] - (double)y[pair.second]);
}

/* Two positions whose sum is a position. */
static void random_sum(int32_t *a, int32_t *b) {
    do {
        *a = truth_position();
        *b = truth_position();
    } while ((int64_t)*a + *b < INT32_MIN || (int64_t)*a + *b > INT32_MAX);
}

/* With magnitude m: rotations multiply it in, SHIFT does not, INVERSE takes it back. */
static void check_rotations(const posenc_rope_params *p, const posenc_rope *rope) {
    float x[TRUTH_MAX_DIM], xa[TRUTH_MAX_DIM], shifted[TRUTH_MAX_DIM], sum[TRUTH_MAX_DIM], back[TRUTH_MAX_DIM];
    int32_t a, b;
    random_sum(&a, &b);
    int32_t a_and_b = a + b;
    truth_fill(x, (size_t)p->head_dim);
    truth_turn(rope, p->head_dim, x, &a, POSENC_FORWARD, xa);
    truth_turn(rope, p->head_dim, xa, &b, POSENC_SHIFT, shifted);
    truth_turn(rope, p->head_dim, x, &a_and_b, POSENC_FORWARD, sum);
    truth_turn(rope, p->head_dim, xa, &a, POSENC_INVERSE, back);
    double m = posenc_rope_magnitude(rope);
    for (int64_t i = 0; i < p->n_rot / 2; i++) {
        double r = radius(p, x, i);
        truth_close(radius(p, xa, i), m * r, TURN * m * r, "norm of pair %lld at %d", (long long)i, a);
        truth_close(distance(p, shifted, sum, i), 0.0, 3.0 * TURN * m * r, "moved by %d from %d, pair %lld", b, a,
                    (long long)i);
        truth_close(distance(p, back, x, i), 0.0, 2.0 * TURN * r, "inverse at %d, pair %lld", a, (long long)i);
    }
}

/* <R_m q, R_n k> is <R_(m+d) q, R_(n+d) k>: each of four rotations is off by TURN times a radius. */
static void check_score(const posenc_rope_params *p, const posenc_rope *rope) {
    float q[TRUTH_MAX_DIM], k[TRUTH_MAX_DIM], qm[TRUTH_MAX_DIM], kn[TRUTH_MAX_DIM];
    int64_t dim = p->head_dim;
    truth_fill(q, (size_t)dim);
    truth_fill(k, (size_t)dim);
    int32_t m, n, shift;
    do {
        random_sum(&m, &shift);
        n = truth_below(2) ? m - (int32_t)truth_below(100) * (m > 0 ? 1 : -1) : truth_position();
    } while ((int64_t)n + shift < INT32_MIN || (int64_t)n + shift > INT32_MAX);
    int32_t m_moved = m + shift, n_moved = n + shift;
    truth_turn(rope, dim, q, &m, POSENC_FORWARD, qm);
    truth_turn(rope, dim, k, &n, POSENC_FORWARD, kn);
    double score = truth_dot(qm, kn, dim), m2 = posenc_rope_magnitude(rope) * posenc_rope_magnitude(rope);
    truth_turn(rope, dim, q, &m_moved, POSENC_FORWARD, qm);
    truth_turn(rope, dim, k, &n_moved, POSENC_FORWARD, kn);
    double bound = 1e-12;
    for (int64_t i = 0; i < p->n_rot / 2; i++)
        bound += 4.0 * TURN * TRUTH_SECOND_ORDER * m2 * radius(p, q, i) * radius(p, k, i);
    truth_close(truth_dot(qm, kn, dim), score, bound, "score of %d and %d shifted by %d", m, n, shift);
}

/* <dy, F x> is <B dy, x>, F forward and B backward, each off by TURN times m times a radius. */
static void check_transpose(const posenc_rope_params *p, const posenc_rope *rope) {
    float x[TRUTH_MAX_DIM], dy[TRUTH_MAX_DIM], y[TRUTH_MAX_DIM], dx[TRUTH_MAX_DIM];
    int32_t position = truth_position();
    truth_fill(x, (size_t)p->head_dim);
    truth_fill(dy, (size_t)p->head_dim);
    truth_turn(rope, p->head_dim, x, &position, POSENC_FORWARD, y);
    truth_turn(rope, p->head_dim, dy, &position, POSENC_BACKWARD, dx);
    double bound = 1e-12;
    for (int64_t i = 0; i < p->n_rot / 2; i++)
        bound += 2.0 * TURN * posenc_rope_magnitude(rope) * radius(p, x, i) * radius(p, dy, i);
    truth_close(truth_dot(dy, y, p->head_dim), truth_dot(dx, x, p->head_dim), bound, "transpose at %d", position);
}

static void test_properties(void **state) {
    (void)state;
    enum { ROUNDS = 300 };
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < ROUNDS; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE);
            posenc_rope *rope = truth_rope_new(&params);
            check_rotations(&params, rope);
            check_score(&params, rope);
            check_transpose(&params, rope);
            posenc_rope_free(rope);
        }
    }
    print_message("%d random heads per tier\n", ROUNDS);
}

/* Tokens that a shift leaves where they are keep their bytes, NaN payloads and all, in place and out of place. */
static void test_shift_by_zero(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 40; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE | (round % 2 ? TRUTH_AXES : 0));
            if (params.n_rot == 0)
                continue;
            posenc_rope *rope = truth_rope_new(&params);
            int64_t ne[4] = {params.head_dim, 1 + truth_below(3), 9, 2};
            int32_t positions[9 * POSENC_MAX_AXES];
            int n_axes = posenc_rope_axis_count(rope);
            for (int64_t i = 0; i < 9 * n_axes; i++)
                positions[i] =
                    i % 9 == 8 || i % 2 == 0 ? 0 : 1 + (int32_t)truth_below(1000); /* even ones stay mostly */
            truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne);
            TRUTH_EACH(&x.view, i, j, t, b) {
                uint32_t bits = (uint32_t)truth_random() | 0x7f800001u; /* some NaN */
                memcpy(truth_address(&x.view, i, j, t, b), &bits, sizeof bits);
            }
            truth_mark(&x);
            posenc_range all = posenc_range_all();
            truth_ok(posenc_rope_apply(rope, &x.view, positions, &y.view, POSENC_SHIFT, all));
            truth_ok(posenc_rope_apply(rope, &x.view, positions, &x.view, POSENC_SHIFT, all));
            for (int64_t t = 0; t < 9; t++) {
                int stays = 1;
                for (int axis = 0; axis < n_axes; axis++)
                    stays = stays && positions[axis * 9 + t] == 0;
                for (int64_t b = 0; stays && b < ne[3]; b++)
                    for (int64_t j = 0; j < ne[1]; j++) {
                        size_t n = (size_t)ne[0] * sizeof(float);
                        char *now = truth_address(&x.view, 0, j, t, b);
                        const char *was = (char *)x.before + (now - (char *)x.buffer);
                        assert_memory_equal(now, was, n);
                        assert_memory_equal(truth_address(&y.view, 0, j, t, b), was, n);
                    }
            }
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            posenc_rope_free(rope);
        }
}

/* ---- The same bits however it is called ---- */

typedef struct whole {
    posenc_rope_params params;
    posenc_rope *rope;
    posenc_direction direction;
    int32_t positions[TRUTH_MAX_POSITIONS];
    truth_tensor x, y; /* y: the whole call's result */
} whole;

static whole random_whole(void) {
    whole w = {.params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_AXES * (int)truth_below(2) | TRUTH_DEINTERLEAVE)};
    w.rope = truth_rope_new(&w.params);
    w.direction = truth_random_direction(&w.params);
    int64_t ne[4] = {w.params.head_dim, 1 + truth_below(7), 1 + truth_below(TRUTH_MAX_TOKENS), 1 + truth_below(2)};
    truth_random_positions(w.positions, posenc_rope_axis_count(w.rope), ne[2]);
    w.x = truth_tensor_random(ne);
    w.y = truth_tensor_random(ne);
    truth_ok(posenc_rope_apply(w.rope, &w.x.view, w.positions, &w.y.view, w.direction, posenc_range_all()));
    return w;
}

static void free_whole(whole *w) {
    truth_tensor_free(&w->x);
    truth_tensor_free(&w->y);
    posenc_rope_free(w->rope);
}

/* Random row ranges, last first, some empty: no row is written by a range that does not hold it. */
static void check_splits(const whole *w) {
    truth_tensor z = truth_tensor_random(w->x.view.ne);
    int64_t n_heads = z.view.ne[1], n_tokens = z.view.ne[2], end = n_heads * n_tokens * z.view.ne[3];
    while (end > 0) {
        posenc_range rows = {end - truth_below(end + 1) % 20, end};
        truth_ok(posenc_rope_apply(w->rope, &w->x.view, w->positions, &z.view, w->direction, rows));
        for (int64_t row = 0; row < rows.begin; row++)
            for (int64_t channel = 0; channel < z.view.ne[0]; channel++) {
                int64_t j = row % n_heads, t = row / n_heads % n_tokens, b = row / n_heads / n_tokens;
                float was = truth_was(&z, channel, j, t, b);
                truth_same_bits(truth_at(&z.view, channel, j, t, b), &was, 1, "row before the range");
            }
        end = rows.begin;
    }
    truth_same_views(&z.view, &w->y.view, "split");
    truth_nothing_else_changed(&z, 0, z.view.ne[0], "split");
    truth_tensor_free(&z);
}

/* One token at a time, from views of its own. */
static void check_decode(const whole *w) {
    truth_tensor z = truth_tensor_random(w->x.view.ne);
    for (int64_t b = 0; b < z.view.ne[3]; b++)
        for (int64_t t = 0; t < z.view.ne[2]; t++) {
            posenc_view x = w->x.view, y = z.view;
            int32_t position[POSENC_MAX_AXES];
            for (int axis = 0; axis < posenc_rope_axis_count(w->rope); axis++)
                position[axis] = w->positions[axis * z.view.ne[2] + t];
            x.data = truth_at(&w->x.view, 0, 0, t, b);
            y.data = truth_at(&z.view, 0, 0, t, b);
            x.ne[2] = x.ne[3] = y.ne[2] = y.ne[3] = 1;
            truth_ok(posenc_rope_apply(w->rope, &x, position, &y, w->direction, posenc_range_all()));
        }
    truth_same_views(&z.view, &w->y.view, "token by token");
    truth_tensor_free(&z);
}

static void test_ways_to_call(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 60; round++) {
            whole w = random_whole();
            check_splits(&w);
            check_decode(&w);
            free_whole(&w);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_reference),     truth_test(test_broadcast_input), truth_test(test_properties),
        truth_test(test_shift_by_zero), truth_test(test_ways_to_call),    truth_test(test_packed_slices),
    };
    return truth_run(tests);
}
