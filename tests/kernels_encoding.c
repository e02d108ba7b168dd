/* Sweeps of the kernels of absolute encodings. */
#include "kernel_call.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 7, MAX_TERMS = 16 };

static ptrdiff_t stride_of(size_t which, size_t n) {
    const ptrdiff_t strides[] = {(ptrdiff_t)n, (ptrdiff_t)n + 3, -(ptrdiff_t)n - 1};
    return strides[which % 3];
}

static call_places places_of(size_t n, test_fill fill) {
    return test_size_is_large(n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE;
}

/* A buffer of rows, and its index. */
static int add_rows(kernel_call *call, const char *name, operand_role role, element_type type, size_t n_rows,
                    ptrdiff_t stride, size_t n) {
    operand_rows(call_operand(call, name, role, type, rows_extent(n_rows, stride, n)), n_rows, stride, 0, n, 1);
    return call->n_operands - 1;
}

static void *row_at(const kernel_call *call, int index, size_t n_rows, ptrdiff_t stride, size_t row) {
    return call_data(call, index, rows_origin(n_rows, stride) + (size_t)((ptrdiff_t)row * stride));
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

static void run_place(const posenc_kernels *kernels, const kernel_call *call) {
    const place_shape *s = call->shape;
    const void *sources[MAX_ROWS];
    for (size_t r = 0; r < s->n_rows; r++)
        sources[r] = s->from[r] < 0 ? NULL : row_at(call, SOURCE, s->n_rows, s->source_stride, (size_t)s->from[r]);
    int gate = operand_named(call, "gate"), x = operand_named(call, "x");
    posenc_place_rows_args args = {
        .sources = sources,
        .source_type = s->source_type,
        .factor = s->factor,
        .gate = gate < 0 ? NULL : call_data(call, gate, 0),
        .gate_stride = (ptrdiff_t)((s->gating == GATE_OF_CHANNEL ? s->n : 1) * sizeof(float)),
        .gate_step = s->gating == GATE_OF_CHANNEL,
        .y = row_at(call, PLACE_Y, s->n_rows, s->y_stride, 0),
        .y_stride = element_bytes(s->y_stride, s->type),
        .type = s->type,
        .n = s->n,
        .n_rows = s->n_rows,
    };
    args.x = s->addend == NOTHING ? NULL : s->addend == APART ? row_at(call, x, s->n_rows, s->y_stride, 0) : args.y;
    args.x_stride = args.y_stride;
    kernels->place_rows(&args);
}

static void describe_place(kernel_call *call, const place_shape *s) {
    call_begin(call, run_place, s);
    operand_role role = s->addend == IN_PLACE || s->addend == ONE_ROW ? OPERAND_IN_OUT : OPERAND_OUT;
    add_rows(call, "source", OPERAND_IN, (element_type)s->source_type, s->n_rows, s->source_stride, s->n);
    add_rows(call, "y", role, (element_type)s->type, s->n_rows, s->y_stride, s->n);
    if (s->addend == APART)
        add_rows(call, "x", OPERAND_IN, (element_type)s->type, s->n_rows, s->y_stride, s->n);
    if (s->gating == GATE_OF_CHANNEL)
        add_rows(call, "gate", OPERAND_IN, ELEMENT_F32, s->n_rows, (ptrdiff_t)s->n, s->n);
    if (s->gating == GATE_OF_ROW)
        add_rows(call, "gate", OPERAND_IN, ELEMENT_F32, 1, (ptrdiff_t)s->n_rows, s->n_rows);
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
    static const test_fill fills[] = {FILL_ORDINARY, FILL_TIES, FILL_HOSTILE};
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
                    .source_stride = stride_of(which, test_sizes[i]),
                    .y_stride = k == ONE_ROW ? 0 : stride_of(which / 3, test_sizes[i]),
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

static void run_mix(const posenc_kernels *kernels, const kernel_call *call) {
    const mix_shape *s = call->shape;
    const void *x[MAX_TERMS];
    const float *weights[MAX_TERMS];
    ptrdiff_t weight_stride = s->weight_step ? (ptrdiff_t)s->n : 1;
    for (size_t k = 0; k < s->n_terms; k++) {
        x[k] = row_at(call, MIX_X, s->n_terms, (ptrdiff_t)s->n, s->n_terms - 1 - k);
        weights[k] = row_at(call, MIX_WEIGHTS, s->n_terms, weight_stride, k);
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
    kernels->mix_row(&args);
}

static void describe_mix(kernel_call *call, const mix_shape *s) {
    size_t n_weights = s->weight_step ? s->n : 1;
    ptrdiff_t n = (ptrdiff_t)s->n;
    call_begin(call, run_mix, s);
    add_rows(call, "x", OPERAND_IN, (element_type)s->x_type, s->n_terms, n, s->n);
    add_rows(call, "weights", OPERAND_IN, ELEMENT_F32, s->n_terms, (ptrdiff_t)n_weights, n_weights);
    add_rows(call, "y", s->start == START_IS_Y ? OPERAND_IN_OUT : OPERAND_OUT, (element_type)s->y_type, 1, n, s->n);
    if (s->start == START_APART)
        add_rows(call, "start", OPERAND_IN, ELEMENT_F32, 1, n, s->n);
    if (s->has_residual)
        add_rows(call, "residual", OPERAND_IN, (element_type)s->x_type, 1, n, s->n);
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

static void run_bits(const posenc_kernels *kernels, const kernel_call *call) {
    const made_shape *s = call->shape;
    posenc_bit_rows_args args = {
        .codes = call_data(call, NUMBERS, 0),
        .zero = -0.75f,
        .one = 1.25f,
        .y = row_at(call, MADE_Y, s->n_rows, s->stride, 0),
        .stride = s->stride,
        .n = s->n,
        .n_rows = s->n_rows,
        .add = s->add,
    };
    kernels->bit_rows(&args);
}

static void run_rbf(const posenc_kernels *kernels, const kernel_call *call) {
    const made_shape *s = call->shape;
    posenc_rbf_rows_args args = {
        .positions = call_data(call, NUMBERS, 0),
        .minus_centres = call_data(call, CENTRES, 0),
        .minus_k = -0.7,
        .y = row_at(call, MADE_Y, s->n_rows, s->stride, 0),
        .stride = s->stride,
        .n = s->n,
        .n_rows = s->n_rows,
        .add = s->add,
    };
    kernels->rbf_rows(&args);
}

typedef void made_run(const posenc_kernels *kernels, const kernel_call *call);

static void describe_made(kernel_call *call, const made_shape *s, made_run *run) {
    call_begin(call, run, s);
    add_rows(call, "numbers", OPERAND_IN, ELEMENT_F64, 1, (ptrdiff_t)s->n_rows, s->n_rows);
    add_rows(call, "y", s->add ? OPERAND_IN_OUT : OPERAND_OUT, ELEMENT_F32, s->n_rows, s->stride, s->n);
    if (run == run_rbf) {
        size_t padded = s->n + POSENC_COLUMN;
        add_rows(call, "centres", OPERAND_IN, ELEMENT_F64, 1, (ptrdiff_t)padded, padded);
    }
}

/* Codes are random bits, some of few bits; positions stand among the centres, some of which they hit. */
static void fill_made(kernel_call *call, const made_shape *s, test_fill fill, made_run *run) {
    call_fill(call, fill);
    for (size_t r = 0; r < s->n_rows; r++) {
        uint64_t code = test_random() >> test_random_below(64);
        if (run == run_bits)
            memcpy(call->operands[NUMBERS].before + r * sizeof code, &code, sizeof code);
        else if (s->n > 0 && r % 2 == 0)
            operand_set(&call->operands[NUMBERS], r, r % 4 == 0 ? 0.5 : 14.0);
    }
    if (run == run_rbf && s->n > 0)
        operand_set(&call->operands[CENTRES], s->n - 1, -0.5);
}

static void sweep_made(const posenc_kernels *variant, const char *name, made_run *run) {
    static kernel_call call;
    static const test_fill fills[] = {FILL_ORDINARY, FILL_WIDE, FILL_HOSTILE};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes; i++)
        for (int k = 0; k < 6; k++, which++) {
            made_shape s = {.n = test_sizes[i],
                            .n_rows = test_counts[which % test_n_counts],
                            .stride = stride_of(which / 2, test_sizes[i]),
                            .add = k % 2};
            test_fill fill = fills[k / 2];
            if (!test_case("%s n=%zu rows=%zu stride=%td add=%d %s", name, s.n, s.n_rows, s.stride, s.add,
                           test_fill_name(fill)))
                continue;
            describe_made(&call, &s, run);
            fill_made(&call, &s, fill, run);
            call_check(&call, variant, places_of(s.n, fill));
        }
}

void sweep_bit_rows(const posenc_kernels *variant) {
    sweep_made(variant, "bit_rows", run_bits);
}

void sweep_rbf_rows(const posenc_kernels *variant) {
    sweep_made(variant, "rbf_rows", run_rbf);
}
