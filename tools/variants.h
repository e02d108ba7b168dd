/* Every kernel of a tier against the scalar one, bit for bit. */
#ifndef POSENC_TOOLS_VARIANTS_H
#define POSENC_TOOLS_VARIANTS_H

#include "kernels/kernels.h"
#include "random.h"

typedef struct variant_check {
    const posenc_kernels *scalar, *tier;
    random_state *random;
    int quick;
    uint64_t values, wrong; /* compared; of these, differing (any NaN equals any NaN) */
    char first[160];        /* where the first difference stands */
} variant_check;

typedef struct variant_kernel {
    const char *name;
    void (*check)(variant_check *check);
} variant_kernel;

/* One entry per kernel of kernels.def, in its order. */
extern const variant_kernel variant_kernels[];
extern const size_t n_variant_kernels;

#endif
