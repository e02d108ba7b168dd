/* SPDX-License-Identifier: MIT */
/* Fused attention in float32 (POSENC_MATH_F32): scores of keys, and weighted sums of values. */
#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"

/* ---- Products ---- */

/* Multiplies up to POSENC_FEW queries with keys in place. The kernel takes whole vectors of keys: the first key pads
 * them. */
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
    };
    posenc_dot_rows_args dot = {
        .x = u->queries + keys->first_pair * (int64_t)posenc_query_floats((int64_t)dim),
        .x_stride = (ptrdiff_t)(posenc_query_floats((int64_t)dim) * sizeof(float)),
        .panels = u->panels,
        .y = u->scores + at + keys->first_pair * POSENC_KEY_BLOCK,
        .y_stride = (ptrdiff_t)(POSENC_KEY_BLOCK * sizeof(float)),
        .dim = dim,
        .n_x = (size_t)(keys->end_pair - keys->first_pair),
        .n_rows = (size_t)keys->n,
    };
    for (int i = 0; i < 2; i++) /* the longer call prefetches */
        *(u->n > POSENC_FEW_PAIRS ? &dot.ahead[i] : &pack.ahead[i]) = keys->ahead[i];
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

/* 1 if values are packed into panels. In place, each tile of sums would widen them again, and rows a power of two apart
 * share a few sets of the caches. From panels a tile reads one piece of memory: prefill in float32 takes 0.87 to 0.96
 * times as long as with rows widened one behind the other (AMD Zen 3). Integer queries use the panels' memory. */
static int packs_values(const posenc_attention_unit *u) {
    return u->n > POSENC_FEW_PAIRS && u->call->steps.multiply != posenc_attention_multiply_quants;
}

size_t posenc_attention_values_at_a_time(const posenc_attention_unit *u) {
    return packs_values(u) ? POSENC_VALUES_PACKED : POSENC_KEY_BLOCK;
}

static void pack_values(const posenc_attention_unit *u, const void *const *rows, size_t n) {
    const posenc_view *v = &u->call->args->v;
    posenc_pack_values_args args = {
        .rows = rows,
        .rows_type = v->dtype,
        .panels = u->staged,
        .panel_stride = posenc_value_panel_floats(n),
        .dim = (size_t)v->ne[0],
        .n_rows = n,
    };
    u->call->kernels->pack_values(&args);
}

/* Computes the sums from n packed values. */
static void sum_packed(const posenc_attention_unit *u, const posenc_attend_rows_args *sums, size_t n) {
    posenc_attend_panels_args args = {
        .weights = sums->weights,
        .weight_stride = sums->weight_stride,
        .from = sums->from,
        .keep = sums->keep,
        .begin = sums->begin,
        .end = sums->end,
        .panels = u->staged,
        .panel_stride = posenc_value_panel_floats(n),
        .y = sums->y,
        .y_stride = sums->y_stride,
        .dim = sums->dim,
        .n = sums->n,
        .ahead = {sums->ahead[0], sums->ahead[1]},
    };
    u->call->kernels->attend_panels(&args);
}

/* Clips each pair's visible keys before a hole (pass 0), or behind it, to these values. Returns 1 if any are left. */
static int clip(const posenc_attention_values *values, int64_t n_pairs, int pass, int32_t begin[POSENC_MOST_PAIRS],
                int32_t end[POSENC_MOST_PAIRS]) {
    int any = 0;
    int64_t first = (int64_t)values->begin, n = (int64_t)(values->end - values->begin);
    for (int64_t pair = 0; pair < n_pairs; pair++) {
        posenc_visible visible = values->visible[pair];
        int has_hole = visible.hole_begin < visible.hole_end;
        int64_t from = (int64_t)(pass == 0 ? visible.begin : has_hole ? visible.hole_end : visible.end) - first;
        int64_t to = (int64_t)(pass == 0 && has_hole ? visible.hole_begin : visible.end) - first;
        begin[pair] = (int32_t)posenc_min(posenc_max(from, 0), n);
        end[pair] = (int32_t)posenc_min(posenc_max(to, 0), n);
        any |= begin[pair] < end[pair];
    }
    return any;
}

/* Sums values of several heads, or of one head for the pairs that see some of the block. Sums stay in u->side until the
 * block's last values: one chain of fma per key block. */
static void sum_heads(const posenc_attention_unit *u, const posenc_attention_values *values) {
    const posenc_view *v = &u->call->args->v;
    size_t n = values->end - values->begin, stride = values->sums.stride;
    int64_t first = u->n_heads == 1 ? values->first_pair : 0,
            n_pairs = u->n_heads == 1 ? values->end_pair - first : u->n;
    int n_passes = values->has_hole ? 2 : 1, are_packed = packs_values(u);
    if (n_pairs == 0)
        return;
    if (are_packed)
        pack_values(u, values->rows, n);
    float *side = u->side + (size_t)first * stride, *sums = values->sums.rows + (size_t)first * stride;
    for (int pass = 0; pass < n_passes; pass++) {
        int is_first = values->is_first && pass == 0, is_last = values->is_last && pass == n_passes - 1;
        int32_t begin[POSENC_MOST_PAIRS], end[POSENC_MOST_PAIRS];
        if (!clip(values, posenc_attention_pairs(u), pass, begin, end) && !is_first && !is_last)
            continue;
        posenc_attend_rows_args args = {
            .weights = u->scores + first * POSENC_KEY_BLOCK + values->begin,
            .weight_stride = POSENC_KEY_BLOCK,
            .from = is_first ? NULL : side,
            .keep = is_last ? values->keep + first : NULL,
            .begin = begin + first,
            .end = end + first,
            .rows = values->rows,
            .rows_type = v->dtype,
            .y = is_last ? sums : side,
            .y_stride = stride,
            .head_stride = (ptrdiff_t)v->nb[1],
            .dim = (size_t)v->ne[0],
            .n = (size_t)n_pairs,
            .n_heads = (size_t)u->n_heads,
        };
        for (int i = 0; i < 2 && pass == 0; i++)
            args.ahead[i] = values->ahead[i];
        are_packed ? sum_packed(u, &args, n) : u->call->kernels->attend_rows(&args);
    }
}

void posenc_attention_sum_floats(const posenc_attention_unit *u, const posenc_attention_values *values) {
    if (packs_values(u))
        posenc_attention_sum_by_heads(u, values, sum_heads);
    else
        sum_heads(u, values);
}
