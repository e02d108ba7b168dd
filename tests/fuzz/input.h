/* SPDX-License-Identifier: MIT */
/* The bytes of a fuzzer's input as numbers. Bytes beyond the end read as 0. */
#ifndef POSENC_FUZZ_INPUT_H
#define POSENC_FUZZ_INPUT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static inline void input_bytes(input *in, void *to, size_t n) {
    size_t has = n < in->left ? n : in->left;
    memset(to, 0, n);
    memcpy(to, in->at, has);
    in->at += has;
    in->left -= has;
}

static inline uint8_t input_byte(input *in) {
    uint8_t byte;
    input_bytes(in, &byte, 1);
    return byte;
}

/* 0 .. most, now and then far outside of what any parameter may be. */
static inline int64_t input_size(input *in, int64_t most) {
    static const int64_t outside[] = {-1, INT64_MIN,       INT64_MAX, INT64_C(1) << 33, (INT64_C(1) << 32) + 1,
                                      -2, INT64_C(1) << 62};
    uint16_t drawn;
    input_bytes(in, &drawn, sizeof drawn);
    return drawn >= 0xff00 ? outside[drawn % 7] : drawn % (most + 1);
}

/* -most .. most, or far outside. */
static inline int64_t input_offset(input *in, int64_t most) {
    int64_t n = input_size(in, 2 * most);
    return n >= 0 && n <= 2 * most ? n - most : n;
}

/* 0 .. most, or negative: an extent of memory that exists. */
static inline int64_t input_extent(input *in, int64_t most) {
    int64_t n = input_size(in, most);
    return n > most ? -n : n;
}

/* An enumerator: -1 .. 14. */
static inline int input_enum(input *in) {
    return input_byte(in) % 16 - 1;
}

/* Small numbers, powers of two, traps, or any bits. */
static inline double input_double(input *in) {
    static const double traps[] = {0.0,    -0.0,      1.0,      -1.0,      0.5, 10000.0, 1e30, 1e300,
                                   5e-324, 0x1p-1022, INFINITY, -INFINITY, NAN, 65536.0, 1e9,  0.1};
    uint8_t kind = input_byte(in);
    if (kind < 64)
        return traps[kind % 16];
    if (kind < 128)
        return (double)input_byte(in) / (kind < 96 ? 1.0 : 64.0);
    if (kind < 192)
        return ldexp(1.0, (int)(int8_t)input_byte(in));
    double any;
    input_bytes(in, &any, sizeof any);
    return any;
}

static inline float input_float(input *in) {
    double number = input_double(in);
    return fabs(number) > 3e38 && isfinite(number) ? 3e38f : (float)number;
}

#endif
