/* Cases of the kernels that walk the heads of a token: rotations, RMS-norm, conversion. The cases go through all pairs
 * of storage types in turn. */
#include "variants_case.h"

#include <string.h>

/* Heads as one case has them. Strides and places in elements. */
typedef struct case_heads {
    posenc_dtype x_type, y_type;
    size_t n_heads, x_size, y_size, stride, first, n_elements;
    int in_place;
} case_heads;

/* channels: what a head spans. In place only where the types allow it. */
static case_heads make_heads(variant_check *check, const variant_case *at, size_t channels, int may_be_in_place) {
    case_heads h = {.x_type = (posenc_dtype)(at->number % 3), .y_type = (posenc_dtype)(at->number / 3 % 3)};
    h.x_size = h.x_type == POSENC_F32 ? 4 : 2;
    h.y_size = h.y_type == POSENC_F32 ? 4 : 2;
    h.n_heads = at->choices % (MAX_HEADS + 1);
    h.stride = channels + 5;
    h.first = MARGIN + at->offset;
    h.n_elements = 2 * MARGIN + at->offset + h.n_heads * h.stride;
    h.in_place = may_be_in_place && h.x_type == h.y_type && (at->choices >> 8 & 1);
    fill_typed(room.x, h.n_elements, h.x_type, check->random, at->is_hostile);
    fill_outputs(h.n_elements, h.y_type, check->random);
    if (h.in_place) {
        memcpy(room.expected, room.x, h.n_elements * h.x_size);
        memcpy(room.actual, room.x, h.n_elements * h.x_size);
    }
    return h;
}

/* Where head 0 is read, given the side's outputs, and where it is written. */
static const void *x_of(const case_heads *h, const float *outputs) {
    return (const char *)(h->in_place ? outputs : room.x) + h->first * h->x_size;
}

static void *y_of(const case_heads *h, float *outputs) {
    return (char *)outputs + h->first * h->y_size;
}

static float some_factor(const variant_case *at, int shift) {
    static const float factors[] = {1.0f, -1.0f, 0.125f, -0.08838835f};
    return factors[at->choices >> shift & 3];
}

/* Half of the cases fetch what will be written. */
static ptrdiff_t some_ahead(const variant_case *at) {
    return at->choices >> 25 & 1 ? 8192 : 0;
}

/* Half of the cases have a norm. */
static int is_normed(const variant_case *at) {
    return at->choices >> 24 & 1;
}

static void fill_norm(variant_check *check, const variant_case *at, size_t n) {
    fill_floats(room.weight, n + at->offset, check->random, at->is_hostile);
    fill_floats(room.head_factors, MAX_HEADS, check->random, at->is_hostile);
}

/* ---- RoPE ---- */

/* n pairs of up to three heads, in place or not, forward or back. */
static void rope_case(variant_check *check, const variant_case *at, size_t half, int may_be_in_place,
                      void (*scalar)(const posenc_rope_args *), void (*tier)(const posenc_rope_args *)) {
    case_heads h = make_heads(check, at, at->n + half, may_be_in_place);
    fill_floats(room.cos_row, at->n + at->offset, check->random, at->is_hostile);
    fill_floats(room.sin_row, at->n + at->offset, check->random, at->is_hostile);
    fill_norm(check, at, at->n + half);
    posenc_rope_args args = {
        .x = x_of(&h, room.expected),
        .y = y_of(&h, room.expected),
        .x_type = h.x_type,
        .y_type = h.y_type,
        .x_stride = (ptrdiff_t)(h.stride * h.x_size),
        .y_stride = (ptrdiff_t)(h.stride * h.y_size),
        .cos_row = room.cos_row + at->offset,
        .sin_row = room.sin_row + at->offset,
        .cos_factor = some_factor(at, 9),
        .sin_factor = some_factor(at, 11),
        .weight = is_normed(at) ? room.weight + at->offset : NULL,
        .head_factors = is_normed(at) ? room.head_factors : NULL,
        .half = half,
        .n = at->n,
        .n_heads = h.n_heads,
        .y_ahead = some_ahead(at),
    };
    scalar(&args);
    args.x = x_of(&h, room.actual);
    args.y = y_of(&h, room.actual);
    tier(&args);
    compare_outputs(check, h.n_elements, h.y_type, at);
}

/* A slice of a wider head has n < half. */
static size_t some_half(const variant_case *at) {
    return at->n + (at->choices >> 16) % 4;
}

void rope_half_case(variant_check *check, const variant_case *at) {
    rope_case(check, at, some_half(at), 1, check->scalar->rope_half, check->tier->rope_half);
}

void rope_interleaved_case(variant_check *check, const variant_case *at) {
    rope_case(check, at, at->n, 1, check->scalar->rope_interleaved, check->tier->rope_interleaved);
}

void rope_deinterleave_case(variant_check *check, const variant_case *at) {
    rope_case(check, at, some_half(at), 0, check->scalar->rope_deinterleave, check->tier->rope_deinterleave);
}

/* ---- RMS-norm and conversion ---- */

void rms_factors_case(variant_check *check, const variant_case *at) {
    if (at->n == 0)
        return; /* not asked of the kernel */
    case_heads h = make_heads(check, at, at->n, 0);
    size_t n_outputs = 2 * MARGIN + at->offset + h.n_heads;
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_rms_factors_args args = {
        .x = x_of(&h, room.expected),
        .x_type = h.x_type,
        .x_stride = (ptrdiff_t)(h.stride * h.x_size),
        .factors = room.expected + h.first,
        .eps = at->choices >> 9 & 1 ? 1e-6f : 0.0f,
        .n = at->n,
        .n_heads = h.n_heads,
    };
    check->scalar->rms_factors(&args);
    args.factors = room.actual + h.first;
    check->tier->rms_factors(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}

void convert_rows_case(variant_check *check, const variant_case *at) {
    case_heads h = make_heads(check, at, at->n, 1);
    fill_norm(check, at, at->n);
    posenc_convert_args args = {
        .x = x_of(&h, room.expected),
        .y = y_of(&h, room.expected),
        .x_type = h.x_type,
        .y_type = h.y_type,
        .x_stride = (ptrdiff_t)(h.stride * h.x_size),
        .y_stride = (ptrdiff_t)(h.stride * h.y_size),
        .factor = some_factor(at, 9),
        .weight = is_normed(at) ? room.weight + at->offset : NULL,
        .head_factors = is_normed(at) ? room.head_factors : NULL,
        .n = at->n,
        .n_heads = h.n_heads,
        .y_ahead = some_ahead(at),
    };
    check->scalar->convert_rows(&args);
    args.x = x_of(&h, room.actual);
    args.y = y_of(&h, room.actual);
    check->tier->convert_rows(&args);
    compare_outputs(check, h.n_elements, h.y_type, at);
}
