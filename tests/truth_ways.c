/* SPDX-License-Identifier: MIT */
#include "truth_ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "truth_blocks.h"

static void *memory_of(size_t bytes) {
    void *memory = calloc(bytes + 1, 1);
    assert_non_null(memory);
    return memory;
}

static size_t out_bytes(const truth_ways *call) {
    return (size_t)(call->args.out.ne[0] * call->args.out.ne[1] * call->args.out.ne[2]) * sizeof(float);
}

void truth_ways_open(truth_ways *call) {
    call->args.params = &call->params;
    call->scratch = memory_of(posenc_attention_workspace_bytes(call->args.q.ne[0], call->args.v.ne[0]));
    call->first = memory_of(out_bytes(call));
}

void truth_ways_close(truth_ways *call) {
    free(call->scratch);
    free(call->first);
}

void truth_ways_keep(truth_ways *call) {
    memcpy(call->first, call->args.out.data, out_bytes(call));
    memset(call->args.out.data, 0, out_bytes(call));
}

void truth_ways_same(const truth_ways *call, const char *what) {
    truth_same_bits(call->args.out.data, call->first, out_bytes(call) / sizeof(float), "%s", what);
}

static void run(const posenc_attention_args *args, void *scratch) {
    truth_ok(posenc_attention_run(args, scratch, posenc_attention_workspace_bytes(args->q.ne[0], args->v.ne[0]),
                                  posenc_range_all()));
}

void truth_attend(const truth_ways *call) {
    run(&call->args, call->scratch);
}

/* The rows of x, [dim, heads, n, 1], in pages of so many; the caller frees the memory. */
static posenc_view in_pages(const posenc_view *x, int64_t size, int64_t n_pages, const int32_t *table) {
    posenc_view pages = posenc_view_dense(NULL, x->dtype, x->ne[0], x->ne[1], size, n_pages);
    pages.data = memory_of((size_t)(pages.nb[3] * n_pages));
    for (int64_t j = 0; j < x->ne[2]; j++)
        memcpy((char *)pages.data + table[j / size] * pages.nb[3] + j % size * pages.nb[2],
               (const char *)x->data + j * x->nb[2], (size_t)x->nb[2]);
    return pages;
}

static void attend_in_pages(const truth_ways *call) {
    posenc_attention_args args = call->args;
    int64_t n_k = args.k.ne[2], size = 1 + truth_below(70), n = (n_k + size - 1) / size;
    int32_t *table = memory_of((size_t)n * sizeof *table);
    for (int64_t page = 0; page < n; page++)
        table[page] = (int32_t)(n - 1 - page);
    posenc_attention_pages pages = {table, n, n_k};
    args.k = in_pages(&call->args.k, size, n, table);
    args.v = in_pages(&call->args.v, size, n, table);
    args.pages = &pages;
    run(&args, call->scratch);
    free(args.k.data);
    free(args.v.data);
    free(table);
}

static void attend_in_parts(const truth_ways *call) {
    void *parts = memory_of(posenc_attention_split_bytes(&call->args));
    truth_ok(posenc_attention_split(&call->args, call->scratch,
                                    posenc_attention_workspace_bytes(call->args.q.ne[0], call->args.v.ne[0]), parts,
                                    posenc_attention_split_bytes(&call->args), posenc_range_all()));
    truth_ok(posenc_attention_combine_splits(&call->args, parts, posenc_attention_split_bytes(&call->args),
                                             posenc_range_all()));
    free(parts);
}

static void attend_one_by_one(const truth_ways *call) {
    const posenc_attention_args *all = &call->args;
    for (int64_t i = 0; i < all->q.ne[2]; i++) {
        posenc_attention_args args = *all;
        int64_t n_k = all->k.ne[2] - all->q.ne[2] + i + 1;
        args.q = posenc_view_slice(all->q, 2, i, 1);
        args.out = posenc_view_slice(all->out, 2, i, 1);
        args.k = posenc_view_slice(all->k, 2, 0, n_k);
        args.v = posenc_view_slice(all->v, 2, 0, n_k);
        run(&args, call->scratch);
    }
}

void truth_ways_check(truth_ways *call) {
    posenc_isa_select(POSENC_ISA_SCALAR);
    truth_attend(call);
    truth_ways_keep(call);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_attend(call);
        truth_ways_same(call, "tiers");
        attend_in_pages(call);
        truth_ways_same(call, "pages");
        attend_in_parts(call);
        truth_ways_same(call, "parts");
        attend_one_by_one(call);
        truth_ways_same(call, "query by query");
    }
}

static double number(const posenc_view *x, int64_t c, int64_t h, int64_t j) {
    if (truth_is_blocks(x->dtype))
        return truth_read_block((const char *)x->data + h * x->nb[1] + j * x->nb[2], c, x->dtype);
    return (double)truth_get(x, c, h, j, 0);
}

double truth_ways_row(const truth_ways *call, int64_t i, int64_t h, double *row) {
    const posenc_view *q = &call->args.q, *k = &call->args.k, *v = &call->args.v;
    int64_t own = k->ne[2] - q->ne[2] + i, end = own + 1, before = call->params.mask.before,
            head = h / (q->ne[1] / k->ne[1]);
    int64_t begin = before >= 0 && before < own ? own - before : 0;
    double *weights = memory_of((size_t)end * sizeof *weights), max = -INFINITY, sum = 0.0, largest = 0.0;
    for (int64_t j = begin; j < end; j++) {
        for (int64_t c = 0; c < q->ne[0]; c++)
            weights[j] += number(q, c, h, i) * number(k, c, head, j);
        weights[j] *= (double)call->params.scale;
        max = fmax(max, weights[j]);
    }
    for (int64_t j = begin; j < end; j++)
        sum += weights[j] = exp(weights[j] - max);
    for (int64_t c = 0; c < v->ne[0]; c++)
        row[c] = 0.0;
    for (int64_t j = begin; j < end; j++)
        for (int64_t c = 0; c < v->ne[0]; c++) {
            double value = number(v, c, head, j);
            row[c] += weights[j] / sum * value;
            largest = fmax(largest, fabs(value));
        }
    free(weights);
    return largest;
}
