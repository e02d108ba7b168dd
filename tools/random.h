/* Reproducible random numbers: SplitMix64 (Steele, Lea, Flood 2014). A seed gives the same run on any machine. */
#ifndef POSENC_TOOLS_RANDOM_H
#define POSENC_TOOLS_RANDOM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct random_state {
    uint64_t state;
} random_state;

static inline uint64_t random_bits(random_state *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 0 .. n - 1, n > 0. */
static inline size_t random_below(random_state *random, size_t n) {
    return (size_t)(random_bits(random) % n);
}

/* In [low, high). */
static inline double random_between(random_state *random, double low, double high) {
    return low + (high - low) * (double)(random_bits(random) >> 11) * 0x1p-53;
}

/* Any sign, and every order of magnitude up to 2^31 equally often. */
static inline int32_t random_position(random_state *random) {
    double magnitude = floor(exp2(random_between(random, 0.0, 31.0)));
    return (int32_t)(random_bits(random) & 1 ? -magnitude : magnitude);
}

#endif
