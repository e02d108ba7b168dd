/* SPDX-License-Identifier: MIT */
/* Scalar angles: the specification. docs/numerics.md has the scheme and its error. */
#include <math.h>
#include <stdlib.h>

#include "core/cpu.h"
#include "kernels/fma.h"
#include "kernels/sleef.h"
#include "kernels/variant.h"

/* cos and sin of pi * half_turns, |half_turns| <= 2. */
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
        double error = posenc_fma(p, a->hi[i], -product);              /* ... and what the rounding lost */
        double turns = posenc_fma(-2.0, rint(0.5 * product), product); /* exact, in [-1, 1]            */
        double half_turns = turns + posenc_fma(p, a->lo[i], error);
        Sleef_double_2 sc = sincospi(half_turns, has_fma);
        double factor = a->magnitude;
        if (a->growth != NULL)
            factor *= exponential(a->growth[i] * (p - a->centre), has_fma);
        a->sin_out[i] = sc.x * factor;
        a->cos_out[i] = sc.y * factor;
    }
}

/* cos + j sin, j the imaginary unit */
typedef struct turn {
    double cosine, sine;
} turn;

/* Pair i of turn k. */
static turn table_at(const posenc_turn_column *table, int k, size_t i) {
    const double(*column)[2][POSENC_COLUMN] = table[i / POSENC_COLUMN].cos_sin;
    double cosine = column[abs(k)][0][i % POSENC_COLUMN], sine = column[abs(k)][1][i % POSENC_COLUMN];
    return (turn){cosine, k < 0 ? -sine : sine};
}

static double growth_at(const posenc_growth_column *table, int k, size_t i) {
    return table == NULL ? 1.0 : table[i / POSENC_COLUMN].factor[k + POSENC_ANCHOR_REACH][i % POSENC_COLUMN];
}

/* The minus stands at b: of -(a * b) clang 14 makes -a * b, and where a is an fma, as in the second of two products,
 * AArch64's negated fma instead of -fma, which turns the sign of zeros. */
static turn multiply(turn a, turn b) {
    return (turn){posenc_fma(a.cosine, b.cosine, a.sine * -b.sine), posenc_fma(a.sine, b.cosine, a.cosine * b.sine)};
}

void VARIANT(angle_rows)(const posenc_angle_rows_args *a) {
    for (size_t r = 0; r < a->n_rows; r++) {
        float *cos_out = a->cos_out + (ptrdiff_t)r * a->cos_stride;
        float *sin_out = a->sin_out + (ptrdiff_t)r * a->sin_stride;
        int from_block = a->first_offset + POSENC_ANCHOR_REACH + (int)r; /* from the first of the first block */
        int block = a->block + from_block / POSENC_ANCHOR_BLOCK;
        int k = from_block % POSENC_ANCHOR_BLOCK - POSENC_ANCHOR_REACH;
        for (size_t i = 0; i < a->n; i++) {
            turn anchor = {a->anchor_cos[i], a->anchor_sin[i]};
            turn of_block = multiply(anchor, table_at(a->blocks, block, i));
            turn of_row = multiply(of_block, table_at(a->offsets, k, i));
            double growth = growth_at(a->growth, k, i);
            float c = (float)(of_row.cosine * growth), s = (float)(of_row.sine * growth);
            size_t at = i * (size_t)a->step;
            int last = a->drop_last && i + 1 == a->n;
            if (!(last && cos_out > sin_out))
                cos_out[at] = a->add ? cos_out[at] + c : c;
            if (!(last && sin_out > cos_out))
                sin_out[at] = a->add ? sin_out[at] + s : s;
        }
    }
}
