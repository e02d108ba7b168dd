/* Sweeps of the rotary kernels. */
#include "kernel_call.h"

typedef struct rope_shape {
    int interleaved, in_place;
    size_t n, half, n_heads;
    ptrdiff_t x_stride, y_stride;
    float sin_sign;
} rope_shape;

enum { COS, SIN, X, Y };

static void run(const posenc_kernels *kernels, const kernel_call *call) {
    const rope_shape *s = call->shape;
    posenc_rope_args args = {
        .x = call_floats(call, X, rows_origin(s->n_heads, s->x_stride)),
        .y = call_floats(call, s->in_place ? X : Y, rows_origin(s->n_heads, s->y_stride)),
        .x_stride = s->x_stride,
        .y_stride = s->y_stride,
        .cos_row = call_floats(call, COS, 0),
        .sin_row = call_floats(call, SIN, 0),
        .sin_sign = s->sin_sign,
        .half = s->half,
        .n = s->n,
        .n_heads = s->n_heads,
    };
    (s->interleaved ? kernels->rope_interleaved : kernels->rope_half)(&args);
}

/* Channels from the first pair's first to the last pair's second. */
static size_t head_width(const rope_shape *s) {
    if (s->n == 0)
        return 0;
    return s->interleaved ? 2 * s->n : s->half + s->n;
}

static void heads_operand(kernel_call *call, const rope_shape *s, const char *name, operand_role role,
                          ptrdiff_t stride) {
    size_t step = s->interleaved ? 2 : 1, second = s->interleaved ? 1 : s->half;
    operand *o = call_operand(call, name, role, sizeof(float), rows_extent(s->n_heads, stride, head_width(s)));
    for (size_t h = 0; h < s->n_heads; h++) {
        size_t at = rows_origin(s->n_heads, stride) + (size_t)((ptrdiff_t)h * stride);
        operand_row(o, at, s->n, step);
        operand_row(o, at + second, s->n, step);
    }
}

static void describe(kernel_call *call, const rope_shape *s) {
    call_begin(call, run, s);
    operand_row(call_operand(call, "cos_row", OPERAND_IN, sizeof(float), s->n), 0, s->n, 1);
    operand_row(call_operand(call, "sin_row", OPERAND_IN, sizeof(float), s->n), 0, s->n, 1);
    heads_operand(call, s, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, s->x_stride);
    if (!s->in_place)
        heads_operand(call, s, "y", OPERAND_OUT, s->y_stride);
}

static void check_shape(kernel_call *call, const posenc_kernels *variant, const rope_shape *s) {
    static const test_fill fills[] = {FILL_ORDINARY, FILL_HOSTILE};
    for (size_t f = 0; f < 2; f++) {
        if (!test_case("rope_%s n=%zu half=%zu heads=%zu x_stride=%td y_stride=%td sin_sign=%g%s %s",
                       s->interleaved ? "interleaved" : "half", s->n, s->half, s->n_heads, s->x_stride, s->y_stride,
                       (double)s->sin_sign, s->in_place ? " in place" : "", test_fill_name(fills[f])))
            continue;
        describe(call, s);
        call_fill(call, fills[f]);
        call_check(call, variant, test_size_is_large(s->n) || f > 0 ? FEW_PLACES : EVERY_PLACE);
    }
}

/* Every pair on its own, all others hostile. */
static void check_lanes(kernel_call *call, const posenc_kernels *variant, const rope_shape *s) {
    for (size_t i = 0; i < s->n; i++) {
        if (!test_case("rope_%s n=%zu lane %zu", s->interleaved ? "interleaved" : "half", s->n, i))
            continue;
        describe(call, s);
        call_fill(call, FILL_ORDINARY);
        call_check_lane(call, variant, (int32_t)i);
    }
}

/* Strides of a size: dense, padded, backwards; and a broadcast input. `space` is the distance of half and n. */
static void check_strides(kernel_call *call, const posenc_kernels *variant, rope_shape s) {
    ptrdiff_t width = (ptrdiff_t)head_width(&s);
    const ptrdiff_t strides[][2] = {{width, width}, {width + 3, width + 17}, {-width - 1, width + 2}, {0, -width - 5}};
    for (size_t k = 0; k < sizeof strides / sizeof strides[0]; k++) {
        s.x_stride = strides[k][0];
        s.y_stride = strides[k][1];
        s.in_place = 0;
        s.sin_sign = k % 2 ? -1.0f : 1.0f;
        check_shape(call, variant, &s);
        if (s.x_stride == 0)
            continue;
        s.y_stride = s.x_stride;
        s.in_place = 1;
        s.sin_sign = -s.sin_sign;
        check_shape(call, variant, &s);
    }
}

static void sweep(const posenc_kernels *variant, int interleaved) {
    static kernel_call call;
    static const size_t spaces[] = {0, 1, 13};
    for (size_t i = 0; i < test_n_sizes; i++)
        for (size_t h = 0; h < test_n_counts; h++) {
            size_t n = test_sizes[i], n_heads = test_counts[h];
            size_t space = interleaved ? 0 : spaces[(i + h) % 3];
            rope_shape s = {.interleaved = interleaved, .n = n, .half = n + space, .n_heads = n_heads};
            check_strides(&call, variant, s);
            s.x_stride = s.y_stride = (ptrdiff_t)head_width(&s) + 1;
            s.sin_sign = 1.0f;
            if (n_heads == 2 && !test_size_is_large(n))
                check_lanes(&call, variant, &s);
        }
}

void sweep_rope_half(const posenc_kernels *variant) {
    sweep(variant, 0);
}

void sweep_rope_interleaved(const posenc_kernels *variant) {
    sweep(variant, 1);
}
