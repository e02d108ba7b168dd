/* SPDX-License-Identifier: MIT */
/* Names of the tier being compiled. The build defines POSENC_VARIANT (avx2) and POSENC_TIER (POSENC_ISA_AVX2). */
#ifndef POSENC_VARIANT_H
#define POSENC_VARIANT_H

#include "kernels/kernels.h"

/* meson.build looks at the builder's flags; what a parent project gives to all that it builds shows only here. */
#if defined __FAST_MATH__ || __FINITE_MATH_ONLY__
#error "posenc needs float arithmetic in float, as it is written: no -ffast-math, -Ofast or part of them"
#endif

#define POSENC_PASTE_(a, b, c) a##b##c
#define POSENC_PASTE(a, b, c) POSENC_PASTE_(a, b, c)
#define VARIANT(name) POSENC_PASTE(posenc_##name, _, POSENC_VARIANT)

#define KERNEL(name, args) void VARIANT(name)(const args *);
#include "kernels/kernels.def"
#undef KERNEL

#endif
