/* posenc/position_ids.h - arrays of positions (FORMULAS A.23). Nothing is written when a call is refused. */
#ifndef POSENC_POSITION_IDS_H
#define POSENC_POSITION_IDS_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* positions[t] = start + t, t < n. */
POSENC_API posenc_status posenc_positions_range(int32_t start, int64_t n, int32_t *positions);

/* Packed sequences: tokens cu_seqlens[s] .. cu_seqlens[s+1]-1 count up from starts[s] (NULL: from 0). cu_seqlens has
 * n_sequences + 1 non-decreasing entries, the first 0. */
POSENC_API posenc_status posenc_positions_packed(const int32_t *cu_seqlens, const int32_t *starts, int64_t n_sequences,
                                                 int32_t *positions);

/* Padding masks [n_batch][n_tokens], not 0 for a real token: real tokens of each batch count up from start, the others
 * get pad_value. Hugging Face decoders with left padding: start 0, any pad_value; RoBERTa and fairseq: start 2,
 * pad_value 1; OPT: start 0, pad_value -1, and a table with offset 2. posenc_rope_apply takes a row of these for one
 * sequence; all of them for the tokens of all sequences, one behind the other, as one. */
POSENC_API posenc_status posenc_positions_masked(const uint8_t *mask, int64_t n_tokens, int64_t n_batch, int32_t start,
                                                 int32_t pad_value, int32_t *positions);

/* Packed documents: positions count from 0 and restart where document[t] differs from document[t-1]. */
POSENC_API posenc_status posenc_positions_documents(const int32_t *document, int64_t n_tokens, int32_t *positions);

/* A grid, last axis fastest: planes[a * n + t] is the coordinate of token t on axis a, n = sizes[0] * .. *
 * sizes[n_axes-1] up to 2^31 - 1 tokens. n_axes 1 .. 4 (POSENC_ERR_SECTIONS). */
POSENC_API posenc_status posenc_positions_grid(const int64_t *sizes, int n_axes, int32_t *planes);

#ifdef __cplusplus
}
#endif
#endif
