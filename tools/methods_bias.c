/* Biases of attention scores: for every head, a row for every query. */
#include <stdlib.h>

#include "method.h"

static posenc_status alibi_open(table *t) {
    t->n_planes = (int64_t)t->value[OPTION_HEADS];
    float *slopes = malloc((size_t)t->n_planes * sizeof *slopes);
    t->data = slopes;
    if (slopes == NULL)
        return POSENC_ERR_MEMORY;
    posenc_status status = posenc_alibi_slopes(t->n_planes, t->value[OPTION_MAX_BIAS], slopes);
    if (status != POSENC_OK)
        free(slopes);
    return status;
}

static posenc_status alibi_fill(const table *t, int64_t row, int64_t n, float *values) {
    const float *slopes = t->data;
    posenc_view bias = posenc_view_dense(values, POSENC_F32, t->n_columns, n, 1, 1);
    posenc_mask mask = t->value[OPTION_MASK] == WORD_CAUSAL ? POSENC_MASK_CAUSAL : POSENC_MASK_NONE;
    return posenc_alibi_bias(slopes + row / t->n_rows, mask, row % t->n_rows, &bias, posenc_all_rows());
}

static void free_data(table *t) {
    free(t->data);
}

const method methods_bias[] = {
    {
        .name = "alibi",
        .help = "Linear biases (C.2, C.3)",
        .title = "ALiBi",
        .kind = METHOD_BIAS,
        .row_label = "query",
        .column_label = "key",
        .takes = {{OPTION_LENGTH, 64}, {OPTION_HEADS, 8}, {OPTION_MAX_BIAS, 8}, {OPTION_MASK, WORD_CAUSAL}},
        .open = alibi_open,
        .fill = alibi_fill,
        .close = free_data,
    },
    {.name = NULL},
};
