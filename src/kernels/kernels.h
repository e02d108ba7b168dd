/* SPDX-License-Identifier: MIT */
/* The table that holds one variant of each kernel. The header of its family, beside this one, says what a kernel takes.
 *
 * A kernel knows tables and numbers, never a scheme. It trusts its arguments: the public calls have checked them. Every
 * variant of a kernel gives the same bits; src/scalar/ says which.
 */
#ifndef POSENC_KERNELS_H
#define POSENC_KERNELS_H

#include <posenc/isa.h>

#include "kernels/affine.h"
#include "kernels/angles.h"
#include "kernels/attend.h"
#include "kernels/axes.h"
#include "kernels/convert.h"
#include "kernels/cope.h"
#include "kernels/dot.h"
#include "kernels/hadamard.h"
#include "kernels/norm.h"
#include "kernels/pack.h"
#include "kernels/bf16.h"
#include "kernels/panels.h"
#include "kernels/quant.h"
#include "kernels/rope.h"
#include "kernels/rows.h"
#include "kernels/softmax.h"
#include "kernels/softmax_backward.h"
#include "kernels/sum.h"
#include "kernels/type_pairs.h"
#include "kernels/weighted.h"

typedef struct posenc_kernels {
    posenc_isa_tier tier;
#define KERNEL(name, args) void (*name)(const args *);
#include "kernels/kernels.def"
#undef KERNEL
} posenc_kernels;

/* One table per tier that is built, and per feature of a tier. */
extern const posenc_kernels posenc_kernels_scalar, posenc_kernels_avx2, posenc_kernels_avx512, posenc_kernels_neon;
extern const posenc_kernels posenc_kernels_avx2_vnni, posenc_kernels_avx512_vnni, posenc_kernels_avx512_amx;
extern const posenc_kernels posenc_kernels_neon_dotprod, posenc_kernels_neon_i8mm;

/* The table in use. */
const posenc_kernels *posenc_active_kernels(void);

/* The tier's table, with the features that this CPU has, or NULL if it is not built in or cannot run here. */
const posenc_kernels *posenc_tier_kernels(posenc_isa_tier tier);

#endif
