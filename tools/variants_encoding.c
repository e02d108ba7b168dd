/* Cases of the kernels of absolute encodings. */
#include "variants_case.h"

#include <string.h>

enum { MAX_TERMS = MAX_ROWS };

static size_t size_of(posenc_dtype type) {
    return type == POSENC_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Up to three rows from room.x, one of them perhaps from nowhere, written or added, with every gate. */
void place_rows_case(variant_check *check, const variant_case *at) {
    posenc_dtype source_type = (posenc_dtype)(at->number % 3), type = (posenc_dtype)(at->number / 3 % 3);
    size_t n_rows = at->choices % (MAX_ROWS + 1), row = at->n + 3, first = MARGIN + at->offset;
    size_t n_outputs = first + n_rows * row + MARGIN;
    int gating = (int)(at->choices >> 8 & 3);
    fill_typed(room.x, n_outputs, source_type, check->random, at->is_hostile);
    fill_floats(room.weight, n_outputs, check->random, at->is_hostile);
    fill_outputs(n_outputs, type, check->random);
    const void *sources[MAX_ROWS];
    for (size_t r = 0; r < n_rows; r++)
        sources[r] = (at->choices >> (12 + r) & 3) == 0
                         ? NULL
                         : (const char *)room.x + (first + (n_rows - 1 - r) * row) * size_of(source_type);
    posenc_place_rows_args args = {
        .sources = sources,
        .source_type = source_type,
        .factor = at->choices >> 10 & 1 ? 1.0f : -0.3f,
        .gate = gating == 0 ? NULL : room.weight + first,
        .gate_stride = (ptrdiff_t)(row * sizeof(float)),
        .gate_step = gating == 1,
        .y = (char *)room.expected + first * size_of(type),
        .type = type,
        .x_stride = (ptrdiff_t)(row * size_of(type)),
        .y_stride = (ptrdiff_t)(row * size_of(type)),
        .n = at->n,
        .n_rows = n_rows,
    };
    args.x = at->choices >> 11 & 1 ? args.y : NULL;
    check->scalar->place_rows(&args);
    args.x = args.x != NULL ? (char *)room.actual + first * size_of(type) : NULL;
    args.y = (char *)room.actual + first * size_of(type);
    check->tier->place_rows(&args);
    compare_outputs(check, n_outputs, type, at);
}

/* Up to three terms, with one weight or many, with and without a start and a residual. */
void mix_row_case(variant_check *check, const variant_case *at) {
    posenc_dtype x_type = (posenc_dtype)(at->number % 3), y_type = (posenc_dtype)(at->number / 3 % 3);
    size_t row = at->n + 3, first = MARGIN + at->offset, n_outputs = first + at->n + MARGIN;
    fill_typed(room.x, first + MAX_TERMS * row, x_type, check->random, at->is_hostile);
    fill_floats(room.weight, first + MAX_TERMS * row, check->random, at->is_hostile);
    fill_floats(room.cos_row, n_outputs, check->random, at->is_hostile);
    fill_outputs(n_outputs, y_type, check->random);
    const void *x[MAX_TERMS];
    const float *weights[MAX_TERMS];
    for (size_t k = 0; k < MAX_TERMS; k++) {
        x[k] = (const char *)room.x + (first + k * row) * size_of(x_type);
        weights[k] = room.weight + first + k * row;
    }
    posenc_mix_row_args args = {
        .x = x,
        .x_type = x_type,
        .y_type = y_type,
        .weights = weights,
        .weight_step = (int)(at->choices & 1),
        .start = at->choices & 2 ? room.cos_row + first : NULL,
        .residual = at->choices & 4 ? x[0] : NULL,
        .y = (char *)room.expected + first * size_of(y_type),
        .n = at->n,
        .n_terms = (at->choices >> 8) % (MAX_TERMS + 1),
    };
    check->scalar->mix_row(&args);
    args.y = (char *)room.actual + first * size_of(y_type);
    check->tier->mix_row(&args);
    compare_outputs(check, n_outputs, y_type, at);
}

/* Where rows that are made from a number each go. */
typedef struct made_rows {
    size_t n_rows, row, first, n_outputs;
} made_rows;

static made_rows make_rows(variant_check *check, const variant_case *at) {
    made_rows m = {.n_rows = at->choices % (MAX_ROWS + 1), .row = at->n + 3, .first = MARGIN + at->offset};
    m.n_outputs = m.first + m.n_rows * m.row + MARGIN;
    fill_outputs(m.n_outputs, POSENC_F32, check->random);
    return m;
}

void bit_rows_case(variant_check *check, const variant_case *at) {
    made_rows m = make_rows(check, at);
    uint64_t codes[MAX_ROWS];
    for (size_t r = 0; r < MAX_ROWS; r++)
        codes[r] = random_bits(check->random) >> random_below(check->random, 64);
    posenc_bit_rows_args args = {
        .codes = codes,
        .zero = at->is_hostile ? hostile_number(check->random) : 0.0f,
        .one = 1.0f,
        .y = room.expected + m.first,
        .stride = (ptrdiff_t)m.row,
        .n = at->n,
        .n_rows = m.n_rows,
        .add = (int)(at->choices >> 8 & 1),
    };
    check->scalar->bit_rows(&args);
    args.y = room.actual + m.first;
    check->tier->bit_rows(&args);
    compare_outputs(check, m.n_outputs, POSENC_F32, at);
}

void rbf_rows_case(variant_check *check, const variant_case *at) {
    made_rows m = make_rows(check, at);
    double positions[MAX_ROWS];
    fill_doubles(positions, MAX_ROWS, check->random);
    fill_doubles(room.in[0], at->n + POSENC_COLUMN + at->offset, check->random);
    posenc_rbf_rows_args args = {
        .positions = positions,
        .minus_centres = room.in[0] + at->offset,
        .minus_k = random_between(check->random, -64.0, 0.0),
        .y = room.expected + m.first,
        .stride = (ptrdiff_t)m.row,
        .n = at->n,
        .n_rows = m.n_rows,
        .add = (int)(at->choices >> 8 & 1),
    };
    check->scalar->rbf_rows(&args);
    args.y = room.actual + m.first;
    check->tier->rbf_rows(&args);
    compare_outputs(check, m.n_outputs, POSENC_F32, at);
}
