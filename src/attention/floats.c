/* SPDX-License-Identifier: MIT */
/* Attention, fused: products and sums in float32 (POSENC_MATH_F32). */
#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"

/* ---- Products ---- */

/* Up to POSENC_FEW queries are multiplied with keys where these stand. Keys of whole vectors: behind the last, any. */
static void multiply_few(const posenc_attention_unit *u, const posenc_attention_keys *keys,
                         posenc_attention_stored stored, size_t at) {
    int64_t dim = u->call->args->k.ne[0], n = (keys->n + POSENC_FEW_ROWS - 1) / POSENC_FEW_ROWS * POSENC_FEW_ROWS;
    const void *padded[POSENC_KEYS_PACKED];
    for (int64_t t = 0; keys->n < n && t < n; t++)
        padded[t] = stored.rows[t < keys->n ? t : 0];
    posenc_dot_few_args args = {
        .x = u->queries,
        .x_stride = (ptrdiff_t)(posenc_query_floats(dim) * sizeof(float)),
        .rows = keys->n < n ? padded : stored.rows,
        .rows_type = stored.type,
        .y = u->scores + at,
        .y_stride = (ptrdiff_t)(POSENC_KEY_BLOCK * sizeof(float)),
        .dim = (size_t)dim,
        .n_x = (size_t)u->n,
        .n_rows = (size_t)n,
        .n_heads = (size_t)u->n_heads,
        .head_stride = (ptrdiff_t)u->call->args->k.nb[1],
        .ahead = {keys->ahead[0], keys->ahead[1]},
    };
    u->call->kernels->dot_few(&args);
}

static void multiply_packed(const posenc_attention_unit *u, const posenc_attention_keys *keys,
                            posenc_attention_stored stored, size_t at) {
    size_t dim = (size_t)u->call->args->k.ne[0];
    posenc_pack_rows_args pack = {
        .rows = stored.rows,
        .rows_type = stored.type,
        .panels = u->panels,
        .dim = dim,
        .n_rows = (size_t)keys->n,
        .ahead = {keys->ahead[0], keys->ahead[1]},
    };
    posenc_dot_rows_args dot = {
        .x = u->queries,
        .x_stride = (ptrdiff_t)(posenc_query_floats((int64_t)dim) * sizeof(float)),
        .panels = u->panels,
        .y = u->scores + at,
        .y_stride = (ptrdiff_t)(POSENC_KEY_BLOCK * sizeof(float)),
        .dim = dim,
        .n_x = (size_t)u->n,
        .n_rows = (size_t)keys->n,
    };
    u->call->kernels->pack_rows(&pack);
    u->call->kernels->dot_rows(&dot);
}

static void multiply_head(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at) {
    const void *rows[POSENC_KEYS_PACKED];
    posenc_attention_stored stored = posenc_attention_rotated(u, keys, rows);
    if (u->n <= POSENC_FEW)
        multiply_few(u, keys, stored, at);
    else
        multiply_packed(u, keys, stored, at);
}

void posenc_attention_multiply_floats(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at) {
    const posenc_attention_args *args = u->call->args;
    if (u->n <= POSENC_FEW && args->k_rope == NULL)
        multiply_few(u, keys, (posenc_attention_stored){keys->rows, args->k.dtype}, at);
    else
        posenc_attention_multiply_by_heads(u, keys, at, multiply_head);
}

/* ---- Sums ---- */

/* FEW_PAIRS: as many as sum values where these stand. VALUES_STAGED in float32 at a time: with 128 channels they are
 * half of a second cache of 128 KB. */
enum { FEW_PAIRS = 16, VALUES_STAGED = 128 };

/* Where values stand, each tile of sums would widen them again; and rows whole pages apart, as of 8 heads of 128
 * channels in float32, share a few places of the caches: prefill took 1.25 times as long there on AVX2, and 1.05 times
 * with rows of f16 and bf16. Queries as integers stand where values are staged. */
static int stages_values(const posenc_attention_unit *u) {
    return u->n > FEW_PAIRS && u->call->steps.multiply != posenc_attention_multiply_quants;
}

size_t posenc_attention_values_at_a_time(const posenc_attention_unit *u) {
    const posenc_attention_args *args = u->call->args;
    size_t dim = (size_t)args->v.ne[0], room = posenc_attention_staged_floats(args->k.ne[0], (int64_t)dim) / dim;
    return stages_values(u) ? posenc_min_size(room, VALUES_STAGED) : POSENC_KEY_BLOCK;
}

/* Rows one stride apart are widened together. */
static size_t end_of_stride(const posenc_view *v, const void *const *rows, size_t begin, size_t n) {
    size_t end = begin + 1;
    while (end < n && (const char *)rows[end] == (const char *)rows[end - 1] + v->nb[2])
        end++;
    return end;
}

static void stage(const posenc_attention_unit *u, const void *const *rows, size_t n, const void **staged) {
    const posenc_view *v = &u->call->args->v;
    size_t dim = (size_t)v->ne[0];
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = end_of_stride(v, rows, begin, n);
        posenc_attention_widen(u, v, rows[begin], (int64_t)(end - begin), u->staged + begin * dim);
    }
    for (size_t t = 0; t < n; t++)
        staged[t] = u->staged + t * dim;
}

/* Clips each pair's keys before a hole (pass 0), or behind it, to these values. */
static void clip(const posenc_attention_values *values, int64_t n_pairs, int pass, int32_t begin[POSENC_UNIT_ROWS],
                 int32_t end[POSENC_UNIT_ROWS]) {
    int64_t first = (int64_t)values->begin, n = (int64_t)(values->end - values->begin);
    for (int64_t pair = 0; pair < n_pairs; pair++) {
        posenc_seen seen = values->seen[pair];
        int has_hole = seen.hole_begin < seen.hole_end;
        int64_t from = (int64_t)(pass == 0 ? seen.begin : has_hole ? seen.hole_end : seen.end) - first;
        int64_t to = (int64_t)(pass == 0 && has_hole ? seen.hole_begin : seen.end) - first;
        begin[pair] = (int32_t)posenc_min(posenc_max(from, 0), n);
        end[pair] = (int32_t)posenc_min(posenc_max(to, 0), n);
    }
}

/* Sums stay on the side until the block's last values, so that all of the block are one chain. */
static void sum_heads(const posenc_attention_unit *u, const posenc_attention_values *values) {
    const posenc_view *v = &u->call->args->v;
    int n_passes = values->has_hole ? 2 : 1, is_staged = stages_values(u);
    const void *staged[VALUES_STAGED];
    if (is_staged)
        stage(u, values->rows, values->end - values->begin, staged);
    for (int pass = 0; pass < n_passes; pass++) {
        int is_last = values->is_last && pass == n_passes - 1;
        int32_t begin[POSENC_UNIT_ROWS], end[POSENC_UNIT_ROWS];
        clip(values, posenc_attention_pairs(u), pass, begin, end);
        posenc_attend_rows_args args = {
            .weights = u->scores + values->begin,
            .weight_stride = POSENC_KEY_BLOCK,
            .from = values->is_first && pass == 0 ? NULL : u->side,
            .keep = is_last ? values->keep : NULL,
            .begin = begin,
            .end = end,
            .rows = is_staged ? staged : values->rows,
            .rows_type = is_staged ? POSENC_F32 : v->dtype,
            .y = is_last ? values->sums.rows : u->side,
            .y_stride = values->sums.stride,
            .head_stride = (ptrdiff_t)v->nb[1],
            .dim = (size_t)v->ne[0],
            .n = (size_t)u->n,
            .n_heads = (size_t)u->n_heads,
        };
        if (pass == 0)
            args.ahead[0] = values->ahead;
        u->call->kernels->attend_rows(&args);
    }
}

void posenc_attention_sum_floats(const posenc_attention_unit *u, const posenc_attention_values *values) {
    if (stages_values(u))
        posenc_attention_sum_by_heads(u, values, sum_heads);
    else
        sum_heads(u, values);
}
