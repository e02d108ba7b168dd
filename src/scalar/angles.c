/* Scalar angles: the specification. The scheme stands in include/posenc/angles.h, its error in docs/numerics.md. */
#include <math.h>

#include "cpu.h"
#include "kernels/sleef.h"
#include "kernels/variant.h"

/* cos and sin of pi * half_turns, |half_turns| <= 1. */
static Sleef_double_2 sincospi(double half_turns, int has_fma) {
    return has_fma ? POSENC_SINCOSPI(d1_u35purecfma)(half_turns) : POSENC_SINCOSPI_NOFMA(half_turns);
}

static double exponential(double x, int has_fma) {
    return has_fma ? POSENC_EXP(d1_u10purecfma)(x) : POSENC_EXP_NOFMA(x);
}

void VARIANT(angle_anchors)(const posenc_angle_anchors_args *a) {
    int has_fma = posenc_cpu_has_fma();
    for (size_t i = 0; i < a->n; i++) {
        double p = a->position;
        double product = p * a->hi[i];                                 /* rounded ...                  */
        double error = fma(p, a->hi[i], -product);                     /* ... and what the rounding lost */
        double turns = fma(-2.0, rint(0.5 * product), product);        /* exact, in [-1, 1]            */
        double half_turns = turns + fma(p, a->lo[i], error);
        Sleef_double_2 sc = sincospi(half_turns, has_fma);
        double factor = a->magnitude;
        if (a->growth != NULL)
            factor *= exponential(a->growth[i] * (p - a->centre), has_fma);
        a->sin_out[i] = sc.x * factor;
        a->cos_out[i] = sc.y * factor;
    }
}

void VARIANT(angle_rows)(const posenc_angle_rows_args *a) {
    for (size_t r = 0; r < a->n_rows; r++) {
        float *cos_out = a->cos_out + (ptrdiff_t)r * a->cos_stride;
        float *sin_out = a->sin_out + (ptrdiff_t)r * a->sin_stride;
        for (size_t i = 0; i < a->n; i++) {
            const posenc_offset_column *column = &a->offsets[i / POSENC_COLUMN];
            double oc = column->cos_sin[a->first_offset + r][0][i % POSENC_COLUMN];
            double os = column->cos_sin[a->first_offset + r][1][i % POSENC_COLUMN];
            double ac = a->anchor_cos[i], as = a->anchor_sin[i];
            /* (ac + j as)(oc + j os), j the imaginary unit */
            float c = (float)fma(ac, oc, -(as * os));
            float s = (float)fma(as, oc, ac * os);
            size_t k = i * (size_t)a->step;
            int last = a->drop_last && i + 1 == a->n;
            if (!(last && cos_out > sin_out))
                cos_out[k] = a->add ? cos_out[k] + c : c;
            if (!(last && sin_out > cos_out))
                sin_out[k] = a->add ? sin_out[k] + s : s;
        }
    }
}
