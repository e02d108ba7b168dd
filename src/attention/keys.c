/* SPDX-License-Identifier: MIT */
/* Attention, fused: where a unit's keys and values stand, and how keys become panels. */
#include "attention/attention.h"

#include "core/minmax.h"
#include "core/view.h"
#include "rope/rope.h"

static const void *rows_at(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t *n) {
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

/* Of a list without pages. By rows_at, sparse decode took 1.1 times as long. */
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
        const char *first = rows_at(u, x, j + done, &run);
        for (int64_t k = 0; k < run; k++)
            rows[done + k] = first + k * x->nb[2];
    }
}

/* The head's keys as a view for the rotation: [head_dim, 1, n, 1]. */
static posenc_view as_tokens(const void *rows, const posenc_view *k, int64_t n) {
    return (posenc_view){
        .data = (void *)(uintptr_t)rows, /* only read */
        .dtype = k->dtype,
        .ne = {k->ne[0], 1, n, 1},
        .nb = {k->nb[0], k->nb[1], k->nb[2], k->nb[3]},
    };
}

/* n rows of x, as rows of float32. */
static void widen(const posenc_attention_unit *u, const posenc_view *x, const void *rows, int64_t n, float *to) {
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

/* Keys number j .. j + n - 1 of the sequence, rotated. */
static void rotate(const posenc_attention_unit *u, const posenc_view *x, int64_t j, float *to) {
    const posenc_attention_args *args = u->call->args;
    posenc_rope_table table = *args->k_table;
    if (table.cos != NULL) { /* without pairs there may be no memory */
        table.cos += j * table.row_stride;
        table.sin += j * table.row_stride;
    }
    posenc_view y = posenc_view_dense(to, POSENC_F32, x->ne[0], 1, x->ne[2], 1);
    posenc_rope_rotate(args->k_rope, x, &table, &y);
}

/* Keys number j .. j + n - 1 of the sequence, which stand one stride apart, rotated. */
static void rotate_run(const posenc_attention_unit *u, const void *rows, int64_t j, int64_t n, float *to) {
    const posenc_view *k = &u->call->args->k;
    posenc_view x = as_tokens(rows, k, n);
    if (posenc_block_bytes(k->dtype) > 0) {
        x = posenc_view_dense(u->panels, POSENC_F32, k->ne[0], 1, n, 1); /* nothing is packed yet */
        widen(u, k, rows, n, u->panels);
    }
    rotate(u, &x, j, to);
}

posenc_attention_stored posenc_attention_rotated(const posenc_attention_unit *u, const posenc_attention_keys *keys,
                                                 const void *rows[POSENC_KEYS_PACKED]) {
    const posenc_view *k = &u->call->args->k;
    if (u->call->args->k_rope == NULL)
        return (posenc_attention_stored){keys->rows, k->dtype};
    for (int64_t done = 0, run; done < keys->n; done += run) {
        int64_t j = keys->first + done;
        run = keys->n - done;
        const void *first = rows_at(u, k, j, &run);
        rotate_run(u, first, u->list != NULL ? u->list[j] : j, run, u->stage + done * k->ne[0]);
    }
    for (int64_t t = 0; t < keys->n; t++)
        rows[t] = u->stage + t * k->ne[0];
    return (posenc_attention_stored){rows, POSENC_F32};
}

/* Units of so few pairs wait for memory. */
enum { FEW_PAIRS = 16 };

int posenc_attention_waits(const posenc_attention_unit *u) {
    return u->n <= FEW_PAIRS && posenc_is_far(posenc_view_count(&u->call->args->v));
}

size_t posenc_attention_row_bytes(const posenc_view *x) {
    posenc_view storage = posenc_storage_of(x);
    return (size_t)(storage.ne[0] * posenc_dtype_size(storage.dtype));
}

void posenc_attention_pack(const posenc_attention_unit *u, const posenc_attention_keys *keys) {
    const void *rows[POSENC_KEYS_PACKED];
    posenc_attention_stored stored = posenc_attention_rotated(u, keys, rows);
    posenc_pack_rows_args args = {
        .rows = stored.rows,
        .rows_type = stored.type,
        .panels = u->panels,
        .dim = (size_t)u->call->args->k.ne[0],
        .n_rows = (size_t)keys->n,
        .ahead = {keys->ahead[0], keys->ahead[1]},
    };
    u->call->kernels->pack_rows(&args);
}

int posenc_attention_multiplies_few(const posenc_attention_unit *u, int64_t n) {
    const posenc_view *k = &u->call->args->k;
    return u->n <= POSENC_FEW && n % POSENC_PANEL == 0 && k->ne[0] % POSENC_FEW_CHANNELS == 0 &&
           (k->dtype == POSENC_F16 || k->dtype == POSENC_BF16) && u->call->args->k_rope == NULL;
}

void posenc_attention_multiply_few(const posenc_attention_unit *u, const posenc_attention_keys *keys, float *scores) {
    const posenc_view *k = &u->call->args->k;
    posenc_dot_few_args args = {
        .x = u->queries,
        .x_stride = (ptrdiff_t)(posenc_query_floats(k->ne[0]) * sizeof(float)),
        .rows = keys->rows,
        .rows_type = k->dtype,
        .y = scores,
        .y_stride = (ptrdiff_t)(POSENC_KEY_BLOCK * sizeof(float)),
        .dim = (size_t)k->ne[0],
        .n_x = (size_t)u->n,
        .n_rows = (size_t)keys->n,
        .ahead = {keys->ahead[0], keys->ahead[1]},
    };
    u->call->kernels->dot_few(&args);
}

/* ---- Values ---- */

/* In float32 at a time: with 128 channels they are half of a second cache of 128 KB. */
enum { VALUES_STAGED = 128 };

/* Where they stand, each tile of sums would widen them again; and rows whole pages apart, as of 8 heads of 128 channels
 * in float32, share a few places of the caches: prefill took 1.25 times as long there on AVX2, and 1.05 times with rows
 * of f16 and bf16. Queries as integers stand where values are staged. */
int posenc_attention_stages_values(const posenc_attention_unit *u) {
    return u->n > FEW_PAIRS && !posenc_attention_has_quant_keys(u->call);
}

int64_t posenc_attention_stage_values(const posenc_attention_unit *u, int64_t j, int64_t n, const void **rows) {
    const posenc_view *v = &u->call->args->v;
    int64_t dim = v->ne[0], room = (int64_t)posenc_attention_panel_floats(u->call->args->k.ne[0], dim) / dim;
    n = posenc_min(n, posenc_min(room, VALUES_STAGED));
    for (int64_t done = 0, run; done < n; done += run) {
        run = n - done;
        const void *first = rows_at(u, v, j + done, &run);
        widen(u, v, first, run, u->panels + done * dim);
    }
    for (int64_t t = 0; t < n; t++)
        rows[t] = u->panels + t * dim;
    return n;
}
