/* SPDX-License-Identifier: MIT */
/* Reference attention: scores, probabilities and weighted sums in plain loops, in double. */
#include "attention/attention.h"

#include <math.h>
#include <stdlib.h>

#include "core/row_place.h"
#include "core/view.h"
#include "kernels/half.h"

static posenc_status check_probabilities(const posenc_view *p, const posenc_view *q, const posenc_view *k,
                                         const posenc_view *v, const posenc_view *out) {
    posenc_status status = posenc_check_output_f32(p);
    if (status != POSENC_OK)
        return status;
    if (p->ne[0] != k->ne[2] || !posenc_rows_match(p, q))
        return posenc_refused(POSENC_ERR_SHAPE);
    posenc_view others[] = {*q, posenc_storage_of(k), posenc_storage_of(v), *out};
    for (int i = 0; i < 4 && status == POSENC_OK; i++)
        status = posenc_check_apart(&others[i], p);
    return status;
}

/* scores[j, i, h, b] = q_i . k_j */
static void multiply(const posenc_view *q, const posenc_view *k, const posenc_view *scores) {
    int64_t group = k->ne[1] > 0 ? q->ne[1] / k->ne[1] : 1;
    for (int64_t b = 0; b < q->ne[3]; b++)
        for (int64_t h = 0; h < q->ne[1]; h++)
            for (int64_t i = 0; i < q->ne[2]; i++)
                for (int64_t j = 0; j < k->ne[2]; j++) {
                    const void *query = posenc_view_at(q, h, i, b), *key = posenc_view_at(k, h / group, j, b);
                    double sum = 0.0;
                    for (size_t c = 0; c < (size_t)q->ne[0]; c++)
                        sum += (double)posenc_load_stored(query, c, q->dtype) *
                               (double)posenc_load_stored(key, c, k->dtype);
                    ((float *)posenc_view_at(scores, i, h, b))[j] = (float)sum;
                }
}

/* out[c, h, i, b] = sum over j of p[j, i, h, b] v_j[c]. Keys of probability 0 are skipped, whatever they hold. Rows
 * without keys have no probabilities: fully_masked decides. */
static void mix(const posenc_score_params *params, const posenc_view *p, const posenc_view *v, const posenc_view *out) {
    const float *sinks = params->sinks;
    int64_t group = v->ne[1] > 0 ? out->ne[1] / v->ne[1] : 1;
    for (int64_t b = 0; b < out->ne[3]; b++)
        for (int64_t h = 0; h < out->ne[1]; h++)
            for (int64_t i = 0; i < out->ne[2]; i++)
                for (size_t c = 0; c < (size_t)out->ne[0]; c++) {
                    const float *row = posenc_view_at(p, i, h, b);
                    int is_empty = v->ne[2] == 0 && (sinks == NULL || sinks[h] == -INFINITY);
                    int is_nan = is_empty && params->fully_masked == POSENC_FULLY_MASKED_NAN;
                    double sum = is_nan ? (double)NAN : 0.0;
                    for (int64_t j = 0; j < v->ne[2]; j++)
                        if (row[j] != 0.0f)
                            sum += (double)row[j] *
                                   (double)posenc_load_stored(posenc_view_at(v, h / group, j, b), c, v->dtype);
                    posenc_store(posenc_view_at(out, h, i, b), c, (float)sum, out->dtype);
                }
}

static posenc_status attend(const posenc_score_params *params, const posenc_view *q, const posenc_view *k,
                            const posenc_view *v, const posenc_view *out, const posenc_view *p) {
    posenc_range none = {0, 0};
    posenc_status status = posenc_softmax(params, p, p, none); /* the parameters, before anything is written */
    posenc_attention_args args = {.params = params, .q = *q, .k = *k, .v = *v};
    if (status == POSENC_OK)
        status = posenc_check_inputs_apart(&args, out);
    if (status != POSENC_OK)
        return status;
    if (posenc_view_count(p) > 0)
        multiply(q, k, p);
    posenc_score_params whole = *params; /* mix reads every probability */
    whole.masked_output = POSENC_MASKED_WRITTEN;
    status = posenc_softmax(&whole, p, p, posenc_range_all());
    if (status == POSENC_OK && posenc_view_count(out) > 0)
        mix(params, p, v, out);
    return status;
}

posenc_status posenc_attention_reference(const posenc_score_params *params, const posenc_view *q, const posenc_view *k,
                                         const posenc_view *v, const posenc_view *out,
                                         const posenc_view *probabilities) {
    if (params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = posenc_check_attention(q, k, v, out);
    if (status == POSENC_OK && k->ne[3] != q->ne[3])
        status = posenc_refused(POSENC_ERR_SHAPE);
    if (status != POSENC_OK)
        return status;
    if (probabilities != NULL) {
        status = check_probabilities(probabilities, q, k, v, out);
        return status == POSENC_OK ? attend(params, q, k, v, out, probabilities) : status;
    }
    posenc_view own = posenc_view_dense(NULL, POSENC_F32, k->ne[2], q->ne[2], q->ne[1], q->ne[3]);
    if (k->ne[2] > POSENC_LIMIT / (posenc_view_rows(q) + 1))
        return posenc_refused(POSENC_ERR_SHAPE);
    int64_t bytes = (posenc_view_count(&own) + 1) * (int64_t)sizeof(float);
    own.data = posenc_is_size(bytes) ? malloc((size_t)bytes) : NULL;
    if (own.data == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    status = attend(params, q, k, v, out, &own);
    free(own.data);
    return status;
}
