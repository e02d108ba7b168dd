/* SPDX-License-Identifier: MIT */
/* FNV-1a of values: whatever the order of bytes, and one NaN for all. */
#ifndef POSENC_CHECK_HASH_H
#define POSENC_CHECK_HASH_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/types.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

void hash_bytes(uint64_t *hash, uint64_t value, int n);
void hash_floats(uint64_t *hash, const float *a, size_t n);
void hash_doubles(uint64_t *hash, const double *a, size_t n);
void hash_halves(uint64_t *hash, const uint16_t *a, size_t n, posenc_dtype type);

/* Adds rows of a storage type of floats. */
void hash_rows(uint64_t *hash, const void *a, size_t n, posenc_dtype type);

#endif
