/* SPDX-License-Identifier: MIT */
/* Fused attention: calls a step once for each head of a unit, for kernels that know one head. */
#include "attention/attention.h"

#include "core/minmax.h"

/* Unit of one of the unit's heads. */
static posenc_attention_unit head_of(const posenc_attention_unit *u, int64_t head) {
    const posenc_attention_args *args = u->call->args;
    posenc_attention_unit one = *u;
    int64_t pair = head * u->n, dim = args->q.ne[0];
    one.kv_head += head;
    one.n_heads = 1;
    one.rows += pair;
    one.queries += pair * (int64_t)posenc_query_floats(dim);
    one.query_numbers += pair * dim;
    one.query_scales += pair * (dim / POSENC_QUANT_BLOCK);
    one.query_sums += pair * (dim / POSENC_QUANT_BLOCK);
    one.scores += pair * POSENC_KEY_BLOCK;
    one.side += pair * (int64_t)posenc_sums_floats(args->v.ne[0]);
    return one;
}

/* Addresses of the head's rows: written to `to`, or for head 0 the rows themselves. */
static const void *const *rows_of_head(const posenc_view *x, const void *const *rows, int64_t head, size_t n,
                                       const void **to) {
    if (head == 0)
        return rows;
    for (size_t t = 0; t < n; t++)
        to[t] = (const char *)rows[t] + head * x->nb[1];
    return to;
}

/* Head's share of the rows that all heads prefetch. */
static posenc_rows_ahead share_of_head(const posenc_attention_unit *u, posenc_rows_ahead all, int64_t head) {
    if (all.n == 0) /* no address */
        return all;
    size_t n_heads = (size_t)u->n_heads, begin = all.n * (size_t)head / n_heads,
           end = all.n * ((size_t)head + 1) / n_heads;
    return (posenc_rows_ahead){all.rows + begin, all.bytes, end - begin};
}

/* Clips a range of the unit's pairs to those of the head, counted from its first. */
static void clip_pairs(const posenc_attention_unit *u, int64_t head, int64_t *first, int64_t *end) {
    *first = posenc_max(*first - head * u->n, 0);
    *end = posenc_max(posenc_min(*end - head * u->n, u->n), *first);
}

void posenc_attention_multiply_by_heads(const posenc_attention_unit *u, const posenc_attention_keys *keys, size_t at,
                                        posenc_attention_multiply *multiply) {
    for (int64_t h = 0; h < u->n_heads; h++) {
        const void *rows[POSENC_KEYS_PACKED];
        posenc_attention_unit head = head_of(u, h);
        posenc_attention_keys own = *keys;
        clip_pairs(u, h, &own.first_pair, &own.end_pair);
        own.rows = rows_of_head(&u->call->args->k, keys->rows, h, (size_t)keys->n, rows);
        for (int i = 0; i < 2; i++)
            own.ahead[i] = share_of_head(u, keys->ahead[i], h);
        multiply(&head, &own, at);
    }
}

void posenc_attention_sum_by_heads(const posenc_attention_unit *u, const posenc_attention_values *values,
                                   posenc_attention_sum *sum) {
    for (int64_t h = 0; h < u->n_heads; h++) {
        const void *rows[POSENC_KEY_BLOCK];
        posenc_attention_unit head = head_of(u, h);
        posenc_attention_values own = *values;
        own.rows = rows_of_head(&u->call->args->v, values->rows, h, values->end - values->begin, rows);
        clip_pairs(u, h, &own.first_pair, &own.end_pair);
        own.visible += h * u->n;
        own.keep += h * u->n;
        own.sums.rows += (size_t)(h * u->n) * own.sums.stride;
        for (int i = 0; i < 2; i++)
            own.ahead[i] = share_of_head(u, values->ahead[i], h);
        sum(&head, &own);
    }
}
