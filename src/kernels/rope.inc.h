/* SIMD body of RoPE; src/scalar/rope.c is the specification.
 * Needs: vec.h. Produces: rope_half, rope_interleaved. Used by: avx2, avx512, neon.
 *
 * A group of up to GROUP vectors of cosines, and as many of sines, stays in registers while the heads go by. */
#include "kernels/variant.h"

enum { GROUP = 4 };

/* The first n lanes, n <= VF; whole vectors without a mask. */
V_INLINE vf load_part(const float *p, size_t n) {
    return n == VF ? v_load(p) : v_load_n(p, n);
}
V_INLINE void store_part(float *p, vf a, size_t n) {
    if (n == VF)
        v_store(p, a);
    else
        v_store_n(p, a, n);
}

/* Lanes of vector k of a group: only the last may be partial. */
V_INLINE size_t lanes_of(int k, int vectors, size_t n_last) {
    return k == vectors - 1 ? n_last : VF;
}

/* Vector k of a group holds pairs i + k*VF onwards. */
V_INLINE void half_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n_last) {
    vf c[GROUP], s[GROUP];
    for (int k = 0; k < vectors; k++) {
        size_t at = i + (size_t)k * VF, n = lanes_of(k, vectors, n_last);
        c[k] = load_part(a->cos_row + at, n);
        s[k] = v_mul(load_part(a->sin_row + at, n), v_set1(a->sin_sign));
    }
    const float *x = a->x + i;
    float *y = a->y + i;
    for (size_t h = 0; h < a->n_heads; h++) {
        for (int k = 0; k < vectors; k++) {
            size_t at = (size_t)k * VF, n = lanes_of(k, vectors, n_last);
            vf x0 = load_part(x + at, n);
            vf x1 = load_part(x + at + a->half, n);
            store_part(y + at, v_fms(x0, c[k], v_mul(x1, s[k])), n);
            store_part(y + at + a->half, v_fma(x1, c[k], v_mul(x0, s[k])), n);
        }
        x += a->x_stride;
        y += a->y_stride;
    }
}

/* Vector k of a group holds channels i + k*VF onwards: VF/2 pairs, x0 x1 x0 x1 ... Beside it stand cos cos ... and
 * -sin sin ..., so that y = x * cos + swapped x * sin, the same two roundings as in the specification. */
V_INLINE void interleaved_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n_last) {
    vf c[GROUP], s[GROUP];
    for (int k = 0; k < vectors; k++) {
        size_t at = i / 2 + (size_t)k * (VF / 2), n = lanes_of(k, vectors, n_last);
        c[k] = n == VF ? v_load_twice(a->cos_row + at) : v_load_twice_n(a->cos_row + at, n);
        s[k] = n == VF ? v_load_twice(a->sin_row + at) : v_load_twice_n(a->sin_row + at, n);
        s[k] = v_neg_even(v_mul(s[k], v_set1(a->sin_sign)));
    }
    const float *x = a->x + i;
    float *y = a->y + i;
    for (size_t h = 0; h < a->n_heads; h++) {
        for (int k = 0; k < vectors; k++) {
            size_t at = (size_t)k * VF, n = lanes_of(k, vectors, n_last);
            vf pairs = load_part(x + at, n);
            store_part(y + at, v_fma(pairs, c[k], v_mul(v_swap_pairs(pairs), s[k])), n);
        }
        x += a->x_stride;
        y += a->y_stride;
    }
}

typedef void group_body(const posenc_rope_args *a, size_t i, int vectors, size_t n_last);

/* Walks `lanes` lanes in groups. The number of vectors is a constant in every call, so that they become registers. */
V_INLINE void walk(const posenc_rope_args *a, size_t lanes, group_body *group) {
    size_t i = 0;
    for (; i + GROUP * VF <= lanes; i += GROUP * VF)
        group(a, i, GROUP, VF);
    size_t rest = lanes - i;
    if (rest == 0)
        return;
    size_t n_last = (rest - 1) % VF + 1;
    switch ((rest - 1) / VF) {
    case 0: group(a, i, 1, n_last); break;
    case 1: group(a, i, 2, n_last); break;
    case 2: group(a, i, 3, n_last); break;
    default: group(a, i, 4, n_last); break;
    }
}

void VARIANT(rope_half)(const posenc_rope_args *a) {
    walk(a, a->n, half_group);
}

void VARIANT(rope_interleaved)(const posenc_rope_args *a) {
    walk(a, 2 * a->n, interleaved_group);
}
