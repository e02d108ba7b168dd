/* SPDX-License-Identifier: MIT */
/** @file
 * Rotary position embedding (RoPE; RoFormer, arXiv:2104.09864; FORMULAS part B).
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

POSENC_BEGIN_C

/** Channels of rotary pair i, counted from n_offs. There is no default. */
typedef enum posenc_rope_layout {
    POSENC_ROPE_LAYOUT_UNSET = 0,
    POSENC_ROPE_HALF,         /**< i, i + n_rot/2: GPT-NeoX, Hugging Face Llama, ggml NEOX */
    POSENC_ROPE_INTERLEAVED,  /**< 2i, 2i + 1: GPT-J, RoFormer, original Llama, ggml NORMAL */
    POSENC_ROPE_DEINTERLEAVE, /**< INTERLEAVED to HALF: DeepSeek in Hugging Face (B.4). FORWARD only
                                   (POSENC_ERR_ENUM), not in place (POSENC_ERR_OVERLAP) */
    POSENC_ROPE_HALF_BY_AXIS  /**< HALF inside each section: Gemma 4's vision tower (B.29). MROPE, VISION, AXIAL,
                                   LIST with sections (POSENC_ERR_SECTIONS) */
} posenc_rope_layout;

/** Direction: R rotates by the positions, m is the magnitude of the scaling. */
typedef enum posenc_direction {
    POSENC_FORWARD,  /**< m R */
    POSENC_INVERSE,  /**< 1/m R^T: undoes FORWARD */
    POSENC_BACKWARD, /**< m R^T: gradient dx of dy (E.3) */
    POSENC_SHIFT     /**< R: context shift of rotated rows (B.8); tokens at position 0 stay */
} posenc_direction;

/** Number of axes, and rule for the axis of each rotary pair (B.20-B.33). Sections add up to n_rot/2
 * (POSENC_ERR_SECTIONS). */
typedef enum posenc_axes_kind {
    POSENC_AXES_SINGLE,      /**< 0 or 1; no sections */
    POSENC_AXES_MROPE,       /**< 2..4: sections in a row: Qwen2-VL, HunyuanVL */
    POSENC_AXES_IMROPE,      /**< 3: interleaved: Qwen3-VL */
    POSENC_AXES_IMROPE_GGML, /**< 4: ggml's form */
    POSENC_AXES_VISION,      /**< 2..4: frequencies restart: Qwen2-VL's vision tower */
    POSENC_AXES_PIXTRAL,     /**< 2: no sections; n_rot % 4 == 0 */
    POSENC_AXES_AXIAL,       /**< 2..4: each section is a RoPE of its own: FLUX */
    POSENC_AXES_ALTERNATE,   /**< 2..4: axis i mod n_axes: MoonViT; no sections; n_rot % (2 n_axes) == 0 */
    POSENC_AXES_ERNIE,       /**< 3: (t, h, w): ERNIE-4.5-VL, which publishes h, w, t */
    POSENC_AXES_LIST         /**< 1..4: lists.axes; sections only for POSENC_ROPE_HALF_BY_AXIS */
} posenc_axes_kind;

#define POSENC_MAX_AXES 4

#define POSENC_MAX_AXES_ROT 256 /**< largest n_rot with several axes */

typedef struct posenc_rope_axes {
    posenc_axes_kind kind;
    int n_axes; /**< planes of positions */
    int64_t sections[POSENC_MAX_AXES];
} posenc_rope_axes;

/** xPos (arXiv:2212.10554; B.19): a rope for queries and one for keys. Refused: several axes, INVERSE
 * (POSENC_ERR_ENUM). float32 overflows some 36,000 positions from the centre. */
typedef enum posenc_xpos_role { POSENC_XPOS_OFF, POSENC_XPOS_QUERY, POSENC_XPOS_KEY } posenc_xpos_role;

typedef struct posenc_xpos {
    posenc_xpos_role role;
    double gamma;      /**< > 0 */
    double scale_base; /**< > 0; growth at most e^32 per position */
    int32_t centre;
} posenc_xpos;

/** Frequencies and axes by pair (B.26). NULL, 0: absent. The arrays must live until posenc_rope_create returns. */
typedef struct posenc_rope_lists {
    const double *theta;           /**< [n_rot/2], radians per position, up to POSENC_MAX_FREQUENCY in size */
    const int32_t *axes;           /**< [n_rot/2], 0 .. n_axes - 1 (POSENC_ERR_SECTIONS); LIST only */
    double bases[POSENC_MAX_AXES]; /**< of each axis (Cosmos); 0: base. Not with theta */
} posenc_rope_lists;

/** Channels x0, x1 of pair i at position p become m (x0 cos a - x1 sin a), m (x1 cos a + x0 sin a); a = p theta_i.
 * **Begin with POSENC_ROPE_DEFAULTS: zeros in their place are values.** */
typedef struct posenc_rope_params {
    posenc_rope_layout layout;
    int64_t head_dim;            /**< channels per head, 1..2*POSENC_MAX_PAIRS */
    int64_t n_rot;               /**< rotated channels: even, up to head_dim - n_offs; **0: all**, or rot_fraction */
    int64_t n_offs;              /**< first rotated channel */
    double base;                 /**< in [1, 1e30] */
    double rot_fraction;         /**< n_rot is floor(rot_fraction * head_dim) if it is 0 (PROPORTIONAL: all); 0: none,
                                      after POSENC_ROPE_DEFAULTS alone (POSENC_ERR_UNSET) */
    posenc_rope_scaling scaling; /**< VISION: GGML only; AXIAL, ALTERNATE, lists: magnitude only */
    posenc_rope_axes axes;
    posenc_xpos xpos;
    posenc_rope_lists lists;
    double local_base; /**< for posenc_rope_local_params; 0: none */
} posenc_rope_params;

#define POSENC_ROPE_DEFAULTS                                                                                           \
    {                                                                                                                  \
        POSENC_ROPE_LAYOUT_UNSET, 0, 0, 0, 10000.0, 1.0, POSENC_ROPE_SCALING_DEFAULTS,                                 \
            {POSENC_AXES_SINGLE, 0, {0, 0, 0, 0}}, {POSENC_XPOS_OFF, 0.4, 512.0, 0},                                   \
            {NULL, NULL, {0.0, 0.0, 0.0, 0.0}}, 0.0                                                                    \
    }

/** Parameters of local-attention layers (Gemma 3, ModernBERT): local_base without scaling, if set. */
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

POSENC_API posenc_status posenc_rope_create(const posenc_rope_params *params, posenc_rope **rope);

POSENC_API void posenc_rope_free(posenc_rope *rope);

POSENC_API int64_t posenc_rope_pair_count(const posenc_rope *rope);
POSENC_API int posenc_rope_axis_count(const posenc_rope *rope);
/** Frequency of pair i, rounded to double, and its axis. */
POSENC_API double posenc_rope_theta(const posenc_rope *rope, int64_t i);
POSENC_API int posenc_rope_axis(const posenc_rope *rope, int64_t i);

/** Magnitude of the scaling, on cosine and sine; NaN if rope is NULL. */
POSENC_API double posenc_rope_magnitude(const posenc_rope *rope);

/** Rotates x into y.
 *
 *     x           heads, any type or blocks
 *     at          positions (B.26, B.28); all are checked. Example:
 *                 {positions, POSENC_COORD_I64, 0, n_tokens} for position_ids [n_batch][n_tokens]
 *     y           heads, any type or blocks; the view of x, or apart (other channels are copied)
 *
 * **Not seen: a view unlike its memory (posenc_view).**
 *
 * Quantised y has the bytes of ggml's quantize_row_*_ref; a block with a value that is not finite reads as NaN.
 * Quantised heads: head_dim up to POSENC_MAX_HEAD_DIM, of blocks a multiple of 32; n_rot <= 256. POSENC_SHIFT in place
 * shifts a quantised K cache: heads shifted by 0 keep their bytes, others are rounded once more. */
POSENC_API posenc_status posenc_rope_apply_at(const posenc_rope *rope, const posenc_view *x, const posenc_coords *at,
                                              const posenc_view *y, posenc_direction direction, posenc_range rows);

/** Rotates x into y at int32 planes [n_axes][n_tokens], shared by the batch. */
static inline posenc_status posenc_rope_apply(const posenc_rope *rope, const posenc_view *x, const int32_t *positions,
                                              const posenc_view *y, posenc_direction direction, posenc_range rows) {
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    return posenc_rope_apply_at(rope, x, &at, y, direction, rows);
}

/* ---- Tables: computed once, used by Q and K of every layer ---- */

/** cos/sin table in float32: cos[t*row_stride + i*step], sin[t*row_stride + i*step] for pair i of each token t (or key)
 * of the call. */
typedef struct posenc_rope_table {
    float *cos, *sin;
    int64_t row_stride; /**< in floats */
    int64_t step;       /**< 1: planes, or rows [cos | sin]; 2: interleaved, sin = cos + 1 (complex64) or cos - 1 */
    /** 1: n_rot values in the order of the channels, as `x * cos + rotate_half(x) * sin` (V-JEPA 2). Refused with it:
     * INVERSE, SHIFT, DEINTERLEAVE, filling, k_table (POSENC_ERR_ENUM), step 2. 0: a value for each pair */
    int per_channel;
} posenc_rope_table;

/** Bytes of a dense table; 0 if n_tokens is not in 0 .. 2^31 - 1. */
static inline int64_t posenc_rope_table_bytes(const posenc_rope *rope, int64_t n_tokens) {
    return n_tokens < 0 || n_tokens > INT32_MAX ? 0
                                                : 2 * (int64_t)sizeof(float) * posenc_rope_pair_count(rope) * n_tokens;
}

/** Dense table of [cos | sin] rows in memory, aligned as floats. */
static inline posenc_rope_table posenc_rope_table_dense(const posenc_rope *rope, float *memory) {
    int64_t n_pairs = posenc_rope_pair_count(rope);
    posenc_rope_table table = {memory, memory == NULL ? NULL : memory + n_pairs, 2 * n_pairs, 1, 0};
    return table;
}

/** Fills a table with the magnitude of the direction, at positions of one sequence, or planes [n_axes][n_tokens] of
 * these tokens alone. */
POSENC_API posenc_status posenc_rope_table_fill_at(const posenc_rope *rope, const posenc_coords *at, int64_t n_tokens,
                                                   posenc_direction direction, const posenc_rope_table *table);
static inline posenc_status posenc_rope_table_fill(const posenc_rope *rope, const int32_t *positions, int64_t n_tokens,
                                                   posenc_direction direction, const posenc_rope_table *table) {
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    return posenc_rope_table_fill_at(rope, &at, n_tokens, direction, table);
}

/** Rotates x into y by any table. One filled for the same direction gives the bits of posenc_rope_apply; SHIFT skips no
 * token. **A table of another rope is not seen**, unless its rows are too short (POSENC_ERR_STRIDE) or, read as this
 * rope's, overlap (POSENC_ERR_OVERLAP). */
POSENC_API posenc_status posenc_rope_apply_table(const posenc_rope *rope, const posenc_view *x,
                                                 const posenc_rope_table *table, const posenc_view *y,
                                                 posenc_direction direction, posenc_range rows);

/* ---- Fused: norm, rotation and cache write of several tensors ---- */

/** One tensor of a fused call. */
typedef struct posenc_rope_tensor {
    posenc_view x; /**< [head_dim, n_heads, n_tokens, 1] */
    posenc_view y; /**< [head_dim, n_heads, n_tokens or cache rows, 1] */
    int rotates;   /**< 0: no rotation (V) */
    float scale;   /**< factor on the result, not 0: 1, or the softmax scale for Q */
    /** [head_dim]: RMS-norm of each head before the rotation; n_rot up to 256. NULL: none, unless `norms` */
    const float *weight;
    float eps;             /**< >= 0 */
    const int32_t *rows32; /**< cache row of token t (ne[2] of y); NULL: t */
    const int64_t *rows64; /**< the same; at most one of the two */
    /** n of posenc_hadamard, before the result is rounded; 0: none. n_rot up to 256 */
    int64_t hadamard;
    int norms; /**< 1: RMS-norm without weight (V of Gemma 4) */
} posenc_rope_tensor;

/** Without norm, scatter or transform. */
static inline posenc_rope_tensor posenc_rope_tensor_of(posenc_view x, posenc_view y, int rotates, float scale) {
    posenc_rope_tensor tensor = {x, y, rotates, scale, NULL, 0.0f, NULL, NULL, 0, 0};
    return tensor;
}

/** Rotates tensors in one pass, by positions, or by table if positions is NULL. Staged heads (hadamard, norms,
 * quantised y): head_dim up to POSENC_MAX_HEAD_DIM. row = token * (heads of all tensors) + head. **Outputs over
 * other tensors: not seen.** Tokens of one cache row belong in one thread. */
POSENC_API posenc_status posenc_rope_apply_tensors(const posenc_rope *rope, const posenc_rope_tensor *tensors,
                                                   int64_t n_tensors, const int32_t *positions,
                                                   const posenc_rope_table *table, posenc_direction direction,
                                                   posenc_range rows);

/** Dequantises heads. x: blocks (POSENC_ERR_DTYPE). y: f32, f16 or bf16, apart. posenc_rope_apply with n_rot 0
 * quantises. */
POSENC_API posenc_status posenc_dequantise(const posenc_view *x, const posenc_view *y, posenc_range rows);

/* ---- Hadamard transform, for quantisation (QuaRot, arXiv:2404.00456) ----
 *
 * For q and k, for v before the cache, once more for attention's output: docs/recipes.md. */

#define POSENC_MAX_HADAMARD 512

/** Multiplies each n channels of every head by H_n / sqrt(n), its own inverse. n: a power of two,
 * 2..POSENC_MAX_HADAMARD, that divides head_dim. x, y: heads, any type, the same view or apart, head_dim up to
 * POSENC_MAX_HEAD_DIM. */
POSENC_API posenc_status posenc_hadamard(const posenc_view *x, const posenc_view *y, int64_t n, posenc_range rows);

POSENC_END_C
#endif
