#include "truth.h"

#include <stdlib.h>

#include "reference.h"

truth truth_none(void) {
    return (truth){0, 0.0, POSENC_OK};
}

void truth_merge(truth *a, truth b) {
    a->values += b.values;
    if (b.worst > a->worst)
        a->worst = b.worst;
    if (a->status == POSENC_OK)
        a->status = b.status;
}

truth truth_failed(posenc_status status) {
    return (truth){0, INFINITY, status};
}

void truth_note(truth *t, double error) {
    t->values++;
    if (!(error <= t->worst))
        t->worst = isnan(error) ? INFINITY : error;
}

/* One unit in the last place of a float32 next to x. */
static double float_ulp(double x) {
    int exponent;
    frexp(x, &exponent);
    return ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

static void note_cos_or_sin(truth *t, float value, double expected) {
    truth_note(t, fabs((double)value - expected) / fmax(float_ulp(expected), 0x1p-45));
}

/* ---- Rows ---- */

static void compare_rows(truth *t, const reference_angles *angles, const int32_t *positions, int64_t n_positions,
                         const float *cos_rows, const float *sin_rows, int64_t row_stride, int64_t step) {
    for (int64_t r = 0; r < n_positions; r++)
        for (int64_t i = 0; i < angles->n; i++) {
            double c, s;
            reference_cos_sin(angles, i, positions[r], &c, &s);
            note_cos_or_sin(t, cos_rows[r * row_stride + i * step], c);
            note_cos_or_sin(t, sin_rows[r * row_stride + i * step], s);
        }
}

truth truth_angle_rows(double base, int64_t dim, const int32_t *positions, int64_t n_positions) {
    truth t = truth_none();
    int64_t n = dim / 2;
    reference_angles *angles = reference_angles_create(base, dim, n);
    float *rows = malloc((size_t)(2 * n * n_positions) * sizeof(float));
    posenc_freq *freq = NULL;
    t.status = angles == NULL || rows == NULL ? POSENC_ERR_MEMORY : posenc_freq_create(base, dim, &freq);
    if (t.status == POSENC_OK)
        t.status = posenc_angle_rows(freq, positions, n_positions, rows, rows + n, 2 * n);
    if (t.status == POSENC_OK)
        compare_rows(&t, angles, positions, n_positions, rows, rows + n, 2 * n, 1);
    posenc_freq_free(freq);
    free(rows);
    free(angles);
    return t.status == POSENC_OK ? t : truth_failed(t.status);
}

truth truth_sinusoidal(posenc_sinusoidal_layout layout, int64_t dim, const int32_t *positions, int64_t n_positions) {
    truth t = truth_none();
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = layout;
    params.schedule = POSENC_SCHEDULE_HALF;
    params.dim = dim;
    int interleaved = layout == POSENC_SINUSOIDAL_INTERLEAVED;
    reference_angles *angles = reference_angles_create(params.base, dim, dim / 2);
    float *rows = malloc((size_t)(dim * n_positions) * sizeof(float));
    posenc_view view = posenc_view_dense(rows, POSENC_F32, dim, n_positions, 1, 1);
    posenc_encoding *pe = NULL;
    t.status = angles == NULL || rows == NULL ? POSENC_ERR_MEMORY : posenc_sinusoidal_create(&params, &pe);
    if (t.status == POSENC_OK)
        t.status = posenc_encoding_write(pe, positions, &view);
    if (t.status == POSENC_OK)
        compare_rows(&t, angles, positions, n_positions, rows + (interleaved ? 1 : dim / 2), rows, dim,
                     interleaved ? 2 : 1);
    posenc_encoding_free(pe);
    free(rows);
    free(angles);
    return t.status == POSENC_OK ? t : truth_failed(t.status);
}

/* ---- ALiBi and softmax ---- */

truth truth_alibi_slopes(int64_t n_heads, double max_bias) {
    truth t = truth_none();
    float *slopes = malloc((size_t)n_heads * sizeof(float));
    t.status = slopes == NULL ? POSENC_ERR_MEMORY : posenc_alibi_slopes(n_heads, max_bias, slopes);
    for (int64_t h = 0; t.status == POSENC_OK && h < n_heads; h++) {
        double expected = reference_slope(n_heads, max_bias, h);
        truth_note(&t, fabs((double)slopes[h] - expected) / float_ulp(expected));
    }
    free(slopes);
    return t.status == POSENC_OK ? t : truth_failed(t.status);
}

/* Keys that query position may see. */
static int64_t allowed_keys(posenc_mask mask, int64_t position, int64_t n_k) {
    return mask.after == 0 && position + 1 < n_k ? position + 1 : n_k;
}

truth truth_alibi_bias(int64_t n_heads, int64_t n_q, int64_t n_k, int64_t q_off) {
    truth t = truth_none();
    float *slopes = malloc((size_t)n_heads * sizeof(float));
    float *bias = malloc((size_t)(n_heads * n_q * n_k) * sizeof(float));
    posenc_view view = posenc_view_dense(bias, POSENC_F32, n_k, n_q, n_heads, 1);
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.slopes = slopes;
    params.mask = posenc_mask_causal();
    params.q_off = q_off;
    t.status = slopes == NULL || bias == NULL ? POSENC_ERR_MEMORY : posenc_alibi_slopes(n_heads, 8.0, slopes);
    if (t.status == POSENC_OK)
        t.status = posenc_logits(&params, NULL, &view, posenc_all_rows());
    for (int64_t row = 0; t.status == POSENC_OK && row < n_heads * n_q; row++) {
        int64_t position = q_off + row % n_q, allowed = allowed_keys(posenc_mask_causal(), position, n_k);
        for (int64_t j = 0; j < n_k; j++) {
            double value = (double)bias[row * n_k + j];
            double expected = -(double)slopes[row / n_q] * fabs((double)(position - j));
            if (j >= allowed)
                truth_note(&t, value == -INFINITY ? 0.0 : INFINITY);
            else
                truth_note(&t, fabs(value - expected) / fmax(fabs(expected) * 0x1p-24, 0x1p-149));
        }
    }
    free(bias);
    free(slopes);
    return t.status == POSENC_OK ? t : truth_failed(t.status);
}

/* truth.h tells the limits; a value below FLT_MIN may have been flushed. */
static void note_probability(truth *t, float value, double expected, double relative_limit) {
    double error = fabs((double)value - expected);
    double beyond_flush = error - 0x1.0001p-126;
    truth_note(t, fmax(error / 2e-6, beyond_flush / (expected * relative_limit + 0x1p-1000)));
}

static void compare_softmax_row(truth *t, const float *x, const float *y, int64_t n_k, int64_t allowed,
                                int32_t position, const posenc_score_params *params, float slope, double *expected) {
    reference_softmax(x, allowed, position, params->scale, slope, expected);
    for (int64_t j = 0; j < n_k; j++)
        if (j < allowed)
            note_probability(t, y[j], expected[j], params->slopes != NULL ? 1.4e-5 : 4e-6);
        else
            truth_note(t, y[j] == 0.0f ? 0.0 : INFINITY);
}

truth truth_softmax(const float *slopes, int64_t n_heads, int64_t n_q, int64_t n_k, posenc_mask mask,
                    random_state *random) {
    truth t = truth_none();
    int64_t n_values = n_heads * n_q * n_k;
    float *x = malloc((size_t)n_values * sizeof(float)), *y = malloc((size_t)n_values * sizeof(float));
    double *expected = malloc((size_t)n_k * sizeof(double));
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.scale = 0.125f;
    params.slopes = slopes;
    params.mask = mask;
    params.q_off = n_k - n_q;
    posenc_view from = posenc_view_dense(x, POSENC_F32, n_k, n_q, n_heads, 1);
    posenc_view to = from;
    to.data = y;
    t.status = x == NULL || y == NULL || expected == NULL ? POSENC_ERR_MEMORY : POSENC_OK;
    for (int64_t i = 0; t.status == POSENC_OK && i < n_values; i++)
        x[i] = (float)random_between(random, -128.0, 128.0);
    if (t.status == POSENC_OK)
        t.status = posenc_softmax(&params, &from, &to, posenc_all_rows());
    for (int64_t row = 0; t.status == POSENC_OK && row < n_heads * n_q; row++) {
        int64_t position = params.q_off + row % n_q;
        float slope = slopes != NULL ? slopes[row / n_q] : 0.0f;
        compare_softmax_row(&t, x + row * n_k, y + row * n_k, n_k, allowed_keys(mask, position, n_k), (int32_t)position,
                            &params, slope, expected);
    }
    free(expected);
    free(y);
    free(x);
    return t.status == POSENC_OK ? t : truth_failed(t.status);
}
