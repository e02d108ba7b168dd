/* The positional work of one layer of a model, on buffers of its real shapes. */
#ifndef POSENC_TOOLS_MODEL_WORK_H
#define POSENC_TOOLS_MODEL_WORK_H

#include <posenc/posenc.h>

#include "model.h"
#include "random.h"

/* RoPE: Q and K of n_tokens tokens. ALiBi: the scores of n_tokens queries against n_keys keys, causal. */
typedef struct model_work {
    const model_config *model;
    int64_t n_tokens, n_keys;
    int32_t *positions;
    posenc_rope *q_rope, *k_rope;
    posenc_view q, k;
    float *cos_rows, *sin_rows;
    posenc_softmax_params softmax;
    float *slopes;
    posenc_view scores;
} model_work;

/* Allocates and fills. Positions count up from first_position (for ALiBi the keys before the queries are the cache). */
posenc_status model_work_create(model_work *work, const model_config *model, int64_t n_tokens, int64_t first_position,
                                random_state *random);
void model_work_free(model_work *work);

/* What one rotated tensor asks of posenc_rope_create. */
posenc_rope_params model_rope_params(const model_config *model, const rotated_tensor *tensor);

/* Once over the data, in place, on the tier selected: RoPE with rows made in the call, or with rows ready, or softmax.
 */
posenc_status model_work_rope(const model_work *work);
posenc_status model_work_rope_rows(const model_work *work);
posenc_status model_work_softmax(const model_work *work);

/* Multiplies the same elements by -1, in place: the limit that memory sets. */
void model_work_scale(const model_work *work);

/* Elements that are read and written, and all floats of the buffers one after the other (n of them). */
int64_t model_work_elements(const model_work *work);
float *model_work_data(const model_work *work, int64_t *n);

#endif
