/* SPDX-License-Identifier: MIT */
/* Tables with a value for each channel: against the statement of rope.h, a reference in double, the table with a value
 * for each pair, and the transpose. */
#include "truth_half.h"
#include "truth_rope.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 5, ROUNDS = 150 };

static const posenc_dtype types[] = {POSENC_F32, POSENC_F16, POSENC_BF16};

/* A rope and a table of exactly its size, the two channels of a pair at different angles. */
typedef struct model {
    posenc_rope_params params;
    posenc_rope *rope;
    float *cos, *sin;
    posenc_rope_table table;
} model;

static void open_model(model *m, posenc_rope_params params) {
    m->params = params;
    m->rope = truth_rope_new(&params);
    int64_t n_rot = params.n_rot, stride = n_rot + truth_below(4);
    size_t n = (size_t)(stride * (TOKENS - 1) + n_rot);
    m->cos = malloc(n * sizeof(float) + 1);
    m->sin = malloc(n * sizeof(float) + 1);
    assert_true(m->cos != NULL && m->sin != NULL);
    for (size_t i = 0; i < n; i++) {
        double angle = truth_uniform(-4.0, 4.0);
        m->cos[i] = (float)cos(angle);
        m->sin[i] = (float)sin(angle);
    }
    m->table = (posenc_rope_table){m->cos, m->sin, stride, 1, 1};
}

static void close_model(model *m) {
    posenc_rope_free(m->rope);
    free(m->cos);
    free(m->sin);
}

/* Sometimes more pairs than a slice has; sometimes each section halved. */
static posenc_rope_params random_params(int round) {
    posenc_rope_params params = truth_rope_random(TRUTH_PLAIN);
    if (round % 10 == 1)
        params = truth_rope_params(round % 20 == 1 ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED, 640, 600, 9);
    if (round % 10 == 2) {
        params = truth_rope_params(POSENC_ROPE_HALF_BY_AXIS, 70, 60, 7);
        params.axes = (posenc_rope_axes){POSENC_AXES_AXIAL, 3, {4, 19, 7, 0}};
    }
    return params;
}

/* Channels of pair i, counted from channel n_offs: where its values are in the table. */
static truth_pair channels_of(const posenc_rope_params *p, int64_t i) {
    int64_t begin = 0, half = p->n_rot / 2;
    if (p->layout == POSENC_ROPE_INTERLEAVED)
        return (truth_pair){2 * i, 2 * i + 1};
    for (int axis = 0; p->layout == POSENC_ROPE_HALF_BY_AXIS; axis++) {
        half = p->axes.sections[axis];
        if (i < begin + half)
            break;
        begin += half;
    }
    return (truth_pair){begin + i, begin + i + half};
}

static float at(const float *row, const model *m, int64_t t, int64_t channel) {
    return row[t * m->table.row_stride + channel];
}

/* The head in float32 as rope.h states it, and in double. */
static void rotate(const model *m, int64_t t, posenc_direction direction, const float *x, float *y, double *real) {
    for (int64_t i = 0; i < m->params.head_dim; i++)
        real[i] = (double)(y[i] = x[i]);
    for (int64_t i = 0; i < m->params.n_rot / 2; i++) {
        truth_pair c = channels_of(&m->params, i);
        int64_t a = c.first + m->params.n_offs, b = c.second + m->params.n_offs;
        float cos_a = at(m->cos, m, t, c.first), cos_b = at(m->cos, m, t, c.second);
        float sin_a = at(m->sin, m, t, c.first), sin_b = at(m->sin, m, t, c.second);
        double to_a = direction == POSENC_FORWARD ? -(double)sin_a : (double)sin_b;
        double to_b = direction == POSENC_FORWARD ? (double)sin_b : -(double)sin_a;
        y[a] = direction == POSENC_FORWARD ? fmaf(x[a], cos_a, -(x[b] * sin_a)) : fmaf(x[a], cos_a, x[b] * sin_b);
        y[b] = direction == POSENC_FORWARD ? fmaf(x[b], cos_b, x[a] * sin_b) : fmaf(x[b], cos_b, -(x[a] * sin_a));
        real[a] = (double)x[a] * (double)cos_a + (double)x[b] * to_a;
        real[b] = (double)x[b] * (double)cos_b + (double)x[a] * to_b;
    }
}

static void check(const model *m, const posenc_view *y, const truth_tensor *x, posenc_direction direction) {
    int64_t n = m->params.head_dim;
    for (int64_t b = 0; b < y->ne[3]; b++)
        for (int64_t t = 0; t < TOKENS; t++)
            for (int64_t h = 0; h < y->ne[1]; h++) {
                float head[TRUTH_MAX_DIM], want[TRUTH_MAX_DIM];
                double real[TRUTH_MAX_DIM];
                for (int64_t i = 0; i < n; i++)
                    head[i] = truth_was(x, i, h, t, b);
                rotate(m, t, direction, head, want, real);
                for (int64_t i = 0; i < n; i++) {
                    float stored = 0.0f;
                    truth_store(&stored, want[i], y->dtype);
                    if (memcmp(truth_address(y, i, h, t, b), &stored, (size_t)y->nb[0]) != 0)
                        fail_msg("channel %lld of %lld, layout %d: %g is not %g", (long long)i, (long long)n,
                                 (int)m->params.layout, (double)truth_get(y, i, h, t, b), (double)want[i]);
                    if (y->dtype == POSENC_F32) /* a product below 2 and a sum below 4, each rounded */
                        truth_close((double)truth_get(y, i, h, t, b), real[i], 0x1p-23 + 0x1p-24, "channel %lld",
                                    (long long)i);
                }
            }
}

static void test_statement(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < ROUNDS; round++) {
            model m;
            open_model(&m, random_params(round));
            posenc_direction direction = round % 2 ? POSENC_BACKWARD : POSENC_FORWARD;
            int64_t ne[4] = {m.params.head_dim, 1 + truth_below(6), TOKENS, 1 + truth_below(2)};
            truth_tensor x = truth_tensor_random_of(types[round % 3], ne);
            truth_tensor y = truth_tensor_random_of(types[round / 3 % 3], ne);
            posenc_range all = posenc_range_all();
            truth_ok(posenc_rope_apply_table(m.rope, &x.view, &m.table, &y.view, direction, all));
            check(&m, &y.view, &x, direction);
            truth_nothing_else_changed(&y, 0, ne[0], "out of place");
            truth_ok(posenc_rope_apply_table(m.rope, &x.view, &m.table, &x.view, direction, all));
            check(&m, &x.view, &x, direction);
            truth_nothing_else_changed(&x, m.params.n_offs, m.params.n_rot, "in place");
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            close_model(&m);
        }
}

/* With both channels of a pair at its angle: the bits of the table that has it once; fused with norm, scale and
 * conversion too. */
static void test_equal_angles(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < ROUNDS; round++) {
            posenc_rope_params params = random_params(round);
            if (params.n_rot > 256)
                params.n_rot = 256;
            model m;
            open_model(&m, params);
            int64_t n_pairs = params.n_rot / 2, ne[4] = {params.head_dim, 3, TOKENS, 1};
            float *rows = malloc((size_t)(2 * n_pairs * TOKENS) * sizeof(float) + 1), weight[TRUTH_MAX_DIM];
            assert_non_null(rows);
            posenc_rope_table pairs = posenc_rope_table_dense(m.rope, rows);
            for (int64_t i = 0; i < TOKENS * n_pairs; i++) {
                int64_t t = i / n_pairs;
                truth_pair c = channels_of(&params, i % n_pairs);
                m.cos[t * m.table.row_stride + c.second] = at(m.cos, &m, t, c.first);
                m.sin[t * m.table.row_stride + c.second] = at(m.sin, &m, t, c.first);
                pairs.cos[t * pairs.row_stride + i % n_pairs] = at(m.cos, &m, t, c.first);
                pairs.sin[t * pairs.row_stride + i % n_pairs] = at(m.sin, &m, t, c.first);
            }
            truth_fill(weight, (size_t)ne[0]);
            posenc_direction direction = round % 2 ? POSENC_BACKWARD : POSENC_FORWARD;
            truth_tensor x = truth_tensor_random_of(types[round % 3], ne);
            truth_tensor y = truth_tensor_random_of(types[round / 3 % 3], ne);
            truth_tensor z = truth_tensor_random_of(types[round / 3 % 3], ne);
            posenc_rope_tensor task = {.x = x.view, .y = y.view, .rotates = 1, .scale = 0.3f, .eps = 1e-6f};
            task.weight = round % 5 ? weight : NULL;
            posenc_range all = posenc_range_all();
            truth_ok(posenc_rope_apply_tensors(m.rope, &task, 1, NULL, &m.table, direction, all));
            task.y = z.view;
            truth_ok(posenc_rope_apply_tensors(m.rope, &task, 1, NULL, &pairs, direction, all));
            truth_same_views(&y.view, &z.view, "equal angles");
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            truth_tensor_free(&z);
            free(rows);
            close_model(&m);
        }
}

/* R x . y = x . R^T y for integers that float32 holds exactly: with values of the table that are powers of two. */
static void test_transpose(void **state) {
    (void)state;
    static const float values[] = {0.0f, 1.0f, -1.0f, 0.5f, -2.0f};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < ROUNDS; round++) {
            model m;
            open_model(&m, random_params(round));
            for (int64_t i = 0; i < m.table.row_stride * (TOKENS - 1) + m.params.n_rot; i++) {
                m.cos[i] = values[truth_below(5)];
                m.sin[i] = values[truth_below(5)];
            }
            truth_tensor x = truth_tensor_dense(m.params.head_dim, 2, TOKENS, 1);
            truth_tensor y = truth_tensor_dense(m.params.head_dim, 2, TOKENS, 1);
            truth_tensor to = truth_tensor_dense(m.params.head_dim, 2, TOKENS, 1);
            double forward = 0.0, backward = 0.0;
            TRUTH_EACH(&x.view, i, j, t, b) {
                *truth_at(&x.view, i, j, t, b) = (float)truth_below(9) - 4.0f;
                *truth_at(&y.view, i, j, t, b) = (float)truth_below(9) - 4.0f;
            }
            posenc_range all = posenc_range_all();
            truth_ok(posenc_rope_apply_table(m.rope, &x.view, &m.table, &to.view, POSENC_FORWARD, all));
            TRUTH_EACH(&x.view, i, j, t, b)
            forward += (double)*truth_at(&to.view, i, j, t, b) * (double)*truth_at(&y.view, i, j, t, b);
            truth_ok(posenc_rope_apply_table(m.rope, &y.view, &m.table, &to.view, POSENC_BACKWARD, all));
            TRUTH_EACH(&x.view, i, j, t, b)
            backward += (double)*truth_at(&to.view, i, j, t, b) * (double)*truth_at(&x.view, i, j, t, b);
            assert_true(forward == backward);
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            truth_tensor_free(&to);
            close_model(&m);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_statement),
        truth_test(test_equal_angles),
        truth_test(test_transpose),
    };
    return truth_run(tests);
}
