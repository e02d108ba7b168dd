/* SPDX-License-Identifier: MIT */
/* The RoPE of one layer of a model, on buffers of its real shapes: Q and K in one call. */
#ifndef POSENC_TOOLS_ROPE_WORK_H
#define POSENC_TOOLS_ROPE_WORK_H

#include <posenc/posenc.h>

#include "model.h"
#include "random.h"

/* Rows of cosines and sines made in the call, or ready, as for all layers but the first; and with the norm of Q and K
 * before the rotation. */
typedef enum rope_way { ROPE_ROWS_MADE = 0, ROPE_ROWS_READY, ROPE_WITH_NORM, ROPE_WAYS } rope_way;

/* In place where the layout allows it. Of a head that holds other things as well (latent attention) only the rotated
 * slice is shown to the library. */
typedef struct rope_work {
    posenc_dtype type;
    int64_t n_tokens, n_pairs;
    int32_t *positions;
    posenc_rope *rope; /* of magnitude 1, so that numbers stay what they are through many runs */
    posenc_rope_table table;
    posenc_rope_tensor tasks[2]; /* Q, K */
    float *weight;               /* of the norm: 1 and -1, for the same reason */
    void *x, *y;                 /* y is x in place */
    size_t size;                 /* bytes of each */
} rope_work;

/* Positions count up from first_position, on all axes. */
posenc_status rope_work_create(rope_work *work, const model_table *layer, posenc_dtype type, int64_t n_tokens,
                               int64_t first_position, random_state *random);
void rope_work_free(rope_work *work);

/* Once over the data, on the tier selected. */
posenc_status rope_work_run(const rope_work *work, rope_way way);

/* Negates what the rotation changes. */
void rope_work_negate(const rope_work *work);

/* Elements that are read and written. */
int64_t rope_work_elements(const rope_work *work);

#endif
