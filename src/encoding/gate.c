/* SPDX-License-Identifier: MIT */
/* Gradients of a gated encoding. */
#include "encoding/encoding.h"

#include "core/view.h"

enum { N_SUMS = 8 };

static posenc_status check_input(const posenc_view *view, const posenc_view *dy, int64_t width) {
    posenc_status status = posenc_check_input_f32(view);
    if (status != POSENC_OK)
        return status;
    return view->ne[0] == width && posenc_same_rows(view, dy) ? POSENC_OK : posenc_refused(POSENC_ERR_SHAPE);
}

static posenc_status check_output(const posenc_view *view, const posenc_view *dy, int64_t width) {
    posenc_status status = posenc_check_output(view);
    return status == POSENC_OK ? check_input(view, dy, width) : status;
}

/* dgate needs e, de needs gate. */
static posenc_status check_dgate(const posenc_view *e, const posenc_view *dy, const posenc_view *dgate) {
    posenc_status status = check_input(e, dy, dy->ne[0]);
    if (status == POSENC_OK)
        status = check_output(dgate, dy, dgate->ne[0] == 1 ? 1 : dy->ne[0]);
    if (status == POSENC_OK)
        status = posenc_check_apart(e, dgate);
    return status == POSENC_OK ? posenc_check_apart(dy, dgate) : status;
}

static posenc_status check_de(const posenc_view *gate, const posenc_view *dy, const posenc_view *de) {
    posenc_status status = posenc_check_input(gate);
    if (status == POSENC_OK)
        status = check_input(gate, dy, gate->ne[0] == 1 ? 1 : dy->ne[0]);
    if (status == POSENC_OK)
        status = check_output(de, dy, dy->ne[0]);
    if (status == POSENC_OK)
        status = posenc_check_apart(gate, de);
    return status == POSENC_OK ? posenc_check_pair(dy, de) : status;
}

static posenc_status check_call(const posenc_view *e, const posenc_view *gate, const posenc_view *dy,
                                const posenc_view *dgate, const posenc_view *de, posenc_range *rows) {
    posenc_status status = posenc_check_input_f32(dy);
    if (status == POSENC_OK && dy->ne[3] > 1)
        status = posenc_refused(POSENC_ERR_SHAPE);
    if (status == POSENC_OK && dgate != NULL)
        status = check_dgate(e, dy, dgate);
    if (status == POSENC_OK && de != NULL)
        status = check_de(gate, dy, de);
    if (status == POSENC_OK && de != NULL && dgate != NULL)
        status = posenc_check_apart(de, dgate);
    if (status == POSENC_OK && de != NULL && dgate != NULL)
        status = posenc_check_apart(gate, dgate);
    if (status == POSENC_OK && de != NULL && dgate != NULL)
        status = posenc_check_apart(e, de);
    return status == POSENC_OK ? posenc_check_rows(rows, posenc_view_rows(dy)) : status;
}

static float dot(const float *a, const float *b, int64_t n) {
    double sums[N_SUMS] = {0.0};
    for (int64_t c = 0; c < n; c++)
        sums[c % N_SUMS] += (double)a[c] * (double)b[c];
    double sum = sums[0];
    for (int k = 1; k < N_SUMS; k++)
        sum += sums[k];
    return (float)sum;
}

/* y = x * factors: one factor, or one for each of the n. */
static void multiply(const posenc_kernels *kernels, const float *x, const float *factors, int has_one, float *y,
                     int64_t n) {
    const void *source = x;
    posenc_place_rows_args args = {
        .sources = &source,
        .factor = 1.0f,
        .gate = factors,
        .gate_step = !has_one,
        .y = y,
        .n = (size_t)n,
        .n_rows = 1,
    };
    kernels->place_rows(&args);
}

posenc_status posenc_gate_backward(const posenc_view *e, const posenc_view *gate, const posenc_view *dy,
                                   const posenc_view *dgate, const posenc_view *de, posenc_range rows) {
    posenc_status status = check_call(e, gate, dy, dgate, de, &rows);
    int is_shared = dgate != NULL && dgate->ne[0] == 1; /* the sum over a row, which is 0 of none */
    if (status != POSENC_OK || posenc_view_rows(dy) == 0 || (dy->ne[0] == 0 && !is_shared))
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    int64_t dim = dy->ne[0];
    for (int64_t row = rows.begin; row < rows.end; row++) {
        int64_t batch = row / dy->ne[1], token = row % dy->ne[1];
        const float *from = posenc_view_at(dy, token, batch, 0);
        if (is_shared)
            *(float *)posenc_view_at(dgate, token, batch, 0) = dot(from, posenc_view_at(e, token, batch, 0), dim);
        else if (dgate != NULL)
            multiply(kernels, from, posenc_view_at(e, token, batch, 0), 0, posenc_view_at(dgate, token, batch, 0), dim);
        if (de != NULL && dim > 0)
            multiply(kernels, from, posenc_view_at(gate, token, batch, 0), gate->ne[0] == 1,
                     posenc_view_at(de, token, batch, 0), dim);
    }
    return POSENC_OK;
}
