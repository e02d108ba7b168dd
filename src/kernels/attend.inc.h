/* SIMD body of the weighted sums of rows; src/scalar/attend.c is the specification.
 * Needs: vec.h. Produces: attend_rows. Used by: avx2, avx512, neon.
 *
 * A tile of some sums and some vectors of channels stays in registers while the rows pass by; a row is loaded and
 * widened once for all of them. Where only some of the tile's sums see a row, it is taken for each apart. */
#include "kernels/typed.inc.h"
#include "kernels/variant.h"

enum {
    /* 6 x 2 vectors are what the 16 registers of AVX2 hold. Of the tiles that fit 32 registers AVX-512 takes the one of
     * more sums: it widens a row for twice as many at once. */
    ATTEND_SUMS = VF == 16 ? 12 : 6,
    ATTEND_VECTORS = VF == 4 ? 4 : 2,
    ATTEND_FEW = VF == 8 ? 2 : 4, /* vectors of four sums, and half of those of two */
    ATTEND_WIDE = 8               /* vectors of a single sum: enough chains to hide the latency of fma */
};

/* The sums of one tile. */
typedef struct attend_tile {
    size_t first;               /* of the rows of y */
    size_t channel, n_channels; /* less than VF only if there is one vector */
} attend_tile;

/* Rows begin <= k < end for those sums of the tile that see them. */
V_INLINE void attend_ragged(const posenc_attend_rows_args *a, const attend_tile *t, int32_t begin, int32_t end,
                            const size_t n_sums, const size_t n_v, const posenc_dtype type, vf sum[][ATTEND_WIDE]) {
    size_t lanes = lanes_from(0, t->n_channels);
    for (int32_t k = begin; k < end; k++) {
        const char *row = (const char *)a->rows + (ptrdiff_t)k * a->row_stride;
        for (size_t r = 0; r < n_sums; r++) {
            if (k < a->begin[t->first + r] || k >= a->end[t->first + r])
                continue;
            vf weight = v_set1(a->weights[(t->first + r) * a->weight_stride + (size_t)k]);
            for (size_t v = 0; v < n_v; v++)
                sum[r][v] = v_fma(weight, load_typed(row, t->channel + v * VF, lanes, type), sum[r][v]);
        }
    }
}

V_INLINE void attend_whole(const posenc_attend_rows_args *a, const attend_tile *t, int32_t begin, int32_t end,
                           const size_t n_sums, const size_t n_v, const posenc_dtype type, vf total[][ATTEND_WIDE]) {
    size_t lanes = lanes_from(0, t->n_channels);
    const float *weights = a->weights + t->first * a->weight_stride;
    vf sum[ATTEND_SUMS][ATTEND_WIDE]; /* the loop's own: gcc otherwise has a value of each row on the stack */
    for (size_t r = 0; r < n_sums; r++)
        for (size_t v = 0; v < n_v; v++)
            sum[r][v] = total[r][v];
    for (int32_t k = begin; k < end; k++) {
        const char *row = (const char *)a->rows + (ptrdiff_t)k * a->row_stride;
        vf value[ATTEND_WIDE];
        for (size_t v = 0; v < n_v; v++)
            value[v] = v_keep(load_typed(row, t->channel + v * VF, lanes, type));
        for (size_t r = 0; r < n_sums; r++) {
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
    size_t lanes = lanes_from(0, t->n_channels);
    size_t corner = t->first * a->y_stride + t->channel;
    vf sum[ATTEND_SUMS][ATTEND_WIDE];
    int32_t first = a->begin[t->first], all_begin = first, all_end = a->end[t->first], last = all_end;
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
    attend_ragged(a, t, first, all_begin, n_sums, n_v, type, sum);
    attend_whole(a, t, all_begin, all_end, n_sums, n_v, type, sum);
    attend_ragged(a, t, all_end, last, n_sums, n_v, type, sum);
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

/* All channels of n_sums sums, wide_v vectors at a time. */
V_INLINE void attend_channels(const posenc_attend_rows_args *a, size_t first, const size_t n_sums, const size_t wide_v,
                              const posenc_dtype type) {
    attend_tile t = {first, 0, wide_v * VF};
    for (; t.channel + wide_v * VF <= a->dim; t.channel += wide_v * VF)
        attend_block(a, &t, n_sums, wide_v, type);
    t.n_channels = VF;
    for (; t.channel + VF <= a->dim; t.channel += VF)
        attend_block(a, &t, n_sums, 1, type);
    t.n_channels = a->dim - t.channel;
    if (t.n_channels > 0)
        attend_block(a, &t, n_sums, 1, type);
}

V_INLINE void attend_typed(const posenc_attend_rows_args *a, const posenc_dtype type) {
    size_t i = 0;
    for (; i + ATTEND_SUMS <= a->n; i += ATTEND_SUMS)
        attend_channels(a, i, ATTEND_SUMS, ATTEND_VECTORS, type);
    for (; i + 4 <= a->n; i += 4)
        attend_channels(a, i, 4, ATTEND_FEW, type);
    if (i + 2 <= a->n) {
        attend_channels(a, i, 2, 2 * ATTEND_FEW, type);
        i += 2;
    }
    if (i < a->n)
        attend_channels(a, i, 1, ATTEND_WIDE, type);
}

void VARIANT(attend_rows)(const posenc_attend_rows_args *args) {
    const posenc_attend_rows_args a = *args; /* a copy: no store changes it */
    switch (a.rows_type) {
    case POSENC_F16: attend_typed(&a, POSENC_F16); break;
    case POSENC_BF16: attend_typed(&a, POSENC_BF16); break;
    case POSENC_Q8_0: attend_typed(&a, POSENC_Q8_0); break;
    default: attend_typed(&a, POSENC_F32);
    }
}
