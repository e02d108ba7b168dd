/* Cases of the kernels that make rows: angles, ALiBi, softmax. */
#include "variants_case.h"

#include <string.h>

/* ---- Angles ---- */

static size_t whole_columns(size_t n) {
    return (n + POSENC_COLUMN - 1) / POSENC_COLUMN * POSENC_COLUMN;
}

/* With and without growth: xPos grows by less than 2^-9 a position, and what overflows far from the centre is the same
 * everywhere too. */
void angle_anchors_case(variant_check *check, const variant_case *at) {
    size_t n = whole_columns(at->n), n_outputs = 2 * n + 3 * MARGIN;
    for (int k = 0; k < 3; k++)
        fill_doubles(room.in[k], n + at->offset, check->random);
    for (size_t i = 0; i < n + at->offset; i++) {
        room.in[1][i] *= 0x1p-54;
        room.in[2][i] *= 0x1p-9;
    }
    fill_doubles(room.expected_wide, n_outputs, check->random);
    memcpy(room.actual_wide, room.expected_wide, n_outputs * sizeof(double));
    double position = (double)random_position(check->random);
    posenc_angle_anchors_args args = {
        .hi = room.in[0] + at->offset,
        .lo = room.in[1] + at->offset,
        .growth = at->choices & 1 ? room.in[2] + at->offset : NULL,
        .centre = at->choices & 2 ? 0.0 : position + random_between(check->random, -4096.0, 4096.0),
        .magnitude = at->choices & 4 ? 1.0 : random_between(check->random, 0.5, 2.0),
        .position = position,
        .cos_out = room.expected_wide + MARGIN,
        .sin_out = room.expected_wide + n + 2 * MARGIN,
        .n = n,
    };
    check->scalar->angle_anchors(&args);
    args.cos_out = room.actual_wide + MARGIN;
    args.sin_out = room.actual_wide + n + 2 * MARGIN;
    check->tier->angle_anchors(&args);
    compare_wide_outputs(check, n_outputs, at);
}

/* Of the first of MAX_ROWS rows; every other time next to the anchor, so that rows on both sides are asked for. */
static int some_offset(const variant_case *at) {
    int any = (int)((at->choices >> 18) % (POSENC_ANCHOR_BLOCK - MAX_ROWS)) - POSENC_ANCHOR_REACH;
    return at->choices >> 17 & 1 ? -1 : any;
}

/* Up to three rows, as two planes or as pairs, in either order, written or added. */
void angle_rows_case(variant_check *check, const variant_case *at) {
    int step = at->choices & 1 ? 2 : 1, swapped = (int)(at->choices >> 8 & 1);
    size_t n_rows = 1 + (at->choices >> 1) % MAX_ROWS, n = whole_columns(at->n), row = (size_t)step * at->n + 1;
    size_t first = MARGIN + at->offset, second = step == 2 ? first + 1 : first + n_rows * row + MARGIN;
    size_t n_outputs = second + n_rows * row + MARGIN;
    fill_doubles(room.in[0], n, check->random);
    fill_doubles(room.in[1], n, check->random);
    fill_doubles(&room.blocks[0].cos_sin[0][0][0], n / POSENC_COLUMN * sizeof room.blocks[0] / sizeof(double),
                 check->random);
    fill_doubles(&room.offsets[0].cos_sin[0][0][0], n / POSENC_COLUMN * sizeof room.offsets[0] / sizeof(double),
                 check->random);
    fill_doubles(&room.growth[0].factor[0][0], n / POSENC_COLUMN * sizeof room.growth[0] / sizeof(double),
                 check->random);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_angle_rows_args args = {
        .anchor_cos = room.in[0],
        .anchor_sin = room.in[1],
        .blocks = room.blocks,
        .offsets = room.offsets,
        .growth = at->choices >> 11 & 1 ? room.growth : NULL,
        .block = (int)(at->choices >> 12 & (POSENC_ANCHOR_BLOCK - 1)) - POSENC_ANCHOR_REACH,
        .first_offset = some_offset(at),
        .cos_out = room.expected + (swapped ? second : first),
        .sin_out = room.expected + (swapped ? first : second),
        .cos_stride = (ptrdiff_t)row,
        .sin_stride = (ptrdiff_t)row,
        .n = at->n,
        .n_rows = n_rows,
        .step = step,
        .drop_last = step == 2 && (at->choices >> 10 & 1),
        .add = (int)(at->choices >> 9 & 1),
    };
    check->scalar->angle_rows(&args);
    args.cos_out = room.actual + (swapped ? second : first);
    args.sin_out = room.actual + (swapped ? first : second);
    check->tier->angle_rows(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

/* ---- Scores ---- */

/* A query among the keys or far away, on either side. */
static int32_t some_query(random_state *random) {
    return random_position(random) / 2;
}

/* Bounds within the row, often the whole of it. */
static void some_bounds(const variant_case *at, posenc_softmax_row_args *args) {
    size_t cuts[3] = {(at->choices >> 8) % (at->n + 1), (at->choices >> 24) % (at->n + 1),
                      (at->choices >> 40) % (at->n + 1)};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (cuts[j] > cuts[j + 1]) {
                size_t larger = cuts[j];
                cuts[j] = cuts[j + 1];
                cuts[j + 1] = larger;
            }
    args->end = at->choices & 1 ? at->n : cuts[2];
    args->begin = at->choices & 2 ? 0 : cuts[0];
    if (args->begin == args->end)
        args->begin = args->end = 0;
    if (at->choices & 4 && args->begin < cuts[1] && cuts[1] < args->end) {
        args->hole_begin = args->begin + (cuts[1] - args->begin) / 2;
        args->hole_end = cuts[1];
    }
}

void softmax_row_case(variant_check *check, const variant_case *at) {
    size_t n_outputs = 2 * MARGIN + at->offset + at->n, first = MARGIN + at->offset;
    int in_place = (int)(at->choices >> 3 & 1), n = (int)at->n;
    uint64_t parts = at->choices >> 4; /* one bit for each thing a logit may be made of */
    fill_floats(room.x, n_outputs, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    if (in_place) {
        memcpy(room.expected, room.x, n_outputs * sizeof(float));
        memcpy(room.actual, room.x, n_outputs * sizeof(float));
    }
    int32_t query = parts & 1 ? n - 1 : some_query(check->random);
    posenc_softmax_row_args args = {
        .x = (in_place ? room.expected : room.x) + first,
        .y = room.expected + first,
        .form = (posenc_softmax_form)(at->number % 3),
        .n = at->n,
        .position = query,
        .scale = parts & 2 ? 0.125f : 8.0f,
        .cap = parts & 4 ? 0.0f : 30.0f,
        .inv_cap = parts & 4 ? 0.0f : 1.0f / 30.0f,
        .slope = parts & 8 ? 0.0f : (float)exp2(random_between(check->random, -16.0, 0.0)),
        .line = {parts & 16 ? NULL : room.x + first, -query, n - 1 - query},
        .bias = parts & 32 ? NULL : room.x + first,
        .bias_slope = 0.5f,
        .sink = parts & 64 ? -INFINITY : 1.0f,
    };
    some_bounds(at, &args);
    check->scalar->softmax_row(&args);
    if (in_place)
        args.x = room.actual + first;
    args.y = room.actual + first;
    check->tier->softmax_row(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

/* Probabilities, as a softmax would have left them, their gradients, and scores beside them. */
void softmax_backward_case(variant_check *check, const variant_case *at) {
    size_t n = at->n, first = MARGIN + at->offset, n_outputs = 2 * (first + n) + 2 * MARGIN, db = first + n + MARGIN;
    posenc_softmax_row_args seen = {.n = n};
    some_bounds(at, &seen);
    fill_floats(room.x, first + n, check->random, at->is_hostile);
    fill_floats(room.weight, first + n, check->random, at->is_hostile);
    fill_floats(room.cos_row, first + n, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_softmax_backward_args args = {
        .p = room.x + first,
        .dp = room.weight + first,
        .s = at->choices >> 4 & 1 ? room.cos_row + first : NULL,
        .dx = room.expected + first,
        .db = at->choices >> 5 & 1 ? room.expected + db : NULL,
        .n = n,
        .begin = seen.begin,
        .hole_begin = seen.hole_begin,
        .hole_end = seen.hole_end,
        .end = seen.end,
        .scale = at->choices >> 6 & 1 ? 0.125f : 8.0f,
        .inv_cap = 1.0f / 30.0f,
        .bias_slope = 0.5f,
        .dsink = at->choices >> 7 & 1 ? room.expected + n_outputs - 1 : NULL,
    };
    check->scalar->softmax_backward(&args);
    args.dx = room.actual + first;
    args.db = args.db != NULL ? room.actual + db : NULL;
    args.dsink = args.dsink != NULL ? room.actual + n_outputs - 1 : NULL;
    check->tier->softmax_backward(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

/* Up to three rows of the image. */
void add_axes_case(variant_check *check, const variant_case *at) {
    size_t height = 1 + at->choices % MAX_ROWS, n_outputs = 2 * MARGIN + at->offset + height * at->n;
    fill_floats(room.x, n_outputs, check->random, at->is_hostile);
    fill_floats(room.weight, height, check->random, at->is_hostile);
    fill_floats(room.cos_row, at->n, check->random, at->is_hostile);
    memcpy(room.expected, room.x, n_outputs * sizeof(float));
    memcpy(room.actual, room.x, n_outputs * sizeof(float));
    posenc_add_axes_args args = {room.expected + MARGIN + at->offset, room.weight, room.cos_row, height, at->n};
    check->scalar->add_axes(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->add_axes(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}
