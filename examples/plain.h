/* SPDX-License-Identifier: MIT */
/* Reference for the examples of models: rotation and attention as in textbooks, in double. */
#ifndef EXAMPLES_PLAIN_H
#define EXAMPLES_PLAIN_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <posenc/posenc.h>

/* A status other than POSENC_OK is a mistake in this program. */
static inline void check(posenc_status status, const char *what) {
    if (status != POSENC_OK) {
        fprintf(stderr, "%s: %s\n", what, posenc_status_string(status));
        exit(1);
    }
}

/* Numbers from -1 to 1. */
static inline void fill_random(float *x, int64_t n) {
    static uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
}

/* Pair i is rotated by positions[axis of i] * theta_i; its channels are i and i + n/2 (half-split). */
static inline void plain_rotate(const posenc_rope *rope, const int32_t *positions, const float *x, double *y) {
    int64_t n = posenc_rope_pair_count(rope);
    double m = posenc_rope_magnitude(rope);
    for (int64_t i = 0; i < n; i++) {
        double angle = positions[posenc_rope_axis(rope, i)] * posenc_rope_theta(rope, i);
        double a = (double)x[i], b = (double)x[i + n];
        y[i] = m * (a * cos(angle) - b * sin(angle));
        y[i + n] = m * (b * cos(angle) + a * sin(angle));
    }
}

/* One query over n keys: q and k [dim], v [v_dim], keys k_stride apart and values v_stride. sink is a logit that no
 * value belongs to; -INFINITY: none. */
static inline void plain_attend(const double *q, const double *k, int64_t k_stride, const double *v, int64_t v_stride,
                                int64_t n, int64_t dim, int64_t v_dim, double scale, double sink, double *out) {
    double largest = sink, sum = 0.0, *logits = malloc((size_t)n * sizeof *logits);
    if (logits == NULL)
        exit(1);
    for (int64_t j = 0; j < n; j++) {
        logits[j] = 0.0;
        for (int64_t c = 0; c < dim; c++)
            logits[j] += scale * q[c] * k[j * k_stride + c];
        largest = fmax(largest, logits[j]);
    }
    for (int64_t c = 0; c < v_dim; c++)
        out[c] = 0.0;
    for (int64_t j = 0; j < n; j++) {
        double e = exp(logits[j] - largest);
        sum += e;
        for (int64_t c = 0; c < v_dim; c++)
            out[c] += e * v[j * v_stride + c];
    }
    sum += exp(sink - largest);
    for (int64_t c = 0; c < v_dim; c++)
        out[c] /= sum;
    free(logits);
}

/* Prints the largest difference; 0 if it is within what is allowed, else 1, as main returns it. */
static inline int compare(const char *what, const float *x, const double *expected, int64_t n, double allowed) {
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - expected[i]) <= largest)) /* NaN too */
            largest = fabs((double)x[i] - expected[i]);
    int is_wrong = !(largest <= allowed);
    printf("%-58s largest difference %.1e%s\n", what, largest, is_wrong ? "  WRONG" : "");
    return is_wrong;
}

#endif
