/* SPDX-License-Identifier: MIT */
/* Attention with linear biases in the shape of BLOOM and MPT: no position enters the embeddings; each head prefers near
 * keys by a slope of its own. First whole rows of scores; then the keys in two parts whose results are joined, as an
 * engine does that keeps its tile in the cache or shares a long context between threads.
 *
 * It checks itself against plain loops in double.
 *
 *     cc alibi_attention.c $(pkg-config --cflags --libs posenc) -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <posenc/posenc.h>

/* Eight queries behind a context: the last of N_K tokens. Six heads: published slopes exist for any number. */
enum { HEAD_DIM = 32, N_HEADS = 6, N_Q = 8, N_K = 100, N_FIRST = 64, N_ROWS = N_HEADS * N_Q };

static float q[N_ROWS][HEAD_DIM], k[N_HEADS][N_K][HEAD_DIM], v[N_HEADS][N_K][HEAD_DIM];
static float slopes[N_HEADS];

static void check(posenc_status status, const char *what) {
    if (status != POSENC_OK) {
        fprintf(stderr, "%s: %s\n", what, posenc_status_string(status));
        exit(1);
    }
}

static void fill_random(float *p, int64_t n) {
    static uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
}

/* scores[row][key] for n keys from `first` on; row = head * N_Q + query, as in a view [n_k, n_q, n_heads]. */
static void multiply_keys(int64_t first, int64_t n, float *scores) {
    for (int64_t r = 0; r < N_ROWS; r++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int64_t i = 0; i < HEAD_DIM; i++)
                sum += q[r][i] * k[r / N_Q][first + j][i];
            scores[r * n + j] = sum;
        }
}

static void mix_values(int64_t first, int64_t n, const float *weights, float (*out)[HEAD_DIM]) {
    for (int64_t r = 0; r < N_ROWS; r++)
        for (int64_t i = 0; i < HEAD_DIM; i++) {
            float sum = 0.0f;
            for (int64_t j = 0; j < n; j++)
                sum += weights[r * n + j] * v[r / N_Q][first + j][i];
            out[r][i] = sum;
        }
}

/* Scale, bias, mask and softmax of n keys from `first` on. Only distances count: seen from the part's first key, the
 * queries stand that much nearer. */
static posenc_score_params params_of(int64_t first) {
    posenc_score_params params = posenc_score_params_of(1.0f / sqrtf(HEAD_DIM), posenc_mask_causal());
    params.bias.alibi_slopes = slopes;
    params.n_heads = N_HEADS;
    params.positions.query_start = N_K - N_Q - first;
    return params;
}

static void whole_rows(float (*out)[HEAD_DIM]) {
    static float scores[N_ROWS * N_K];
    multiply_keys(0, N_K, scores);
    posenc_score_params params = params_of(0);
    posenc_view view = posenc_view_dense(scores, POSENC_F32, N_K, N_Q, N_HEADS, 1);
    check(posenc_softmax(&params, &view, &view, posenc_range_all()), "softmax");
    mix_values(0, N_K, scores, out);
}

/* Not yet divided by the sums. */
static void one_part(int64_t first, int64_t n, posenc_softmax_sum *sums, float (*out)[HEAD_DIM]) {
    static float scores[N_ROWS * N_K];
    multiply_keys(first, n, scores);
    posenc_score_params params = params_of(first);
    posenc_view view = posenc_view_dense(scores, POSENC_F32, n, N_Q, N_HEADS, 1);
    check(posenc_softmax_partial(&params, &view, &view, sums, posenc_range_all()), "partial softmax");
    mix_values(first, n, scores, out);
}

static void two_parts(float (*out)[HEAD_DIM]) {
    static float second[N_ROWS][HEAD_DIM];
    posenc_softmax_sum sums[2][N_ROWS];
    one_part(0, N_FIRST, sums[0], out);
    one_part(N_FIRST, N_K - N_FIRST, sums[1], second);
    for (int64_t r = 0; r < N_ROWS; r++) {
        posenc_softmax_sum joined;
        float factor, factor_second;
        check(posenc_softmax_combine(&sums[0][r], &sums[1][r], &joined, &factor, &factor_second), "join");
        for (int64_t i = 0; i < HEAD_DIM; i++)
            out[r][i] = (out[r][i] * factor + second[r][i] * factor_second) / joined.sum;
    }
}

/* The formula: softmax over j <= position of (q . k_j / sqrt(d) - slope * distance), applied to the values. */
static double expected(int64_t row, int64_t channel) {
    int64_t head = row / N_Q, position = N_K - N_Q + row % N_Q;
    double sum = 0.0, mixed = 0.0;
    for (int64_t j = 0; j <= position; j++) {
        double score = 0.0;
        for (int64_t i = 0; i < HEAD_DIM; i++)
            score += (double)q[row][i] * (double)k[head][j][i];
        double e = exp(score / sqrt(HEAD_DIM) - (double)slopes[head] * (double)(position - j));
        sum += e;
        mixed += e * (double)v[head][j][channel];
    }
    return mixed / sum;
}

static int agrees(const char *what, float (*out)[HEAD_DIM]) {
    double largest = 0.0;
    for (int64_t r = 0; r < N_ROWS; r++)
        for (int64_t i = 0; i < HEAD_DIM; i++) {
            double difference = fabs((double)out[r][i] - expected(r, i));
            if (!(difference <= largest)) /* a NaN stays */
                largest = difference;
        }
    printf("%-12s largest difference to plain loops in double %g\n", what, largest);
    return largest <= 2e-6;
}

int main(void) {
    static float whole[N_ROWS][HEAD_DIM], parts[N_ROWS][HEAD_DIM];
    fill_random(q[0], N_ROWS * HEAD_DIM);
    fill_random(k[0][0], N_HEADS * N_K * HEAD_DIM);
    fill_random(v[0][0], N_HEADS * N_K * HEAD_DIM);
    check(posenc_alibi_slopes(N_HEADS, 8.0, slopes), "slopes");
    whole_rows(whole);
    two_parts(parts);
    return agrees("whole rows", whole) & agrees("two parts", parts) ? 0 : 1;
}
