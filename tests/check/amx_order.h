/* posenc-check --amx-order. */
#ifndef POSENC_CHECK_AMX_ORDER_H
#define POSENC_CHECK_AMX_ORDER_H

#define CHECK_NO_AMX 77

/* Prints, for each kind of operands, how many sums of TDPBF16PS differ from those in the stated order. 0: none of what
 * kernels may hand over; 1: some; CHECK_NO_AMX. */
int check_amx_order(void);

#endif
