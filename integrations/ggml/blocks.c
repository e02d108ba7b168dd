/* SPDX-License-Identifier: MIT */
/* Blocks as posenc writes them into a KV cache, against the bytes of ggml's reference: a million random blocks of each
 * type, and as many whose numbers lie between two integers, share their largest size, are zeros of either sign, or have
 * a scale that is denormal or infinite in half precision. */
#include <ggml.h>
#include <math.h>
#include <posenc/posenc.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"
#include "random.h"

enum { BLOCK = 32, DIM = 1024, TOKENS = 64, N = DIM * TOKENS, BLOCKS = N / BLOCK, ROUNDS = 1700000 / BLOCKS };

static float values[N];
static unsigned char ours[N * 2], theirs[N * 2];

/* True where ggml's reference is defined: 1/d overflows up to 2^-128. A search for scales overflows from 4e11 on, and
 * below 1e-15 writes integers that were left from before. */
static bool is_defined(const float *x, posenc_dtype type) {
    float least = x[0], most = x[0];
    for (int i = 1; i < BLOCK; i++) {
        least = fminf(least, x[i]);
        most = fmaxf(most, x[i]);
    }
    float largest = fmaxf(fabsf(least), fabsf(most)), span = posenc_has_offset(type) ? most - least : largest;
    if (type == POSENC_IQ4_NL)
        return largest >= 1e-15f && largest < 4e11f;
    return span == 0.0f || span > 0x1p-120f;
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
    static const double mosts[] = {127.0, 8.0, 16.0, 7.5, 15.5}; /* the last two: half of what offsets rise by */
    double most = mosts[random_below(state, 5)];
    int exponent = random_exponent(state), sign = random_below(state, 32) == 0;
    for (int i = 0; i < BLOCK; i++) {
        double steps = (double)random_below(state, (uint64_t)(4.0 * most) + 1) * 0.5 - most;
        x[i] = (float)ldexp(steps, exponent);
        if (random_below(state, 4) == 0)
            x[i] = nextafterf(x[i], random_below(state, 2) ? INFINITY : -INFINITY);
    }
    for (int i = 0; i < 3; i++)
        x[random_below(state, BLOCK)] = (float)ldexp(random_below(state, 2) ? most : -most, exponent);
    if (random_below(state, 64) == 0)
        memset(x, 0, BLOCK * sizeof *x);
    for (int i = 0; i < BLOCK && sign; i++) /* the least is a zero of either sign */
        x[i] = random_below(state, 2) ? fabsf(x[i]) : random_below(state, 2) ? 0.0f : -0.0f;
}

/* Values on their way into a cache, as they are. */
static void quantise(const posenc_rope *rope, posenc_dtype type) {
    posenc_rope_tensor tensor = {.x = posenc_view_dense(values, POSENC_F32, DIM, 1, TOKENS, 1),
                                 .y = posenc_view_dense(ours, type, DIM, 1, TOKENS, 1),
                                 .scale = 1.0f};
    GGML_ASSERT(posenc_rope_apply_tensors(rope, &tensor, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()) ==
                POSENC_OK);
}

/* Blocks that were compared, and that differ. */
typedef struct counts {
    int64_t compared, different;
} counts;

static void compare(const posenc_rope *rope, posenc_dtype type, counts *n) {
    size_t block = ggml_type_size(ggml_type_of(type));
    ggml_get_type_traits(ggml_type_of(type))->from_float_ref(values, theirs, N);
    quantise(rope, type);
    for (size_t b = 0; b < BLOCKS; b++) {
        if (!is_defined(values + b * BLOCK, type))
            continue;
        n->compared++;
        n->different += memcmp(ours + b * block, theirs + b * block, block) != 0;
    }
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
    int n_wrong = 0;
    for (int kind = 0; kind < 2; kind++) {
        random_state state = {(uint64_t)kind + 1};
        counts n[POSENC_FORMATS_END] = {{0, 0}};
        for (int round = 0; round < ROUNDS; round++) {
            for (int b = 0; b < BLOCKS; b++)
                kinds[kind].set(values + b * BLOCK, &state);
            for (int type = POSENC_FLOAT_TYPES; type < POSENC_FORMATS_END; type++)
                compare(rope, (posenc_dtype)type, &n[type]);
        }
        for (int type = POSENC_FLOAT_TYPES; type < POSENC_FORMATS_END; type++) {
            printf("%lld %s blocks: %lld of %s are not ggml's\n", (long long)n[type].compared, kinds[kind].name,
                   (long long)n[type].different, ggml_type_name(ggml_type_of((posenc_dtype)type)));
            n_wrong += n[type].different > 0 || n[type].compared < 1000000;
        }
    }
    posenc_rope_free(rope);
    return n_wrong > 0;
}
