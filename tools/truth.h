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

/* One that has seen nothing, and b taken into a. */
truth truth_none(void);
void truth_merge(truth *a, truth b);

/* Errors of cosines and sines: in units of max(1 ulp, 2^-45); angles.h allows 1. */
truth truth_angle_rows(double base, int64_t dim, const int32_t *positions, int64_t n_positions);
truth truth_sinusoidal(posenc_sinusoidal_layout layout, int64_t dim, const int32_t *positions, int64_t n_positions);

/* A rotated pair: error over (|x0| + |x1|) 2^-24. Each of the cosine, the sine, the product and the fma may be off by
 * one such unit, and only three of them meet in the same term, hence the limit. */
#define TRUTH_ROPE_LIMIT 3.0
truth truth_rope(const posenc_rope_params *params, int64_t n_heads, const int32_t *positions, int64_t n_tokens,
                 random_state *random);

/* Slopes: in ulp, correctly rounded means 0.5. Bias: relative, in units of 2^-24; the distance (beyond 2^24) and the
 * product are rounded, half a unit of the last place each. */
#define TRUTH_SLOPES_LIMIT 0.5000001
#define TRUTH_BIAS_LIMIT 2.0
truth truth_alibi_slopes(int64_t n_heads);
truth truth_alibi_bias(int64_t n_heads, int64_t n_q, int64_t n_k, int64_t q_off);

/* Probabilities, as a share of what is allowed: 2e-6 absolute (softmax.h, for the logits up to 16 made here), and,
 * since that says little about small ones, 4e-6 of the value, 1.4e-5 with ALiBi. These follow from the roundings of l
 * and of l - max, half a unit in the last place each: of at most 32, or with ALiBi of at most 128, for what lies
 * further below the maximum is flushed. slopes may be NULL. */
truth truth_softmax(const float *slopes, int64_t n_heads, int64_t n_q, int64_t n_k, posenc_mask mask,
                    random_state *random);

#endif
