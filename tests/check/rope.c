/* SPDX-License-Identifier: MIT */
/* Sweeps of the rotary kernels: every pair of types. */
#include "check.h"
#include "plain.h"

#include <stdio.h>

/* The last two: rope_channels, whose rows have a value for each channel. */
typedef enum rope_layout { HALF, INTERLEAVED, DEINTERLEAVE, CHANNELS_HALF, CHANNELS_INTERLEAVED } rope_layout;

typedef struct rope_shape {
    rope_layout layout;
    posenc_dtype x_type, y_type;
    int in_place, is_normed, is_transposed;
    size_t n, half, n_heads;
    ptrdiff_t x_stride, y_stride; /* in elements */
    float cos_factor, sin_factor;
} rope_shape;

enum { COS, SIN, WEIGHT, HEAD_FACTORS, X, Y };

static const kernel_id ids[] = {KERNEL_rope_half, KERNEL_rope_interleaved, KERNEL_rope_deinterleave,
                                KERNEL_rope_channels, KERNEL_rope_channels};
static const char *const layout_names[] = {"half", "interleaved", "deinterleave", "channels half",
                                           "channels interleaved"};

static int is_per_channel(const rope_shape *s) {
    return s->layout == CHANNELS_HALF || s->layout == CHANNELS_INTERLEAVED;
}

static int reads_interleaved(const rope_shape *s) {
    return s->layout != HALF && s->layout != CHANNELS_HALF;
}

static int writes_interleaved(const rope_shape *s) {
    return s->layout != DEINTERLEAVE && reads_interleaved(s);
}

static void rope_arguments(const kernel_call *call, kernel_args *to) {
    const rope_shape *s = call->shape;
    posenc_rope_args args = {
        .x = call_data(call, X, rows_origin(s->n_heads, s->x_stride)),
        .y = call_data(call, s->in_place ? X : Y, rows_origin(s->n_heads, s->y_stride)),
        .x_type = s->x_type,
        .y_type = s->y_type,
        .x_stride = element_bytes(s->x_stride, s->x_type),
        .y_stride = element_bytes(s->y_stride, s->y_type),
        .cos_row = call_data(call, COS, 0),
        .sin_row = call_data(call, SIN, 0),
        .cos_factor = s->cos_factor,
        .sin_factor = s->sin_factor,
        .weight = s->is_normed ? call_data(call, WEIGHT, 0) : NULL,
        .head_factors = s->is_normed ? call_data(call, HEAD_FACTORS, 0) : NULL,
        .half = s->half,
        .n = s->n,
        .n_heads = s->n_heads,
        .y_ahead = s->n % 2 ? 8192 : 0,
    };
    posenc_rope_channels_args channels = {args, s->layout == CHANNELS_INTERLEAVED, s->is_transposed};
    if (is_per_channel(s))
        to->rope_channels = channels;
    else
        to->rope_half = args; /* all three take the same */
}

/* Channels from the first pair's first to the last pair's second. */
static size_t head_width(size_t n, size_t half, int interleaved) {
    if (n == 0)
        return 0;
    return interleaved ? 2 * n : half + n;
}

static void heads_operand(kernel_call *call, const rope_shape *s, const char *name, operand_role role,
                          posenc_dtype type, int interleaved, size_t n_heads, ptrdiff_t stride) {
    size_t step = interleaved ? 2 : 1, second = interleaved ? 1 : s->half;
    size_t width = head_width(s->n, s->half, interleaved);
    operand *o = call_operand(call, name, role, (element_type)type, rows_extent(n_heads, stride, width));
    operand_rows(o, n_heads, stride, 0, s->n, step);
    operand_rows(o, n_heads, stride, second, s->n, step);
}

static void describe(kernel_call *call, const rope_shape *s, int factors_vary) {
    call_begin(call, ids[s->layout], rope_arguments, s);
    static const char *const rows[] = {"cos_row", "sin_row"};
    for (size_t k = 0; k < 2; k++)
        if (is_per_channel(s))
            heads_operand(call, s, rows[k], OPERAND_IN, POSENC_F32, reads_interleaved(s), 1, 1);
        else
            call_row(call, rows[k], OPERAND_IN, ELEMENT_F32, s->n);
    heads_operand(call, s, "weight", OPERAND_IN, POSENC_F32, reads_interleaved(s), 1, 1);
    call_head_factors(call, s->n_heads, factors_vary);
    heads_operand(call, s, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, s->x_type, reads_interleaved(s), s->n_heads,
                  s->x_stride);
    if (!s->in_place)
        heads_operand(call, s, "y", OPERAND_OUT, s->y_type, writes_interleaved(s), s->n_heads, s->y_stride);
}

/* "rope_half f32 to f16 n=7": what shapes and lanes have in common. */
static const char *name_of(const rope_shape *s) {
    static char name[80];
    snprintf(name, sizeof name, "rope_%s %s to %s n=%zu%s%s", layout_names[s->layout], element_name(s->x_type),
             element_name(s->y_type), s->n, s->is_normed ? " normed" : "", s->is_transposed ? " transposed" : "");
    return name;
}

static void check_shape(kernel_call *call, const posenc_kernels *variant, const rope_shape *s) {
    static const test_fill fills[] = {FILL_ORDINARY, FILL_ADVERSARIAL};
    for (size_t f = 0; f < 2; f++) {
        if (!test_case("%s half=%zu heads=%zu x_stride=%td y_stride=%td factors %g %g%s %s", name_of(s), s->half,
                       s->n_heads, s->x_stride, s->y_stride, (double)s->cos_factor, (double)s->sin_factor,
                       s->in_place ? " in place" : "", test_fill_name(fills[f])))
            continue;
        describe(call, s, 1);
        call_fill(call, fills[f]);
        call_check(call, variant, test_size_is_large(s->n) || f > 0 ? FEW_PLACES : EVERY_PLACE);
    }
}

/* Every pair on its own, all others adversarial. */
static void check_lanes(kernel_call *call, const posenc_kernels *variant, rope_shape s) {
    s.n_heads = 2;
    s.x_stride = (ptrdiff_t)head_width(s.n, s.half, reads_interleaved(&s)) + 1;
    s.in_place = s.layout != DEINTERLEAVE && s.x_type == s.y_type;
    s.y_stride = s.in_place ? s.x_stride : s.x_stride + (ptrdiff_t)s.half;
    s.cos_factor = s.sin_factor = 1.0f;
    for (size_t i = 0; i < s.n; i++) {
        if (!test_case("%s lane %zu", name_of(&s), i))
            continue;
        describe(call, &s, 0);
        call_fill(call, FILL_ORDINARY);
        call_check_lane(call, variant, (int32_t)i);
    }
}

/* The rotation, its inverse, both with a scale, zeros and what overflows. */
static const float factors[][2] = {{1.0f, 1.0f},  {1.0f, -1.0f}, {0.125f, 0.125f}, {0.08838835f, -0.08838835f},
                                   {-3.0f, 0.0f}, {-0.0f, 1e30f}};
enum { N_FACTORS = sizeof factors / sizeof factors[0] };

/* Strides of a size: dense, padded, backwards; and a broadcast input. In place where the kernel allows it. The numbers
 * of heads, the factors and the space between half and n take turns. */
static void check_size(kernel_call *call, const posenc_kernels *variant, rope_shape s, size_t turn) {
    static const size_t spaces[] = {0, 1, 13};
    s.half = writes_interleaved(&s) ? s.n : s.n + spaces[turn % 3];
    ptrdiff_t x_width = (ptrdiff_t)head_width(s.n, s.half, reads_interleaved(&s));
    ptrdiff_t y_width = (ptrdiff_t)head_width(s.n, s.half, writes_interleaved(&s));
    const ptrdiff_t strides[][2] = {
        {x_width, y_width}, {x_width + 3, y_width + 17}, {-x_width - 1, y_width + 2}, {0, -y_width - 5}};
    for (size_t k = 0; k < sizeof strides / sizeof strides[0]; k++, turn++) {
        s.n_heads = test_counts[turn % test_n_counts];
        s.cos_factor = factors[turn % N_FACTORS][0];
        s.sin_factor = factors[turn % N_FACTORS][1];
        s.x_stride = strides[k][0];
        s.y_stride = strides[k][1];
        s.in_place = 0;
        s.is_normed = turn % 7 < 3;
        s.is_transposed = is_per_channel(&s) && turn % 2;
        check_shape(call, variant, &s);
        if (s.x_stride == 0 || s.layout == DEINTERLEAVE || s.x_type != s.y_type)
            continue;
        s.n_heads = test_counts[(turn + 2) % test_n_counts];
        s.sin_factor = -s.sin_factor;
        s.is_normed = !s.is_normed;
        s.y_stride = s.x_stride;
        s.in_place = 1;
        check_shape(call, variant, &s);
    }
    if (!test_size_is_large(s.n))
        check_lanes(call, variant, s);
}

static void sweep(const posenc_kernels *variant, rope_layout layout) {
    static kernel_call call;
    size_t turn = 0;
    for (int x_type = POSENC_F32; x_type <= POSENC_BF16; x_type++)
        for (int y_type = POSENC_F32; y_type <= POSENC_BF16; y_type++)
            for (size_t i = 0; i < test_n_sizes; i++, turn++) {
                rope_shape s = {.layout = layout,
                                .x_type = (posenc_dtype)x_type,
                                .y_type = (posenc_dtype)y_type,
                                .n = test_sizes[i]};
                check_size(&call, variant, s, turn);
            }
}

void sweep_rope_half(const posenc_kernels *variant) {
    sweep(variant, HALF);
}

void sweep_rope_interleaved(const posenc_kernels *variant) {
    sweep(variant, INTERLEAVED);
}

void sweep_rope_deinterleave(const posenc_kernels *variant) {
    sweep(variant, DEINTERLEAVE);
}

void sweep_rope_channels(const posenc_kernels *variant) {
    sweep(variant, CHANNELS_HALF);
    sweep(variant, CHANNELS_INTERLEAVED);
}

/* ---- Benchmark ---- */

enum { HEAD_DIM = 128, PAIRS = HEAD_DIM / 2, POSITION = 4096 };

/* Heads of one token, in place where the layout and the types allow it. */
static void bench_describe(kernel_call *call, size_t n, kernel_types types, rope_layout layout) {
    static rope_shape s;
    s = (rope_shape){.layout = layout, .x_type = types.x, .y_type = types.y, .n = PAIRS, .half = PAIRS, .n_heads = n};
    s.in_place = types.x == types.y && layout != DEINTERLEAVE;
    s.x_stride = s.y_stride = HEAD_DIM;
    s.cos_factor = s.sin_factor = 1.0f;
    describe(call, &s, 1);
    call_fill(call, FILL_ORDINARY);
    float inv_freq[PAIRS], cosines[PAIRS], sines[PAIRS];
    plain_frequencies(inv_freq, HEAD_DIM, 10000.0f);
    plain_angles(inv_freq, PAIRS, POSITION, cosines, sines);
    for (size_t i = 0; i < call->operands[COS].count; i++) {
        operand_set(&call->operands[COS], i, (double)cosines[i % PAIRS]);
        operand_set(&call->operands[SIN], i, (double)sines[i % PAIRS]);
    }
}

static void plain_rotation(const posenc_rope_args *a, posenc_rope_layout layout) {
    plain_heads heads = {.x = a->x,
                         .y = a->y,
                         .x_type = a->x_type,
                         .y_type = a->y_type,
                         .n_heads = a->n_heads,
                         .head_dim = HEAD_DIM,
                         .n_rot = HEAD_DIM,
                         .layout = layout,
                         .cos_row = a->cos_row,
                         .sin_row = a->sin_row,
                         .scale = 1.0f};
    plain_task(&heads);
}

static void limit_rope(const bench_limits *limits, const kernel_args *args) {
    const posenc_rope_args *a = &args->rope_half; /* all three take the same */
    bench_rows x = {(void *)(uintptr_t)a->x, a->x_type, a->x_stride}, y = {a->y, a->y_type, a->y_stride};
    limits->scale(x, y, a->n_heads, HEAD_DIM, 1.0f);
}

static const kernel_types bench_types[] = {
    {POSENC_F32, POSENC_F32}, {POSENC_F16, POSENC_F16}, {POSENC_BF16, POSENC_BF16}, {POSENC_F32, POSENC_F16}};

#define ROPE_BENCH(kernel, check_layout, plain_layout)                                                                 \
    static void describe_##kernel(kernel_call *call, size_t n, kernel_types types) {                                   \
        bench_describe(call, n, types, check_layout);                                                                  \
    }                                                                                                                  \
    static void plain_##kernel(const kernel_args *args) {                                                              \
        plain_rotation(&args->kernel, plain_layout);                                                                   \
    }                                                                                                                  \
    const kernel_bench bench_##kernel = {                                                                              \
        .unit = "heads",                                                                                               \
        .elements = HEAD_DIM,                                                                                          \
        .types = bench_types,                                                                                          \
        .n_types = sizeof bench_types / sizeof bench_types[0],                                                         \
        .describe = describe_##kernel,                                                                                 \
        .plain = plain_##kernel,                                                                                       \
        .limit = limit_rope,                                                                                           \
    };

ROPE_BENCH(rope_half, HALF, POSENC_ROPE_HALF)
ROPE_BENCH(rope_interleaved, INTERLEAVED, POSENC_ROPE_INTERLEAVED)
ROPE_BENCH(rope_deinterleave, DEINTERLEAVE, POSENC_ROPE_DEINTERLEAVE)

static void describe_rope_channels(kernel_call *call, size_t n, kernel_types types) {
    bench_describe(call, n, types, CHANNELS_HALF);
}

static void plain_rope_channels(const kernel_args *args) {
    const posenc_rope_args *a = &args->rope_channels.rope;
    for (size_t h = 0; h < a->n_heads; h++) {
        float *head = (float *)a->y + h * HEAD_DIM; /* in place */
        for (size_t i = 0; i < PAIRS; i++) {
            float x0 = head[i], x1 = head[i + PAIRS];
            head[i] = x0 * a->cos_row[i] - x1 * a->sin_row[i];
            head[i + PAIRS] = x1 * a->cos_row[i + PAIRS] + x0 * a->sin_row[i + PAIRS];
        }
    }
}

const kernel_bench bench_rope_channels = {
    .unit = "heads",
    .elements = HEAD_DIM,
    .describe = describe_rope_channels,
    .plain = plain_rope_channels,
    .limit = limit_rope,
};
