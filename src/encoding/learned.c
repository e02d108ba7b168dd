/* SPDX-License-Identifier: MIT */
/* Learned tables: look-up, and the gradient of a table. */
#include <posenc/learned.h>

#include <math.h>

#include "core/minmax.h"
#include "core/view.h"
#include "encoding/encoding.h"

typedef struct learned {
    posenc_generator base;
    posenc_view table;
    posenc_lookup lookup;
} learned;

/* Limit of offsets: sums with ids stay in the range of int64. */
#define MAX_OFFSET ((int64_t)1 << 62)

static const posenc_lookup defaults = POSENC_LOOKUP_DEFAULTS;

/* ---- Rows of a table ---- */

/* Table row of an id: id + offset, clamped to the table, or -1 where the policy makes the output row zeros. */
static int64_t row_of(const posenc_lookup *lookup, int64_t n_rows, int64_t id) {
    int64_t r;
    if (__builtin_add_overflow(id, lookup->offset, &r))
        r = id > 0 ? INT64_MAX : INT64_MIN;
    if (r >= 0 && r < n_rows)
        return r;
    if (lookup->policy == POSENC_OUT_OF_RANGE_ZERO || n_rows == 0)
        return -1;
    return r < 0 ? 0 : n_rows - 1;
}

/* Sets the range of accepted ids: all, or the ids with a row. */
static void set_range(posenc_generator *g, const posenc_lookup *lookup, int64_t n_rows) {
    g->lowest = INT64_MIN;
    g->highest = INT64_MAX;
    int always_has_row = lookup->policy == POSENC_OUT_OF_RANGE_CLAMP && n_rows > 0;
    if (always_has_row || lookup->policy == POSENC_OUT_OF_RANGE_ZERO)
        return;
    g->lowest = -lookup->offset;
    g->highest = n_rows - 1 - lookup->offset;
}

static void sources(const posenc_generator *g, const posenc_tokens *tokens, int64_t first, const void **out) {
    const learned *l = (const learned *)g;
    int64_t begin = first * posenc_dtype_size(l->table.dtype);
    for (int64_t t = 0; t < tokens->n; t++) {
        int64_t r = row_of(&l->lookup, l->table.ne[1], tokens->whole[t]);
        out[t] = r < 0 ? NULL : (const char *)l->table.data + r * l->table.nb[1] + begin;
    }
}

/* ---- Set-up ---- */

static posenc_status check_lookup(const posenc_lookup *lookup) {
    if ((unsigned)lookup->policy > POSENC_OUT_OF_RANGE_ZERO)
        return posenc_refused(POSENC_ERR_ENUM);
    if (lookup->offset > MAX_OFFSET || lookup->offset < -MAX_OFFSET)
        return posenc_refused(POSENC_ERR_POSITION);
    return isfinite(lookup->scale) ? POSENC_OK : posenc_refused(POSENC_ERR_SCALE);
}

static posenc_status check_table(const posenc_view *table) {
    if (table->ne[2] != 1 || table->ne[3] != 1)
        return posenc_refused(POSENC_ERR_SHAPE);
    return table->ne[0] < 1 || table->ne[0] > POSENC_MAX_DIM ? posenc_refused(POSENC_ERR_HEAD_DIM) : POSENC_OK;
}

posenc_status posenc_learned_create(const posenc_view *table, const posenc_lookup *lookup, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (lookup == NULL)
        lookup = &defaults;
    posenc_status status = posenc_check_input(table);
    if (status == POSENC_OK)
        status = check_table(table);
    if (status == POSENC_OK)
        status = check_lookup(lookup);
    if (status != POSENC_OK)
        return status;
    learned *l = posenc_generator_new(sizeof *l, table->ne[0]);
    if (l == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    l->table = *table;
    l->lookup = *lookup;
    l->base.takes_reals = 0;
    l->base.sources = sources;
    l->base.source_type = table->dtype;
    l->base.factor = lookup->scale;
    set_range(&l->base, lookup, table->ne[1]);
    return posenc_encoding_of(&l->base, 0, out);
}

/* ---- Gradient ---- */

static posenc_status check_grad(const posenc_lookup *lookup, const posenc_view *dy, const posenc_view *dtable,
                                posenc_range *rows) {
    posenc_status status = posenc_check_input(dy);
    if (status == POSENC_OK)
        status = posenc_check_output_f32(dtable);
    if (status == POSENC_OK)
        status = check_table(dtable);
    if (status == POSENC_OK)
        status = check_lookup(lookup);
    if (status == POSENC_OK && (dy->ne[0] != dtable->ne[0] || dy->ne[3] > 1))
        status = posenc_refused(POSENC_ERR_SHAPE);
    if (status == POSENC_OK)
        status = posenc_check_apart(dy, dtable);
    return status == POSENC_OK ? posenc_check_rows(rows, dtable->ne[1]) : status;
}

/* Some tokens of a batch. */
static void add_chunk(const posenc_lookup *lookup, const posenc_tokens *tokens, const char *dy, ptrdiff_t dy_stride,
                      posenc_dtype type, const posenc_view *dtable, posenc_range rows) {
    const posenc_kernels *kernels = posenc_active_kernels();
    for (int64_t t = 0; t < tokens->n; t++) {
        int64_t r = row_of(lookup, dtable->ne[1], tokens->whole[t]);
        if (r < rows.begin || r >= rows.end)
            continue;
        const void *source = dy + t * dy_stride;
        posenc_place_rows_args args = {
            .sources = &source,
            .source_type = type,
            .factor = lookup->scale,
            .x = posenc_view_at(dtable, r, 0, 0),
            .y = posenc_view_at(dtable, r, 0, 0),
            .type = POSENC_F32,
            .n = (size_t)dtable->ne[0],
            .n_rows = 1,
        };
        kernels->place_rows(&args);
    }
}

posenc_status posenc_learned_backward(const posenc_lookup *lookup, const posenc_coords *ids, const posenc_view *dy,
                                      const posenc_view *dtable, posenc_range rows) {
    if (lookup == NULL)
        lookup = &defaults;
    posenc_status status = check_grad(lookup, dy, dtable, &rows);
    if (status != POSENC_OK || posenc_view_count(dy) == 0)
        return status;
    posenc_generator table = {.dim = dy->ne[0], .n_axes = 1};
    set_range(&table, lookup, dtable->ne[1]);
    posenc_term term = {.generator = &table, .divide = 1};
    int64_t refused = -1;
    status = posenc_check_term(&term, ids, dy->ne[1], dy->ne[2], &refused);
    if (status != POSENC_OK)
        return status;
    posenc_tokens tokens;
    for (int64_t batch = 0; batch < dy->ne[2]; batch++)
        for (int64_t first = 0; first < dy->ne[1]; first += POSENC_CHUNK) {
            int64_t n = posenc_min(dy->ne[1] - first, POSENC_CHUNK);
            posenc_load_tokens(&term, ids, dy->ne[1], batch, first, n, &tokens);
            add_chunk(lookup, &tokens, posenc_view_at(dy, first, batch, 0), (ptrdiff_t)dy->nb[1], dy->dtype, dtable,
                      rows);
        }
    return POSENC_OK;
}
