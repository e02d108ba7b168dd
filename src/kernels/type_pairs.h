/* SPDX-License-Identifier: MIT */
/* Pairs of storage types. */
#ifndef POSENC_KERNELS_TYPE_PAIRS_H
#define POSENC_KERNELS_TYPE_PAIRS_H

#include "kernels/formats.h"

/* Every pair of types that tensors of any kind have, for kernels that make a constant of them: DO(type of x, type of
 * y). */
#define POSENC_EACH_TYPE_PAIR(DO)                                                                                      \
    DO(POSENC_F32, POSENC_F32)                                                                                         \
    DO(POSENC_F32, POSENC_F16)                                                                                         \
    DO(POSENC_F32, POSENC_BF16)                                                                                        \
    DO(POSENC_F16, POSENC_F32)                                                                                         \
    DO(POSENC_F16, POSENC_F16)                                                                                         \
    DO(POSENC_F16, POSENC_BF16)                                                                                        \
    DO(POSENC_BF16, POSENC_F32)                                                                                        \
    DO(POSENC_BF16, POSENC_F16)                                                                                        \
    DO(POSENC_BF16, POSENC_BF16)
/* A number for each pair of types. */
#define POSENC_TYPE_PAIR(x_type, y_type) (POSENC_TYPES * (int)(x_type) + (int)(y_type))

#endif
