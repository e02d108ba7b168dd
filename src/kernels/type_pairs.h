/* SPDX-License-Identifier: MIT */
/* Pairs of storage types. */
#ifndef POSENC_KERNELS_TYPE_PAIRS_H
#define POSENC_KERNELS_TYPE_PAIRS_H

#include <posenc/types.h>

/* Every pair of storage types, for kernels that make a constant of them: DO(type of x, type of y). */
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
#define POSENC_TYPE_PAIR(x_type, y_type) (3 * (int)(x_type) + (int)(y_type))

#endif
