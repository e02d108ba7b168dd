/* SPDX-License-Identifier: MIT */
/* Runs of neighbouring keys, or queries, that share a row of a relative table. */
#include "bias/relative_runs.h"

#include "bias/rel_bias.h"
#include "core/minmax.h"
#include "core/view.h"
#include "kernels/sum.h"

posenc_status posenc_runs_check(const posenc_rel_index *index, const posenc_mask *mask, int64_t query_start,
                                const posenc_view *x, posenc_runs *runs) {
    if (index == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = posenc_check_mask(mask);
    int64_t n_k = x->ne[0], n_q = x->ne[1];
    if (status == POSENC_OK)
        status = posenc_align_queries(&query_start, n_q, n_k);
    if (status != POSENC_OK)
        return status;
    posenc_offsets queries = {query_start, query_start + n_q - 1}, keys = {0, n_k - 1};
    posenc_offsets visible = posenc_offsets_visible(mask, queries, keys);
    *runs = (posenc_runs){index, visible, query_start, n_q, n_k};
    return posenc_check_rel_index(index, index->n_rows, visible);
}

posenc_status posenc_check_shared(const posenc_view *table, const posenc_view *scores) {
    int fits =
        (table->ne[1] == scores->ne[2] || table->ne[1] == 1) && (table->ne[3] == scores->ne[3] || table->ne[3] == 1);
    return fits ? POSENC_OK : POSENC_ERR_SHAPE;
}

/* Elements whose element t has the offset first_offset + t * step, step 1 or -1. */
static int next_run(const posenc_runs *runs, int64_t first_offset, int64_t step, int64_t n, posenc_run *run) {
    int64_t begin = step > 0 ? runs->visible.lowest - first_offset : first_offset - runs->visible.highest;
    int64_t end = step > 0 ? runs->visible.highest - first_offset + 1 : first_offset - runs->visible.lowest + 1;
    begin = posenc_max(posenc_max(begin, 0), run->end);
    end = posenc_min(end, n);
    if (begin >= end)
        return 0;
    const int32_t *index = runs->index->data + (first_offset + begin * step - runs->index->first);
    int64_t length = 1;
    while (begin + length < end && index[length * step] == index[0])
        length++;
    *run = (posenc_run){begin, begin + length, index[0]};
    return 1;
}

int posenc_next_run_of_query(const posenc_runs *runs, int64_t query, posenc_run *run) {
    return next_run(runs, -(runs->query_start + query), 1, runs->n_k, run);
}

int posenc_next_run_of_key(const posenc_runs *runs, int64_t key, posenc_run *run) {
    return next_run(runs, key - runs->query_start, -1, runs->n_q, run);
}

/* ---- Sums ---- */

static float element(const float *x, int64_t stride, int64_t k) {
    return *(const float *)(const void *)((const char *)x + k * stride);
}

/* Adds up to POSENC_SUM_BLOCK elements to lanes in float32, and these to lanes in double. A dense run, which may be
 * long, is left to the compiler to vectorise: the lanes say in which order. */
static void sum_block(const float *x, int64_t stride, int64_t n, double *lanes) {
    float partial[POSENC_SUM_LANES] = {0.0f};
    int64_t k = 0;
    if (stride == (int64_t)sizeof(float))
        for (; k + POSENC_SUM_LANES <= n; k += POSENC_SUM_LANES)
            for (int64_t lane = 0; lane < POSENC_SUM_LANES; lane++)
                partial[lane] += x[k + lane];
    for (; k < n; k++)
        partial[k % POSENC_SUM_LANES] += element(x, stride, k);
    for (int64_t lane = 0; lane < POSENC_SUM_LANES; lane++)
        lanes[lane] += (double)partial[lane];
}

float posenc_sum_run(const float *x, int64_t stride, int64_t n) {
    if (n == 1)
        return x[0];
    double lanes[POSENC_SUM_LANES] = {0.0};
    for (int64_t k = 0; k < n; k += POSENC_SUM_BLOCK)
        sum_block((const float *)(const void *)((const char *)x + k * stride), stride,
                  posenc_min(n - k, POSENC_SUM_BLOCK), lanes);
    for (int64_t width = POSENC_SUM_LANES / 2; width > 0; width /= 2)
        for (int64_t lane = 0; lane < width; lane++)
            lanes[lane] += lanes[lane + width];
    return (float)lanes[0];
}
