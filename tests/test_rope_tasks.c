/* SPDX-License-Identifier: MIT */
/* posenc_rope_apply_tensors: any set of tasks against each element computed alone, in float32 as in rope.h; one call
 * against many; splits; cosines from a table. test_rope_fused.c shows the uses of the pieces. */
#include "truth_half.h"
#include "truth_rope.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TASKS = 4, MOST_TOKENS = 12, CACHE_ROWS = 20 };

/* ---- A set of tasks at random ---- */

typedef struct task_memory {
    truth_tensor x, y; /* x.buffer is NULL for a task in place */
    float weight[TRUTH_MAX_DIM];
    int32_t rows32[MOST_TOKENS];
    int64_t rows64[MOST_TOKENS];
} task_memory;

typedef struct task_set {
    posenc_rope_params params;
    posenc_rope *rope;
    posenc_direction direction;
    int64_t n_tokens, n_tasks;
    int32_t positions[TRUTH_MAX_POSITIONS];
    posenc_rope_tensor tasks[MOST_TASKS];
    task_memory memory[MOST_TASKS];
} task_set;

/* Different rows of the cache for the tokens, in any order. */
static void random_rows(task_memory *m, int64_t n_tokens) {
    int32_t all[CACHE_ROWS];
    for (int32_t k = 0; k < CACHE_ROWS; k++)
        all[k] = k;
    for (int64_t t = 0; t < n_tokens; t++) {
        int64_t k = t + truth_below(CACHE_ROWS - t);
        m->rows32[t] = all[k];
        m->rows64[t] = all[k];
        all[k] = all[t];
    }
}

static void random_task(task_set *s, posenc_rope_tensor *task, task_memory *m) {
    int64_t ne[4] = {s->params.head_dim, 1 + truth_below(5), s->n_tokens, 1}, cache[4];
    memcpy(cache, ne, sizeof cache);
    posenc_dtype x_type = (posenc_dtype)truth_below(3), y_type = (posenc_dtype)truth_below(3);
    *task = (posenc_rope_tensor){.rotates = truth_below(4) != 0, .scale = 1.0f};
    if (truth_below(3) == 0)
        task->scale = (float)truth_uniform(-2.0, 2.0);
    if (truth_below(3) == 0 && s->params.n_rot <= 256) {
        truth_fill(m->weight, (size_t)ne[0]);
        task->weight = m->weight;
        task->eps = truth_below(4) ? 1e-6f : 0.0f;
    }
    task->norms = truth_below(4) == 0 && s->params.n_rot <= 256;
    int deinterleaves = s->params.layout == POSENC_ROPE_DEINTERLEAVE && task->rotates;
    if (truth_below(3) == 0 && !deinterleaves) {
        m->y = truth_tensor_random_of(y_type, ne);
        task->x = task->y = m->y.view;
        m->x = (truth_tensor){.buffer = NULL};
        return;
    }
    if (truth_below(2)) {
        random_rows(m, s->n_tokens);
        cache[2] = CACHE_ROWS;
        if (truth_below(2))
            task->rows32 = m->rows32;
        else
            task->rows64 = m->rows64;
    }
    m->x = truth_tensor_random_of(x_type, ne);
    m->y = truth_tensor_random_of(y_type, cache);
    task->x = m->x.view;
    task->y = m->y.view;
}

static task_set *random_set(void) {
    task_set *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE | TRUTH_AXES * (int)truth_below(2));
    s->rope = truth_rope_new(&s->params);
    s->direction = truth_random_direction(&s->params);
    s->n_tokens = 1 + truth_below(MOST_TOKENS);
    s->n_tasks = 1 + truth_below(MOST_TASKS);
    truth_random_positions(s->positions, posenc_rope_axis_count(s->rope), s->n_tokens);
    if (s->direction == POSENC_SHIFT) /* tokens that stay */
        for (int64_t t = 0; t < s->n_tokens; t += 2)
            for (int axis = 0; axis < posenc_rope_axis_count(s->rope); axis++)
                s->positions[axis * s->n_tokens + t] = 0;
    for (int64_t i = 0; i < s->n_tasks; i++)
        random_task(s, &s->tasks[i], &s->memory[i]);
    return s;
}

static void free_set(task_set *s) {
    for (int64_t i = 0; i < s->n_tasks; i++) {
        truth_tensor_free(&s->memory[i].x);
        truth_tensor_free(&s->memory[i].y);
    }
    posenc_rope_free(s->rope);
    free(s);
}

static int64_t n_rows(const task_set *s) {
    int64_t heads = 0;
    for (int64_t i = 0; i < s->n_tasks; i++)
        heads += s->tasks[i].x.ne[1];
    return heads * s->n_tokens;
}

static void reset_outputs(task_set *s) {
    for (int64_t i = 0; i < s->n_tasks; i++)
        truth_reset(&s->memory[i].y);
}

/* ---- Expected elements ---- */

/* Row of y that token t goes to. */
static int64_t row_of(const posenc_rope_tensor *task, int64_t t) {
    return task->rows32 != NULL ? task->rows32[t] : task->rows64 != NULL ? task->rows64[t] : t;
}

/* A head as float32, after a norm with weights of 1. The norm alone is held to a reference in test_rope_fused.c. */
static void read_head(const task_set *s, int64_t k, int64_t j, int64_t t, float *head) {
    const posenc_rope_tensor *task = &s->tasks[k];
    const truth_tensor *x = task->x.data == task->y.data ? &s->memory[k].y : &s->memory[k].x;
    int64_t n = s->params.head_dim;
    for (int64_t i = 0; i < n; i++)
        head[i] = truth_was(x, i, j, t, 0);
    if (task->weight == NULL && !task->norms)
        return;
    float normed[TRUTH_MAX_DIM], ones[TRUTH_MAX_DIM];
    for (int64_t i = 0; i < n; i++)
        ones[i] = 1.0f;
    posenc_rope_tensor norm = {.x = posenc_view_dense(head, POSENC_F32, n, 1, 1, 1),
                               .y = posenc_view_dense(normed, POSENC_F32, n, 1, 1, 1),
                               .scale = 1.0f,
                               .weight = ones,
                               .eps = task->eps};
    truth_ok(posenc_rope_apply_tensors(s->rope, &norm, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()));
    memcpy(head, normed, (size_t)n * sizeof(float));
}

/* Rotated, or not, weighted and scaled: in float32. */
static void make_head(const task_set *s, const posenc_rope_tensor *task, const float *x, const float *cosines,
                      const float *sines, float *y) {
    int backwards = s->direction == POSENC_INVERSE || s->direction == POSENC_BACKWARD;
    float w[TRUTH_MAX_DIM];
    for (int64_t i = 0; i < s->params.head_dim; i++) {
        w[i] = task->weight != NULL ? task->weight[i] : 1.0f;
        y[i] = x[i] * (w[i] * task->scale);
    }
    for (int64_t i = 0; task->rotates && i < s->params.n_rot / 2; i++) {
        truth_pair from = truth_pair_read(&s->params, i), to = truth_pair_written(&s->params, i);
        float x0 = x[from.first], x1 = x[from.second], w0 = w[from.first], w1 = w[from.second];
        float cosine = cosines[i] * task->scale, sine = sines[i] * (backwards ? -task->scale : task->scale);
        y[to.first] = fmaf(x0, cosine * w0, -(x1 * (sine * w1)));
        y[to.second] = fmaf(x1, cosine * w1, x0 * (sine * w0));
    }
}

/* Every element of every output, and nothing beside them. */
static void check_set(task_set *s) {
    int64_t n_pairs = posenc_rope_pair_count(s->rope);
    float *rows = malloc((size_t)posenc_rope_table_bytes(s->rope, s->n_tokens) + 1);
    assert_non_null(rows);
    posenc_rope_table table = posenc_rope_table_dense(s->rope, rows);
    truth_ok(posenc_rope_table_fill(s->rope, s->positions, s->n_tokens, s->direction, &table));
    for (int64_t k = 0; k < s->n_tasks; k++) {
        const posenc_rope_tensor *task = &s->tasks[k];
        truth_tensor *y = &s->memory[k].y;
        char *expected = malloc(y->n_elements * truth_size(y->view.dtype));
        assert_non_null(expected);
        memcpy(expected, y->before, y->n_elements * truth_size(y->view.dtype));
        for (int64_t t = 0; t < s->n_tokens; t++)
            for (int64_t j = 0; j < task->x.ne[1]; j++) {
                float x[TRUTH_MAX_DIM], head[TRUTH_MAX_DIM];
                read_head(s, k, j, t, x);
                make_head(s, task, x, rows + 2 * n_pairs * t, rows + 2 * n_pairs * t + n_pairs, head);
                for (int64_t i = 0; i < s->params.head_dim; i++) {
                    char *element = truth_address(&y->view, i, j, row_of(task, t), 0);
                    truth_store(expected + (element - (char *)y->buffer), head[i], y->view.dtype);
                }
            }
        if (memcmp(y->buffer, expected, y->n_elements * truth_size(y->view.dtype)) != 0)
            fail_msg("%s, %s: task %d of %d: rotates %d, scale %g, %s, types %d to %d, %s",
                     posenc_isa_name(posenc_isa()), truth_direction_name(s->direction), (int)k, (int)s->n_tasks,
                     task->rotates, (double)task->scale, task->weight != NULL ? "norm" : "no norm", task->x.dtype,
                     task->y.dtype, task->x.data == task->y.data ? "in place" : "out of place");
        if (task->x.data != task->y.data)
            truth_nothing_changed(&s->memory[k].x, "input of a task");
        free(expected);
    }
    free(rows);
}

/* ---- Ways to run a set ---- */

static void run_at_once(task_set *s) {
    truth_ok(
        posenc_rope_apply_tensors(s->rope, s->tasks, s->n_tasks, s->positions, NULL, s->direction, posenc_range_all()));
}

static void run_one_by_one(task_set *s) {
    for (int64_t i = 0; i < s->n_tasks; i++)
        truth_ok(
            posenc_rope_apply_tensors(s->rope, &s->tasks[i], 1, s->positions, NULL, s->direction, posenc_range_all()));
}

/* Random ranges, the last first, some empty. */
static void run_in_ranges(task_set *s) {
    for (int64_t end = n_rows(s); end > 0;) {
        posenc_range rows = {end - truth_below(end + 1) % 15, end};
        truth_ok(posenc_rope_apply_tensors(s->rope, s->tasks, s->n_tasks, s->positions, NULL, s->direction, rows));
        end = rows.begin;
    }
}

/* Interleaved pairs, sines first: the form furthest from what positions give. */
static void run_from_table(task_set *s) {
    int64_t stride = 2 * posenc_rope_pair_count(s->rope) + 3;
    float *rows = malloc((size_t)(s->n_tokens * stride) * sizeof(float));
    assert_non_null(rows);
    posenc_rope_table table = {rows + 1, rows, stride, 2, 0};
    truth_ok(posenc_rope_table_fill(s->rope, s->positions, s->n_tokens, s->direction, &table));
    truth_ok(posenc_rope_apply_tensors(s->rope, s->tasks, s->n_tasks, NULL, &table, s->direction, posenc_range_all()));
    free(rows);
}

static void check_ways(void (*const ways[])(task_set *s), int n_ways, int rounds) {
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < rounds; round++) {
            task_set *s = random_set();
            for (int way = 0; way < n_ways; way++) {
                ways[way](s);
                check_set(s);
                reset_outputs(s);
            }
            free_set(s);
        }
    }
    print_message("%d random sets of tasks per tier\n", rounds);
}

static void test_sets(void **state) {
    (void)state;
    check_ways((void (*const[])(task_set *)){run_at_once}, 1, 400);
}

static void test_ways_to_run(void **state) {
    (void)state;
    check_ways((void (*const[])(task_set *)){run_one_by_one, run_in_ranges, run_from_table}, 3, 150);
}

/* A range writes no head outside it: each range alone, starting from the outputs as they were. */
static void test_ranges_alone(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 60; round++) {
            task_set *s = random_set();
            posenc_range rows = {truth_below(n_rows(s) + 1), 0};
            rows.end = rows.begin + truth_below(n_rows(s) - rows.begin + 1);
            truth_ok(posenc_rope_apply_tensors(s->rope, s->tasks, s->n_tasks, s->positions, NULL, s->direction, rows));
            int64_t heads = n_rows(s) / s->n_tokens, before = 0; /* heads of the tasks before */
            for (int64_t k = 0; k < s->n_tasks; before += s->tasks[k].x.ne[1], k++) {
                truth_tensor *y = &s->memory[k].y;
                for (int64_t t = 0; t < s->n_tokens; t++)
                    for (int64_t j = 0; j < y->view.ne[1]; j++) {
                        int64_t row = t * heads + before + j;
                        for (int64_t i = 0; i < y->view.ne[0] && (row < rows.begin || row >= rows.end); i++) {
                            float was = truth_was(y, i, j, row_of(&s->tasks[k], t), 0);
                            float is = truth_get(&y->view, i, j, row_of(&s->tasks[k], t), 0);
                            truth_same_bits(&is, &was, 1, "task %d, row %lld outside the range", (int)k,
                                            (long long)row);
                        }
                    }
            }
            free_set(s);
        }
}

/* Tokens of more than one slice that go to one cache row, some of which a shift leaves as they are: the last one is
 * what remains. It was a mix of two. */
static void test_shift_into_one_row(void **state) {
    (void)state;
    const struct {
        posenc_rope_layout layout;
        int64_t n_rot, n_offs;
    } ropes[] = {{POSENC_ROPE_HALF, 512, 0},
                 {POSENC_ROPE_INTERLEAVED, 512, 0},
                 {POSENC_ROPE_HALF, 400, 40},
                 {POSENC_ROPE_INTERLEAVED, 500, 3}};
    const int32_t positions[][3] = {{3, 0, 0}, {0, 0, -7}, {5, 0, 6}, {0, 0, 0}}, rows[3] = {1, 1, 1};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int which = 0; which < 16; which++) {
            posenc_rope_params params =
                truth_rope_params(ropes[which % 4].layout, 512, ropes[which % 4].n_rot, ropes[which % 4].n_offs);
            posenc_rope *rope = truth_rope_new(&params);
            truth_tensor x = truth_tensor_random((int64_t[4]){512, 2, 3, 1}),
                         y = truth_tensor_random((int64_t[4]){512, 2, 2, 1}),
                         one_by_one = truth_tensor_random((int64_t[4]){512, 2, 2, 1});
            truth_copy(&y.view, &one_by_one.view);
            posenc_rope_tensor task = {.x = x.view, .y = y.view, .rotates = 1, .scale = 1.0f, .rows32 = rows};
            truth_ok(posenc_rope_apply_tensors(rope, &task, 1, positions[which / 4], NULL, POSENC_SHIFT,
                                               posenc_range_all()));
            task.y = one_by_one.view;
            for (int64_t row = 0; row < 6; row++)
                truth_ok(posenc_rope_apply_tensors(rope, &task, 1, positions[which / 4], NULL, POSENC_SHIFT,
                                                   (posenc_range){row, row + 1}));
            truth_same_views(&y.view, &one_by_one.view, "a row that is named three times");
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            truth_tensor_free(&one_by_one);
            posenc_rope_free(rope);
        }
}

/* One token of one task names a row that is not there: a row behind the last, or before the first. */
static void spoil_row(const posenc_rope_tensor *task, task_memory *m, int64_t n_tokens) {
    static const int64_t outside[] = {CACHE_ROWS, -1, CACHE_ROWS + 1, INT32_MAX, INT32_MIN};
    int64_t t = truth_below(n_tokens), row = outside[truth_below(5)];
    if (task->rows32 != NULL)
        m->rows32[t] = (int32_t)row;
    else
        m->rows64[t] = row * (truth_below(2) ? 1 : (int64_t)1 << 32);
}

/* Nothing is written, for any other settings and any place of the range. */
static void test_rows_outside(void **state) {
    (void)state;
    int n = 0;
    for (int round = 0; round < 300; round++) {
        task_set *s = random_set();
        int64_t k = truth_below(s->n_tasks), begin = truth_below(n_rows(s) + 1);
        const posenc_rope_tensor *task = &s->tasks[k];
        if (task->rows32 != NULL || task->rows64 != NULL) {
            spoil_row(task, &s->memory[k], s->n_tokens);
            posenc_range some = {begin, begin + truth_below(n_rows(s) - begin + 1)};
            assert_int_equal(
                posenc_rope_apply_tensors(s->rope, s->tasks, s->n_tasks, s->positions, NULL, s->direction, some),
                POSENC_ERR_ROWS);
            for (int64_t i = 0; i < s->n_tasks; i++)
                truth_nothing_changed(&s->memory[i].y, "an output of a call that is refused");
            n++;
        }
        free_set(s);
    }
    print_message("%d calls refused\n", n);
    assert_true(n > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_sets),         truth_test(test_ways_to_run),
        truth_test(test_ranges_alone), truth_test(test_shift_into_one_row),
        truth_test(test_rows_outside),
    };
    return truth_run(tests);
}
