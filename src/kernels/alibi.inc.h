/* SIMD body of the ALiBi bias; src/scalar/alibi.c is the specification.
 * Needs: vec.h. Produces: alibi_row. Used by: avx2, avx512, neon. */
#include <math.h>

#include "kernels/alibi_penalty.inc.h"
#include "kernels/variant.h"

void VARIANT(alibi_row)(const posenc_alibi_row_args *a) {
    vf slope = v_set1(a->slope);
    vi offsets = vi_add(vi_iota(), vi_set1(-a->query));
    size_t j = 0;
    for (; j + VF <= a->n_allowed; j += VF) {
        v_store(a->y + j, v_neg(alibi_penalty(offsets, slope)));
        offsets = vi_add(offsets, vi_set1(VF));
    }
    v_store_n(a->y + j, v_neg(alibi_penalty(offsets, slope)), a->n_allowed - j);
    for (j = a->n_allowed; j + VF <= a->n; j += VF)
        v_store(a->y + j, v_set1(-INFINITY));
    v_store_n(a->y + j, v_set1(-INFINITY), a->n - j);
}
