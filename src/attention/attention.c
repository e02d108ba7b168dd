/* SPDX-License-Identifier: MIT */
/* Fused attention: sizes of work and scratch, and the calls. A call checks its arguments and walks over work units, or
 * over split-KV partitions (a work unit's share of the keys). */
#include "attention/attention.h"

#include "core/view.h"

enum { MOST_PAIRS = POSENC_MOST_PAIRS };

/* ---- Sizes ---- */

int64_t posenc_attention_unit_count(const posenc_view *q, const posenc_view *k) {
    if (q == NULL || k == NULL || posenc_view_is_too_large(q) || posenc_view_is_too_large(k))
        return 0;
    int64_t n_heads = q->ne[1], n_kv_heads = k->ne[1], n_q = q->ne[2];
    if (n_kv_heads == 0 || n_heads % n_kv_heads != 0 || q->ne[0] != k->ne[0])
        return 0;
    return posenc_units_of(n_q * (n_heads / n_kv_heads)) * n_kv_heads * q->ne[3];
}

static int64_t n_keys(const posenc_attention_args *t) {
    return t->pages != NULL ? t->pages->n_k : t->k.ne[2];
}

static int64_t n_segments(const posenc_attention_args *t) {
    int64_t n_k = t->lists != NULL ? t->lists->n_max : n_keys(t);
    return n_k > 0 && n_k <= POSENC_MAX_KEYS ? (n_k - 1) / POSENC_ATTENTION_SEGMENT + 1 : 0;
}

int64_t posenc_attention_split_count(const posenc_attention_args *args) {
    int64_t n;
    if (args == NULL || __builtin_mul_overflow(posenc_attention_unit_count(&args->q, &args->k), n_segments(args), &n))
        return 0;
    return n;
}

size_t posenc_attention_split_bytes(const posenc_attention_args *args) {
    if (posenc_attention_split_count(args) <= 0 || !posenc_is_attention_dim(args->v.ne[0]))
        return 0;
    int64_t factors[] = {n_segments(args), args->q.ne[1], args->q.ne[2], args->q.ne[3], args->v.ne[0] + 2};
    int64_t bytes = sizeof(float);
    for (int i = 0; i < 5; i++)
        if (__builtin_mul_overflow(bytes, factors[i], &bytes) || bytes > POSENC_LIMIT)
            return 0;
    return posenc_is_size(bytes) ? (size_t)bytes : 0;
}

/* Scratch of a thread: a unit's, then sums of one segment and of all segments. */
size_t posenc_attention_workspace_bytes(int64_t head_dim, int64_t v_dim) {
    if (!posenc_is_attention_dim(head_dim) || !posenc_is_attention_dim(v_dim))
        return 0;
    return sizeof(float) * (posenc_attention_unit_floats(head_dim, v_dim) + 2 * MOST_PAIRS * posenc_sums_floats(v_dim));
}

/* ---- Calls ---- */

/* Checks the arguments and sets the call. */
static posenc_status begin_call(const posenc_attention_args *args, posenc_attention_call *call) {
    if (args == NULL || args->params == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    int64_t n_heads = args->q.ne[1], n_kv_heads = args->k.ne[1], n_q = args->q.ne[2];
    *call = (posenc_attention_call){
        .args = args,
        .kernels = posenc_active_kernels(),
        .scores = {.dtype = POSENC_F32, .ne = {n_keys(args), n_q, n_heads, args->q.ne[3]}},
    };
    posenc_status status = posenc_check_attention_args(args, &call->scores);
    if (status != POSENC_OK || n_kv_heads == 0)
        return status;
    call->group = n_heads / n_kv_heads;
    call->per_kv_head = n_q * call->group;
    call->n_segments = n_segments(args);
    posenc_attention_choose_steps(call);
    return POSENC_OK;
}

/* Rows of q or out of the unit's pairs, which are written to `rows`. */
static posenc_rows_ahead rows_of(const posenc_attention_unit *u, const posenc_view *x, const void **rows) {
    size_t n_pairs = (size_t)posenc_attention_pairs(u);
    for (size_t pair = 0; pair < n_pairs; pair++)
        rows[pair] = posenc_token_at(x, posenc_attention_place(u, (int64_t)pair));
    return (posenc_rows_ahead){rows, posenc_row_bytes(x), n_pairs};
}

/* Combines the sums of a unit's segments, one after the other, in totals. */
static void combine_segments(const posenc_attention_unit *u, posenc_attention_sums sums, float *totals) {
    size_t n_pairs = (size_t)posenc_attention_pairs(u), stride = sums.stride;
    for (size_t pair = 0; pair < n_pairs; pair++)
        posenc_attention_start(u->call, posenc_attention_place(u, (int64_t)pair).head, totals + pair * stride);
    for (int64_t segment = 0; segment < u->call->n_segments; segment++) {
        posenc_attention_segment(u, segment, sums);
        for (size_t pair = 0; pair < n_pairs; pair++)
            posenc_attention_add(u->call, sums.rows + pair * stride, totals + pair * stride);
    }
}

/* Computes a unit. next: the unit that follows, or NULL. */
static void run_unit(posenc_attention_unit *u, const posenc_attention_unit *next, float *scratch) {
    const posenc_attention_call *call = u->call;
    int64_t n_pairs = posenc_attention_pairs(u), head_dim = call->args->q.ne[0], v_dim = call->args->v.ne[0];
    size_t stride = posenc_sums_floats(v_dim);
    posenc_attention_sums sums = {scratch + posenc_attention_unit_floats(head_dim, v_dim), stride};
    float *totals = sums.rows + MOST_PAIRS * stride;
    posenc_attention_begin_unit(u, scratch);
    u->after[0] = rows_of(u, &call->args->out, u->rows_after);
    if (next != NULL)
        u->after[1] = rows_of(next, &call->args->q, u->rows_after + MOST_PAIRS);
    if (call->n_segments == 1 && call->args->params->sinks == NULL) { /* the only segment's sums are the total */
        posenc_attention_segment(u, 0, sums);
        totals = sums.rows;
    } else {
        combine_segments(u, sums, totals);
    }
    for (int64_t pair = 0; pair < n_pairs; pair++)
        posenc_attention_finish(u, pair, totals + (size_t)pair * stride);
}

/* Memory that the call writes beside its outputs, with the arguments checked already. */
static posenc_status check_memory(const posenc_attention_args *args, const void *memory, size_t bytes, size_t needed) {
    posenc_status status = posenc_check_workspace(bytes, needed);
    return status == POSENC_OK ? posenc_check_views_apart_from(args, memory, needed) : status;
}

static posenc_status check_scratch(const posenc_attention_args *args, const void *scratch, size_t scratch_bytes) {
    size_t needed = posenc_attention_workspace_bytes(args->q.ne[0], args->v.ne[0]);
    return posenc_argument("scratch", check_memory(args, scratch, scratch_bytes, needed));
}

posenc_status posenc_attention_run(const posenc_attention_args *args, void *scratch, size_t scratch_bytes,
                                   posenc_range units) {
    posenc_attention_call call;
    posenc_status status = posenc_argument("scratch", posenc_check_array(scratch, sizeof(float)));
    if (status == POSENC_OK)
        status = begin_call(args, &call);
    if (status == POSENC_OK)
        status = posenc_argument("units", posenc_check_rows(&units, posenc_attention_unit_count(&args->q, &args->k)));
    if (status == POSENC_OK)
        status = check_scratch(args, scratch, scratch_bytes);
    if (status != POSENC_OK)
        return status;
    for (int64_t number = units.begin, n; number < units.end; number += n) {
        posenc_attention_unit unit = posenc_attention_unit_at(&call, number, units.end - number), u;
        n = unit.n_units;
        posenc_attention_unit next = posenc_attention_unit_at(&call, number + n, units.end - number - n);
        for (int64_t done = 0; done < unit.n; done += u.n) {
            u = posenc_attention_share(&unit, done);
            run_unit(&u, number + n < units.end ? &next : NULL, scratch);
        }
    }
    return POSENC_OK;
}

/* ---- Split-KV partitions ---- */

/* Sums of a unit and a segment among all partitions: [segment][pair of the call][v_dim + 2]. */
static posenc_attention_sums partition_of(const posenc_attention_unit *u, int64_t segment, const void *partitions) {
    const posenc_view *q = &u->call->args->q;
    size_t stride = (size_t)u->call->args->v.ne[0] + 2;
    int64_t kv_head = u->batch * (q->ne[1] / u->call->group) + u->kv_head;
    int64_t pair = kv_head * u->call->per_kv_head + u->first;
    int64_t row = segment * posenc_view_rows(q) + pair;
    return (posenc_attention_sums){(float *)(uintptr_t)partitions + (size_t)row * stride, stride};
}

static posenc_status begin_partitions(const posenc_attention_args *args, const void *partitions, size_t bytes,
                                      posenc_attention_call *call) {
    posenc_status status = begin_call(args, call);
    if (status != POSENC_OK || call->n_segments == 0 || posenc_attention_unit_count(&args->q, &args->k) == 0)
        return status;
    size_t needed = posenc_attention_split_bytes(args);
    if (needed == 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    status = posenc_check_array(partitions, sizeof(float));
    if (status == POSENC_OK)
        status = check_memory(args, partitions, bytes, needed);
    return posenc_argument("partitions", status);
}

static int do_overlap(const posenc_attention_args *args, const void *scratch, const void *partitions) {
    size_t of_scratch = posenc_attention_workspace_bytes(args->q.ne[0], args->v.ne[0]);
    return posenc_ranges_overlap(scratch, (int64_t)of_scratch, partitions, (int64_t)posenc_attention_split_bytes(args));
}

posenc_status posenc_attention_split(const posenc_attention_args *args, void *scratch, size_t scratch_bytes,
                                     void *partitions, size_t partitions_bytes, posenc_range range) {
    posenc_attention_call call;
    posenc_status status = posenc_argument("scratch", posenc_check_array(scratch, sizeof(float)));
    if (status == POSENC_OK)
        status = begin_partitions(args, partitions, partitions_bytes, &call);
    if (status == POSENC_OK)
        status = posenc_argument("range", posenc_check_rows(&range, posenc_attention_split_count(args)));
    if (status == POSENC_OK)
        status = check_scratch(args, scratch, scratch_bytes);
    if (status == POSENC_OK && do_overlap(args, scratch, partitions))
        status = posenc_refuse(POSENC_ERR_OVERLAP, "scratch: overlaps partitions");
    if (status != POSENC_OK)
        return status;
    int64_t n_units = posenc_attention_unit_count(&args->q, &args->k);
    for (int64_t partition = range.begin, n; partition < range.end; partition += n) {
        int64_t segment = partition / n_units; /* neighbouring partitions read the same tokens */
        posenc_attention_unit unit = posenc_attention_unit_at(&call, partition % n_units, range.end - partition), u;
        n = unit.n_units;
        for (int64_t done = 0; done < unit.n; done += u.n) {
            u = posenc_attention_share(&unit, done);
            posenc_attention_begin_unit(&u, scratch);
            posenc_attention_segment(&u, segment, partition_of(&u, segment, partitions));
        }
    }
    return POSENC_OK;
}

posenc_status posenc_attention_combine_splits(const posenc_attention_args *args, const void *partitions,
                                              size_t partitions_bytes, posenc_range units) {
    posenc_attention_call call;
    posenc_status status = begin_partitions(args, partitions, partitions_bytes, &call);
    if (status == POSENC_OK)
        status = posenc_argument("units", posenc_check_rows(&units, posenc_attention_unit_count(&args->q, &args->k)));
    if (status != POSENC_OK)
        return status;
    float total[POSENC_MAX_HEAD_DIM + 2];
    for (int64_t number = units.begin; number < units.end; number++) {
        posenc_attention_unit u = posenc_attention_unit_at(&call, number, 1);
        for (int64_t pair = 0; pair < u.n; pair++) {
            posenc_attention_start(&call, posenc_attention_place(&u, pair).head, total);
            for (int64_t segment = 0; segment < call.n_segments; segment++) {
                posenc_attention_sums partition = partition_of(&u, segment, partitions);
                posenc_attention_add(&call, partition.rows + (size_t)pair * partition.stride, total);
            }
            posenc_attention_finish(&u, pair, total);
        }
    }
    return POSENC_OK;
}
