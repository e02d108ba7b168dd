/* SPDX-License-Identifier: MIT */
/* Fused attention: addresses of rows of keys and values: one stride apart, in pages, or by a list. */
#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"

const void *posenc_attention_row_run(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t *n) {
    const posenc_attention_pages *pages = u->call->args->pages;
    if (u->list != NULL) {
        j = u->list[j];
        *n = 1;
    }
    if (pages == NULL)
        return posenc_view_at(x, u->kv_head, j, u->batch);
    int64_t page_size = x->ne[2], row = j % page_size;
    *n = posenc_min(*n, page_size - row);
    return posenc_view_at(x, u->kv_head, row, pages->table[u->batch * pages->stride + j / page_size]);
}

/* Addresses of a list's rows without pages. By row_run, sparse decode took 1.1 times as long. */
static void list_addresses(const posenc_attention_unit *u, const posenc_view *x, const int32_t *list, int64_t n,
                           const void **rows) {
    const char *first = posenc_view_at(x, u->kv_head, 0, u->batch);
    for (int64_t t = 0; t < n; t++)
        rows[t] = first + list[t] * x->nb[2];
}

void posenc_attention_row_addresses(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t n,
                                    const void **rows) {
    if (u->list != NULL && u->call->args->pages == NULL) {
        list_addresses(u, x, u->list + j, n, rows);
        return;
    }
    for (int64_t done = 0, run; done < n; done += run) {
        run = n - done;
        const char *first = posenc_attention_row_run(u, x, j + done, &run);
        for (int64_t k = 0; k < run; k++)
            rows[done + k] = first + k * x->nb[2];
    }
}

void posenc_attention_widen(const posenc_attention_unit *u, const posenc_view *x, const void *rows, int64_t n,
                            float *to) {
    posenc_convert_args copy = {
        .x = rows,
        .y = to,
        .x_type = x->dtype,
        .x_stride = (ptrdiff_t)x->nb[2],
        .y_stride = (ptrdiff_t)(x->ne[0] * (int64_t)sizeof(float)),
        .factor = 1.0f,
        .n = (size_t)x->ne[0],
        .n_heads = (size_t)n,
    };
    u->call->kernels->convert_rows(&copy);
}
