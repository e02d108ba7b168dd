/* posenc/rope.h - rotary position embedding (RoFormer, arXiv 2104.09864; FORMULAS B.1-B.3, B.5, B.6).
 *
 * A head is a vector of head_dim channels, of which n_rot (even), from channel n_offs on, are rotated in
 * pairs. Pair i of a token at position p turns by the angle a = p * theta_i:
 *
 *     y0 = x0 * cos a - x1 * sin a
 *     y1 = x1 * cos a + x0 * sin a            theta_i = base^(-2i/n_rot), i = 0 .. n_rot/2-1
 *
 * computed as y0 = fma(x0, cos, -(x1*sin)), y1 = fma(x1, cos, x0*sin) in float32, with the cosine and sine
 * of angles.h. The channels of pair i, counted from n_offs, are
 *
 *     POSENC_ROPE_HALF          i and i + n_rot/2     (GPT-NeoX, Hugging Face Llama, ggml NEOX)
 *     POSENC_ROPE_INTERLEAVED   2i and 2i + 1         (GPT-J, RoFormer, Llama as published, ggml NORMAL)
 *
 * Tensors are [head_dim, n_heads, n_tokens, n_batch] (ne[0] first), as ggml_rope has them, with
 * positions[n_tokens] shared by the batch. A row, for row ranges, is one head of one token:
 * row = (batch * n_tokens + token) * n_heads + head.
 *
 * y may be the same view as x (in place: channels that are not rotated are not touched) or a view that
 * does not overlap it (they are copied).
 *
 *     posenc_rope_params params = POSENC_ROPE_DEFAULTS;
 *     params.layout = POSENC_ROPE_HALF;
 *     params.head_dim = params.n_rot = 128;
 *     params.base = 500000.0;
 *     posenc_rope *rope;
 *     posenc_status status = posenc_rope_create(&params, &rope);
 *     ...
 *     posenc_view q = posenc_view_dense(data, POSENC_F32, 128, 32, n_tokens, 1);
 *     status = posenc_rope_apply(rope, &q, positions, &q, POSENC_FORWARD, posenc_all_rows());
 *     posenc_rope_free(rope);
 */
#ifndef POSENC_ROPE_H
#define POSENC_ROPE_H

#include <posenc/angles.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* There is no default layout: taking the wrong one gives plausible nonsense. */
typedef enum posenc_rope_layout {
    POSENC_ROPE_LAYOUT_UNSET = 0,
    POSENC_ROPE_HALF,
    POSENC_ROPE_INTERLEAVED
} posenc_rope_layout;

typedef enum posenc_direction {
    POSENC_FORWARD = 0,
    POSENC_INVERSE /* rotate back: the sine negated */
} posenc_direction;

typedef struct posenc_rope_params {
    posenc_rope_layout layout;
    int64_t head_dim; /* channels per head, 1 .. 2*POSENC_MAX_PAIRS */
    int64_t n_rot;    /* channels that are rotated: even, 0 .. head_dim - n_offs */
    int64_t n_offs;   /* first rotated channel */
    double base;      /* finite, in [1, 1e30] */
} posenc_rope_params;

#define POSENC_ROPE_DEFAULTS                                                                                           \
    { POSENC_ROPE_LAYOUT_UNSET, 0, 0, 0, 10000.0 }

typedef struct posenc_rope posenc_rope;

/* Checks the parameters and builds the frequency table. On failure *rope is set to NULL. */
POSENC_API posenc_status posenc_rope_create(const posenc_rope_params *params, posenc_rope **rope);

/* Frees it; NULL is allowed. */
POSENC_API void posenc_rope_free(posenc_rope *rope);

/* The table of n_rot/2 frequencies inside, owned by rope. */
POSENC_API const posenc_freq *posenc_rope_freq(const posenc_rope *rope);

/* Rotates the rows of x into y. Each token's cosines and sines are made once and serve all its heads. */
POSENC_API posenc_status posenc_rope_apply(const posenc_rope *rope, const posenc_view *x, const int32_t *positions,
                                           const posenc_view *y, posenc_direction direction, posenc_rows rows);

/* The same with ready rows from posenc_angle_rows(posenc_rope_freq(rope), ...): token t takes
 * cos_rows[t*row_stride ..] and sin_rows[t*row_stride ..]. Made once per batch of tokens, they serve Q and K
 * of every layer. The result has the same bits as posenc_rope_apply. */
POSENC_API posenc_status posenc_rope_apply_rows(const posenc_rope *rope, const posenc_view *x, const float *cos_rows,
                                                const float *sin_rows, int64_t row_stride, const posenc_view *y,
                                                posenc_direction direction, posenc_rows rows);

#ifdef __cplusplus
}
#endif
#endif
