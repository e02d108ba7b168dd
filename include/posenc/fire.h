/* posenc/fire.h - FIRE: a learned function of the distance relative to the query's position (FORMULAS C.17).
 *
 *     psi(x) = ln(|c x| + 1)
 *     bias_h(i, j) = w2[h] . relu(w1 x + b1) + b2[h],   x = psi(i - j) / (psi(max(i, threshold)) + eps)
 *
 * (arXiv 2310.04418; threshold = |L_mult L|). Keys behind the query mirror those before it. The perceptron sees one
 * number, and so is piecewise linear in it: set-up finds the pieces, and a row of the bias is one multiplication and
 * addition for each key, psi coming from a table.
 *
 * The bias depends on the query, not on the offset alone, so there is no line of it: write the rows of a few queries
 * at a time and give them to softmax.h as a bias.
 *
 * What to expect: against the exact function of the parameters, |error| <= 2e-7 (1 + sum over k of |w2[h][k]| (|w1[k]
 * x| + |b1[k]|) + |b2[h]|), as long as the slopes of the pieces, divided by psi(threshold) + eps, and their constants
 * are below FLT_MAX: larger ones are cut to that. psi is within 1 ulp. The same bits on every machine.
 *
 * Example: one head, two hidden units, up to 1024 tokens
 *
 *     posenc_fire_params params = POSENC_FIRE_DEFAULTS;
 *     params.n_heads = 1;
 *     params.n_hidden = 2;
 *     params.w1 = w1;
 *     params.b1 = b1;
 *     params.w2 = w2;
 *     params.b2 = b2;
 *     params.max_distance = 1023;
 *     posenc_fire *fire = NULL;
 *     posenc_status status = posenc_fire_create(&params, &fire);
 *     posenc_view bias = posenc_view_dense(rows, POSENC_F32, 4, 1, 1, 1); // query 3, keys 0 .. 3
 *     status = posenc_fire_write(fire, 3, &bias, posenc_all_rows());
 *     posenc_fire_free(fire);
 */
#ifndef POSENC_FIRE_H
#define POSENC_FIRE_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct posenc_fire_params {
    int64_t n_heads;      /* 1 .. 2^16 */
    int64_t n_hidden;     /* 1 .. 1024; 32 as published */
    const float *w1, *b1; /* [n_hidden] */
    const float *w2, *b2; /* [n_heads][n_hidden], [n_heads] */
    double c;             /* 0.1, trained; 2^-100 to 2^20 in size */
    double threshold;     /* |L_mult L|, 512; 0 .. 2^30 */
    double eps;           /* 1e-6; 2^-100 .. 1 */
    int64_t max_distance; /* largest distance of a query and a key, 0 .. 2^22: 8 bytes, and a microsecond, for each */
} posenc_fire_params;

#define POSENC_FIRE_DEFAULTS                                                                                           \
    { 0, 32, NULL, NULL, NULL, NULL, 0.1, 512.0, 1e-6, 0 }

/* Immutable; threads may share it. */
typedef struct posenc_fire posenc_fire;

/* The weights are copied and must be finite (POSENC_ERR_SCALE, as for c, threshold and eps). On failure *fire is set to
 * NULL. */
POSENC_API posenc_status posenc_fire_create(const posenc_fire_params *params, posenc_fire **fire);
POSENC_API void posenc_fire_free(posenc_fire *fire);

/* y[j, i, h, b] = bias_h(q_off + i, j), or the same added to what is there. y: f32 [n_k, n_q, n_heads, n_batch]; a
 * row is one query of one head: row = (batch * n_heads + head) * n_q + query. q_off >= 0; q_off + n_q and n_k are at
 * most max_distance + 1 (POSENC_ERR_POSITION, POSENC_ERR_SHAPE). */
POSENC_API posenc_status posenc_fire_write(const posenc_fire *fire, int64_t q_off, const posenc_view *y,
                                           posenc_rows rows);
POSENC_API posenc_status posenc_fire_add(const posenc_fire *fire, int64_t q_off, const posenc_view *y,
                                         posenc_rows rows);

#ifdef __cplusplus
}
#endif
#endif
