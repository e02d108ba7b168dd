/* SPDX-License-Identifier: MIT */
/* Absolute encodings: from generators of float32 rows to any destination.
 *
 * A field of the row is walked in tiles. Where the destination is float32 and wants the plain value, generators write
 * or add into it; otherwise they fill a tile on the stack, and place_rows takes it to its place. Rows of a table need
 * no tile. */
#include "encoding/encoding.h"

#include <stdlib.h>

#include "core/angles.h"
#include "core/minmax.h"
#include "core/view.h"

/* A tile on the stack: 32 rows are a block of the angle engine. */
enum { TILE_ROWS = 32, TILE_COLUMNS = 128 };

/* ---- Objects ---- */

static void release(posenc_generator *g) {
    if (atomic_fetch_sub_explicit(&g->users, 1, memory_order_acq_rel) == 1)
        g->destroy(g);
}

static void destroy(posenc_generator *g) {
    free(g);
}

void *posenc_generator_new(size_t bytes, int64_t dim) {
    posenc_generator *g = calloc(1, bytes);
    if (g == NULL)
        return NULL;
    g->dim = dim;
    g->n_axes = 1;
    g->lowest = INT32_MIN;
    g->highest = INT32_MAX;
    g->takes_reals = 1;
    g->destroy = destroy;
    return g;
}

posenc_status posenc_encoding_of(posenc_generator *generator, int64_t n_zeros, posenc_encoding **out) {
    posenc_encoding *e = calloc(1, sizeof *e + 2 * sizeof e->fields[0]);
    atomic_init(&generator->users, 1);
    if (e == NULL) {
        release(generator);
        return posenc_refused(POSENC_ERR_MEMORY);
    }
    e->dim = generator->dim + n_zeros;
    e->n_axes = generator->n_axes;
    if (n_zeros > 0)
        e->fields[1] = (posenc_field){.column = generator->dim, .width = n_zeros};
    e->fields[0] =
        (posenc_field){.width = generator->dim, .n_terms = 1, .terms = {{.generator = generator, .divide = 1}}};
    e->n_fields = 1 + (n_zeros > 0);
    *out = e;
    return POSENC_OK;
}

void posenc_encoding_free(posenc_encoding *e) {
    if (e == NULL)
        return;
    for (int f = 0; f < e->n_fields; f++)
        for (int k = 0; k < e->fields[f].n_terms; k++)
            release(e->fields[f].terms[k].generator);
    free(e);
}

int64_t posenc_encoding_dim(const posenc_encoding *e) {
    return e == NULL ? 0 : e->dim;
}

int posenc_encoding_axis_count(const posenc_encoding *e) {
    return e == NULL ? 0 : e->n_axes;
}

/* ---- One call ---- */

typedef struct job {
    const posenc_encoding *e;
    const posenc_coords *at;
    const posenc_view *x, *gate, *y; /* x, gate: or NULL */
    int in_place;                    /* x is y */
    const posenc_kernels *kernels;
} job;

/* Some tokens of a batch. */
typedef struct chunk {
    int64_t batch, first, n;
} chunk;

static char *row_of(const posenc_view *view, const chunk *c, int64_t column) {
    return (char *)posenc_view_at(view, c->first, c->batch, 0) + column * posenc_dtype_size(view->dtype);
}

/* Takes n columns of rows, wherever they are, to column `column` of the destination. */
static void place(const job *j, const chunk *c, int64_t column, int64_t n, const void *const *sources,
                  posenc_dtype type, float factor) {
    posenc_place_rows_args args = {
        .sources = sources,
        .source_type = type,
        .x = j->x != NULL ? row_of(j->x, c, column) : NULL,
        .x_stride = j->x != NULL ? (ptrdiff_t)j->x->nb[1] : 0,
        .y = row_of(j->y, c, column),
        .y_stride = (ptrdiff_t)j->y->nb[1],
        .type = j->y->dtype,
        .factor = factor,
        .n = (size_t)n,
        .n_rows = (size_t)c->n,
    };
    if (j->gate != NULL) {
        args.gate_step = j->gate->ne[0] == 1 ? 0 : 1;
        args.gate = (const float *)(const void *)row_of(j->gate, c, args.gate_step * column);
        args.gate_stride = (ptrdiff_t)j->gate->nb[1];
    }
    j->kernels->place_rows(&args);
}

/* Rows of one term, in float32. */
static void make_rows(const job *j, const posenc_term *term, const posenc_tokens *tokens, posenc_row_span span) {
    const posenc_generator *g = term->generator;
    if (g->sources == NULL) {
        g->rows(g, j->kernels, tokens, &span);
        return;
    }
    const void *sources[POSENC_CHUNK];
    g->sources(g, tokens, span.first, sources);
    posenc_place_rows_args args = {
        .sources = sources,
        .source_type = g->source_type,
        .x = span.add ? span.out : NULL,
        .x_stride = span.stride * (ptrdiff_t)sizeof(float),
        .y = span.out,
        .y_stride = span.stride * (ptrdiff_t)sizeof(float),
        .type = POSENC_F32,
        .factor = g->factor,
        .n = (size_t)span.n,
        .n_rows = (size_t)tokens->n,
    };
    j->kernels->place_rows(&args);
}

/* ---- Tiles ---- */

/* Columns from `first` on of a field, and, if twin is not 0, the same number from first + twin on. */
typedef struct tile {
    int64_t first, n, twin;
} tile;

/* The distance of columns that the first term of the field makes together. */
static int64_t twin_of(const posenc_field *field) {
    const posenc_term *lead = &field->terms[0];
    return lead->first == 0 && field->width == lead->generator->dim ? lead->generator->twin : 0;
}

/* A term's rows for a tile. `to` says where: the twin's columns go to its twin. */
static void fill_tile(const job *j, const posenc_term *term, const posenc_tokens *tokens, const tile *t,
                      const posenc_row_span *to) {
    int together = t->twin != 0 && term->generator->twin == t->twin && term->first == 0;
    posenc_row_span span = *to;
    span.first = term->first + t->first;
    span.n = t->n;
    span.twin = together ? to->twin : NULL;
    make_rows(j, term, tokens, span);
    if (t->twin == 0 || together)
        return;
    span.first += t->twin;
    span.out = to->twin;
    make_rows(j, term, tokens, span);
}

/* The next tile of a field, of at most `columns` columns, twins included; n is 0 behind the last. */
static void next_tile(const posenc_field *field, int64_t columns, tile *t) {
    int64_t end = t->twin != 0 ? t->twin : field->width, most = t->twin != 0 ? columns / 2 : columns;
    t->first += t->n;
    t->n = posenc_min(end - t->first, most);
}

static tile first_tile(const posenc_field *field, int64_t columns) {
    tile t = {.twin = twin_of(field)};
    next_tile(field, columns, &t);
    return t;
}

/* ---- Fields ---- */

/* Into the destination itself: term after term, each in one tile. */
static void write_field(const job *j, const posenc_field *field, const chunk *c) {
    posenc_tokens tokens;
    tile whole = first_tile(field, 2 * field->width);
    float *y = (float *)(void *)row_of(j->y, c, field->column);
    posenc_row_span to = {
        .out = y,
        .twin = y + whole.twin,
        .stride = (ptrdiff_t)(j->y->nb[1] / (int64_t)sizeof(float)),
        .n_far = posenc_is_far(posenc_view_count(j->y)) ? j->y->ne[1] - c->first : 0,
        .is_vast = posenc_is_vast(posenc_view_count(j->y)),
    };
    for (int k = 0; k < field->n_terms && whole.n > 0; k++) {
        posenc_load_tokens(&field->terms[k], j->at, j->y->ne[1], c->batch, c->first, c->n, &tokens);
        to.add = k > 0 || j->x != NULL;
        fill_tile(j, &field->terms[k], &tokens, &whole, &to);
    }
}

/* Makes rows in a tile and places them. */
static void convert_field(const job *j, const posenc_field *field, const chunk *c) {
    posenc_tokens tokens;
    float rows[TILE_ROWS][TILE_COLUMNS];
    posenc_row_span to = {.out = rows[0], .twin = rows[0] + TILE_COLUMNS / 2, .stride = TILE_COLUMNS};
    const void *sources[TILE_ROWS], *twins[TILE_ROWS];
    for (int64_t r = 0; r < posenc_min(c->n, TILE_ROWS); r++) {
        sources[r] = rows[r];
        twins[r] = rows[r] + TILE_COLUMNS / 2;
    }
    for (tile t = first_tile(field, TILE_COLUMNS); t.n > 0; next_tile(field, TILE_COLUMNS, &t))
        for (chunk part = {c->batch, c->first, 0}; part.first < c->first + c->n; part.first += part.n) {
            part.n = posenc_min(c->first + c->n - part.first, TILE_ROWS);
            for (int k = 0; k < field->n_terms; k++) {
                posenc_load_tokens(&field->terms[k], j->at, j->y->ne[1], part.batch, part.first, part.n, &tokens);
                to.add = k > 0;
                fill_tile(j, &field->terms[k], &tokens, &t, &to);
            }
            place(j, &part, field->column + t.first, t.n, sources, POSENC_F32, 1.0f);
            if (t.twin != 0)
                place(j, &part, field->column + t.first + t.twin, t.n, twins, POSENC_F32, 1.0f);
        }
}

/* Places rows of a table, or zeros. */
static void gather_field(const job *j, const posenc_field *field, const chunk *c) {
    static const void *const nowhere[POSENC_CHUNK];
    if (field->n_terms == 0) {
        place(j, c, field->column, field->width, nowhere, POSENC_F32, 1.0f);
        return;
    }
    const void *sources[POSENC_CHUNK];
    const posenc_term *term = &field->terms[0];
    posenc_tokens tokens;
    posenc_load_tokens(term, j->at, j->y->ne[1], c->batch, c->first, c->n, &tokens);
    term->generator->sources(term->generator, &tokens, term->first, sources);
    place(j, c, field->column, field->width, sources, term->generator->source_type, term->generator->factor);
}

static void run_chunk(const job *j, const chunk *c) {
    for (int f = 0; f < j->e->n_fields; f++) {
        const posenc_field *field = &j->e->fields[f];
        int is_plain = j->y->dtype == POSENC_F32 && j->gate == NULL;
        if (field->n_terms == 0 || (field->n_terms == 1 && field->terms[0].generator->sources != NULL))
            gather_field(j, field, c);
        else if (is_plain && (j->x == NULL || (j->in_place && field->n_terms == 1)))
            write_field(j, field, c);
        else
            convert_field(j, field, c);
    }
}

/* ---- Checks ---- */

static posenc_status check_views(const posenc_encoding *e, const posenc_view *x, const posenc_view *gate,
                                 const posenc_view *y) {
    posenc_status status = posenc_check_output(y);
    if (status == POSENC_OK && x != NULL)
        status = posenc_check_input(x);
    if (status == POSENC_OK && gate != NULL)
        status = posenc_check_input(gate);
    if (status != POSENC_OK)
        return status;
    if (y->ne[0] != e->dim || y->ne[3] > 1)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (x != NULL && x->dtype != y->dtype)
        return posenc_refused(POSENC_ERR_DTYPE);
    if (x != NULL && (status = posenc_check_pair(x, y)) != POSENC_OK)
        return status;
    if (gate == NULL)
        return POSENC_OK;
    if ((gate->ne[0] != 1 && gate->ne[0] != y->ne[0]) || !posenc_same_rows(gate, y))
        return posenc_refused(POSENC_ERR_SHAPE);
    status = posenc_require_f32(gate);
    return status == POSENC_OK ? posenc_check_apart(gate, y) : status;
}

posenc_status posenc_encoding_apply(const posenc_encoding *e, const posenc_coords *at, const posenc_view *x,
                                    const posenc_view *gate, const posenc_view *y, posenc_range rows) {
    if (e == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    posenc_status status = check_views(e, x, gate, y);
    if (status == POSENC_OK)
        status = posenc_check_rows(&rows, posenc_view_rows(y));
    if (status != POSENC_OK || posenc_view_count(y) == 0)
        return status;
    int64_t refused = -1;
    status = posenc_check_coords(e, at, y->ne[1], y->ne[2], &refused);
    if (status != POSENC_OK)
        return status;
    job j = {e, at, x, gate, y, x != NULL && x->data == y->data, posenc_active_kernels()};
    for (int64_t row = rows.begin; row < rows.end;) {
        chunk c = {.batch = row / y->ne[1], .first = row % y->ne[1]};
        c.n = posenc_min(posenc_min(y->ne[1] - c.first, POSENC_CHUNK), rows.end - row);
        run_chunk(&j, &c);
        row += c.n;
    }
    return POSENC_OK;
}
