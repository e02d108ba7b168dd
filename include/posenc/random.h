/* posenc/random.h - seeded initial values for tables: the same numbers on every machine.
 *
 * The value of an element depends on the seed and on its place (row * ne[0] + column, rows counted in order) alone,
 * however the work is split: splitmix64 started with the seed gives it after `place` others. The generator is for
 * initial values, not for secrets.
 *
 *     posenc_view table = posenc_view_dense(weights, POSENC_F32, 768, 512, 1, 1);
 *     posenc_status status = posenc_fill_normal(42, 0.0, 0.02, &table, posenc_all_rows());
 *     double limit = posenc_xavier_uniform(512, 768);
 *     status = posenc_fill_uniform(42, -limit, limit, &table, posenc_all_rows());
 */
#ifndef POSENC_RANDOM_H
#define POSENC_RANDOM_H

#include <posenc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Normal with that mean and standard deviation; even over [low, high). y is of any type, rounded once from double (a
 * bound of the interval may be hit by that). A row is one of ne[1] * ne[2] * ne[3]. mean, low, high finite and within
 * 1e30 and low <= high, deviation in [0, 1e30] (POSENC_ERR_SCALE). */
POSENC_API posenc_status posenc_fill_normal(uint64_t seed, double mean, double deviation, const posenc_view *y,
                                            posenc_rows rows);
POSENC_API posenc_status posenc_fill_uniform(uint64_t seed, double low, double high, const posenc_view *y,
                                             posenc_rows rows);

/* Xavier (Glorot): the limit sqrt(6 / (fan_in + fan_out)) of the uniform form, and the deviation sqrt(2 / (fan_in +
 * fan_out)) of the normal one; 0 where both fans are 0 or one is negative. */
POSENC_API double posenc_xavier_uniform(int64_t fan_in, int64_t fan_out);
POSENC_API double posenc_xavier_normal(int64_t fan_in, int64_t fan_out);

#ifdef __cplusplus
}
#endif
#endif
