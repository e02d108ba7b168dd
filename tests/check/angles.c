/* SPDX-License-Identifier: MIT */
/* Sweeps of the angle kernels. */
#include "check.h"
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- angle_anchors ---- */

typedef struct anchors_shape {
    size_t n;
    double position, centre, magnitude;
    int has_growth;
} anchors_shape;

enum { HI, LO, ANCHOR_COS, ANCHOR_SIN, GROWTH };

static void anchors_arguments(const kernel_call *call, kernel_args *to) {
    const anchors_shape *s = call->shape;
    posenc_angle_anchors_args args = {
        .hi = call_data(call, HI, 0),
        .lo = call_data(call, LO, 0),
        .growth = s->has_growth ? call_data(call, GROWTH, 0) : NULL,
        .centre = s->centre,
        .magnitude = s->magnitude,
        .position = s->position,
        .cos_out = call_data(call, ANCHOR_COS, 0),
        .sin_out = call_data(call, ANCHOR_SIN, 0),
        .n = s->n,
    };
    to->angle_anchors = args;
}

static void describe_anchors(kernel_call *call, const anchors_shape *s) {
    static const struct {
        const char *name;
        operand_role role;
    } operands[] = {{"hi", OPERAND_IN},
                    {"lo", OPERAND_IN},
                    {"cos_out", OPERAND_OUT},
                    {"sin_out", OPERAND_OUT},
                    {"growth", OPERAND_IN}};
    call_begin(call, KERNEL_angle_anchors, anchors_arguments, s);
    for (int k = HI; k <= (s->has_growth ? GROWTH : ANCHOR_SIN); k++)
        operand_row(call_operand(call, operands[k].name, operands[k].role, ELEMENT_F64, s->n), 0, s->n, 1);
}

/* Half turns per position: of either sign, any magnitude up to the largest allowed (65536 radians), and a low part
 * below half an ulp. Some are multiples of a quarter, whose cosines and sines are exact. */
static void fill_frequencies(kernel_call *call, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double magnitude = 20860.0;
        for (uint64_t halvings = test_random() % 60; halvings > 0; halvings--)
            magnitude *= 0.5;
        double hi = test_random_double(FILL_ORDINARY) / 4.0 * magnitude;
        double lo = test_random_double(FILL_ORDINARY) / 4.0 * 0x1p-54 * hi;
        if (test_random() % 8 == 0) {
            hi = (double)test_random_below(9) * 0.25;
            lo = 0.0;
        }
        operand_set(&call->operands[HI], i, hi);
        operand_set(&call->operands[LO], i, lo);
    }
}

/* Exponents of e from 2^-20 to 2^13 and of either sign: growth that shows, that vanishes, and that ends in zero or
 * infinity. */
static void fill_growth(kernel_call *call, const anchors_shape *s) {
    for (size_t i = 0; s->has_growth && i < s->n; i++) {
        double exponent = test_random_double(FILL_ORDINARY) * 2048.0, distance = s->position - s->centre;
        for (uint64_t halvings = test_random() % 32; halvings > 0; halvings--)
            exponent *= 0.5;
        operand_set(&call->operands[GROWTH], i, distance == 0.0 ? exponent : exponent / distance);
    }
}

static void fill_anchors(kernel_call *call, const anchors_shape *s) {
    call_fill(call, FILL_ORDINARY);
    fill_frequencies(call, s->n);
    fill_growth(call, s);
}

static const double positions[] = {0.0, 32.0, -32.0, 4096.0, 1000000.0, -99999968.0, 2147483616.0, -2147483648.0};
enum { N_POSITIONS = sizeof positions / sizeof positions[0] };

/* Magnitude and centre; every other one has growth too. 1.3689 is what YaRN makes of a factor of 40. */
static const double stretches[][2] = {{1.0, 0.0},  {1.0, 0.0},           {1.3689, 0.0}, {0.73, 2048.0},
                                      {-2.5, 0.0}, {1.0, -2147483648.0}, {0.0, 0.0},    {0x1p-1074, 1.0}};
enum { N_STRETCHES = sizeof stretches / sizeof stretches[0] };

/* Tables are padded to columns, so sizes are multiples of one. */
static const size_t column_counts[] = {0, 1, 2, 3, 4, 5, 8, 33, 64};

static void check_anchors(kernel_call *call, const posenc_kernels *variant, const anchors_shape *s) {
    char what[128];
    int large = test_size_is_large(s->n);
    snprintf(what, sizeof what, "angle_anchors n=%zu position=%.0f centre=%.0f magnitude=%g%s", s->n, s->position,
             s->centre, s->magnitude, s->has_growth ? " growing" : "");
    if (test_case("%s", what)) {
        describe_anchors(call, s);
        fill_anchors(call, s);
        call_check(call, variant, large ? FEW_PLACES : EVERY_PLACE);
    }
    for (size_t lane = 0; lane < s->n && !large; lane++)
        if (test_case("%s lane %zu", what, lane)) {
            describe_anchors(call, s);
            fill_anchors(call, s);
            call_check_lane(call, variant, (int32_t)lane);
        }
}

void sweep_angle_anchors(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t i = 0; i < sizeof column_counts / sizeof column_counts[0]; i++)
        for (size_t p = 0; p < N_POSITIONS; p++)
            for (size_t k = 0; k < 2; k++) {
                size_t stretch = (2 * (i + p) + k) % N_STRETCHES;
                anchors_shape s = {.n = column_counts[i] * POSENC_COLUMN,
                                   .position = positions[p],
                                   .magnitude = stretches[stretch][0],
                                   .centre = stretches[stretch][1],
                                   .has_growth = k == 1};
                check_anchors(&call, variant, &s);
            }
}

/* ---- angle_rows ---- */

/* Targets of the outputs: two buffers; one buffer of pairs, cosine first or sine first; one buffer of rows that hold
 * all sines and then all cosines. */
typedef enum rows_target { PLANES, PAIRS_COS_FIRST, PAIRS_SIN_FIRST, CONCATENATED, N_TARGETS } rows_target;

typedef struct rows_shape {
    rows_target target;
    size_t n, n_rows;
    int block, first_offset;
    ptrdiff_t cos_stride, sin_stride;
    int drop_last, add, has_growth;
    size_t n_fetch;
} rows_shape;

enum { COS, SIN, BLOCKS, OFFSETS, OFFSET_GROWTH, FIRST_OUT, SECOND_OUT };

static size_t columns_of(const rows_shape *s) {
    return (s->n + POSENC_COLUMN - 1) / POSENC_COLUMN;
}

static int is_pairs(const rows_shape *s) {
    return s->target == PAIRS_COS_FIRST || s->target == PAIRS_SIN_FIRST;
}

static void rows_arguments(const kernel_call *call, kernel_args *to) {
    const rows_shape *s = call->shape;
    float *first = call_data(call, FIRST_OUT, rows_origin(s->n_rows, s->cos_stride));
    posenc_angle_rows_args args = {
        .anchor_cos = call_data(call, COS, 0),
        .anchor_sin = call_data(call, SIN, 0),
        .blocks = call_data(call, BLOCKS, 0),
        .offsets = call_data(call, OFFSETS, 0),
        .growth = s->has_growth ? call_data(call, OFFSET_GROWTH, 0) : NULL,
        .block = s->block,
        .first_offset = s->first_offset,
        .cos_stride = s->cos_stride,
        .sin_stride = s->sin_stride,
        .n = s->n,
        .n_rows = s->n_rows,
        .n_fetch = s->n_fetch,
        .step = is_pairs(s) ? 2 : 1,
        .drop_last = s->drop_last,
        .add = s->add,
        .is_vast = s->n_rows % 2 == 1,
    };
    switch (s->target) {
    case PAIRS_COS_FIRST:
        args.cos_out = first;
        args.sin_out = first + 1;
        break;
    case PAIRS_SIN_FIRST:
        args.cos_out = first + 1;
        args.sin_out = first;
        break;
    case CONCATENATED:
        args.cos_out = first + s->n;
        args.sin_out = first;
        break;
    default: args.cos_out = first; args.sin_out = call_data(call, SECOND_OUT, rows_origin(s->n_rows, s->sin_stride));
    }
    to->angle_rows = args;
}

/* The padding is nobody's and stays canaries, NaN: it may be read and must not show. */
static void anchor_operand(kernel_call *call, const rows_shape *s, const char *name) {
    operand_row(call_operand(call, name, OPERAND_IN, ELEMENT_F64, columns_of(s) * POSENC_COLUMN), 0, s->n, 1);
}

static operand *turns_operand(kernel_call *call, const rows_shape *s, const char *name) {
    size_t column = sizeof(posenc_turn_column) / sizeof(double);
    return call_operand(call, name, OPERAND_IN, ELEMENT_F64, columns_of(s) * column);
}

/* Turn k, of either sign, is filled. */
static void fill_turn(operand *o, const rows_shape *s, int k) {
    size_t column = sizeof(posenc_turn_column) / sizeof(double);
    for (size_t i = 0; i < s->n; i++)
        for (size_t part = 0; part < 2; part++)
            o->lane[i / POSENC_COLUMN * column + (2 * (size_t)abs(k) + part) * POSENC_COLUMN + i % POSENC_COLUMN] =
                (int32_t)i;
}

/* Only the turns that the rows need: no other may show. */
static void turns_operands(kernel_call *call, const rows_shape *s) {
    operand *blocks = turns_operand(call, s, "blocks"), *offsets = turns_operand(call, s, "offsets");
    int block = s->block, offset = s->first_offset;
    for (size_t r = 0; r < s->n_rows; r++, offset++) {
        if (offset == POSENC_ANCHOR_REACH) {
            offset = -POSENC_ANCHOR_REACH;
            block++;
        }
        fill_turn(blocks, s, block);
        fill_turn(offsets, s, offset);
    }
}

static void growth_operand(kernel_call *call, const rows_shape *s) {
    size_t column = sizeof(posenc_growth_column) / sizeof(double),
           first = (size_t)(s->first_offset + POSENC_ANCHOR_REACH);
    operand *o = call_operand(call, "growth", OPERAND_IN, ELEMENT_F64, s->has_growth ? columns_of(s) * column : 0);
    for (size_t i = 0; s->has_growth && i < s->n; i++)
        for (size_t r = first; r < first + s->n_rows; r++)
            o->lane[i / POSENC_COLUMN * column + r * POSENC_COLUMN + i % POSENC_COLUMN] = (int32_t)i;
}

/* Floats of an output's row. */
static size_t row_width(const rows_shape *s) {
    return s->target == PLANES ? s->n : 2 * s->n - (size_t)s->drop_last;
}

static void output_operand(kernel_call *call, const rows_shape *s, const char *name, ptrdiff_t stride) {
    size_t width = row_width(s);
    size_t step = is_pairs(s) ? 2 : 1, second = is_pairs(s) ? 1 : s->n;
    operand *o = call_operand(call, name, s->add ? OPERAND_IN_OUT : OPERAND_OUT, ELEMENT_F32,
                              rows_extent(s->n_rows, stride, width));
    for (size_t r = 0; r < s->n_rows; r++) {
        size_t at = rows_origin(s->n_rows, stride) + (size_t)((ptrdiff_t)r * stride);
        operand_row(o, at, s->n, step);
        if (s->target != PLANES)
            operand_row(o, at + second, s->n - (size_t)s->drop_last, step);
    }
}

static void describe_rows(kernel_call *call, const rows_shape *s) {
    call_begin(call, KERNEL_angle_rows, rows_arguments, s);
    anchor_operand(call, s, "anchor_cos");
    anchor_operand(call, s, "anchor_sin");
    turns_operands(call, s);
    growth_operand(call, s);
    if (s->target == PLANES) {
        output_operand(call, s, "cos_out", s->cos_stride);
        output_operand(call, s, "sin_out", s->sin_stride);
    } else {
        output_operand(call, s, "out", s->cos_stride);
    }
}

static const char *const target_names[] = {"planes", "pairs cos first", "pairs sin first", "concatenated"};

static void check_rows(kernel_call *call, const posenc_kernels *variant, const rows_shape *s) {
    static const test_fill fills[] = {FILL_ORDINARY, FILL_ADVERSARIAL};
    for (size_t f = 0; f < 2; f++)
        if (test_case("angle_rows n=%zu block=%d rows=%zu from %d, %s%s%s%s, strides %td %td %s", s->n, s->block,
                      s->n_rows, s->first_offset, target_names[s->target], s->drop_last ? " but the last" : "",
                      s->add ? " added" : "", s->has_growth ? " growing" : "", s->cos_stride, s->sin_stride,
                      test_fill_name(fills[f]))) {
            describe_rows(call, s);
            call_fill(call, fills[f]);
            call_check(call, variant, test_size_is_large(s->n) || f > 0 ? FEW_PLACES : EVERY_PLACE);
        }
}

static void check_lanes_of_rows(kernel_call *call, const posenc_kernels *variant, const rows_shape *s) {
    for (size_t lane = 0; lane < s->n; lane++)
        if (test_case("angle_rows n=%zu rows=%zu, %s%s, lane %zu", s->n, s->n_rows, target_names[s->target],
                      s->add ? " added" : "", lane)) {
            describe_rows(call, s);
            call_fill(call, FILL_ORDINARY);
            call_check_lane(call, variant, (int32_t)lane);
        }
}

/* Dense in one shape of three, else with room between the rows; backwards in one of four. */
static void choose_strides(rows_shape *s, size_t which) {
    ptrdiff_t width = (ptrdiff_t)row_width(s), space = (ptrdiff_t)(which % 3) * 5;
    s->cos_stride = s->sin_stride = which % 4 == 3 ? -width - space : width + space;
    if (s->target == PLANES)
        s->sin_stride = width + 2 * space;
}

void sweep_angle_rows(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t row_counts[] = {0, 1, 2, 3, 7, POSENC_ANCHOR_BLOCK, 2 * POSENC_ANCHOR_BLOCK + 3};
    static const int blocks[] = {0, -1, 5, -POSENC_ANCHOR_REACH, POSENC_ANCHOR_REACH - 1};
    for (size_t i = 0; i < test_n_sizes; i++)
        for (size_t r = 0; r < sizeof row_counts / sizeof row_counts[0] && test_sizes[i] * row_counts[r] < 35000; r++)
            for (int mode = 0; mode < 4 * N_TARGETS; mode++) {
                rows_shape s = {.target = (rows_target)(mode / 4),
                                .n = test_sizes[i],
                                .n_rows = row_counts[r],
                                .n_fetch = row_counts[r] / 2,
                                .drop_last = mode / 2 % 2,
                                .add = mode % 2};
                if (s.drop_last && (!is_pairs(&s) || s.n == 0))
                    continue;
                s.has_growth = (i + r + (size_t)mode) % 5 == 0 && s.n_rows <= POSENC_ANCHOR_BLOCK;
                s.block = blocks[(i + (size_t)mode) % 5];
                /* with growth within a block, else from any offset, of which there may be blocks to come */
                size_t n_offsets = POSENC_ANCHOR_BLOCK + 1 - (s.has_growth ? s.n_rows : 1);
                s.first_offset = (int)((i * 7 + r) % n_offsets) - POSENC_ANCHOR_REACH;
                while (s.block + (s.first_offset + POSENC_ANCHOR_REACH + (int)s.n_rows - 1) / POSENC_ANCHOR_BLOCK >=
                       POSENC_ANCHOR_REACH)
                    s.block--;
                choose_strides(&s, i + r);
                check_rows(&call, variant, &s);
                if (s.n_rows == 2 && !s.drop_last && !test_size_is_large(s.n))
                    check_lanes_of_rows(&call, variant, &s);
            }
}

/* ---- Benchmark ---- */

enum { POSITION = 4096, BENCH_PAIRS = 64 };

static void bench_anchors(kernel_call *call, size_t n, kernel_types types) {
    static anchors_shape s;
    (void)types;
    s = (anchors_shape){.n = n * POSENC_COLUMN, .position = POSITION, .magnitude = 1.0};
    describe_anchors(call, &s);
    call_fill(call, FILL_ORDINARY);
    for (size_t i = 0; i < s.n; i++) {
        operand_set(&call->operands[HI], i, 0.3 / (double)(i % 64 + 1));
        operand_set(&call->operands[LO], i, 0.0);
    }
}

/* Frequencies are in half turns a position. */
static void plain_anchors(const kernel_args *args) {
    const posenc_angle_anchors_args *a = &args->angle_anchors;
    for (size_t i = 0; i < a->n; i++) {
        double angle = a->position * a->hi[i] * 3.141592653589793;
        a->cos_out[i] = cos(angle);
        a->sin_out[i] = sin(angle);
    }
}

/* A double is two floats. */
static void limit_anchors(const bench_limits *limits, const kernel_args *args) {
    const posenc_angle_anchors_args *a = &args->angle_anchors;
    limits->fill((float *)a->cos_out, 2 * a->n, 1.0f);
    limits->fill((float *)a->sin_out, 2 * a->n, 1.0f);
}

const kernel_bench bench_angle_anchors = {
    .unit = "columns",
    .elements = 2 * POSENC_COLUMN,
    .describe = bench_anchors,
    .plain = plain_anchors,
    .limit = limit_anchors,
};

/* The rows of one block: consecutive positions. */
static void bench_rows_of_block(kernel_call *call, size_t n, kernel_types types) {
    static rows_shape s;
    (void)types;
    s = (rows_shape){.target = PLANES, .n = n, .n_rows = POSENC_ANCHOR_BLOCK, .first_offset = -POSENC_ANCHOR_REACH};
    s.cos_stride = s.sin_stride = (ptrdiff_t)n;
    describe_rows(call, &s);
    call_fill(call, FILL_ORDINARY);
    size_t column = sizeof(posenc_turn_column) / sizeof(double);
    for (size_t i = 0; i < n; i++) {
        double frequency = pow(10000.0, -(double)i / (double)n), anchor = (POSITION + POSENC_ANCHOR_REACH) * frequency;
        operand_set(&call->operands[COS], i, cos(anchor));
        operand_set(&call->operands[SIN], i, sin(anchor));
        for (size_t k = 0; k <= POSENC_ANCHOR_REACH; k++) {
            size_t at = i / POSENC_COLUMN * column + 2 * k * POSENC_COLUMN + i % POSENC_COLUMN;
            double cosine = cos((double)k * frequency), sine = sin((double)k * frequency);
            for (int table = BLOCKS; table <= OFFSETS; table++) {
                operand_set(&call->operands[table], at, cosine);
                operand_set(&call->operands[table], at + POSENC_COLUMN, sine);
            }
        }
    }
}

/* Some pairs at a time, as heads have them. */
static void plain_rows(const kernel_args *args) {
    const posenc_angle_rows_args *a = &args->angle_rows;
    float inv_freq[BENCH_PAIRS];
    for (size_t first = 0; first < a->n; first += BENCH_PAIRS) {
        size_t n = a->n - first < BENCH_PAIRS ? a->n - first : BENCH_PAIRS;
        for (size_t i = 0; i < n; i++)
            inv_freq[i] = powf(10000.0f, -(float)(first + i) / (float)a->n);
        for (size_t r = 0; r < a->n_rows; r++)
            plain_angles(inv_freq, n, (int32_t)(POSITION + r), a->cos_out + r * a->n + first,
                         a->sin_out + r * a->n + first);
    }
}

static void limit_angle_rows(const bench_limits *limits, const kernel_args *args) {
    const posenc_angle_rows_args *a = &args->angle_rows;
    limits->fill(a->cos_out, a->n_rows * a->n, 1.0f);
    limits->fill(a->sin_out, a->n_rows * a->n, 1.0f);
}

const kernel_bench bench_angle_rows = {
    .unit = "pairs",
    .elements = 2 * POSENC_ANCHOR_BLOCK,
    .describe = bench_rows_of_block,
    .plain = plain_rows,
    .limit = limit_angle_rows,
};
