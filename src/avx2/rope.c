/* SPDX-License-Identifier: MIT */
/* RoPE on AVX2: the shared body, but for interleaved pairs in float32.
 * Needs: vec.h. Produces: the kernels of simd/rope.c. Used by: avx2.
 *
 * Interleaved pairs in float32 are taken apart and put together again within 128-bit halves, with one shuffle a vector
 * more than in the shared body, but half as many vectors of cosines and sines: a head of 128 channels is walked once,
 * not twice. Zen 4, 32 heads x 128: 6.6 ns a row over 8 MB against 8.3 of the shared body, 5.6 in L1 against 5.1:
 * a prefill weighs more. 16-bit types use the shared body, which is faster for them: conversions and shuffles want the
 * same units. */
#include "vec.h"

#define POSENC_OWN_ROPE_INTERLEAVED
#include "simd/rope.c"

V_INLINE void take_apart(vf a, vf b, vf *x0, vf *x1) {
    *x0 = _mm256_shuffle_ps(a, b, 0x88);
    *x1 = _mm256_shuffle_ps(a, b, 0xdd);
}

V_INLINE void put_together(vf y0, vf y1, vf *a, vf *b) {
    *a = _mm256_unpacklo_ps(y0, y1);
    *b = _mm256_unpackhi_ps(y0, y1);
}

/* Two vectors from channel `at` on, with so many channels in them. */
V_INLINE void load_apart(const void *x, size_t at, size_t low, size_t high, const posenc_dtype type, vf *x0, vf *x1) {
    take_apart(v_keep(load_typed(x, at, low, type)), v_keep(load_typed(x, at + VF, high, type)), x0, x1);
}

/* Values of eight pairs in the order that take_apart leaves: 0 1 4 5 2 3 6 7. */
V_INLINE vf in_that_order(vf a) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0xd8));
}

/* As half_group, for pairs 2i, 2i + 1. */
V_INLINE void apart_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n, const posenc_dtype x_type,
                          const posenc_dtype y_type, const int is_normed) {
    const size_t each = lanes_each(vectors, n);
    size_t low = 2 * each < VF ? 2 * each : VF, high = 2 * each - low; /* channels of two vectors */
    vf c[GROUP], s[GROUP], c1[GROUP], s1[GROUP];
    for (int k = 0; k < vectors; k++) {
        size_t lane = lane_of(k, vectors, n);
        vf cosines = load_typed(a->cos_row + i, lane, each, POSENC_F32);
        vf sines = load_typed(a->sin_row + i, lane, each, POSENC_F32);
        c[k] = in_that_order(v_mul(cosines, v_set1(a->cos_factor)));
        s[k] = in_that_order(v_mul(sines, v_set1(a->sin_factor)));
        if (is_normed) {
            const float *weight = a->weight + 2 * (i + lane);
            vf w0, w1;
            load_apart(weight, 0, low, high, POSENC_F32, &w0, &w1);
            c1[k] = v_mul(c[k], w1);
            s1[k] = v_mul(s[k], w1);
            c[k] = v_mul(c[k], w0);
            s[k] = v_mul(s[k], w0);
        }
    }
    const char *x = typed_at(a->x, 2 * i, x_type);
    char *y = typed_out(a->y, 2 * i, y_type);
    for (size_t h = 0; h < a->n_heads; h++) {
        if (RARELY(a->y_ahead != 0))
            fetch_typed(y + a->y_ahead, 0, 2 * vectors * VF, y_type);
        vf last0, last1;
        load_apart(x, 2 * lane_of(vectors - 1, vectors, n), low, high, x_type, &last0, &last1);
        for (int k = 0; k < vectors; k++) {
            size_t at = 2 * lane_of(k, vectors, n);
            vf x0 = last0, x1 = last1, y_low, y_high;
            if (k < vectors - 1)
                load_apart(x, at, low, high, x_type, &x0, &x1);
            if (is_normed) {
                x0 = v_mul(x0, v_set1(a->head_factors[h]));
                x1 = v_mul(x1, v_set1(a->head_factors[h]));
            }
            put_together(v_fms(x0, c[k], v_mul(x1, is_normed ? s1[k] : s[k])),
                         v_fma(x1, is_normed ? c1[k] : c[k], v_mul(x0, s[k])), &y_low, &y_high);
            store_typed(y, at, y_low, low, y_type);
            store_typed(y, at + VF, y_high, high, y_type);
        }
        x += a->x_stride;
        y += a->y_stride;
    }
}

V_INLINE void walk_own(const posenc_rope_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                       const int is_normed) {
    if (x_type == POSENC_F32 && y_type == POSENC_F32)
        walk(a, a->n, apart_group, x_type, y_type, is_normed);
    else
        walk_interleaved(a, x_type, y_type, is_normed);
}

static __attribute__((noinline)) void own_normed(const posenc_rope_args *a) {
    walk_types(a, walk_own, 1, 1, 1);
}

void VARIANT(rope_interleaved)(const posenc_rope_args *a) {
    a->head_factors != NULL ? own_normed(a) : walk_types(a, walk_own, 0, 1, 1);
}
