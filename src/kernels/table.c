/* SPDX-License-Identifier: MIT */
/* The table of one tier; compiled once per tier, and once per feature with the kernels of its own. For a feature the
 * build defines POSENC_KERNELS_OF, the tier, and POSENC_OF_kernel as `, variant` for each kernel that is not the
 * tier's. */
#include "kernels/variant.h"

#ifndef POSENC_KERNELS_OF
#define POSENC_KERNELS_OF POSENC_VARIANT
#endif

/* The variant of a kernel in this table. */
#define OF(name) POSENC_PASTE(posenc_##name, _, POSENC_SECOND(POSENC_OF_##name, POSENC_KERNELS_OF, ))

#define KERNEL(name, args) void OF(name)(const args *);
#include "kernels/kernels.def"
#undef KERNEL

const posenc_kernels POSENC_PASTE(posenc_kernels, _, POSENC_VARIANT) = {
    .tier = POSENC_TIER,
#define KERNEL(name, args) .name = OF(name),
#include "kernels/kernels.def"
#undef KERNEL
};
