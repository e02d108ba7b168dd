/* SPDX-License-Identifier: MIT */
/* RoPE: the calls on data. A call is one tensor or several, walked token by token, so that the cosines and sines of a
 * token serve them all. */
#include <string.h>

#include "core/minmax.h"
#include "core/view.h"
#include "rope/rope.h"

/* Heads whose norms are computed at a time; their common factors are multiplied once for all of them. */
#define NORM_HEADS 64

/* The weights of a norm without: kernels have one kind of norm, and a product with 1 is exact. */
#define FOUR(x) x, x, x, x
#define ONES_64 FOUR(FOUR(FOUR(1.0f)))
static const float ones[] = {FOUR(FOUR(ONES_64))};
_Static_assert(sizeof ones == POSENC_MAX_HEAD_DIM * sizeof(float), "a weight for each channel");

/* ---- One tensor at one token ---- */

/* Heads first .. first + n - 1 of one tensor, at one token. */
typedef struct heads {
    const char *x;
    char *y;
    posenc_dtype y_type;
    ptrdiff_t y_stride;
    int64_t n;
    int64_t y_ahead;     /* from a head's output to one that will be written soon, and should be fetched; 0: none */
    const float *norms;  /* factor of each head; NULL: no norm */
    const float *weight; /* of the norm, for each channel */
} heads;

/* Arguments that stay the same through a slice. */
typedef struct walk {
    const posenc_rope *rope;
    const posenc_kernels *kernels;
    posenc_row_source *source;
    posenc_direction direction;
} walk;

static int64_t row_of(const posenc_rope_tensor *tensor, int64_t token) {
    if (!posenc_rope_scatters(tensor))
        return token;
    return tensor->rows32 != NULL ? tensor->rows32[token] : tensor->rows64[token];
}

/* Bytes of output that is prefetched, where it has to come from beyond the caches and was not just read: over 8 MB
 * and over 16 MB, out of place, rotations take 0.83 times as long with it, and as long as memcpy. In place it cost 10
 * to 20 %. */
#define FETCHED_BYTES 8192

/* n_tokens: how many are still to come, this one included. */
static int64_t bytes_ahead(const posenc_rope_tensor *tensor, int64_t token, int64_t n_tokens) {
    if (n_tokens < 2 || tensor->x.data == tensor->y.data || posenc_rope_is_staged(tensor) ||
        !posenc_is_far(posenc_view_count(&tensor->y)))
        return 0;
    int64_t size = tensor->y.ne[0] * tensor->y.ne[1] * posenc_dtype_size(tensor->y.dtype);
    int64_t tokens = (FETCHED_BYTES + size - 1) / size;
    return tokens < n_tokens ? (row_of(tensor, token + tokens) - row_of(tensor, token)) * tensor->y.nb[2] : 0;
}

static heads heads_of(const posenc_rope_tensor *tensor, int64_t token, int64_t first, int64_t n, int64_t n_tokens) {
    return (heads){
        .x = posenc_view_at(&tensor->x, first, token, 0),
        .y = posenc_view_at(&tensor->y, first, row_of(tensor, token), 0),
        .y_type = tensor->y.dtype,
        .y_stride = (ptrdiff_t)tensor->y.nb[1],
        .n = n,
        .y_ahead = bytes_ahead(tensor, token, n_tokens),
    };
}

/* n of these heads, from the first-th on. */
static heads some_of(const posenc_rope_tensor *tensor, const heads *h, int64_t first, int64_t n) {
    heads some = *h;
    some.x += first * tensor->x.nb[1];
    some.y += first * h->y_stride;
    some.norms = h->norms != NULL ? h->norms + first : NULL;
    some.n = n;
    return some;
}

/* Channels first .. first + n - 1: nothing, a copy of the bytes, or a conversion. */
static void copy_channels(const walk *w, const posenc_rope_tensor *tensor, const heads *h, int64_t first, int64_t n) {
    int changes = tensor->x.dtype != h->y_type || tensor->scale != 1.0f || h->norms != NULL;
    if (n == 0 || (!changes && h->x == h->y))
        return;
    int64_t x_size = posenc_dtype_size(tensor->x.dtype), y_size = posenc_dtype_size(h->y_type);
    const char *x = h->x + first * x_size;
    char *y = h->y + first * y_size;
    if (changes) {
        posenc_convert_args args = {
            .x = x,
            .y = y,
            .x_type = tensor->x.dtype,
            .y_type = h->y_type,
            .x_stride = (ptrdiff_t)tensor->x.nb[1],
            .y_stride = h->y_stride,
            .y_ahead = (ptrdiff_t)h->y_ahead,
            .factor = tensor->scale,
            .weight = h->norms != NULL ? h->weight + first : NULL,
            .head_factors = h->norms,
            .n = (size_t)n,
            .n_heads = (size_t)h->n,
        };
        w->kernels->convert_rows(&args);
        return;
    }
    for (int64_t head = 0; head < h->n; head++)
        memcpy(y + head * h->y_stride, x + head * tensor->x.nb[1], (size_t)(n * y_size));
}

/* The channels that are not rotated: with the first slice. */
static void copy_unrotated(const walk *w, const posenc_rope_tensor *tensor, const heads *h) {
    const posenc_rope_params *p = &w->rope->params;
    if (w->source->first > 0 || p->n_rot == p->head_dim)
        return;
    int64_t after = p->n_offs + p->n_rot;
    copy_channels(w, tensor, h, 0, p->n_offs);
    copy_channels(w, tensor, h, after, p->head_dim - after);
}

/* A token that a shift leaves where it is. Slice by slice, as if it were rotated, for others may go to the same row. */
static void keep(const walk *w, const posenc_rope_tensor *tensor, const heads *h) {
    const posenc_rope_params *p = &w->rope->params;
    int64_t first = w->source->first, n = w->source->n;
    if (p->layout == POSENC_ROPE_HALF) {
        copy_channels(w, tensor, h, p->n_offs + first, n);
        copy_channels(w, tensor, h, p->n_offs + p->n_rot / 2 + first, n);
    } else {
        copy_channels(w, tensor, h, p->n_offs + 2 * first, 2 * n);
    }
    copy_unrotated(w, tensor, h);
}

/* Pairs of the slice whose halves lie in n_halved pairs, all of them unless each section is halved. */
typedef struct halved {
    int64_t first, n; /* in the slice */
    int64_t n_halved;
} halved;

static void rotate_part(const walk *w, const posenc_rope_tensor *tensor, const heads *h, const float *cos_row,
                        const float *sin_row, halved part) {
    const posenc_rope_params *p = &w->rope->params;
    posenc_rope_layout layout = p->layout;
    int64_t first = w->source->first + part.first;
    int64_t x_first = p->n_offs + (layout == POSENC_ROPE_HALF ? first : 2 * first);
    int64_t y_first =
        p->n_offs + (layout == POSENC_ROPE_HALF || layout == POSENC_ROPE_DEINTERLEAVE ? first : 2 * first);
    int backwards = w->direction == POSENC_INVERSE || w->direction == POSENC_BACKWARD;
    int per_channel = posenc_row_source_is_per_channel(w->source);
    int64_t row_first = per_channel ? 2 * part.first : part.first;
    posenc_rope_args args = {
        .x = h->x + x_first * posenc_dtype_size(tensor->x.dtype),
        .y = h->y + y_first * posenc_dtype_size(h->y_type),
        .x_type = tensor->x.dtype,
        .y_type = h->y_type,
        .x_stride = (ptrdiff_t)tensor->x.nb[1],
        .y_stride = h->y_stride,
        .y_ahead = (ptrdiff_t)h->y_ahead,
        .cos_row = cos_row + row_first,
        .sin_row = sin_row + row_first,
        .cos_factor = tensor->scale,
        .sin_factor = backwards ? -tensor->scale : tensor->scale,
        .weight = h->norms != NULL ? h->weight + x_first : NULL,
        .head_factors = h->norms,
        .half = (size_t)part.n_halved,
        .n = (size_t)part.n,
        .n_heads = (size_t)h->n,
    };
    if (per_channel) {
        posenc_rope_channels_args channels = {args, layout == POSENC_ROPE_INTERLEAVED, backwards};
        w->kernels->rope_channels(&channels);
        return;
    }
    switch (layout) {
    case POSENC_ROPE_INTERLEAVED: w->kernels->rope_interleaved(&args); break;
    case POSENC_ROPE_DEINTERLEAVE: w->kernels->rope_deinterleave(&args); break;
    default: w->kernels->rope_half(&args); break;
    }
}

/* Part k of the slice: a section, where each is halved; else there is one. */
static halved part_of(const walk *w, int k, int64_t first) {
    const posenc_rope_params *p = &w->rope->params;
    if (p->layout == POSENC_ROPE_HALF_BY_AXIS)
        return (halved){first, p->axes.sections[k], p->axes.sections[k]};
    return (halved){0, w->source->n, p->n_rot / 2};
}

/* The rotated channels of the slice, and with the first slice all others. */
static void rotate(const walk *w, const posenc_rope_tensor *tensor, const heads *h, const float *cos_row,
                   const float *sin_row) {
    int n_parts = w->rope->params.layout == POSENC_ROPE_HALF_BY_AXIS ? w->rope->n_axes : 1;
    int64_t first = 0; /* one slice holds all sections: POSENC_MAX_AXES_ROT */
    for (int k = 0; k < n_parts; k++) {
        halved part = part_of(w, k, first);
        if (part.n > 0)
            rotate_part(w, tensor, h, cos_row, sin_row, part);
        first += part.n;
    }
    copy_unrotated(w, tensor, h);
}

/* Rotated where there is a row of cosines, else as they are: all channels, for tensors that take one slice. */
static void write_heads(const walk *w, const posenc_rope_tensor *tensor, const heads *h, const float *cos_row,
                        const float *sin_row) {
    if (cos_row != NULL)
        rotate(w, tensor, h, cos_row, sin_row);
    else
        copy_channels(w, tensor, h, 0, w->rope->params.head_dim);
}

/* ---- Heads that are finished in float32 ---- */

static void quantise(const walk *w, const heads *h, const void *x, posenc_dtype x_type, ptrdiff_t x_stride) {
    posenc_quantise_args args = {
        .x = x,
        .y = h->y,
        .x_type = x_type,
        .y_type = h->y_type,
        .x_stride = x_stride,
        .y_stride = h->y_stride,
        .n = (size_t)w->rope->params.head_dim,
        .n_heads = (size_t)h->n,
    };
    w->kernels->quantise_rows(&args);
}

/* Writes finished heads to y; no-op if y is where they are. */
static void pass_on(const walk *w, const heads *h, const void *x, posenc_dtype x_type, ptrdiff_t x_stride) {
    if (posenc_has_blocks(h->y_type)) {
        quantise(w, h, x, x_type, x_stride);
        return;
    }
    posenc_convert_args args = {
        .x = x,
        .y = h->y,
        .x_type = x_type,
        .y_type = h->y_type,
        .x_stride = x_stride,
        .y_stride = h->y_stride,
        .factor = 1.0f,
        .n = (size_t)w->rope->params.head_dim,
        .n_heads = (size_t)h->n,
    };
    if (x != h->y)
        w->kernels->convert_rows(&args);
}

/* A few heads at a time, in y itself if it is float32. Not inlined, nor is do_widened_heads: clang would give every
 * call their room on the stack. */
static __attribute__((noinline)) void stage(const walk *w, const posenc_rope_tensor *tensor, const heads *h,
                                            const float *cos_row, const float *sin_row) {
    float room[POSENC_STAGED];
    int64_t head_dim = w->rope->params.head_dim, at_once = POSENC_STAGED / head_dim;
    for (int64_t head = 0; head < h->n; head += at_once) {
        heads some = some_of(tensor, h, head, posenc_min(h->n - head, at_once)), finished = some;
        if (h->y_type != POSENC_F32) {
            finished.y = (char *)room;
            finished.y_type = POSENC_F32;
            finished.y_stride = (ptrdiff_t)sizeof(float) * (ptrdiff_t)head_dim;
        }
        write_heads(w, tensor, &finished, cos_row, sin_row);
        if (tensor->hadamard > 0)
            posenc_transform_heads(w->kernels, finished.y, finished.y_stride, some.n, head_dim, tensor->hadamard);
        pass_on(w, &some, finished.y, POSENC_F32, finished.y_stride);
    }
}

/* V as it is goes to its cache without a copy. */
static void finish(const walk *w, const posenc_rope_tensor *tensor, const heads *h, const float *cos_row,
                   const float *sin_row) {
    int changes = cos_row != NULL || tensor->hadamard > 0 || tensor->scale != 1.0f || h->norms != NULL;
    if (!posenc_rope_is_staged(tensor))
        write_heads(w, tensor, h, cos_row, sin_row);
    else if (changes)
        stage(w, tensor, h, cos_row, sin_row);
    else
        pass_on(w, h, h->x, tensor->x.dtype, (ptrdiff_t)tensor->x.nb[1]);
}

/* The factors of a few heads' norms at a time; the rotation or the copy multiplies by them. */
static void normalise(const walk *w, const posenc_rope_tensor *tensor, const heads *h, const float *cos_row,
                      const float *sin_row) {
    float norms[NORM_HEADS];
    for (int64_t head = 0; head < h->n; head += NORM_HEADS) {
        heads some = some_of(tensor, h, head, posenc_min(h->n - head, NORM_HEADS));
        posenc_rms_factors_args args = {
            .x = some.x,
            .x_type = tensor->x.dtype,
            .x_stride = (ptrdiff_t)tensor->x.nb[1],
            .factors = norms,
            .eps = tensor->eps,
            .n = (size_t)w->rope->params.head_dim,
            .n_heads = (size_t)some.n,
        };
        some.norms = norms;
        some.weight = tensor->weight != NULL ? tensor->weight : ones;
        w->kernels->rms_factors(&args);
        finish(w, tensor, &some, cos_row, sin_row);
    }
}

/* 1 if a shift leaves the token where it is. */
static int stays(const walk *w, int64_t token) {
    if (w->direction != POSENC_SHIFT || w->source->table != NULL)
        return 0;
    for (int axis = 0; axis < w->rope->n_axes; axis++)
        if (posenc_row_source_position(w->source, axis, token) != 0.0)
            return 0;
    return 1;
}

static void do_heads(const walk *w, const posenc_rope_tensor *tensor, int64_t token, const heads *h, int64_t n_wanted) {
    const float *cos_row = NULL, *sin_row = NULL;
    int turns = tensor->rotates && w->source->n > 0, is_kept = turns && stays(w, token), rotates = turns && !is_kept;
    if (rotates)
        posenc_row_source_get(w->source, token, n_wanted, &cos_row, &sin_row);
    if (posenc_rope_is_normed(tensor))
        normalise(w, tensor, h, cos_row, sin_row);
    else if (posenc_rope_is_staged(tensor)) {
        if (rotates || w->source->first == 0)
            finish(w, tensor, h, cos_row, sin_row);
    } else if (is_kept)
        keep(w, tensor, h);
    else if (rotates)
        rotate(w, tensor, h, cos_row, sin_row);
    else if (w->source->first == 0)
        copy_channels(w, tensor, h, 0, w->rope->params.head_dim);
}

/* ---- Heads of cache types ---- */

/* 1 if nothing happens to the heads of a token but that their bytes may go elsewhere: those of a shift by 0, of a
 * tensor that is only scattered. */
static int moves_bytes(const walk *w, const posenc_rope_tensor *tensor, int64_t token) {
    int turns = tensor->rotates && w->source->n > 0 && !stays(w, token);
    return !turns && tensor->y.dtype == tensor->x.dtype && tensor->scale == 1.0f && tensor->hadamard == 0 &&
           !posenc_rope_is_normed(tensor);
}

static void copy_bytes(const posenc_rope_tensor *tensor, const heads *h) {
    size_t bytes = posenc_row_bytes(&tensor->x);
    for (int64_t head = 0; head < h->n && h->x != h->y; head++)
        memcpy(h->y + head * h->y_stride, h->x + head * tensor->x.nb[1], bytes);
}

/* A few heads at a time, in float32: exactly what the cache holds. */
static __attribute__((noinline)) void do_widened_heads(const walk *w, const posenc_rope_tensor *tensor, int64_t token,
                                                       const heads *h, int64_t n_wanted) {
    float room[POSENC_STAGED];
    int64_t head_dim = w->rope->params.head_dim, at_once = POSENC_STAGED / head_dim;
    if (moves_bytes(w, tensor, token)) {
        copy_bytes(tensor, h);
        return;
    }
    for (int64_t head = 0; head < h->n; head += at_once) {
        heads some = some_of(tensor, h, head, posenc_min(h->n - head, at_once));
        posenc_rope_tensor widened = *tensor;
        widened.x = posenc_view_dense(room, POSENC_F32, head_dim, some.n, 1, 1);
        posenc_heads stored = {some.x, tensor->x.dtype, (ptrdiff_t)tensor->x.nb[1], some.n};
        posenc_widen_heads(w->kernels, &stored, head_dim, room, (ptrdiff_t)widened.x.nb[1]);
        some.x = (const char *)room;
        do_heads(w, &widened, token, &some, n_wanted);
    }
}

/* ---- The walk ---- */

static int64_t heads_per_token(const posenc_rope_tensor *tensors, int64_t n_tensors) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n_tensors; i++)
        sum += tensors[i].x.ne[1];
    return sum;
}

/* Heads first .. end - 1 of one token, counted through all tensors. n_wanted: tokens from this one on, it included,
 * whose rows of cos and sin will be asked for. */
static void do_token(const walk *w, const posenc_rope_tensor *tensors, int64_t n_tensors, int64_t token, int64_t first,
                     int64_t end, int64_t n_wanted) {
    int64_t base = 0;
    for (int64_t i = 0; i < n_tensors; base += tensors[i].x.ne[1], i++) {
        int64_t from = posenc_max(first - base, 0), to = posenc_min(end - base, tensors[i].x.ne[1]);
        if (from >= to)
            continue;
        heads h = heads_of(&tensors[i], token, from, to - from, n_wanted);
        if (posenc_rope_is_widened(&tensors[i]))
            do_widened_heads(w, &tensors[i], token, &h, n_wanted);
        else
            do_heads(w, &tensors[i], token, &h, n_wanted);
    }
}

/* A division costs as much as three heads: those of a call for one token, or for all, are left out. */
static int64_t quotient(int64_t a, int64_t b) {
    return a < b ? 0 : a / b;
}

static void do_rows(const walk *w, const posenc_rope_tensor *tensors, int64_t n_tensors, posenc_range rows) {
    int64_t per_token = heads_per_token(tensors, n_tensors);
    if (rows.begin >= rows.end)
        return;
    int64_t token = quotient(rows.begin, per_token), first = rows.begin - token * per_token;
    int64_t last_token = quotient(rows.end - 1, per_token);
    for (int64_t left = rows.end - rows.begin; left > 0; token++) {
        int64_t end = posenc_min(per_token, first + left);
        do_token(w, tensors, n_tensors, token, first, end, last_token - token + 1);
        left -= end - first;
        first = 0;
    }
}

static void run(posenc_row_source *source, const posenc_rope_tensor *tensors, int64_t n_tensors,
                posenc_direction direction, posenc_range rows) {
    const posenc_rope *rope = source->rope;
    walk w = {rope, posenc_active_kernels(), source, direction};
    int64_t first = 0;
    do {
        int64_t n = posenc_min(rope->n_pairs - first, POSENC_SLICE);
        posenc_row_source_slice(source, w.kernels, first, n, direction);
        do_rows(&w, tensors, n_tensors, rows);
        first += n;
    } while (first < rope->n_pairs);
}

void posenc_rope_rotate(const posenc_rope *rope, const posenc_view *x, const posenc_rope_table *table,
                        const posenc_view *y) {
    const posenc_rope_tensor tensor = {.x = *x, .y = *y, .rotates = 1, .scale = 1.0f};
    const posenc_coords none = posenc_planes(NULL);
    posenc_row_source source;
    posenc_row_source_begin(&source, rope, table, &none, x->ne[2]);
    run(&source, &tensor, 1, POSENC_FORWARD, (posenc_range){0, x->ne[1] * x->ne[2]});
}

/* ---- Calls ---- */

static posenc_status check_source(const posenc_rope *rope, const posenc_coords *at, const posenc_rope_table *table,
                                  int64_t n_tokens, int64_t n_batch, posenc_direction direction) {
    if (posenc_check_direction(rope, direction) != POSENC_OK)
        return posenc_refused(POSENC_ERR_ENUM);
    if (table != NULL && table->per_channel && direction != POSENC_FORWARD && direction != POSENC_BACKWARD)
        return posenc_refused(POSENC_ERR_ENUM);
    return table != NULL ? posenc_check_table(rope, table, n_tokens)
                         : posenc_rope_check_source(rope, at, n_tokens, n_batch);
}

/* A tensor with a batch. */
static posenc_status apply_batch(const posenc_rope *rope, const posenc_view *x, const posenc_coords *at,
                                 const posenc_rope_table *table, const posenc_view *y, posenc_direction direction,
                                 posenc_range rows) {
    if (rope == NULL || x == NULL || y == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_rope_tensor tensor = {.x = *x, .y = *y, .rotates = 1, .scale = 1.0f};
    posenc_status status = posenc_check_rope_tensor(rope, &tensor);
    if (status == POSENC_OK)
        status = check_source(rope, at, table, x->ne[2], x->ne[3], direction);
    if (status != POSENC_OK)
        return status;
    int64_t per_batch = x->ne[1] * x->ne[2];
    status = posenc_check_rows(&rows, per_batch * x->ne[3]);
    if (status != POSENC_OK || rows.begin == rows.end)
        return status;

    posenc_row_source source;
    posenc_row_source_begin(&source, rope, table, at, x->ne[2]);
    for (int64_t batch = quotient(rows.begin, per_batch); batch * per_batch < rows.end; batch++) {
        posenc_range part = {posenc_max(rows.begin - batch * per_batch, 0),
                             posenc_min(rows.end - batch * per_batch, per_batch)};
        tensor.x.data = posenc_view_at(x, 0, 0, batch);
        tensor.y.data = posenc_view_at(y, 0, 0, batch);
        posenc_row_source_batch(&source, batch);
        run(&source, &tensor, 1, direction, part);
    }
    return POSENC_OK;
}

posenc_status posenc_rope_apply_at(const posenc_rope *rope, const posenc_view *x, const posenc_coords *at,
                                   const posenc_view *y, posenc_direction direction, posenc_range rows) {
    return at == NULL ? posenc_refused(POSENC_ERR_NULL) : apply_batch(rope, x, at, NULL, y, direction, rows);
}

posenc_status posenc_rope_apply_table(const posenc_rope *rope, const posenc_view *x, const posenc_rope_table *table,
                                      const posenc_view *y, posenc_direction direction, posenc_range rows) {
    posenc_coords none = posenc_planes(NULL);
    return table == NULL ? posenc_refused(POSENC_ERR_NULL) : apply_batch(rope, x, &none, table, y, direction, rows);
}

posenc_status posenc_rope_check_tensors(const posenc_rope *rope, const posenc_rope_tensor *tensors, int64_t n_tensors,
                                        const posenc_coords *at, const posenc_rope_table *table, int64_t n_positions,
                                        posenc_direction direction, int64_t *n_rows) {
    int64_t n_tokens = n_tensors > 0 ? tensors[0].x.ne[2] : 0, n_heads = 0;
    int rotates = 0;
    for (int64_t i = 0; i < n_tensors; i++) {
        posenc_status status = posenc_check_rope_tensor(rope, &tensors[i]);
        if (status != POSENC_OK)
            return status;
        if (tensors[i].x.ne[2] != n_tokens || tensors[i].x.ne[3] != 1 || tensors[i].y.ne[3] != 1)
            return posenc_refused(POSENC_ERR_SHAPE);
        n_heads += tensors[i].x.ne[1];
        if (posenc_leaves_limit(n_heads, posenc_max(n_tokens, 1)))
            return posenc_refused(POSENC_ERR_SHAPE);
        rotates |= tensors[i].rotates;
    }
    *n_rows = n_heads * n_tokens;
    return check_source(rope, at, table, rotates ? posenc_min(n_positions, n_tokens) : 0, 1, direction);
}

void posenc_rope_run_tensors(const posenc_rope *rope, const posenc_rope_tensor *tensors, int64_t n_tensors,
                             const posenc_coords *at, const posenc_rope_table *table, posenc_direction direction,
                             posenc_range rows) {
    posenc_row_source source;
    posenc_row_source_begin(&source, rope, table, at, n_tensors > 0 ? tensors[0].x.ne[2] : 0);
    run(&source, tensors, n_tensors, direction, rows);
}

posenc_status posenc_rope_apply_tensors(const posenc_rope *rope, const posenc_rope_tensor *tensors, int64_t n_tensors,
                                        const int32_t *positions, const posenc_rope_table *table,
                                        posenc_direction direction, posenc_range rows) {
    if (rope == NULL || (tensors == NULL && n_tensors > 0))
        return posenc_refused(POSENC_ERR_NULL);
    if (n_tensors < 0)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (positions != NULL)
        table = NULL;
    posenc_coords at = posenc_planes(positions);
    int64_t n_rows;
    posenc_status status =
        posenc_rope_check_tensors(rope, tensors, n_tensors, &at, table, INT64_MAX, direction, &n_rows);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, n_rows);
    if (status == POSENC_OK && rows.begin < rows.end)
        posenc_rope_run_tensors(rope, tensors, n_tensors, &at, table, direction, rows);
    return status;
}
