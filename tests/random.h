/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood 2014). All of the tests,
 * benchmarks and tools draw from this generator. */
#ifndef POSENC_TESTS_RANDOM_H
#define POSENC_TESTS_RANDOM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct random_state {
    uint64_t state;
} random_state;

/* The finaliser: a bijection that spreads every bit. */
static inline uint64_t random_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t random_bits(random_state *random) {
    return random_mix(random->state += 0x9e3779b97f4a7c15u);
}

/* 0 .. n - 1, n > 0. */
static inline uint64_t random_below(random_state *random, uint64_t n) {
    return random_bits(random) % n;
}

/* Uniform over [-limit, limit). */
static inline double random_symmetric(random_state *random, double limit) {
    return (double)((int64_t)random_bits(random) >> 10) * 0x1p-53 * limit;
}

/* Uniform over [low, high). */
static inline double random_between(random_state *random, double low, double high) {
    return low + (high - low) * (double)(random_bits(random) >> 11) * 0x1p-53;
}

/* Any sign, and every order of magnitude up to 2^31 equally often. */
static inline int32_t random_position(random_state *random) {
    double magnitude = floor(exp2(random_between(random, 0.0, 31.0)));
    return (int32_t)(random_bits(random) & 1 ? -magnitude : magnitude);
}

#endif
