/* SPDX-License-Identifier: MIT */
/* What the options of a method must be to each other, beyond the range that each has: NULL, or one line that names the
 * option and says how to put it right. */
#ifndef POSENC_TOOLS_METHOD_CHECKS_H
#define POSENC_TOOLS_METHOD_CHECKS_H

#include "method.h"

const char *check_sinusoidal(const table *t);
const char *check_timestep(const table *t);
const char *check_grid(const table *t);
const char *check_fourier(const table *t);
const char *check_resized(const table *t);
const char *check_bits(const table *t);
const char *check_rope(const table *t);
const char *check_sandwich(const table *t);
const char *check_t5(const table *t);
const char *check_swin(const table *t);

#endif
