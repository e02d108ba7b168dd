/* Attention, fused: sums over segments of keys joined, and results of different keys. */
#include <math.h>

#include "attention.h"
#include "elementary.h"
#include "scalar/exp.h"
#include "view.h"

/* m + ln s, s being at least 1, or 0 where nothing was summed. */
static float log_sum_exp(float max, float sum) {
    return sum == 0.0f ? -INFINITY : (float)((double)max + posenc_log1p_double((double)sum - 1.0));
}

/* y = fma(weights[1], x[1], weights[0] x[0]), or as many terms as there are; y may be one of x. */
static void mix(const posenc_kernels *kernels, const void *const *x, posenc_dtype x_type, const float weights[2],
                int n_terms, void *y, posenc_dtype y_type, int64_t n) {
    const float *at[2] = {&weights[0], &weights[1]};
    posenc_mix_row_args args = {
        .x = x,
        .x_type = x_type,
        .y_type = y_type,
        .weights = at,
        .y = y,
        .n = (size_t)n,
        .n_terms = (size_t)n_terms,
    };
    kernels->mix_row(&args);
}

/* ---- Segments ---- */

void posenc_attention_start(const posenc_attention_call *call, int64_t head, float *total) {
    int64_t dim = call->task->v.ne[0];
    const float *sinks = call->task->params->sinks;
    for (int64_t c = 0; c < dim; c++)
        total[c] = 0.0f;
    total[dim] = sinks != NULL ? sinks[head] : -INFINITY;
    total[dim + 1] = total[dim] == -INFINITY ? 0.0f : 1.0f;
}

void posenc_attention_add(const posenc_attention_call *call, const float *segment, float *total) {
    int64_t dim = call->task->v.ne[0];
    posenc_softmax_sum before = {total[dim], total[dim + 1]}, more = {segment[dim], segment[dim + 1]}, joined;
    if (more.sum == 0.0f)
        return;
    float factors[2];
    (void)posenc_softmax_join(&before, &more, &joined, &factors[0], &factors[1]);
    mix(call->kernels, (const void *[2]){total, segment}, POSENC_F32, factors, 2, total, POSENC_F32, dim);
    total[dim] = joined.max;
    total[dim + 1] = joined.sum;
}

void posenc_attention_finish(const posenc_attention_call *call, posenc_score_place at, const float *total) {
    const posenc_attention_task *task = call->task;
    int64_t dim = task->v.ne[0];
    float max = total[dim], sum = total[dim + 1], of_empty = task->params->empty == POSENC_EMPTY_NAN ? NAN : 0.0f;
    posenc_convert_args copy = {
        .x = total,
        .y = posenc_view_at(&task->out, at.query, at.head, at.batch),
        .y_type = task->out.dtype,
        .factor = sum == 0.0f ? of_empty : 1.0f / sum,
        .n = (size_t)dim,
        .n_heads = 1,
    };
    call->kernels->convert_rows(&copy);
    if (task->lse != NULL)
        *(float *)posenc_view_at(task->lse, at.query, at.head, at.batch) = log_sum_exp(max, sum);
}

/* ---- Results ---- */

static posenc_status check_result(const posenc_attention_result *r, posenc_status check(const posenc_view *)) {
    if (r == NULL)
        return POSENC_ERR_NULL;
    posenc_status status = check(&r->out);
    if (status == POSENC_OK)
        status = check(&r->lse);
    if (status == POSENC_OK)
        status = posenc_require_f32(&r->lse);
    if (status != POSENC_OK)
        return status;
    for (int i = 1; i < 4; i++)
        if (r->lse.ne[i] != r->out.ne[i])
            return POSENC_ERR_SHAPE;
    return r->lse.ne[0] == 1 ? POSENC_OK : POSENC_ERR_SHAPE;
}

/* What is written is what is read, or apart from it. */
static posenc_status check_joined(const posenc_attention_result *part, const posenc_attention_result *joined) {
    posenc_status status = posenc_check_pair(&part->out, &joined->out);
    if (status == POSENC_OK)
        status = posenc_check_pair(&part->lse, &joined->lse);
    if (status == POSENC_OK)
        status = posenc_check_apart(&part->out, &joined->lse);
    return status == POSENC_OK ? posenc_check_apart(&part->lse, &joined->out) : status;
}

static posenc_status check_merge(const posenc_attention_result *a, const posenc_attention_result *b,
                                 const posenc_attention_result *joined) {
    posenc_status status = check_result(a, posenc_check_input);
    if (status == POSENC_OK)
        status = check_result(b, posenc_check_input);
    if (status == POSENC_OK)
        status = check_result(joined, posenc_check_output);
    if (status != POSENC_OK)
        return status;
    if (a->out.dtype != b->out.dtype)
        return POSENC_ERR_DTYPE;
    status = check_joined(a, joined);
    if (status == POSENC_OK)
        status = check_joined(b, joined);
    return status == POSENC_OK ? posenc_check_apart(&joined->out, &joined->lse) : status;
}

static posenc_softmax_sum sum_of(const posenc_attention_result *r, posenc_score_place at) {
    float lse = *(const float *)posenc_view_at(&r->lse, at.query, at.head, at.batch);
    return (posenc_softmax_sum){lse, lse == -INFINITY ? 0.0f : 1.0f};
}

static void merge_row(const posenc_kernels *kernels, const posenc_attention_result *a, const posenc_attention_result *b,
                      const posenc_attention_result *joined, posenc_score_place at) {
    const posenc_attention_result *parts[2] = {a, b};
    posenc_softmax_sum sums[2] = {sum_of(a, at), sum_of(b, at)}, sum;
    float factors[2], weights[2];
    (void)posenc_softmax_join(&sums[0], &sums[1], &sum, &factors[0], &factors[1]);
    const void *rows[2];
    int n = 0;
    for (int i = 0; i < 2; i++) {
        if (sums[i].sum == 0.0f)
            continue;
        rows[n] = posenc_view_at(&parts[i]->out, at.query, at.head, at.batch);
        weights[n++] = factors[i] / sum.sum;
    }
    mix(kernels, rows, a->out.dtype, weights, n, posenc_view_at(&joined->out, at.query, at.head, at.batch),
        joined->out.dtype, joined->out.ne[0]);
    *(float *)posenc_view_at(&joined->lse, at.query, at.head, at.batch) = log_sum_exp(sum.max, sum.sum);
}

posenc_status posenc_attention_merge(const posenc_attention_result *a, const posenc_attention_result *b,
                                     const posenc_attention_result *joined, posenc_rows rows) {
    posenc_status status = check_merge(a, b, joined);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, joined->out.ne[1] * joined->out.ne[2] * joined->out.ne[3]);
    if (status != POSENC_OK || rows.begin == rows.end)
        return status;
    const posenc_kernels *kernels = posenc_active_kernels();
    posenc_score_place at = posenc_score_place_of(&joined->out, rows.begin);
    for (int64_t row = rows.begin; row < rows.end; row++, posenc_score_advance(&joined->out, &at))
        merge_row(kernels, a, b, joined, at);
    return POSENC_OK;
}
