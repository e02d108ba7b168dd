/* SPDX-License-Identifier: MIT */
/* SIMD body of the angle kernels; src/scalar/angles.c is the specification.
 * Needs: vec.h. Produces: angle_anchors, angle_rows. */
#include "vec.h"

#include <stdlib.h>

#include "simd/typed.h"
#include "kernels/variant.h"

V_INLINE vd half_turns(const posenc_angle_anchors_args *a, vd hi, vd lo) {
    vd p = vd_set1(a->position);
    vd product = vd_mul(p, hi);
    vd error = vd_fms(p, hi, product);
    vd turns = vd_fma(vd_set1(-2.0), vd_round(vd_mul(vd_set1(0.5), product)), product);
    return vd_add(turns, vd_fma(p, lo, error));
}

V_INLINE void anchors(const posenc_angle_anchors_args *a, const int has_growth) {
    for (size_t i = 0; i < a->n; i += VD) {
        vd s, c, factor = vd_set1(a->magnitude);
        vd_sincospi(half_turns(a, vd_load(a->hi + i), vd_load(a->lo + i)), &s, &c);
        if (has_growth)
            factor = vd_mul(factor, vd_exp(vd_mul(vd_load(a->growth + i), vd_set1(a->position - a->centre))));
        vd_store(a->cos_out + i, vd_mul(c, factor));
        vd_store(a->sin_out + i, vd_mul(s, factor));
    }
}

void VARIANT(angle_anchors)(const posenc_angle_anchors_args *a) {
    a->growth != NULL ? anchors(a, 1) : anchors(a, 0);
}

/* n floats at p, which may be more or fewer than a vector. */
V_INLINE void put(float *p, vf value, size_t n, int add) {
    if (n >= VF)
        v_store(p, add ? v_add(v_load(p), value) : value);
    else
        v_store_n(p, add ? v_add(v_load_n(p, n), value) : value, n);
}

/* The n floats of interleaved pairs at p. */
V_INLINE void put_pairs(float *p, vf first, vf second, size_t n, int add) {
    vf lo, hi;
    v_zip(first, second, &lo, &hi);
    put(p, lo, n, add);
    if (n > VF)
        put(p + VF, hi, n - VF, add);
}

/* Cosines and sines of VF pairs. */
typedef struct turns {
    vd cos_lo, cos_hi, sin_lo, sin_hi;
} turns;

V_INLINE turns load_turns(const double *cosines, const double *sines) {
    return (turns){vd_keep(vd_load(cosines)), vd_keep(vd_load(cosines + VD)), vd_keep(vd_load(sines)),
                   vd_keep(vd_load(sines + VD))};
}

V_INLINE turns table_at(const posenc_turn_column *table, size_t k, size_t i) {
    const double(*cos_sin)[POSENC_COLUMN] = table[i / POSENC_COLUMN].cos_sin[k];
    return load_turns(cos_sin[0] + i % POSENC_COLUMN, cos_sin[1] + i % POSENC_COLUMN);
}

/* Rotates a by b's cosines and the products with b's sines; backwards, these have the other sign. */
V_INLINE turns turned(turns a, turns b, turns products, const int backwards) {
    if (backwards)
        return (turns){vd_fma(a.cos_lo, b.cos_lo, products.cos_lo), vd_fma(a.cos_hi, b.cos_hi, products.cos_hi),
                       vd_fms(a.sin_lo, b.cos_lo, products.sin_lo), vd_fms(a.sin_hi, b.cos_hi, products.sin_hi)};
    return (turns){vd_fms(a.cos_lo, b.cos_lo, products.cos_lo), vd_fms(a.cos_hi, b.cos_hi, products.cos_hi),
                   vd_fma(a.sin_lo, b.cos_lo, products.sin_lo), vd_fma(a.sin_hi, b.cos_hi, products.sin_hi)};
}

V_INLINE turns sine_products(turns a, turns b) {
    return (turns){vd_mul(a.sin_lo, b.sin_lo), vd_mul(a.sin_hi, b.sin_hi), vd_mul(a.cos_lo, b.sin_lo),
                   vd_mul(a.cos_hi, b.sin_hi)};
}

/* Form of all rows of a call; constants, except with growth. is_far: some rows are prefetched; tested once, because
 * over 256 KB rows took 1.03 times as long with a test for each. streams: whole vectors, by non-temporal stores. */
typedef struct row_form {
    int step, add, has_growth, is_far, streams;
} row_form;

V_INLINE turns grown(const posenc_angle_rows_args *a, ptrdiff_t k, turns row, size_t i, const row_form form) {
    if (!form.has_growth)
        return row;
    const double *growth = a->growth[i / POSENC_COLUMN].factor[k + POSENC_ANCHOR_REACH] + i % POSENC_COLUMN;
    vd lo = vd_load(growth), hi = vd_load(growth + VD);
    return (turns){vd_mul(row.cos_lo, lo), vd_mul(row.cos_hi, hi), vd_mul(row.sin_lo, lo), vd_mul(row.sin_hi, hi)};
}

/* Pairs i .. i + n - 1, n <= VF, of the row at offset k. */
V_INLINE void put_row(const posenc_angle_rows_args *a, ptrdiff_t k, turns row, size_t i, size_t n,
                      const row_form form) {
    vf c = v_from_vd(row.cos_lo, row.cos_hi), s = v_from_vd(row.sin_lo, row.sin_hi);
    ptrdiff_t r = k - a->first_offset;
    float *cos_out = a->cos_out + r * a->cos_stride + i * (size_t)form.step;
    float *sin_out = a->sin_out + r * a->sin_stride + i * (size_t)form.step;
    size_t floats = 2 * n - (size_t)(a->drop_last && i + n == a->n);
    if (form.streams) {
        v_stream_vd(cos_out, row.cos_lo, row.cos_hi);
        v_stream_vd(sin_out, row.sin_lo, row.sin_hi);
        return;
    }
    /* Prefetches rows that will be stored. A store that misses holds up the arithmetic: over 8 MB and over 128 MB rows
     * took 1.7 times as long on an Intel Xeon; over 256 KB they take 1.3 times as long with it. */
    if (form.is_far && (size_t)r < a->n_fetch) {
        fetch_typed(cos_out + POSENC_ANCHOR_BLOCK * a->cos_stride, 0, form.step == 1 ? n : floats, POSENC_F32);
        if (form.step == 1)
            fetch_typed(sin_out + POSENC_ANCHOR_BLOCK * a->sin_stride, 0, n, POSENC_F32);
    }
    /* Fetches the second cache line of a store that spans two: 32 rows and more of 95 pairs take 0.7 times as long with
     * it. Vectors of half a line, which seldom span two, take 1.4 times as long. */
    if (form.step == 1 && VF * sizeof(float) == 64) {
        __builtin_prefetch(cos_out + n - 1, 1);
        __builtin_prefetch(sin_out + n - 1, 1);
    }
    if (form.step == 1 && !form.add && n == VF) {
        v_store_vd(cos_out, row.cos_lo, row.cos_hi);
        v_store_vd(sin_out, row.sin_lo, row.sin_hi);
    } else if (form.step == 1) {
        put(cos_out, c, n, form.add);
        put(sin_out, s, n, form.add);
    } else if (cos_out < sin_out) {
        put_pairs(cos_out, c, s, floats, form.add);
    } else {
        put_pairs(sin_out, s, c, floats, form.add);
    }
}

/* The n < VF pairs after the whole vector at i, side by side: in whole vectors that begin within it. */
V_INLINE void put_rest(const posenc_angle_rows_args *a, ptrdiff_t k, turns whole, turns rest, size_t i, size_t n) {
    ptrdiff_t r = k - a->first_offset;
    v_store(a->cos_out + r * a->cos_stride + i + n,
            v_slide(v_from_vd(whole.cos_lo, whole.cos_hi), v_from_vd(rest.cos_lo, rest.cos_hi), n));
    v_store(a->sin_out + r * a->sin_stride + i + n,
            v_slide(v_from_vd(whole.sin_lo, whole.sin_hi), v_from_vd(rest.sin_lo, rest.sin_hi), n));
}

/* Which of the rows at offsets k and -k. */
enum { FORWARDS = 1, BACKWARDS = 2, BOTH = 3 };

/* One vector of the rows, with n <= VF pairs. */
V_INLINE void vector_at(const posenc_angle_rows_args *a, size_t k, const int ways, turns anchor, size_t i, size_t n,
                        const row_form form) {
    turns by = table_at(a->offsets, k, i), products = sine_products(anchor, by);
    ptrdiff_t up = (ptrdiff_t)k;
    if (ways & FORWARDS)
        put_row(a, up, grown(a, up, turned(anchor, by, products, 0), i, form), i, n, form);
    if (ways & BACKWARDS)
        put_row(a, -up, grown(a, -up, turned(anchor, by, products, 1), i, form), i, n, form);
}

/* A whole vector and the n pairs after it. */
V_INLINE void joined_at(const posenc_angle_rows_args *a, size_t k, const int ways, const turns *anchor, size_t i,
                        size_t n, const row_form form) {
    turns by[2], products[2];
    for (int v = 0; v < 2; v++) {
        by[v] = table_at(a->offsets, k, i + v * VF);
        products[v] = sine_products(anchor[v], by[v]);
    }
    for (int backwards = 0; backwards < 2; backwards++) {
        if (!(ways & (backwards ? BACKWARDS : FORWARDS)))
            continue;
        ptrdiff_t at = backwards ? -(ptrdiff_t)k : (ptrdiff_t)k;
        turns whole = grown(a, at, turned(anchor[0], by[0], products[0], backwards), i, form);
        turns rest = grown(a, at, turned(anchor[1], by[1], products[1], backwards), i + VF, form);
        put_row(a, at, whole, i, VF, form);
        put_rest(a, at, whole, rest, i, n);
    }
}

V_INLINE void rows_at(const posenc_angle_rows_args *a, size_t k, const int ways, const turns *anchor, size_t i,
                      const int vectors, size_t n, const row_form form) {
    if (vectors == 2 && n < VF) {
        joined_at(a, k, ways, anchor, i, n, form);
        return;
    }
    for (int v = 0; v < vectors; v++)
        vector_at(a, k, ways, anchor[v], i + v * VF, n, form);
}

/* The block's anchor. */
V_INLINE turns anchor_at(const posenc_angle_rows_args *a, size_t i) {
    turns anchor = load_turns(a->anchor_cos + i, a->anchor_sin + i), by = table_at(a->blocks, (size_t)abs(a->block), i);
    return turned(anchor, by, sine_products(anchor, by), a->block < 0);
}

/* Pairs from i on of every row, `vectors` vectors of which the last has n <= VF: the block's anchors stay in registers
 * while the rows go by. Rows on either side of it are made together, for they share half of their products. */
V_INLINE void column(const posenc_angle_rows_args *a, size_t i, const int vectors, size_t n, const row_form form) {
    turns anchor[2];
    for (int v = 0; v < vectors; v++)
        anchor[v] = anchor_at(a, i + v * VF);
    const ptrdiff_t first = a->first_offset, last = first + (ptrdiff_t)a->n_rows - 1,
                    both = last < -first ? last : -first;
    for (ptrdiff_t k = 1; k <= both; k++)
        rows_at(a, (size_t)k, BOTH, anchor, i, vectors, n, form);
    for (ptrdiff_t k = first > 0 ? first : 0; k <= last; k = k == 0 && both > 0 ? both + 1 : k + 1)
        rows_at(a, (size_t)k, FORWARDS, anchor, i, vectors, n, form);
    for (ptrdiff_t k = last < 0 ? -last : last + 1; k <= -first; k++)
        rows_at(a, (size_t)k, BACKWARDS, anchor, i, vectors, n, form);
}

/* Two rows at a time: rows beyond the caches take 0.8 times as long, the others 1.1 times; pairs, which are two vectors
 * each already, do not gain. The tail goes with the last whole vector, where nothing is added to: 0.7 to 0.9 times as
 * long as alone with AVX-512, 0.9 to 1.0 with AVX2. */
V_INLINE void columns(const posenc_angle_rows_args *a, const row_form form) {
    size_t i = 0, rest = a->n % VF;
    const int joins = form.step == 1 && !form.add && rest > 0 && a->n > VF;
    size_t whole = a->n - rest - (joins ? VF : 0);
    for (; form.step == 1 && i + 2 * VF <= whole; i += 2 * VF)
        column(a, i, 2, VF, form);
    for (; i + VF <= whole; i += VF)
        column(a, i, 1, VF, form);
    if (joins)
        column(a, i, 2, rest, form);
    else if (rest > 0)
        column(a, i, 1, rest, form);
}

/* Functions of their own, which are faster to compile; the copy tells the compiler that no store changes it. */
#define COLUMNS(name, ...)                                                                                             \
    static __attribute__((noinline)) void name(const posenc_angle_rows_args *args) {                                   \
        const posenc_angle_rows_args a = *args;                                                                        \
        columns(&a, (row_form){__VA_ARGS__});                                                                          \
    }
COLUMNS(grown_columns, .step = a.step, .add = a.add, .has_growth = 1, .is_far = 1)
COLUMNS(added_pairs, .step = 2, .add = 1, .is_far = 1)
COLUMNS(pairs, .step = 2, .is_far = 1)
COLUMNS(added_columns, .step = 1, .add = 1, .is_far = 1)
COLUMNS(streamed_columns, .step = 1, .streams = 1)
COLUMNS(far_columns, .step = 1, .is_far = 1)
COLUMNS(near_columns, .step = 1)
#undef COLUMNS

/* Rows of one block. */
V_INLINE void block_rows(const posenc_angle_rows_args *a, int streams) {
    if (a->growth != NULL)
        grown_columns(a);
    else if (a->step == 2)
        a->add ? added_pairs(a) : pairs(a);
    else if (a->add)
        added_columns(a);
    else if (streams)
        streamed_columns(a);
    else
        a->n_fetch > 0 ? far_columns(a) : near_columns(a);
}

/* Whole vectors, each where one may begin, go past the caches, which are too small for the result: 64 MB and more take
 * 0.7 times as long, 32 MB 0.8, which is the size of the last cache (AMD Zen 4; 16 MB would take 1.4 times as long). */
V_INLINE int can_stream(const posenc_angle_rows_args *a) {
    uintptr_t starts = (uintptr_t)a->cos_out | (uintptr_t)a->sin_out;
    size_t apart = (size_t)a->cos_stride | (size_t)a->sin_stride | a->n;
    return a->is_vast && a->step == 1 && starts % (VF * sizeof(float)) == 0 && apart % VF == 0;
}

/* The copy tells the compiler that no store changes the arguments. */
void VARIANT(angle_rows)(const posenc_angle_rows_args *args) {
    posenc_angle_rows_args a = *args;
    const int streams = can_stream(args);
    for (size_t left = args->n_rows; left > 0; left -= a.n_rows) {
        size_t to_end = (size_t)(POSENC_ANCHOR_REACH - a.first_offset);
        a.n_rows = left < to_end ? left : to_end;
        block_rows(&a, streams);
        a.block++;
        a.first_offset = -POSENC_ANCHOR_REACH;
        a.cos_out += (ptrdiff_t)a.n_rows * a.cos_stride;
        a.sin_out += (ptrdiff_t)a.n_rows * a.sin_stride;
        a.n_fetch -= a.n_fetch < a.n_rows ? a.n_fetch : a.n_rows;
    }
    if (streams)
        v_end_stream();
}
