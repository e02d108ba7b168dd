/* SPDX-License-Identifier: MIT */
/* Sweeps of the kernels of absolute encodings. */
#include "check.h"
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 7, MAX_TERMS = 16 };

static call_places places_of(size_t n, test_fill fill) {
    return test_size_is_large(n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE;
}

/* ---- place_rows ---- */

/* ONE_ROW: all rows into one, added up. */
typedef enum place_addend { NOTHING, IN_PLACE, APART, ONE_ROW, N_ADDENDS } place_addend;
typedef enum place_gating { NO_GATE, GATE_OF_ROW, GATE_OF_CHANNEL, N_GATINGS } place_gating;

typedef struct place_shape {
    posenc_dtype source_type, type;
    size_t n, n_rows;
    ptrdiff_t source_stride, y_stride; /* in elements */
    place_addend addend;
    place_gating gating;
    float factor;
    int from[MAX_ROWS]; /* the source of each row; -1: NULL */
} place_shape;

enum { SOURCE, PLACE_Y, PLACE_X, PLACE_GATE };

static int operand_named(const kernel_call *call, const char *name) {
    for (int k = 0; k < call->n_operands; k++)
        if (strcmp(call->operands[k].name, name) == 0)
            return k;
    return -1;
}

static void place_arguments(const kernel_call *call, kernel_args *to) {
    const place_shape *s = call->shape;
    static const void *sources[MAX_ROWS];
    for (size_t r = 0; r < s->n_rows; r++)
        sources[r] = s->from[r] < 0 ? NULL : call_row_at(call, SOURCE, s->n_rows, s->source_stride, (size_t)s->from[r]);
    int gate = operand_named(call, "gate"), x = operand_named(call, "x");
    posenc_place_rows_args args = {
        .sources = sources,
        .source_type = s->source_type,
        .factor = s->factor,
        .gate = gate < 0 ? NULL : call_data(call, gate, 0),
        .gate_stride = (ptrdiff_t)((s->gating == GATE_OF_CHANNEL ? s->n : 1) * sizeof(float)),
        .gate_step = s->gating == GATE_OF_CHANNEL,
        .y = call_row_at(call, PLACE_Y, s->n_rows, s->y_stride, 0),
        .y_stride = element_bytes(s->y_stride, s->type),
        .type = s->type,
        .n = s->n,
        .n_rows = s->n_rows,
    };
    args.x = s->addend == NOTHING ? NULL
             : s->addend == APART ? call_row_at(call, x, s->n_rows, s->y_stride, 0)
                                  : args.y;
    args.x_stride = args.y_stride;
    to->place_rows = args;
}

static void describe_place(kernel_call *call, const place_shape *s) {
    call_begin(call, KERNEL_place_rows, place_arguments, s);
    operand_role role = s->addend == IN_PLACE || s->addend == ONE_ROW ? OPERAND_IN_OUT : OPERAND_OUT;
    call_rows(call, "source", OPERAND_IN, (element_type)s->source_type, s->n_rows, s->source_stride, s->n);
    call_rows(call, "y", role, (element_type)s->type, s->n_rows, s->y_stride, s->n);
    if (s->addend == APART)
        call_rows(call, "x", OPERAND_IN, (element_type)s->type, s->n_rows, s->y_stride, s->n);
    if (s->gating == GATE_OF_CHANNEL)
        call_rows(call, "gate", OPERAND_IN, ELEMENT_F32, s->n_rows, (ptrdiff_t)s->n, s->n);
    if (s->gating == GATE_OF_ROW)
        call_rows(call, "gate", OPERAND_IN, ELEMENT_F32, 1, (ptrdiff_t)s->n_rows, s->n_rows);
}

static void name_place(const place_shape *s, char *what, size_t size) {
    snprintf(what, size, "place_rows %s to %s n=%zu rows=%zu strides %td %td addend %d gate %d factor %g",
             element_name(s->source_type), element_name(s->type), s->n, s->n_rows, s->source_stride, s->y_stride,
             (int)s->addend, (int)s->gating, (double)s->factor);
}

static void check_place(kernel_call *call, const posenc_kernels *variant, place_shape *s, test_fill fill) {
    char what[160];
    name_place(s, what, sizeof what);
    if (!test_case("%s %s", what, test_fill_name(fill)))
        return;
    for (size_t r = 0; r < s->n_rows; r++) /* gathered: any order, some twice, some from nowhere */
        s->from[r] = (int)test_random_below(s->n_rows + 1) - 1;
    describe_place(call, s);
    call_fill(call, fill);
    call_check(call, variant, places_of(s->n, fill));
}

static void check_lanes_of_place(kernel_call *call, const posenc_kernels *variant, place_shape s) {
    char what[160];
    s.n_rows = 1;
    s.from[0] = 0;
    s.gating = s.gating == GATE_OF_ROW ? NO_GATE : s.gating;
    name_place(&s, what, sizeof what);
    for (size_t i = 0; i < s.n; i++)
        if (test_case("%s lane %zu", what, i)) {
            describe_place(call, &s);
            call_fill(call, FILL_ORDINARY);
            call_check_lane(call, variant, (int32_t)i);
        }
}

void sweep_place_rows(const posenc_kernels *variant) {
    static kernel_call call;
    static const test_fill fills[] = {FILL_ORDINARY, FILL_TIES, FILL_ADVERSARIAL};
    static const float factors[] = {1.0f, 0.125f, 1.0f, -0.08838835f, 0.0f};
    size_t which = 0;
    for (int types = 0; types < 9; types++)
        for (size_t i = 0; i < test_n_sizes; i++)
            for (int k = 0; k < N_ADDENDS; k++, which++) {
                place_shape s = {
                    .source_type = (posenc_dtype)(types / 3),
                    .type = (posenc_dtype)(types % 3),
                    .n = test_sizes[i],
                    .n_rows = test_counts[which / 2 % test_n_counts],
                    .source_stride = test_stride(which % 3, test_sizes[i]),
                    .y_stride = k == ONE_ROW ? 0 : test_stride(which / 3 % 3, test_sizes[i]),
                    .addend = (place_addend)k,
                    .gating = (place_gating)(which % 5 % N_GATINGS),
                    .factor = factors[which % 5],
                };
                check_place(&call, variant, &s, fills[which % 3]);
                if (!test_size_is_large(s.n) && k < ONE_ROW)
                    check_lanes_of_place(&call, variant, s);
            }
}

/* ---- mix_row ---- */

typedef enum mix_start { NO_START, START_APART, START_IS_Y, N_STARTS } mix_start;

typedef struct mix_shape {
    posenc_dtype x_type, y_type;
    size_t n, n_terms;
    int weight_step, has_residual;
    mix_start start;
} mix_shape;

enum { MIX_X, MIX_WEIGHTS, MIX_Y };

static void mix_arguments(const kernel_call *call, kernel_args *to) {
    const mix_shape *s = call->shape;
    static const void *x[MAX_TERMS];
    static const float *weights[MAX_TERMS];
    ptrdiff_t weight_stride = s->weight_step ? (ptrdiff_t)s->n : 1;
    for (size_t k = 0; k < s->n_terms; k++) {
        x[k] = call_row_at(call, MIX_X, s->n_terms, (ptrdiff_t)s->n, s->n_terms - 1 - k);
        weights[k] = call_row_at(call, MIX_WEIGHTS, s->n_terms, weight_stride, k);
    }
    int start = operand_named(call, "start"), residual = operand_named(call, "residual");
    posenc_mix_row_args args = {
        .x = x,
        .x_type = s->x_type,
        .y_type = s->y_type,
        .weights = weights,
        .weight_step = s->weight_step,
        .residual = residual < 0 ? NULL : call_data(call, residual, 0),
        .y = call_data(call, MIX_Y, 0),
        .n = s->n,
        .n_terms = s->n_terms,
    };
    args.start = s->start == START_IS_Y ? args.y : start < 0 ? NULL : call_data(call, start, 0);
    to->mix_row = args;
}

static void describe_mix(kernel_call *call, const mix_shape *s) {
    size_t n_weights = s->weight_step ? s->n : 1;
    ptrdiff_t n = (ptrdiff_t)s->n;
    call_begin(call, KERNEL_mix_row, mix_arguments, s);
    call_rows(call, "x", OPERAND_IN, (element_type)s->x_type, s->n_terms, n, s->n);
    call_rows(call, "weights", OPERAND_IN, ELEMENT_F32, s->n_terms, (ptrdiff_t)n_weights, n_weights);
    call_rows(call, "y", s->start == START_IS_Y ? OPERAND_IN_OUT : OPERAND_OUT, (element_type)s->y_type, 1, n, s->n);
    if (s->start == START_APART)
        call_rows(call, "start", OPERAND_IN, ELEMENT_F32, 1, n, s->n);
    if (s->has_residual)
        call_rows(call, "residual", OPERAND_IN, (element_type)s->x_type, 1, n, s->n);
}

static void check_mix(kernel_call *call, const posenc_kernels *variant, const mix_shape *s, test_fill fill) {
    char what[160];
    snprintf(what, sizeof what, "mix_row %s to %s n=%zu terms=%zu step %d start %d residual %d",
             element_name(s->x_type), element_name(s->y_type), s->n, s->n_terms, s->weight_step, (int)s->start,
             s->has_residual);
    if (test_case("%s %s", what, test_fill_name(fill))) {
        describe_mix(call, s);
        call_fill(call, fill);
        call_check(call, variant, places_of(s->n, fill));
    }
    for (size_t i = 0; i < s->n && s->weight_step == 1 && !test_size_is_large(s->n); i++)
        if (test_case("%s lane %zu", what, i)) {
            describe_mix(call, s);
            call_fill(call, FILL_ORDINARY);
            call_check_lane(call, variant, (int32_t)i);
        }
}

void sweep_mix_row(const posenc_kernels *variant) {
    static kernel_call call;
    static const test_fill fills[] = {FILL_ORDINARY, FILL_TIES, FILL_SPARSE};
    static const size_t terms[] = {3, 0, 1, 9, 2, 16};
    size_t which = 0;
    for (int types = 0; types < 9; types++)
        for (size_t i = 0; i < test_n_sizes; i++)
            for (int k = 0; k < N_STARTS; k++, which++) {
                mix_shape s = {
                    .x_type = (posenc_dtype)(types / 3),
                    .y_type = (posenc_dtype)(types % 3),
                    .n = test_sizes[i],
                    .n_terms = terms[which % 6],
                    .weight_step = which / 6 % 2 == 0,
                    .has_residual = which / 12 % 2 == 0,
                    .start = (mix_start)k,
                };
                if (s.start == START_IS_Y && s.y_type != POSENC_F32)
                    s.start = NO_START;
                check_mix(&call, variant, &s, fills[which % 3]);
            }
}

/* ---- bit_rows, rbf_rows: made from a number for each row ---- */

typedef struct made_shape {
    size_t n, n_rows;
    ptrdiff_t stride;
    int add;
} made_shape;

enum { NUMBERS, MADE_Y, CENTRES };

static void bits_arguments(const kernel_call *call, kernel_args *to) {
    const made_shape *s = call->shape;
    posenc_bit_rows_args args = {
        .codes = call_data(call, NUMBERS, 0),
        .zero = -0.75f,
        .one = 1.25f,
        .y = call_row_at(call, MADE_Y, s->n_rows, s->stride, 0),
        .stride = s->stride,
        .n = s->n,
        .n_rows = s->n_rows,
        .add = s->add,
    };
    to->bit_rows = args;
}

static void rbf_arguments(const kernel_call *call, kernel_args *to) {
    const made_shape *s = call->shape;
    posenc_rbf_rows_args args = {
        .positions = call_data(call, NUMBERS, 0),
        .minus_centres = call_data(call, CENTRES, 0),
        .minus_k = -0.7,
        .y = call_row_at(call, MADE_Y, s->n_rows, s->stride, 0),
        .stride = s->stride,
        .n = s->n,
        .n_rows = s->n_rows,
        .add = s->add,
    };
    to->rbf_rows = args;
}

static void describe_made(kernel_call *call, const made_shape *s, call_arguments *arguments) {
    call_begin(call, arguments == bits_arguments ? KERNEL_bit_rows : KERNEL_rbf_rows, arguments, s);
    call_rows(call, "numbers", OPERAND_IN, ELEMENT_F64, 1, (ptrdiff_t)s->n_rows, s->n_rows);
    call_rows(call, "y", s->add ? OPERAND_IN_OUT : OPERAND_OUT, ELEMENT_F32, s->n_rows, s->stride, s->n);
    if (arguments == rbf_arguments) {
        size_t padded = s->n + POSENC_COLUMN;
        call_rows(call, "centres", OPERAND_IN, ELEMENT_F64, 1, (ptrdiff_t)padded, padded);
    }
}

/* Codes are random bits, some of few bits; positions stand among the centres, some of which they hit. */
static void fill_made(kernel_call *call, const made_shape *s, test_fill fill, call_arguments *arguments) {
    call_fill(call, fill);
    for (size_t r = 0; r < s->n_rows; r++) {
        uint64_t code = test_random() >> test_random_below(64);
        if (arguments == bits_arguments)
            memcpy(call->operands[NUMBERS].before + r * sizeof code, &code, sizeof code);
        else if (s->n > 0 && r % 2 == 0)
            operand_set(&call->operands[NUMBERS], r, r % 4 == 0 ? 0.5 : 14.0);
    }
    if (arguments == rbf_arguments && s->n > 0)
        operand_set(&call->operands[CENTRES], s->n - 1, -0.5);
}

static void sweep_made(const posenc_kernels *variant, const char *name, call_arguments *arguments) {
    static kernel_call call;
    static const test_fill fills[] = {FILL_ORDINARY, FILL_WIDE, FILL_ADVERSARIAL};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes; i++)
        for (int k = 0; k < 6; k++, which++) {
            made_shape s = {.n = test_sizes[i],
                            .n_rows = test_counts[which % test_n_counts],
                            .stride = test_stride(which / 2 % 3, test_sizes[i]),
                            .add = k % 2};
            test_fill fill = fills[k / 2];
            if (!test_case("%s n=%zu rows=%zu stride=%td add=%d %s", name, s.n, s.n_rows, s.stride, s.add,
                           test_fill_name(fill)))
                continue;
            describe_made(&call, &s, arguments);
            fill_made(&call, &s, fill, arguments);
            call_check(&call, variant, places_of(s.n, fill));
        }
}

void sweep_bit_rows(const posenc_kernels *variant) {
    sweep_made(variant, "bit_rows", bits_arguments);
}

void sweep_rbf_rows(const posenc_kernels *variant) {
    sweep_made(variant, "rbf_rows", rbf_arguments);
}

/* ---- Benchmark ---- */

enum { DIM = 768, BENCH_TERMS = 9 };

/* Rows of a table, in no order, added to embeddings in place; rows of n channels. */
static void bench_place(kernel_call *call, size_t n, kernel_types types) {
    static place_shape s;
    s = (place_shape){
        .source_type = types.x, .type = types.y, .n = n, .n_rows = MAX_ROWS, .addend = IN_PLACE, .factor = 1.0f};
    s.source_stride = s.y_stride = (ptrdiff_t)n;
    for (int r = 0; r < MAX_ROWS; r++)
        s.from[r] = 5 * r % MAX_ROWS;
    describe_place(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_place(const kernel_args *args) {
    const posenc_place_rows_args *a = &args->place_rows;
    for (size_t r = 0; r < a->n_rows; r++)
        plain_add_row((float *)((char *)a->y + (ptrdiff_t)r * a->y_stride), a->sources[r], a->n);
}

static void limit_place(const bench_limits *limits, const kernel_args *args) {
    const posenc_place_rows_args *a = &args->place_rows;
    for (size_t r = 0; r < a->n_rows; r++)
        limits->add((float *)((char *)a->y + (ptrdiff_t)r * a->y_stride), a->sources[r], a->n);
}

const kernel_bench bench_place_rows = {
    .unit = "n", .elements = MAX_ROWS, .describe = bench_place, .plain = plain_place, .limit = limit_place};

/* A 3 x 3 convolution at one pixel of n channels. */
static void bench_mix(kernel_call *call, size_t n, kernel_types types) {
    static mix_shape s;
    s = (mix_shape){.x_type = types.x, .y_type = types.y, .n = n, .n_terms = BENCH_TERMS, .weight_step = 1};
    describe_mix(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_mix(const kernel_args *args) {
    const posenc_mix_row_args *a = &args->mix_row;
    float *y = a->y;
    for (size_t i = 0; i < a->n; i++)
        y[i] = 0.0f;
    for (size_t k = 0; k < a->n_terms; k++)
        for (size_t i = 0; i < a->n; i++)
            y[i] += a->weights[k][i] * ((const float *)a->x[k])[i];
}

static void limit_mix(const bench_limits *limits, const kernel_args *args) {
    const posenc_mix_row_args *a = &args->mix_row;
    size_t bytes = a->n_terms * a->n * sizeof(float) / 16 * 16;
    limits->read(a->x[a->n_terms - 1], bytes); /* the first row in memory */
    limits->read(a->weights[0], bytes);
    limits->fill(a->y, a->n, 1.0f);
}

const kernel_bench bench_mix_row = {
    .unit = "n", .elements = BENCH_TERMS, .describe = bench_mix, .plain = plain_mix, .limit = limit_mix};

static void bench_bits(kernel_call *call, size_t n, kernel_types types) {
    static made_shape s;
    (void)types;
    s = (made_shape){.n = DIM, .n_rows = n, .stride = DIM};
    describe_made(call, &s, bits_arguments);
    fill_made(call, &s, FILL_ORDINARY, bits_arguments);
}

static void plain_bits(const kernel_args *args) {
    const posenc_bit_rows_args *a = &args->bit_rows;
    for (size_t r = 0; r < a->n_rows; r++)
        for (size_t i = 0; i < a->n; i++)
            a->y[(ptrdiff_t)r * a->stride + (ptrdiff_t)i] = i < 64 && a->codes[r] >> i & 1 ? a->one : a->zero;
}

static void limit_bits(const bench_limits *limits, const kernel_args *args) {
    limits->fill(args->bit_rows.y, args->bit_rows.n_rows * DIM, 1.0f);
}

const kernel_bench bench_bit_rows = {
    .unit = "rows", .elements = DIM, .describe = bench_bits, .plain = plain_bits, .limit = limit_bits};

static void bench_rbf(kernel_call *call, size_t n, kernel_types types) {
    static made_shape s;
    (void)types;
    s = (made_shape){.n = DIM, .n_rows = n, .stride = DIM};
    describe_made(call, &s, rbf_arguments);
    fill_made(call, &s, FILL_ORDINARY, rbf_arguments);
}

static void plain_rbf_rows(const kernel_args *args) {
    const posenc_rbf_rows_args *a = &args->rbf_rows;
    for (size_t r = 0; r < a->n_rows; r++)
        for (size_t i = 0; i < a->n; i++) {
            float z = (float)a->positions[r] + (float)a->minus_centres[i];
            a->y[(ptrdiff_t)r * a->stride + (ptrdiff_t)i] = expf((float)a->minus_k * z * z);
        }
}

static void limit_rbf(const bench_limits *limits, const kernel_args *args) {
    limits->fill(args->rbf_rows.y, args->rbf_rows.n_rows * DIM, 1.0f);
}

const kernel_bench bench_rbf_rows = {
    .unit = "rows", .elements = DIM, .describe = bench_rbf, .plain = plain_rbf_rows, .limit = limit_rbf};
