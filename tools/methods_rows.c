/* SPDX-License-Identifier: MIT */
/* Encodings: a row for every position, or for every token of an image. */
#include <stdlib.h>

#include "method.h"
#include "method_checks.h"
#include "method_rope.h"

/* ---- What they share: an encoding of the library, and how its tokens get their coordinates ---- */

typedef struct rows_data {
    posenc_encoding *encoding;
    float *table;   /* what it looks up, if it does */
    int is_grid;    /* row and column of an image instead of a position */
    double divisor; /* real coordinates position / divisor; 0: integers */
} rows_data;

/* What a method does: makes the encoding, and the other fields if it has need of them. */
typedef posenc_status (*rows_maker)(const table *t, rows_data *data);

static void free_rows(rows_data *data) {
    if (data != NULL) {
        posenc_encoding_free(data->encoding);
        free(data->table);
    }
    free(data);
}

static posenc_status open_rows(table *t, rows_maker make) {
    rows_data *data = calloc(1, sizeof *data);
    posenc_status status = data != NULL ? make(t, data) : POSENC_ERR_MEMORY;
    if (status != POSENC_OK) {
        free_rows(data);
        return status;
    }
    t->n_columns = posenc_encoding_dim(data->encoding);
    if (data->is_grid)
        t->n_rows = (int64_t)t->value[OPTION_HEIGHT] * (int64_t)t->value[OPTION_WIDTH];
    t->data = data;
    return POSENC_OK;
}

static posenc_status rows_fill(const table *t, int64_t row, int64_t n, float *values) {
    const rows_data *data = t->data;
    int32_t whole[2 * TABLE_BLOCK];
    float real[TABLE_BLOCK];
    int64_t width = (int64_t)t->value[OPTION_WIDTH];
    for (int64_t k = 0; k < n; k++) {
        whole[k] = (int32_t)(data->is_grid ? (row + k) / width : t->first + row + k);
        if (data->is_grid)
            whole[n + k] = (int32_t)((row + k) % width);
        else if (data->divisor > 0.0)
            real[k] = (float)((double)whole[k] / data->divisor);
    }
    posenc_coords at =
        data->divisor > 0.0 ? posenc_coords_of(real, POSENC_COORD_F32) : posenc_coords_of(whole, POSENC_COORD_I32);
    posenc_view y = posenc_view_dense(values, POSENC_F32, t->n_columns, n, 1, 1);
    return posenc_encoding_apply(data->encoding, &at, NULL, NULL, &y, posenc_range_all());
}

static void rows_close(table *t) {
    free_rows(t->data);
}

/* ---- Sinusoids ---- */

static int64_t dim_of(const table *t) {
    return (int64_t)t->value[OPTION_DIM];
}

static posenc_status sinusoidal(const table *t, rows_data *data) {
    static const posenc_sinusoidal_layout layouts[] = {
        [WORD_INTERLEAVED] = POSENC_SINUSOIDAL_INTERLEAVED,
        [WORD_CONCAT] = POSENC_SINUSOIDAL_CONCAT,
        [WORD_COMPLEX] = POSENC_SINUSOIDAL_COMPLEX,
        [WORD_CONCAT_COS] = POSENC_SINUSOIDAL_CONCAT_COS,
    };
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = layouts[(int)t->value[OPTION_LAYOUT]];
    params.schedule =
        t->value[OPTION_SCHEDULE] == WORD_HALF_MINUS_1 ? POSENC_SCHEDULE_HALF_MINUS_1 : POSENC_SCHEDULE_HALF;
    params.odd = t->value[OPTION_ODD] == WORD_ZERO ? POSENC_ODD_ZERO : POSENC_ODD_SIN;
    params.dim = dim_of(t);
    params.base = t->value[OPTION_BASE];
    return posenc_sinusoidal_create(&params, &data->encoding);
}

static posenc_status timestep(const table *t, rows_data *data) {
    return posenc_timestep_create(dim_of(t), t->value[OPTION_LAYOUT] == WORD_CONCAT_COS, t->value[OPTION_SHIFT], 1.0,
                                  t->value[OPTION_BASE], &data->encoding);
}

static posenc_status grid(const table *t, rows_data *data) {
    static const posenc_grid orders[] = {POSENC_GRID_W_FIRST, POSENC_GRID_H_FIRST, POSENC_GRID_TIMM};
    data->is_grid = 1;
    return posenc_grid_create(orders[(int)t->value[OPTION_ORDER]], dim_of(t), 0, t->value[OPTION_BASE],
                              &data->encoding);
}

static posenc_status fourier(const table *t, rows_data *data) {
    posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
    params.n_features = (dim_of(t) + 1) / 2;
    params.sigma = t->value[OPTION_SIGMA];
    params.seed = (uint64_t)t->value[OPTION_SEED];
    data->divisor = (double)t->n_rows; /* positions from 0 to 1 */
    return posenc_fourier_create(&params, &data->encoding);
}

/* ---- Tables: normal random numbers in place of trained ones ---- */

/* Adds rows of random numbers to those that data->table has. */
static posenc_status random_rows(const table *t, int64_t n_rows, int64_t dim, rows_data *data, posenc_view *view) {
    data->table = malloc((size_t)(n_rows * dim) * sizeof(float));
    *view = posenc_view_dense(data->table, POSENC_F32, dim, n_rows, 1, 1);
    if (data->table == NULL)
        return POSENC_ERR_MEMORY;
    return posenc_fill_normal((uint64_t)t->value[OPTION_SEED], 0.0, t->value[OPTION_DEVIATION], view,
                              posenc_range_all());
}

static posenc_status learned_of(const posenc_view *rows, const table *t, posenc_encoding **e) {
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
    lookup.offset = -t->first; /* the table begins where the picture does */
    lookup.policy = POSENC_OUT_OF_RANGE_ZERO;
    return posenc_learned_create(rows, &lookup, e);
}

static posenc_status learned(const table *t, rows_data *data) {
    posenc_view rows;
    posenc_status status = random_rows(t, (int64_t)t->value[OPTION_TRAINED], dim_of(t), data, &rows);
    return status == POSENC_OK ? learned_of(&rows, t, &data->encoding) : status;
}

typedef posenc_status (*joiner)(const posenc_part *parts, int64_t n_parts, posenc_encoding **e);

/* Sinusoid and table, side by side or summed. */
static posenc_status with_table(const table *t, rows_data *data, int64_t dim, joiner join) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    params.dim = dim;
    params.base = t->value[OPTION_BASE];
    posenc_encoding *sinusoid = NULL, *delta = NULL;
    posenc_view rows;
    posenc_status status = random_rows(t, (int64_t)t->value[OPTION_TRAINED], dim, data, &rows);
    if (status == POSENC_OK)
        status = posenc_sinusoidal_create(&params, &sinusoid);
    if (status == POSENC_OK)
        status = learned_of(&rows, t, &delta);
    const posenc_part parts[] = {{.encoding = sinusoid}, {.encoding = delta}};
    if (status == POSENC_OK)
        status = join(parts, 2, &data->encoding);
    posenc_encoding_free(sinusoid);
    posenc_encoding_free(delta);
    return status;
}

static posenc_status trainable(const table *t, rows_data *data) {
    return with_table(t, data, dim_of(t), posenc_encoding_sum);
}

static posenc_status hybrid(const table *t, rows_data *data) {
    return with_table(t, data, (dim_of(t) + 1) / 2, posenc_encoding_concat);
}

static posenc_status blocks(const table *t, rows_data *data) {
    posenc_encoding *sinusoid;
    posenc_status status = sinusoidal(t, data);
    if (status != POSENC_OK)
        return status;
    sinusoid = data->encoding;
    data->encoding = NULL;
    int64_t block = (int64_t)t->value[OPTION_BLOCK];
    const posenc_part parts[] = {{.encoding = sinusoid, .divide = block}, {.encoding = sinusoid, .modulo = block}};
    status = posenc_encoding_concat(parts, 2, &data->encoding);
    posenc_encoding_free(sinusoid);
    return status;
}

static posenc_status axial(const table *t, rows_data *data) {
    int64_t height = (int64_t)t->value[OPTION_HEIGHT], width = (int64_t)t->value[OPTION_WIDTH];
    posenc_encoding *by_row = NULL, *by_column = NULL;
    posenc_view all;
    posenc_status status = random_rows(t, height + width, dim_of(t), data, &all);
    posenc_view rows = all, columns = all;
    rows.ne[1] = height;
    columns.ne[1] = width;
    columns.data = data->table + height * dim_of(t);
    if (status == POSENC_OK)
        status = learned_of(&rows, t, &by_row);
    if (status == POSENC_OK)
        status = learned_of(&columns, t, &by_column);
    const posenc_part parts[] = {{.encoding = by_row}, {.encoding = by_column, .axis = 1}};
    if (status == POSENC_OK)
        status = posenc_encoding_sum(parts, 2, &data->encoding);
    posenc_encoding_free(by_row);
    posenc_encoding_free(by_column);
    data->is_grid = 1;
    return status;
}

/* A table of --trained rows, made as long as the picture. */
static posenc_status resized(const table *t, rows_data *data) {
    posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
    params.method = t->value[OPTION_RESIZE] == WORD_CUBIC ? POSENC_RESIZE_CUBIC : POSENC_RESIZE_LINEAR;
    params.w_in = (int64_t)t->value[OPTION_TRAINED];
    params.w_out = t->n_rows;
    posenc_view small, large;
    posenc_status status = random_rows(t, params.w_in, dim_of(t), data, &small);
    float *table_in = data->table;
    data->table = malloc((size_t)(params.w_out * dim_of(t)) * sizeof(float));
    large = posenc_view_dense(data->table, POSENC_F32, dim_of(t), params.w_out, 1, 1);
    if (status == POSENC_OK)
        status =
            data->table != NULL ? posenc_table_resize(&params, &small, &large, posenc_range_all()) : POSENC_ERR_MEMORY;
    free(table_in);
    return status == POSENC_OK ? learned_of(&large, t, &data->encoding) : status;
}

/* ---- Integers, bits, bumps ---- */

static posenc_status integer(const table *t, rows_data *data) {
    return posenc_integer_create(dim_of(t), t->n_rows, t->value[OPTION_ALPHA], &data->encoding);
}

static posenc_status binary(const table *t, rows_data *data) {
    return posenc_bits_create(dim_of(t), POSENC_BITS_BINARY, 0.0f, 1.0f, &data->encoding);
}

static posenc_status gray(const table *t, rows_data *data) {
    return posenc_bits_create(dim_of(t), POSENC_BITS_GRAY, 0.0f, 1.0f, &data->encoding);
}

/* Centres from the first position to the last. */
static posenc_status rbf(const table *t, rows_data *data) {
    int64_t n = dim_of(t);
    double *centres = malloc((size_t)n * sizeof *centres);
    for (int64_t k = 0; centres != NULL && k < n; k++)
        centres[k] = (double)t->first + (double)(t->n_rows - 1) * (n > 1 ? (double)k / (double)(n - 1) : 0.5);
    posenc_status status =
        centres != NULL ? posenc_rbf_create(centres, n, t->value[OPTION_SIGMA], &data->encoding) : POSENC_ERR_MEMORY;
    free(centres);
    return status;
}

#define OPEN(name)                                                                                                     \
    static posenc_status name##_open(table *t) {                                                                       \
        return open_rows(t, name);                                                                                     \
    }
OPEN(sinusoidal)
OPEN(timestep)
OPEN(grid)
OPEN(fourier)
OPEN(learned)
OPEN(trainable)
OPEN(hybrid)
OPEN(blocks)
OPEN(axial)
OPEN(resized)
OPEN(integer)
OPEN(binary)
OPEN(gray)
OPEN(rbf)

/* ---- The list ---- */

#define ROWS(function) .open = function##_open, .fill = rows_fill, .close = rows_close
#define LABELS .kind = METHOD_ROWS, .row_label = "position", .column_label = "channel"
#define WHERE(length)                                                                                                  \
    {OPTION_LENGTH, length}, {                                                                                         \
        OPTION_START, 0                                                                                                \
    }
#define WIDE                                                                                                           \
    {OPTION_DIM, 128}, {                                                                                               \
        OPTION_BASE, 10000                                                                                             \
    }
#define RANDOM                                                                                                         \
    {OPTION_DEVIATION, 0.02}, {                                                                                        \
        OPTION_SEED, 1                                                                                                 \
    }
#define IMAGE                                                                                                          \
    {OPTION_HEIGHT, 14}, {                                                                                             \
        OPTION_WIDTH, 14                                                                                               \
    }

const method methods_rows[] = {
    {"sinusoidal", "Sines and cosines of the Transformer; complex numbers (A.1, A.2, A.4, A.17)", "Sinusoidal encoding",
     LABELS, ROWS(sinusoidal), .check = check_sinusoidal,
     .takes =
         {WHERE(128), WIDE, {OPTION_LAYOUT, WORD_INTERLEAVED}, {OPTION_SCHEDULE, WORD_HALF}, {OPTION_ODD, WORD_SIN}}},
    {"timestep", "Timestep embedding of diffusion models (A.3)", "Timestep embedding", LABELS, ROWS(timestep),
     .check = check_timestep, .takes = {WHERE(1000), WIDE, {OPTION_SHIFT, 1}, {OPTION_LAYOUT, WORD_CONCAT}}},
    {"rope",
     "Cosines and sines of the rotary embedding, with its scalings (B.1, B.9 - B.17)",
     "Rotary embedding",
     METHOD_ROWS,
     "position",
     "pair",
     {"cosine", "sine"},
     .open = rope_open,
     .fill = rope_fill,
     .close = rope_close,
     .check = check_rope,
     .takes = {WHERE(128), WIDE, {OPTION_SCALING, WORD_UNSCALED}, {OPTION_FACTOR, 4}, {OPTION_CONTEXT, 4096}}},
    {"learned", "A table of random numbers, zero beyond its --trained rows (A.7)", "Learned table", LABELS,
     ROWS(learned), .takes = {WHERE(128), {OPTION_DIM, 128}, {OPTION_TRAINED, 128}, RANDOM}},
    {"trainable", "Sinusoids and a table added to them (A.8)", "Trainable sinusoid", LABELS, ROWS(trainable),
     .takes = {WHERE(128), WIDE, {OPTION_TRAINED, 128}, {OPTION_DEVIATION, 0.2}, {OPTION_SEED, 1}}},
    {"hybrid", "Sinusoids, and a table beside them that ends with --trained (A.10)", "Hybrid of sinusoid and table",
     LABELS, ROWS(hybrid),
     .takes = {WHERE(128), WIDE, {OPTION_TRAINED, 96}, {OPTION_DEVIATION, 0.5}, {OPTION_SEED, 1}}},
    {"blocks", "Sinusoids of the block's number beside those of the place in it (A.11)", "Block-wise encoding", LABELS,
     ROWS(blocks), .n_parts = 2, .takes = {WHERE(128), {OPTION_DIM, 64}, {OPTION_BASE, 10000}, {OPTION_BLOCK, 16}}},
    {"resized", "A table of --trained rows, resized to --length (A.12)", "Resized table", LABELS, ROWS(resized),
     .check = check_resized,
     .takes = {WHERE(128), {OPTION_DIM, 32}, {OPTION_TRAINED, 16}, {OPTION_RESIZE, WORD_LINEAR_RESIZE}, RANDOM}},
    {"integer", "Integers over --length - 1; --alpha for several scales (A.13, A.14)", "Integer encoding", LABELS,
     ROWS(integer), .takes = {WHERE(128), {OPTION_DIM, 16}, {OPTION_ALPHA, 0}}},
    {"binary", "Bits, the lowest first (A.15)", "Binary code", METHOD_ROWS, "position", "bit", ROWS(binary),
     .check = check_bits, .takes = {WHERE(64), {OPTION_DIM, 6}}},
    {"gray", "Bits of the Gray code (A.16)", "Gray code", METHOD_ROWS, "position", "bit", ROWS(gray),
     .check = check_bits, .takes = {WHERE(64), {OPTION_DIM, 6}}},
    {"fourier", "Random Fourier features of positions from 0 to 1 (A.18)", "Random Fourier features", LABELS,
     ROWS(fourier), .check = check_fourier,
     .takes = {WHERE(128), {OPTION_DIM, 64}, {OPTION_SIGMA, 2}, {OPTION_SEED, 1}}},
    {"rbf", "Gaussian bumps, as many as --dim (A.19)", "Gaussian basis", METHOD_ROWS, "position", "bump", ROWS(rbf),
     .takes = {WHERE(128), {OPTION_DIM, 16}, {OPTION_SIGMA, 8}}},
    {"grid", "Sinusoids of the rows and columns of an image (A.21)", "2D sinusoidal encoding", METHOD_ROWS, "token",
     "channel", ROWS(grid), .check = check_grid, .takes = {IMAGE, WIDE, {OPTION_ORDER, WORD_W_FIRST}}},
    {"axial", "Tables for the rows and the columns of an image, summed (A.22)", "Axial encoding", METHOD_ROWS, "token",
     "channel", ROWS(axial), .takes = {IMAGE, {OPTION_DIM, 64}, RANDOM}},
    {.name = NULL},
};
