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

/* Cosines and sines of VF pairs. */
typedef struct turns {
    vd cos_lo, cos_hi, sin_lo, sin_hi;
} turns;

V_INLINE turns load_turns(const double *cosines, const double *sines) {
    return (turns){vd_keep(vd_load(cosines)), vd_keep(vd_load(cosines + VD)), vd_keep(vd_load(sines)),
                   vd_keep(vd_load(sines + VD))};
}

/* Complex product, rounded to float32. */
V_INLINE void multiply(turns a, turns o, vf *c, vf *s) {
    *c = v_from_vd(vd_fms(a.cos_lo, o.cos_lo, vd_mul(a.sin_lo, o.sin_lo)),
                   vd_fms(a.cos_hi, o.cos_hi, vd_mul(a.sin_hi, o.sin_hi)));
    *s = v_from_vd(vd_fma(a.sin_lo, o.cos_lo, vd_mul(a.cos_lo, o.sin_lo)),
                   vd_fma(a.sin_hi, o.cos_hi, vd_mul(a.cos_hi, o.sin_hi)));
}

/* n floats at p, of which there may be more or fewer than a vector's. */
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

/* Pairs i .. i + n - 1, n <= VF, of every row: the anchors stay in registers while the rows go by. */
V_INLINE void column(const posenc_angle_rows_args *a, size_t i, size_t n, int step, int drop_last, int add) {
    turns anchor = load_turns(a->anchor_cos + i, a->anchor_sin + i);
    const posenc_offset_column *offsets = &a->offsets[i / POSENC_COLUMN];
    float *cos_out = a->cos_out + i * (size_t)step, *sin_out = a->sin_out + i * (size_t)step;
    for (size_t r = 0; r < a->n_rows; r++) {
        const double(*offset)[POSENC_COLUMN] = offsets->cos_sin[a->first_offset + r];
        vf c, s;
        multiply(anchor, load_turns(offset[0] + i % POSENC_COLUMN, offset[1] + i % POSENC_COLUMN), &c, &s);
        if (step == 1) {
            put(cos_out, c, n, add);
            put(sin_out, s, n, add);
        } else if (cos_out < sin_out) {
            put_pairs(cos_out, c, s, 2 * n - (size_t)drop_last, add);
        } else {
            put_pairs(sin_out, s, c, 2 * n - (size_t)drop_last, add);
        }
        cos_out += a->cos_stride;
        sin_out += a->sin_stride;
    }
}

V_INLINE void columns(const posenc_angle_rows_args *a, int step, int add) {
    size_t i = 0;
    for (; i + VF < a->n; i += VF)
        column(a, i, VF, step, 0, add);
    if (i < a->n)
        column(a, i, a->n - i, step, a->drop_last, add);
}

/* The copy tells the compiler that no store changes the arguments. */
void VARIANT(angle_rows)(const posenc_angle_rows_args *args) {
    const posenc_angle_rows_args a = *args;
    if (a.step == 1)
        a.add ? columns(&a, 1, 1) : columns(&a, 1, 0);
    else
        a.add ? columns(&a, 2, 1) : columns(&a, 2, 0);
}
