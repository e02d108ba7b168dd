/* SPDX-License-Identifier: MIT */
#ifndef POSENC_TOOLS_METHOD_ROPE_H
#define POSENC_TOOLS_METHOD_ROPE_H

#include "method.h"

posenc_status rope_open(table *t);
posenc_status rope_fill(const table *t, int64_t row, int64_t n, float *values);
void rope_close(table *t);

#endif
