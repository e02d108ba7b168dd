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

/* One table per tier, and per feature of a tier. A tier or feature that is not built has none. */
extern const posenc_kernels posenc_kernels_scalar;
#define TIER(name, ...) extern const posenc_kernels posenc_kernels_##name;
#define FEATURE(tier, name, ...) extern const posenc_kernels posenc_kernels_##tier##_##name;
#include "tiers.def"

/* Expands to x if the build defines `have` as 1, else to NULL, without naming x. */
#define POSENC_IF_BUILT(have, x) POSENC_IF_BUILT_(have, x)
#define POSENC_IF_BUILT_(have, x) POSENC_SECOND(POSENC_IF_##have x, NULL, )
#define POSENC_IF_1 0,
#define POSENC_SECOND(...) POSENC_SECOND_(__VA_ARGS__)
#define POSENC_SECOND_(first, second, ...) second

/* The table in use. */
const posenc_kernels *posenc_active_kernels(void);

/* The tier's table, with the features that this CPU has, or NULL if it is not built in or cannot run here. */
const posenc_kernels *posenc_tier_kernels(posenc_isa_tier tier);

#endif
