/* SPDX-License-Identifier: MIT */
/* NumPy's file format, version 1.0: a header of text, then the numbers in C order. */
#ifndef POSENC_TOOLS_NPY_H
#define POSENC_TOOLS_NPY_H

#include <stdint.h>
#include <stdio.h>

/* Writes the header of float32 numbers of this shape, of 2 dimensions or more. What follows is for the caller to write.
 * 0 if that failed. */
int npy_write_header(FILE *f, const int64_t *shape, int n_dims);

#endif
