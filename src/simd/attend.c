/* SPDX-License-Identifier: MIT */
/* SIMD body of the weighted sums of rows; src/scalar/attend.c is the specification.
 * Needs: vec.h. Produces: attend_rows, attend_panels.
 *
 * A tile of some sums and some vectors of channels stays in registers while the rows pass by. A row is loaded and
 * widened once for all sums of a tile. Rows that only some of the tile's sums see are ragged: each sum asks for
 * itself. */
#include "vec.h"

#include "simd/typed.h"

#include "simd/prefetch.h"
#include "kernels/variant.h"

enum {
    /* AVX2's 16 registers hold 6 x 2 vectors. AVX-512's 32 registers hold 12 x 2: more sums, so that a row is widened
     * for twice as many at once. */
    ATTEND_SUMS = VF == 16 ? 12 : 6,
    ATTEND_VECTORS = VF == 4 ? 4 : 2,
    ATTEND_FEW = VF == 8 ? 2 : 4, /* vectors of four sums, and half of those of two */
    ATTEND_WIDE = 8               /* vectors of a single sum: enough chains to hide the latency of fma */
};

/* Tile: sums from number `first` on, and channels from `channel` on. */
typedef struct attend_tile {
    size_t first, channel;
    size_t lanes;           /* lanes of a single vector; VF for several */
    ptrdiff_t displacement; /* bytes from a row to the head's row */
} attend_tile;

/* Adds rows [begin, end). is_ragged: each row to the sums whose range holds it. */
V_INLINE void attend_run(const posenc_attend_rows_args *a, const attend_tile *t, int32_t begin, int32_t end,
                         const int is_ragged, const size_t n_sums, const size_t n_v, const posenc_dtype type,
                         vf total[][ATTEND_WIDE]) {
    const size_t lanes = n_v > 1 ? VF : t->lanes;
    const float *weights = a->weights + t->first * a->weight_stride;
    const int32_t *begins = a->begin + t->first, *ends = a->end + t->first;
    vf sum[ATTEND_SUMS][ATTEND_WIDE]; /* copies for the loop: gcc otherwise keeps a value of each row on the stack */
    for (size_t r = 0; r < n_sums; r++)
        for (size_t v = 0; v < n_v; v++)
            sum[r][v] = total[r][v];
    for (int32_t k = begin; k < end; k++) {
        const void *row = (const char *)a->rows[k] + t->displacement;
        if (n_sums == 1 && !posenc_has_blocks(type)) { /* all values at once would be more than the registers hold */
            vf weight = v_set1(weights[k]);
            for (size_t v = 0; v < n_v; v++)
                sum[0][v] = v_fma(weight, v_keep(load_typed(row, t->channel + v * VF, lanes, type)), sum[0][v]);
            continue;
        }
        vf value[ATTEND_WIDE];
        if (VF > 4 && type == POSENC_F8_E4M3 && n_v > 1) /* with it gcc spills sums of every type on NEON */
            for (size_t v = 0; v < n_v; v += 2)
                load_pair_typed(row, t->channel + v * VF, type, &value[v], &value[v + 1]);
        else
            for (size_t v = 0; v < n_v; v++)
                value[v] = v_keep(load_typed(row, t->channel + v * VF, lanes, type));
        for (size_t r = 0; r < n_sums; r++) {
            if (is_ragged && (k < begins[r] || k >= ends[r]))
                continue;
            vf weight = v_set1(weights[r * a->weight_stride + (size_t)k]);
            for (size_t v = 0; v < n_v; v++)
                sum[r][v] = v_fma(weight, value[v], sum[r][v]);
        }
    }
    for (size_t r = 0; r < n_sums; r++)
        for (size_t v = 0; v < n_v; v++)
            total[r][v] = sum[r][v];
}

V_INLINE void attend_block(const posenc_attend_rows_args *a, const attend_tile *t, const size_t n_sums,
                           const size_t n_v, const posenc_dtype type) {
    const size_t lanes = n_v > 1 ? VF : t->lanes, corner = t->first * a->y_stride + t->channel;
    int32_t first = a->begin[t->first], all_begin = first, all_end = a->end[t->first], last = all_end;
    vf sum[ATTEND_SUMS][ATTEND_WIDE];
    for (size_t r = 0; r < n_sums; r++) {
        int32_t begin = a->begin[t->first + r], end = a->end[t->first + r];
        first = begin < first ? begin : first;
        all_begin = begin > all_begin ? begin : all_begin;
        all_end = end < all_end ? end : all_end;
        last = end > last ? end : last;
        for (size_t v = 0; v < n_v; v++)
            sum[r][v] = a->from == NULL ? v_set1(-0.0f)
                                        : load_typed(a->from + corner + r * a->y_stride, v * VF, lanes, POSENC_F32);
    }
    if (all_begin >= all_end)
        all_begin = all_end = last;
    for (int32_t k = first, end; k < last; k = end) {
        end = k < all_begin ? all_begin : k < all_end ? all_end : last;
        if (n_sums == 1 || k == all_begin)
            attend_run(a, t, k, end, 0, n_sums, n_v, type, sum);
        else
            attend_run(a, t, k, end, 1, n_sums, n_v, type, sum);
    }
    for (size_t r = 0; r < n_sums; r++) {
        float *y = a->y + corner + r * a->y_stride;
        vf keep = v_set1(a->keep != NULL ? a->keep[t->first + r] : 0.0f);
        for (size_t v = 0; v < n_v; v++) {
            if (a->keep != NULL)
                sum[r][v] = v_fma(keep, load_typed(y, v * VF, lanes, POSENC_F32), sum[r][v]);
            store_typed(y, v * VF, sum[r][v], lanes, POSENC_F32);
        }
    }
}

/* Computes all channels of n_sums sums, wide_v vectors at a time. */
V_INLINE void attend_channels(const posenc_attend_rows_args *a, attend_tile t, const size_t n_sums, const size_t wide_v,
                              const posenc_dtype type, fetching *f) {
    for (; t.channel + wide_v * VF <= a->dim; t.channel += wide_v * VF) {
        attend_block(a, &t, n_sums, wide_v, type);
        fetch_some(f, n_sums * wide_v * VF);
    }
    for (; t.channel < a->dim; t.channel += VF) {
        t.lanes = lanes_from(t.channel, a->dim);
        attend_block(a, &t, n_sums, 1, type);
        fetch_some(f, n_sums * t.lanes);
    }
}

/* The tile of the head's sums from number i on. */
V_INLINE attend_tile attend_tile_at(const posenc_attend_rows_args *a, size_t head, size_t i) {
    return (attend_tile){.first = head * a->n + i, .lanes = VF, .displacement = (ptrdiff_t)head * a->head_stride};
}

/* Computes all heads, by the largest tiles that their sums fill. */
V_INLINE void attend_typed(const posenc_attend_rows_args *a, const posenc_dtype type) {
    fetching f = fetching_of(a->ahead, a->n_heads * a->n * a->dim);
    for (size_t h = 0; h < a->n_heads; h++) {
        size_t i = 0;
        for (; i + ATTEND_SUMS <= a->n; i += ATTEND_SUMS)
            attend_channels(a, attend_tile_at(a, h, i), ATTEND_SUMS, ATTEND_VECTORS, type, &f);
        for (; i + 4 <= a->n; i += 4)
            attend_channels(a, attend_tile_at(a, h, i), 4, ATTEND_FEW, type, &f);
        if (i + 2 <= a->n) {
            attend_channels(a, attend_tile_at(a, h, i), 2, 2 * ATTEND_FEW, type, &f);
            i += 2;
        }
        if (i < a->n)
            attend_channels(a, attend_tile_at(a, h, i), 1, ATTEND_WIDE, type, &f);
    }
}

/* One function for each type, as pack.c has. In one for all of them gcc keeps rows on the stack, and AVX-512 takes 1.5
 * times as long for float32. */
#define ATTEND(type, name, ...)                                                                                        \
    static __attribute__((noinline)) void attend_##name(const posenc_attend_rows_args *args) {                         \
        const posenc_attend_rows_args a = *args; /* a copy: no store changes it */                                     \
        attend_typed(&a, type);                                                                                        \
    }
POSENC_EACH_TYPE(ATTEND)

void VARIANT(attend_rows)(const posenc_attend_rows_args *args) {
    switch (args->rows_type) {
#define CASE(type, name, ...)                                                                                          \
    case type: attend_##name(args); break;
        POSENC_EACH_TYPE(CASE)
#undef CASE
    }
}

/* ---- Rows in panels ---- */

enum {
    PANEL_VECTORS = POSENC_VALUE_PANEL / VF,
    TILE_VECTORS = VF == 16 ? 2 : PANEL_VECTORS, /* two panels side by side on AVX-512 */
    BAND = 16                                    /* tiles of sums per pass over the panels */
};

/* Rows visible to some of a tile's sums: [begin, end), and to all of them: [all_begin, all_end). */
typedef struct tile_rows {
    int32_t begin, all_begin, all_end, end;
} tile_rows;

V_INLINE tile_rows rows_of_tile(const posenc_attend_panels_args *a, size_t first, const size_t n_sums) {
    tile_rows rows = {a->begin[first], a->begin[first], a->end[first], a->end[first]};
    for (size_t r = 1; r < n_sums; r++) {
        int32_t begin = a->begin[first + r], end = a->end[first + r];
        rows.begin = begin < rows.begin ? begin : rows.begin;
        rows.all_begin = begin > rows.all_begin ? begin : rows.all_begin;
        rows.all_end = end < rows.all_end ? end : rows.all_end;
        rows.end = end > rows.end ? end : rows.end;
    }
    if (rows.all_begin >= rows.all_end)
        rows.all_begin = rows.all_end = rows.end;
    return rows;
}

/* Tile: sums from number `first` on, and channels from `channel` on, the start of a panel. */
typedef struct panel_tile {
    const posenc_attend_panels_args *a;
    size_t first, channel;
    const float *panel;
} panel_tile;

/* Adds rows [begin, end) of n_v vectors of channels. is_ragged: each row to the sums whose range holds it. */
V_INLINE void panel_run(const panel_tile *t, int32_t begin, int32_t end, const int is_ragged, const size_t n_sums,
                        const size_t n_v, vf sum[][TILE_VECTORS]) {
    const posenc_attend_panels_args *a = t->a;
    const float *weights = a->weights + t->first * a->weight_stride;
    const int32_t *begins = a->begin + t->first, *ends = a->end + t->first;
    for (int32_t k = begin; k < end; k++) {
        vf value[TILE_VECTORS];
        for (size_t v = 0; v < n_v; v++)
            value[v] = v_keep(v_load(t->panel + v / PANEL_VECTORS * a->panel_stride + (size_t)k * POSENC_VALUE_PANEL +
                                     v % PANEL_VECTORS * VF));
        for (size_t r = 0; r < n_sums; r++) {
            if (is_ragged && (k < begins[r] || k >= ends[r]))
                continue;
            vf weight = v_set1(weights[r * a->weight_stride + (size_t)k]);
            for (size_t v = 0; v < n_v; v++)
                sum[r][v] = v_fma(weight, value[v], sum[r][v]);
        }
    }
}

/* Index of the tile's sum r in y and in from. */
V_INLINE size_t corner_of(const panel_tile *t, size_t r) {
    return (t->first + r) * t->a->y_stride + t->channel;
}

/* Lanes of vector v. is_whole: every vector of the tile has VF lanes. */
V_INLINE size_t lanes_of(const panel_tile *t, size_t v, const int is_whole) {
    size_t first = t->channel + v * VF;
    return is_whole ? VF : first >= t->a->dim ? 0 : lanes_from(first, t->a->dim);
}

V_INLINE vf load_sum(const panel_tile *t, const float *sums, size_t r, size_t v, const int is_whole) {
    return load_typed(sums + corner_of(t, r), v * VF, lanes_of(t, v, is_whole), POSENC_F32);
}

V_INLINE void sum_tile(const panel_tile *t, const tile_rows *rows, const size_t n_sums, const size_t n_v,
                       const int is_whole) {
    const posenc_attend_panels_args *a = t->a;
    vf sum[ATTEND_SUMS][TILE_VECTORS];
    for (size_t r = 0; r < n_sums; r++)
        for (size_t v = 0; v < n_v; v++)
            sum[r][v] = v_set1(-0.0f);
    if (a->from != NULL)
        for (size_t r = 0; r < n_sums; r++)
            for (size_t v = 0; v < n_v; v++)
                sum[r][v] = load_sum(t, a->from, r, v, is_whole);
    if (RARELY(rows->begin < rows->all_begin))
        panel_run(t, rows->begin, rows->all_begin, 1, n_sums, n_v, sum);
    panel_run(t, rows->all_begin, rows->all_end, 0, n_sums, n_v, sum);
    if (RARELY(rows->all_end < rows->end))
        panel_run(t, rows->all_end, rows->end, 1, n_sums, n_v, sum);
    if (a->keep != NULL)
        for (size_t r = 0; r < n_sums; r++) {
            vf keep = v_set1(a->keep[t->first + r]);
            for (size_t v = 0; v < n_v; v++)
                sum[r][v] = v_fma(keep, load_sum(t, a->y, r, v, is_whole), sum[r][v]);
        }
    for (size_t r = 0; r < n_sums; r++)
        for (size_t v = 0; v < n_v; v++)
            store_typed(a->y + corner_of(t, r), v * VF, sum[r][v], lanes_of(t, v, is_whole), POSENC_F32);
}

/* Computes n_v vectors of channels of n_tiles tiles of sums. */
V_INLINE void sum_tiles(panel_tile t, const tile_rows *rows, size_t n_tiles, const size_t n_sums, const size_t n_v,
                        const int is_whole, fetching *f) {
    t.panel = t.a->panels + t.channel / POSENC_VALUE_PANEL * t.a->panel_stride;
    for (size_t i = 0; i < n_tiles; i++, t.first += n_sums) {
        sum_tile(&t, &rows[i], n_sums, n_v, is_whole);
        fetch_some(f, n_sums * n_v * VF);
    }
}

/* Computes all channels of up to BAND tiles of sums, panel by panel: a panel stays in the first cache while the weights
 * pass by. */
V_INLINE void sum_band(const posenc_attend_panels_args *a, size_t first, size_t n_tiles, const size_t n_sums,
                       const size_t n_v, fetching *f) {
    tile_rows rows[BAND];
    for (size_t i = 0; i < n_tiles; i++)
        rows[i] = rows_of_tile(a, first + i * n_sums, n_sums);
    panel_tile t = {.a = a, .first = first};
    for (; t.channel + n_v * VF <= a->dim; t.channel += n_v * VF)
        sum_tiles(t, rows, n_tiles, n_sums, n_v, 1, f);
    for (; t.channel < a->dim; t.channel += POSENC_VALUE_PANEL)
        sum_tiles(t, rows, n_tiles, n_sums, PANEL_VECTORS, 0, f);
}

static __attribute__((noinline)) void panels_many(const posenc_attend_panels_args *a, size_t n_tiles, fetching *f) {
    for (size_t i = 0, n; i < n_tiles; i += n) {
        n = n_tiles - i < BAND ? n_tiles - i : BAND;
        sum_band(a, i * ATTEND_SUMS, n, ATTEND_SUMS, TILE_VECTORS, f);
    }
}

static __attribute__((noinline)) void panels_four(const posenc_attend_panels_args *a, size_t first, fetching *f) {
    sum_band(a, first, 1, 4, TILE_VECTORS, f);
}

static __attribute__((noinline)) void panels_two(const posenc_attend_panels_args *a, size_t first, fetching *f) {
    sum_band(a, first, 1, 2, TILE_VECTORS, f);
}

static __attribute__((noinline)) void panels_one(const posenc_attend_panels_args *a, size_t first, fetching *f) {
    sum_band(a, first, 1, 1, TILE_VECTORS, f);
}

void VARIANT(attend_panels)(const posenc_attend_panels_args *args) {
    const posenc_attend_panels_args a = *args; /* a copy: no store changes it */
    size_t i = a.n - a.n % ATTEND_SUMS;
    fetching f = fetching_of(a.ahead, a.n * a.dim);
    panels_many(&a, a.n / ATTEND_SUMS, &f);
    for (; i + 4 <= a.n; i += 4)
        panels_four(&a, i, &f);
    if (i + 2 <= a.n) {
        panels_two(&a, i, &f);
        i += 2;
    }
    if (i < a.n)
        panels_one(&a, i, &f);
}
