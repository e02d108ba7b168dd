/* SPDX-License-Identifier: MIT */
/* Transposition in registers. Needs: vec.h. Used by: pack, pairs, quant. */
#ifndef POSENC_SIMD_TRANSPOSE_H
#define POSENC_SIMD_TRANSPOSE_H

#include "vec.h"

/* VF rows of VF lanes. A zip of lane halves that lie VF/2 apart moves one bit of the lane's number into the register's,
 * and after as many zips as VF has bits the two have changed places. */
V_INLINE void transpose(vf *block) {
    vf other[VF];
    for (int bit = 1; bit < VF; bit *= 2) {
        for (int k = 0; k < VF / 2; k++)
            v_zip(block[k], block[k + VF / 2], &other[2 * k], &other[2 * k + 1]);
        for (int k = 0; k < VF; k++)
            block[k] = other[k];
    }
}

#endif
