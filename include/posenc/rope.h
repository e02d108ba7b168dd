/* SPDX-License-Identifier: MIT */
/** @file
 * Rotary position embedding (RoFormer, arXiv 2104.09864; FORMULAS part B).
 *
 * A head is a vector of head_dim channels, of which n_rot (even), from channel n_offs on, are rotated in pairs. Pair i
 * of a token at position p is rotated by the angle a = p * theta_i and is stretched by the magnitude m (1 unless a
 * scaling says otherwise):
 *
 *     y0 = x0 * m cos a - x1 * m sin a
 *     y1 = x1 * m cos a + x0 * m sin a        theta_i = base^(-2i/n_rot), i = 0 .. n_rot/2-1, before scaling
 *
 * computed as y0 = fma(x0, c, -(x1*s)), y1 = fma(x1, c, x0*s) in float32, c and s being rows of angles.h. The channels
 * of pair i, counted from n_offs, are
 *
 *     POSENC_ROPE_HALF           i and i + n_rot/2     (GPT-NeoX, Hugging Face Llama, ggml NEOX)
 *     POSENC_ROPE_INTERLEAVED    2i and 2i + 1         (GPT-J, RoFormer, Llama as published, ggml NORMAL)
 *     POSENC_ROPE_DEINTERLEAVE   read as INTERLEAVED, written as HALF (DeepSeek in Hugging Face; FORMULAS B.4);
 *                                not in place, and FORWARD only (else POSENC_ERR_ENUM): a HALF rope shifts the result
 *                                or takes it back
 *     POSENC_ROPE_HALF_BY_AXIS   HALF inside each section of the axes: pair j of a section of s pairs that begins with
 *                                pair b is 2b + j and 2b + j + s (Gemma 4's vision tower; FORMULAS B.29). Sections must
 *                                follow each other: MROPE, VISION, AXIAL, or LIST with sections (POSENC_ERR_SECTIONS)
 *
 * Tensors are [head_dim, n_heads, n_tokens, n_batch] (ne[0] first), as ggml_rope has them, in f32, f16 or bf16; input
 * and output may differ in type, and each may be Q8_0 or Q4_0 (a quantised KV cache, below). Positions are int32
 * planes [n_axes][n_tokens], shared by the batch: one plane unless the parameters name more axes. The calls that end
 * in _at take them with strides, for each sequence of a batch, and as real numbers: posenc_coords (angles.h). A row,
 * for row ranges, is one head of one token: row = (batch * n_tokens + token) * n_heads + head.
 *
 * y may be the same view as x (in place: channels that are not rotated are not touched) or a view that does not overlap
 * it (they are copied).
 *
 * Directions, with R the rotation and m the magnitude:
 *
 *     POSENC_FORWARD    m R
 *     POSENC_INVERSE    1/m R^T      takes back what FORWARD did
 *     POSENC_BACKWARD   m R^T        the gradient: dx from dy (FORMULAS E.3)
 *     POSENC_SHIFT      R            moves rotated rows by the positions given, magnitude not applied again: context
 *                                    shift (FORMULAS B.8). Tokens whose positions are all 0 stay as they are.
 *
 * A quantised KV cache: y may be Q8_0 or Q4_0 (types.h). Each head is computed as for an output of float32, and each 32
 * channels x of it become a block with the scale d, in float32, every operation rounded:
 *
 *     Q8_0    d = max |x| / 127             q = x (1 / d), to the nearest integer, between two the one farther from 0
 *     Q4_0    d = m / -8, m the x of        q = x (1 / d) + 8.5 without its fraction, at most 15
 *             largest size, of several
 *             the first
 *
 * and d is rounded to half precision last. 1 / d counts as 0 where |d| <= 2^-128, 0 among them. These are the bytes of
 * ggml's reference (quantize_row_q8_0_ref, quantize_row_q4_0_ref) wherever that is defined; what ggml has in SIMD may
 * differ from it by 1 in some q. From |d| = 65520 on (max |x| of 8.32e6 in Q8_0, 524160 in Q4_0) the scale is infinite,
 * and a block in which a value is not finite gets the scale NaN (0x7e00) and numbers of 0: all of it reads as NaN.
 * Otherwise what is read is within 0.5001 |d| + 127 r (Q8_0) or 1.0001 |d| + 8 r (Q4_0) of x, r being the larger of
 * 2^-11 |d| and 2^-25, by which d may change when it is rounded.
 *
 * x may be Q8_0 or Q4_0 too: its heads become float32, which is exact, and go on as if they had been given so. y may
 * then be the same view, blocks and all: a context shift of a quantised K cache is one call, in place. Each block that
 * is written loses up to half a step of its scale once more; a head to which nothing is done (a SHIFT by 0, a tensor
 * that is only scattered) keeps its bytes.
 *
 * With blocks on either side head_dim is a multiple of 32 (POSENC_ERR_SHAPE) up to POSENC_MAX_HEAD_DIM
 * (POSENC_ERR_HEAD_DIM), n_rot at most 256 where heads are rotated (POSENC_ERR_N_ROT), and y is x, of the same type, or
 * has no byte in common with it (POSENC_ERR_OVERLAP).
 *
 *     posenc_view k_cache = posenc_view_dense(k_blocks, POSENC_Q8_0, 128, 8, n_tokens, 1);
 *     status = posenc_rope_apply(rope, &k_cache, by_how_much, &k_cache, POSENC_SHIFT, posenc_range_all());
 *
 *     posenc_rope_params params = POSENC_ROPE_DEFAULTS;
 *     params.layout = POSENC_ROPE_HALF;
 *     params.head_dim = params.n_rot = 128;
 *     params.base = 500000.0;
 *     posenc_rope *rope;
 *     posenc_status status = posenc_rope_create(&params, &rope);
 *     ...
 *     posenc_view q = posenc_view_dense(data, POSENC_F32, 128, 32, n_tokens, 1);
 *     status = posenc_rope_apply(rope, &q, positions, &q, POSENC_FORWARD, posenc_range_all());
 *     posenc_rope_free(rope);
 */
#ifndef POSENC_ROPE_H
#define POSENC_ROPE_H

#include <posenc/angles.h>
#include <posenc/rope_scaling.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** There is no default layout: taking the wrong one gives plausible nonsense. */
typedef enum posenc_rope_layout {
    POSENC_ROPE_LAYOUT_UNSET = 0,
    POSENC_ROPE_HALF,
    POSENC_ROPE_INTERLEAVED,
    POSENC_ROPE_DEINTERLEAVE,
    POSENC_ROPE_HALF_BY_AXIS
} posenc_rope_layout;

typedef enum posenc_direction { POSENC_FORWARD = 0, POSENC_INVERSE, POSENC_BACKWARD, POSENC_SHIFT } posenc_direction;

/** Which position each pair follows, where tokens have several (FORMULAS B.20-B.23, B.26-B.31). sections[] counts
 * pairs per axis, in the order of the planes of positions. Each kind is a rule for axis and frequency of pair i; LIST
 * takes the caller's instead. FORMULAS B.33 has the numbers of published models.
 *
 *                  n_axes   which position
 *     SINGLE       0, 1     one position
 *     MROPE        2 .. 4   pairs in consecutive sections (t, h, w[, e]), Qwen2-VL; xdrope of HunyuanVL with four
 *     IMROPE       3        Qwen3-VL: h for i mod 3 = 1 and i < 3 s_h, w for i mod 3 = 2 and i < 3 s_w, else t
 *     IMROPE_GGML  4        the same, but pairs i mod 3 = 0 with i >= 3 s_t, and all that match no rule, follow the
 *                           fourth position
 *     VISION       2 .. 4   Qwen2-VL's vision tower, ggml VISION: sections[0] pairs follow h, the next sections[1] w,
 *                           and the frequencies restart for each section: base^(-2j/(n_rot/2)). ggml has four planes
 *     PIXTRAL      2        first half of the pairs follows h with theta_2j, second half w with theta_(2j+1); n_rot is
 *                           a multiple of 4 (POSENC_ERR_N_ROT), sections are not read
 *     AXIAL        2 .. 4   FLUX and others: section a is a complete rotary embedding of its own, base^(-j/sections[a])
 *     ALTERNATE    2 .. 4   MoonViT, EfficientLoFTR: pair i follows axis i mod n_axes with base^(-2j/(n_rot/n_axes)),
 *                           j = i / n_axes rounded down; n_rot is a multiple of 2 n_axes (POSENC_ERR_N_ROT), sections
 *                           are not read
 *     ERNIE        3        ERNIE-4.5-VL, planes (t, h, w): pairs i < s_h + s_w follow h where i is even and w where it
 *                           is odd, the others t; s_h = s_w. (Its mrope_section is published as h, w, t.)
 *     LIST         1 .. 4   lists.axes says it for each pair. With POSENC_ROPE_HALF_BY_AXIS sections say what is
 *                           halved, whatever axes its pairs follow; otherwise they are 0
 *
 * Sections add up to n_rot/2, and those beyond n_axes are 0, of SINGLE all; else, or with another n_axes,
 * POSENC_ERR_SECTIONS.
 */
typedef enum posenc_axes_kind {
    POSENC_AXES_SINGLE = 0,
    POSENC_AXES_MROPE,
    POSENC_AXES_IMROPE,
    POSENC_AXES_IMROPE_GGML,
    POSENC_AXES_VISION,
    POSENC_AXES_PIXTRAL,
    POSENC_AXES_AXIAL,
    POSENC_AXES_ALTERNATE,
    POSENC_AXES_ERNIE,
    POSENC_AXES_LIST
} posenc_axes_kind;

#define POSENC_MAX_AXES 4

/** Largest n_rot with more than one axis. */
#define POSENC_MAX_AXES_ROT 256

typedef struct posenc_rope_axes {
    posenc_axes_kind kind;
    int n_axes; /**< planes of positions, as above */
    int64_t sections[POSENC_MAX_AXES];
} posenc_rope_axes;

/** xPos (arXiv 2212.10554; FORMULAS B.19): pair i is multiplied by zeta_i^((p - centre)/scale_base) for queries, by its
 * inverse for keys, zeta_i = (2i/n_rot + gamma)/(1 + gamma). One rope object for queries, one for keys. Not with
 * several axes (POSENC_ERR_ENUM); SHIFT takes the centre for 0; INVERSE is refused (POSENC_ERR_ENUM). gamma or
 * scale_base out of its range: POSENC_ERR_SCALE. Where the power leaves float32's range, with the published numbers
 * some 36,000 positions from the centre, cosines and sines are infinite, or 0 on the other side; where it grows beyond
 * double's, some 290,000 from it, NaN. */
typedef enum posenc_xpos_role { POSENC_XPOS_OFF = 0, POSENC_XPOS_QUERY, POSENC_XPOS_KEY } posenc_xpos_role;

typedef struct posenc_xpos {
    posenc_xpos_role role;
    double gamma;      /**< > 0 */
    double scale_base; /**< > 0, and so large that no pair changes by more than e^32 from one position to the next */
    int32_t centre;
} posenc_xpos;

/** The rotation pair by pair, for what no name above says (FORMULAS B.26). NULL and 0: base, scaling and kind of axes
 * say it. The arrays need to live until posenc_rope_create returns. */
typedef struct posenc_rope_lists {
    const double *theta; /**< [n_rot/2]: radians per position, of either sign, taken without rounding, in place of the
                              powers of base. |theta| up to POSENC_MAX_FREQUENCY (POSENC_ERR_FREQUENCY) */
    const int32_t *axes; /**< [n_rot/2]: axis of each pair, 0 .. n_axes - 1 (POSENC_ERR_SECTIONS). LIST alone */
    double bases[POSENC_MAX_AXES]; /**< base of the pairs that follow this axis; 0: base (Cosmos: each axis of AXIAL
                                      with an NTK-aware base of its own). Not with theta (POSENC_ERR_BASE) */
} posenc_rope_lists;

typedef struct posenc_rope_params {
    posenc_rope_layout layout;
    int64_t head_dim;    /**< channels per head, 1 .. 2*POSENC_MAX_PAIRS */
    int64_t n_rot;       /**< channels that are rotated: even, up to head_dim - n_offs; 0: rot_fraction says it */
    int64_t n_offs;      /**< first rotated channel */
    double base;         /**< finite, in [1, 1e30] */
    double rot_fraction; /**< in (0, 1]: when n_rot is 0, rotate floor(rot_fraction * head_dim) channels, which must be
                            even, with POSENC_SCALING_PROPORTIONAL all of them; 0: none when n_rot is 0 */
    posenc_rope_scaling scaling; /**< rope_scaling.h; of the axes that restart their frequencies, VISION takes GGML
                                    alone, AXIAL and ALTERNATE none and no freq_factors; nor do lists.theta and
                                    lists.bases (POSENC_ERR_SCALING). A magnitude goes with all */
    posenc_rope_axes axes;
    posenc_xpos xpos;
    posenc_rope_lists lists;
    double local_base; /**< base of layers with local attention, where a model has two ropes; 0: it has one. Not read by
                          posenc_rope_create: posenc_rope_local_params */
} posenc_rope_params;

#define POSENC_ROPE_DEFAULTS                                                                                           \
    {                                                                                                                  \
        POSENC_ROPE_LAYOUT_UNSET, 0, 0, 0, 10000.0, 1.0, POSENC_ROPE_SCALING_DEFAULTS,                                 \
            {POSENC_AXES_SINGLE, 0, {0, 0, 0, 0}}, {POSENC_XPOS_OFF, 0.4, 512.0, 0},                                   \
            {NULL, NULL, {0.0, 0.0, 0.0, 0.0}}, 0.0                                                                    \
    }

/** Parameters of the layers with local attention: local_base and no scaling, as Gemma 3 and ModernBERT have them; where
 * local_base is 0, params. */
static inline posenc_rope_params posenc_rope_local_params(const posenc_rope_params *params) {
    const posenc_rope_scaling none = POSENC_ROPE_SCALING_DEFAULTS;
    posenc_rope_params local = *params;
    if (params->local_base != 0.0) {
        local.base = params->local_base;
        local.scaling = none;
    }
    return local;
}

typedef struct posenc_rope posenc_rope;

/** Checks the parameters and builds the tables. On failure *rope is set to NULL. */
POSENC_API posenc_status posenc_rope_create(const posenc_rope_params *params, posenc_rope **rope);

/** Frees it; NULL is allowed. */
POSENC_API void posenc_rope_free(posenc_rope *rope);

/** Number of pairs; 0 if rope is NULL. */
POSENC_API int64_t posenc_rope_pair_count(const posenc_rope *rope);
/** Frequency of pair i, rounded to double; 0 if there is none. */
POSENC_API double posenc_rope_theta(const posenc_rope *rope, int64_t i);
/** Axis of pair i; 0 if there is none. */
POSENC_API int posenc_rope_axis(const posenc_rope *rope, int64_t i);
/** Number of planes of positions; 0 if rope is NULL. */
POSENC_API int posenc_rope_axis_count(const posenc_rope *rope);

/** The factor on cosine and sine that the scaling asks for (YaRN, LongRoPE, ggml); 1 without. NaN when rope is NULL. */
POSENC_API double posenc_rope_magnitude(const posenc_rope *rope);

/** Rotates the rows of x into y. Each token's cosines and sines are made once and serve all its heads. */
POSENC_API posenc_status posenc_rope_apply(const posenc_rope *rope, const posenc_view *x, const int32_t *positions,
                                           const posenc_view *y, posenc_direction direction, posenc_range rows);

/** posenc_rope_apply at positions of any type and stride: int32 and int64, in the range of int32; float32 and float64,
 * for patches between grid points and for time in seconds (FORMULAS B.26, B.28). Positions of all tokens are checked,
 * whatever the rows (POSENC_ERR_POSITION). Real positions that are no integers have nothing to share: rows of them take
 * as long as those of single, non-consecutive ones.
 *
 *     posenc_coords at = {positions, POSENC_COORD_I64, 0, n_tokens};     // position_ids, [n_batch][n_tokens]
 *     posenc_coords patches = posenc_coords_of(yx, POSENC_COORD_F32);    // [2][n_patches], shared by the batch
 */
POSENC_API posenc_status posenc_rope_apply_at(const posenc_rope *rope, const posenc_view *x, const posenc_coords *at,
                                              const posenc_view *y, posenc_direction direction, posenc_range rows);

/* ---- Tables: cos and sin computed once for a batch of tokens, used by Q and K of every layer ---- */

/** Rows of n_pairs cosines and sines in float32. Value i of token t stands at cos[t*row_stride + i*step] and
 * sin[t*row_stride + i*step]; row_stride in floats. step 1: separate planes, or [cos | sin] rows with sin = cos +
 * n_pairs. step 2: interleaved pairs, sin = cos + 1 (complex64 rows) or cos = sin + 1. How many rows there are is
 * not said, and not checked: as many as the call has tokens, or keys.
 *
 * per_channel: n_rot values in place of n_pairs, one for each rotated channel, in the order of the channels: the rows
 * of `x * cos + rotate_half(x) * sin`, where the two channels a and b of a pair may turn by different angles (V-JEPA 2,
 * the token2wav of Qwen2.5-Omni):
 *
 *     FORWARD     y_a = x_a cos_a - x_b sin_a = fma(x_a, cos_a, -(x_b * sin_a))
 *                 y_b = x_b cos_b + x_a sin_b = fma(x_b, cos_b, x_a * sin_b)
 *     BACKWARD    the transpose of that: y_a = fma(x_a, cos_a, x_b * sin_b), y_b = fma(x_b, cos_b, -(x_a * sin_a))
 *
 * Where both channels have the same values, the bits are those of the table with an entry for each pair. INVERSE and
 * SHIFT are refused (POSENC_ERR_ENUM): the transpose takes such a rotation back only where the angles are equal. So are
 * DEINTERLEAVE, filling the table and attention's k_table (POSENC_ERR_ENUM), and step 2 (POSENC_ERR_STRIDE). */
typedef struct posenc_rope_table {
    float *cos, *sin;
    int64_t row_stride;
    int64_t step;
    int per_channel; /**< 0: values are of pairs; 1: of channels */
} posenc_rope_table;

/** Bytes of a dense table for n_tokens tokens; 0 if rope is NULL, or n_tokens negative or above 2^31 - 1. */
POSENC_API int64_t posenc_rope_table_bytes(const posenc_rope *rope, int64_t n_tokens);

/** A dense table of [cos | sin] rows in memory of that many bytes, at least float-aligned. */
POSENC_API posenc_rope_table posenc_rope_table_dense(const posenc_rope *rope, float *memory);

/** Fills the table, with the magnitude of the direction: m for FORWARD and BACKWARD, 1/m for INVERSE, 1 for SHIFT.
 * positions are planes [n_axes][n_tokens] of these tokens: a thread that fills a part of a table of several axes needs
 * planes of its own tokens. */
POSENC_API posenc_status posenc_rope_table_fill(const posenc_rope *rope, const int32_t *positions, int64_t n_tokens,
                                                posenc_direction direction, const posenc_rope_table *table);

/** The same at positions of any type and stride, for one sequence, so batch_stride may be 0. What a table holds has the
 * bits of posenc_rope_apply_at, and serves posenc_rope_apply_tensors too. */
POSENC_API posenc_status posenc_rope_table_fill_at(const posenc_rope *rope, const posenc_coords *at, int64_t n_tokens,
                                                   posenc_direction direction, const posenc_rope_table *table);

/** posenc_rope_apply with the rows of a table, ours or the caller's own (per-element angles, learned frequencies). With
 * a table filled for the same direction the result has the same bits; SHIFT skips no token here. */
POSENC_API posenc_status posenc_rope_apply_table(const posenc_rope *rope, const posenc_view *x,
                                                 const posenc_rope_table *table, const posenc_view *y,
                                                 posenc_direction direction, posenc_range rows);

/* ---- Fused: several tensors of the same tokens, with what stands around the rotation ---- */

/** One tensor of a fused call. x is [head_dim, n_heads, n_tokens, 1]; each has the same n_tokens, its own heads,
 * strides and types, so Q and K may be slices of one packed QKV tensor. */
typedef struct posenc_rope_tensor {
    posenc_view x;
    posenc_view y; /**< [head_dim, n_heads, n_tokens or cache rows, 1]; Q8_0 and Q4_0 too, as above */
    int rotates;   /**< 0: only what the other fields say (V on its way to the cache) */
    float scale;   /**< the result is multiplied by it: 1, or the softmax scale into Q; finite, not 0 */
    const float
        *weight; /**< [head_dim]: RMS-norm of each head, x / sqrt(mean(x^2) + eps) * weight, before the rotation;
                            NULL: none, unless `norms`. n_rot up to 256. The weights are multiplied into the cosines
                            and sines. */
    float eps;   /**< >= 0 */
    const int32_t *rows32; /**< token t goes to row rows32[t] of y (its ne[2]): scatter into a cache; NULL: to row t */
    const int64_t *rows64; /**< the same as int64; at most one of the two */
    int64_t hadamard; /**< n of posenc_hadamard, which the result goes through in float32, before it is rounded to y's
                         type or quantised; 0: it does not. head_dim up to POSENC_MAX_HEAD_DIM, n_rot up to 256 */
    int norms;        /**< 1: the RMS-norm without weight (V of Gemma 4), with the bits of weights of 1. head_dim
                    up to POSENC_MAX_HEAD_DIM (POSENC_ERR_HEAD_DIM). Not read where there is a weight */
} posenc_rope_tensor;

/** Rotates several tensors of the same tokens in one pass, from one set of cosines and sines. positions, or table if
 * positions is NULL; both may be NULL if none rotates. A row, for row ranges, is one head: row = token * (heads of all
 * together) + head, tensors in order. The output of one must overlap neither another's output nor another's input,
 * which is not checked. Tokens of one call that name the same cache row must not be split between threads. Nothing is
 * written unless all are acceptable. */
POSENC_API posenc_status posenc_rope_apply_tensors(const posenc_rope *rope, const posenc_rope_tensor *tensors,
                                                   int64_t n_tensors, const int32_t *positions,
                                                   const posenc_rope_table *table, posenc_direction direction,
                                                   posenc_range rows);

/** Converts quantised heads to numbers: each is its integer times its block's scale, exact in float32, rounded once to
 * another type. x: Q8_0 or Q4_0 (POSENC_ERR_DTYPE), y: f32, f16 or bf16, of the same extents [head_dim, n_heads,
 * n_tokens, n_batch], with no byte in common. head_dim is a multiple of 32 (POSENC_ERR_SHAPE). Rows as for
 * posenc_rope_apply, which quantises (n_rot 0: without rotation). */
POSENC_API posenc_status posenc_dequantise(const posenc_view *x, const posenc_view *y, posenc_range rows);

/* ---- Hadamard transform: what makes heads easier to quantise ----
 *
 * It spreads single large channels over all, so that blocks of Q4_0 and Q8_0 lose less. q and k go through it with the
 * same n, which leaves q.k as it was, and v does on its way into the cache; attention's output goes through it once
 * more and is what it would have been (QuaRot, arXiv 2404.00456).
 *
 *     posenc_view k_cache = posenc_view_dense(k_blocks, POSENC_Q8_0, 128, 8, n_context, 1);
 *     posenc_view v_cache = posenc_view_dense(v_blocks, POSENC_Q4_0, 128, 8, n_context, 1);
 *     posenc_rope_tensor tensors[] = {
 *         {.x = q, .y = q, .rotates = 1, .scale = 1.0f, .hadamard = 128},
 *         {.x = k, .y = k_cache, .rotates = 1, .scale = 1.0f, .rows32 = slots, .hadamard = 128},
 *         {.x = v, .y = v_cache, .scale = 1.0f, .rows32 = slots, .hadamard = 128},
 *     };
 *     posenc_status status =
 *         posenc_rope_apply_tensors(rope, tensors, 3, positions, NULL, POSENC_FORWARD, posenc_range_all());
 *     ...
 *     status = posenc_hadamard(&out, &out, 128, posenc_range_all());
 */

#define POSENC_MAX_HADAMARD 512

/** Multiplies each n channels of every head by H_n / sqrt(n), where H_1 = 1 and H_2n = [[H_n, H_n], [H_n, -H_n]]: it is
 * its own inverse. n: a power of two, 2 .. POSENC_MAX_HADAMARD, that divides head_dim (POSENC_ERR_SHAPE). x, y:
 * [head_dim, n_heads, n_tokens, n_batch], each f32, f16 or bf16, head_dim up to POSENC_MAX_HEAD_DIM
 * (POSENC_ERR_HEAD_DIM); y is the view of x or does not overlap it. Rows as for posenc_rope_apply.
 *
 * In float32: for the distances 1, 2 .. n/2, channels i and i + distance become their sum and their difference; then
 * each is multiplied by n^(-1/2), rounded to float32, and last rounded to y's type. So each channel is within
 * (log2 n + 2) 2^-24 n^(-1/2) sum |x| of the exact one, as long as sum |x| over the n channels is at most FLT_MAX, and
 * within 2^-149 more where it is denormal. What is not finite makes all n channels infinite or NaN. */
POSENC_API posenc_status posenc_hadamard(const posenc_view *x, const posenc_view *y, int64_t n, posenc_range rows);

#ifdef __cplusplus
}
#endif
#endif
