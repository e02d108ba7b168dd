/* SPDX-License-Identifier: MIT */
/* Changing the sign of every element: the least that work in place on them can take, which memory sets. */
#ifndef POSENC_TOOLS_NEGATE_H
#define POSENC_TOOLS_NEGATE_H

#include <posenc/types.h>

/* n elements of the type from x to y, which may be x; n * size of the type is a multiple of 4. */
void negate(void *y, const void *x, int64_t n, posenc_dtype type);

#endif
