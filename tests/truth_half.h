/* SPDX-License-Identifier: MIT */
/* f16, bf16 and 8-bit floats without the library: numbers as exact doubles, one rounding by rint. */
#ifndef TRUTH_HALF_H
#define TRUTH_HALF_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

size_t truth_size(posenc_dtype type);

/* The number that 16 bits of the type stand for, or 8. */
float truth_widen(uint16_t bits, posenc_dtype type);

/* The nearest value of the type, ties to even. From half way beyond the largest on: infinite; of 8
 * bits, the largest. */
uint16_t truth_narrow(float value, posenc_dtype type);

/* One element of any type without blocks. */
float truth_load(const void *element, posenc_dtype type);
void truth_store(void *element, float value, posenc_dtype type);

/* 1 if the element has the bits that storing the value gives; any NaN equals any other. */
int truth_holds(const void *element, float value, posenc_dtype type);

/* A number to try conversions with: random bits of the type, so one in some is infinite, NaN or denormal. */
float truth_random_bits(posenc_dtype type);

#endif
