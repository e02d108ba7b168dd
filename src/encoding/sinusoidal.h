/* SPDX-License-Identifier: MIT */
/* Inside of the sinusoidal encodings. */
#ifndef POSENC_SRC_SINUSOIDAL_H
#define POSENC_SRC_SINUSOIDAL_H

#include <posenc/encoding.h>

#include "core/angles.h"
#include "encoding/encoding.h"

typedef struct posenc_sinusoid {
    posenc_generator base;
    posenc_freq *freq; /* one per pair; the last of an odd width may lack its second column */
    int step;          /* 2: columns of a pair are neighbours; 1: base.twin apart */
    int cos_first;
} posenc_sinusoid;

/* Column of the first (second = 0) or second value of a pair. */
static inline int64_t posenc_sinusoid_column(const posenc_sinusoid *s, int64_t pair, int second) {
    return s->step == 2 ? 2 * pair + second : pair + second * s->base.twin;
}

void posenc_sinusoid_rows(const posenc_generator *g, const posenc_kernels *kernels, const posenc_tokens *tokens,
                          const posenc_row_span *span);

#endif
