/* SPDX-License-Identifier: MIT */
/* Storage types: whatever they are, the result is that of float32 on the widened input, rounded once. Both the widening
 * and the rounding are those of truth_half.h. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "truth_half.h"
#include "truth_rope.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const posenc_dtype types[] = {POSENC_F32, POSENC_F16, POSENC_BF16};

/* ---- Every value ---- */

/* Copies of one row of n values by the conversion of posenc_rope_apply_tensors. */
static void convert(const posenc_rope *rope, const void *x, posenc_dtype x_type, void *y, posenc_dtype y_type,
                    int64_t n, float scale) {
    posenc_rope_tensor task = {.x = posenc_view_dense((void *)(uintptr_t)x, x_type, n, 1, 1, 1),
                               .y = posenc_view_dense(y, y_type, n, 1, 1, 1),
                               .scale = scale};
    truth_ok(posenc_rope_apply_tensors(rope, &task, 1, NULL, NULL, POSENC_FORWARD, posenc_range_all()));
}

/* All 65536 f16 and all bf16, into every type. */
static void test_every_half(void **state) {
    (void)state;
    enum { N = 1 << 16 };
    static uint16_t x[N];
    static unsigned char y[N * 4];
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, N, 0, 0);
    posenc_rope *rope = truth_rope_new(&params);
    for (int k = 0; k < N; k++)
        x[k] = (uint16_t)k;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int from = 1; from < 3; from++)
            for (int to = 0; to < 3; to++) {
                convert(rope, x, types[from], y, types[to], N, 1.0f);
                for (size_t k = 0; k < N; k++)
                    if (from == to
                            ? memcmp(y + 2 * k, &x[k], 2) != 0
                            : !truth_holds(y + k * truth_size(types[to]), truth_widen(x[k], types[from]), types[to]))
                        fail_msg("%s: type %d, bits %zx, to type %d", posenc_isa_name(posenc_isa()), from, k, to);
            }
    posenc_rope_free(rope);
}

/* float32: half way between neighbours of each half type, one ulp beside that, and random bits. */
static void test_rounding(void **state) {
    (void)state;
    enum { N = 3 << 16 };
    static float x[N];
    static uint16_t y[N];
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, N, 0, 0);
    posenc_rope *rope = truth_rope_new(&params);
    for (int type = 1; type < 3; type++) {
        for (int k = 0; k < N / 3; k++) {
            double low = (double)truth_widen((uint16_t)k, types[type]),
                   high = (double)truth_widen((uint16_t)(k + 1), types[type]);
            float middle = isfinite(low) && isfinite(high) ? (float)((low + high) / 2) : truth_random_bits(POSENC_F32);
            x[3 * k] = middle;
            x[3 * k + 1] = nextafterf(middle, truth_below(2) ? INFINITY : -INFINITY);
            x[3 * k + 2] = truth_random_bits(POSENC_F32);
        }
        static const float ends[] = {65504.0f,        65519.996f,       65520.0f,  -65520.0f,   65536.0f,
                                     0x1p-25f,        0x1.000002p-25f,  0x1p-24f,  0x1.ffp127f, 0x1.fefffep127f,
                                     0x1.fffffep127f, -0x1.fffffep127f, 0x1p-134f, -0x1p-149f};
        memcpy(x, ends, sizeof ends);
        for (int tier = -1; truth_next_tier(&tier);) {
            convert(rope, x, POSENC_F32, y, types[type], N, 1.0f);
            for (size_t k = 0; k < N; k++)
                if (!truth_holds(&y[k], x[k], types[type]))
                    fail_msg("%s: %a becomes %x, not %x", posenc_isa_name(posenc_isa()), (double)x[k], (unsigned)y[k],
                             (unsigned)truth_narrow(x[k], types[type]));
        }
    }
    posenc_rope_free(rope);
}

/* ---- The rotation ---- */

/* Random bits, one in eight: infinities, NaN, denormals; the rest ordinary. */
static void fill_adversarial(truth_tensor *x) {
    TRUTH_EACH(&x->view, i, j, t, b)
    if (truth_below(8) == 0)
        truth_store(truth_address(&x->view, i, j, t, b), truth_random_bits(x->view.dtype), x->view.dtype);
    truth_mark(x);
}

static int is_rotated(const posenc_rope_params *p, int64_t channel) {
    return channel >= p->n_offs && channel < p->n_offs + p->n_rot;
}

/* Unrotated channels of one type are the same bytes: NaN payloads too. */
static void check_copies(const posenc_rope_params *p, const truth_tensor *x, const posenc_view *y) {
    TRUTH_EACH(y, i, j, t, b)
    if (!is_rotated(p, i)) {
        const char *now = truth_address(&x->view, i, j, t, b);
        const char *was = (const char *)x->before + (now - (const char *)x->buffer);
        if (memcmp(truth_address(y, i, j, t, b), was, truth_size(y->dtype)) != 0)
            fail_msg("%s: unrotated channel %lld", posenc_isa_name(posenc_isa()), (long long)i);
    }
}

static void check_pair_of_types(posenc_dtype from, posenc_dtype to, int adversarial) {
    posenc_rope_params params =
        truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE | TRUTH_AXES * (int)truth_below(2));
    posenc_rope *rope = truth_rope_new(&params);
    posenc_direction direction = truth_random_direction(&params);
    int64_t ne[4] = {params.head_dim, 1 + truth_below(4), 1 + truth_below(6), 1 + truth_below(2)};
    int32_t positions[TRUTH_MAX_POSITIONS];
    truth_random_positions(positions, posenc_rope_axis_count(rope), ne[2]);
    truth_tensor x = truth_tensor_random_of(from, ne), y = truth_tensor_random_of(to, ne);
    truth_tensor wide_x = truth_tensor_random(ne), wide_y = truth_tensor_random(ne);
    if (adversarial)
        fill_adversarial(&x);
    truth_convert(&x.view, &wide_x.view);
    truth_ok(posenc_rope_apply(rope, &wide_x.view, positions, &wide_y.view, direction, posenc_range_all()));

    for (int64_t end = ne[1] * ne[2] * ne[3]; end > 0;) { /* in ranges, the last first */
        posenc_range rows = {end - truth_below(end + 1), end};
        truth_ok(posenc_rope_apply(rope, &x.view, positions, &y.view, direction, rows));
        end = rows.begin;
    }
    truth_rounded_views(&y.view, &wide_y.view, "against float32");
    truth_nothing_else_changed(&y, 0, ne[0], "output");
    truth_nothing_changed(&x, "input");
    if (from == to)
        check_copies(&params, &x, &y.view);
    if (from == to && params.layout != POSENC_ROPE_DEINTERLEAVE) {
        truth_ok(posenc_rope_apply(rope, &x.view, positions, &x.view, direction, posenc_range_all()));
        truth_rounded_views(&x.view, &wide_y.view, "in place");
        truth_nothing_else_changed(&x, params.n_offs, params.n_rot, "in place");
    }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&wide_x);
    truth_tensor_free(&wide_y);
    posenc_rope_free(rope);
}

static void test_nine_pairs(void **state) {
    (void)state;
    enum { ROUNDS = 60 };
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int pair = 0; pair < 9; pair++)
            for (int round = 0; round < ROUNDS; round++)
                check_pair_of_types(types[pair / 3], types[pair % 3], round % 2);
    }
    print_message("9 pairs of types, %d random calls each\n", ROUNDS);
}

/* A head of three pages, of which the middle one is rotated in place: the others cannot be written to, nor can it where
 * a shift by 0 leaves everything as it is. */
static void check_untouched_pages(posenc_dtype type, posenc_rope_layout layout, char *head) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int64_t n = (int64_t)page / (int64_t)truth_size(type);
    posenc_rope_params params = truth_rope_params(layout, 3 * n, n, n);
    posenc_rope *rope = truth_rope_new(&params);
    posenc_view x = posenc_view_dense(head, type, 3 * n, 1, 1, 1);
    assert_int_equal(mprotect(head, 3 * page, PROT_READ | PROT_WRITE), 0);
    memset(head, 0x3c, 3 * page); /* small numbers in every type */
    for (int32_t shift = 1; shift >= 0; shift--) {
        assert_int_equal(mprotect(head, 3 * page, PROT_READ), 0);
        if (shift != 0)
            assert_int_equal(mprotect(head + page, page, PROT_READ | PROT_WRITE), 0);
        truth_ok(posenc_rope_apply(rope, &x, &shift, &x, POSENC_SHIFT, posenc_range_all()));
    }
    posenc_rope_free(rope);
}

static void test_untouched_pages(void **state) {
    (void)state;
    size_t size = 3 * (size_t)sysconf(_SC_PAGESIZE);
    char *head = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(head != MAP_FAILED);
    for (int tier = -1; truth_next_tier(&tier);)
        for (int type = 0; type < 3; type++) {
            check_untouched_pages(types[type], POSENC_ROPE_HALF, head);
            check_untouched_pages(types[type], POSENC_ROPE_INTERLEAVED, head);
        }
    munmap(head, size);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_every_half),
        truth_test(test_rounding),
        truth_test(test_nine_pairs),
        truth_test(test_untouched_pages),
    };
    return truth_run(tests);
}
