/* SIMD body of the angle kernels; src/scalar/angles.c is the specification.
 * Needs: vec.h. Produces: angle_anchors, angle_rows. Used by: avx2, avx512, neon. */
#include "kernels/variant.h"

V_INLINE vd half_turns(const posenc_angle_anchors_args *a, vd hi, vd lo) {
    vd p = vd_set1(a->position);
    vd product = vd_mul(p, hi);
    vd error = vd_fms(p, hi, product);
    vd turns = vd_fma(vd_set1(-2.0), vd_round(vd_mul(vd_set1(0.5), product)), product);
    return vd_add(turns, vd_fma(p, lo, error));
}

void VARIANT(angle_anchors)(const posenc_angle_anchors_args *a) {
    size_t i = 0;
    vd s, c;
    for (; i + VD <= a->n; i += VD) {
        vd_sincospi(half_turns(a, vd_load(a->hi + i), vd_load(a->lo + i)), &s, &c);
        vd_store(a->cos_out + i, c);
        vd_store(a->sin_out + i, s);
    }
    if (i < a->n) {
        size_t n = a->n - i;
        vd_sincospi(half_turns(a, vd_load_n(a->hi + i, n), vd_load_n(a->lo + i, n)), &s, &c);
        vd_store_n(a->cos_out + i, c, n);
        vd_store_n(a->sin_out + i, s, n);
    }
}

/* Anchors of VF pairs. */
typedef struct anchors {
    vd cos_lo, cos_hi, sin_lo, sin_hi;
} anchors;

/* n doubles of p, n <= VF, as two vectors. */
V_INLINE void load_two(const double *p, size_t n, vd *lo, vd *hi) {
    if (n == VF) {
        *lo = vd_load(p);
        *hi = vd_load(p + VD);
    } else {
        *lo = vd_load_n(p, n < VD ? n : VD);
        *hi = vd_load_n(p + (n < VD ? 0 : VD), n < VD ? 0 : n - VD);
    }
}

/* The anchor turned by an offset, as float32. */
V_INLINE void turn(const anchors *a, const double *offset_cos, const double *offset_sin, size_t n, vf *c, vf *s) {
    vd oc_lo, oc_hi, os_lo, os_hi;
    load_two(offset_cos, n, &oc_lo, &oc_hi);
    load_two(offset_sin, n, &os_lo, &os_hi);
    *c = v_from_vd(vd_fms(a->cos_lo, oc_lo, vd_mul(a->sin_lo, os_lo)),
                   vd_fms(a->cos_hi, oc_hi, vd_mul(a->sin_hi, os_hi)));
    *s = v_from_vd(vd_fma(a->sin_lo, oc_lo, vd_mul(a->cos_lo, os_lo)),
                   vd_fma(a->sin_hi, oc_hi, vd_mul(a->cos_hi, os_hi)));
}

V_INLINE void put(float *p, vf value, size_t n, int add) {
    if (n >= VF)
        v_store(p, add ? v_add(v_load(p), value) : value);
    else
        v_store_n(p, add ? v_add(v_load_n(p, n), value) : value, n);
}

/* Pairs i .. i + n - 1, n <= VF, of every row: the anchors stay in registers while the rows go by. */
V_INLINE void column(const posenc_angle_rows_args *a, size_t i, size_t n, int step, int add) {
    anchors anchor;
    load_two(a->anchor_cos + i, n, &anchor.cos_lo, &anchor.cos_hi);
    load_two(a->anchor_sin + i, n, &anchor.sin_lo, &anchor.sin_hi);
    const double *offset_cos = a->offset_cos + i, *offset_sin = a->offset_sin + i;
    float *cos_out = a->cos_out + i * (size_t)step, *sin_out = a->sin_out + i * (size_t)step;
    int cos_first = a->cos_out < a->sin_out;
    for (size_t r = 0; r < a->n_rows; r++) {
        vf c, s;
        turn(&anchor, offset_cos, offset_sin, n, &c, &s);
        if (step == 1) {
            put(cos_out, c, n, add);
            put(sin_out, s, n, add);
        } else {
            vf lo, hi;
            float *pairs = cos_first ? cos_out : sin_out;
            v_zip(cos_first ? c : s, cos_first ? s : c, &lo, &hi);
            put(pairs, lo, 2 * n, add);
            if (2 * n > VF)
                put(pairs + VF, hi, 2 * n - VF, add);
        }
        offset_cos += a->offset_stride;
        offset_sin += a->offset_stride;
        cos_out += a->cos_stride;
        sin_out += a->sin_stride;
    }
}

V_INLINE void columns(const posenc_angle_rows_args *a, int step, int add) {
    size_t i = 0;
    for (; i + VF <= a->n; i += VF)
        column(a, i, VF, step, add);
    if (i < a->n)
        column(a, i, a->n - i, step, add);
}

void VARIANT(angle_rows)(const posenc_angle_rows_args *a) {
    if (a->step == 1)
        a->add ? columns(a, 1, 1) : columns(a, 1, 0);
    else
        a->add ? columns(a, 2, 1) : columns(a, 2, 0);
}
