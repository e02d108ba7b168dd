/* SPDX-License-Identifier: MIT */
/* Two kinds of layers, as Gemma 4 has them: five with a window, whose rope has base 10000, then one that sees all, with
 * wider and fewer KV heads, base 1e6, and a rope that rotates a quarter of the pairs only. Heads of Q and K are
 * normalised with trained weights, heads of V without, in the call that rotates. Scores are not scaled. The index of a
 * layer decides its kind. Both kinds share their loops.
 *
 *     cc gemma4.c $(pkg-config --cflags --libs posenc) -lm */
#include "plain.h"

enum { WIDEST = 128, HEADS = 4, MOST_KV = 2, WINDOW = 16, TOKENS = 50, FULL_EVERY = 6 };

/* Half of Gemma's sizes. Above 256 rotated channels the norm is a call of its own, of a rope with n_rot 0. */
typedef struct kind {
    const char *name;
    int dim, kv_heads, window; /* 0: none */
    double base, proportion;   /* of the pairs that turn */
    posenc_rope *rope;
} kind;

static kind kinds[] = {{"Gemma 4, layers with a window", 64, 2, WINDOW, 1e4, 1.0, NULL},
                       {"Gemma 4, layers that see all", WIDEST, 1, 0, 1e6, 0.25, NULL}};

static float q[TOKENS * HEADS * WIDEST], k[TOKENS * MOST_KV * WIDEST], v[TOKENS * MOST_KV * WIDEST];
static float q_weight[WIDEST], k_weight[WIDEST], ones[WIDEST];
static int32_t positions[TOKENS];

static void make_rope(kind *a) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = a->dim;
    params.base = a->base;
    if (a->proportion < 1.0) {
        params.scaling.type = POSENC_SCALING_PROPORTIONAL;
        params.scaling.proportion = a->proportion;
    }
    check(posenc_rope_create(&params, &a->rope), "rope");
}

static posenc_rope_tensor tensor(float *x, float *y, int dim, int heads, int rotates, const float *weight) {
    return (posenc_rope_tensor){.x = posenc_view_dense(x, POSENC_F32, dim, heads, TOKENS, 1),
                                .y = posenc_view_dense(y, POSENC_F32, dim, heads, TOKENS, 1),
                                .rotates = rotates,
                                .scale = 1.0f,
                                .weight = weight,
                                .eps = 1e-6f};
}

static void attend(const kind *a, float *out) {
    static float queries[TOKENS * HEADS * WIDEST], keys[TOKENS * MOST_KV * WIDEST], values[TOKENS * MOST_KV * WIDEST];
    static float scratch[3 << 17];
    posenc_rope_tensor tensors[] = {tensor(q, queries, a->dim, HEADS, 1, q_weight),
                                    tensor(k, keys, a->dim, a->kv_heads, 1, k_weight),
                                    tensor(v, values, a->dim, a->kv_heads, 0, ones)};
    check(posenc_rope_apply_tensors(a->rope, tensors, 3, positions, NULL, POSENC_FORWARD, posenc_range_all()),
          "rotation");
    posenc_score_params params =
        posenc_score_params_of(1.0f, a->window > 0 ? posenc_mask_window(a->window) : posenc_mask_causal());
    posenc_view result = posenc_view_dense(out, POSENC_F32, a->dim, HEADS, TOKENS, 1);
    if (posenc_attention_workspace_bytes(a->dim, a->dim) > sizeof scratch)
        exit(1);
    check(posenc_attention(&params, &tensors[0].y, &tensors[1].y, &tensors[2].y, &result, scratch, sizeof scratch,
                           posenc_range_all()),
          "attention");
}

/* x / sqrt(mean of its squares) * weight; to float, for plain_rotate. */
static void normalise(const float *x, const float *weight, int n, float *y) {
    double sum = 0.0;
    for (int c = 0; c < n; c++)
        sum += (double)x[c] * (double)x[c];
    for (int c = 0; c < n; c++)
        y[c] = (float)((double)x[c] / sqrt(sum / n + 1e-6) * (double)weight[c]);
}

static void plain(const kind *a, double *out) {
    static double query[WIDEST], keys[TOKENS * MOST_KV * WIDEST], values[TOKENS * MOST_KV * WIDEST];
    float x[WIDEST];
    int row = a->kv_heads * a->dim, group = HEADS / a->kv_heads;
    for (int t = 0; t < TOKENS; t++) {
        for (int h = 0; h < a->kv_heads; h++) {
            int at = t * row + h * a->dim;
            normalise(k + at, k_weight, a->dim, x);
            plain_rotate(a->rope, &positions[t], x, keys + at);
            normalise(v + at, ones, a->dim, x);
            for (int c = 0; c < a->dim; c++)
                values[at + c] = (double)x[c];
        }
        int first = a->window > 0 && t >= a->window ? t - a->window + 1 : 0;
        for (int h = 0; h < HEADS; h++) {
            int at = (t * HEADS + h) * a->dim, kv = first * row + h / group * a->dim;
            normalise(q + at, q_weight, a->dim, x);
            plain_rotate(a->rope, &positions[t], x, query);
            plain_attend(query, keys + kv, row, values + kv, row, t + 1 - first, a->dim, a->dim, 1.0, -INFINITY,
                         out + at);
        }
    }
}

int main(void) {
    static float out[TOKENS * HEADS * WIDEST];
    static double expected[TOKENS * HEADS * WIDEST];
    int failures = 0;
    for (int c = 0; c < WIDEST; c++)
        ones[c] = 1.0f;
    check(posenc_positions_range(1000, TOKENS, positions), "positions");
    for (int i = 0; i < 2; i++)
        make_rope(&kinds[i]);
    for (int layer = FULL_EVERY - 2; layer < FULL_EVERY; layer++) { /* the last of each six, and the one before */
        const kind *a = &kinds[(layer + 1) % FULL_EVERY == 0];
        fill_random(q, TOKENS * HEADS * a->dim); /* where a layer projects its tokens */
        fill_random(k, (int64_t)TOKENS * a->kv_heads * a->dim);
        fill_random(v, (int64_t)TOKENS * a->kv_heads * a->dim);
        fill_random(q_weight, a->dim);
        fill_random(k_weight, a->dim);
        attend(a, out);
        plain(a, expected);
        failures += compare(a->name, out, expected, TOKENS * HEADS * a->dim, 2e-5);
    }
    for (int i = 0; i < 2; i++)
        posenc_rope_free(kinds[i].rope);
    return failures != 0;
}
