/* SPDX-License-Identifier: MIT */
/* Shared by the tests of RoPE: random parameters, channels of a pair, and rotation of one head. */
#ifndef TRUTH_ROPE_H
#define TRUTH_ROPE_H

#include "truth.h"

/* The rounding of float32, and a factor that covers terms in its square. */
#define TRUTH_U 0x1p-24
#define TRUTH_SECOND_ORDER 1.0001

enum { TRUTH_MAX_TOKENS = 40, TRUTH_MAX_DIM = 1024, TRUTH_MAX_POSITIONS = TRUTH_MAX_TOKENS * POSENC_MAX_AXES };

/* Base 10000, everything else as POSENC_ROPE_DEFAULTS has it. */
posenc_rope_params truth_rope_params(posenc_rope_layout layout, int64_t head_dim, int64_t n_rot, int64_t n_offs);

posenc_rope *truth_rope_new(const posenc_rope_params *params);

/* Choices of random parameters besides a layout, a shape and a base. */
typedef enum truth_variety {
    TRUTH_PLAIN = 0,
    TRUTH_MAGNITUDE = 1,    /* a factor on cosine and sine */
    TRUTH_AXES = 2,         /* several positions a token */
    TRUTH_DEINTERLEAVE = 4, /* that layout too; not in place, and FORWARD only */
} truth_variety;

/* Small and odd shapes mostly, now and then wider than one slice of the angle engine. */
posenc_rope_params truth_rope_random(int variety);

/* Sections of a kind for n_pairs pairs, an even number; PIXTRAL, ALTERNATE and LIST have none. */
void truth_random_axes(posenc_rope_axes *axes, posenc_axes_kind kind, int64_t n_pairs);

/* n_axes planes of n positions: runs mostly, with jumps. */
void truth_random_positions(int32_t *positions, int n_axes, int64_t n);

/* One that the parameters allow. */
posenc_direction truth_random_direction(const posenc_rope_params *params);
const char *truth_direction_name(posenc_direction direction);

/* Channels of pair i: as they are read, and as they are written. */
typedef struct truth_pair {
    int64_t first, second;
} truth_pair;
truth_pair truth_pair_read(const posenc_rope_params *params, int64_t i);
truth_pair truth_pair_written(const posenc_rope_params *params, int64_t i);

/* One head, at one position on each axis. */
void truth_turn(const posenc_rope *rope, int64_t head_dim, const float *x, const int32_t *position,
                posenc_direction direction, float *y);

/* Rows [n_tokens][head_dim] in place, with a rope made for it. DEINTERLEAVE goes through a copy. */
void truth_rotate(const posenc_rope_params *params, float *x, int64_t n_tokens, const int32_t *positions,
                  posenc_direction direction);

double truth_dot(const float *x, const float *y, int64_t n);

#endif
