/* What test_hashes and test_hashes_public share: numbers that are the same everywhere, their hash, and the record.
 *
 *     PROGRAM FILE                holds every tier that can run to FILE
 *     PROGRAM --print [TIER]      prints the lines of FILE, as the tier (scalar) computes them
 */
#ifndef POSENC_TESTS_HASHES_H
#define POSENC_TESTS_HASHES_H

#include "harness.h"

#include <posenc/types.h>

#include "kernels/kernels.h"

/* ---- Numbers ---- */

typedef struct sweep {
    const posenc_kernels *kernels; /* of the tier that runs; public calls take the same */
    uint64_t random;
    uint64_t hash; /* FNV-1a */
} sweep;

uint64_t next(sweep *s);

/* Even over [-limit, limit). */
double even(sweep *s, double limit);

size_t size_of(posenc_dtype type);

void fill_doubles(sweep *s, double *a, size_t n, double limit);

/* One value in 32 has an arbitrary exponent or is not finite. */
void fill_floats(sweep *s, float *a, size_t n, float limit);

/* A half of the sign and fraction in these bits, with an exponent between 2^-2 and 2. */
uint16_t small_half(uint64_t bits, posenc_dtype type);

/* Floats below 8 and as above; or halves, one in 32 of any bits whatever, the others below 4. */
void fill_rows(sweep *s, void *a, size_t n, posenc_dtype type);

/* ---- Their hash: values, whatever the order of bytes, and one NaN for all ---- */

void hash_bytes(sweep *s, uint64_t value, int n);
void hash_floats(sweep *s, const float *a, size_t n);
void hash_doubles(sweep *s, const double *a, size_t n);
void hash_rows(sweep *s, const void *a, size_t n, posenc_dtype type);

/* ---- The record ---- */

typedef struct hashed {
    const char *name;
    void (*run)(sweep *);
} hashed;

typedef struct hashes {
    const char *program, *of; /* what has a hash */
    const hashed *all;
    size_t n;
} hashes;

/* Runs one, with public calls on this tier too. */
uint64_t hash_of(const hashed *one, posenc_isa_tier tier);

int hashes_main(int argc, char **argv, const hashes *all);

#endif
