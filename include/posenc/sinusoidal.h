/* posenc/sinusoidal.h - sinusoidal position encoding (arXiv 1706.03762; FORMULAS A.1, A.2, A.4, A.5).
 *
 *     POSENC_SINUSOIDAL_INTERLEAVED   PE[p][2i] = sin(p f_i), PE[p][2i+1] = cos(p f_i)
 *     POSENC_SINUSOIDAL_CONCAT        PE[p][i]  = sin(p f_i), PE[p][half+i] = cos(p f_i),  half = floor(dim/2)
 *
 * Frequencies f_i, by schedule:
 *
 *     POSENC_SCHEDULE_HALF            base^(-2i/dim) interleaved, base^(-i/half) concatenated: the same
 *                                     numbers for even dim (the paper, Transformer-XL, MAE)
 *     POSENC_SCHEDULE_HALF_MINUS_1    min_timescale * (base/min_timescale)^(-i/max(half-1, 1)); concatenated
 *                                     only (Tensor2Tensor, fairseq, Whisper)
 *
 * Odd dim, interleaved: the last column is sin(p base^(-(dim-1)/dim)) with POSENC_ODD_SIN, or 0 with
 * POSENC_ODD_ZERO. Odd dim, concatenated: the last column is 0.
 *
 * Values are those of angles.h: right at any int32 position, whatever is asked for beside it.
 *
 *     posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
 *     params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
 *     params.dim = 768;
 *     posenc_sinusoidal *pe;
 *     posenc_status status = posenc_sinusoidal_create(&params, &pe);
 *     posenc_view x = posenc_view_dense(embeddings, POSENC_F32, 768, n_tokens, 1, 1);
 *     status = posenc_sinusoidal_add(pe, positions, &x);
 *     posenc_sinusoidal_free(pe);
 */
#ifndef POSENC_SINUSOIDAL_H
#define POSENC_SINUSOIDAL_H

#include <posenc/angles.h>
#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum posenc_sinusoidal_layout {
    POSENC_SINUSOIDAL_LAYOUT_UNSET = 0,
    POSENC_SINUSOIDAL_INTERLEAVED,
    POSENC_SINUSOIDAL_CONCAT
} posenc_sinusoidal_layout;

typedef enum posenc_schedule {
    POSENC_SCHEDULE_UNSET = 0, /* allowed with the interleaved layout, which has one schedule only */
    POSENC_SCHEDULE_HALF,
    POSENC_SCHEDULE_HALF_MINUS_1
} posenc_schedule;

typedef enum posenc_odd { POSENC_ODD_SIN = 0, POSENC_ODD_ZERO } posenc_odd;

typedef struct posenc_sinusoidal_params {
    posenc_sinusoidal_layout layout;
    posenc_schedule schedule;
    posenc_odd odd;
    int64_t dim;          /* columns, 1 .. 2*POSENC_MAX_PAIRS */
    double base;          /* finite, in [1, 1e30]; the largest timescale of HALF_MINUS_1 */
    double min_timescale; /* HALF_MINUS_1 only: finite, in (0, base] and at most POSENC_MAX_FREQUENCY */
} posenc_sinusoidal_params;

#define POSENC_SINUSOIDAL_DEFAULTS                                                                                     \
    { POSENC_SINUSOIDAL_LAYOUT_UNSET, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, 0, 10000.0, 1.0 }

typedef struct posenc_sinusoidal posenc_sinusoidal;

/* Checks the parameters and builds the frequency table. On failure *pe is set to NULL. */
POSENC_API posenc_status posenc_sinusoidal_create(const posenc_sinusoidal_params *params, posenc_sinusoidal **pe);

/* Frees it; NULL is allowed. */
POSENC_API void posenc_sinusoidal_free(posenc_sinusoidal *pe);

/* y[b][t] = PE[positions[t]], or y[b][t] += PE[positions[t]]; y is [dim, n_tokens, n_batch, 1] and positions
 * [n_tokens] is shared by the batch. A slice of a wider row is a view with a larger nb[1]; a range of rows is
 * a view that starts later. An added column that is 0 by definition leaves its element alone. */
POSENC_API posenc_status posenc_sinusoidal_write(const posenc_sinusoidal *pe, const int32_t *positions,
                                                 const posenc_view *y);
POSENC_API posenc_status posenc_sinusoidal_add(const posenc_sinusoidal *pe, const int32_t *positions,
                                               const posenc_view *y);

#ifdef __cplusplus
}
#endif
#endif
