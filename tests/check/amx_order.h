/* SPDX-License-Identifier: MIT */
/* posenc-check --amx-order. */
#ifndef POSENC_CHECK_AMX_ORDER_H
#define POSENC_CHECK_AMX_ORDER_H

#include "kernels/kernels.h"

#define CHECK_NO_AMX 77

/* Prints, for each kind of operands, how many sums of TDPBF16PS differ from those in the stated order, and how many of
 * TDPBSSD from integers. 0: none of what kernels may hand over; 1: some; CHECK_NO_AMX. */
int check_amx_order(void);

/* Checks these kernels as above, with `rounds` times 1024 sums of each kind. */
int check_amx_order_of(const posenc_kernels *kernels, int rounds);

#endif
