/* SPDX-License-Identifier: MIT */
/* The sweep of the kernel on rows of scores. */
#include "check.h"
#include "plain.h"

#include <float.h>
#include <math.h>

#include "kernels/exp.h"

/* Terms of a logit besides the score; bits, to be combined. */
enum {
    WITH_ALIBI = 1,
    WITH_REL_BIAS = 2,
    WITH_BIAS = 4,
    WITH_CAP = 8,
    WITH_BYTES = 16,
    WITH_QUERY_TERM = 32,
    WITH_KEY_TERM = 64,
    WITH_POSITIONS = 128,
    WITHOUT_SCORES = 256,
    WITH_SUM = 512,
    WITH_RESCALE = 1024, /* and with a sum */
};

typedef struct softmax_shape {
    size_t n;
    posenc_visible visible;
    posenc_softmax_form form;
    posenc_dtype x_type, y_type, bias_type;
    int with, in_place, leaves_masked;
    int32_t query, lowest, highest; /* the last two are for positions */
    float scale, slope, sink, least;
    size_t cut_before, cut_behind; /* offsets that the line does without */
} softmax_shape;

/* Numbers of a call's operands. */
typedef struct softmax_operands {
    int x, y, rel_bias, bias, bytes, k_pos, query_product, query_index, key_product, key_index, sum, rescale;
} softmax_operands;

static softmax_operands operands; /* of the call being made */

enum { N_ROWS = 5, QUERY_ROWS = 40 }; /* of a relative table; the latter has room for vectors of rows side by side */

static int32_t first_offset(const softmax_shape *s) {
    return s->with & WITH_POSITIONS ? s->lowest : (int32_t)s->visible.begin - s->query;
}

static int32_t last_offset(const softmax_shape *s) {
    return s->with & WITH_POSITIONS ? s->highest : (int32_t)s->visible.end - 1 - s->query;
}

/* Entries of relative indices on either side that no seen key meets, and that name no row. */
static size_t n_unmet(const softmax_shape *s) {
    return s->visible.begin < s->visible.end ? s->n % 3 : 0;
}

static posenc_rel_term relative(const kernel_call *call, int product, int index, ptrdiff_t stride) {
    const softmax_shape *s = call->shape;
    int32_t n_rows = stride == 0 ? QUERY_ROWS : N_ROWS, beyond = (int32_t)n_unmet(s);
    return (posenc_rel_term){call_data(call, product, 0), stride,
                             call_data(call, index, 0),   first_offset(s) - beyond,
                             last_offset(s) + beyond,     n_rows - 1};
}

/* Number of visible offsets. Relative indices have these, and the guard page lies beside them. */
static size_t n_offsets(const softmax_shape *s) {
    return s->visible.begin < s->visible.end ? (size_t)(last_offset(s) - first_offset(s) + 1) : 0;
}

/* The relative bias may begin behind the first of them and end before the last. */
static int is_cut(const softmax_shape *s) {
    return n_offsets(s) > s->cut_before + s->cut_behind;
}

static size_t rel_bias_size(const softmax_shape *s) {
    return is_cut(s) ? n_offsets(s) - s->cut_before - s->cut_behind : n_offsets(s);
}

static posenc_head_rel_bias rel_bias_of(const kernel_call *call) {
    const softmax_shape *s = call->shape;
    int32_t first = first_offset(s) + (is_cut(s) ? (int32_t)s->cut_before : 0);
    return (posenc_head_rel_bias){call_data(call, operands.rel_bias, 0), first, first + (int32_t)rel_bias_size(s) - 1};
}

static void softmax_arguments(const kernel_call *call, kernel_args *to) {
    const softmax_shape *s = call->shape;
    const softmax_operands *o = &operands;
    posenc_softmax_row_args args = {
        .x = s->with & WITHOUT_SCORES ? NULL : call_data(call, o->x, 0),
        .y = call_data(call, o->y, 0),
        .x_type = s->x_type,
        .y_type = s->y_type,
        .form = s->form,
        .n = s->n,
        .visible = s->visible,
        .leaves_masked = s->leaves_masked,
        .position = s->query,
        .scale = s->scale,
        .slope = s->with & WITH_ALIBI ? s->slope : 0.0f,
        .exp_lowest = s->n % 3 == 0 ? POSENC_WEIGHT_LOWEST : POSENC_EXP_LOWEST,
        .sink = s->sink,
        .least = s->least,
        .empty = 0.25f,
    };
    if (s->with & WITH_REL_BIAS)
        args.rel_bias = rel_bias_of(call);
    if (s->with & WITH_BIAS) {
        args.bias = call_data(call, o->bias, 0);
        args.bias_type = s->bias_type;
        args.bias_slope = s->slope;
    }
    if (s->with & WITH_CAP) {
        args.cap = 20.0f;
        args.inv_cap = 0.05f;
    }
    if (s->with & WITH_BYTES) {
        args.bytes = call_data(call, o->bytes, 0);
        args.keep = s->n % 2 == 0;
    }
    if (s->with & WITH_POSITIONS) {
        args.k_pos = call_data(call, o->k_pos, 0);
        args.lowest = s->lowest;
        args.highest = s->highest;
    }
    if (s->with & WITH_QUERY_TERM)
        args.by_query = relative(call, o->query_product, o->query_index, 0);
    if (s->with & WITH_KEY_TERM)
        args.by_key = relative(call, o->key_product, o->key_index, N_ROWS);
    if (s->with & WITH_SUM)
        args.sum = call_data(call, o->sum, 0);
    if (s->with & WITH_RESCALE)
        args.rescale = call_data(call, o->rescale, 0);
    static posenc_softmax_row_args next;
    next = args;
    args.next = s->n % 2 ? &next : NULL;
    to->softmax_row = args;
}

static void describe(kernel_call *call, const softmax_shape *s) {
    softmax_operands *o = &operands;
    call_begin(call, KERNEL_softmax_row, softmax_arguments, s);
    /* Scores behind the last key are not read: x ends there. */
    o->x = call_row(call, "x", s->in_place ? OPERAND_IN_OUT : OPERAND_IN, (element_type)s->x_type,
                    s->in_place ? s->n : s->visible.end);
    o->y = s->in_place ? o->x : call_row(call, "y", OPERAND_OUT, (element_type)s->y_type, s->n);
    if (s->with & WITH_REL_BIAS)
        o->rel_bias = call_row(call, "line", OPERAND_IN, ELEMENT_F32, rel_bias_size(s));
    if (s->with & WITH_BIAS)
        o->bias = call_row(call, "bias", OPERAND_IN, (element_type)s->bias_type, s->n);
    if (s->with & WITH_BYTES)
        o->bytes = call_row(call, "bytes", OPERAND_IN, ELEMENT_U8, s->n);
    if (s->with & WITH_POSITIONS)
        o->k_pos = call_row(call, "k_pos", OPERAND_IN, ELEMENT_I32, s->n);
    if (s->with & WITH_QUERY_TERM) {
        o->query_product = call_row(call, "query products", OPERAND_IN, ELEMENT_F32, QUERY_ROWS);
        o->query_index = call_row(call, "query index", OPERAND_IN, ELEMENT_I32, n_offsets(s) + 2 * n_unmet(s));
    }
    if (s->with & WITH_KEY_TERM) {
        o->key_product = call_row(call, "key products", OPERAND_IN, ELEMENT_F32, N_ROWS * s->n);
        o->key_index = call_row(call, "key index", OPERAND_IN, ELEMENT_I32, n_offsets(s) + 2 * n_unmet(s));
    }
    if (s->with & WITH_SUM)
        o->sum = call_row(call, "sum", s->with & WITH_RESCALE ? OPERAND_IN_OUT : OPERAND_OUT, ELEMENT_F32, 2);
    if (s->with & WITH_RESCALE)
        o->rescale = call_row(call, "rescale", OPERAND_OUT, ELEMENT_F32, 1);
}

/* Rows as rules have them, ascending or descending between runs of the first and last one, and at random. */
static int query_row(const softmax_shape *s, size_t i) {
    int at = (int)i - (int)(s->n % 50), row = at < 0 ? 0 : at < QUERY_ROWS ? at : QUERY_ROWS - 1;
    switch (s->n % 3) {
    case 0: return (int)(test_random() % QUERY_ROWS);
    case 1: return row;
    default: return QUERY_ROWS - 1 - row;
    }
}

/* Integers that mean something: indices of rows, bytes of both kinds, positions around the query. */
static void set_integers(kernel_call *call, const softmax_shape *s) {
    const softmax_operands *o = &operands;
    for (size_t i = 0; i < n_offsets(s) + 2 * n_unmet(s); i++) {
        int is_met = i >= n_unmet(s) && i < n_unmet(s) + n_offsets(s);
        double unmet = test_random() % 2 ? -1.0 : 2147483647.0;
        if (s->with & WITH_QUERY_TERM)
            operand_set(&call->operands[o->query_index], i, is_met ? (double)query_row(s, i - n_unmet(s)) : unmet);
        if (s->with & WITH_KEY_TERM)
            operand_set(&call->operands[o->key_index], i, is_met ? (double)(test_random() % N_ROWS) : unmet);
    }
    int width = s->highest - s->lowest + 9;
    for (size_t j = 0; j < s->n; j++) {
        if (s->with & WITH_BYTES)
            operand_set(&call->operands[o->bytes], j, test_random() % 3 == 0 ? 0.0 : (double)(1 + test_random() % 255));
        if (s->with & WITH_POSITIONS)
            operand_set(&call->operands[o->k_pos], j,
                        (double)(s->query + s->lowest - 4 + (int32_t)(test_random() % (unsigned)width)));
    }
}

static void check_softmax(kernel_call *call, const posenc_kernels *variant, const softmax_shape *s, test_fill fill) {
    if (!test_case("softmax_row n=%zu [%zu %zu %zu %zu] form=%d with=%d %s->%s query=%d scale=%g slope=%g sink=%g "
                   "least=%g cut=%zu,%zu%s%s %s",
                   s->n, s->visible.begin, s->visible.hole_begin, s->visible.hole_end, s->visible.end, (int)s->form,
                   s->with, element_name(s->x_type), element_name(s->y_type), (int)s->query, (double)s->scale,
                   (double)s->slope, (double)s->sink, (double)s->least, s->cut_before, s->cut_behind,
                   s->in_place ? " in place" : "", s->leaves_masked ? " leaves hidden" : "", test_fill_name(fill)))
        return;
    describe(call, s);
    call_fill(call, fill);
    set_integers(call, s);
    call_check(call, variant, test_size_is_large(s->n) || fill != FILL_ORDINARY || s->with ? FEW_PLACES : EVERY_PLACE);
}

/* ---- Cases ---- */

/* Positions of the query: among the keys, before and behind them, and as far as the kernels are promised to go. */
static int32_t query_of(size_t which, size_t n) {
    const int32_t queries[] = {(int32_t)n - 1, 0, (int32_t)n / 2, -3, (int32_t)n + 1000, 1 << 30, -(1 << 30), 1 << 24};
    return queries[which % (sizeof queries / sizeof queries[0])];
}

/* Number `which` of a list. */
#define CHOICE(list, which) (list)[(which) % (sizeof(list) / sizeof((list)[0]))]

static void set_types(softmax_shape *s, uint64_t which) {
    static const posenc_dtype types[] = {POSENC_F32, POSENC_F16, POSENC_BF16};
    s->x_type = CHOICE(types, which);
    s->y_type = CHOICE(types, which / 3);
    s->bias_type = CHOICE(types, which / 9);
    s->in_place = s->in_place && s->x_type == s->y_type && !(s->with & WITHOUT_SCORES);
}

/* One of many rows of n scores. */
static softmax_shape shape_of(size_t n, size_t which) {
    static const float scales[] = {0.125f, 1.0f, -1.0f, 0.0f, 0x1p-149f, 100.0f, FLT_MAX};
    static const float slopes[] = {0.5f, 0.00390625f, 0.7071067f, -0.25f, -0.0f, 1e-30f, 0x1p-149f, FLT_MAX};
    static const float sinks[] = {-INFINITY, -INFINITY, 0.5f, 50.0f};
    static const float leasts[] = {-INFINITY, -INFINITY, -INFINITY, 0.0f, -5.0f, 3.0f, -0.0f, -75.0f};
    static const int withs[] = {0,
                                WITH_ALIBI,
                                WITH_REL_BIAS,
                                WITH_BIAS,
                                WITH_CAP,
                                WITH_BYTES,
                                WITH_QUERY_TERM,
                                WITH_KEY_TERM,
                                WITH_POSITIONS | WITH_ALIBI,
                                WITHOUT_SCORES,
                                WITHOUT_SCORES | WITH_ALIBI,
                                WITHOUT_SCORES | WITH_REL_BIAS,
                                WITHOUT_SCORES | WITH_BIAS,
                                WITHOUT_SCORES | WITH_QUERY_TERM,
                                WITH_SUM,
                                WITH_SUM | WITH_RESCALE};
    softmax_shape s = {
        .n = n,
        .form = (posenc_softmax_form)(which % 5 < 3 ? 0 : which % 5 - 2),
        .in_place = which / 2 % 2 == 0,
        .leaves_masked = which % 5 == 2 || which % 7 == 3,
        .query = query_of(which / 2, n),
        .scale = which % 3 == 0 ? CHOICE(scales, which / 3) : 0.125f,
        .slope = CHOICE(slopes, which / 2),
        .sink = CHOICE(sinks, which / 3),
        .least = CHOICE(leasts, which + n),
    };
    /* One after the other: in an initialiser the compiler would choose the order. */
    s.with = which < 44 ? CHOICE(withs, which) : (int)(test_random() % 2048);
    s.lowest = -(int32_t)(test_random() % 40);
    s.highest = (int32_t)(test_random() % 9);
    s.cut_before = which % 4 == 1 ? test_random() % 50 : 0;
    s.cut_behind = which % 3 == 1 ? test_random() % 50 : 0;
    s.visible = test_visible(n, which);
    if (which >= 22)
        set_types(&s, test_random());
    if (s.form == POSENC_LOGITS)
        s.with &= ~WITH_SUM;
    if (!(s.with & WITH_SUM))
        s.with &= ~WITH_RESCALE;
    if (s.with & WITH_POSITIONS && (s.query > 1 << 29 || s.query < -(1 << 29)))
        s.query /= 2;
    return s;
}

/* ALiBi's distances from 2^24 on, where not every integer is a float32, so that they cannot be counted in floats. */
static void check_far_alibi(kernel_call *call, const posenc_kernels *variant, size_t n) {
    static const int32_t distances[] = {1 << 24,        (1 << 24) + 1, (1 << 24) + 5,
                                        (1 << 24) + 63, (1 << 25) + 3, (1 << 26) + 5};
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++)
        for (int which = 0; which < 8; which++) {
            softmax_shape s = {
                .n = n,
                .visible = {.end = n},
                .form = which & 1 ? POSENC_LOGITS : POSENC_PROBABILITIES,
                .with = which & 2 ? WITH_ALIBI | WITHOUT_SCORES : WITH_ALIBI,
                .query = which & 4 ? (int32_t)n - distances[d] : distances[d],
                .scale = 0.125f,
                .slope = 0.5f,
                .sink = -INFINITY,
                .least = -INFINITY,
            };
            check_softmax(call, variant, &s, FILL_ORDINARY);
        }
}

/* Rows of 16 bits are worked on in parts of 8192 keys. */
static const size_t sizes_around_parts[] = {8191, 8192, 8193, 8705, 16384, 16417, 24600};

void sweep_softmax_row(const posenc_kernels *variant) {
    static kernel_call call;
    for (size_t i = 0; i < test_n_sizes; i++)
        for (size_t which = 0; which < 72; which++) {
            softmax_shape s = shape_of(test_sizes[i], which);
            check_softmax(&call, variant, &s, (test_fill)(which % (FILL_ADVERSARIAL + 1)));
        }
    for (size_t n = 1; n < 200; n += 22)
        check_far_alibi(&call, variant, n);
    for (size_t i = 0; i < sizeof sizes_around_parts / sizeof sizes_around_parts[0]; i++)
        for (size_t which = 22; which < 72; which++) {
            softmax_shape s = shape_of(sizes_around_parts[i], which);
            check_softmax(&call, variant, &s, (test_fill)(which % (FILL_ADVERSARIAL + 1)));
        }
}

/* ---- Benchmark ---- */

/* All keys are visible, with an ALiBi bias that takes the far end to e^-8. */
static void bench_describe(kernel_call *call, size_t n, kernel_types types) {
    static softmax_shape s;
    s = (softmax_shape){.n = n,
                        .visible.end = n,
                        .x_type = types.x,
                        .y_type = types.y,
                        .with = WITH_ALIBI,
                        .query = (int32_t)n - 1,
                        .scale = 0.125f,
                        .slope = 8.0f / (float)n,
                        .sink = -INFINITY,
                        .least = -INFINITY};
    describe(call, &s);
    call_fill(call, FILL_ORDINARY);
}

static void plain_softmax_row(const kernel_args *args) {
    const posenc_softmax_row_args *a = &args->softmax_row;
    plain_softmax(a->x, a->y, a->n, a->visible.end, a->position, a->scale, a->slope);
}

static void limit_softmax(const bench_limits *limits, const kernel_args *args) {
    limits->copy(args->softmax_row.y, args->softmax_row.x, args->softmax_row.n);
}

const kernel_bench bench_softmax_row = {
    .unit = "n", .elements = 1, .describe = bench_describe, .plain = plain_softmax_row, .limit = limit_softmax};
