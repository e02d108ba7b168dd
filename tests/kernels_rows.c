/* Sweeps of the kernels on rows of channels without a rotation: the norms' factors and the conversion. */
#include "kernel_call.h"

#include <float.h>
#include <math.h>

static void rows_operand(kernel_call *call, const char *name, operand_role role, posenc_dtype type, size_t n_rows,
                         ptrdiff_t stride, size_t n) {
    size_t width = element_count(n, type);
    operand *o = call_operand(call, name, role, element_of(type), rows_extent(n_rows, stride, width));
    operand_rows(o, n_rows, stride, 0, width, 1);
}

/* ---- rms_factors ---- */

/* What stands in the heads: random numbers, or, in every second head, values that sums of squares trip over. */
typedef enum norm_input { FILLED, ZEROS, ONE_NAN, ONE_INFINITE, ONE_LARGE, TINY, N_INPUTS } norm_input;

static const char *const input_names[] = {"", " zeros", " one NaN", " one infinite", " one large", " tiny"};

typedef struct norm_shape {
    posenc_dtype x_type;
    size_t n, n_heads;
    ptrdiff_t x_stride; /* in elements */
    float eps;
    norm_input input;
} norm_shape;

enum { X, Y };

static void run_norm(const posenc_kernels *kernels, const kernel_call *call) {
    const norm_shape *s = call->shape;
    posenc_rms_factors_args args = {
        .x = call_data(call, X, rows_origin(s->n_heads, s->x_stride)),
        .x_type = s->x_type,
        .x_stride = element_bytes(s->x_stride, s->x_type),
        .factors = call_data(call, Y, 0),
        .eps = s->eps,
        .n = s->n,
        .n_heads = s->n_heads,
    };
    kernels->rms_factors(&args);
}

/* The squares of the large value overflow in float32 and bfloat16; those of the tiny ones vanish. */
static void spoil(kernel_call *call, const norm_shape *s) {
    static const double single[N_INPUTS] = {[ONE_NAN] = NAN, [ONE_INFINITE] = -INFINITY, [ONE_LARGE] = 0x1p120};
    operand *x = &call->operands[X];
    for (size_t h = 0; s->input != FILLED && h < s->n_heads; h += 2) {
        size_t row = rows_origin(s->n_heads, s->x_stride) + (size_t)((ptrdiff_t)h * s->x_stride);
        if (s->input == ZEROS || s->input == TINY)
            for (size_t i = 0; i < s->n; i++)
                operand_set(x, row + i, s->input == TINY ? 0x1p-80 : i % 2 ? -0.0 : 0.0);
        else
            operand_set(x, row + test_random_below(s->n), single[s->input]);
    }
}

static void check_norm(kernel_call *call, const posenc_kernels *variant, const norm_shape *s, test_fill fill) {
    if (!test_case("rms_factors %s n=%zu heads=%zu x_stride=%td eps=%g %s%s", element_name(s->x_type), s->n, s->n_heads,
                   s->x_stride, (double)s->eps, test_fill_name(fill), input_names[s->input]))
        return;
    call_begin(call, run_norm, s);
    rows_operand(call, "x", OPERAND_IN, s->x_type, s->n_heads, s->x_stride, s->n);
    rows_operand(call, "factors", OPERAND_OUT, POSENC_F32, s->n_heads, 1, 1);
    call_fill(call, fill);
    spoil(call, s);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

/* Dense, padded, backwards, broadcast. */
static ptrdiff_t stride_of(size_t which, size_t n) {
    const ptrdiff_t strides[] = {(ptrdiff_t)n, (ptrdiff_t)n + 3, -(ptrdiff_t)n - 1, 0};
    return strides[which % 4];
}

void sweep_rms_factors(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t head_counts[] = {0,  1, 2,  3, 7, 16,
                                         19, 5, 33, 8, 4}; /* heads are the lanes of the last steps */
    static const float epsilons[] = {1e-6f, 0.0f, 1e-5f, 0x1p-149f, 1.0f, FLT_MAX};
    for (int type = POSENC_F32; type <= POSENC_BF16; type++)
        for (size_t i = 0, which = 0; i < test_n_sizes; i++)
            for (size_t k = 0; k < FILL_COUNT + N_INPUTS; k++, which++) {
                norm_shape s = {
                    .x_type = (posenc_dtype)type,
                    .n = test_sizes[i],
                    .n_heads = head_counts[which % (sizeof head_counts / sizeof head_counts[0])],
                    .x_stride = stride_of(which / 2, test_sizes[i]),
                    .eps = epsilons[which % 3 == 0 ? which / 3 % (sizeof epsilons / sizeof epsilons[0]) : which % 2],
                    .input = k < FILL_COUNT ? FILLED : (norm_input)(k - FILL_COUNT),
                };
                if (s.n > 0)
                    check_norm(&call, variant, &s, k < FILL_COUNT ? (test_fill)k : FILL_ORDINARY);
            }
}

/* ---- convert_rows: a norm, too, in some cases ---- */

typedef struct convert_shape {
    posenc_dtype x_type, y_type;
    int in_place, is_normed;
    size_t n, n_heads;
    ptrdiff_t x_stride, y_stride; /* in elements */
    float factor;
} convert_shape;

enum { WEIGHT, HEAD_FACTORS, CONVERT_X, CONVERT_Y };

static void run_convert(const posenc_kernels *kernels, const kernel_call *call) {
    const convert_shape *s = call->shape;
    posenc_convert_args args = {
        .x = call_data(call, CONVERT_X, rows_origin(s->n_heads, s->x_stride)),
        .y = call_data(call, s->in_place ? CONVERT_X : CONVERT_Y, rows_origin(s->n_heads, s->y_stride)),
        .x_type = s->x_type,
        .y_type = s->y_type,
        .x_stride = element_bytes(s->x_stride, s->x_type),
        .y_stride = element_bytes(s->y_stride, s->y_type),
        .factor = s->factor,
        .weight = s->is_normed ? call_data(call, WEIGHT, 0) : NULL,
        .head_factors = s->is_normed ? call_data(call, HEAD_FACTORS, 0) : NULL,
        .n = s->n,
        .n_heads = s->n_heads,
        .y_ahead = s->n % 2 ? 8192 : 0,
    };
    kernels->convert_rows(&args);
}

static void describe_convert(kernel_call *call, const convert_shape *s, int varies) {
    call_begin(call, run_convert, s);
    operand_row(call_operand(call, "weight", OPERAND_IN, ELEMENT_F32, s->n), 0, s->n, 1);
    call_head_factors(call, s->n_heads, varies);
    rows_operand(call, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, s->x_type, s->n_heads, s->x_stride, s->n);
    if (!s->in_place)
        rows_operand(call, "y", OPERAND_OUT, s->y_type, s->n_heads, s->y_stride, s->n);
}

static void check_convert(kernel_call *call, const posenc_kernels *variant, const convert_shape *s, test_fill fill) {
    if (!test_case("convert_rows %s to %s n=%zu heads=%zu x_stride=%td y_stride=%td factor=%g%s%s %s",
                   element_name(s->x_type), element_name(s->y_type), s->n, s->n_heads, s->x_stride, s->y_stride,
                   (double)s->factor, s->in_place ? " in place" : "", s->is_normed ? " normed" : "",
                   test_fill_name(fill)))
        return;
    describe_convert(call, s, 1);
    call_fill(call, fill);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY ? FEW_PLACES : EVERY_PLACE);
}

static void check_lanes_of_convert(kernel_call *call, const posenc_kernels *variant, convert_shape s) {
    s.n_heads = 1;
    for (size_t i = 0; i < s.n; i++)
        if (test_case("convert_rows %s to %s n=%zu%s lane %zu", element_name(s.x_type), element_name(s.y_type), s.n,
                      s.is_normed ? " normed" : "", i)) {
            describe_convert(call, &s, 0);
            call_fill(call, FILL_ORDINARY);
            call_check_lane(call, variant, (int32_t)i);
        }
}

static void sweep_conversion(const posenc_kernels *variant, posenc_dtype x_type, posenc_dtype y_type) {
    static kernel_call call;
    static const test_fill fills[] = {FILL_ORDINARY, FILL_TIES, FILL_HOSTILE};
    static const float factors[] = {1.0f, 0.125f, 1.0f, -0.08838835f, 1.0f, 0.0f, 1.0f, 1e30f};
    for (size_t i = 0, which = 0; i < test_n_sizes; i++) {
        convert_shape s = {.x_type = x_type, .y_type = y_type, .n = test_sizes[i]};
        for (size_t k = 0; k < 6; k++, which++) {
            s.n_heads = test_counts[which % test_n_counts];
            s.x_stride = stride_of(which, s.n);
            s.y_stride = (ptrdiff_t)s.n + (ptrdiff_t)(which % 3) * 5;
            s.factor = factors[(which + which / 6) % 8];
            s.is_normed = which / 2 % 3 == 0;
            s.in_place = x_type == y_type && s.x_stride != 0 && which % 2 == 0;
            if (s.in_place)
                s.y_stride = s.x_stride;
            check_convert(&call, variant, &s, fills[k % 3]);
        }
        if (!test_size_is_large(s.n))
            check_lanes_of_convert(&call, variant, s);
    }
}

/* Blocks, which become float32 only, without a norm. */
static void sweep_blocks(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t i = 0, which = 0; i < test_n_sizes; i++)
        for (size_t k = 0; k < 6 && test_sizes[i] % POSENC_Q8_BLOCK == 0; k++, which++) {
            convert_shape s = {.x_type = POSENC_Q8_0, .y_type = POSENC_F32, .n = test_sizes[i], .factor = 1.0f};
            s.n_heads = test_counts[which % test_n_counts];
            s.x_stride = stride_of(which, element_count(s.n, POSENC_Q8_0));
            s.y_stride = (ptrdiff_t)s.n + (ptrdiff_t)(which % 3) * 5;
            check_convert(&call, variant, &s, k % 2 ? FILL_HOSTILE : FILL_ORDINARY);
        }
}

void sweep_convert_rows(const posenc_kernels *variant) {
    sweep_blocks(variant);
    for (int x_type = POSENC_F32; x_type <= POSENC_BF16; x_type++)
        for (int y_type = POSENC_F32; y_type <= POSENC_BF16; y_type++)
            sweep_conversion(variant, (posenc_dtype)x_type, (posenc_dtype)y_type);
}
