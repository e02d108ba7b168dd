/* Cases of the kernels that make rows: angles, ALiBi, softmax. */
#include "variants_case.h"

#include <string.h>

#include "kernels/exp.h"

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
        .n_fetch = at->choices >> 20 & 1 ? n_rows : 0,
        .is_vast = (int)(at->choices >> 21 & 1),
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
    args->seen.end = at->choices & 1 ? at->n : cuts[2];
    args->seen.begin = at->choices & 2 ? 0 : cuts[0];
    if (args->seen.begin == args->seen.end)
        args->seen.begin = args->seen.end = 0;
    if (at->choices & 4 && args->seen.begin < cuts[1] && cuts[1] < args->seen.end) {
        args->seen.hole_begin = args->seen.begin + (cuts[1] - args->seen.begin) / 2;
        args->seen.hole_end = cuts[1];
    }
}

/* What a logit may be made of besides its score: one thing, or any of them together. */
enum {
    WITH_ALIBI = 1,
    WITH_LINE = 2,
    WITH_BIAS = 4,
    WITH_CAP = 8,
    WITH_BYTES = 16,
    WITH_QUERY_TERM = 32,
    WITH_KEY_TERM = 64,
    WITH_POSITIONS = 128,
};

static unsigned some_terms(const variant_case *at) {
    unsigned terms = at->choices >> 4 & 255;
    return at->choices >> 57 & 1 ? terms : 1u << (terms & 7);
}

/* Rows of relative tables, and the offsets that keys at given positions stand at. */
enum { QUERY_ROWS = 40, KEY_ROWS = 5, FARTHEST = 20 };

/* Whole numbers of one case. */
static struct {
    int32_t positions[LARGEST], query_rows[LARGEST + 2 * FARTHEST], key_rows[LARGEST + 2 * FARTHEST];
    uint8_t bytes[LARGEST];
} whole;

static void fill_whole(random_state *random, int32_t query) {
    for (size_t j = 0; j < LARGEST; j++) {
        whole.positions[j] = query - FARTHEST - 2 + (int32_t)random_below(random, 2 * FARTHEST + 5);
        whole.bytes[j] = (uint8_t)(random_below(random, 3) * 127);
    }
    for (size_t i = 0; i < LARGEST + 2 * FARTHEST; i++) {
        whole.query_rows[i] = (int32_t)random_below(random, QUERY_ROWS);
        whole.key_rows[i] = (int32_t)random_below(random, KEY_ROWS);
    }
}

static void add_terms(variant_check *check, const variant_case *at, posenc_softmax_row_args *args) {
    unsigned terms = some_terms(at);
    int by_position = (terms & WITH_POSITIONS) != 0;
    args->position = at->choices >> 16 & 1 ? (int32_t)at->n - 1 : some_query(check->random) / (by_position ? 2 : 1);
    fill_whole(check->random, args->position);
    args->bias_type = (posenc_dtype)(at->number / 27 % 3);
    fill_floats(room.weight, KEY_ROWS * at->n + 2 * FARTHEST + 1, check->random, at->is_hostile);
    fill_floats(room.cos_row, QUERY_ROWS, check->random, at->is_hostile);
    fill_typed(room.sin_row, at->n, args->bias_type, check->random, at->is_hostile);
    int32_t first = by_position ? -FARTHEST : -args->position;
    int32_t last = by_position ? FARTHEST : (int32_t)at->n - 1 - args->position;
    if (by_position) {
        args->k_pos = whole.positions;
        args->lowest = first;
        args->highest = last;
    }
    if (terms & WITH_ALIBI)
        args->slope = (float)exp2(random_between(check->random, -16.0, 0.0));
    if (terms & WITH_LINE)
        args->line = (posenc_float_line){room.weight, first, last};
    if (terms & WITH_BIAS) {
        args->bias = room.sin_row;
        args->bias_slope = 0.5f;
    }
    if (terms & WITH_CAP) {
        args->cap = 30.0f;
        args->inv_cap = 1.0f / 30.0f;
    }
    if (terms & WITH_BYTES) {
        args->bytes = whole.bytes;
        args->keep = (int)(at->choices >> 17 & 1);
    }
    if (terms & WITH_QUERY_TERM)
        args->by_query = (posenc_relative_line){room.cos_row, 0, whole.query_rows, first, last, QUERY_ROWS - 1};
    if (terms & WITH_KEY_TERM)
        args->by_key = (posenc_relative_line){room.weight, KEY_ROWS, whole.key_rows, first, last, KEY_ROWS - 1};
}

void softmax_row_case(variant_check *check, const variant_case *at) {
    static const float leasts[] = {-INFINITY, -INFINITY, 0.0f, -3.0f};
    posenc_dtype x_type = (posenc_dtype)(at->number / 3 % 3), y_type = (posenc_dtype)(at->number / 9 % 3);
    size_t n_outputs = 2 * MARGIN + at->offset + at->n, first = MARGIN + at->offset;
    size_t x_first = first * (x_type == POSENC_F32 ? 4 : 2), y_first = first * (y_type == POSENC_F32 ? 4 : 2);
    int in_place = x_type == y_type && (at->choices >> 3 & 1), has_sum = y_type == POSENC_F32 && at->number % 3 < 2;
    fill_typed(room.x, n_outputs, x_type, check->random, at->is_hostile);
    fill_outputs(n_outputs, y_type, check->random);
    if (in_place) {
        memcpy(room.expected, room.x, sizeof room.expected);
        memcpy(room.actual, room.x, sizeof room.actual);
    }
    posenc_softmax_row_args args = {
        .x = (char *)(in_place ? room.expected : room.x) + x_first,
        .y = (char *)room.expected + y_first,
        .x_type = x_type,
        .y_type = y_type,
        .form = (posenc_softmax_form)(at->number % 3),
        .n = at->n,
        .leaves_hidden = (int)(at->choices >> 18 & 1),
        .scale = at->choices >> 19 & 1 ? 0.125f : 8.0f,
        .exp_lowest = at->choices >> 20 & 1 ? POSENC_EXP_LOWEST : POSENC_WEIGHT_LOWEST,
        .least = leasts[at->choices >> 21 & 3],
        .sink = at->choices >> 23 & 1 ? -INFINITY : 1.0f,
        .empty = 0.25f,
        .sum = has_sum ? (posenc_softmax_sum *)(void *)(room.expected + n_outputs - 2) : NULL,
    };
    add_terms(check, at, &args);
    some_bounds(at, &args);
    check->scalar->softmax_row(&args);
    if (in_place)
        args.x = (char *)room.actual + x_first;
    args.y = (char *)room.actual + y_first;
    if (has_sum)
        args.sum = (posenc_softmax_sum *)(void *)(room.actual + n_outputs - 2);
    posenc_softmax_row_args next = args;
    args.next = &next;
    check->tier->softmax_row(&args);
    compare_outputs(check, n_outputs, y_type, at);
}

/* Probabilities, as a softmax would have left them, their gradients, and scores beside them. */
void softmax_backward_case(variant_check *check, const variant_case *at) {
    size_t n = at->n, first = MARGIN + at->offset, n_outputs = 2 * (first + n) + 2 * MARGIN, db = first + n + MARGIN;
    int32_t query = (int32_t)(at->choices >> 60) - 8;
    posenc_softmax_row_args seen = {.n = n};
    some_bounds(at, &seen);
    fill_whole(check->random, query);
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
        .seen = seen.seen,
        .k_pos = at->choices >> 19 & 1 ? whole.positions : NULL,
        .position = query,
        .lowest = -FARTHEST,
        .highest = FARTHEST,
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
