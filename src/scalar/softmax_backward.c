/* SPDX-License-Identifier: MIT */
/* Scalar gradient of the softmax: the specification. The formula is E.6 of docs/formulas.md, the order in
 * docs/numerics.md. */
#include <float.h>
#include <math.h>

#include "kernels/exp_scalar.h"
#include "kernels/fma.h"
#include "kernels/variant.h"

typedef posenc_softmax_backward_args row;

static int is_visible(const row *a, size_t j) {
    if (j < a->visible.begin || j >= a->visible.end || (j >= a->visible.hole_begin && j < a->visible.hole_end))
        return 0;
    return a->k_pos == NULL || (a->k_pos[j] - a->position >= a->lowest && a->k_pos[j] - a->position <= a->highest);
}

/* Probability of a key; 0 for masked keys and below FLT_MIN. */
static float probability(const row *a, size_t j) {
    return is_visible(a, j) && !(a->p[j] < FLT_MIN) ? a->p[j] : 0.0f;
}

/* The sums of p dp and of p, in the canonical order. */
static void add_up(const row *a, double *sum_pdp, double *sum_p) {
    double lanes[2][POSENC_SUM_LANES] = {{0.0}};
    for (size_t block = 0; block < a->n; block += POSENC_SUM_BLOCK) {
        float partial[2][POSENC_SUM_LANES] = {{0.0f}};
        for (size_t j = block; j < a->n && j < block + POSENC_SUM_BLOCK; j++) {
            float p = probability(a, j), *pdp = &partial[0][j % POSENC_SUM_LANES];
            *pdp = p == 0.0f ? *pdp : posenc_fmaf(p, a->dp[j], *pdp);
            partial[1][j % POSENC_SUM_LANES] += p;
        }
        for (size_t k = 0; k < POSENC_SUM_LANES; k++) {
            lanes[0][k] += (double)partial[0][k];
            lanes[1][k] += (double)partial[1][k];
        }
    }
    for (size_t width = POSENC_SUM_LANES / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++) {
            lanes[0][k] += lanes[0][k + width];
            lanes[1][k] += lanes[1][k + width];
        }
    *sum_pdp = lanes[0][0];
    *sum_p = lanes[1][0];
}

/* Derivative of the capped score by the score before scaling, without the scale. */
static float slope_of_cap(const row *a, size_t j) {
    if (a->s == NULL)
        return 1.0f;
    float t = posenc_tanh(a->s[j] * a->scale * a->inv_cap);
    return posenc_fmaf(-t, t, 1.0f);
}

void VARIANT(softmax_backward)(const row *a) {
    double sum_pdp, sum_p;
    add_up(a, &sum_pdp, &sum_p);
    for (size_t j = 0; j < a->n; j++) {
        float p = probability(a, j), dx = 0.0f, db = 0.0f;
        if (p != 0.0f) {
            float dl = p * (a->dp[j] - (float)sum_pdp);
            dx = dl * slope_of_cap(a, j) * a->scale;
            db = dl * a->bias_slope;
        }
        a->dx[j] = dx;
        if (a->db != NULL)
            a->db[j] = db;
    }
    if (a->dsink != NULL)
        *a->dsink = (float)((sum_p - 1.0) * sum_pdp);
}
