/* SPDX-License-Identifier: MIT */
/* Relative biases that are looked up in tables. */
#include "bias/rel_bias.h"

posenc_status posenc_rel_bias_gather(const posenc_rel_index *index, const posenc_bias_table *table, float scale,
                                     const posenc_rel_bias *rel_bias) {
    int64_t n_heads;
    if (!isfinite(scale))
        return POSENC_ERR_SCALE;
    posenc_status status = posenc_check_whole_rel_bias(rel_bias, &n_heads);
    if (status == POSENC_OK)
        status = posenc_check_bias_table(table, n_heads, 0);
    if (status == POSENC_OK)
        status = posenc_check_whole_index(index, table->n_rows);
    if (status == POSENC_OK)
        status = posenc_check_index_entries(index, rel_bias->first, rel_bias->n_offsets);
    if (status != POSENC_OK || rel_bias->n_offsets == 0)
        return status;
    const int32_t *rows = index->data + (rel_bias->first - index->first);
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t t = 0; t < rel_bias->n_offsets; t++)
            posenc_rel_bias_of_head(rel_bias, h)[t] = *posenc_table_at(table, rows[t], h) * scale;
    return POSENC_OK;
}
