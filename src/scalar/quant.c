/* SPDX-License-Identifier: MIT */
/* Scalar attention over quantised rows, in integers: the specification. */
#include <float.h>
#include <math.h>

#include "kernels/fma.h"
#include "kernels/half.h"
#include "kernels/variant.h"

void VARIANT(pack_quants)(const posenc_pack_quants_args *a) {
    size_t n_blocks = a->dim / POSENC_QUANT_BLOCK;
    for (size_t t = 0; t < a->n_rows; t++) {
        int8_t *panel = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL;
        float *scales = a->scales + t / POSENC_PANEL * n_blocks * POSENC_PANEL;
        size_t column = t % POSENC_PANEL;
        for (size_t c = 0; c < a->dim; c++)
            panel[(c / 4 * POSENC_PANEL + column) * 4 + c % 4] = (int8_t)posenc_number(a->rows[t], c, a->rows_type);
        for (size_t b = 0; b < n_blocks; b++)
            scales[b * POSENC_PANEL + column] = posenc_scale(a->rows[t], b * POSENC_QUANT_BLOCK, a->rows_type);
        for (size_t b = 0; b < n_blocks && posenc_has_offset(a->rows_type); b++)
            a->offsets[t / POSENC_PANEL * n_blocks * POSENC_PANEL + b * POSENC_PANEL + column] =
                posenc_offset(a->rows[t], b * POSENC_QUANT_BLOCK, a->rows_type);
    }
}

/* The exact sum of block b's products; x has the channels of each four in the order 0 2 1 3. */
static int32_t block_sum(const int16_t *x, const int8_t *panel, size_t b) {
    static const size_t place[4] = {0, 2, 1, 3};
    int32_t sum = 0;
    for (size_t c = b * POSENC_QUANT_BLOCK; c < (b + 1) * POSENC_QUANT_BLOCK; c++)
        sum += x[c / 4 * 4 + place[c % 4]] * panel[c / 4 * POSENC_PANEL * 4 + c % 4];
    return sum;
}

void VARIANT(dot_quants)(const posenc_dot_quants_args *a) {
    size_t n_blocks = a->dim / POSENC_QUANT_BLOCK;
    for (size_t i = 0; i < a->n_x; i++)
        for (size_t t = 0; t < a->n_rows; t++) {
            const int8_t *panel = a->panels + t / POSENC_PANEL * a->dim * POSENC_PANEL + t % POSENC_PANEL * 4;
            size_t first = t / POSENC_PANEL * n_blocks * POSENC_PANEL + t % POSENC_PANEL;
            float sum = 0.0f;
            for (size_t b = 0; b < n_blocks; b++) {
                size_t x_block = i * a->scales_stride + b, block = first + b * POSENC_PANEL;
                sum = posenc_fmaf((float)block_sum(a->x + i * a->x_stride, panel, b),
                                  a->x_scales[x_block] * a->scales[block], sum);
                if (a->offsets != NULL)
                    sum = posenc_fmaf(a->x_sums[x_block], a->offsets[block], sum);
            }
            a->y[i * a->y_stride + t] = sum;
        }
}

/* The largest number in size, or NaN if one is not finite. */
static float largest_of(const float *x, size_t n) {
    float largest = 0.0f, not_finite = 0.0f;
    for (size_t k = 0; k < n; k++) {
        largest = fabsf(x[k]) > largest ? fabsf(x[k]) : largest;
        not_finite += x[k] * 0.0f;
    }
    return not_finite == 0.0f ? largest : not_finite;
}

/* The sum of products of weights, as proportions, with the offsets of block b of the group of rows. */
static float sum_offsets(const posenc_attend_quants_args *a, const float *shares, size_t first, size_t b) {
    float products[POSENC_QUANT_GROUP];
    for (size_t k = 0; k < POSENC_QUANT_GROUP; k++)
        products[k] = shares[k] > 0.0f
                          ? shares[k] * posenc_offset(a->rows[first + k], b * POSENC_QUANT_BLOCK, a->rows_type)
                          : 0.0f;
    for (size_t n = POSENC_QUANT_GROUP / 2; n > 0; n /= 2)
        for (size_t k = 0; k < n; k++)
            products[k] += products[k + n];
    return products[0];
}

/* Block b of the sums, and the group of rows from `first` on. */
static void add_group(const posenc_attend_quants_args *a, const float *weights, size_t first, size_t b, float *sums) {
    float shares[POSENC_QUANT_GROUP], scales[POSENC_QUANT_GROUP], products[POSENC_QUANT_GROUP];
    int counts[POSENC_QUANT_GROUP], are_uneven = 0;
    for (size_t k = 0; k < POSENC_QUANT_GROUP; k++) {
        counts[k] = !(weights[first + k] < FLT_MIN);
        shares[k] = counts[k] ? weights[first + k] : 0.0f;
        scales[k] = counts[k] ? posenc_scale(a->rows[first + k], b * POSENC_QUANT_BLOCK, a->rows_type) : 0.0f;
    }
    float m = largest_of(shares, POSENC_QUANT_GROUP), d = largest_of(scales, POSENC_QUANT_GROUP);
    m = m < POSENC_QUANT_LEAST ? 0.0f : m;
    float share = m > 0.0f ? (float)POSENC_QUANT_MAX / m : 0.0f, scale = d > 0.0f ? 1.0f / d : 0.0f;
    for (size_t k = 0; k < POSENC_QUANT_GROUP; k++) {
        shares[k] *= share;
        scales[k] *= scale;
        products[k] = shares[k] * scales[k];
        are_uneven |= counts[k] && fabsf(scales[k]) < POSENC_QUANT_UNEVEN;
    }
    float most = largest_of(products, POSENC_QUANT_GROUP), offset = 0.0f;
    if (posenc_has_offset(a->rows_type))
        offset = m / (float)POSENC_QUANT_MAX * sum_offsets(a, shares, first, b);
    if (are_uneven && most >= POSENC_QUANT_LEAST) {
        d *= most / (float)POSENC_QUANT_MAX;
        for (size_t k = 0; k < POSENC_QUANT_GROUP; k++)
            scales[k] *= (float)POSENC_QUANT_MAX / most;
    }
    float factor = m / (float)POSENC_QUANT_MAX * d;
    for (size_t c = b * POSENC_QUANT_BLOCK; c < (b + 1) * POSENC_QUANT_BLOCK; c++) {
        int32_t sum = 0;
        for (size_t k = 0; k < POSENC_QUANT_GROUP && !isnan(factor); k++)
            sum += (int32_t)nearbyintf(shares[k] * scales[k]) * posenc_number(a->rows[first + k], c, a->rows_type);
        float before = posenc_has_offset(a->rows_type) ? sums[c] + offset : sums[c];
        sums[c] = posenc_fmaf((float)sum, factor, before);
    }
}

void VARIANT(attend_quants)(const posenc_attend_quants_args *a) {
    for (size_t i = 0; i < a->n; i++) {
        float *sums = a->sums + i * a->sums_stride, *y = a->y + i * a->y_stride;
        for (size_t c = 0; c < a->dim && !a->adds; c++)
            sums[c] = 0.0f;
        for (size_t first = 0; first < a->n_rows; first += POSENC_QUANT_GROUP)
            for (size_t b = 0; b < a->dim / POSENC_QUANT_BLOCK; b++)
                add_group(a, a->weights + i * a->weight_stride, first, b, sums);
        for (size_t c = 0; c < a->dim && a->keep != NULL; c++)
            y[c] = posenc_fmaf(a->keep[i], y[c], sums[c]);
    }
}
