/* SPDX-License-Identifier: MIT */
/* Attention, fused: where a unit's keys and values stand, and how keys become panels. */
#include "attention/attention.h"

#include <string.h>

#include "core/minmax.h"
#include "core/view.h"
#include "rope/rope.h"

const void *posenc_attention_rows(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t *n) {
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

/* Keys number j .. j + n - 1 of the sequence, which stand one stride apart, as rows of float32. */
static void stage_run(const posenc_attention_unit *u, const void *rows, int64_t j, int64_t n, float *to) {
    const posenc_attention_args *args = u->call->args;
    const posenc_view *k = &args->k;
    if (args->k_rope == NULL) {
        widen(u, k, rows, n, to);
    } else if (posenc_block_bytes(k->dtype) > 0) {
        posenc_view wide = posenc_view_dense(u->panels, POSENC_F32, k->ne[0], 1, n, 1); /* nothing is packed yet */
        widen(u, k, rows, n, u->panels);
        rotate(u, &wide, j, to);
    } else {
        posenc_view x = as_tokens(rows, k, n);
        rotate(u, &x, j, to);
    }
}

void posenc_attention_stage(const posenc_attention_unit *u, int64_t j, int64_t n) {
    const posenc_view *k = &u->call->args->k;
    for (int64_t done = 0, run; done < n; done += run) {
        run = n - done;
        const void *rows = posenc_attention_rows(u, k, j + done, &run);
        int64_t number = u->list != NULL ? u->list[j + done] : j + done;
        stage_run(u, rows, number, run, u->stage + done * k->ne[0]);
    }
}

/* Units of so few pairs wait for memory: their values are fetched while keys are packed. Values that the caches hold
 * anyway would pay 4 % for it. */
enum { FEW_PAIRS = 16 };

static int64_t row_bytes(const posenc_view *x) {
    posenc_view storage = posenc_storage_of(x);
    return storage.ne[0] * posenc_dtype_size(storage.dtype);
}

/* Rows j .. j + n - 1 of x, or those of them that stand one stride apart; those of a list, all, with their addresses
 * in `at`. */
static posenc_rows_ahead rows_ahead(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t n,
                                    const void **at) {
    if (n <= 0)
        return (posenc_rows_ahead){.n = 0};
    posenc_rows_ahead ahead = {.stride = (ptrdiff_t)x->nb[2], .bytes = (size_t)row_bytes(x)};
    if (u->list != NULL) {
        posenc_attention_row_addresses(u, x, j, n, at);
        ahead.at = at;
    } else {
        ahead.rows = posenc_attention_rows(u, x, j, &n);
    }
    ahead.n = (size_t)n;
    return ahead;
}

/* Rows of x that stand one stride apart. */
typedef struct row_run {
    const void *rows;
    int64_t stride, n;
} row_run;

/* Rows j .. j + n - 1, or the first of them; those of a list are copied to `to`. */
static row_run run_of(const posenc_attention_unit *u, const posenc_view *x, int64_t j, int64_t n, float *to) {
    row_run run = {to, x->nb[2], n};
    if (u->list == NULL) {
        run.rows = posenc_attention_rows(u, x, j, &run.n);
        return run;
    }
    const void *at[POSENC_KEYS_PACKED];
    run.n = posenc_min(n, POSENC_KEYS_PACKED);
    run.stride = row_bytes(x);
    posenc_attention_row_addresses(u, x, j, run.n, at);
    for (int64_t t = 0; t < run.n; t++)
        memcpy((char *)to + t * run.stride, at[t], (size_t)run.stride);
    return run;
}

void posenc_attention_look_ahead(const posenc_attention_unit *u, int64_t j, int64_t n, int64_t n_next,
                                 posenc_rows_ahead ahead[2]) {
    const posenc_attention_args *args = u->call->args;
    int waits_for_values = u->n <= FEW_PAIRS && posenc_is_far(posenc_view_count(&args->v));
    ahead[0] = rows_ahead(u, &args->k, j + n, n_next, u->ahead);
    ahead[1] = rows_ahead(u, &args->v, j, waits_for_values ? n : 0, u->ahead + POSENC_KEYS_PACKED);
}

static void pack(const posenc_attention_unit *u, const void *rows, posenc_dtype type, int64_t stride, int64_t n,
                 float *panels, const posenc_rows_ahead ahead[2]) {
    posenc_pack_rows_args args = {
        .rows = rows,
        .rows_type = type,
        .row_stride = (ptrdiff_t)stride,
        .panels = panels,
        .dim = (size_t)u->call->args->k.ne[0],
        .n_rows = (size_t)n,
        .ahead = {ahead[0], ahead[1]},
    };
    u->call->kernels->pack_rows(&args);
}

/* Keys that are put together first: those that are rotated, and pages that are no whole panels. */
static int is_staged(const posenc_attention_unit *u) {
    const posenc_attention_args *args = u->call->args;
    return args->k_rope != NULL || (args->pages != NULL && u->list == NULL && args->k.ne[2] % POSENC_PANEL != 0);
}

void posenc_attention_pack(const posenc_attention_unit *u, int64_t j, int64_t n, int64_t n_next) {
    const posenc_attention_args *args = u->call->args;
    const posenc_view *k = &args->k;
    int64_t dim = k->ne[0];
    posenc_rows_ahead ahead[2];
    posenc_attention_look_ahead(u, j, n, n_next, ahead);
    if (is_staged(u)) {
        posenc_attention_stage(u, j, n);
        pack(u, u->stage, POSENC_F32, dim * (int64_t)sizeof(float), n, u->panels, ahead);
        return;
    }
    for (int64_t done = 0, run; done < n; done += run) {
        row_run keys = run_of(u, k, j + done, n - done, u->stage);
        run = keys.n;
        pack(u, keys.rows, k->dtype, keys.stride, run, u->panels + done * dim, ahead); /* whole panels, but the last */
        ahead[0].n = ahead[1].n = 0; /* of several pages the first fetches */
    }
}

int posenc_attention_multiplies_few(const posenc_attention_unit *u, int64_t n) {
    const posenc_view *k = &u->call->args->k;
    return u->n <= POSENC_FEW && n % POSENC_PANEL == 0 && k->ne[0] % POSENC_FEW_CHANNELS == 0 &&
           (k->dtype == POSENC_F16 || k->dtype == POSENC_BF16) && !is_staged(u);
}

void posenc_attention_multiply_few(const posenc_attention_unit *u, int64_t j, int64_t n, int64_t n_next,
                                   float *scores) {
    const posenc_view *k = &u->call->args->k;
    posenc_dot_few_args args = {
        .x = u->queries,
        .x_stride = (ptrdiff_t)(posenc_query_floats(k->ne[0]) * sizeof(float)),
        .rows_type = k->dtype,
        .y_stride = (ptrdiff_t)(POSENC_KEY_BLOCK * sizeof(float)),
        .dim = (size_t)k->ne[0],
        .n_x = (size_t)u->n,
    };
    posenc_attention_look_ahead(u, j, n, n_next, args.ahead);
    for (int64_t done = 0, run; done < n; done += run) {
        row_run keys = run_of(u, k, j + done, n - done, u->stage);
        run = keys.n;
        args.rows = keys.rows;
        args.row_stride = (ptrdiff_t)keys.stride;
        args.n_rows = (size_t)run;
        args.y = scores + done;
        u->call->kernels->dot_few(&args);
        args.ahead[0].n = args.ahead[1].n = 0; /* of several pages the first fetches */
    }
}

/* ---- Values ---- */

/* In float32 at a time: with 128 channels they are half of a second cache of 128 KB. */
enum { VALUES_STAGED = 128 };

/* Units of many pairs stage their values. Where they stand, each tile of sums would widen them again; and rows whole
 * pages apart, as of 8 heads of 128 channels in float32, share a few places of the caches: prefill took 1.25 times as
 * long there on AVX2, and 1.05 times with rows of f16 and bf16. */
posenc_attention_values posenc_attention_values_at(const posenc_attention_unit *u, int64_t j, int64_t n) {
    const posenc_view *v = &u->call->args->v;
    int64_t dim = v->ne[0], room = (int64_t)posenc_attention_panel_floats(u->call->args->k.ne[0], dim) / dim;
    room = posenc_min(room, VALUES_STAGED);
    if (u->n <= FEW_PAIRS) {
        row_run run = run_of(u, v, j, u->list != NULL ? posenc_min(n, room) : n, u->panels);
        return (posenc_attention_values){run.rows, v->dtype, (ptrdiff_t)run.stride, run.n, 0};
    }
    n = posenc_min(n, room);
    for (int64_t done = 0, run; done < n; done += run) {
        run = n - done;
        const void *rows = posenc_attention_rows(u, v, j + done, &run);
        widen(u, v, rows, run, u->panels + done * dim);
    }
    return (posenc_attention_values){u->panels, POSENC_F32, (ptrdiff_t)(dim * (int64_t)sizeof(float)), n, 1};
}

void posenc_attention_fetch_values(const posenc_attention_unit *u, int64_t j, int64_t n) {
    const posenc_view *v = &u->call->args->v;
    const void *rows[POSENC_KEYS_PACKED];
    int64_t bytes = row_bytes(v);
    for (int64_t done = 0, some; done < n; done += some) {
        some = posenc_min(n - done, POSENC_KEYS_PACKED);
        posenc_attention_row_addresses(u, v, j + done, some, rows);
        for (int64_t t = 0; t < some; t++)
            for (int64_t byte = 0; byte < bytes; byte += 64)
                __builtin_prefetch((const char *)rows[t] + byte, 0, 2);
    }
}
