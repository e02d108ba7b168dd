/* Cases of the kernels behind relative terms. */
#include "variants_case.h"

#include <string.h>

/* Up to seven rows of x, which may share their channels, with a table of n rows. */
void dot_rows_case(variant_check *check, const variant_case *at) {
    size_t n_x = 1 + at->choices % 7, dim = 1 + (at->choices >> 3) % 32;
    if (n_x * at->n > ROOM / 2)
        n_x = 1;
    posenc_dtype type = (posenc_dtype)((at->choices >> 8) % 3);
    size_t n_panels = (at->n + POSENC_PANEL - 1) / POSENC_PANEL, n_outputs = 2 * MARGIN + at->offset + n_x * at->n;
    static float panels[(LARGEST + POSENC_PANEL) * 32];
    fill_typed(room.x, at->offset + n_x + dim, type, check->random, at->is_hostile);
    fill_floats(room.weight, dim, check->random, at->is_hostile);
    fill_floats(panels, n_panels * POSENC_PANEL * dim, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_dot_rows_args args = {
        .x = (const char *)room.x + at->offset * (type == POSENC_F32 ? 4 : 2),
        .x_type = type,
        .x_stride = type == POSENC_F32 ? 4 : 2,
        .shift = at->choices >> 12 & 1 ? room.weight : NULL,
        .panels = panels,
        .y = room.expected + MARGIN + at->offset,
        .y_stride = (ptrdiff_t)(at->n * sizeof(float)),
        .dim = dim,
        .n_x = n_x,
        .n_rows = at->n,
    };
    check->scalar->dot_rows(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->dot_rows(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

/* A few rows of x, which may share their channels, with a panel or two of rows that share theirs. */
void dot_few_case(variant_check *check, const variant_case *at) {
    size_t n_x = 1 + at->choices % POSENC_FEW, dim = ((at->choices >> 3) % 8) * POSENC_FEW_CHANNELS;
    size_t n_rows = (1 + (at->choices >> 6) % 2) * POSENC_PANEL, n_outputs = 2 * MARGIN + at->offset + n_x * n_rows;
    posenc_dtype type = at->choices >> 7 & 1 ? POSENC_F16 : POSENC_BF16;
    fill_typed(room.x, at->offset + n_rows + dim, type, check->random, at->is_hostile);
    fill_floats(room.weight, n_x + dim, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_dot_few_args args = {
        .x = room.weight,
        .x_stride = sizeof(float),
        .rows = (const char *)room.x + at->offset * sizeof(uint16_t),
        .rows_type = type,
        .row_stride = sizeof(uint16_t),
        .y = room.expected + MARGIN + at->offset,
        .y_stride = (ptrdiff_t)(n_rows * sizeof(float)),
        .dim = dim,
        .n_x = n_x,
        .n_rows = n_rows,
        .ahead = {{room.x, 64, 64, at->choices >> 40 & 31}},
    };
    check->scalar->dot_few(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->dot_few(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

/* Up to 40 rows of n channels, which share them: each begins an element after the one before. */
void weighted_rows_case(variant_check *check, const variant_case *at) {
    size_t n = at->choices % 41, n_outputs = 2 * MARGIN + at->offset + at->n;
    posenc_dtype type = (posenc_dtype)((at->choices >> 8) % 3);
    static int32_t index[40];
    for (size_t k = 0; k < n; k++)
        index[k] = (int32_t)random_below(check->random, 40);
    fill_typed(room.x, at->offset + 40 + at->n, type, check->random, at->is_hostile);
    fill_floats(room.weight, n, check->random, at->is_hostile);
    fill_floats(room.cos_row, at->n, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_weighted_rows_args args = {
        .weights = room.weight,
        .weight_stride = sizeof(float),
        .factor = at->choices >> 12 & 1 ? 1.0f : 0.3f,
        .rows = (const char *)room.x + at->offset * (type == POSENC_F32 ? 4 : 2),
        .rows_type = type,
        .row_stride = type == POSENC_F32 ? 4 : 2,
        .index = at->choices >> 13 & 1 ? index : NULL,
        .shift = at->choices >> 14 & 1 ? room.cos_row : NULL,
        .y = room.expected + MARGIN + at->offset,
        .dim = at->n,
        .n = n,
    };
    check->scalar->weighted_rows(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->weighted_rows(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

/* Up to a panel of rows of n channels, at most MOST_CHANNELS, which share them. */
void pack_rows_case(variant_check *check, const variant_case *at) {
    enum { MOST_CHANNELS = 128 };
    size_t dim = at->n < MOST_CHANNELS ? at->n : MOST_CHANNELS, n_rows = 1 + at->choices % POSENC_PANEL;
    size_t n_outputs = 2 * MARGIN + at->offset + POSENC_PANEL * dim;
    posenc_dtype type = (posenc_dtype)((at->choices >> 8) % 3);
    fill_typed(room.x, at->offset + n_rows + dim, type, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_pack_rows_args args = {
        .rows = (const char *)room.x + at->offset * (type == POSENC_F32 ? 4 : 2),
        .rows_type = type,
        .row_stride = type == POSENC_F32 ? 4 : 2,
        .panels = room.expected + MARGIN + at->offset,
        .dim = dim,
        .n_rows = n_rows,
        .ahead = {{room.x, 64, 64, (at->choices >> 40) % (n_rows + 1)}},
    };
    check->scalar->pack_rows(&args);
    args.panels = room.actual + MARGIN + at->offset;
    check->tier->pack_rows(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

/* Up to eight sums of up to 40 rows of n channels, which share them. */
void attend_rows_case(variant_check *check, const variant_case *at) {
    enum { MOST_ROWS = 40 };
    size_t n_sums = 1 + at->choices % 8, n_rows = at->choices >> 3 & 31;
    if (n_sums * at->n > ROOM / 2)
        n_sums = 1;
    size_t n_outputs = 2 * MARGIN + at->offset + n_sums * at->n;
    posenc_dtype type = (posenc_dtype)((at->choices >> 8) % 3);
    int32_t begin[8], end[8];
    for (size_t i = 0; i < n_sums; i++) {
        begin[i] = at->choices >> 12 & 1 ? 0 : (int32_t)random_below(check->random, n_rows + 1);
        end[i] = begin[i] + (int32_t)random_below(check->random, n_rows + 1 - (uint64_t)begin[i]);
    }
    fill_typed(room.x, at->offset + MOST_ROWS + at->n, type, check->random, at->is_hostile);
    fill_floats(room.weight, n_sums * MOST_ROWS, check->random, at->is_hostile);
    fill_floats(room.cos_row, n_sums, check->random, at->is_hostile);
    fill_floats(room.sin_row, n_sums * at->n, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_attend_rows_args args = {
        .weights = room.weight,
        .weight_stride = MOST_ROWS,
        .from = at->choices & 1 << 14 ? room.sin_row : NULL,
        .keep = at->choices & 1 << 13 ? room.cos_row : NULL,
        .begin = begin,
        .end = end,
        .rows = (const char *)room.x + at->offset * (type == POSENC_F32 ? 4 : 2),
        .rows_type = type,
        .row_stride = type == POSENC_F32 ? 4 : 2,
        .y = room.expected + MARGIN + at->offset,
        .y_stride = at->n,
        .dim = at->n,
        .n = n_sums,
    };
    check->scalar->attend_rows(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->attend_rows(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

void affine_row_case(variant_check *check, const variant_case *at) {
    size_t n_outputs = 2 * MARGIN + at->offset + at->n;
    fill_floats(room.x, at->offset + at->n, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_affine_row_args args = {
        .x = room.x + at->offset,
        .y = room.expected + MARGIN + at->offset,
        .a = at->is_hostile ? hostile_number(check->random) : 0.3f,
        .b = at->is_hostile ? hostile_number(check->random) : -0.7f,
        .n = at->n,
        .add = (int)(at->choices & 1),
    };
    check->scalar->affine_row(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->affine_row(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

void cope_row_case(variant_check *check, const variant_case *at) {
    size_t n_outputs = 2 * MARGIN + at->offset + at->n, first = MARGIN + at->offset;
    int in_place = (int)(at->choices & 1);
    fill_floats(room.x, n_outputs, check->random, at->is_hostile);
    fill_floats(room.cos_row, n_outputs, check->random, at->is_hostile);
    fill_floats(room.weight, 65, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    if (in_place) {
        memcpy(room.expected, room.x, n_outputs * sizeof(float));
        memcpy(room.actual, room.x, n_outputs * sizeof(float));
    }
    posenc_cope_row_args args = {
        .x = (in_place ? room.expected : room.x) + first,
        .gates = room.cos_row + first,
        .z = room.weight,
        .y = room.expected + first,
        .scale = at->choices >> 1 & 1 ? 0.125f : 1.0f,
        .is_scaled = (int)(at->choices >> 2 & 1),
        .n = at->n,
        .n_seen = at->choices >> 3 & 1 ? at->n : (at->choices >> 8) % (at->n + 1),
        .n_positions = 1 + (at->choices >> 20) % 65,
    };
    check->scalar->cope_row(&args);
    args.x = (in_place ? room.actual : room.x) + first;
    args.y = room.actual + first;
    check->tier->cope_row(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}
