/* The table of one tier; compiled once per tier. */
#include "kernels/variant.h"

const posenc_kernels POSENC_PASTE(posenc_kernels, _, POSENC_VARIANT) = {
    .tier = POSENC_TIER,
#define KERNEL(name, args) .name = VARIANT(name),
#include "kernels/kernels.def"
#undef KERNEL
};
