/* Sweeps of the kernels behind relative terms: weighted sums of rows, affine rows, contextual positions. */
#include "kernel_call.h"

#include <float.h>
#include <math.h>

static int add_row(kernel_call *call, const char *name, operand_role role, element_type type, size_t n) {
    operand_row(call_operand(call, name, role, type, n), 0, n, 1);
    return call->n_operands - 1;
}

/* ---- weighted_rows ---- */

enum { N_TABLE = 7 }; /* rows to choose from, where there is an index */

typedef struct weighted_shape {
    posenc_dtype type;
    int has_index, has_shift;
    size_t dim, n;
    ptrdiff_t weight_stride, row_stride; /* in elements */
    float factor;
} weighted_shape;

enum { WEIGHTS, ROWS, INDEX, SHIFT, SUM };

static size_t rows_of(const weighted_shape *s) {
    return s->has_index ? N_TABLE : s->n;
}

static void run_weighted(const posenc_kernels *kernels, const kernel_call *call) {
    const weighted_shape *s = call->shape;
    posenc_weighted_rows_args args = {
        .weights = call_data(call, WEIGHTS, rows_origin(s->n, s->weight_stride)),
        .weight_stride = element_bytes(s->weight_stride, POSENC_F32),
        .factor = s->factor,
        .rows = call_data(call, ROWS, rows_origin(rows_of(s), s->row_stride)),
        .rows_type = s->type,
        .row_stride = element_bytes(s->row_stride, s->type),
        .index = s->has_index ? call_data(call, INDEX, 0) : NULL,
        .shift = s->has_shift ? call_data(call, SHIFT, 0) : NULL,
        .y = call_data(call, SUM, 0),
        .dim = s->dim,
        .n = s->n,
    };
    kernels->weighted_rows(&args);
}

static void check_weighted(kernel_call *call, const posenc_kernels *variant, const weighted_shape *s, test_fill fill) {
    if (!test_case("weighted_rows %s dim=%zu n=%zu weight_stride=%td row_stride=%td factor=%g%s%s %s",
                   element_name(s->type), s->dim, s->n, s->weight_stride, s->row_stride, (double)s->factor,
                   s->has_index ? " index" : "", s->has_shift ? " shift" : "", test_fill_name(fill)))
        return;
    call_begin(call, run_weighted, s);
    operand *weights = call_operand(call, "weights", OPERAND_IN, ELEMENT_F32, rows_extent(s->n, s->weight_stride, 1));
    operand_rows(weights, s->n, s->weight_stride, 0, 1, 1);
    operand *rows =
        call_operand(call, "rows", OPERAND_IN, (element_type)s->type, rows_extent(rows_of(s), s->row_stride, s->dim));
    operand_rows(rows, rows_of(s), s->row_stride, 0, s->dim, 1);
    int index = add_row(call, "index", OPERAND_IN, ELEMENT_I32, s->n);
    add_row(call, "shift", OPERAND_IN, ELEMENT_F32, s->dim);
    add_row(call, "y", OPERAND_IN_OUT, ELEMENT_F32, s->dim);
    call_fill(call, fill);
    for (size_t k = 0; k < s->n; k++)
        operand_set(&call->operands[index], k, (double)test_random_below(N_TABLE));
    call_check(call, variant, test_size_is_large(s->dim) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

void sweep_weighted_rows(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t counts[] = {1, 3, 64, 0, 17, 2, 130};
    static const float factors[] = {1.0f, -0.125f, 0.3f, 0.0f, 1e30f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (size_t k = 0; k < FILL_COUNT + 5; k++, which++) {
            weighted_shape s = {
                .type = (posenc_dtype)(which % 3),
                .has_index = which % 5 < 2,
                .has_shift = which % 7 < 2,
                .dim = test_sizes[i],
                .n = counts[which % 7],
                .weight_stride = which % 4 == 0   ? 3
                                 : which % 4 == 1 ? -1
                                                  : 1,
                .factor = factors[which / 2 % 5],
            };
            ptrdiff_t strides[] = {(ptrdiff_t)s.dim, (ptrdiff_t)s.dim + 3, -(ptrdiff_t)s.dim - 1, 0};
            s.row_stride = strides[which / 3 % 4];
            check_weighted(&call, variant, &s, k < FILL_COUNT ? (test_fill)k : FILL_ORDINARY);
        }
}

/* ---- affine_row ---- */

typedef struct affine_shape {
    size_t n;
    float a, b;
    int add;
} affine_shape;

static void run_affine(const posenc_kernels *kernels, const kernel_call *call) {
    const affine_shape *s = call->shape;
    posenc_affine_row_args args = {
        .x = call_data(call, 0, 0), .y = call_data(call, 1, 0), .a = s->a, .b = s->b, .n = s->n, .add = s->add};
    kernels->affine_row(&args);
}

static void describe_affine(kernel_call *call, const affine_shape *s) {
    call_begin(call, run_affine, s);
    add_row(call, "x", OPERAND_IN, ELEMENT_F32, s->n);
    add_row(call, "y", s->add ? OPERAND_IN_OUT : OPERAND_OUT, ELEMENT_F32, s->n);
    call_fill(call, FILL_ORDINARY);
}

static void check_affine(kernel_call *call, const posenc_kernels *variant, const affine_shape *s, test_fill fill) {
    if (!test_case("affine_row n=%zu a=%g b=%g%s %s", s->n, (double)s->a, (double)s->b, s->add ? " add" : "",
                   test_fill_name(fill)))
        return;
    describe_affine(call, s);
    call_fill(call, fill);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

static void check_lanes_of_affine(kernel_call *call, const posenc_kernels *variant, const affine_shape *s) {
    for (size_t j = 0; j < s->n; j++)
        if (test_case("affine_row n=%zu%s lane %zu", s->n, s->add ? " add" : "", j)) {
            describe_affine(call, s);
            call_check_lane(call, variant, (int32_t)j);
        }
}

void sweep_affine_row(const posenc_kernels *variant) {
    static kernel_call call;
    static const float numbers[] = {0.3f, -1.5f, 0.0f, 1e-30f, FLT_MAX, 1.0f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (int add = 0; add < 2; add++) {
            affine_shape s = {test_sizes[i], 0.7f, -0.2f, add};
            if (!test_size_is_large(s.n))
                check_lanes_of_affine(&call, variant, &s);
            for (int fill = 0; fill < FILL_COUNT; fill++, which++) {
                s.a = numbers[which % 6];
                s.b = numbers[which / 6 % 6];
                check_affine(&call, variant, &s, (test_fill)fill);
            }
        }
}

/* ---- cope_row ---- */

typedef struct cope_shape {
    size_t n, n_seen, n_positions;
    float scale;
    int is_scaled, in_place, own_gates;
} cope_shape;

enum { X, GATES, Z, Y };

static void run_cope(const posenc_kernels *kernels, const kernel_call *call) {
    const cope_shape *s = call->shape;
    posenc_cope_row_args args = {
        .x = call_data(call, X, 0),
        .gates = call_data(call, s->own_gates ? GATES : X, 0),
        .z = call_data(call, Z, 0),
        .y = call_data(call, s->in_place ? X : Y, 0),
        .scale = s->scale,
        .is_scaled = s->is_scaled,
        .n = s->n,
        .n_seen = s->n_seen,
        .n_positions = s->n_positions,
    };
    kernels->cope_row(&args);
}

/* Keys that are not seen are not read: x and the gates end before them, so that the guard page is there. */
static void check_cope(kernel_call *call, const posenc_kernels *variant, const cope_shape *s, test_fill fill) {
    if (!test_case("cope_row n=%zu seen=%zu positions=%zu scale=%g%s%s%s %s", s->n, s->n_seen, s->n_positions,
                   (double)s->scale, s->is_scaled ? " scaled" : "", s->in_place ? " in place" : "",
                   s->own_gates ? " gates" : "", test_fill_name(fill)))
        return;
    call_begin(call, run_cope, s);
    add_row(call, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, ELEMENT_F32, s->in_place ? s->n : s->n_seen);
    add_row(call, "gates", OPERAND_IN, ELEMENT_F32, s->n_seen);
    add_row(call, "z", OPERAND_IN, ELEMENT_F32, s->n_positions);
    if (!s->in_place)
        add_row(call, "y", OPERAND_OUT, ELEMENT_F32, s->n);
    call_fill(call, fill);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

void sweep_cope_row(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t positions[] = {64, 1, 2, 17, 1000, 5};
    static const float scales[] = {0.125f, 1.0f, -1.0f, 0.0f, 30.0f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (size_t k = 0; k < 3 * FILL_COUNT; k++, which++) {
            size_t n = test_sizes[i];
            cope_shape s = {
                .n = n,
                .n_seen = which % 3 == 0 ? n : test_random_below(n + 1),
                .n_positions = positions[which % 6],
                .scale = scales[which / 2 % 5],
                .is_scaled = which % 5 < 2,
                .in_place = which % 7 < 3,
                .own_gates = which % 4 == 0,
            };
            check_cope(&call, variant, &s, (test_fill)(k % FILL_COUNT));
        }
}
