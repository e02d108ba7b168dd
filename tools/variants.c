/* Both sides write into buffers that start out with the same contents, and the whole buffers are compared: a store
 * beyond the output shows as well as a wrong value. Reads beyond the input are what the project's tests look for. */
#include "variants.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Sizes: every one up to LAST_SMALL, which covers each tail of each vector length several times, then a few large. */
enum { LAST_SMALL = 67, MARGIN = 32, MAX_OFFSET = 16, LARGEST = 1031, MAX_HEADS = 3, MAX_ROWS = 3 };
enum { ROOM = 2 * MARGIN + MAX_OFFSET + MAX_HEADS * (2 * LARGEST + MAX_OFFSET) };

/* Inputs and outputs of one case; static, for it is large. */
static struct {
    float x[ROOM], expected[ROOM], actual[ROOM], cos_row[ROOM], sin_row[ROOM];
    double in[2][ROOM];
    posenc_offset_column offsets[LARGEST / POSENC_COLUMN + 1];
    double expected_wide[ROOM], actual_wide[ROOM];
} room;

/* ---- Numbers ---- */

static double any_of(random_state *random) {
    return random_between(random, -1.0, 1.0);
}

/* Mostly plain numbers of any size; in one case of eight, what arithmetic is known to stumble over. */
static float hostile(random_state *random) {
    static const float traps[] = {0.0f,      -0.0f,           1.0f,      -1.0f,     NAN,        INFINITY,
                                  -INFINITY, 0x1.fffffep127f, 0x1p-126f, 0x1p-149f, -0x1p-140f, 88.0f};
    if (random_below(random, 8) == 0)
        return traps[random_below(random, sizeof traps / sizeof traps[0])];
    return (float)(any_of(random) * exp2(random_between(random, -20.0, 8.0)));
}

static void fill(float *p, size_t n, random_state *random, int is_hostile) {
    for (size_t i = 0; i < n; i++)
        p[i] = is_hostile ? hostile(random) : (float)(4.0 * any_of(random));
}

static void fill_wide(double *p, size_t n, random_state *random) {
    for (size_t i = 0; i < n; i++)
        p[i] = any_of(random);
}

/* The same rubbish on both sides. */
static void fill_outputs(random_state *random, size_t n) {
    fill(room.expected, n, random, 0);
    memcpy(room.actual, room.expected, n * sizeof(float));
}

/* ---- Cases ---- */

/* What varies from case to case. */
typedef struct variant_case {
    size_t n, offset; /* offset: in elements, how far inputs and outputs are moved from their alignment */
    int is_hostile;
    uint64_t choices; /* random bits for what is left to choose */
} variant_case;

typedef void case_body(variant_check *check, const variant_case *at);

static void run_case(variant_check *check, case_body *body, size_t n, size_t offset) {
    variant_case at = {n, offset, (int)random_below(check->random, 2), random_bits(check->random)};
    body(check, &at);
}

static void walk(variant_check *check, case_body *body) {
    static const size_t large[] = {100, 127, 128, 129, 511, 513, 1024, LARGEST};
    size_t n_large = sizeof large / sizeof large[0];
    for (size_t k = 0; k <= LAST_SMALL + n_large; k++) {
        size_t n = k <= LAST_SMALL ? k : large[k - LAST_SMALL - 1];
        for (size_t offset = 0; !check->quick && offset < MAX_OFFSET; offset++)
            run_case(check, body, n, offset);
        run_case(check, body, n, random_below(check->random, MAX_OFFSET));
    }
}

/* ---- Comparison ---- */

static double number_at(const void *p, size_t i, size_t size) {
    return size == sizeof(double) ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static int same_bits(const void *a, const void *b, size_t i, size_t size) {
    return memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0 ||
           (isnan(number_at(a, i, size)) && isnan(number_at(b, i, size)));
}

/* n numbers of `size` bytes that scalar and tier have written; the format says what the case was. */
__attribute__((format(printf, 6, 7))) static void compare(variant_check *check, const void *expected,
                                                          const void *actual, size_t n, size_t size, const char *format,
                                                          ...) {
    int digits = size == sizeof(double) ? 17 : 9; /* enough to tell any two apart */
    check->values += n;
    for (size_t i = 0; i < n; i++) {
        if (same_bits(expected, actual, i, size) || check->wrong++ > 0)
            continue;
        va_list values;
        va_start(values, format);
        int used = snprintf(check->first, sizeof check->first, "%.*g instead of %.*g; ", digits,
                            number_at(actual, i, size), digits, number_at(expected, i, size));
        vsnprintf(check->first + used, sizeof check->first - (size_t)used, format, values);
        va_end(values);
    }
}

static void compare_outputs(variant_check *check, size_t n_outputs, const variant_case *at) {
    compare(check, room.expected, room.actual, n_outputs, sizeof(float), "n = %zu, offset %zu, choices %#llx", at->n,
            at->offset, (unsigned long long)at->choices);
}

/* ---- Angles ---- */

static size_t whole_columns(size_t n) {
    return (n + POSENC_COLUMN - 1) / POSENC_COLUMN * POSENC_COLUMN;
}

static void angle_anchors_case(variant_check *check, const variant_case *at) {
    size_t n = whole_columns(at->n), n_outputs = 2 * n + 3 * MARGIN;
    fill_wide(room.in[0], n + at->offset, check->random);
    fill_wide(room.in[1], n + at->offset, check->random);
    for (size_t i = 0; i < n + at->offset; i++)
        room.in[1][i] *= 0x1p-54;
    fill_wide(room.expected_wide, n_outputs, check->random);
    memcpy(room.actual_wide, room.expected_wide, n_outputs * sizeof(double));
    posenc_angle_anchors_args args = {
        .hi = room.in[0] + at->offset,
        .lo = room.in[1] + at->offset,
        .position = (double)random_position(check->random),
        .cos_out = room.expected_wide + MARGIN,
        .sin_out = room.expected_wide + n + 2 * MARGIN,
        .n = n,
    };
    check->scalar->angle_anchors(&args);
    args.cos_out = room.actual_wide + MARGIN;
    args.sin_out = room.actual_wide + n + 2 * MARGIN;
    check->tier->angle_anchors(&args);
    compare(check, room.expected_wide, room.actual_wide, n_outputs, sizeof(double), "n = %zu, position %.0f", n,
            args.position);
}

/* Up to three rows, as two planes or as pairs, in either order, written or added. */
static void angle_rows_case(variant_check *check, const variant_case *at) {
    int step = at->choices & 1 ? 2 : 1, swapped = (int)(at->choices >> 8 & 1);
    size_t n_rows = 1 + (at->choices >> 1) % MAX_ROWS, n = whole_columns(at->n), row = (size_t)step * at->n + 1;
    size_t first = MARGIN + at->offset, second = step == 2 ? first + 1 : first + n_rows * row + MARGIN;
    size_t n_outputs = second + n_rows * row + MARGIN;
    fill_wide(room.in[0], n, check->random);
    fill_wide(room.in[1], n, check->random);
    fill_wide(room.offsets[0].cos_sin[0][0], n / POSENC_COLUMN * sizeof room.offsets[0] / sizeof(double),
              check->random);
    fill_outputs(check->random, n_outputs);
    posenc_angle_rows_args args = {
        .anchor_cos = room.in[0],
        .anchor_sin = room.in[1],
        .offsets = room.offsets,
        .first_offset = (at->choices >> 16) % (POSENC_ANCHOR_BLOCK - MAX_ROWS),
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
    compare_outputs(check, n_outputs, at);
}

/* ---- RoPE ---- */

/* n pairs of up to three heads, in place or not, forward or back. */
static void rope_case(variant_check *check, const variant_case *at, size_t half,
                      void (*scalar)(const posenc_rope_args *), void (*tier)(const posenc_rope_args *)) {
    size_t n_heads = at->choices % (MAX_HEADS + 1), stride = at->n + half + 5;
    size_t n_outputs = 2 * MARGIN + at->offset + n_heads * stride;
    int in_place = (int)(at->choices >> 8 & 1);
    fill(room.x, n_outputs, check->random, at->is_hostile);
    fill(room.cos_row, at->n + at->offset, check->random, at->is_hostile);
    fill(room.sin_row, at->n + at->offset, check->random, at->is_hostile);
    fill_outputs(check->random, n_outputs);
    if (in_place) {
        memcpy(room.expected, room.x, n_outputs * sizeof(float));
        memcpy(room.actual, room.x, n_outputs * sizeof(float));
    }
    size_t first = MARGIN + at->offset;
    posenc_rope_args args = {
        .x = (in_place ? room.expected : room.x) + first,
        .y = room.expected + first,
        .x_stride = (ptrdiff_t)stride,
        .y_stride = (ptrdiff_t)stride,
        .cos_row = room.cos_row + at->offset,
        .sin_row = room.sin_row + at->offset,
        .sin_sign = at->choices >> 9 & 1 ? -1.0f : 1.0f,
        .half = half,
        .n = at->n,
        .n_heads = n_heads,
    };
    scalar(&args);
    args.x = (in_place ? room.actual : room.x) + first;
    args.y = room.actual + first;
    tier(&args);
    compare_outputs(check, n_outputs, at);
}

static void rope_half_case(variant_check *check, const variant_case *at) {
    size_t wider = (at->choices >> 16) % 4; /* a slice of a wider head has n < half */
    rope_case(check, at, at->n + wider, check->scalar->rope_half, check->tier->rope_half);
}

static void rope_interleaved_case(variant_check *check, const variant_case *at) {
    rope_case(check, at, at->n, check->scalar->rope_interleaved, check->tier->rope_interleaved);
}

/* ---- Scores ---- */

/* Some keys allowed, often all. */
static size_t some_allowed(const variant_case *at) {
    return at->choices & 1 ? at->n : (at->choices >> 8) % (at->n + 1);
}

/* A query among the keys or far away, on either side. */
static int32_t some_query(random_state *random) {
    return random_position(random) / 2;
}

static void alibi_row_case(variant_check *check, const variant_case *at) {
    size_t n_outputs = 2 * MARGIN + at->offset + at->n;
    fill_outputs(check->random, n_outputs);
    posenc_alibi_row_args args = {
        .y = room.expected + MARGIN + at->offset,
        .n = at->n,
        .n_allowed = some_allowed(at),
        .query = some_query(check->random),
        .slope = at->is_hostile ? hostile(check->random) : 0.25f,
    };
    check->scalar->alibi_row(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->alibi_row(&args);
    compare_outputs(check, n_outputs, at);
}

static void softmax_row_case(variant_check *check, const variant_case *at) {
    size_t n_outputs = 2 * MARGIN + at->offset + at->n, first = MARGIN + at->offset;
    int in_place = (int)(at->choices >> 1 & 1);
    fill(room.x, n_outputs, check->random, at->is_hostile);
    fill_outputs(check->random, n_outputs);
    if (in_place) {
        memcpy(room.expected, room.x, n_outputs * sizeof(float));
        memcpy(room.actual, room.x, n_outputs * sizeof(float));
    }
    posenc_softmax_row_args args = {
        .x = (in_place ? room.expected : room.x) + first,
        .y = room.expected + first,
        .n = at->n,
        .n_allowed = some_allowed(at),
        .query = at->choices >> 2 & 1 ? (int32_t)at->n - 1 : some_query(check->random),
        .scale = at->choices >> 3 & 1 ? 0.125f : 8.0f,
        .slope = at->choices >> 4 & 1 ? 0.0f : (float)exp2(random_between(check->random, -16.0, 0.0)),
    };
    check->scalar->softmax_row(&args);
    args.x = (in_place ? room.actual : room.x) + first;
    args.y = room.actual + first;
    check->tier->softmax_row(&args);
    compare_outputs(check, n_outputs, at);
}

/* ---- The list: a kernel without a case above does not compile ---- */

#define KERNEL(name, args)                                                                                             \
    static void check_##name(variant_check *check) {                                                                   \
        walk(check, name##_case);                                                                                      \
    }
#include "kernels/kernels.def"
#undef KERNEL

const variant_kernel variant_kernels[] = {
#define KERNEL(name, args) {#name, check_##name},
#include "kernels/kernels.def"
#undef KERNEL
};
const size_t n_variant_kernels = sizeof variant_kernels / sizeof variant_kernels[0];
