/* SPDX-License-Identifier: MIT */
/* KERPLE's two forms, for relative biases and for the gradients of their parameters. */
#ifndef POSENC_SRC_KERPLE_H
#define POSENC_SRC_KERPLE_H

#include <posenc/bias.h>

#include "bias/rel_bias.h"
#include "core/elementary.h"
#include "core/view.h"

/* The largest parameter that is accepted, far beyond what training gives: no value overflows. */
#define POSENC_KERPLE_LIMIT 0x1p20

static inline posenc_status posenc_check_kerple(const posenc_kerple *kerple, int64_t n_heads) {
    if (kerple == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    if (kerple->kind != POSENC_KERPLE_LOG && kerple->kind != POSENC_KERPLE_POWER)
        return kerple->kind == POSENC_KERPLE_UNSET ? posenc_refused(POSENC_ERR_UNSET) : posenc_refused(POSENC_ERR_ENUM);
    if (!(kerple->min >= 0x1p-20f && kerple->min <= 1.0f))
        return posenc_refused(POSENC_ERR_SCALE);
    posenc_status status = posenc_check_numbers(kerple->p, n_heads, -POSENC_KERPLE_LIMIT, POSENC_KERPLE_LIMIT);
    if (status == POSENC_OK)
        status = posenc_check_numbers(kerple->a, n_heads, -POSENC_KERPLE_LIMIT, POSENC_KERPLE_LIMIT);
    return status;
}

/* The parameters of one head, clamped. */
typedef struct posenc_kerple_head {
    posenc_kerple_kind kind;
    double p, a;
} posenc_kerple_head;

static inline posenc_kerple_head posenc_kerple_of_head(const posenc_kerple *kerple, int64_t h) {
    float p = kerple->p[h] < kerple->min ? kerple->min : kerple->p[h];
    float a = kerple->a[h] < kerple->min ? kerple->min : kerple->a[h];
    if (kerple->kind == POSENC_KERPLE_POWER && p > 2.0f)
        p = 2.0f;
    return (posenc_kerple_head){kerple->kind, (double)p, (double)a};
}

/* d^p for an integer d >= 0 */
static inline double posenc_kerple_power(double d, double p) {
    return d == 0.0 ? 0.0 : posenc_exp_double(p * posenc_log1p_double(d - 1.0));
}

static inline double posenc_kerple_value(const posenc_kerple_head *head, double d) {
    double size = head->kind == POSENC_KERPLE_LOG ? head->p * posenc_log1p_double(head->a * d)
                                                  : head->a * posenc_kerple_power(d, head->p);
    return 0.0 - size; /* not -0 at distance 0 */
}

#endif
