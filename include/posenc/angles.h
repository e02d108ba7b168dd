/* SPDX-License-Identifier: MIT */
/** @file
 * The angle engine: frequency tables, and cos/sin rows that are right at any position.
 *
 * A frequency table holds theta_i, radians per position, for n pairs of channels. A row is cos(p theta_i)
 * and sin(p theta_i), i = 0 .. n-1, for one int32 position p.
 *
 * Accuracy: for every int32 position and every frequency of at most POSENC_MAX_FREQUENCY, each value is
 * within 1 ulp of the true cosine or sine (or within 2^-45, where that is larger: next to zeros).
 * "True" is the function of the exact product p * theta_i. For tables made from a base, theta_i itself is
 * the exact power, not its float32 or float64 rounding.
 *
 * How: a position is p = p0 + 32 j + k with p0 a multiple of 1024, j and k from -16 to 15. The phase
 * p0 * theta_i / pi is reduced in double-double, its cosine and sine come from SLEEF in double, and
 * complex products with the tabulated angles 32 j * theta_i and k * theta_i, then one rounding, give the
 * row. So consecutive positions cost a multiplication each. The way depends on the position alone, hence
 * so do the bits.
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

#ifdef __cplusplus
extern "C" {
#endif

/** Largest |theta| accepted, radians per position. */
#define POSENC_MAX_FREQUENCY 65536.0

/** Largest number of pairs in one table. */
#define POSENC_MAX_PAIRS (1 << 20)

/** A frequency table: immutable, to be shared by threads and layers. Some 570 bytes per pair. */
typedef struct posenc_freq posenc_freq;

/** Builds a frequency table from a base. theta_i = base^(-2i/dim), i = 0 .. dim/2-1 (RoFormer, arXiv 2104.09864;
 * FORMULAS B.1), exact to about 30 digits. dim: even, 0 .. 2*POSENC_MAX_PAIRS (POSENC_ERR_HEAD_DIM); base: finite, in
 * [1, 1e30] (POSENC_ERR_BASE). On failure *freq is set to NULL. */
POSENC_API posenc_status posenc_freq_create(double base, int64_t dim, posenc_freq **freq);

/** Builds a frequency table from given frequencies. The caller's own frequencies, theta[0 .. n-1], radians per
 * position, taken as exact. On failure *freq is set to NULL. */
POSENC_API posenc_status posenc_freq_create_values(const double *theta, int64_t n, posenc_freq **freq);

/** Frees the table; NULL is allowed. */
POSENC_API void posenc_freq_free(posenc_freq *freq);

/** Number of pairs of the table; 0 if NULL. */
POSENC_API int64_t posenc_freq_count(const posenc_freq *freq);
/** Frequency of pair i in radians per position, rounded to double; 0 outside the table. */
POSENC_API double posenc_freq_theta(const posenc_freq *freq, int64_t i);

/** Computes rows of cosines and sines. Row t: cos_rows[t*row_stride + i], sin_rows[t*row_stride + i] for positions[t],
 * t = 0 .. n_positions-1. row_stride, in floats, is at least the number of pairs; neither it nor n_positions is above
 * INT32_MAX. What lies between the rows is not touched. The two outputs may be interleaved by rows (cos | sin), but
 * must not overlap (POSENC_ERR_OVERLAP). */
POSENC_API posenc_status posenc_angle_rows(const posenc_freq *freq, const int32_t *positions, int64_t n_positions,
                                           float *cos_rows, float *sin_rows, int64_t row_stride);

/* ---- Positions (coordinates) of tokens, of any type ---- */

/** Positions of the tokens, of any type that the encoding takes: integers always, within int32 unless it says
 * otherwise; real numbers where it says so (RoPE always, rope.h), finite and of magnitude up to 2^31. A real position
 * is not rounded, and its results are as accurate as an integer's; one with the value of an integer gives the bits of
 * that integer. Another type is POSENC_ERR_DTYPE, a value out of range POSENC_ERR_POSITION, an unknown type
 * POSENC_ERR_ENUM. */
typedef enum posenc_coord_type {
    POSENC_COORD_I32 = 0,
    POSENC_COORD_I64,
    POSENC_COORD_F32,
    POSENC_COORD_F64
} posenc_coord_type;

/** The position on `axis` of token t in batch b is data[b * batch_stride + axis * axis_stride + t]. */
typedef struct posenc_coords {
    const void *data;
    posenc_coord_type type;
    int64_t axis_stride;  /**< in elements; 0: n_tokens, planes one behind the other */
    int64_t batch_stride; /**< in elements; 0: the batch shares its coordinates */
} posenc_coords;

static inline posenc_coords posenc_coords_of(const void *data, posenc_coord_type type) {
    posenc_coords coords = {data, type, 0, 0};
    return coords;
}

/* ---- Arrays of positions (FORMULAS A.23). Nothing is written when a call is refused. ---- */

/** Consecutive positions. positions[t] = start + t, t < n. */
POSENC_API posenc_status posenc_positions_range(int32_t start, int64_t n, int32_t *positions);

/** Packed sequences: tokens cu_seqlens[s] .. cu_seqlens[s+1]-1 count up from starts[s] (NULL: from 0). cu_seqlens has
 * n_sequences + 1 non-decreasing entries, the first 0. */
POSENC_API posenc_status posenc_positions_packed(const int32_t *cu_seqlens, const int32_t *starts, int64_t n_sequences,
                                                 int32_t *positions);

/** Padding masks [n_batch][n_tokens], not 0 for a real token: real tokens of each batch count up from start, the others
 * get pad_value. Hugging Face decoders with left padding: start 0, any pad_value; RoBERTa and fairseq: start 2,
 * pad_value 1; OPT: start 0, pad_value -1, and a table with offset 2. posenc_rope_apply takes a row of these for one
 * sequence; all of them for the tokens of all sequences, one behind the other, as one. */
POSENC_API posenc_status posenc_positions_masked(const uint8_t *mask, int64_t n_tokens, int64_t n_batch, int32_t start,
                                                 int32_t pad_value, int32_t *positions);

/** Packed documents: positions count from 0 and restart where document[t] differs from document[t-1]. */
POSENC_API posenc_status posenc_positions_documents(const int32_t *document, int64_t n_tokens, int32_t *positions);

/** A grid, last axis fastest: planes[a * n + t] is the coordinate of token t on axis a, n = sizes[0] * .. *
 * sizes[n_axes-1] up to 2^31 - 1 tokens. n_axes 1 .. 4 (POSENC_ERR_SECTIONS). */
POSENC_API posenc_status posenc_positions_grid(const int64_t *sizes, int n_axes, int32_t *planes);

#ifdef __cplusplus
}
#endif
#endif
