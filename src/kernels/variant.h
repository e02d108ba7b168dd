/* Names of the tier being compiled. The build defines POSENC_VARIANT (avx2) and POSENC_TIER (POSENC_ISA_AVX2). */
#ifndef POSENC_VARIANT_H
#define POSENC_VARIANT_H

#include "kernels/kernels.h"

#define POSENC_PASTE_(a, b, c) a##b##c
#define POSENC_PASTE(a, b, c) POSENC_PASTE_(a, b, c)
#define VARIANT(name) POSENC_PASTE(posenc_##name, _, POSENC_VARIANT)

#define KERNEL(name, args) void VARIANT(name)(const args *);
#include "kernels/kernels.def"
#undef KERNEL

#endif
