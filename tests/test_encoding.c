/* SPDX-License-Identifier: MIT */
/* Destinations of rows, the same for every encoding: written, added, gated, in every type, in and out of place, in
 * ranges of rows, into views of any strides; and what coordinates may be. test_absolute.c checks their numbers. */
#include "truth.h"
#include "truth_half.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>

enum { N_KINDS = 16, MAX_TOKENS = 150, N_TABLE = 400, TABLE_DIM = 300 };

/* ---- One of each kind ---- */

static float table_memory[N_TABLE * TABLE_DIM];
static uint16_t half_memory[N_TABLE * TABLE_DIM];

static posenc_encoding *learned(posenc_dtype type, int64_t dim, posenc_lookup lookup) {
    void *memory = type == POSENC_F32 ? (void *)table_memory : (void *)half_memory;
    posenc_view table = posenc_view_dense(memory, type, dim, N_TABLE, 1, 1);
    posenc_encoding *e;
    truth_ok(posenc_learned_create(&table, &lookup, &e));
    return e;
}

static posenc_encoding *sinusoid(posenc_sinusoidal_layout layout, int64_t dim) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = layout;
    params.schedule = POSENC_SCHEDULE_HALF;
    params.dim = dim;
    posenc_encoding *e;
    truth_ok(posenc_sinusoidal_create(&params, &e));
    return e;
}

static posenc_encoding *joined(posenc_part *parts, int64_t n, int is_sum) {
    posenc_encoding *e;
    truth_ok((is_sum ? posenc_encoding_sum : posenc_encoding_concat)(parts, n, &e));
    for (int64_t p = 0; p < n; p++)
        posenc_encoding_free((posenc_encoding *)(uintptr_t)parts[p].encoding);
    return e;
}

/* Deviations from one so small that all sines are next to 0, which f16 holds as denormals, to the largest. */
static posenc_encoding *fourier(int64_t n_features, int n_coords) {
    posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
    params.n_features = n_features;
    params.n_coords = n_coords;
    params.seed = 7;
    static const double sigmas[] = {0x1p-28, 4096.0, 1.0, 10.0, 0x1p-16}; /* the dims below take them all */
    params.sigma = sigmas[n_features % 5];
    posenc_encoding *e;
    truth_ok(posenc_fourier_create(&params, &e));
    return e;
}

/* Table ids are 0 .. N_TABLE-1 in these tests, and a few beyond for those with ZERO. */
static posenc_encoding *encoding_of(int kind, int64_t dim) {
    const posenc_lookup strict = POSENC_LOOKUP_DEFAULTS, zero = {-5, 0.3f, POSENC_OUT_OF_RANGE_ZERO},
                        clamp = {7, -1.5f, POSENC_OUT_OF_RANGE_CLAMP};
    double centres[TABLE_DIM];
    posenc_encoding *e = NULL;
    switch (kind) {
    case 0: return sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, dim);
    case 1: return sinusoid(POSENC_SINUSOIDAL_CONCAT, dim);
    case 2: return sinusoid(POSENC_SINUSOIDAL_COMPLEX, 2 * ((dim + 1) / 2));
    case 3: return sinusoid(POSENC_SINUSOIDAL_CONCAT_COS, dim);
    case 4: return learned(POSENC_F32, dim, strict);
    case 5: return learned(POSENC_BF16, dim, zero);
    case 6: return learned(POSENC_F16, dim, clamp);
    case 7: truth_ok(posenc_integer_create(dim, 100, 1.5, &e)); return e;
    case 8: truth_ok(posenc_bits_create(dim, POSENC_BITS_GRAY, -1.0f, 1.0f, &e)); return e;
    case 9:
        for (int64_t i = 0; i < dim; i++)
            centres[i] = 1.7 * (double)i;
        truth_ok(posenc_rbf_create(centres, dim, 30.0, &e));
        return e;
    case 10: return fourier((dim + 1) / 2, 1);
    case 11: return fourier((dim + 1) / 2, 3);
    case 12: { /* hybrid, with zeros between */
        posenc_part parts[] = {{.encoding = sinusoid(POSENC_SINUSOIDAL_CONCAT, dim)},
                               {.encoding = NULL, .width = 3},
                               {.encoding = learned(POSENC_F16, dim, zero)}};
        return joined(parts, 3, 0);
    }
    case 13: { /* trainable sinusoid: sums of fields of different widths */
        posenc_part parts[] = {{.encoding = sinusoid(POSENC_SINUSOIDAL_CONCAT, dim)},
                               {.encoding = learned(POSENC_F32, dim, zero)}};
        return joined(parts, 2, 1);
    }
    case 14: { /* block-wise, of two layouts that do not fit each other */
        posenc_part parts[] = {{.encoding = sinusoid(POSENC_SINUSOIDAL_CONCAT_COS, dim), .divide = 16},
                               {.encoding = sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, dim), .modulo = 16},
                               {.encoding = learned(POSENC_BF16, dim, clamp), .divide = 3, .modulo = 11}};
        return joined(parts, 3, 1);
    }
    default:
        truth_ok(posenc_grid_create(dim % 2 ? POSENC_GRID_TIMM : POSENC_GRID_VOLUME, (dim / 16 + 1) * 16, 0, 1e4, &e));
        return e;
    }
}

/* ---- Calls on one encoding ---- */

static int64_t table_positions(int32_t *positions, int64_t n) {
    int64_t p = truth_below(N_TABLE);
    for (int64_t t = 0; t < n; t++) {
        positions[t] = (int32_t)p;
        p = truth_below(4) == 0 || p + 1 == N_TABLE ? truth_below(N_TABLE) : p + 1;
    }
    return n;
}

typedef struct setting {
    posenc_encoding *e;
    int32_t positions[3 * MAX_TOKENS * 2];
    posenc_coords at;
    int64_t dim, n_tokens, n_batch;
} setting;

/* Coordinates shared by the batch, or of each its own; planes dense or apart. */
static void begin(setting *s, int kind, int64_t dim, int64_t n_tokens, int64_t n_batch) {
    s->e = encoding_of(kind, dim);
    s->dim = posenc_encoding_dim(s->e);
    s->n_tokens = n_tokens;
    s->n_batch = n_batch;
    int n_axes = posenc_encoding_axis_count(s->e);
    table_positions(s->positions, n_axes * n_tokens * n_batch);
    s->at = posenc_coords_of(s->positions, POSENC_COORD_I32);
    if (truth_below(2) == 0) {
        s->at.batch_stride = n_axes * n_tokens;
        s->at.axis_stride = n_tokens;
    }
}

/* E itself, in float32, from one call for each token. */
static truth_tensor expected_rows(const setting *s) {
    truth_tensor rows = truth_tensor_dense(s->dim, s->n_tokens, s->n_batch, 1);
    for (int64_t b = 0; b < s->n_batch; b++)
        for (int64_t t = 0; t < s->n_tokens; t++) {
            int32_t own[3];
            int64_t axis_stride = s->at.axis_stride == 0 ? s->n_tokens : s->at.axis_stride;
            for (int axis = 0; axis < posenc_encoding_axis_count(s->e); axis++)
                own[axis] = s->positions[b * s->at.batch_stride + axis * axis_stride + t];
            posenc_view row = posenc_view_dense(truth_at(&rows.view, 0, t, b, 0), POSENC_F32, s->dim, 1, 1, 1);
            truth_ok(posenc_encoding_write(s->e, own, &row));
        }
    return rows;
}

/* x + gate * E in float32. Rows and columns that are 0 by definition are told by their E, which is 0
 * there: then x is left as it is, which a sum with 0 does too, but for -0 and NaN, which these tests do not feed. */
static float wanted(const truth_tensor *rows, const posenc_view *gate, float x, int64_t i, int64_t t, int64_t b,
                    int has_x) {
    float value = *truth_at(&rows->view, i, t, b, 0);
    if (gate != NULL)
        value *= *truth_at(gate, gate->ne[0] == 1 ? 0 : i, t, b, 0);
    return has_x ? x + value : value;
}

typedef enum addend { NOTHING, IN_PLACE, APART } addend;

/* One call, or two for parts of the rows. */
static void apply(const setting *s, const posenc_view *x, const posenc_view *gate, const posenc_view *y) {
    int64_t n_rows = s->n_tokens * s->n_batch, cut = truth_below(n_rows + 1);
    if (truth_below(2) == 0) {
        truth_ok(posenc_encoding_apply(s->e, &s->at, x, gate, y, posenc_range_all()));
        return;
    }
    truth_ok(posenc_encoding_apply(s->e, &s->at, x, gate, y, (posenc_range){cut, n_rows}));
    truth_ok(posenc_encoding_apply(s->e, &s->at, x, gate, y, (posenc_range){0, cut}));
}

static void check_destination(const setting *s, const truth_tensor *rows, posenc_dtype type, addend from, int gating) {
    int64_t ne[4] = {s->dim, s->n_tokens, s->n_batch, 1}, gate_ne[4] = {gating == 1 ? 1 : s->dim, ne[1], ne[2], 1};
    truth_tensor y = truth_tensor_random_of(type, ne), x = truth_tensor_random_of(type, ne);
    truth_tensor gate = truth_tensor_random(gate_ne), want = truth_tensor_dense(ne[0], ne[1], ne[2], 1);
    TRUTH_EACH(&gate.view, i, t, b, l) /* positive: a column that is 0 by definition must not become -0 here */
    *truth_at(&gate.view, i, t, b, l) = fabsf(*truth_at(&gate.view, i, t, b, l));
    truth_mark(&gate);
    const posenc_view *g = gating == 0 ? NULL : &gate.view, *added = from == APART ? &x.view : &y.view;
    TRUTH_EACH(&y.view, i, t, b, l)
    *truth_at(&want.view, i, t, b, l) = wanted(rows, g, truth_get(added, i, t, b, l), i, t, b, from != NOTHING);
    apply(s, from == NOTHING ? NULL : added, g, &y.view);
    truth_rounded_views(&y.view, &want.view, "placed");
    truth_nothing_else_changed(&y, 0, ne[0], "placed");
    truth_nothing_changed(&x, "x");
    truth_nothing_changed(&gate, "gate");
    truth_tensor_free(&y);
    truth_tensor_free(&x);
    truth_tensor_free(&gate);
    truth_tensor_free(&want);
}

static void check_kind(int kind, int64_t dim, int64_t n_tokens, int64_t n_batch) {
    setting s;
    begin(&s, kind, dim, n_tokens, n_batch);
    truth_tensor first = truth_tensor_dense(1, 1, 1, 1);
    for (int tier = -1, n = 0; truth_next_tier(&tier); n++) {
        truth_tensor rows = expected_rows(&s);
        if (n == 0) {
            truth_tensor_free(&first);
            first = truth_tensor_dense(s.dim, n_tokens, n_batch, 1);
            truth_copy(&rows.view, &first.view);
        }
        truth_same_views(&rows.view, &first.view, "tiers differ");
        for (int type = POSENC_F32; type <= POSENC_BF16; type++)
            for (int from = NOTHING; from <= APART; from++)
                check_destination(&s, &rows, (posenc_dtype)type, (addend)from, (int)truth_below(3));
        truth_tensor_free(&rows);
    }
    truth_tensor_free(&first);
    posenc_encoding_free(s.e);
}

static int set_up(void **state) {
    truth_reseed(state);
    truth_fill(table_memory, N_TABLE * TABLE_DIM);
    for (size_t i = 0; i < N_TABLE * TABLE_DIM; i++) /* finite in both types */
        half_memory[i] = (uint16_t)(truth_below(0x3c00) | (truth_below(2) << 15));
    return 0;
}

static void test_every_destination(void **state) {
    (void)state;
    static const int64_t dims[] = {1, 2, 7, 31, 64, 65, 130, 258};
    for (int kind = 0; kind < N_KINDS; kind++)
        for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++)
            check_kind(kind, dims[d], 1 + truth_below(dims[d] > 64 ? 140 : 30), 1 + truth_below(2));
}

/* ---- Coordinates ---- */

/* Integers of every type, and real numbers that are integers, give the same bits. */
static void test_types_of_coordinates(void **state) {
    (void)state;
    enum { N = 40 };
    int32_t i32[3 * N];
    int64_t i64[3 * N];
    float f32[3 * N];
    double f64[3 * N];
    const void *arrays[] = {i32, i64, f32, f64};
    for (int kind = 0; kind < N_KINDS; kind++) {
        posenc_encoding *e = encoding_of(kind, 130);
        int64_t dim = posenc_encoding_dim(e), n_refused = 0;
        table_positions(i32, 3 * N);
        for (int i = 0; i < 3 * N; i++) {
            i64[i] = i32[i];
            f32[i] = (float)i32[i];
            f64[i] = i32[i];
        }
        truth_tensor want = truth_tensor_dense(dim, N, 1, 1);
        truth_ok(posenc_encoding_write(e, i32, &want.view));
        for (int type = POSENC_COORD_I64; type <= POSENC_COORD_F64; type++) {
            truth_tensor got = truth_tensor_dense(dim, N, 1, 1);
            posenc_coords at = posenc_coords_of(arrays[type], (posenc_coord_type)type);
            posenc_status status = posenc_encoding_apply(e, &at, NULL, NULL, &got.view, posenc_range_all());
            if (status == POSENC_ERR_DTYPE && type != POSENC_COORD_I64) {
                truth_nothing_changed(&got, "refused");
                n_refused++;
            } else {
                truth_ok(status);
                truth_same_views(&got.view, &want.view, "types of coordinates");
            }
            truth_tensor_free(&got);
        }
        int is_table = (kind >= 4 && kind <= 6) || kind == 8 || (kind >= 12 && kind <= 14);
        assert_int_equal(n_refused, is_table ? 2 : 0);
        truth_tensor_free(&want);
        posenc_encoding_free(e);
    }
}

/* Sines and cosines half a row apart, at positions between integers, in more columns than are made at once: columns
 * behind a part belong to the next. In f16 they are made beside each other, in place of float32 far apart. */
static void test_parts_of_real_rows(void **state) {
    (void)state;
    enum { N = 50 };
    double at[N];
    for (int64_t dim = 240; dim <= 400; dim += 16) {
        posenc_encoding *e;
        truth_ok(posenc_timestep_create(dim, 0, 0.0, 1.0, 10000.0, &e));
        for (int t = 0; t < N; t++)
            at[t] = truth_uniform(-1000.0, 1000.0);
        posenc_coords coords = posenc_coords_of(at, POSENC_COORD_F64);
        int64_t ne[4] = {dim, N, 1, 1};
        truth_tensor whole = truth_tensor_dense(dim, N, 1, 1), rounded = truth_tensor_random_of(POSENC_F16, ne),
                     want = truth_tensor_random_of(POSENC_F16, ne);
        truth_ok(posenc_encoding_apply(e, &coords, NULL, NULL, &whole.view, posenc_range_all()));
        truth_ok(posenc_encoding_apply(e, &coords, NULL, NULL, &rounded.view, posenc_range_all()));
        truth_convert(&whole.view, &want.view);
        truth_same_views(&rounded.view, &want.view, "rows in parts");
        truth_tensor_free(&whole);
        truth_tensor_free(&rounded);
        truth_tensor_free(&want);
        posenc_encoding_free(e);
    }
}

/* 2^31 is a real position that no int32 is, and -2^31 is one: the same cosines, and sines of the other sign. */
static void test_ends_of_real_positions(void **state) {
    (void)state;
    enum { DIM = 40 };
    const double ends[2] = {0x1p31, -0x1p31};
    posenc_coords at = posenc_coords_of(ends, POSENC_COORD_F64);
    posenc_encoding *e = sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, DIM);
    for (int tier = -1; truth_next_tier(&tier);) {
        float y[2][DIM];
        posenc_view view = posenc_view_dense(y, POSENC_F32, DIM, 2, 1, 1);
        truth_ok(posenc_encoding_apply(e, &at, NULL, NULL, &view, posenc_range_all()));
        for (int i = 0; i < DIM; i += 2) {
            truth_close((double)y[0][i], -(double)y[1][i], 1e-6, "sine %d", i);
            truth_close((double)y[0][i + 1], (double)y[1][i + 1], 1e-6, "cosine %d", i);
        }
    }
    posenc_encoding_free(e);
}

/* The first row that is to blame, whatever term refuses it, and nothing written. */
static void test_refused_rows(void **state) {
    (void)state;
    enum { N = 300, BATCH = 2 };
    static int64_t ids[2 * N * BATCH];
    posenc_part parts[] = {
        {.encoding = learned(POSENC_F32, 8, (posenc_lookup){2, 1.0f, POSENC_OUT_OF_RANGE_ERROR})},
        {.encoding = learned(POSENC_F32, 8, (posenc_lookup){0, 1.0f, POSENC_OUT_OF_RANGE_ERROR}), .axis = 1}};
    posenc_encoding *e = joined(parts, 2, 1);
    truth_tensor y = truth_tensor_dense(8, N, BATCH, 1);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 2 * N * BATCH; i++)
            ids[i] = truth_below(N_TABLE - 2);
        int64_t b = truth_below(BATCH), t = truth_below(N), axis = truth_below(2), later = truth_below(N - t);
        if (round == 0) /* the first row of all, refused by the first term */
            b = t = axis = 0, later = 5;
        int64_t bad[] = {axis == 0 ? -3 : -1, axis == 0 ? N_TABLE - 2 : N_TABLE, INT64_MAX, INT64_MIN};
        ids[(b * 2 + axis) * N + t] = bad[truth_below(4)];
        ids[(b * 2 + (1 - axis)) * N + t + later] = bad[2 + truth_below(2)];
        posenc_coords at = {ids, POSENC_COORD_I64, 0, 2 * N};
        int64_t row;
        assert_int_equal(posenc_encoding_check(e, &at, N, BATCH, &row), POSENC_ERR_POSITION);
        assert_int_equal(row, b * N + t);
        assert_int_equal(posenc_encoding_apply(e, &at, &y.view, NULL, &y.view, (posenc_range){0, 0}),
                         POSENC_ERR_POSITION);
        assert_int_equal(posenc_encoding_apply(e, &at, NULL, NULL, &y.view, posenc_range_all()), POSENC_ERR_POSITION);
        truth_nothing_changed(&y, "refused");
    }
    truth_tensor_free(&y);
    posenc_encoding_free(e);

    e = fourier(2, 2);                        /* one term of two axes */
    for (int first = 0; first < 2; first++) { /* the axis that refuses first */
        float points[2][4] = {{0.0f}};
        points[first][1] = points[!first][3] = INFINITY;
        posenc_coords at = posenc_coords_of(points, POSENC_COORD_F32);
        int64_t row;
        assert_int_equal(posenc_encoding_check(e, &at, 4, 1, &row), POSENC_ERR_POSITION);
        assert_int_equal(row, 1);
    }
    posenc_part types[] = {{.encoding = e}, {.encoding = learned(POSENC_F32, 4, (posenc_lookup){0, 1.0f, 0})}};
    e = joined(types, 2, 1);
    const float points[2][4] = {{INFINITY}, {0.0f}}; /* refused by one term, and their type by the other: no row's */
    posenc_coords at = posenc_coords_of(points, POSENC_COORD_F32);
    int64_t row;
    assert_int_equal(posenc_encoding_check(e, &at, 4, 1, &row), POSENC_ERR_DTYPE);
    assert_int_equal(row, -1);
    posenc_encoding_free(e);
}

/* The nearest row, though id and offset together leave int64; none of a table that has no rows. */
static void test_clamped(void **state) {
    (void)state;
    const int64_t limit = (int64_t)1 << 62, ids[4] = {INT64_MIN, INT64_MAX, 0, limit}, offsets[2] = {-limit, limit};
    const int rows[2][4] = {{0, N_TABLE - 1, 0, 0}, {0, N_TABLE - 1, N_TABLE - 1, N_TABLE - 1}};
    posenc_coords at = posenc_coords_of(ids, POSENC_COORD_I64);
    for (int k = 0; k < 2; k++) {
        float y[4];
        posenc_view view = posenc_view_dense(y, POSENC_F32, 1, 4, 1, 1);
        posenc_encoding *e = learned(POSENC_F32, 1, (posenc_lookup){offsets[k], 1.0f, POSENC_OUT_OF_RANGE_CLAMP}),
                        *none;
        truth_ok(posenc_encoding_apply(e, &at, NULL, NULL, &view, posenc_range_all()));
        for (int t = 0; t < 4; t++)
            assert_true(y[t] == table_memory[rows[k][t]]);
        posenc_encoding_free(e);

        posenc_view table = posenc_view_dense(NULL, POSENC_F32, 1, 0, 1, 1);
        truth_ok(posenc_learned_create(&table, &(posenc_lookup){offsets[k], 1.0f, POSENC_OUT_OF_RANGE_CLAMP}, &none));
        int64_t row;
        assert_int_equal(posenc_encoding_check(none, &at, 4, 1, &row), POSENC_ERR_POSITION);
        assert_int_equal(row, 0);
        posenc_encoding_free(none);
    }
}

/* A modulo beyond 2^31 makes of a negative int32 what no position can be: it was taken in int32, refused in int64. */
static void test_large_modulo(void **state) {
    (void)state;
    const int32_t id = -1;
    const int64_t wide = -1;
    const float real = 1.0f; /* of which there are no remainders */
    float y[8];
    posenc_view view = posenc_view_dense(y, POSENC_F32, 8, 1, 1, 1);
    posenc_coords narrow_at = posenc_coords_of(&id, POSENC_COORD_I32),
                  wide_at = posenc_coords_of(&wide, POSENC_COORD_I64),
                  real_at = posenc_coords_of(&real, POSENC_COORD_F32);
    for (int shift = 30; shift <= 40; shift++) {
        posenc_part part = {.encoding = sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, 8), .modulo = (int64_t)1 << shift};
        posenc_encoding *e = joined(&part, 1, 0);
        posenc_status want = shift <= 31 ? POSENC_OK : POSENC_ERR_POSITION;
        assert_int_equal(posenc_encoding_apply(e, &narrow_at, NULL, NULL, &view, posenc_range_all()), want);
        assert_int_equal(posenc_encoding_apply(e, &wide_at, NULL, NULL, &view, posenc_range_all()), want);
        assert_int_equal(posenc_encoding_apply(e, &real_at, NULL, NULL, &view, posenc_range_all()), POSENC_ERR_DTYPE);
        posenc_encoding_free(e);
    }
}

/* The most fields that an encoding may have, each the sum of the most terms. */
static void test_most_fields(void **state) {
    (void)state;
    enum { FIELDS = 32, WIDTH = 2, DIM = FIELDS * WIDTH };
    float row[DIM], want[DIM] = {0.0f};
    posenc_view y = posenc_view_dense(row, POSENC_F32, DIM, 1, 1, 1);
    const int32_t position = 3;
    posenc_part terms[POSENC_MAX_PARTS] = {{.first = 0}};
    for (int k = 0; k < POSENC_MAX_PARTS; k++) {
        posenc_part wide[FIELDS / POSENC_MAX_PARTS] = {{.first = 0}};
        for (int f = 0; f < FIELDS / POSENC_MAX_PARTS; f++) {
            posenc_part fields[POSENC_MAX_PARTS] = {{.first = 0}};
            for (int i = 0; i < POSENC_MAX_PARTS; i++)
                fields[i].encoding = learned(POSENC_F32, WIDTH, (posenc_lookup){k, 1.0f, POSENC_OUT_OF_RANGE_ERROR});
            wide[f].encoding = joined(fields, POSENC_MAX_PARTS, 0);
        }
        terms[k].encoding = joined(wide, FIELDS / POSENC_MAX_PARTS, 0);
        for (int c = 0; c < DIM; c++)
            want[c] += table_memory[(position + k) * WIDTH + c % WIDTH];
    }
    posenc_encoding *e = joined(terms, POSENC_MAX_PARTS, 1);
    assert_int_equal(posenc_encoding_dim(e), DIM);
    truth_ok(posenc_encoding_write(e, &position, &y));
    truth_same_bits(row, want, DIM, "32 fields of 8 terms");
    posenc_encoding_free(e);
}

/* Channels that are 0 by definition leave even -0 and NaN alone, gated or not. */
static void test_zeros_leave_alone(void **state) {
    (void)state;
    posenc_encoding *odd = sinusoid(POSENC_SINUSOIDAL_CONCAT, 9);
    posenc_encoding *zero = learned(POSENC_F32, 9, (posenc_lookup){0, 1.0f, POSENC_OUT_OF_RANGE_ZERO});
    const int32_t positions[2] = {-1, N_TABLE};
    float gates[2] = {NAN, INFINITY};
    posenc_view gate = posenc_view_dense(gates, POSENC_F32, 1, 2, 1, 1);
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32);
    for (int tier = -1; truth_next_tier(&tier);)
        for (int which = 0; which < 2; which++)
            for (int apart = 0; apart < 2; apart++) {
                truth_tensor y = truth_tensor_dense(9, 2, 1, 1), x = truth_tensor_dense(9, 2, 1, 1);
                const posenc_view *from = apart ? &x.view : &y.view;
                for (int t = 0; t < 2; t++) {
                    *truth_at(from, 8, t, 0, 0) = -0.0f;
                    *truth_at(from, 2, t, 0, 0) = which == 1 ? -0.0f : 1.0f;
                }
                truth_ok(posenc_encoding_apply(which ? zero : odd, &at, from, which ? &gate : NULL, &y.view,
                                               posenc_range_all()));
                for (int t = 0; t < 2; t++) {
                    assert_true(signbit(*truth_at(&y.view, 8, t, 0, 0)));
                    assert_true(which == 0 || signbit(*truth_at(&y.view, 2, t, 0, 0)));
                }
                truth_tensor_free(&y);
                truth_tensor_free(&x);
            }
    posenc_encoding_free(odd);
    posenc_encoding_free(zero);
}

/* Parts of parts: columns 5 .. 14 of a hybrid are those columns; blocks of blocks are refused. */
static void test_parts_of_parts(void **state) {
    (void)state;
    int32_t positions[20];
    posenc_encoding *hybrid = encoding_of(12, 10), *slice, *nested;
    posenc_part part = {.encoding = hybrid, .first = 5, .width = 10}, block = {.divide = 2};
    table_positions(positions, 20);
    truth_ok(posenc_encoding_concat(&part, 1, &slice));
    truth_tensor whole = truth_tensor_dense(23, 20, 1, 1), cut = truth_tensor_dense(10, 20, 1, 1);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_encoding_write(hybrid, positions, &whole.view));
        truth_ok(posenc_encoding_write(slice, positions, &cut.view));
        posenc_view inner = whole.view;
        inner.data = truth_at(&whole.view, 5, 0, 0, 0);
        inner.ne[0] = 10;
        truth_same_views(&cut.view, &inner, "columns of a hybrid");
    }
    block.encoding = slice;
    truth_ok(posenc_encoding_concat(&block, 1, &nested));
    block.encoding = nested;
    posenc_encoding *never;
    assert_int_equal(posenc_encoding_concat(&block, 1, &never), POSENC_ERR_SECTIONS);
    assert_null(never);
    posenc_encoding *plane = fourier(5, 2), *sum; /* as many axes as the part that reaches furthest */
    posenc_part parts[2] = {{.encoding = slice}, {.encoding = plane}};
    for (int axis = 0; axis < 2; axis++) {
        parts[0].axis = 3 * axis;
        truth_ok(posenc_encoding_sum(parts, 2, &sum));
        assert_int_equal(posenc_encoding_axis_count(sum), axis ? 4 : 2);
        posenc_encoding_free(sum);
    }
    posenc_encoding_free(plane);
    posenc_encoding_free(hybrid);
    posenc_encoding_free(nested);
    posenc_encoding_free(slice);
    truth_tensor_free(&whole);
    truth_tensor_free(&cut);
}

/* A part may begin with any column, the second of a pair too. */
static void test_every_first_column(void **state) {
    (void)state;
    enum { DIM = 70 };
    static const posenc_sinusoidal_layout layouts[] = {POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SINUSOIDAL_COMPLEX,
                                                       POSENC_SINUSOIDAL_CONCAT};
    const int32_t positions[3] = {-7, 100000, 100001};
    for (int k = 0; k < 4; k++) {
        posenc_encoding *e = k < 3 ? sinusoid(layouts[k], DIM) : fourier(DIM / 2, 1), *rest;
        truth_tensor whole = truth_tensor_dense(DIM, 3, 1, 1), got = truth_tensor_dense(DIM, 3, 1, 1);
        truth_ok(posenc_encoding_write(e, positions, &whole.view));
        for (int64_t first = 0; first < DIM; first++) {
            posenc_part part = {.encoding = e, .first = first};
            posenc_view want = whole.view, y = got.view;
            want.ne[0] = y.ne[0] = DIM - first;
            want.data = truth_at(&whole.view, first, 0, 0, 0);
            truth_ok(posenc_encoding_concat(&part, 1, &rest));
            truth_ok(posenc_encoding_write(rest, positions, &y));
            truth_same_views(&y, &want, "columns from one on");
            posenc_encoding_free(rest);
        }
        truth_tensor_free(&whole);
        truth_tensor_free(&got);
        posenc_encoding_free(e);
    }
}

/* Quotients go down and remainders are not negative, on both sides of 0. */
static void test_quotients(void **state) {
    (void)state;
    enum { DIM = 6, FIRST = -40, N = 80, BLOCK = 7 };
    posenc_encoding *plain = sinusoid(POSENC_SINUSOIDAL_INTERLEAVED, DIM), *blocks;
    posenc_part parts[] = {{.encoding = plain, .divide = BLOCK}, {.encoding = plain, .modulo = BLOCK}};
    int32_t positions[N], quotients[N], remainders[N];
    truth_ok(posenc_encoding_concat(parts, 2, &blocks));
    for (int t = 0; t < N; t++) {
        positions[t] = FIRST + t;
        quotients[t] = (int32_t)floor((double)(FIRST + t) / BLOCK);
        remainders[t] = positions[t] - BLOCK * quotients[t];
    }
    truth_tensor got = truth_tensor_dense(2 * DIM, N, 1, 1), want = truth_tensor_dense(2 * DIM, N, 1, 1);
    posenc_view left = want.view, right = want.view;
    left.ne[0] = right.ne[0] = DIM;
    right.data = truth_at(&want.view, DIM, 0, 0, 0);
    truth_ok(posenc_encoding_write(blocks, positions, &got.view));
    truth_ok(posenc_encoding_write(plain, quotients, &left));
    truth_ok(posenc_encoding_write(plain, remainders, &right));
    truth_same_views(&got.view, &want.view, "quotients and remainders");
    truth_tensor_free(&got);
    truth_tensor_free(&want);
    posenc_encoding_free(plain);
    posenc_encoding_free(blocks);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup(function, set_up)
    const struct CMUnitTest tests[] = {
        TEST(test_every_destination), TEST(test_types_of_coordinates), TEST(test_refused_rows),
        TEST(test_zeros_leave_alone), TEST(test_parts_of_parts),       TEST(test_quotients),
        TEST(test_most_fields),       truth_test(test_large_modulo),   TEST(test_parts_of_real_rows),
        TEST(test_clamped),           TEST(test_every_first_column),   TEST(test_ends_of_real_positions),
    };
    return truth_run(tests);
}
