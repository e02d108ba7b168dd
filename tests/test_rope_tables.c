/* SPDX-License-Identifier: MIT */
/* Tables of cosines and sines: ours give the same bits as positions do, the caller's are taken as they stand. And the
 * arrays of positions. */
#include "truth_rope.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory for a table, in every form that is allowed ---- */

typedef enum form { DENSE, PLANES, COS_SIN, COMPLEX, SIN_COS_PAIRS, N_FORMS } form;

typedef struct memory {
    posenc_rope_table table;
    float *floats, *before;
    size_t n;
} memory;

static memory new_memory(const posenc_rope *rope, form f, int64_t n_tokens) {
    int64_t pairs = posenc_rope_pair_count(rope), gap = f == DENSE ? 0 : truth_below(4);
    int64_t stride = (f == PLANES ? pairs : 2 * pairs) + gap, plane = n_tokens * stride;
    memory m = {.n = (size_t)(f == PLANES ? 2 * plane : plane) + 1};
    m.floats = malloc(m.n * sizeof(float));
    m.before = malloc(m.n * sizeof(float));
    assert_true(m.floats != NULL && m.before != NULL);
    truth_fill(m.floats, m.n);
    memcpy(m.before, m.floats, m.n * sizeof(float));
    switch (f) {
    case DENSE:
        m.table = posenc_rope_table_dense(rope, m.floats);
        assert_int_equal(posenc_rope_table_bytes(rope, n_tokens), (m.n - 1) * sizeof(float));
        break;
    case PLANES: m.table = (posenc_rope_table){m.floats, m.floats + plane, stride, 1, 0}; break;
    case COS_SIN: m.table = (posenc_rope_table){m.floats + pairs, m.floats, stride, 1, 0}; break; /* sines first */
    case COMPLEX: m.table = (posenc_rope_table){m.floats, m.floats + 1, stride, 2, 0}; break;
    default: m.table = (posenc_rope_table){m.floats + 1, m.floats, stride, 2, 0}; break;
    }
    return m;
}

static void free_memory(memory *m) {
    free(m->floats);
    free(m->before);
}

static float *cosine(const posenc_rope_table *table, int64_t t, int64_t i) {
    return table->cos + t * table->row_stride + i * table->step;
}

static float *sine(const posenc_rope_table *table, int64_t t, int64_t i) {
    return table->sin + t * table->row_stride + i * table->step;
}

/* Checks that the bytes between rows are unchanged. */
static void check_gaps(memory *m, int64_t n_pairs, int64_t n_tokens) {
    for (int64_t t = 0; t < n_tokens; t++)
        for (int64_t i = 0; i < n_pairs; i++) {
            m->before[cosine(&m->table, t, i) - m->floats] = *cosine(&m->table, t, i);
            m->before[sine(&m->table, t, i) - m->floats] = *sine(&m->table, t, i);
        }
    truth_same_bits(m->floats, m->before, m->n, "between the rows of a table");
}

/* ---- A table of ours against positions ---- */

static void check_table(const posenc_rope_params *params, form f) {
    posenc_rope *rope = truth_rope_new(params);
    int64_t ne[4] = {params->head_dim, 1 + truth_below(4), 1 + truth_below(20), 1 + truth_below(2)};
    int32_t positions[TRUTH_MAX_POSITIONS];
    truth_random_positions(positions, posenc_rope_axis_count(rope), ne[2]);
    posenc_direction direction = truth_random_direction(params);
    truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), z = truth_tensor_random(ne);
    truth_ok(posenc_rope_apply(rope, &x.view, positions, &y.view, direction, posenc_range_all()));

    memory m = new_memory(rope, f, ne[2]);
    truth_ok(posenc_rope_table_fill(rope, positions, ne[2], direction, &m.table));
    check_gaps(&m, posenc_rope_pair_count(rope), ne[2]);
    for (int64_t end = ne[1] * ne[2] * ne[3]; end > 0;) { /* in ranges, the last first */
        posenc_range rows = {end - truth_below(end + 1), end};
        truth_ok(posenc_rope_apply_table(rope, &x.view, &m.table, &z.view, direction, rows));
        end = rows.begin;
    }
    truth_same_views(&z.view, &y.view, truth_direction_name(direction));
    truth_nothing_else_changed(&z, 0, ne[0], "with a table");
    truth_nothing_changed(&x, "input");
    check_gaps(&m, 0, 0); /* reading a table writes nothing */
    if (params->layout != POSENC_ROPE_DEINTERLEAVE) {
        truth_ok(posenc_rope_apply_table(rope, &x.view, &m.table, &x.view, direction, posenc_range_all()));
        truth_same_views(&x.view, &y.view, "in place, with a table");
    }
    free_memory(&m);
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    truth_tensor_free(&z);
    posenc_rope_free(rope);
}

static void test_tables(void **state) {
    (void)state;
    enum { ROUNDS = 40 };
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_reseed(NULL);
        for (int round = 0; round < ROUNDS * N_FORMS; round++) {
            int variety = TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE | TRUTH_AXES * (int)truth_below(2);
            posenc_rope_params params = truth_rope_random(variety);
            if (!(variety & TRUTH_AXES) && truth_below(4) == 0)
                params.xpos = (posenc_xpos){POSENC_XPOS_KEY, 0.4, 0x1p28, 0};
            check_table(&params, (form)(round % N_FORMS));
        }
    }
    print_message("%d forms, %d random calls each\n", N_FORMS, ROUNDS);
}

/* Without a scaling, the rows are those of the angle engine. */
static void test_rows_are_those_of_angles_h(void **state) {
    (void)state;
    enum { DIM = 300, TOKENS = 50 };
    static float cosines[TOKENS * DIM / 2], sines[TOKENS * DIM / 2];
    int32_t positions[TOKENS];
    truth_random_positions(positions, 1, TOKENS);
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, DIM, DIM, 0);
    posenc_rope *rope = truth_rope_new(&params);
    posenc_freq *freq;
    truth_ok(posenc_freq_create(params.base, DIM, &freq));
    for (int tier = -1; truth_next_tier(&tier);)
        for (int f = 0; f < N_FORMS; f++) {
            memory m = new_memory(rope, (form)f, TOKENS);
            truth_ok(posenc_angle_rows(freq, positions, TOKENS, cosines, sines, DIM / 2));
            truth_ok(posenc_rope_table_fill(rope, positions, TOKENS, POSENC_FORWARD, &m.table));
            for (int64_t t = 0; t < TOKENS; t++)
                for (int64_t i = 0; i < DIM / 2; i++) {
                    truth_same_bits(cosine(&m.table, t, i), &cosines[t * DIM / 2 + i], 1, "cosine, form %d", f);
                    truth_same_bits(sine(&m.table, t, i), &sines[t * DIM / 2 + i], 1, "sine, form %d", f);
                }
            free_memory(&m);
        }
    posenc_freq_free(freq);
    posenc_rope_free(rope);
}

/* ---- A table of the caller's ---- */

/* Numbers that are no cosines: y is what rope.h says, fma for fma. */
static void check_import(const posenc_rope_params *params, form f) {
    posenc_rope *rope = truth_rope_new(params);
    int64_t ne[4] = {params->head_dim, 2, 1 + truth_below(6), 2};
    posenc_direction direction = truth_random_direction(params);
    int backwards = direction == POSENC_INVERSE || direction == POSENC_BACKWARD;
    truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne);
    memory m = new_memory(rope, f, ne[2]); /* random numbers */
    truth_ok(posenc_rope_apply_table(rope, &x.view, &m.table, &y.view, direction, posenc_range_all()));
    for (int64_t b = 0; b < ne[3]; b++)
        for (int64_t t = 0; t < ne[2]; t++)
            for (int64_t j = 0; j < ne[1]; j++)
                for (int64_t i = 0; i < params->n_rot / 2; i++) {
                    truth_pair from = truth_pair_read(params, i), to = truth_pair_written(params, i);
                    float x0 = truth_was(&x, from.first, j, t, b), x1 = truth_was(&x, from.second, j, t, b);
                    float c = *cosine(&m.table, t, i), s = backwards ? -*sine(&m.table, t, i) : *sine(&m.table, t, i);
                    float y0 = fmaf(x0, c, -(x1 * s)), y1 = fmaf(x1, c, x0 * s);
                    truth_same_bits(truth_at(&y.view, to.first, j, t, b), &y0, 1, "imported, pair %lld", (long long)i);
                    truth_same_bits(truth_at(&y.view, to.second, j, t, b), &y1, 1, "imported, pair %lld", (long long)i);
                }
    truth_tensor_free(&x);
    truth_tensor_free(&y);
    free_memory(&m);
    posenc_rope_free(rope);
}

static void test_imported_tables(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 20 * N_FORMS; round++) {
            posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE);
            check_import(&params, (form)(round % N_FORMS));
        }
}

/* If xPos' growth underflows, cosines and sines are zeros of either sign, the same on every tier. */
static void test_signs_of_zeros(void **state) {
    (void)state;
    enum { TOKENS = 400 };
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, 2, 2, 0);
    params.xpos = (posenc_xpos){POSENC_XPOS_QUERY, 0.4, 512.0, 0};
    posenc_rope *rope = truth_rope_new(&params);
    int32_t positions[TOKENS];
    for (int t = 0; t < TOKENS; t++)
        positions[t] = 400000 + t;
    float rows[TOKENS][2], first[TOKENS][2];
    for (int tier = -1; truth_next_tier(&tier);) {
        posenc_rope_table table = posenc_rope_table_dense(rope, rows[0]);
        truth_ok(posenc_rope_table_fill(rope, positions, TOKENS, POSENC_FORWARD, &table));
        if (tier == POSENC_ISA_SCALAR)
            memcpy(first, rows, sizeof rows);
        assert_memory_equal(rows, first, sizeof rows);
        for (int t = 0; t < TOKENS; t++)
            assert_true(rows[t][0] == 0.0f && rows[t][1] == 0.0f);
    }
    const float none[2] = {-0.0f, 0.0f}; /* of 400002, as IEEE arithmetic has it */
    assert_memory_equal(first[2], none, sizeof none);
    posenc_rope_free(rope);
}

/* Positions between integers (FORMULAS B.8) are a table of the caller's. Eighths are also what linear scaling makes of
 * integers. Cosines and sines differ by 1.5 roundings, the caller's by a half and ours by 1; each rotation adds 2. */
static void test_fractional_positions(void **state) {
    (void)state;
    enum { DIM = 40, TOKENS = 9 };
    static const int32_t eighths[TOKENS] = {0, 1, 4, -3, 15, 12345, -54321, 799999, (1 << 20) + 5};
    posenc_rope_params params = truth_rope_params(POSENC_ROPE_HALF, DIM, DIM, 0), scaled = params;
    scaled.scaling.type = POSENC_SCALING_LINEAR;
    scaled.scaling.factor = 8.0;
    posenc_rope *rope = truth_rope_new(&params), *interpolated = truth_rope_new(&scaled);
    int64_t ne[4] = {DIM, 2, TOKENS, 1};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int f = 0; f < N_FORMS; f++) {
            memory m = new_memory(rope, (form)f, TOKENS);
            for (int64_t t = 0; t < TOKENS; t++)
                for (int64_t i = 0; i < DIM / 2; i++) {
                    double angle = eighths[t] / 8.0 * posenc_rope_theta(rope, i);
                    *cosine(&m.table, t, i) = (float)cos(angle);
                    *sine(&m.table, t, i) = (float)sin(angle);
                }
            truth_tensor x = truth_tensor_random(ne), y = truth_tensor_random(ne), z = truth_tensor_random(ne);
            truth_ok(posenc_rope_apply_table(rope, &x.view, &m.table, &y.view, POSENC_FORWARD, posenc_range_all()));
            truth_ok(posenc_rope_apply(interpolated, &x.view, eighths, &z.view, POSENC_FORWARD, posenc_range_all()));
            TRUTH_EACH(&y.view, c, h, t, b) {
                float own = *truth_at(&x.view, c, h, t, b), other = *truth_at(&x.view, (c + DIM / 2) % DIM, h, t, b);
                truth_close((double)*truth_at(&y.view, c, h, t, b), (double)*truth_at(&z.view, c, h, t, b),
                            5.5 * TRUTH_U * TRUTH_SECOND_ORDER * (fabs((double)own) + fabs((double)other)),
                            "position %g, channel %lld", eighths[t] / 8.0, (long long)c);
            }
            truth_tensor_free(&x);
            truth_tensor_free(&y);
            truth_tensor_free(&z);
            free_memory(&m);
        }
    posenc_rope_free(rope);
    posenc_rope_free(interpolated);
}

/* ---- Arrays of positions ---- */

static void test_positions_range(void **state) {
    (void)state;
    static const struct {
        int32_t start;
        int64_t n;
    } rows[] = {{0, 0}, {0, 1}, {-3, 7}, {INT32_MAX, 1}, {INT32_MAX - 4, 5}, {INT32_MIN, 9}, {1000000, 100}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        int32_t positions[102];
        memset(positions, 0x5a, sizeof positions);
        truth_ok(posenc_positions_range(rows[k].start, rows[k].n, positions + 1));
        for (int64_t t = 0; t < rows[k].n; t++)
            assert_int_equal(positions[t + 1], (int64_t)rows[k].start + t);
        assert_int_equal(positions[0], 0x5a5a5a5a);
        assert_int_equal(positions[rows[k].n + 1], 0x5a5a5a5a);
    }
}

static void test_positions_packed(void **state) {
    (void)state;
    enum { MOST = 12 };
    for (int round = 0; round < 300; round++) {
        int32_t cu_seqlens[MOST + 1] = {0}, starts[MOST], positions[MOST * 9 + 2];
        int64_t n = truth_below(MOST + 1);
        for (int64_t s = 0; s < n; s++) {
            int32_t length = (int32_t)truth_below(9); /* 0 too */
            cu_seqlens[s + 1] = cu_seqlens[s] + length;
            starts[s] = truth_below(4) ? truth_position() / 2 : INT32_MAX - length + (length > 0);
        }
        int with_starts = (int)truth_below(2);
        memset(positions, 0x5a, sizeof positions);
        truth_ok(posenc_positions_packed(cu_seqlens, with_starts ? starts : NULL, n, positions + 1));
        for (int64_t s = 0; s < n; s++)
            for (int32_t t = cu_seqlens[s]; t < cu_seqlens[s + 1]; t++)
                assert_int_equal(positions[t + 1], (int64_t)(with_starts ? starts[s] : 0) + (t - cu_seqlens[s]));
        assert_int_equal(positions[0], 0x5a5a5a5a);
        assert_int_equal(positions[cu_seqlens[n] + 1], 0x5a5a5a5a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_tables),           truth_test(test_rows_are_those_of_angles_h),
        truth_test(test_imported_tables),  truth_test(test_fractional_positions),
        truth_test(test_signs_of_zeros),   truth_test(test_positions_range),
        truth_test(test_positions_packed),
    };
    return truth_run(tests);
}
