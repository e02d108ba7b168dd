/* SIMD body of RoPE; src/scalar/rope.c is the specification.
 * Needs: vec.h. Produces: rope_half, rope_interleaved. Used by: avx2, avx512, neon.
 *
 * A group of up to GROUP vectors of cosines, and as many of sines, stays in registers while the heads go by. */
#include "kernels/parts.inc.h"
#include "kernels/variant.h"

/* Vectors of a group. Where two eights are more than the registers hold (AVX2), the rest comes from the stack: still 20 %
 * faster over 8 MB than two walks of four. Prefetching by hand cost 10 to 20 % there. */
enum { GROUP = 8 };

/* Vector k of the group holds pairs i + k*VF onwards, n of them: VF, or fewer in a group of one. */
V_INLINE void half_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n) {
    vf c[GROUP], s[GROUP];
    for (int k = 0; k < vectors; k++) {
        c[k] = load_part(a->cos_row + i + k * VF, n);
        s[k] = v_mul(load_part(a->sin_row + i + k * VF, n), v_set1(a->sin_sign));
    }
    const float *x = a->x + i;
    float *y = a->y + i;
    for (size_t h = 0; h < a->n_heads; h++) {
        for (int k = 0; k < vectors; k++) {
            vf x0 = v_keep(load_part(x + k * VF, n));
            vf x1 = v_keep(load_part(x + k * VF + a->half, n));
            store_part(y + k * VF, v_fms(x0, c[k], v_mul(x1, s[k])), n);
            store_part(y + k * VF + a->half, v_fma(x1, c[k], v_mul(x0, s[k])), n);
        }
        x += a->x_stride;
        y += a->y_stride;
    }
}

/* Vector k of the group holds channels i + k*VF onwards: VF/2 pairs, x0 x1 x0 x1 ... Beside it stand cos cos ... and
 * -sin sin ..., so that y = x * cos + swapped x * sin, the same two roundings as in the specification. */
V_INLINE void interleaved_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n) {
    vf c[GROUP], s[GROUP];
    for (int k = 0; k < vectors; k++) {
        const float *cos_row = a->cos_row + (i + k * VF) / 2, *sin_row = a->sin_row + (i + k * VF) / 2;
        c[k] = n == VF ? v_load_twice(cos_row) : v_load_twice_n(cos_row, n);
        s[k] = n == VF ? v_load_twice(sin_row) : v_load_twice_n(sin_row, n);
        s[k] = v_neg_even(v_mul(s[k], v_set1(a->sin_sign)));
    }
    const float *x = a->x + i;
    float *y = a->y + i;
    for (size_t h = 0; h < a->n_heads; h++) {
        for (int k = 0; k < vectors; k++) {
            vf pairs = v_keep(load_part(x + k * VF, n));
            store_part(y + k * VF, v_fma(pairs, c[k], v_mul(v_swap_pairs(pairs), s[k])), n);
        }
        x += a->x_stride;
        y += a->y_stride;
    }
}

typedef void group_body(const posenc_rope_args *a, size_t i, const int vectors, size_t n);

/* Walks `lanes` lanes in groups. The number of vectors is a constant in every call, so that they become registers. */
V_INLINE void walk(const posenc_rope_args *a, size_t lanes, group_body *group) {
    size_t i = 0;
    for (; i + GROUP * VF <= lanes; i += GROUP * VF)
        group(a, i, GROUP, VF);
    for (; i + 4 * VF <= lanes; i += 4 * VF)
        group(a, i, 4, VF);
    for (; i + 2 * VF <= lanes; i += 2 * VF)
        group(a, i, 2, VF);
    for (; i + VF <= lanes; i += VF)
        group(a, i, 1, VF);
    if (i < lanes)
        group(a, i, 1, lanes - i);
}

/* The copies tell the compiler that no store through y changes the arguments. */
void VARIANT(rope_half)(const posenc_rope_args *args) {
    const posenc_rope_args a = *args;
    walk(&a, a.n, half_group);
}

void VARIANT(rope_interleaved)(const posenc_rope_args *args) {
    const posenc_rope_args a = *args;
    walk(&a, 2 * a.n, interleaved_group);
}
