/* SPDX-License-Identifier: MIT */
/* SIMD body of the logits of contextual positions; src/scalar/cope.c is the specification.
 * Needs: vec.h. Produces: cope_row.
 *
 * Keys are taken in chunks from the query backwards: gates by vectors, positions in order, logits by vectors. Once the
 * positions are clamped, only the logits remain to be computed. */
#include "vec.h"

#include <math.h>

#include "simd/exp.h"
#include "simd/typed.h"
#include "kernels/fma.h"
#include "kernels/variant.h"

enum { COPE_BLOCK = 32 };

V_INLINE vf gates_of(const posenc_cope_row_args *a, size_t j, size_t n) {
    vf one = v_set1(1.0f), score = v_mul(v_set1(a->scale), load_typed(a->gates, j, n, POSENC_F32));
    vf e = exp_nonpositive(v_neg(v_max(score, v_neg(score))));
    return v_div(v_select(v_lt(score, v_set1(0.0f)), e, one), v_add(one, e));
}

V_INLINE void write_logits(const posenc_cope_row_args *a, size_t j, size_t n, vf b) {
    vf x = load_typed(a->x, j, n, POSENC_F32), scale = v_set1(a->scale);
    vf l = a->is_scaled ? v_mul(scale, v_add(x, b)) : v_fma(x, scale, b);
    store_typed(a->y, j, l, n, POSENC_F32);
}

/* Keys first .. first + n - 1 behind a position that is not clamped; the position is taken on. */
V_INLINE void cope_block(const posenc_cope_row_args *a, size_t first, size_t n, double *position, int *is_clamped) {
    float gates[COPE_BLOCK], terms[COPE_BLOCK];
    double last = (double)(a->n_positions - 1);
    for (size_t k = 0; k < n; k += VF)
        v_store(gates + k, gates_of(a, first + k, lanes_from(k, n)));
    for (size_t k = n; k-- > 0;) {
        *position += (double)gates[k];
        if (!(*position < last)) {
            for (size_t rest = 0; rest <= k; rest++)
                terms[rest] = a->z[a->n_positions - 1];
            *is_clamped = 1;
            break;
        }
        size_t low = (size_t)*position;
        float w = (float)(*position - (double)low);
        terms[k] = w > 0.0f ? posenc_fmaf(w, a->z[low + 1], (1.0f - w) * a->z[low]) : a->z[low];
    }
    for (size_t k = 0; k < n; k += VF)
        write_logits(a, first + k, lanes_from(k, n), v_load_n(terms + k, lanes_from(k, n)));
}

void VARIANT(cope_row)(const posenc_cope_row_args *args) {
    const posenc_cope_row_args a = *args; /* a copy: no store changes it */
    double position = 0.0;
    int is_clamped = 0;
    size_t rest = a.n_visible;
    while (rest > 0 && !is_clamped) {
        size_t n = rest < COPE_BLOCK ? rest : COPE_BLOCK;
        rest -= n;
        cope_block(&a, rest, n, &position, &is_clamped);
    }
    for (size_t j = 0; j < rest; j += VF)
        write_logits(&a, j, lanes_from(j, rest), v_set1(a.z[a.n_positions - 1]));
    for (size_t j = a.n_visible; j < a.n; j += VF)
        store_typed(a.y, j, v_set1(-INFINITY), lanes_from(j, a.n), POSENC_F32);
}
