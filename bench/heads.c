/* SPDX-License-Identifier: MIT */
#include "heads.h"

#include "plain.h"
#include "core/view.h"

enum { FIRST_POSITION = 3000, IMAGE_WIDTH = 32 };

void heads_open(heads_job *job, const posenc_rope_params *params, int64_t n_tokens, int ready) {
    job->params = *params;
    job->n_tokens = n_tokens;
    job->ready = ready;
    bench_check(posenc_rope_create(params, &job->rope));
    size_t n_axes = (size_t)posenc_rope_axis_count(job->rope);
    job->positions = bench_alloc(&job->base, n_axes * (size_t)n_tokens * sizeof(int32_t));
    float *rows = bench_alloc(&job->base, (size_t)posenc_rope_table_bytes(job->rope, n_tokens));
    job->table = posenc_rope_table_dense(job->rope, rows);
    job->inv_freq = bench_floats(&job->base, (size_t)posenc_rope_pair_count(job->rope));
}

posenc_view heads_output(heads_job *job, posenc_dtype type, int64_t n_heads) {
    return bench_view(&job->base, type, job->params.head_dim, n_heads, job->n_tokens);
}

posenc_view heads_input(heads_job *job, posenc_dtype type, int64_t n_heads) {
    return job->inputs[job->n_inputs++] = heads_output(job, type, n_heads);
}

posenc_rope_tensor heads_rotation(const posenc_view *x, const posenc_view *y) {
    return (posenc_rope_tensor){.x = *x, .y = *y, .rotates = 1, .scale = 1.0f};
}

posenc_rope_tensor heads_transfer(const posenc_view *x, const posenc_view *y) {
    return (posenc_rope_tensor){.x = *x, .y = *y, .scale = 1.0f};
}

/* Channels of a head that must be read and written: in place, unrotated channels stay. */
static int64_t channels_moved(const heads_job *job, const posenc_rope_tensor *task) {
    int rests_stay = task->x.data == task->y.data && task->rotates && task->weight == NULL && task->scale == 1.0f;
    return rests_stay ? job->params.n_rot : job->params.head_dim;
}

void heads_add(heads_job *job, const posenc_rope_tensor *task) {
    double channels = (double)(channels_moved(job, task) * task->x.ne[1] * job->n_tokens);
    job->tasks[job->n_tasks++] = *task;
    job->base.elements += channels;
    job->base.bytes += channels * (double)(posenc_dtype_size(task->x.dtype) + posenc_dtype_size(task->y.dtype));
    bench_compare(&job->base, task->y.data, task->y.dtype, (size_t)posenc_view_count(&task->y));
}

/* ---- Input ---- */

/* Counted up; with three axes, the patches of an image. */
static void fill_positions(heads_job *job) {
    int32_t n = (int32_t)job->n_tokens;
    for (int32_t t = 0; t < n; t++) {
        job->positions[t] = FIRST_POSITION + t;
        if (posenc_rope_axis_count(job->rope) == 3) {
            job->positions[t] = FIRST_POSITION;
            job->positions[n + t] = FIRST_POSITION + t / IMAGE_WIDTH;
            job->positions[2 * n + t] = FIRST_POSITION + t % IMAGE_WIDTH;
        }
    }
}

void heads_fill_input(bench_job *base) {
    heads_job *job = (heads_job *)base;
    for (int i = 0; i < job->n_inputs; i++)
        bench_random(job->inputs[i].data, job->inputs[i].dtype, (size_t)posenc_view_count(&job->inputs[i]), 1.0f);
    fill_positions(job);
    plain_frequencies(job->inv_freq, (size_t)job->params.n_rot, (float)job->params.base);
}

void heads_fill(bench_job *base) {
    const heads_job *job = (heads_job *)base;
    heads_fill_input(base);
    bench_check(posenc_rope_table_fill(job->rope, job->positions, job->n_tokens, POSENC_FORWARD, &job->table));
}

void heads_close(bench_job *base) {
    posenc_rope_free(((heads_job *)base)->rope);
}

/* ---- The plain loop and the limit ---- */

static char *output_of(const posenc_rope_tensor *task, int64_t token) {
    return posenc_view_at(&task->y, 0, task->rows32 != NULL ? task->rows32[token] : token, 0);
}

static void plain_row(heads_job *job, int64_t token) {
    size_t pairs = (size_t)job->params.n_rot / 2, first = 0;
    float *cos_row = job->table.cos + token * job->table.row_stride;
    float *sin_row = job->table.sin + token * job->table.row_stride;
    int n_axes = posenc_rope_axis_count(job->rope);
    for (int axis = 0; axis < n_axes; axis++) {
        size_t n = n_axes == 1 ? pairs : (size_t)job->params.axes.sections[axis];
        plain_angles(job->inv_freq + first, n, job->positions[axis * job->n_tokens + token], cos_row + first,
                     sin_row + first);
        first += n;
    }
}

static void plain_task_at(const heads_job *job, const posenc_rope_tensor *task, int64_t token) {
    plain_heads heads = {
        .x = posenc_view_at(&task->x, 0, token, 0),
        .y = output_of(task, token),
        .x_type = task->x.dtype,
        .y_type = task->y.dtype,
        .n_heads = (size_t)task->x.ne[1],
        .head_dim = (size_t)job->params.head_dim,
        .n_rot = task->rotates ? (size_t)job->params.n_rot : 0,
        .layout = job->params.layout,
        .cos_row = job->table.cos + token * job->table.row_stride,
        .sin_row = job->table.sin + token * job->table.row_stride,
        .weight = task->weight,
        .eps = task->eps,
        .scale = task->scale,
    };
    plain_task(&heads);
}

/* The row of a token is made once, as careful users do. */
void heads_plain(bench_job *base) {
    heads_job *job = (heads_job *)base;
    for (int64_t t = 0; t < job->n_tokens; t++) {
        if (!job->ready)
            plain_row(job, t);
        for (int i = 0; i < job->n_tasks; i++)
            plain_task_at(job, &job->tasks[i], t);
    }
}

/* The same channels of the same tensors, scaled. */
void heads_limit(bench_job *base) {
    const heads_job *job = (heads_job *)base;
    for (int64_t t = 0; t < job->n_tokens; t++) {
        for (int i = 0; i < job->n_tasks; i++) {
            const posenc_rope_tensor *task = &job->tasks[i];
            bench_rows x = {posenc_view_at(&task->x, 0, t, 0), task->x.dtype, (ptrdiff_t)task->x.nb[1]};
            bench_rows y = {output_of(task, t), task->y.dtype, (ptrdiff_t)task->y.nb[1]};
            base->limits->scale(x, y, (size_t)task->x.ne[1], (size_t)channels_moved(job, task), 1.0f);
        }
    }
}
