/* SPDX-License-Identifier: MIT */
/* Heat maps, similarities and curves; plot_spectrum.c has the spectrum. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot_views.h"
#include "plot_spectrum.h"
#include "progress.h"

/* Above this a picture takes more than 1 GiB. */
#define MAX_VALUES (1 << 28)

enum { SOME_LINES = 6, SIMILARITY_BLOCK = 1024 }; /* rows, between two reports of progress */

/* ---- Numbers ---- */

static float *new_values(int64_t rows, int64_t columns) {
    return malloc((size_t)(rows * columns) * sizeof(float));
}

/* Rows of a table, with progress. */
static posenc_status read_rows(const table *t, int64_t row, int64_t n, float *values) {
    posenc_status status = POSENC_OK;
    for (int64_t done = 0; done < n && status == POSENC_OK; done += TABLE_BLOCK) {
        int64_t block = n - done < TABLE_BLOCK ? n - done : TABLE_BLOCK;
        status = table_read(t, row + done, block, values + done * t->n_columns);
        progress("reading", (double)done / (double)n);
    }
    progress("reading", 1.0);
    return status;
}

/* The whole vector of each position: the planes side by side. */
static posenc_status read_vectors(const table *t, float *vectors) {
    int64_t width = t->n_planes * t->n_columns;
    float *plane = new_values(t->n_rows, t->n_columns);
    posenc_status status = plane != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    for (int64_t p = 0; p < t->n_planes && status == POSENC_OK; p++) {
        status = read_rows(t, p * t->n_rows, t->n_rows, plane);
        for (int64_t row = 0; row < t->n_rows && status == POSENC_OK; row++)
            memcpy(vectors + row * width + p * t->n_columns, plane + row * t->n_columns,
                   (size_t)t->n_columns * sizeof(float));
    }
    free(plane);
    return status;
}

/* ---- Axes ---- */

/* Of a heat map: cell k is centred at first + k. */
static plot_axis cells(const char *label, int64_t first, int64_t n) {
    return (plot_axis){label, (double)first - 0.5, (double)(first + n) - 0.5, 0, 1};
}

static plot_axis points(const char *label, int64_t first, int64_t n) {
    return (plot_axis){label, (double)first, (double)(first + n - 1), 0, 1};
}

/* Covers all lines with some room. */
static plot_axis range_of_lines(const char *label, const plot_panel *p) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->n_lines; i++)
        for (int64_t k = 0; k < p->n_points; k++)
            if (isfinite(p->lines[i][k])) {
                low = fmin(low, (double)p->lines[i][k]);
                high = fmax(high, (double)p->lines[i][k]);
            }
    if (!(low < high)) {
        low = isfinite(low) ? low - 1.0 : 0.0;
        high = low + 2.0;
    }
    double room = 0.05 * (high - low);
    return (plot_axis){label, low - room, high + room, 0, 0};
}

/* ---- Heat maps ---- */

static void set_map(plot_panel *p, const float *values, int64_t n_rows, int64_t n_columns, const char *unit) {
    p->values = values;
    p->n_rows = n_rows;
    p->n_columns = n_columns;
    p->unit = unit;
}

/* A panel for each plane, side by side. */
static plot_panel *panel_of_plane(const table *t, int i, plot_made *made) {
    plot_panel *p = &made->figure.panels[i];
    made->figure.n_panels = i + 1;
    made->figure.has_common_scale = t->n_planes > 1;
    if (t->method->plane_names[i] != NULL)
        snprintf(p->title, sizeof p->title, "%s", t->method->plane_names[i]);
    p->x = cells(t->method->column_label, 0, t->n_columns);
    p->is_square = t->n_planes > 1;
    return p;
}

static posenc_status map_rows(const table *t, plot_made *made) {
    posenc_status status = POSENC_OK;
    for (int i = 0; i < t->n_planes && status == POSENC_OK; i++) {
        plot_panel *p = panel_of_plane(t, i, made);
        float *values = made->values[i] = new_values(t->n_rows, t->n_columns);
        status = values != NULL ? read_rows(t, i * t->n_rows, t->n_rows, values) : POSENC_ERR_MEMORY;
        p->y = cells(t->method->row_label, t->first, t->n_rows);
        set_map(p, values, t->n_rows, t->n_columns, "value");
    }
    return status;
}

static posenc_status spectrum(const table *t, plot_made *made) {
    float *rows = new_values(t->n_rows, t->n_columns);
    posenc_status status = rows != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    for (int i = 0; i < t->n_planes && status == POSENC_OK; i++) {
        plot_panel *p = panel_of_plane(t, i, made);
        status = read_rows(t, i * t->n_rows, t->n_rows, rows);
        if (status == POSENC_OK)
            status = plot_spectrum(rows, t->n_rows, t->n_columns, p, &made->values[i]);
    }
    free(rows);
    return status;
}

/* Scores that are nothing but bias: the softmax shows what attention they give. */
static posenc_status weigh(const table *t, const float *bias, float *weights) {
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.mask = posenc_mask_none();
    posenc_view x = posenc_view_dense((void *)bias, POSENC_F32, t->n_columns, t->n_rows, 1, 1), y = x;
    y.data = weights;
    posenc_status status = posenc_softmax(&params, &x, &y, posenc_range_all());
    for (int64_t i = 0; i < t->n_rows * t->n_columns; i++)
        if (bias[i] == -INFINITY) /* drawn as masked here too */
            weights[i] = -INFINITY;
    return status;
}

static posenc_status map_bias(const table *t, int64_t head, plot_made *made) {
    float *bias = made->values[0] = new_values(t->n_rows, t->n_columns);
    float *weights = made->values[1] = new_values(t->n_rows, t->n_columns);
    posenc_status status = bias != NULL && weights != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    if (status == POSENC_OK)
        status = read_rows(t, head * t->n_rows, t->n_rows, bias);
    if (status == POSENC_OK)
        status = weigh(t, bias, weights);
    made->figure.n_panels = 2;
    for (int i = 0; i < 2; i++) {
        plot_panel *p = &made->figure.panels[i];
        p->x = cells(t->method->column_label, 0, t->n_columns);
        p->y = cells(t->method->row_label, 0, t->n_rows);
        p->is_square = 1;
        set_map(p, made->values[i], t->n_rows, t->n_columns, i == 0 ? "bias" : "weight");
    }
    made->figure.panels[1].is_capped = 1; /* the first queries have few keys, and large weights */
    snprintf(made->figure.panels[0].title, 80, "bias, head %lld of %lld", (long long)head, (long long)t->n_planes);
    snprintf(made->figure.panels[1].title, 80, "attention weights of equal scores");
    return status;
}

static posenc_status map_similarity(const table *t, plot_made *made) {
    int64_t n = t->n_rows, width = t->n_planes * t->n_columns;
    float *vectors = new_values(n, width), *matrix = made->values[0] = new_values(n, n);
    posenc_status status = vectors != NULL && matrix != NULL ? read_vectors(t, vectors) : POSENC_ERR_MEMORY;
    posenc_view e = posenc_view_dense(vectors, POSENC_F32, width, n, 1, 1);
    posenc_view similarity = posenc_view_dense(matrix, POSENC_F32, n, n, 1, 1);
    for (int64_t row = 0; row < n && status == POSENC_OK; row += SIMILARITY_BLOCK) {
        posenc_range rows = {row, n - row < SIMILARITY_BLOCK ? n : row + SIMILARITY_BLOCK};
        status = posenc_cosine_similarity(&e, 0.0, &similarity, rows);
        progress("comparing", (double)row / (double)n);
    }
    progress("comparing", 1.0);
    free(vectors);
    plot_panel *p = &made->figure.panels[0];
    made->figure.n_panels = 1;
    p->x = p->y = cells(t->method->row_label, t->first, n);
    p->is_square = 1;
    set_map(p, matrix, n, n, "cosine similarity");
    return status;
}

/* ---- Curves ---- */

/* Which are drawn: those asked for, or some of n, evenly spaced; of many, even ones, which are of one kind where sines
 * and cosines alternate. */
static int64_t choose(const plot_request *r, int64_t n, int64_t lines[PLOT_LINES]) {
    int count = r->n_lines > 0 ? r->n_lines : n <= PLOT_LINES ? (int)n : SOME_LINES;
    for (int i = 0; i < count; i++)
        lines[i] = r->n_lines > 0 ? r->lines[i] : n <= PLOT_LINES ? i : i * n / count / 2 * 2;
    return count;
}

static void set_line(plot_panel *p, const table *t, int i, int64_t number, const float *values) {
    p->lines[i] = values;
    if (t->method->kind == METHOD_BIAS)
        snprintf(p->names[i], sizeof p->names[i], "head %lld", (long long)number);
    else if (t->n_planes > 1)
        snprintf(p->names[i], sizeof p->names[i], "%s, %s %lld", t->method->plane_names[number / t->n_columns],
                 t->method->column_label, (long long)(number % t->n_columns));
    else
        snprintf(p->names[i], sizeof p->names[i], "%s %lld", t->method->column_label, (long long)number);
}

static posenc_status curves_of_rows(const table *t, const plot_request *r, plot_made *made) {
    plot_panel *p = &made->figure.panels[0];
    int64_t n = t->n_rows, width = t->n_planes * t->n_columns, chosen[PLOT_LINES];
    float *vectors = new_values(n, width), *lines = made->values[0] = new_values(PLOT_LINES, n);
    posenc_status status = vectors != NULL && lines != NULL ? read_vectors(t, vectors) : POSENC_ERR_MEMORY;
    made->figure.n_panels = 1;
    p->n_points = n;
    p->n_lines = (int)choose(r, t->n_columns, chosen);
    for (int i = 0; i < p->n_lines && status == POSENC_OK; i++) {
        for (int64_t row = 0; row < n; row++)
            lines[i * n + row] = vectors[row * width + chosen[i]];
        set_line(p, t, i, chosen[i], lines + i * n);
    }
    p->x = points(t->method->row_label, t->first, n);
    free(vectors);
    return status;
}

/* One query's row of each head: the last one's, or with keys on both sides the middle one's. */
static posenc_status curves_of_bias(const table *t, const plot_request *r, plot_made *made) {
    plot_panel *p = &made->figure.panels[0];
    int64_t n = t->n_columns, chosen[PLOT_LINES];
    int64_t query = t->value[OPTION_MASK] == WORD_CAUSAL ? n - 1 : n / 2;
    float *lines = made->values[0] = new_values(PLOT_LINES, n);
    posenc_status status = lines != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    made->figure.n_panels = 1;
    p->n_points = n;
    p->n_lines = (int)choose(r, t->n_planes, chosen);
    for (int i = 0; i < p->n_lines && status == POSENC_OK; i++) {
        status = table_read(t, chosen[i] * t->n_rows + query, 1, lines + i * n);
        set_line(p, t, i, chosen[i], lines + i * n);
    }
    p->x = points("key \xe2\x88\x92 query", -query, n);
    return status;
}

/* ---- All of them ---- */

/* What a figure is called after its method. */
static const char *const view_titles[] = {
    [VIEW_MAP] = "",
    [VIEW_SIMILARITY] = ": cosine similarity",
    [VIEW_CURVES] = ": curves",
    [VIEW_SPECTRUM] = ": spectrum",
};

static const char *too_large(const table *t, int only_rows) {
    return method_text("the picture would take more than 1 GiB of memory: %s", table_shrink(t, only_rows));
}

/* NULL, or what to make smaller. Of a bias one head is drawn, with as many keys as queries. */
static const char *check_size(const table *t, const plot_request *r) {
    int is_bias = t->method->kind == METHOD_BIAS;
    double rows = (double)t->n_rows, width = (double)(t->n_planes * t->n_columns);
    if ((is_bias || r->view == VIEW_SIMILARITY) && rows * rows > MAX_VALUES)
        return too_large(t, 1);
    return !is_bias && rows * width > MAX_VALUES ? too_large(t, 0) : NULL;
}

/* NULL, or which of the lines or heads asked for is not there. */
static const char *check_numbers(const table *t, const plot_request *r) {
    int is_bias = t->method->kind == METHOD_BIAS;
    long long n = is_bias ? t->n_planes : t->n_planes * t->n_columns, n_heads = t->n_planes;
    if (is_bias && r->head >= n_heads)
        return method_text("there is no --head %lld: with --heads %lld they are 0 to %lld", (long long)r->head, n_heads,
                           n_heads - 1);
    for (int i = 0; i < r->n_lines; i++)
        if (r->lines[i] >= n && !is_bias && t->n_planes > 1)
            return method_text(
                "--lines names curve %lld, which is not there: they are 0 to %lld, the %ss of %lld %ss first",
                (long long)r->lines[i], n - 1, t->method->plane_names[0], (long long)t->n_columns,
                t->method->column_label);
        else if (r->lines[i] >= n)
            return method_text("--lines names %s %lld, which is not there: they are 0 to %lld",
                               is_bias ? "head" : t->method->column_label, (long long)r->lines[i], n - 1);
    return NULL;
}

static const char *refusal(const table *t, const plot_request *r) {
    int is_bias = t->method->kind == METHOD_BIAS;
    if (is_bias && (r->view == VIEW_SIMILARITY || r->view == VIEW_SPECTRUM))
        return "--similarity and --spectrum are for encodings, and this is a bias: leave them away, or use --curves";
    if (is_bias && r->view == VIEW_CURVES && method_takes(t->method, OPTION_HEIGHT))
        return "--curves goes over key - query, but this bias depends on rows and columns: leave --curves away";
    if (r->view != VIEW_MAP && t->n_rows < 2)
        return "there is only one position to draw: use a --length of 2 or more";
    const char *wrong = check_size(t, r);
    return wrong != NULL ? wrong : check_numbers(t, r);
}

const char *plot_make(const table *t, const plot_request *r, plot_made *made) {
    plot_figure *f = &made->figure;
    const char *wrong = refusal(t, r);
    if (wrong != NULL)
        return wrong;
    posenc_status status = POSENC_OK;
    int is_bias = t->method->kind == METHOD_BIAS;
    snprintf(f->title, sizeof f->title, "%s%s", t->method->title, view_titles[r->view]);
    table_describe(t, f->subtitle, sizeof f->subtitle);
    switch (r->view) {
    case VIEW_MAP: status = is_bias ? map_bias(t, r->head, made) : map_rows(t, made); break;
    case VIEW_SIMILARITY: status = map_similarity(t, made); break;
    case VIEW_CURVES:
        status = is_bias ? curves_of_bias(t, r, made) : curves_of_rows(t, r, made);
        if (status == POSENC_OK)
            f->panels[0].y = range_of_lines(is_bias ? "bias" : "value", &f->panels[0]);
        break;
    case VIEW_SPECTRUM: status = spectrum(t, made); break;
    }
    return status == POSENC_OK ? NULL : posenc_status_string(status);
}

void plot_free(plot_made *made) {
    for (int i = 0; i < PLOT_PANELS; i++)
        free(made->values[i]);
}
