/* SPDX-License-Identifier: MIT */
/* Fused attention over quantised keys and values in exact integers (POSENC_MATH_INT16): scores, and weighted sums. */
#include "attention/attention.h"

#include <float.h>
#include <math.h>

#include "core/minmax.h"
#include "core/view.h"
#include "kernels/half.h"

enum { BLOCK = POSENC_QUANT_BLOCK };

/* A query block whose largest number is smaller becomes 0. */
#define LEAST_QUERY 0x1p-100f

/* ---- Queries ---- */

/* Rounds x[c] * factor to the nearest integer, ties to even. |x[c] * factor| < 2^22. */
static void round_block(const float *x, float factor, int16_t *numbers) {
    for (int c = 0; c < BLOCK; c++)
        numbers[c] = (int16_t)((x[c] * factor + 0x1.8p23f) - 0x1.8p23f);
}

/* Largest |x|; infinity or NaN if a number is not finite. Compares integers, which compilers vectorise. */
static float largest_of(const float *x) {
    int32_t most = 0;
    for (int c = 0; c < BLOCK; c++) {
        int32_t bits = (int32_t)(posenc_bits(x[c]) & 0x7fffffff);
        most = bits > most ? bits : most;
    }
    return posenc_float((uint32_t)most);
}

/* Quantises a block, the channels of each four in the order 0 2 1 3. Returns its scale: NaN if a number is not
 * finite. */
static float quantise_block(const float *x, int16_t *numbers) {
    float largest = largest_of(x);
    int16_t rounded[BLOCK] = {0};
    if (largest < LEAST_QUERY)
        largest = 0.0f;
    else if (!isfinite(largest))
        largest = NAN;
    else
        round_block(x, (float)POSENC_QUANT_MAX / largest, rounded);
    for (int c = 0; c < BLOCK; c += 4) {
        numbers[c] = rounded[c];
        numbers[c + 1] = rounded[c + 2];
        numbers[c + 2] = rounded[c + 1];
        numbers[c + 3] = rounded[c + 3];
    }
    return largest / (float)POSENC_QUANT_MAX;
}

/* Exact: at most 32 * POSENC_QUANT_MAX in size, which float32 has. */
static float sum_block(const int16_t *numbers) {
    int32_t sum = 0;
    for (int c = 0; c < BLOCK; c++)
        sum += numbers[c];
    return (float)sum;
}

void posenc_attention_quantise_queries(const posenc_attention_unit *u) {
    int64_t dim = u->call->args->k.ne[0], n_blocks = dim / BLOCK;
    for (int64_t pair = 0; pair < posenc_attention_pairs(u); pair++)
        for (int64_t b = 0; b < n_blocks; b++) {
            int16_t *numbers = u->query_numbers + pair * dim + b * BLOCK;
            float scale = quantise_block(u->queries + pair * (int64_t)posenc_query_floats(dim) + b * BLOCK, numbers);
            u->query_scales[pair * n_blocks + b] = scale;
            u->query_sums[pair * n_blocks + b] = sum_block(numbers) * scale;
        }
}

/* ---- Keys and values ---- */

static void multiply_head(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at) {
    const posenc_view *k = &u->call->args->k;
    const void *padded[POSENC_KEYS_PACKED];
    const void *const *rows = keys->rows;
    int64_t n = keys->n, n_padded = (n + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL;
    if (n < n_padded) { /* whole panels: any row will do */
        for (int64_t t = 0; t < n_padded; t++)
            padded[t] = rows[t < n ? t : 0];
        rows = padded;
    }
    size_t dim = (size_t)k->ne[0];
    posenc_pack_quants_args pack = {
        .rows = rows,
        .rows_type = k->dtype,
        .panels = (int8_t *)(void *)u->panels,
        .scales = u->panels + POSENC_KEYS_PACKED * dim / sizeof(float), /* behind as many bytes */
        .dim = dim,
        .n_rows = (size_t)n_padded,
    };
    pack.offsets = pack.scales + POSENC_KEYS_PACKED * dim / BLOCK;
    /* Packing prefetches the first list of rows, the products the second. */
    pack.ahead[0] = keys->ahead[0];
    u->call->kernels->pack_quants(&pack);
    posenc_dot_quants_args dot = {
        .x = u->query_numbers,
        .x_scales = u->query_scales,
        .x_sums = u->query_sums,
        .x_stride = dim,
        .scales_stride = dim / BLOCK,
        .panels = pack.panels,
        .scales = pack.scales,
        .offsets = posenc_has_offset(k->dtype) ? pack.offsets : NULL,
        .y = u->scores + at,
        .y_stride = POSENC_KEY_BLOCK,
        .dim = dim,
        .n_x = (size_t)u->n,
        .n_rows = (size_t)n,
        .ahead = {keys->ahead[1]},
    };
    u->call->kernels->dot_quants(&dot);
}

void posenc_attention_multiply_quants(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at) {
    posenc_attention_multiply_by_heads(u, keys, at, multiply_head);
}

static void sum_head(const posenc_attention_unit *u, const posenc_attention_values *values) {
    posenc_attend_quants_args args = {
        .weights = u->scores + values->begin,
        .weight_stride = POSENC_KEY_BLOCK,
        .rows = values->rows,
        .rows_type = u->call->args->v.dtype,
        .keep = values->is_last ? values->keep : NULL,
        .y = values->sums.rows,
        .sums = u->side,
        .y_stride = values->sums.stride,
        .sums_stride = posenc_sums_floats(u->call->args->v.ne[0]),
        .dim = (size_t)u->call->args->v.ne[0],
        .n = (size_t)u->n,
        .n_rows = values->end - values->begin,
        .adds = !values->is_first,
        .ahead = {values->ahead[0], values->ahead[1]},
    };
    u->call->kernels->attend_quants(&args);
}

void posenc_attention_sum_quants(const posenc_attention_unit *u, const posenc_attention_values *values) {
    posenc_attention_sum_by_heads(u, values, sum_head);
}
