/* SPDX-License-Identifier: MIT */
/* A step of a layer: the views and positions of its tokens, from the counts in posenc_step. */
#include <posenc/step.h>

#include <stdlib.h>

#include "attention/attention.h"
#include "core/minmax.h"
#include "core/view.h"
#include "rope/rope.h"

/* Tokens whose positions are counted on the stack at a time. */
enum { TOKENS_AT_ONCE = 128 };

/* ---- Checks ---- */

static int has_positions(const posenc_score_positions *at) {
    return at->query_start != POSENC_ALIGN_LAST_KEY || at->query_starts != NULL || at->queries != NULL ||
           at->keys != NULL;
}

static int has_sequences(const posenc_score_sequences *s) {
    return s->k_begin != NULL || s->k_end != NULL || s->cu_seqlens != NULL || s->n_seqs != 0 || s->origins != NULL;
}

/* Positions come from n_past, and there is one sequence. */
static posenc_status check_params(const posenc_step *step) {
    if (step->params->scale == 0.0f)
        return posenc_refuse(POSENC_ERR_UNSET, "params.scale is 0: begin with posenc_score_params_of");
    if (has_positions(&step->params->positions) || (step->params->tree != NULL && step->positions == NULL))
        return posenc_refuse(POSENC_ERR_POSITION, "params.positions: unset is wanted; n_past says where queries are");
    return has_sequences(&step->params->sequences)
               ? posenc_refuse(POSENC_ERR_MASK, "params.sequences: unset is wanted; a step has one sequence")
               : POSENC_OK;
}

static posenc_status check_lengths(const posenc_step *step) {
    if (step->n_past < 0 || step->n_tokens < 0 || step->n_ctx < 0 || step->n_ctx > POSENC_MAX_KEYS ||
        step->n_past > step->n_ctx - step->n_tokens)
        return posenc_refuse(POSENC_ERR_CONTEXT, "n_past %lld and n_tokens %lld, but n_ctx is %lld",
                             (long long)step->n_past, (long long)step->n_tokens, (long long)step->n_ctx);
    int64_t token_bytes = posenc_view_dense(NULL, step->type, step->head_dim, step->n_heads, 1, 1).nb[2];
    if (step->token_stride != 0 && step->n_tokens > 1 && llabs(step->token_stride) < token_bytes)
        return posenc_refuse(POSENC_ERR_STRIDE, "token_stride is %lld bytes, but the heads of a token of q have %lld",
                             (long long)step->token_stride, (long long)token_bytes);
    return POSENC_OK;
}

static int is_count(int64_t n) {
    return n >= 1 && n <= (int64_t)1 << 20;
}

/* The caches hold n_ctx tokens of their type: a wrong type, count or length is seen here. */
static posenc_status check_cache(const posenc_step *step) {
    posenc_view cache = posenc_view_dense(NULL, step->cache_type, step->head_dim, step->n_kv_heads, step->n_ctx, 1);
    int64_t token_bytes = cache.nb[2];
    if (step->n_ctx > 0 && (step->k_cache == NULL || step->v_cache == NULL))
        return posenc_refuse(POSENC_ERR_NULL, "%s is NULL", step->k_cache == NULL ? "k_cache" : "v_cache");
    if (token_bytes == 0)
        return posenc_refused(POSENC_ERR_DTYPE);
    uint64_t wanted = (uint64_t)token_bytes * (uint64_t)step->n_ctx;
    return wanted == step->cache_bytes
               ? POSENC_OK
               : posenc_refuse(POSENC_ERR_WORKSPACE, "cache_bytes is %llu, but %lld tokens of this type have %llu",
                               (unsigned long long)step->cache_bytes, (long long)step->n_ctx,
                               (unsigned long long)wanted);
}

static posenc_status check_counts(const posenc_step *step) {
    if (step == NULL || step->params == NULL || step->rope == NULL)
        return posenc_refuse(POSENC_ERR_NULL, "%s is NULL",
                             step == NULL           ? "step"
                             : step->params == NULL ? "params"
                                                    : "rope");
    if (!is_count(step->head_dim) || step->head_dim > POSENC_MAX_HEAD_DIM)
        return posenc_refuse(POSENC_ERR_HEAD_DIM, "head_dim is %lld, but 1 .. %d are wanted", (long long)step->head_dim,
                             POSENC_MAX_HEAD_DIM);
    if (!is_count(step->n_heads) || !is_count(step->n_kv_heads))
        return posenc_refuse(POSENC_ERR_N_HEADS, "n_heads is %lld and n_kv_heads %lld, but 1 and more are wanted",
                             (long long)step->n_heads, (long long)step->n_kv_heads);
    posenc_status status = check_params(step);
    if (status == POSENC_OK)
        status = check_lengths(step);
    return status == POSENC_OK ? check_cache(step) : status;
}

/* ---- Views ---- */

/* New tokens of q, k or v. */
static posenc_view tokens_of(const posenc_step *step, const void *data, int64_t n_heads) {
    posenc_view view =
        posenc_view_dense((void *)(uintptr_t)data, step->type, step->head_dim, n_heads, step->n_tokens, 1);
    if (step->token_stride != 0)
        view.nb[2] = step->token_stride;
    return view;
}

/* The first n tokens of a cache. */
static posenc_view cached(const posenc_step *step, void *data, int64_t n) {
    return posenc_view_dense(data, step->cache_type, step->head_dim, step->n_kv_heads, n, 1);
}

static posenc_view rows_to_write(const posenc_step *step, void *data) {
    return posenc_view_slice(cached(step, data, step->n_ctx), 2, step->n_past, step->n_tokens);
}

enum { TENSORS = 3 };

static void set_tensors(const posenc_step *step, posenc_rope_tensor tensors[TENSORS]) {
    posenc_view q = tokens_of(step, step->q, step->n_heads);
    tensors[0] = posenc_rope_tensor_of(q, q, 1, 1.0f);
    tensors[1] =
        posenc_rope_tensor_of(tokens_of(step, step->k, step->n_kv_heads), rows_to_write(step, step->k_cache), 1, 1.0f);
    tensors[2] =
        posenc_rope_tensor_of(tokens_of(step, step->v, step->n_kv_heads), rows_to_write(step, step->v_cache), 0, 1.0f);
}

/* ---- Checks of memory, and of what attention needs ---- */

/* q is written while k and v are read, and the caches while both are; the caches are apart as a whole. */
static posenc_status check_apart(const posenc_step *step) {
    const struct {
        const char *name;
        posenc_view view;
    } of[] = {
        {"q", tokens_of(step, step->q, step->n_heads)},        {"k", tokens_of(step, step->k, step->n_kv_heads)},
        {"v", tokens_of(step, step->v, step->n_kv_heads)},     {"k_cache", cached(step, step->k_cache, step->n_ctx)},
        {"v_cache", cached(step, step->v_cache, step->n_ctx)},
    };
    static const int pairs[][2] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 4}, {2, 3}, {3, 4}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        int x = pairs[i][0], y = pairs[i][1];
        posenc_view first = posenc_storage_of(&of[x].view), second = posenc_storage_of(&of[y].view);
        if (posenc_check_apart(&first, &second) != POSENC_OK)
            return posenc_refuse(POSENC_ERR_OVERLAP, "%s overlaps %s", of[x].name, of[y].name);
    }
    return POSENC_OK;
}

/* Views of attention's arguments, which point to each other. */
typedef struct step_views {
    posenc_view q, k, v, out;
} step_views;

static posenc_attention_args attention_of(const posenc_step *step, step_views *views) {
    int64_t n_k = step->n_past + step->n_tokens;
    views->q = tokens_of(step, step->q, step->n_heads);
    views->k = cached(step, step->k_cache, n_k);
    views->v = cached(step, step->v_cache, n_k);
    views->out = posenc_view_dense(step->out, step->type, step->head_dim, step->n_heads, step->n_tokens, 1);
    posenc_attention_args args = posenc_attention_args_of(step->params, &views->q, &views->k, &views->v, &views->out);
    args.math = step->math;
    return args;
}

/* Attention's arguments are checked before the cache is written: a step that is refused writes nothing. */
static posenc_status check_attention(const posenc_step *step) {
    step_views views;
    posenc_attention_args args = attention_of(step, &views);
    posenc_view scores = {.dtype = POSENC_F32, .ne = {step->n_past + step->n_tokens, step->n_tokens, step->n_heads, 1}};
    return posenc_check_attention_args(&args, &scores);
}

/* Share ith of nth of n, which is empty for POSENC_STEP_CHECK. */
static posenc_status share_of(int64_t n, int64_t ith, int64_t nth, posenc_range *share) {
    if (ith < POSENC_STEP_CHECK || nth < 1 || ith >= nth || nth > (int64_t)1 << 16)
        return posenc_refuse(POSENC_ERR_ROWS, "ith is %lld and nth %lld, but 0 .. nth - 1, and 1 .. 65536, are wanted",
                             (long long)ith, (long long)nth);
    *share = ith == POSENC_STEP_CHECK ? (posenc_range){n, n} : posenc_range_of_thread(n, ith, nth);
    return POSENC_OK;
}

/* ---- Append ---- */

/* Tokens first .. first + n - 1 of the tensors. */
static void slice_tensors(const posenc_rope_tensor *of, int64_t first, int64_t n, posenc_rope_tensor *slices) {
    for (int i = 0; i < TENSORS; i++)
        slices[i] = posenc_rope_tensor_of(posenc_view_slice(of[i].x, 2, first, n),
                                          posenc_view_slice(of[i].y, 2, first, n), of[i].rotates, of[i].scale);
}

/* Rows at positions that follow n_past. */
static void append_counted(const posenc_step *step, const posenc_rope_tensor *tensors, posenc_range rows) {
    int64_t per_token = step->n_heads + 2 * step->n_kv_heads;
    for (int64_t first = rows.begin / per_token; first * per_token < rows.end; first += TOKENS_AT_ONCE) {
        int64_t n = posenc_min(step->n_tokens - first, TOKENS_AT_ONCE);
        int32_t positions[POSENC_MAX_AXES * TOKENS_AT_ONCE];
        for (int64_t axis = 0; axis < step->rope->n_axes; axis++)
            for (int64_t t = 0; t < n; t++)
                positions[axis * n + t] = (int32_t)(step->n_past + first + t);
        posenc_rope_tensor slices[TENSORS];
        slice_tensors(tensors, first, n, slices);
        posenc_range some = {posenc_max(rows.begin - first * per_token, 0),
                             posenc_min(rows.end - first * per_token, n * per_token)};
        posenc_coords at = posenc_planes(positions);
        posenc_rope_run_tensors(step->rope, slices, TENSORS, &at, NULL, POSENC_FORWARD, some);
    }
}

posenc_status posenc_step_append(const posenc_step *step, int64_t ith, int64_t nth) {
    static const int32_t any_position[POSENC_MAX_AXES];
    posenc_status status = check_counts(step);
    if (status == POSENC_OK)
        status = check_apart(step);
    if (status == POSENC_OK)
        status = check_attention(step);
    if (status != POSENC_OK)
        return status;
    posenc_rope_tensor tensors[TENSORS];
    set_tensors(step, tensors);
    posenc_coords at = posenc_planes(step->positions != NULL ? step->positions : any_position);
    int64_t n_checked = step->positions != NULL ? step->n_tokens : posenc_min(step->n_tokens, 1), n_rows;
    status = posenc_rope_check_tensors(step->rope, tensors, TENSORS, &at, NULL, n_checked, POSENC_FORWARD, &n_rows);
    posenc_range rows;
    if (status == POSENC_OK)
        status = share_of(n_rows, ith, nth, &rows);
    if (status != POSENC_OK || rows.begin == rows.end)
        return status;
    if (step->positions != NULL)
        posenc_rope_run_tensors(step->rope, tensors, TENSORS, &at, NULL, POSENC_FORWARD, rows);
    else
        append_counted(step, tensors, rows);
    return POSENC_OK;
}

/* ---- Attend ---- */

posenc_status posenc_step_attend(const posenc_step *step, void *scratch, size_t scratch_bytes, int64_t ith,
                                 int64_t nth) {
    posenc_status status = check_counts(step);
    if (status != POSENC_OK)
        return status;
    step_views views;
    posenc_attention_args args = attention_of(step, &views);
    posenc_range units;
    status = share_of(posenc_attention_unit_count(&views.q, &views.k), ith, nth, &units);
    return status == POSENC_OK ? posenc_attention_run(&args, scratch, scratch_bytes, units) : status;
}
