/* SPDX-License-Identifier: MIT */
/* Biases of attention scores: for every head, a row for every query. Those that depend on the offset alone are lines of
 * the library; posenc_logits writes them out, with the mask. */
#include <math.h>
#include <stdlib.h>

#include "method.h"
#include "method_checks.h"

/* ---- Lines ---- */

/* A line for every head, and what it is seen through. */
typedef struct line_data {
    posenc_rel_bias line;
    posenc_mask mask;
} line_data;

static posenc_mask mask_of(const table *t) {
    posenc_mask mask = t->value[OPTION_MASK] == WORD_CAUSAL ? posenc_mask_causal() : posenc_mask_none();
    int64_t window = (int64_t)t->value[OPTION_WINDOW];
    if (window > 0) {
        mask.before = window - 1;
        mask.after = mask.after == 0 ? 0 : window - 1;
    }
    mask.chunk = (int64_t)t->value[OPTION_CHUNK];
    return mask;
}

/* What a scheme does: fills the line of all heads. */
typedef posenc_status (*line_maker)(const table *t, const posenc_rel_bias *line);

static void free_line(line_data *data) {
    if (data != NULL)
        free(data->line.data);
    free(data);
}

static posenc_status open_line(table *t, line_maker make) {
    int64_t n = t->n_rows, n_offsets = 2 * n - 1, n_heads = (int64_t)t->value[OPTION_HEADS];
    line_data *data = malloc(sizeof *data);
    float *values = calloc((size_t)(n_heads * n_offsets), sizeof *values);
    if (data == NULL || values == NULL) {
        free(data);
        free(values);
        return POSENC_ERR_MEMORY;
    }
    data->line = (posenc_rel_bias){
        .data = values, .first = -(n - 1), .n_offsets = n_offsets, .n_heads = n_heads, .stride = n_offsets};
    data->mask = mask_of(t);
    posenc_status status = make(t, &data->line);
    if (status != POSENC_OK)
        free_line(data);
    t->n_planes = n_heads;
    t->data = data;
    return status;
}

static posenc_status line_fill(const table *t, int64_t row, int64_t n, float *values) {
    const line_data *data = t->data;
    posenc_rel_bias line = data->line; /* of this head alone */
    line.data += row / t->n_rows * line.stride;
    line.n_heads = 1;
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.bias.relative = &line;
    params.mask = data->mask;
    params.positions.query_start = row % t->n_rows;
    posenc_view y = posenc_view_dense(values, POSENC_F32, t->n_columns, n, 1, 1);
    return posenc_logits(&params, NULL, &y, posenc_range_all());
}

static void line_close(table *t) {
    free_line(t->data);
}

/* One number for each head: from(t, h). */
static float *by_head(const table *t, int64_t n_heads, double (*from)(const table *t, int64_t h)) {
    float *values = malloc((size_t)n_heads * sizeof *values);
    for (int64_t h = 0; values != NULL && h < n_heads; h++)
        values[h] = (float)from(t, h);
    return values;
}

/* In place of what training makes: normal random numbers. */
static float *random_table(const table *t, int64_t n) {
    float *values = malloc((size_t)n * sizeof *values);
    posenc_view view = posenc_view_dense(values, POSENC_F32, n, 1, 1, 1);
    if (values != NULL &&
        posenc_fill_normal((uint64_t)t->value[OPTION_SEED], 0.0, 1.0, &view, posenc_range_all()) != POSENC_OK) {
        free(values);
        return NULL;
    }
    return values;
}

/* ---- The schemes ---- */

static posenc_status no_bias(const table *t, const posenc_rel_bias *line) {
    (void)t;
    (void)line; /* zeros already */
    return POSENC_OK;
}

static posenc_status alibi(const table *t, const posenc_rel_bias *line) {
    float *slopes = malloc((size_t)line->n_heads * sizeof *slopes);
    posenc_status status = slopes != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    if (status == POSENC_OK)
        status = posenc_alibi_slopes(line->n_heads, t->value[OPTION_MAX_BIAS], slopes);
    if (status == POSENC_OK)
        status = posenc_rel_bias_alibi(slopes, line);
    free(slopes);
    return status;
}

/* A table [row][head] by an index of its rows. */
static posenc_status gather(const table *t, const posenc_rel_bias *line, int64_t n_rows,
                            posenc_status (*fill)(const table *t, const posenc_rel_index *index)) {
    float *values = random_table(t, n_rows * line->n_heads);
    int32_t *rows = malloc((size_t)line->n_offsets * sizeof *rows);
    posenc_rel_index index = {rows, line->first, line->n_offsets, n_rows};
    posenc_bias_table source = {values, n_rows, line->n_heads, line->n_heads, 1};
    posenc_status status = values != NULL && rows != NULL ? fill(t, &index) : POSENC_ERR_MEMORY;
    if (status == POSENC_OK)
        status = posenc_rel_bias_gather(&index, &source, 1.0f, line);
    free(values);
    free(rows);
    return status;
}

static posenc_status t5_index(const table *t, const posenc_rel_index *index) {
    posenc_t5_params params = {index->n_rows, (int64_t)t->value[OPTION_MAX_DISTANCE],
                               t->value[OPTION_MASK] == WORD_FULL};
    return posenc_rel_index_t5(&params, index);
}

static posenc_status t5(const table *t, const posenc_rel_bias *line) {
    return gather(t, line, (int64_t)t->value[OPTION_BUCKETS], t5_index);
}

static posenc_status clipped_index(const table *t, const posenc_rel_index *index) {
    return posenc_rel_index_clipped((int64_t)t->value[OPTION_MAX_DISTANCE], index);
}

static posenc_status clipped(const table *t, const posenc_rel_bias *line) {
    return gather(t, line, 2 * (int64_t)t->value[OPTION_MAX_DISTANCE] + 1, clipped_index);
}

static double p_of_head(const table *t, int64_t h) {
    return t->value[OPTION_P] * (double)(h + 1) / t->value[OPTION_HEADS];
}

static double a_of_head(const table *t, int64_t h) {
    (void)h;
    return t->value[OPTION_A];
}

static posenc_status kerple(const table *t, const posenc_rel_bias *line, posenc_kerple_kind kind) {
    float *p = by_head(t, line->n_heads, p_of_head), *a = by_head(t, line->n_heads, a_of_head);
    posenc_kerple params = {kind, p, a, 0.01f};
    posenc_status status = p != NULL && a != NULL ? posenc_rel_bias_kerple(&params, line) : POSENC_ERR_MEMORY;
    free(p);
    free(a);
    return status;
}

static posenc_status kerple_log(const table *t, const posenc_rel_bias *line) {
    return kerple(t, line, POSENC_KERPLE_LOG);
}

static posenc_status kerple_power(const table *t, const posenc_rel_bias *line) {
    return kerple(t, line, POSENC_KERPLE_POWER);
}

static double sigma_of_head(const table *t, int64_t h) {
    return t->value[OPTION_SIGMA] * (double)(h + 1);
}

static posenc_status rbf(const table *t, const posenc_rel_bias *line) {
    float *sigma = by_head(t, line->n_heads, sigma_of_head);
    posenc_status status = sigma != NULL ? posenc_rel_bias_rbf(sigma, line) : POSENC_ERR_MEMORY;
    free(sigma);
    return status;
}

static posenc_status sandwich(const table *t, const posenc_rel_bias *line) {
    posenc_sandwich params = POSENC_SANDWICH_DEFAULTS;
    params.dim = (int64_t)t->value[OPTION_DIM];
    params.base = t->value[OPTION_BASE];
    return posenc_rel_bias_sandwich(&params, line);
}

static posenc_status cosine(const table *t, const posenc_rel_bias *line) {
    double *omega = malloc((size_t)line->n_heads * sizeof *omega);
    posenc_status status = omega != NULL ? POSENC_OK : POSENC_ERR_MEMORY;
    for (int64_t h = 0; omega != NULL && h < line->n_heads; h++)
        omega[h] = pow(t->value[OPTION_BASE], -(double)h / (double)line->n_heads);
    if (status == POSENC_OK)
        status = posenc_rel_bias_cosine(omega, NULL, NULL, line);
    free(omega);
    return status;
}

#define OPEN(name)                                                                                                     \
    static posenc_status name##_open(table *t) {                                                                       \
        return open_line(t, name);                                                                                     \
    }
OPEN(no_bias)
OPEN(alibi)
OPEN(t5)
OPEN(clipped)
OPEN(kerple_log)
OPEN(kerple_power)
OPEN(rbf)
OPEN(sandwich)
OPEN(cosine)

/* ---- Swin: a row of the matrix for each token of a window ---- */

static posenc_status swin_open(table *t) {
    int64_t height = (int64_t)t->value[OPTION_HEIGHT], width = (int64_t)t->value[OPTION_WIDTH], n = height * width;
    int64_t n_heads = (int64_t)t->value[OPTION_HEADS], n_rows = (2 * height - 1) * (2 * width - 1);
    t->n_planes = n_heads;
    t->n_rows = t->n_columns = n;
    t->value[OPTION_MASK] = WORD_FULL;
    float *values = random_table(t, n_rows * n_heads), *bias = malloc((size_t)(n * n * n_heads) * sizeof *bias);
    posenc_bias_table source = {values, n_rows, n_heads, n_heads, 1};
    posenc_view y = posenc_view_dense(bias, POSENC_F32, n, n, n_heads, 1);
    posenc_status status =
        values != NULL && bias != NULL ? posenc_swin_bias(height, width, &source, &y) : POSENC_ERR_MEMORY;
    free(values);
    if (status != POSENC_OK)
        free(bias);
    t->data = bias;
    return status;
}

static posenc_status matrix_fill(const table *t, int64_t row, int64_t n, float *values) {
    const float *matrix = t->data;
    for (int64_t i = 0; i < n * t->n_columns; i++)
        values[i] = matrix[row * t->n_columns + i];
    return POSENC_OK;
}

static void free_data(table *t) {
    free(t->data);
}

/* ---- The list ---- */

#define BIAS .kind = METHOD_BIAS, .row_label = "query", .column_label = "key"
#define LINE(function) BIAS, .open = function##_open, .fill = line_fill, .close = line_close
#define WHERE(heads)                                                                                                   \
    {OPTION_LENGTH, 64}, {                                                                                             \
        OPTION_HEADS, heads                                                                                            \
    }
#define MASK                                                                                                           \
    {OPTION_MASK, WORD_CAUSAL}, {OPTION_WINDOW, 0}, {                                                                  \
        OPTION_CHUNK, 0                                                                                                \
    }

const method methods_bias[] = {
    {"nope", "No bias, only the mask (C.23, C.24, C.29)", "No bias", LINE(no_bias), .takes = {WHERE(1), MASK}},
    {"alibi", "Linear biases, head by head (C.2, C.3)", "ALiBi", LINE(alibi),
     .takes = {WHERE(8), {OPTION_MAX_BIAS, 8}, MASK}},
    {"t5", "T5's buckets, with random biases (C.5, C.6); with --mask full those of the encoder", "T5 relative bias",
     LINE(t5), .check = check_t5,
     .takes = {WHERE(8), {OPTION_BUCKETS, 32}, {OPTION_MAX_DISTANCE, 128}, {OPTION_SEED, 1}, MASK}},
    {"clipped", "A random bias for each offset up to --max-distance (C.10)", "Clipped relative bias", LINE(clipped),
     .takes = {WHERE(8), {OPTION_MAX_DISTANCE, 16}, {OPTION_SEED, 1}, MASK}},
    {"kerple-log", "KERPLE, logarithmic; head h of H has p (h+1)/H (C.16)", "KERPLE, logarithmic", LINE(kerple_log),
     .takes = {WHERE(8), {OPTION_P, 2}, {OPTION_A, 1}, MASK}},
    {"kerple-power", "KERPLE, power; head h of H has p (h+1)/H (C.16)", "KERPLE, power", LINE(kerple_power),
     .takes = {WHERE(8), {OPTION_P, 1.5}, {OPTION_A, 0.5}, MASK}},
    {"kerple-rbf", "KERPLE, Gaussian; head h has sigma (h+1) (C.16)", "KERPLE, Gaussian", LINE(rbf),
     .takes = {WHERE(8), {OPTION_SIGMA, 4}, MASK}},
    {"sandwich", "Sums of cosines, head by head (C.18)", "Sandwich", LINE(sandwich), .check = check_sandwich,
     .takes = {WHERE(8), {OPTION_DIM, 128}, {OPTION_BASE, 10000}, MASK}},
    {"cosine", "A cosine for each head, of frequency base^(-h/H) (C.30)", "Cosine bias", LINE(cosine),
     .takes = {WHERE(8), {OPTION_BASE, 10000}, MASK}},
    {"swin", "Swin's window of an image, with random biases (C.20)", "Swin relative bias", BIAS, .open = swin_open,
     .fill = matrix_fill, .close = free_data, .check = check_swin,
     .takes = {{OPTION_HEIGHT, 7}, {OPTION_WIDTH, 7}, {OPTION_HEADS, 3}, {OPTION_SEED, 1}}},
    {.name = NULL},
};
