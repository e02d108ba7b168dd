/* SPDX-License-Identifier: MIT */
/* The rotary embedding's rows: cosines in plane 0, sines in plane 1. */
#include "method_rope.h"

#include <stdlib.h>

typedef struct rope_data {
    posenc_rope *rope;
    float *other; /* the plane that is not asked for */
} rope_data;

posenc_status rope_open(table *t) {
    static const posenc_scaling_type types[] = {
        [WORD_UNSCALED] = POSENC_SCALING_NONE, [WORD_LINEAR] = POSENC_SCALING_LINEAR,
        [WORD_NTK] = POSENC_SCALING_NTK,       [WORD_DYNAMIC] = POSENC_SCALING_DYNAMIC,
        [WORD_YARN] = POSENC_SCALING_YARN,     [WORD_LLAMA3] = POSENC_SCALING_LLAMA3,
    };
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = t->n_columns;
    params.base = t->value[OPTION_BASE];
    params.scaling.type = types[(int)t->value[OPTION_SCALING]];
    if (params.scaling.type != POSENC_SCALING_NONE) {
        params.scaling.factor = t->value[OPTION_FACTOR];
        params.scaling.original_context = t->value[OPTION_CONTEXT];
        params.scaling.context = t->value[OPTION_CONTEXT] * t->value[OPTION_FACTOR];
    }
    posenc_rope *rope;
    posenc_status status = posenc_rope_create(&params, &rope);
    if (status != POSENC_OK)
        return status;
    t->n_columns /= 2;
    t->n_planes = 2;
    rope_data *data = malloc(sizeof *data);
    float *other = malloc((size_t)(TABLE_BLOCK * t->n_columns) * sizeof *other);
    if (data == NULL || other == NULL) {
        free(data);
        free(other);
        posenc_rope_free(rope);
        return POSENC_ERR_MEMORY;
    }
    *data = (rope_data){rope, other};
    t->data = data;
    return POSENC_OK;
}

posenc_status rope_fill(const table *t, int64_t row, int64_t n, float *values) {
    const rope_data *data = t->data;
    int32_t positions[TABLE_BLOCK];
    for (int64_t k = 0; k < n; k++)
        positions[k] = (int32_t)(t->first + (row + k) % t->n_rows);
    int is_sine = row >= t->n_rows;
    posenc_rope_table rows = {is_sine ? data->other : values, is_sine ? values : data->other, t->n_columns, 1, 0};
    return posenc_rope_table_fill(data->rope, positions, n, POSENC_FORWARD, &rows);
}

void rope_close(table *t) {
    rope_data *data = t->data;
    posenc_rope_free(data->rope);
    free(data->other);
    free(data);
}
