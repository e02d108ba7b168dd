/* SPDX-License-Identifier: MIT */
/* Blocks as outputs of RoPE: the bytes of ggml's reference (truth_blocks.c), for blocks at random and
 * adversarial ones; and any call that writes them, or transforms heads, is the same call into float32, what the
 * statement makes of that, and nothing else. As inputs: the same call on the numbers that they hold. */
#include "truth_blocks.h"
#include "truth_half.h"
#include "truth_rope.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/formats.h"

#define TYPE(type, ...) type,
static const posenc_dtype block_types[] = {POSENC_EACH_FORMAT(TYPE)};

/* ---- Blocks, by the conversion of values ---- */

enum { DIM = 1024, TOKENS = 64, N = DIM * TOKENS };

static float values[N];

/* Rows of DIM values of a type into blocks, as they are. */
static void convert(const void *x, posenc_dtype x_type, posenc_dtype type, void *y) {
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, DIM, 0, 0);
    posenc_rope *rope = truth_rope_new(&params);
    posenc_rope_tensor tensor = {.x = posenc_view_dense((void *)(uintptr_t)x, x_type, DIM, 1, TOKENS, 1),
                                 .y = posenc_view_dense(y, type, DIM, 1, TOKENS, 1),
                                 .scale = 1.0f};
    truth_ok(posenc_rope_apply_tensors(rope, &tensor, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()));
    posenc_rope_free(rope);
}

/* Checks the stated bound for values that are read. */
static void check_error(const float *x, const unsigned char *row, int64_t i, posenc_dtype type) {
    const float *block = x + i / TRUTH_BLOCK * TRUTH_BLOCK;
    double got = truth_read_block(row, i, type), allowed;
    for (int64_t k = 0; k < TRUTH_BLOCK; k++)
        if (isnan(block[k]) || isinf(block[k])) {
            assert_true(isnan(got));
            return;
        }
    allowed = truth_block_error(block, type);
    if (allowed >= 0.0)
        truth_close(got, (double)x[i], allowed, "channel %lld in type %d", (long long)i, (int)type);
}

/* The values, narrowed to a type that they may come in, give the bytes of the statement. */
static void check_values(posenc_dtype x_type, const char *what) {
    static unsigned char stored[N * sizeof(float)], got[N * 2], want[N * 2];
    for (int64_t i = 0; i < N; i++) {
        truth_store(stored + (size_t)i * truth_size(x_type), values[i], x_type);
        values[i] = truth_load(stored + (size_t)i * truth_size(x_type), x_type);
    }
    for (size_t k = 0; k < sizeof block_types / sizeof block_types[0]; k++) {
        posenc_dtype type = block_types[k];
        size_t bytes = N / TRUTH_BLOCK * truth_block_bytes(type);
        convert(stored, x_type, type, got);
        truth_quantise(values, N, type, want);
        for (size_t i = 0; i < bytes; i++)
            if (got[i] != want[i])
                fail_msg("%s, %s, type %d to %d: byte %zu of block %zu is %d instead of %d",
                         posenc_isa_name(posenc_isa()), what, (int)x_type, (int)type, i % truth_block_bytes(type),
                         i / truth_block_bytes(type), got[i], want[i]);
        for (int64_t i = 0; i < N; i += 7)
            check_error(values + i / DIM * DIM, got + (size_t)(i / DIM * DIM / TRUTH_BLOCK) * truth_block_bytes(type),
                        i % DIM, type);
    }
}

/* A million blocks and more, of scales alike and of any. */
static void test_random_blocks(void **state) {
    (void)state;
    long long n = 0;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 60; round++) {
            double size = truth_log_uniform(1e-3, 1e3);
            for (int64_t i = 0; i < N; i++) {
                if (i % TRUTH_BLOCK == 0)
                    size = round % 3 == 0 ? size : truth_log_uniform(round % 3 == 1 ? 1e-9 : 1e-44, 1e9);
                values[i] = (float)truth_uniform(-size, size);
            }
            for (int type = POSENC_F32; type <= POSENC_BF16; type++, n += N / TRUTH_BLOCK * 2)
                check_values((posenc_dtype)type, "random");
        }
    print_message("%lld blocks\n", n);
    assert_true(n >= 700000); /* on a machine with one tier */
}

/* Whole and half steps of any scale, and their neighbours; the largest once, or several times with any sign. */
static void set_steps(float *x, int step, double most) {
    for (int i = 0; i < TRUTH_BLOCK; i++) {
        double value = 0.5 * (double)(truth_below((int64_t)(4.0 * most) + 1) - (int64_t)(2.0 * most));
        x[i] = (float)ldexp(value, step);
        if (truth_below(3) == 0)
            x[i] = nextafterf(x[i], truth_below(2) ? INFINITY : -INFINITY);
    }
    for (int i = 0; i < 3; i++)
        x[truth_below(TRUTH_BLOCK)] = (float)ldexp(truth_below(2) ? most : -most, step);
}

static void test_adversarial_blocks(void **state) {
    (void)state;
    static const double mosts[] = {8.0, 127.0, 16.0, 7.5, 15.5}; /* the last two: half of what offsets rise by */
    static const float special[] = {0.0f,       -0.0f,     INFINITY,  -INFINITY, NAN,      0x1p-149f, -0x1p-149f,
                                    0x1p-126f,  0x1p-122f, 0x1p-121f, 65504.0f,  65520.0f, 8.32e6f,   524160.0f,
                                    -524160.0f, 3.4e38f,   -3.4e38f,  0x1p-24f,  0x1p-18f, -1.0f,     1.0f};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 30; round++) {
            for (int64_t b = 0; b < N / TRUTH_BLOCK; b++) {
                float *x = values + b * TRUTH_BLOCK;
                if (round % 3 == 0) /* every exponent of the scale */
                    set_steps(x, (int)(b % 280) - 150, mosts[round % 5]);
                for (int i = 0; i < TRUTH_BLOCK && round % 3 == 1; i++) /* one size, of any sign */
                    x[i] = truth_below(2) ? special[b % 21] : -special[b % 21];
                for (int i = 0; i < TRUTH_BLOCK && round % 3 == 2; i++) /* one among nothing, or among anything */
                    x[i] = i == b % TRUTH_BLOCK ? special[truth_below(21)]
                           : round % 2          ? 0.0f
                                                : truth_random_bits(POSENC_F32);
            }
            for (int type = POSENC_F32; type <= POSENC_BF16; type++)
                check_values((posenc_dtype)type, "adversarial");
        }
}

/* ---- Calls ---- */

enum { MOST_TENSORS = 3, MOST_TOKENS = 7, CACHE_ROWS = 11 };

/* A tensor of a call, and where it is written: between bytes that are watched. */
typedef struct written {
    truth_tensor x;
    posenc_view y;
    unsigned char *bytes, *before, *want;
    size_t n_bytes;
    float weight[TRUTH_MAX_DIM];
    int32_t rows32[MOST_TOKENS];
    int64_t rows64[MOST_TOKENS];
} written;

typedef struct call_set {
    posenc_rope_params params;
    posenc_rope *rope;
    posenc_direction direction;
    int32_t positions[TRUTH_MAX_POSITIONS];
    int64_t n_tokens, n_tensors;
    posenc_rope_tensor tensors[MOST_TENSORS];
    written memory[MOST_TENSORS];
} call_set;

static posenc_rope_params random_params(void) {
    static const int64_t dims[] = {32, 64, 96, 128, 256, 576, 1024};
    posenc_rope_params params =
        truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE | TRUTH_AXES * (int)truth_below(2));
    int64_t n_rot = params.n_rot < 256 ? params.n_rot : 0; /* the random one where it fits: its axes fit it */
    for (params.head_dim = 0; params.head_dim < n_rot || params.head_dim == 0;)
        params.head_dim = dims[truth_below(7)];
    if (n_rot != params.n_rot)
        params.axes = (posenc_rope_axes){POSENC_AXES_SINGLE, 0, {0}};
    params.n_rot = n_rot;
    params.n_offs = truth_below(params.head_dim - n_rot + 1);
    return params;
}

/* Rows of y, padded, the heads of a token side by side or the tokens of a head; of bytes that are watched. */
static void random_output(written *m, posenc_dtype type, int64_t head_dim, int64_t n_heads, int64_t n_rows) {
    int64_t element = truth_is_blocks(type) ? 2 : (int64_t)truth_size(type);
    int64_t row =
        truth_is_blocks(type) ? head_dim / TRUTH_BLOCK * (int64_t)truth_block_bytes(type) : head_dim * element;
    int by_head = truth_below(2) != 0;
    m->y = posenc_view_dense(NULL, type, head_dim, n_heads, n_rows, 1);
    int64_t inner = row + element * truth_below(5),
            outer = inner * (by_head ? n_rows : n_heads) + element * truth_below(9);
    m->y.nb[by_head ? 2 : 1] = inner;
    m->y.nb[by_head ? 1 : 2] = outer;
    m->n_bytes = (size_t)(outer * (by_head ? n_heads : n_rows) + 64);
    m->bytes = malloc(3 * m->n_bytes);
    assert_non_null(m->bytes);
    m->before = m->bytes + m->n_bytes;
    m->want = m->before + m->n_bytes;
    for (size_t i = 0; i < m->n_bytes; i++)
        m->bytes[i] = (unsigned char)truth_random();
    memcpy(m->before, m->bytes, m->n_bytes);
    m->y.data = m->bytes + 32;
}

static void random_tensor(call_set *s, posenc_rope_tensor *tensor, written *m) {
    int64_t head_dim = s->params.head_dim, n_rows = s->n_tokens, n_heads = 1 + truth_below(truth_below(4) ? 5 : 90);
    *tensor = (posenc_rope_tensor){.rotates = truth_below(3) != 0, .scale = 1.0f};
    if (truth_below(3) == 0)
        tensor->scale = (float)truth_uniform(-2.0, 2.0);
    if (truth_below(3) == 0) {
        truth_fill(m->weight, (size_t)head_dim);
        tensor->weight = m->weight;
        tensor->eps = 1e-6f;
    }
    tensor->norms = truth_below(4) == 0;
    if (truth_below(2)) {
        n_rows = CACHE_ROWS;
        for (int64_t t = 0; t < s->n_tokens; t++)
            m->rows64[t] = m->rows32[t] = (int32_t)((5 * t + 3) % CACHE_ROWS);
        tensor->rows32 = truth_below(2) ? m->rows32 : NULL;
        tensor->rows64 = tensor->rows32 == NULL ? m->rows64 : NULL;
    }
    if (truth_below(2))
        for (tensor->hadamard = 512; head_dim % tensor->hadamard != 0 || truth_below(3) == 0;)
            tensor->hadamard = tensor->hadamard > 2 ? tensor->hadamard / 2 : 512;
    m->x = truth_tensor_random_of((posenc_dtype)truth_below(3), (int64_t[4]){head_dim, n_heads, s->n_tokens, 1});
    random_output(m, (posenc_dtype)truth_below(5), head_dim, n_heads, n_rows);
    tensor->x = m->x.view;
    tensor->y = m->y;
}

static int64_t row_of(const posenc_rope_tensor *tensor, int64_t t) {
    return tensor->rows32 != NULL ? tensor->rows32[t] : tensor->rows64 != NULL ? tensor->rows64[t] : t;
}

/* The same call into float32, transformed and quantised as the statement says. */
static void expect(const call_set *s, const posenc_rope_tensor *tensor, written *m) {
    int64_t head_dim = s->params.head_dim, n_heads = tensor->x.ne[1];
    float *heads = malloc((size_t)(head_dim * n_heads * s->n_tokens) * sizeof(float));
    assert_non_null(heads);
    posenc_rope_tensor plain = *tensor;
    plain.hadamard = 0;
    plain.rows32 = NULL;
    plain.rows64 = NULL;
    plain.y = posenc_view_dense(heads, POSENC_F32, head_dim, n_heads, s->n_tokens, 1);
    truth_ok(posenc_rope_apply_tensors(s->rope, &plain, 1, s->positions, NULL, s->direction, posenc_range_all()));
    memcpy(m->want, m->before, m->n_bytes);
    for (int64_t t = 0; t < s->n_tokens; t++)
        for (int64_t h = 0; h < n_heads; h++) {
            float *head = heads + (t * n_heads + h) * head_dim;
            posenc_view want = m->y;
            want.data = m->want + 32;
            if (tensor->hadamard > 0)
                truth_transform(head, head_dim, tensor->hadamard);
            if (truth_is_blocks(m->y.dtype))
                truth_quantise(head, head_dim, m->y.dtype, truth_address(&want, 0, h, row_of(tensor, t), 0));
            for (int64_t i = 0; i < head_dim && !truth_is_blocks(m->y.dtype); i++)
                truth_store(truth_address(&want, i, h, row_of(tensor, t), 0), head[i], m->y.dtype);
        }
    free(heads);
}

static void check_written(const call_set *s, const char *how) {
    for (int64_t k = 0; k < s->n_tensors; k++) {
        const posenc_rope_tensor *tensor = &s->tensors[k];
        const written *m = &s->memory[k];
        for (size_t i = 0; i < m->n_bytes; i++)
            if (m->bytes[i] != m->want[i])
                fail_msg(
                    "%s, %s, %s: tensor %d: head_dim %lld, rotates %d, hadamard %lld, %s, types %d to %d, byte %zu",
                    posenc_isa_name(posenc_isa()), how, truth_direction_name(s->direction), (int)k,
                    (long long)s->params.head_dim, tensor->rotates, (long long)tensor->hadamard,
                    tensor->weight != NULL ? "norm"
                    : tensor->norms        ? "norm without weights"
                                           : "no norm",
                    (int)tensor->x.dtype, (int)tensor->y.dtype, i);
        memcpy(m->bytes, m->before, m->n_bytes);
        truth_nothing_changed(&m->x, how);
    }
}

static void apply(const call_set *s, posenc_range rows) {
    truth_ok(posenc_rope_apply_tensors(s->rope, s->tensors, s->n_tensors, s->positions, NULL, s->direction, rows));
}

static void apply_in_ranges(const call_set *s) {
    int64_t n = 0;
    for (int64_t k = 0; k < s->n_tensors; k++)
        n += s->tensors[k].x.ne[1] * s->n_tokens;
    for (int64_t end = n; end > 0;) {
        posenc_range rows = {end - truth_below(end + 1) % 37, end};
        apply(s, rows);
        end = rows.begin;
    }
}

static void test_calls(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 300; round++) {
            call_set *s = calloc(1, sizeof *s);
            assert_non_null(s);
            s->params = random_params();
            s->rope = truth_rope_new(&s->params);
            s->direction = truth_random_direction(&s->params);
            s->n_tokens = 1 + truth_below(MOST_TOKENS);
            s->n_tensors = 1 + truth_below(MOST_TENSORS);
            truth_random_positions(s->positions, posenc_rope_axis_count(s->rope), s->n_tokens);
            if (s->direction == POSENC_SHIFT) /* a token that stays */
                for (int axis = 0; axis < posenc_rope_axis_count(s->rope); axis++)
                    s->positions[axis * s->n_tokens] = 0;
            for (int64_t k = 0; k < s->n_tensors; k++) {
                random_tensor(s, &s->tensors[k], &s->memory[k]);
                expect(s, &s->tensors[k], &s->memory[k]);
            }
            apply(s, posenc_range_all());
            check_written(s, "at once");
            apply_in_ranges(s);
            check_written(s, "in ranges");
            for (int64_t k = 0; k < s->n_tensors; k++) {
                truth_tensor_free(&s->memory[k].x);
                free(s->memory[k].bytes);
            }
            posenc_rope_free(s->rope);
            free(s);
        }
    }
}

/* ---- Quantised heads read ---- */

enum { MOST_READ_HEADS = 5, READ_BYTES = 1024 / TRUTH_BLOCK * POSENC_Q8_BYTES * MOST_READ_HEADS * MOST_TOKENS };

/* A dense tensor of random heads in blocks, and the numbers that they hold. */
typedef struct read_heads {
    unsigned char blocks[READ_BYTES];
    posenc_view x;
    truth_tensor numbers;
} read_heads;

/* A byte of small integers. */
static unsigned char small_integers(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_FLOATS;
    case POSENC_Q8_0: return (unsigned char)truth_below(90);
    case POSENC_Q4_0: return (unsigned char)(0x66 + truth_below(5));
    case POSENC_Q5_0:
    case POSENC_Q5_1: return (unsigned char)truth_below(90);
    case POSENC_Q4_1: return (unsigned char)(truth_below(6) * 17);
    case POSENC_IQ4_NL: return (unsigned char)(0x66 + truth_below(5));
    }
    return 0;
}

/* Half of the blocks are not what quantising writes: their integers are smaller than they might be. */
static void shrink_integers(unsigned char *row, posenc_dtype type, int64_t head_dim) {
    int64_t bytes = (int64_t)truth_block_bytes(type);
    for (int64_t block = 0; block < head_dim / TRUTH_BLOCK; block++)
        for (int64_t i = (int64_t)posenc_header_bytes(type), is_small = truth_below(2); i < bytes && is_small; i++)
            row[block * bytes + i] = small_integers(type);
}

static void draw_heads(read_heads *r, posenc_dtype type, int64_t head_dim, int64_t n_heads, int64_t n_tokens) {
    float head[1024];
    r->x = posenc_view_dense(r->blocks, type, head_dim, n_heads, n_tokens, 1);
    r->numbers = truth_tensor_random_of(POSENC_F32, (int64_t[4]){head_dim, n_heads, n_tokens, 1});
    TRUTH_EACH(&r->numbers.view, i, h, t, b) {
        void *row = truth_address(&r->x, 0, h, t, 0);
        if (i == 0) {
            truth_fill(head, (size_t)head_dim);
            truth_quantise(head, head_dim, type, row);
            shrink_integers(row, type, head_dim);
        }
        truth_store(truth_address(&r->numbers.view, i, h, t, b), (float)truth_read_block(row, i, type), POSENC_F32);
    }
}

/* Like the numbers; blocks to which nothing is done keep their bytes. */
static void expect_of_numbers(const call_set *s, const read_heads *r, posenc_rope_tensor tensor, posenc_view want) {
    int64_t row = r->x.nb[1];
    tensor.x = r->numbers.view;
    tensor.y = want;
    truth_ok(posenc_rope_apply_tensors(s->rope, &tensor, 1, s->positions, NULL, s->direction, posenc_range_all()));
    int changes = tensor.scale != 1.0f || tensor.weight != NULL || tensor.norms || tensor.hadamard > 0;
    for (int64_t t = 0; t < s->n_tokens && !changes && want.dtype == r->x.dtype; t++) {
        int stays = s->direction == POSENC_SHIFT;
        for (int axis = 0; axis < posenc_rope_axis_count(s->rope); axis++)
            stays = stays && s->positions[axis * s->n_tokens + t] == 0;
        int turns = tensor.rotates && posenc_rope_pair_count(s->rope) > 0 && !stays;
        for (int64_t h = 0; h < r->x.ne[1] && !turns; h++)
            memcpy(truth_address(&want, 0, h, row_of(&tensor, t), 0), truth_address(&r->x, 0, h, t, 0), (size_t)row);
    }
}

static void in_ranges(const call_set *s, const posenc_rope_tensor *tensor) {
    for (int64_t begin = 0, end, n = tensor->x.ne[1] * s->n_tokens; begin < n; begin = end) {
        end = begin + 1 + truth_below(n - begin);
        truth_ok(posenc_rope_apply_tensors(s->rope, tensor, 1, s->positions, NULL, s->direction,
                                           (posenc_range){begin, end}));
    }
}

static void check_read(const call_set *s, const read_heads *r, posenc_rope_tensor tensor) {
    static unsigned char got[CACHE_ROWS * MOST_READ_HEADS * 1024 * sizeof(float)], want[sizeof got],
        kept[sizeof r->blocks];
    for (size_t i = 0; i < sizeof got; i++)
        got[i] = want[i] = (unsigned char)(i * 37 + 11);
    memcpy(kept, r->blocks, sizeof kept);
    int64_t n_rows = tensor.rows32 != NULL ? CACHE_ROWS : s->n_tokens;
    posenc_view y = posenc_view_dense(want, (posenc_dtype)truth_below(5), r->x.ne[0], r->x.ne[1], n_rows, 1);
    expect_of_numbers(s, r, tensor, y);
    tensor.x = r->x;
    tensor.y = y;
    tensor.y.data = got;
    in_ranges(s, &tensor);
    assert_memory_equal(got, want, sizeof got);
    assert_memory_equal(r->blocks, kept, sizeof kept);
    if (tensor.rows32 != NULL || (s->params.layout == POSENC_ROPE_DEINTERLEAVE && tensor.rotates))
        return;
    y = posenc_view_dense(want, r->x.dtype, r->x.ne[0], r->x.ne[1], s->n_tokens, 1);
    expect_of_numbers(s, r, tensor, y);
    memcpy(got, r->blocks, sizeof kept);
    tensor.x = tensor.y = r->x;
    tensor.x.data = tensor.y.data = got;
    in_ranges(s, &tensor);
    assert_memory_equal(got, want, (size_t)(y.nb[3]));
}

/* To every type, into a cache and in place: the bytes that the numbers in float32 give. */
static void test_quantised_input(void **state) {
    (void)state;
    static const int32_t rows[MOST_TOKENS] = {3, 8, 0, 1, 5, 2};
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < 150; round++) {
            static call_set set;
            static read_heads r;
            call_set *s = &set;
            s->params = random_params();
            s->rope = truth_rope_new(&s->params);
            s->direction = truth_random_direction(&s->params);
            s->n_tokens = 1 + truth_below(6);
            truth_random_positions(s->positions, posenc_rope_axis_count(s->rope), s->n_tokens);
            for (int axis = 0; axis < posenc_rope_axis_count(s->rope); axis++) /* a token that a shift leaves */
                s->positions[axis * s->n_tokens] = 0;
            draw_heads(&r, block_types[round % 2], s->params.head_dim, 1 + truth_below(MOST_READ_HEADS), s->n_tokens);
            static float weight[1024];
            truth_fill(weight, 1024);
            posenc_rope_tensor tensor = {.rotates = truth_below(4) != 0, .scale = truth_below(4) ? 1.0f : -0.75f};
            tensor.rows32 = truth_below(3) == 0 ? rows : NULL;
            tensor.weight = truth_below(5) == 0 ? weight : NULL;
            tensor.hadamard = truth_below(5) == 0 ? 32 : 0;
            check_read(s, &r, tensor);
            truth_tensor_free(&r.numbers);
            posenc_rope_free(s->rope);
        }
    }
}

/* Any bytes: scales that are infinite, NaN, denormal or 0, integers that quantising never writes. */
static void test_dequantise(void **state) {
    (void)state;
    enum { HEADS = 3, MOST_CHANNELS = 2112 };
    static unsigned char blocks[MOST_CHANNELS / TRUTH_BLOCK * POSENC_Q8_BYTES * HEADS * 4];
    static const int64_t dims[] = {32, 64, 128, 1024, MOST_CHANNELS};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 60; round++) {
            posenc_dtype type = block_types[round % 2];
            posenc_view x = posenc_view_dense(blocks, type, dims[round / 2 % 5], HEADS, 2, 2);
            for (size_t i = 0; i < sizeof blocks; i++)
                blocks[i] = (unsigned char)truth_random();
            truth_tensor y = truth_tensor_random_of((posenc_dtype)truth_below(3), x.ne);
            int64_t n = HEADS * 2 * 2, cut = truth_below(n + 1);
            truth_ok(posenc_dequantise(&x, &y.view, (posenc_range){cut, n}));
            truth_ok(posenc_dequantise(&x, &y.view, (posenc_range){0, cut}));
            TRUTH_EACH(&y.view, i, h, t, b) {
                float want = (float)truth_read_block(truth_address(&x, 0, h, t, b), i, type);
                assert_true(truth_holds(truth_address(&y.view, i, h, t, b), want, y.view.dtype));
            }
            truth_nothing_else_changed(&y, 0, x.ne[0], "dequantised");
            truth_tensor_free(&y);
        }
}

/* A batch, and from a table. */
static void test_batches(void **state) {
    (void)state;
    enum { HEADS = 3, BATCH = 2, BATCH_TOKENS = 5, BATCH_DIM = 128 };
    static float floats[BATCH_DIM * HEADS * BATCH_TOKENS * BATCH], table_rows[BATCH_DIM * BATCH_TOKENS];
    static unsigned char got[sizeof floats], want[sizeof floats];
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 12; round++) {
            posenc_dtype type = block_types[round % 2], x_type = (posenc_dtype)(round / 2 % 3);
            posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, BATCH_DIM, round % 4 ? 128 : 64, 0);
            posenc_rope *rope = truth_rope_new(&params);
            const int32_t positions[BATCH_TOKENS] = {3, 4, 5, 1000, -7};
            truth_tensor x = truth_tensor_random_of(x_type, (int64_t[4]){BATCH_DIM, HEADS, BATCH_TOKENS, BATCH});
            posenc_view plain = posenc_view_dense(floats, POSENC_F32, BATCH_DIM, HEADS, BATCH_TOKENS, BATCH);
            posenc_view y = posenc_view_dense(got, type, BATCH_DIM, HEADS, BATCH_TOKENS, BATCH);
            size_t bytes = (size_t)(y.nb[3] * BATCH);
            posenc_rope_table table = posenc_rope_table_dense(rope, table_rows);
            truth_ok(posenc_rope_table_fill(rope, positions, BATCH_TOKENS, POSENC_FORWARD, &table));
            truth_ok(posenc_rope_apply(rope, &x.view, positions, &plain, POSENC_FORWARD, posenc_range_all()));
            truth_quantise(floats, BATCH_DIM * HEADS * BATCH_TOKENS * BATCH, type, want);
            truth_ok(posenc_rope_apply(rope, &x.view, positions, &y, POSENC_FORWARD, posenc_range_all()));
            assert_memory_equal(got, want, bytes);
            memset(got, 0, bytes);
            truth_ok(posenc_rope_apply_table(rope, &x.view, &table, &y, POSENC_FORWARD, posenc_range_all()));
            assert_memory_equal(got, want, bytes);
            truth_tensor_free(&x);
            posenc_rope_free(rope);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_random_blocks),   truth_test(test_adversarial_blocks), truth_test(test_calls),
        truth_test(test_quantised_input), truth_test(test_dequantise),         truth_test(test_batches),
    };
    return truth_run(tests);
}
