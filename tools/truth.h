/* The public calls against the reference, on whatever tier is selected. */
#ifndef POSENC_TOOLS_TRUTH_H
#define POSENC_TOOLS_TRUTH_H

#include <posenc/posenc.h>

#include "random.h"

/* What a check saw. worst is in the unit the check states and INFINITY where a value was no number or a call failed. */
typedef struct truth {
    uint64_t values;
    double worst;
    posenc_status status; /* of the call that failed, if one did */
} truth;

/* One that has seen nothing, one of a call that failed, and b taken into a. */
truth truth_none(void);
truth truth_failed(posenc_status status);
void truth_merge(truth *a, truth b);

/* Takes one value's error in. */
void truth_note(truth *t, double error);

/* Errors of cosines and sines: in units of max(1 ulp, 2^-45); angles.h allows 1. */
truth truth_angle_rows(double base, int64_t dim, const int32_t *positions, int64_t n_positions);
truth truth_sinusoidal(posenc_sinusoidal_layout layout, int64_t dim, const int32_t *positions, int64_t n_positions);

/* Rotated tensors, by posenc_rope_apply, or fused: by posenc_rope_apply_tasks, where each head is normalised, rotated,
 * scaled and written to a row of a cache out of order (TRUTH_FUSED), or normalised heads are only converted. */
typedef enum truth_call { TRUTH_APPLY = 0, TRUTH_TABLE, TRUTH_FUSED } truth_call;

typedef struct truth_rope_case {
    posenc_rope_params params;
    int64_t n_heads;
    posenc_dtype x_type, y_type;
    posenc_direction direction;
    truth_call call;
} truth_rope_case;

/* A rotated pair, its error beyond the rounding to y_type (half a unit in its last place), over (|x0| + |x1|) m 2^-24.
 * Each of the cosine, the sine, the product and the fma may be off by one such unit, and only three of them meet in the
 * same term, hence the limit. For float32 the last rounding is one of them. Fused calls also round in the norm: 9 sums,
 * half of which count through the square root, and 5 operations after them; and the scale into the cosines. */
#define TRUTH_ROPE_LIMIT 3.0
#define TRUTH_FUSED_LIMIT 13.0

/* positions: planes of n_tokens, one for each axis. */
truth truth_rope(const truth_rope_case *at, const int32_t *positions, int64_t n_tokens, random_state *random);

/* Slopes: in ulp, correctly rounded means 0.5. Bias: relative, in units of 2^-24; the distance (beyond 2^24) and the
 * product are rounded, half a unit of the last place each. */
#define TRUTH_SLOPES_LIMIT 0.5000001
#define TRUTH_BIAS_LIMIT 2.0
truth truth_alibi_slopes(int64_t n_heads, double max_bias);
truth truth_alibi_bias(int64_t n_heads, int64_t n_q, int64_t n_k, int64_t q_off);

/* Probabilities, as a share of what is allowed: 2e-6 absolute (softmax.h, for the logits up to 16 made here), and,
 * since that says little about small ones, 4e-6 of the value, 1.4e-5 with ALiBi. These follow from the roundings of l
 * and of l - max, half a unit in the last place each: of at most 32, or with ALiBi of at most 128, for what lies
 * further below the maximum is flushed. slopes may be NULL. */
truth truth_softmax(const float *slopes, int64_t n_heads, int64_t n_q, int64_t n_k, posenc_mask mask,
                    random_state *random);

#endif
