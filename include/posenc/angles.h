/* SPDX-License-Identifier: MIT */
/** @file
 * Frequency tables, cos/sin tables that are exact at any position, and arrays of positions.
 *
 * A table row holds cos(p theta_i) and sin(p theta_i), i = 0..n-1, within 1 ulp at every int32 position p.
 *
 *     posenc_freq *freq;
 *     if (posenc_freq_create(500000.0, 128, &freq) == POSENC_OK) {
 *         int32_t positions[2] = {7, 1000000};
 *         float cos_rows[2][64], sin_rows[2][64];
 *         posenc_angle_rows(freq, positions, 2, &cos_rows[0][0], &sin_rows[0][0], 64);
 *         posenc_freq_free(freq);
 *     }
 */
#ifndef POSENC_ANGLES_H
#define POSENC_ANGLES_H

#include <posenc/types.h>

POSENC_BEGIN_C

/** Largest |theta|, radians per position. */
#define POSENC_MAX_FREQUENCY 65536.0

/** Most pairs of a table. */
#define POSENC_MAX_PAIRS (1 << 20)

typedef struct posenc_freq posenc_freq;

/** Builds theta_i = base^(-2i/dim), i = 0 .. dim/2-1 (RoFormer, arXiv:2104.09864; B.1). dim: even, 0 ..
 * 2*POSENC_MAX_PAIRS. base: in [1, 1e30]. */
POSENC_API posenc_status posenc_freq_create(double base, int64_t dim, posenc_freq **freq);

/** Builds a table from theta[n], taken as exact. */
POSENC_API posenc_status posenc_freq_create_values(const double *theta, int64_t n, posenc_freq **freq);

POSENC_API void posenc_freq_free(posenc_freq *freq);

POSENC_API int64_t posenc_freq_count(const posenc_freq *freq);
/** Frequency of pair i, rounded to double; 0 outside the table. */
POSENC_API double posenc_freq_theta(const posenc_freq *freq, int64_t i);

/** Writes cos_rows[t*row_stride + i] and sin_rows[t*row_stride + i] for positions[t]. row_stride: in floats, at least
 * the number of pairs; it and n_positions are at most INT32_MAX. The outputs may be interleaved by rows but not
 * overlap. */
POSENC_API posenc_status posenc_angle_rows(const posenc_freq *freq, const int32_t *positions, int64_t n_positions,
                                           float *cos_rows, float *sin_rows, int64_t row_stride);

/* ---- Positions of any type ---- */

/** Type of positions. Integers are within int32 unless a call says otherwise. Real numbers, where taken (RoPE: always),
 * are finite, up to 2^31 in size and not rounded. Refused: POSENC_ERR_DTYPE (type), POSENC_ERR_POSITION (value). */
typedef enum posenc_coord_type {
    POSENC_COORD_I32,
    POSENC_COORD_I64,
    POSENC_COORD_F32,
    POSENC_COORD_F64
} posenc_coord_type;

/** Position of token t of batch b: data[b * batch_stride + axis * axis_stride + t]. */
typedef struct posenc_coords {
    const void *data;
    posenc_coord_type type;
    int64_t axis_stride;  /**< in elements; 0: n_tokens (dense planes) */
    int64_t batch_stride; /**< in elements; 0: all batches share their positions */
} posenc_coords;

static inline posenc_coords posenc_coords_of(const void *data, posenc_coord_type type) {
    posenc_coords coords = {data, type, 0, 0};
    return coords;
}

/* ---- Arrays of positions (A.23) ---- */

/** Consecutive positions: positions[t] = start + t, t < n. */
POSENC_API posenc_status posenc_positions_range(int32_t start, int64_t n, int32_t *positions);

/** Packed sequences: tokens cu_seqlens[s] .. cu_seqlens[s+1]-1 count up from starts[s] (NULL: 0). cu_seqlens:
 * n_sequences + 1 entries, ascending from 0. */
POSENC_API posenc_status posenc_positions_packed(const int32_t *cu_seqlens, const int32_t *starts, int64_t n_sequences,
                                                 int32_t *positions);

/** Padding masks [n_batch][n_tokens]: real tokens (nonzero) count up from start, others get pad_value. Hugging Face
 * decoders: start 0. RoBERTa: 2, pad_value 1. OPT: 0, pad_value -1, table offset 2. */
POSENC_API posenc_status posenc_positions_masked(const uint8_t *mask, int64_t n_tokens, int64_t n_batch, int32_t start,
                                                 int32_t pad_value, int32_t *positions);

/** Packed documents: counts from 0, restarting where document[t] differs from document[t-1]. */
POSENC_API posenc_status posenc_positions_documents(const int32_t *document, int64_t n_tokens, int32_t *positions);

/** Grid, last axis fastest: planes[a * n + t] is coordinate a of token t of n, the product of sizes[n_axes]. n_axes:
 * 1..4. */
POSENC_API posenc_status posenc_positions_grid(const int64_t *sizes, int n_axes, int32_t *planes);

POSENC_END_C
#endif
