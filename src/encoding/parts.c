/* SPDX-License-Identifier: MIT */
/* New encodings of old: parts side by side, and parts added up. */
#include "core/refuse.h"
#include "encoding/encoding.h"

#include <stdlib.h>

/* ---- Parts ---- */

static posenc_status check_part(const posenc_part *part, int64_t *width) {
    int64_t dim = part->encoding == NULL ? part->width : posenc_encoding_dim(part->encoding);
    if (part->first < 0 || part->width < 0 || part->first > dim || part->width > dim - part->first ||
        dim > POSENC_MAX_DIM)
        return posenc_refused(POSENC_ERR_SHAPE);
    if (part->axis < 0 || part->axis > POSENC_MAX_COORDS - posenc_encoding_axis_count(part->encoding))
        return posenc_refused(POSENC_ERR_SECTIONS);
    if (part->divide < 0 || part->modulo < 0)
        return posenc_refused(POSENC_ERR_CONTEXT);
    *width = part->width > 0 ? part->width : dim - part->first;
    return *width > 0 ? POSENC_OK : posenc_refused(POSENC_ERR_SHAPE);
}

static int has_map(int64_t divide, int64_t modulo) {
    return divide > 1 || modulo > 0;
}

/* A term as the part sees it: other columns, axes and coordinates. */
static posenc_status renamed(const posenc_part *part, posenc_term *term) {
    term->axis += part->axis;
    if (!has_map(part->divide, part->modulo))
        return POSENC_OK;
    if (has_map(term->divide, term->modulo))
        return posenc_refused(POSENC_ERR_SECTIONS);
    term->divide = part->divide > 1 ? part->divide : 1;
    term->modulo = part->modulo;
    return POSENC_OK;
}

/* ---- Putting together ---- */

/* An encoding being made: its fields are in place, and their generators not yet counted as used. */
static posenc_encoding *begin(void) {
    return calloc(1, sizeof(posenc_encoding) + POSENC_MAX_FIELDS * sizeof(posenc_field));
}

static posenc_status finish(posenc_encoding *e, posenc_status status, posenc_encoding **out) {
    if (status != POSENC_OK) {
        free(e);
        return status;
    }
    for (int f = 0; f < e->n_fields; f++)
        for (int k = 0; k < e->fields[f].n_terms; k++)
            atomic_fetch_add_explicit(&e->fields[f].terms[k].generator->users, 1, memory_order_relaxed);
    *out = e;
    return POSENC_OK;
}

static void count_axes(posenc_encoding *e, const posenc_part *part) {
    int n_axes = part->axis + posenc_encoding_axis_count(part->encoding);
    if (part->encoding != NULL && n_axes > e->n_axes)
        e->n_axes = n_axes;
}

/* Columns begin .. end - 1 of the part's row, as terms added to a field. */
static posenc_status add_terms(const posenc_part *part, int64_t begin, int64_t end, posenc_field *field) {
    const posenc_encoding *e = part->encoding;
    for (int f = 0; e != NULL && f < e->n_fields; f++) {
        const posenc_field *from = &e->fields[f];
        if (begin < from->column || end > from->column + from->width)
            continue;
        for (int k = 0; k < from->n_terms; k++) {
            if (field->n_terms == POSENC_MAX_PARTS)
                return posenc_refused(POSENC_ERR_SHAPE);
            posenc_term *term = &field->terms[field->n_terms++];
            *term = from->terms[k];
            term->first += begin - from->column;
            posenc_status status = renamed(part, term);
            if (status != POSENC_OK)
                return status;
        }
    }
    return POSENC_OK;
}

/* Ends of the fields of the parts, counted from the parts' first columns, in ascending order. */
typedef struct cuts {
    int64_t at[POSENC_MAX_FIELDS * POSENC_MAX_PARTS + 1];
    int n;
} cuts;

static int compare_cuts(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static cuts cuts_of(const posenc_part *parts, int64_t n_parts, int64_t width) {
    cuts c = {.n = 0};
    for (int64_t p = 0; p < n_parts; p++)
        for (int f = 0; parts[p].encoding != NULL && f < parts[p].encoding->n_fields; f++) {
            const posenc_field *field = &parts[p].encoding->fields[f];
            int64_t at = field->column + field->width - parts[p].first;
            if (at > 0 && at < width)
                c.at[c.n++] = at;
        }
    c.at[c.n++] = width;
    qsort(c.at, (size_t)c.n, sizeof c.at[0], compare_cuts);
    return c;
}

/* Appends `width` columns in which the parts are added up. */
static posenc_status append(posenc_encoding *e, const posenc_part *parts, int64_t n_parts, int64_t width) {
    cuts c = cuts_of(parts, n_parts, width);
    int64_t begin = 0, column = e->dim;
    for (int i = 0; i < c.n; i++) {
        if (c.at[i] == begin)
            continue;
        if (e->n_fields == POSENC_MAX_FIELDS || e->dim + width > POSENC_MAX_DIM)
            return posenc_refused(POSENC_ERR_SHAPE);
        posenc_field *field = &e->fields[e->n_fields++];
        field->column = column + begin;
        field->width = c.at[i] - begin;
        for (int64_t p = 0; p < n_parts; p++) {
            posenc_status status = add_terms(&parts[p], parts[p].first + begin, parts[p].first + c.at[i], field);
            if (status != POSENC_OK)
                return status;
        }
        begin = c.at[i];
    }
    e->dim += width;
    for (int64_t p = 0; p < n_parts; p++)
        count_axes(e, &parts[p]);
    return POSENC_OK;
}

static posenc_status check_call(const posenc_part *parts, int64_t n_parts, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (n_parts < 1 || n_parts > POSENC_MAX_PARTS)
        return posenc_refused(POSENC_ERR_SHAPE);
    return parts == NULL ? posenc_refused(POSENC_ERR_NULL) : POSENC_OK;
}

posenc_status posenc_encoding_concat(const posenc_part *parts, int64_t n_parts, posenc_encoding **out) {
    posenc_status status = check_call(parts, n_parts, out);
    if (status != POSENC_OK)
        return status;
    posenc_encoding *e = begin();
    if (e == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    for (int64_t p = 0; p < n_parts && status == POSENC_OK; p++) {
        int64_t width;
        status = check_part(&parts[p], &width);
        if (status == POSENC_OK)
            status = append(e, &parts[p], 1, width);
    }
    return finish(e, status, out);
}

static posenc_status check_summands(const posenc_part *parts, int64_t n_parts, int64_t *width) {
    for (int64_t p = 0; p < n_parts; p++) {
        int64_t own;
        if (parts[p].encoding == NULL)
            return posenc_refused(POSENC_ERR_NULL);
        posenc_status status = check_part(&parts[p], &own);
        if (status != POSENC_OK)
            return status;
        if (p > 0 && own != *width)
            return posenc_refused(POSENC_ERR_SHAPE);
        *width = own;
    }
    return POSENC_OK;
}

posenc_status posenc_encoding_sum(const posenc_part *parts, int64_t n_parts, posenc_encoding **out) {
    posenc_status status = check_call(parts, n_parts, out);
    int64_t width = 0;
    if (status == POSENC_OK)
        status = check_summands(parts, n_parts, &width);
    if (status != POSENC_OK)
        return status;
    posenc_encoding *e = begin();
    return e == NULL ? posenc_refused(POSENC_ERR_MEMORY) : finish(e, append(e, parts, n_parts, width), out);
}
