/* SPDX-License-Identifier: MIT */
#include "hash.h"

#include <math.h>

#include "values.h"

void hash_bytes(uint64_t *hash, uint64_t value, int n) {
    for (int i = 0; i < n; i++)
        *hash = (*hash ^ (value >> 8 * i & 0xff)) * 0x100000001b3u;
}

void hash_floats(uint64_t *hash, const float *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        hash_bytes(hash, isnan(a[i]) ? 0x7fc00000u : test_bits_of_float(a[i]), 4);
}

void hash_doubles(uint64_t *hash, const double *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        hash_bytes(hash, isnan(a[i]) ? 0x7ff8000000000000u : test_bits_of_double(a[i]), 8);
}

void hash_halves(uint64_t *hash, const uint16_t *a, size_t n, posenc_dtype type) {
    uint16_t infinite = type == POSENC_F16 ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < n; i++)
        hash_bytes(hash, (a[i] & 0x7fff) > infinite ? 0x7fff : a[i], 2);
}

void hash_rows(uint64_t *hash, const void *a, size_t n, posenc_dtype type) {
    if (type == POSENC_F32)
        hash_floats(hash, a, n);
    else
        hash_halves(hash, a, n, type);
}
