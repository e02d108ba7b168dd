/* SPDX-License-Identifier: MIT */
/* FLASH_ATTN_EXT: posenc_attention, a batch and a block of heads at a time, on threads that take units from a heap. */
#include "attention/attention.h"
#include "ops.h"
#include "options.h"
#include "core/view.h"

/* A thread takes an eighth of its share of the units at a time: masks make some of them cheaper than others. */
#define PORTIONS 8

/* Reading, or multiplying and adding to, so many numbers is worth an element of the other operations. */
#define NUMBERS_PER_ELEMENT 8

typedef struct flash_job {
    posenc_score_params params;
    posenc_attention_math math;
    posenc_view q, k, v, out, mask; /* whole tensors, [dim, n_tokens, n_heads, n_batch]; mask.data NULL: none */
    int64_t n_heads, n_kv_heads;    /* of a call: what shares a head of the mask, if there is more than one */
    bool by_parts;                  /* units are cut into segments of keys */
    int64_t n_items;                /* units or parts of a call */
    int64_t *next;                  /* the first item that nobody has taken */
    char *scratch, *parts;
    size_t scratch_size, parts_size; /* a thread's, a call's */
} flash_job;

/* ---- Which nodes ---- */

static bool is_key_type(enum ggml_type type) {
    return stored_type(type) < POSENC_TYPES;
}

/* ggml gives queries, keys and values as [dim, n_tokens, n_heads, n_batch], and writes [dim, n_heads, n_tokens,
 * n_batch] as posenc does. */
static posenc_view swap_heads_and_tokens(posenc_view view) {
    return posenc_view_transpose(view, 1, 2);
}

static posenc_score_params params_of(const struct ggml_tensor *node) {
    posenc_score_params params = posenc_score_params_of(float_param(node, 0), posenc_mask_none());
    params.cap = float_param(node, 2);
    return params;
}

/* All but what is repeated otherwise than posenc has it, or is not known yet: mask, slopes and sinks. */
static posenc_status check_task(const struct ggml_tensor *node) {
    posenc_score_params params = params_of(node);
    posenc_attention_args task = {
        .params = &params,
        .q = swap_heads_and_tokens(view_to_check(node, node->src[0])),
        .k = swap_heads_and_tokens(view_to_check(node, node->src[1])),
        .v = swap_heads_and_tokens(view_to_check(node, node->src[2])),
        .out = view_to_check(node, node),
    };
    posenc_view scores = {.dtype = POSENC_F32, .ne = {task.k.ne[2], task.q.ne[2], task.q.ne[1], task.q.ne[3]}};
    return posenc_check_attention_args(&task, &scores);
}

posenc_status check_flash_attn(const struct ggml_tensor *node) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *mask = node->src[3];
    if (q->type != GGML_TYPE_F32 || node->type != GGML_TYPE_F32 || !is_key_type(k->type) || !is_key_type(v->type))
        return POSENC_ERR_DTYPE;
    posenc_status status = check_task(node);
    if (status == POSENC_OK)
        status = check_mask(node, mask, k->ne[1], q);
    if (status == POSENC_OK && mask != NULL) {
        posenc_view bias = mask_of(view_to_check(node, mask), q->ne[1]), out = view_to_check(node, node);
        status = posenc_check_apart(&bias, &out);
    }
    if (status == POSENC_OK)
        status = check_sinks(node, node->src[4], q->ne[2]);
    return status == POSENC_OK ? check_slopes(float_param(node, 1), q->ne[2]) : status;
}

/* In double, because extents that no memory has may be asked about. */
int64_t work_of_flash_attn(const struct ggml_tensor *node) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2];
    double n = (double)ggml_nrows(q) * (double)k->ne[1] * (double)(k->ne[0] + v->ne[0]) / NUMBERS_PER_ELEMENT;
    return n < 0x1p62 ? (int64_t)n : INT64_C(1) << 62;
}

/* ---- One call: a batch, and heads first_head .. first_head + n_heads - 1 ---- */

static int64_t n_calls(const flash_job *job) {
    return job->q.ne[3] * (job->q.ne[2] / job->n_heads);
}

/* Memory that the arguments of a call point to. */
typedef struct call_room {
    posenc_score_params params;
    posenc_view mask;
} call_room;

/* ggml repeats heads and batches of a mask in turns. */
static posenc_attention_args task_of(const flash_job *job, int64_t number, call_room *room) {
    int64_t calls_per_batch = job->q.ne[2] / job->n_heads, batch = number / calls_per_batch;
    int64_t head = number % calls_per_batch * job->n_heads, kv_head = head / (job->q.ne[2] / job->k.ne[2]);
    room->params = job->params;
    room->params.n_heads = job->n_heads;
    if (job->mask.data != NULL) {
        int64_t n_heads = job->mask.ne[2];
        room->mask = block_of(&job->mask, head % n_heads, batch % job->mask.ne[3], n_heads == 1 ? 1 : job->n_heads, 1);
        room->params.bias.tensor = &room->mask;
    }
    if (room->params.bias.tensor_slopes != NULL)
        room->params.bias.tensor_slopes += head;
    if (room->params.sinks != NULL)
        room->params.sinks += head;
    return (posenc_attention_args){
        .params = &room->params,
        .q = swap_heads_and_tokens(block_of(&job->q, head, batch, job->n_heads, 1)),
        .k = swap_heads_and_tokens(block_of(&job->k, kv_head, batch, job->n_kv_heads, 1)),
        .v = swap_heads_and_tokens(block_of(&job->v, kv_head, batch, job->n_kv_heads, 1)),
        .out = swap_heads_and_tokens(block_of(&job->out, head, batch, job->n_heads, 1)),
        .math = job->math,
    };
}

static posenc_status attend(const flash_job *job, int64_t number, posenc_range items, void *scratch) {
    call_room room;
    posenc_attention_args task = task_of(job, number, &room);
    return job->by_parts ? posenc_attention_split(&task, scratch, job->scratch_size,
                                                  job->parts + (size_t)number * job->parts_size, job->parts_size, items)
                         : posenc_attention_run(&task, scratch, job->scratch_size, items);
}

static posenc_status join(const flash_job *job) {
    posenc_status status = POSENC_OK;
    for (int64_t number = 0; number < n_calls(job) && status == POSENC_OK; number++) {
        call_room room;
        posenc_attention_args task = task_of(job, number, &room);
        status = posenc_attention_combine_splits(&task, job->parts + (size_t)number * job->parts_size, job->parts_size,
                                                 posenc_range_all());
    }
    return status;
}

/* ---- All of them ---- */

static posenc_status flash_part(const void *node, int ith, int nth) {
    const flash_job *job = node;
    int64_t n_all = n_calls(job) * job->n_items;
    int64_t portion = nth == 1 ? n_all : n_all / (PORTIONS * nth) + 1;
    for (;;) {
        int64_t begin;
#pragma omp atomic capture
        {
            begin = *job->next;
            *job->next += portion;
        }
        int64_t end = begin + portion < n_all ? begin + portion : n_all;
        if (begin >= end)
            return POSENC_OK;
        while (begin < end) {
            int64_t number = begin / job->n_items, first = number * job->n_items;
            int64_t stop = end < first + job->n_items ? end : first + job->n_items;
            posenc_range items = {begin - first, stop - first};
            posenc_status status = attend(job, number, items, job->scratch + (size_t)ith * job->scratch_size);
            if (status != POSENC_OK)
                return status;
            begin = stop;
        }
    }
}

/* Calls take all heads, unless the mask has several. Then they take one of its rounds if that is a whole number of
 * groups, or single heads. Units that are too few for all threads are cut into parts. */
static void choose_calls(flash_job *job, int n_threads) {
    int64_t group = job->q.ne[2] / job->k.ne[2], round = job->mask.data != NULL ? job->mask.ne[2] : 1;
    if (round == 1)
        job->n_heads = job->q.ne[2];
    else
        job->n_heads = round % group == 0 ? round : 1;
    job->n_kv_heads = job->n_heads == 1 ? 1 : job->n_heads / group;
    call_room room;
    posenc_attention_args task = task_of(job, 0, &room);
    int64_t n_units = posenc_attention_unit_count(&task.q, &task.k), n_parts = posenc_attention_split_count(&task);
    job->by_parts = n_calls(job) * n_units < n_threads && n_parts > n_units;
    job->n_items = job->by_parts ? n_parts : n_units;
    job->parts_size = job->by_parts ? posenc_attention_split_bytes(&task) : 0;
}

/* Quantised K and V of fewer queries are multiplied as integers, which takes 0.5 of float32's time for one query and
 * 0.8 for four. From 8 on it takes 1.1 to 1.4 times as long where the CPU has no dot products (with VNNI 0.7 to 0.8).
 * By the shape alone, so that results do not depend on the CPU. */
enum { PROMPT_QUERIES = 8 };

static posenc_attention_math attention_math_of(const struct ggml_tensor *node) {
    switch (options.attention) {
    case ATTENTION_F32: return POSENC_MATH_F32;
    case ATTENTION_INT16: return POSENC_MATH_INT16;
    case ATTENTION_AUTO: break;
    }
    return node->src[0]->ne[1] < PROMPT_QUERIES ? POSENC_MATH_INT16 : POSENC_MATH_F32;
}

posenc_status compute_flash_attn(backend_state *state, struct ggml_tensor *node) {
    const struct ggml_tensor *mask = node->src[3], *sinks = node->src[4];
    int64_t next = 0;
    flash_job job = {
        .params = params_of(node),
        .math = attention_math_of(node),
        .q = view_of(node->src[0]),
        .k = view_of(node->src[1]),
        .v = view_of(node->src[2]),
        .out = swap_heads_and_tokens(view_of(node)),
        .next = &next,
    };
    float slopes[MAX_HEADS];
    job.params.sinks = sinks != NULL ? sinks->data : NULL;
    if (mask != NULL) {
        job.mask = mask_of(view_of(mask), job.q.ne[1]);
        posenc_status status = set_slopes(&job.params, float_param(node, 1), job.q.ne[2], slopes);
        if (status != POSENC_OK)
            return status;
    }
    choose_calls(&job, state->n_threads);
    job.scratch_size = whole_lines(posenc_attention_workspace_bytes(job.q.ne[0], job.v.ne[0]));
    size_t of_threads = job.scratch_size * (size_t)state->n_threads;
    job.scratch = scratch_of(state, of_threads + whole_lines(job.parts_size * (size_t)n_calls(&job)));
    if (job.scratch == NULL)
        return POSENC_ERR_MEMORY;
    job.parts = job.scratch + of_threads;
    posenc_status status = run_parts(state, flash_part, &job, work_of_flash_attn(node));
    return status == POSENC_OK && job.by_parts ? join(&job) : status;
}
