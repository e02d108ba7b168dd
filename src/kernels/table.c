/* The table of one tier; compiled once per tier, and per feature of it with the tier's own for all other kernels. */
#include "kernels/variant.h"

#ifdef POSENC_FEATURE_OF
#define OF_TIER(name) POSENC_PASTE(posenc_##name, _, POSENC_FEATURE_OF)
#define KERNEL(name, args) void OF_TIER(name)(const args *);
#include "kernels/kernels.def"
#undef KERNEL
#else
#define OF_TIER(name) VARIANT(name)
#endif

const posenc_kernels POSENC_PASTE(posenc_kernels, _, POSENC_VARIANT) = {
    .tier = POSENC_TIER,
#define KERNEL(name, args) .name = OF_TIER(name),
#define FEATURE_KERNEL(name, args) .name = VARIANT(name),
#include "kernels/kernels.def"
#undef KERNEL
};
