/* SPDX-License-Identifier: MIT */
/* Q8_0 and Q4_0 as posenc writes them into a KV cache, against the bytes of ggml's reference (what ggml_quantize_chunk
 * makes without an importance matrix): a million random blocks of each type, and as many whose numbers lie between two
 * integers, share their largest size, or have a scale that is denormal or infinite in half precision. */
#include <ggml.h>
#include <math.h>
#include <posenc/posenc.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"
#include "random.h"

enum { BLOCK = 32, DIM = 1024, TOKENS = 64, N = DIM * TOKENS, BLOCKS = N / BLOCK, ROUNDS = 1000000 / BLOCKS + 1 };

static float values[N];
static unsigned char ours[N * 2], theirs[N * 2];

/* 1/d overflows up to 2^-128, where ggml's reference is not defined. */
static bool is_defined(const float *x) {
    float largest = 0.0f;
    for (int i = 0; i < BLOCK; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    return largest == 0.0f || largest > 0x1p-120f;
}

/* Any scale from 2^-119 to 2^119, or near those of half precision. */
static int random_exponent(random_state *state) {
    return random_below(state, 2) ? (int)random_below(state, 239) - 119 : (int)random_below(state, 48) - 24;
}

static void set_random(float *x, random_state *state) {
    int exponent = random_exponent(state);
    for (int i = 0; i < BLOCK; i++)
        x[i] = (float)ldexp(random_symmetric(state, 1.0), exponent);
}

/* Whole and half steps of a scale, their neighbours, and the largest several times with either sign. */
static void set_adversarial(float *x, random_state *state) {
    int exponent = random_exponent(state), most = random_below(state, 2) ? 127 : 8;
    for (int i = 0; i < BLOCK; i++) {
        double steps = (double)random_below(state, (uint64_t)(4 * most + 1)) * 0.5 - most;
        x[i] = (float)ldexp(steps, exponent);
        if (random_below(state, 4) == 0)
            x[i] = nextafterf(x[i], random_below(state, 2) ? INFINITY : -INFINITY);
    }
    for (int i = 0; i < 3; i++)
        x[random_below(state, BLOCK)] = (float)ldexp(random_below(state, 2) ? most : -most, exponent);
    if (random_below(state, 64) == 0)
        memset(x, 0, BLOCK * sizeof *x);
    if (!is_defined(x))
        set_random(x, state);
}

/* Values on their way into a cache, as they are. */
static void quantise(const posenc_rope *rope, posenc_dtype type) {
    posenc_rope_tensor tensor = {.x = posenc_view_dense(values, POSENC_F32, DIM, 1, TOKENS, 1),
                                 .y = posenc_view_dense(ours, type, DIM, 1, TOKENS, 1),
                                 .scale = 1.0f};
    GGML_ASSERT(posenc_rope_apply_tensors(rope, &tensor, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()) ==
                POSENC_OK);
}

static int64_t n_different(const posenc_rope *rope, posenc_dtype type) {
    size_t bytes = ggml_quantize_chunk(ggml_type_of(type), values, theirs, 0, TOKENS, DIM, NULL),
           block = bytes / BLOCKS;
    int64_t n = 0;
    quantise(rope, type);
    for (size_t b = 0; b < BLOCKS; b++)
        n += memcmp(ours + b * block, theirs + b * block, block) != 0;
    return n;
}

int main(void) {
    static const struct {
        const char *name;
        void (*set)(float *x, random_state *state);
    } kinds[] = {{"random", set_random}, {"adversarial", set_adversarial}};
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = DIM;
    params.n_rot = 64;
    posenc_rope *rope;
    GGML_ASSERT(posenc_rope_create(&params, &rope) == POSENC_OK);
    int64_t n_wrong = 0;
    for (int kind = 0; kind < 2; kind++) {
        random_state state = {(uint64_t)kind + 1};
        int64_t different[POSENC_TYPES] = {0};
        for (int round = 0; round < ROUNDS; round++) {
            for (int b = 0; b < BLOCKS; b++)
                kinds[kind].set(values + b * BLOCK, &state);
            for (int type = POSENC_FLOAT_TYPES; type < POSENC_TYPES; type++)
                different[type] += n_different(rope, (posenc_dtype)type);
        }
        for (int type = POSENC_FLOAT_TYPES; type < POSENC_TYPES; type++) {
            printf("%d %s blocks: %lld of %s are not ggml's\n", ROUNDS * BLOCKS, kinds[kind].name,
                   (long long)different[type], ggml_type_name(ggml_type_of((posenc_dtype)type)));
            n_wrong += different[type];
        }
    }
    posenc_rope_free(rope);
    return n_wrong > 0;
}
