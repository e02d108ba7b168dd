/* SPDX-License-Identifier: MIT */
/* Rotations of random layout, axes and scaling: applied, from a table, and as tasks with norm and scatter. */
#include "data.h"

#include <math.h>
#include <string.h>

typedef struct rope_call {
    const posenc_rope *rope;
    posenc_rope_params params;
    posenc_direction direction;
    const int32_t *positions; /* [n_axes][n_tokens] */
    posenc_coords at;         /* the same, or real numbers near them */
    int64_t n_tokens;
    posenc_view x, y;
    posenc_rope_table table;
    posenc_rope_tensor tasks[3];
    int64_t n_tasks;
} rope_call;

/* ---- Drawn calls ---- */

static void draw_axes(posenc_rope_params *p) {
    p->axes.kind = (posenc_axes_kind)draw(POSENC_AXES_LIST + 1);
    if (p->axes.kind == POSENC_AXES_SINGLE)
        return;
    p->axes.n_axes = (int)draw_between(2, POSENC_MAX_AXES);
    int64_t left = p->n_rot / 2;
    for (int a = 0; a < p->axes.n_axes && p->axes.kind != POSENC_AXES_PIXTRAL; a++) {
        p->axes.sections[a] = a + 1 == p->axes.n_axes ? left : draw(left + 1);
        left -= p->axes.sections[a];
    }
}

/* Which axis each pair follows, where the kind wants it; frequencies or bases of the caller's. */
static void draw_lists(posenc_rope_params *p) {
    int64_t n_pairs = p->n_rot / 2;
    if (p->axes.kind == POSENC_AXES_LIST) {
        int32_t *axes = data_block(n_pairs, sizeof *axes);
        for (int64_t i = 0; i < n_pairs; i++)
            axes[i] = (int32_t)(data_random() % (uint64_t)p->axes.n_axes);
        p->lists.axes = axes;
        if (p->layout != POSENC_ROPE_HALF_BY_AXIS)
            memset(p->axes.sections, 0, sizeof p->axes.sections);
    }
    if (draw_rarely(4)) {
        double *theta = data_block(n_pairs, sizeof *theta);
        for (int64_t i = 0; i < n_pairs; i++)
            theta[i] = data_uniform(-2.0, 2.0);
        p->lists.theta = theta;
    } else if (draw_rarely(4)) {
        p->lists.bases[draw(POSENC_MAX_AXES)] = 100.0;
    }
}

static posenc_rope *draw_rope(rope_call *c) {
    posenc_rope_params *p = &c->params;
    *p = (posenc_rope_params)POSENC_ROPE_DEFAULTS;
    p->layout = (posenc_rope_layout)draw_between(POSENC_ROPE_HALF, POSENC_ROPE_HALF_BY_AXIS);
    p->head_dim = draw_size(160);
    p->n_rot = draw_rarely(2) ? p->head_dim / 2 * 2 : 2 * draw(p->head_dim / 2 + 1);
    p->rot_fraction = 0.0;
    p->n_offs = draw(p->head_dim - p->n_rot + 1);
    p->base = draw_rarely(2) ? 500000.0 : 10000.0;
    draw_axes(p);
    draw_lists(p);
    if (draw_rarely(4))
        p->scaling.attention_factor = data_uniform(0.5, 2.0);
    if (draw_rarely(8) && p->axes.kind == POSENC_AXES_SINGLE)
        p->xpos = (posenc_xpos){(posenc_xpos_role)draw_between(1, 2), 0.4, 512.0, (int32_t)draw(100)};
    c->direction = (posenc_direction)draw(4);
    posenc_rope *rope;
    if ((posenc_rope_create(p, &rope) == POSENC_OK) != (rope != NULL))
        data_fail("a rope, and no rope");
    c->rope = rope;
    return rope;
}

static void draw_positions(rope_call *c) {
    static const int64_t starts[] = {0, 100, -100, 1000000, INT32_MAX - 100, INT32_MIN + 100};
    int64_t n = c->n_tokens * posenc_rope_axis_count(c->rope), start = starts[draw(6)], kind = draw(3);
    int32_t *positions = data_block(n, sizeof *positions);
    for (int64_t t = 0; t < n; t++)
        positions[t] = kind == 0   ? (int32_t)(start + t % 100)
                       : kind == 1 ? (int32_t)(start + (int64_t)(data_random() % 100))
                                   : (int32_t)data_random();
    c->positions = positions;
    c->at = posenc_coords_of(positions, POSENC_COORD_I32);
}

/* Some of them moved between integers, as float32 or float64; calls of tasks keep the integers. */
static void draw_reals(rope_call *c) {
    int64_t n = c->n_tokens * posenc_rope_axis_count(c->rope);
    float *singles = data_block(n, sizeof *singles);
    double *reals = data_block(n, sizeof *reals);
    for (int64_t t = 0; t < n; t++) {
        reals[t] =
            c->positions[t] + (c->positions[t] % 3 == 0 && c->positions[t] > INT32_MIN ? data_uniform(-1.0, 1.0) : 0.0);
        singles[t] = (float)reals[t];
    }
    c->at = draw(2) ? posenc_coords_of(singles, POSENC_COORD_F32) : posenc_coords_of(reals, POSENC_COORD_F64);
}

static double position_of(const rope_call *c, int axis, int64_t t) {
    int64_t i = axis * c->n_tokens + t;
    switch (c->at.type) {
    case POSENC_COORD_F32: return (double)((const float *)c->at.data)[i];
    case POSENC_COORD_F64: return ((const double *)c->at.data)[i];
    default: return c->positions[i];
    }
}

/* ---- Plain double ---- */

/* Factor and angle of pair i for token t. */
static double magnitude_of(const rope_call *c, int64_t i, int64_t t, double *angle) {
    double theta = posenc_rope_theta(c->rope, i), m = posenc_rope_magnitude(c->rope);
    double p = position_of(c, posenc_rope_axis(c->rope, i), t);
    int is_back = c->direction == POSENC_INVERSE || c->direction == POSENC_BACKWARD;
    *angle = is_back ? -p * theta : p * theta;
    m = c->direction == POSENC_SHIFT ? 1.0 : c->direction == POSENC_INVERSE ? 1.0 / m : m;
    const posenc_xpos *x = &c->params.xpos;
    if (x->role == POSENC_XPOS_OFF)
        return m;
    double zeta = (2.0 * (double)i / (double)c->params.n_rot + x->gamma) / (1.0 + x->gamma);
    double power = (p - (c->direction == POSENC_SHIFT ? 0.0 : (double)x->centre)) / x->scale_base;
    return m * pow(zeta, x->role == POSENC_XPOS_QUERY ? power : -power);
}

/* A stretch of pairs that is a rotary embedding of its own: all of them, or a section that is halved by itself. */
typedef struct stretch {
    int64_t first, n_pairs, n_offs;
} stretch;

static stretch stretch_of(const posenc_rope_params *p, int64_t pair) {
    if (p->layout != POSENC_ROPE_HALF_BY_AXIS)
        return (stretch){0, p->n_rot / 2, p->n_offs};
    int64_t first = 0;
    int axis = 0;
    while (pair >= first + p->axes.sections[axis])
        first += p->axes.sections[axis++];
    return (stretch){first, p->axes.sections[axis], p->n_offs + 2 * first};
}

/* Which pair channel c is of, and whether its second; -1: it is not rotated. */
static int64_t pair_of(const posenc_rope_params *p, int is_half, int64_t c, int *is_second) {
    int64_t at = c - p->n_offs;
    if (at < 0 || at >= p->n_rot)
        return -1;
    stretch s = stretch_of(p, at / 2);
    at = c - s.n_offs;
    *is_second = is_half ? at >= s.n_pairs : (int)(at % 2);
    return s.first + (is_half ? at % s.n_pairs : at / 2);
}

static int64_t channel_read(const posenc_rope_params *p, int64_t pair, int is_second) {
    stretch s = stretch_of(p, pair);
    int is_half = p->layout == POSENC_ROPE_HALF || p->layout == POSENC_ROPE_HALF_BY_AXIS;
    pair -= s.first;
    return s.n_offs + (is_half ? pair + is_second * s.n_pairs : 2 * pair + is_second);
}

/* Channel `channel` of the rotated head x of token t, and what may be wrong with it. */
static double rotated(const rope_call *c, const double *x, int64_t channel, int64_t t, double *bound) {
    int is_second = 0;
    int64_t pair = pair_of(&c->params, c->params.layout != POSENC_ROPE_INTERLEAVED, channel, &is_second);
    *bound = fabs(x[channel]) * 1e-6;
    if (pair < 0)
        return x[channel];
    double angle, m = magnitude_of(c, pair, t, &angle);
    double x0 = x[channel_read(&c->params, pair, 0)], x1 = x[channel_read(&c->params, pair, 1)];
    *bound = (fabs(x0) + fabs(x1)) * m * (1e-6 + fabs(angle) * 0x1p-50);
    if (m > 3e38) /* cosines and sines of xPos are infinite there */
        *bound = INFINITY;
    return m * (is_second ? x1 * cos(angle) + x0 * sin(angle) : x0 * cos(angle) - x1 * sin(angle));
}

enum { MOST_CHANNELS = 160 };

static void compare(const rope_call *c) {
    const posenc_view *y = &c->y;
    for (int64_t b = 0; b < y->ne[3]; b++)
        for (int64_t t = 0; t < y->ne[2]; t++)
            for (int64_t h = 0; h < y->ne[1]; h++) {
                double x[MOST_CHANNELS], bound;
                for (int64_t i = 0; i < y->ne[0]; i++)
                    x[i] = data_was(&c->x, i, h, t, b);
                for (int64_t i = 0; i < y->ne[0]; i++) {
                    double want = rotated(c, x, i, t, &bound);
                    data_close(y, data_get(y, i, h, t, b), want, bound, "rope", i, h, t, b);
                }
            }
}

/* ---- Applied, and from a table ---- */

static posenc_status apply(const void *arguments, posenc_range rows) {
    const rope_call *c = arguments;
    return posenc_rope_apply_at(c->rope, &c->x, &c->at, &c->y, c->direction, rows);
}

static posenc_status fill_table(const void *arguments, posenc_range rows) {
    const rope_call *c = arguments;
    (void)rows;
    return posenc_rope_table_fill_at(c->rope, &c->at, c->n_tokens, c->direction, &c->table);
}

static posenc_status apply_table(const void *arguments, posenc_range rows) {
    const rope_call *c = arguments;
    return posenc_rope_apply_table(c->rope, &c->x, &c->table, &c->y, c->direction, rows);
}

/* Planes side by side or pairs, with rows apart; filled on each tier. */
static void make_table(rope_call *c) {
    int64_t n = posenc_rope_pair_count(c->rope), step = draw_between(1, 2), stride = 2 * n + draw(8);
    int64_t count = c->n_tokens > 0 && n > 0 ? (c->n_tokens - 1) * stride + 2 * n : 0;
    posenc_view memory = data_output(POSENC_F32, 1.0, count, 1, 1, 1);
    float *first = memory.data;
    c->table = (posenc_rope_table){first, first + (step == 1 ? n : n > 0), stride, step, 0};
    data_ok(fill_table, c, 0);
    data_next();
}

void data_rope(void) {
    rope_call c = {0};
    posenc_rope *rope = draw_rope(&c);
    int64_t n_heads = draw_size(9), n_batch = draw_between(1, 3);
    c.n_tokens = draw(20);
    if (rope == NULL)
        return;
    draw_positions(&c);
    if (draw_rarely(3))
        draw_reals(&c);
    int has_table = (c.direction != POSENC_INVERSE || c.params.xpos.role == POSENC_XPOS_OFF) &&
                    (c.direction == POSENC_FORWARD || c.params.layout != POSENC_ROPE_DEINTERLEAVE) && draw_rarely(3);
    if (has_table)
        make_table(&c);
    c.y = data_output(draw_type(), 2.0, c.params.head_dim, n_heads, c.n_tokens, n_batch);
    c.x = draw_rarely(2) && c.params.layout != POSENC_ROPE_DEINTERLEAVE
              ? c.y
              : data_input(draw_type(), 2.0, c.params.head_dim, n_heads, c.n_tokens, n_batch);
    posenc_status status = data_run(apply, &c, c.n_tokens * n_heads * n_batch);
    if (has_table && c.direction != POSENC_SHIFT) /* which leaves tokens at 0 alone */
        data_ok(apply_table, &c, c.n_tokens * n_heads * n_batch);
    if (status == POSENC_OK && !data_is_adversarial())
        compare(&c);
    posenc_rope_free(rope);
}

/* ---- Tasks ---- */

static posenc_status apply_tasks(const void *arguments, posenc_range rows) {
    const rope_call *c = arguments;
    return posenc_rope_apply_tensors(c->rope, c->tasks, c->n_tasks, c->positions, NULL, c->direction, rows);
}

/* Different rows of a cache, in any order. */
static void draw_scatter(posenc_rope_tensor *task, int64_t n_tokens, int64_t n_rows) {
    int64_t step = n_rows > n_tokens ? n_rows / (n_tokens > 0 ? n_tokens : 1) : 1, is_reversed = draw(2);
    int32_t *rows32 = data_block(n_tokens, sizeof *rows32);
    int64_t *rows64 = data_block(n_tokens, sizeof *rows64);
    for (int64_t t = 0; t < n_tokens; t++) {
        rows64[t] = step * (is_reversed ? n_tokens - 1 - t : t) + n_rows - step * n_tokens;
        rows32[t] = (int32_t)rows64[t];
    }
    task->rows32 = draw(2) ? rows32 : NULL;
    task->rows64 = task->rows32 == NULL ? rows64 : NULL;
}

static void draw_task(rope_call *c, posenc_rope_tensor *task) {
    int64_t head_dim = c->params.head_dim, n_heads = draw_size(9), n_rows = c->n_tokens;
    *task = (posenc_rope_tensor){.rotates = !draw_rarely(4), .scale = draw_rarely(2) ? 0.125f : 1.0f};
    if (draw_rarely(2))
        task->weight = data_floats(head_dim, 2.0);
    task->norms = draw_rarely(4);
    task->eps = 1e-5f;
    if (draw_rarely(2)) {
        n_rows += draw(20);
        draw_scatter(task, c->n_tokens, n_rows);
    }
    task->y = data_output(draw_type(), 2.0, head_dim, n_heads, n_rows, 1);
    int in_place = task->rows32 == NULL && task->rows64 == NULL && c->params.layout != POSENC_ROPE_DEINTERLEAVE;
    task->x = in_place && draw_rarely(2) ? task->y : data_input(draw_type(), 2.0, head_dim, n_heads, c->n_tokens, 1);
}

static int64_t row_of(const posenc_rope_tensor *task, int64_t t) {
    return task->rows32 != NULL ? task->rows32[t] : task->rows64 != NULL ? task->rows64[t] : t;
}

/* Rows of the cache that no token names stay what they were. */
static void compare_others(const rope_call *c, const posenc_rope_tensor *task) {
    for (int64_t row = 0; row < task->y.ne[2]; row++) {
        int is_named = 0;
        for (int64_t t = 0; t < c->n_tokens; t++)
            is_named |= row_of(task, t) == row;
        for (int64_t h = 0; h < task->y.ne[1] && !is_named; h++)
            for (int64_t i = 0; i < task->y.ne[0]; i++)
                if (data_get(&task->y, i, h, row, 0) != data_was(&task->y, i, h, row, 0))
                    data_fail("row %lld of the cache is written", (long long)row);
    }
}

static void compare_task(const rope_call *c, const posenc_rope_tensor *task) {
    for (int64_t t = 0; t < c->n_tokens; t++)
        for (int64_t h = 0; h < task->x.ne[1]; h++) {
            int64_t n = task->x.ne[0], row = row_of(task, t);
            double x[MOST_CHANNELS], bound, squares = 0.0;
            for (int64_t i = 0; i < n; i++) {
                x[i] = data_was(&task->x, i, h, t, 0);
                squares += x[i] * x[i];
            }
            for (int64_t i = 0; i < n && (task->weight != NULL || task->norms); i++)
                x[i] *= (task->weight != NULL ? (double)task->weight[i] : 1.0) /
                        sqrt(squares / (double)n + (double)task->eps);
            for (int64_t i = 0; i < n; i++) {
                double want = task->rotates ? rotated(c, x, i, t, &bound) : x[i];
                bound = task->rotates ? bound : fabs(want) * 1e-6;
                double scale = (double)task->scale;
                data_close(&task->y, data_get(&task->y, i, h, row, 0), scale * want, 4.0 * scale * bound, "task", i, h,
                           row, 0);
            }
        }
}

void data_rope_tasks(void) {
    rope_call c = {0};
    posenc_rope *rope = draw_rope(&c);
    c.n_tokens = draw(20);
    c.n_tasks = draw_between(1, 3);
    if (rope == NULL)
        return;
    draw_positions(&c);
    int64_t n_heads = 0;
    for (int64_t i = 0; i < c.n_tasks; i++) {
        draw_task(&c, &c.tasks[i]);
        n_heads += c.tasks[i].x.ne[1];
    }
    posenc_status status = data_run(apply_tasks, &c, c.n_tokens * n_heads);
    for (int64_t i = 0; i < c.n_tasks && status == POSENC_OK && !data_is_adversarial(); i++) {
        compare_task(&c, &c.tasks[i]);
        compare_others(&c, &c.tasks[i]);
    }
    posenc_rope_free(rope);
}
