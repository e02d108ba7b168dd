/* Encodings: a row for every position. */
#include <stdlib.h>

#include "method.h"

/* Positions of rows row .. row + n - 1, of whatever plane. */
static void positions_of(const table *t, int64_t row, int64_t n, int32_t *positions) {
    for (int64_t k = 0; k < n; k++)
        positions[k] = (int32_t)(t->first + (row + k) % t->n_rows);
}

/* ---- Sinusoidal ---- */

static posenc_status sinusoidal_open(table *t) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    int minus_1 = t->value[OPTION_SCHEDULE] == WORD_HALF_MINUS_1;
    params.layout = t->value[OPTION_LAYOUT] == WORD_CONCAT ? POSENC_SINUSOIDAL_CONCAT : POSENC_SINUSOIDAL_INTERLEAVED;
    params.schedule = minus_1 ? POSENC_SCHEDULE_HALF_MINUS_1 : POSENC_SCHEDULE_HALF;
    params.odd = t->value[OPTION_ODD] == WORD_ZERO ? POSENC_ODD_ZERO : POSENC_ODD_SIN;
    params.dim = t->n_columns;
    params.base = t->value[OPTION_BASE];
    posenc_sinusoidal *pe;
    posenc_status status = posenc_sinusoidal_create(&params, &pe);
    t->data = pe;
    return status;
}

static posenc_status sinusoidal_fill(const table *t, int64_t row, int64_t n, float *values) {
    int32_t positions[TABLE_BLOCK];
    positions_of(t, row, n, positions);
    posenc_view y = posenc_view_dense(values, POSENC_F32, t->n_columns, n, 1, 1);
    return posenc_sinusoidal_write(t->data, positions, &y);
}

static void sinusoidal_close(table *t) {
    posenc_sinusoidal_free(t->data);
}

/* ---- RoPE: cosines in plane 0, sines in plane 1 ---- */

typedef struct rope_data {
    posenc_rope *rope;
    float *other; /* the plane that is not asked for */
} rope_data;

static posenc_status rope_open(table *t) {
    static const posenc_scaling_type types[] = {
        [WORD_UNSCALED] = POSENC_SCALING_NONE, [WORD_LINEAR] = POSENC_SCALING_LINEAR,
        [WORD_NTK] = POSENC_SCALING_NTK,       [WORD_DYNAMIC] = POSENC_SCALING_DYNAMIC,
        [WORD_YARN] = POSENC_SCALING_YARN,     [WORD_LLAMA3] = POSENC_SCALING_LLAMA3,
    };
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = t->n_columns;
    params.base = t->value[OPTION_BASE];
    params.scaling.type = types[(int)t->value[OPTION_SCALING]];
    if (params.scaling.type != POSENC_SCALING_NONE) {
        params.scaling.factor = t->value[OPTION_FACTOR];
        params.scaling.original_context = t->value[OPTION_CONTEXT];
        params.scaling.context = t->value[OPTION_CONTEXT] * t->value[OPTION_FACTOR];
    }
    posenc_rope *rope;
    posenc_status status = posenc_rope_create(&params, &rope);
    if (status != POSENC_OK)
        return status;
    t->n_columns /= 2;
    t->n_planes = 2;
    rope_data *data = malloc(sizeof *data);
    float *other = malloc((size_t)(TABLE_BLOCK * t->n_columns) * sizeof *other);
    if (data == NULL || other == NULL) {
        free(data);
        free(other);
        posenc_rope_free(rope);
        return POSENC_ERR_MEMORY;
    }
    *data = (rope_data){rope, other};
    t->data = data;
    return POSENC_OK;
}

static posenc_status rope_fill(const table *t, int64_t row, int64_t n, float *values) {
    const rope_data *data = t->data;
    int32_t positions[TABLE_BLOCK];
    positions_of(t, row, n, positions);
    int is_sine = row >= t->n_rows;
    posenc_rope_table rows = {is_sine ? data->other : values, is_sine ? values : data->other, t->n_columns, 1};
    return posenc_rope_fill_table(data->rope, positions, n, POSENC_FORWARD, &rows);
}

static void rope_close(table *t) {
    rope_data *data = t->data;
    posenc_rope_free(data->rope);
    free(data->other);
    free(data);
}

/* ---- The list ---- */

const method methods_rows[] = {
    {
        .name = "sinusoidal",
        .help = "Sines and cosines of the Transformer (A.1, A.2, A.4)",
        .title = "Sinusoidal encoding",
        .row_label = "position",
        .column_label = "channel",
        .takes = {{OPTION_LENGTH, 128},
                  {OPTION_START, 0},
                  {OPTION_DIM, 128},
                  {OPTION_BASE, 10000},
                  {OPTION_LAYOUT, WORD_INTERLEAVED},
                  {OPTION_SCHEDULE, WORD_HALF},
                  {OPTION_ODD, WORD_SIN}},
        .open = sinusoidal_open,
        .fill = sinusoidal_fill,
        .close = sinusoidal_close,
    },
    {
        .name = "rope",
        .help = "Cosines and sines of the rotary embedding, with its scalings (B.1, B.9 - B.17)",
        .title = "Rotary embedding",
        .row_label = "position",
        .column_label = "pair",
        .plane_names = {"cosine", "sine"},
        .takes = {{OPTION_LENGTH, 128},
                  {OPTION_START, 0},
                  {OPTION_DIM, 128},
                  {OPTION_BASE, 10000},
                  {OPTION_SCALING, WORD_UNSCALED},
                  {OPTION_FACTOR, 4},
                  {OPTION_CONTEXT, 4096}},
        .open = rope_open,
        .fill = rope_fill,
        .close = rope_close,
    },
    {.name = NULL},
};
