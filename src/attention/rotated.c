/* SPDX-License-Identifier: MIT */
/* Fused attention: RoPE applied to K on load, for caches of un-rotated keys. */
#include "attention/attention.h"

#include "core/view.h"
#include "rope/rope.h"

/* View of a head's keys for the rotation: [head_dim, 1, n, 1]. */
static posenc_view as_tokens(const void *rows, const posenc_view *k, int64_t n) {
    return (posenc_view){
        .data = (void *)(uintptr_t)rows, /* only read */
        .dtype = k->dtype,
        .ne = {k->ne[0], 1, n, 1},
        .nb = {k->nb[0], k->nb[1], k->nb[2], k->nb[3]},
    };
}

/* Rotates the keys of x, which are keys j and following of the sequence. */
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

/* Rotates n keys one stride apart. Keys of a cache type are widened first, into panels, which are not packed yet. */
static void rotate_run(const posenc_attention_unit *u, const void *rows, int64_t j, int64_t n, float *to) {
    const posenc_view *k = &u->call->args->k;
    posenc_view x = as_tokens(rows, k, n);
    if (posenc_is_cache_type(k->dtype)) {
        x = posenc_view_dense(u->panels, POSENC_F32, k->ne[0], 1, n, 1);
        posenc_attention_widen(u, k, rows, n, u->panels);
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
        const void *first = posenc_attention_row_run(u, k, j, &run);
        rotate_run(u, first, u->list != NULL ? u->list[j] : j, run, u->rotated + done * k->ne[0]);
    }
    for (int64_t t = 0; t < keys->n; t++)
        rows[t] = u->rotated + t * k->ne[0];
    return (posenc_attention_stored){rows, POSENC_F32};
}
