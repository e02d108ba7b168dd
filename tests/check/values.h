/* SPDX-License-Identifier: MIT */
/* Values to feed: ordinary and adversarial ones of every type, drawn from the random numbers of the case. */
#ifndef POSENC_CHECK_VALUES_H
#define POSENC_CHECK_VALUES_H

#include <stddef.h>
#include <stdint.h>

typedef enum test_fill {
    FILL_ORDINARY,    /* uniform over [-4, 4) */
    FILL_WIDE,        /* uniform over [-256, 256) */
    FILL_MASKED,      /* ordinary, half of it -inf */
    FILL_FINITE,      /* random bits, but finite */
    FILL_SPARSE,      /* ordinary, one in 16 adversarial */
    FILL_ADVERSARIAL, /* adversarial: NaN, infinities, zeros, denormals, extremes, random bits */
    FILL_TIES,        /* half way between two values of f16 or bf16, or next to it; otherwise ordinary */
    FILL_COUNT
} test_fill;

const char *test_fill_name(test_fill fill);

float test_random_float(test_fill fill);
double test_random_double(test_fill fill);

/* The bits of a value of f16 (10 bits of fraction) or bf16 (7). */
uint16_t test_random_half(test_fill fill, int fraction_bits);

/* Values with traps in them. */
extern const float test_special_floats[];
extern const double test_special_doubles[];
extern const size_t test_n_special_floats, test_n_special_doubles;

/* The same bits, or both NaN. */
int test_same_float(float a, float b);
int test_same_double(double a, double b);

uint32_t test_bits_of_float(float a);
uint64_t test_bits_of_double(double a);

#endif
