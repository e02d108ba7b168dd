/* SPDX-License-Identifier: MIT */
/* Absolute encodings: every parameter of every call, bad. */
#include "truth_errors.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/for_python.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- apply, write, add, check ---- */

void test_encoding_apply(void **state) {
    (void)state;
    posenc_view y = posenc_view_dense(out, POSENC_F32, DIM, TOKENS, BATCH, 1), half, gate, four = dense(out);
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32), bad = at;
    posenc_range all = posenc_range_all();
    RETURNS(POSENC_ERR_NULL, posenc_encoding_apply, NULL, &at, NULL, NULL, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_apply, pe, NULL, NULL, NULL, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_apply, pe, &at, NULL, NULL, NULL, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_apply, pe, &at, NULL, NULL, &four, all);
    half = posenc_view_dense(in, POSENC_F16, DIM, TOKENS, BATCH, 1);
    RETURNS(POSENC_ERR_DTYPE, posenc_encoding_apply, pe, &at, &half, NULL, &y, all);

    /* Gates */
    for (int width = 0; width <= DIM + 1; width++) {
        gate = posenc_view_dense(in, POSENC_F32, width, TOKENS, BATCH, 1);
        posenc_status want = width == 1 || width == DIM ? POSENC_OK : POSENC_ERR_SHAPE;
        RETURNS(want, posenc_encoding_apply, pe, &at, NULL, &gate, &y, (posenc_range){0, 0});
    }
    gate = posenc_view_dense(in, POSENC_F16, 1, TOKENS, BATCH, 1);
    RETURNS(POSENC_ERR_DTYPE, posenc_encoding_apply, pe, &at, NULL, &gate, &y, all);
    gate = posenc_view_dense(in, POSENC_F32, 1, TOKENS - 1, BATCH, 1);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_apply, pe, &at, NULL, &gate, &y, all);
    gate = posenc_view_dense(out + 3, POSENC_F32, 1, TOKENS, BATCH, 1);
    RETURNS(POSENC_ERR_OVERLAP, posenc_encoding_apply, pe, &at, NULL, &gate, &y, all);
    gate.data = NULL;
    RETURNS(POSENC_ERR_NULL, posenc_encoding_apply, pe, &at, NULL, &gate, &y, all);
    gate = posenc_view_dense(shifted(in, 2), POSENC_F32, 1, TOKENS, BATCH, 1);
    RETURNS(POSENC_ERR_STRIDE, posenc_encoding_apply, pe, &at, NULL, &gate, &y, all);

    /* Coordinates */
    bad.data = NULL;
    RETURNS(POSENC_ERR_NULL, posenc_encoding_apply, pe, &bad, NULL, NULL, &y, all);
    bad.data = shifted(positions, 2);
    RETURNS(POSENC_ERR_STRIDE, posenc_encoding_apply, pe, &bad, NULL, NULL, &y, all);
    bad = at;
    for (int type = -1; type <= 4; type += 5) {
        bad.type = (posenc_coord_type)type;
        RETURNS(POSENC_ERR_ENUM, posenc_encoding_apply, pe, &bad, NULL, NULL, &y, all);
    }
    static const int64_t far[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 46, -((int64_t)1 << 46)};
    for (size_t i = 0; i < COUNT(far); i++) {
        bad = at;
        bad.batch_stride = far[i];
        RETURNS(POSENC_ERR_STRIDE, posenc_encoding_apply, pe, &bad, NULL, NULL, &y, all);
    }
    static const double wild[] = {NAN, INFINITY, -INFINITY, 0x1.00001p31, -1e300};
    for (size_t i = 0; i < COUNT(wild); i++) {
        double reals[TOKENS] = {0.5, 1.5, 2.5, wild[i]};
        posenc_coords real = posenc_coords_of(reals, POSENC_COORD_F64);
        RETURNS(POSENC_ERR_POSITION, posenc_encoding_apply, pe, &real, NULL, NULL, &y, all);
    }
    static const int64_t beyond[] = {(int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(beyond); i++) {
        int64_t ids[TOKENS] = {0, 1, 2, beyond[i]}, row = 5;
        posenc_coords wide = posenc_coords_of(ids, POSENC_COORD_I64);
        RETURNS(POSENC_ERR_POSITION, posenc_encoding_apply, pe, &wide, NULL, NULL, &y, all);
        RETURNS(POSENC_ERR_POSITION, posenc_encoding_check, pe, &wide, TOKENS, 1, &row);
        assert_int_equal(row, TOKENS - 1);
        wide.data = &ids[TOKENS - 1];
        RETURNS(POSENC_ERR_POSITION, posenc_encoding_check, pe, &wide, 1, 1, &row);
        assert_int_equal(row, 0);
    }

    const int64_t most = (int64_t)1 << 46;
    int64_t row = 7;
    RETURNS(POSENC_ERR_NULL, posenc_encoding_check, NULL, &at, TOKENS, 1, &row);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_check, pe, NULL, TOKENS, 1, &row);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_check, pe, &at, TOKENS, 1, NULL);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_check, pe, &at, -1, 1, &row);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_check, pe, &at, 1, -1, &row);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_check, pe, &at, INT64_MAX, INT64_MAX, &row);
    RETURNS(POSENC_OK, posenc_encoding_check, pe, &at, TOKENS, BATCH, &row);
    RETURNS(POSENC_OK, posenc_encoding_check, pe, &at, 0, BATCH, &row);
    RETURNS(POSENC_OK, posenc_encoding_check, pe, &at, TOKENS, 0, &row);
    RETURNS(POSENC_OK, posenc_encoding_check, pe, &at, 0, most, &row);
    RETURNS(POSENC_OK, posenc_encoding_check, pe, &at, most, 0, &row);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_check, pe, &at, 0, most + 1, &row);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_check, pe, &at, most + 1, 0, &row);
    assert_int_equal(row, -1);
    ANSWERS(== DIM, posenc_encoding_dim, pe);
    ANSWERS(== 1, posenc_encoding_axis_count, pe);
    ANSWERS(== 0, posenc_encoding_dim, NULL);
    ANSWERS(== 0, posenc_encoding_axis_count, NULL);
}

/* ---- concat, sum ---- */

void test_encoding_parts(void **state) {
    (void)state;
    const posenc_part good = {.encoding = pe};
    const struct {
        posenc_part part;
        posenc_status want;
    } bad[] = {
        {{.encoding = pe, .first = -1}, POSENC_ERR_SHAPE},
        {{.encoding = pe, .first = DIM}, POSENC_ERR_SHAPE},
        {{.encoding = pe, .first = INT64_MAX}, POSENC_ERR_SHAPE},
        {{.encoding = pe, .width = DIM + 1}, POSENC_ERR_SHAPE},
        {{.encoding = pe, .first = 3, .width = DIM - 2}, POSENC_ERR_SHAPE},
        {{.encoding = pe, .width = -1}, POSENC_ERR_SHAPE},
        {{.encoding = pe, .width = INT64_MIN}, POSENC_ERR_SHAPE},
        {{.encoding = pe, .axis = -1}, POSENC_ERR_SECTIONS},
        {{.encoding = pe, .axis = POSENC_MAX_COORDS}, POSENC_ERR_SECTIONS},
        {{.encoding = pe, .axis = INT_MAX}, POSENC_ERR_SECTIONS},
        {{.encoding = pe, .divide = -1}, POSENC_ERR_CONTEXT},
        {{.encoding = pe, .modulo = -1}, POSENC_ERR_CONTEXT},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        posenc_part parts[2] = {good, bad[i].part};
        CREATES_NOTHING(posenc_encoding, bad[i].want, posenc_encoding_concat, parts, 2);
        CREATES_NOTHING(posenc_encoding, bad[i].want, posenc_encoding_sum, parts, 2);
    }
    posenc_part zeros[2] = {good, {.width = 5}}, empty[1] = {{.width = 0}}, huge[1] = {{.width = INT64_MAX}};
    posenc_part narrow[2] = {good, {.encoding = pe, .width = DIM - 1}};
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_NULL, posenc_encoding_sum, zeros, 2);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_sum, narrow, 2);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_concat, empty, 1);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_concat, huge, 1);
    posenc_part widest[2] = {{.width = (int64_t)1 << 21}, {.width = 1}}; /* POSENC_MAX_DIM, and one more */
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_concat, widest, 2);
    static const int64_t counts[] = {0, -1, POSENC_MAX_PARTS + 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(counts); i++) {
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_concat, zeros, counts[i]);
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_sum, zeros, counts[i]);
    }
    RETURNS(POSENC_ERR_NULL, posenc_encoding_concat, zeros, 2, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_sum, zeros, 2, NULL);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_NULL, posenc_encoding_concat, NULL, 2);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_NULL, posenc_encoding_sum, NULL, 2);

    /* Too many terms in one column, too many fields. */
    posenc_part eight[POSENC_MAX_PARTS], two[2];
    posenc_encoding *sum, *wide, *wider;
    for (int i = 0; i < POSENC_MAX_PARTS; i++)
        eight[i] = good;
    truth_ok(posenc_encoding_sum(eight, POSENC_MAX_PARTS, &sum));
    two[0] = (posenc_part){.encoding = sum};
    two[1] = good;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_sum, two, 2);
    truth_ok(posenc_encoding_concat(eight, POSENC_MAX_PARTS, &wide));
    for (int i = 0; i < POSENC_MAX_PARTS; i++)
        eight[i] = (posenc_part){.encoding = wide};
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_encoding_concat, eight, POSENC_MAX_PARTS);
    truth_ok(posenc_encoding_concat(eight, 4, &wider));
    posenc_encoding_free(sum);
    posenc_encoding_free(wide);
    posenc_encoding_free(wider);
}

/* ---- Who makes encodings ---- */

static void test_sinusoids(void) {
    const posenc_sinusoidal_params good = {
        POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_SHIFT, POSENC_ODD_SIN, DIM, 1e4, 1.0, 1.0, 1.0};
    static const double not_finite[] = {NAN, INFINITY, -INFINITY};
    posenc_sinusoidal_params p = good;
    for (size_t i = 0; i < COUNT(not_finite); i++) {
        p = good;
        p.shift = not_finite[i];
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALING, posenc_sinusoidal_create, &p);
        p = good;
        p.scale = not_finite[i];
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALING, posenc_sinusoidal_create, &p);
    }
    p = good;
    p.shift = DIM / 2;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALING, posenc_sinusoidal_create, &p);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALING, posenc_timestep_create, DIM, 1, DIM / 2, 1.0, 1e4);
    p.shift = DIM / 2 + 0.5; /* the frequencies grow */
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_FREQUENCY, posenc_sinusoidal_create, &p);
    p.shift = nextafter(DIM / 2, 100.0);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_FREQUENCY, posenc_sinusoidal_create, &p);
    p = good;
    p.scale = 70000.0;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_FREQUENCY, posenc_sinusoidal_create, &p);
    p = good;
    p.layout = POSENC_SINUSOIDAL_COMPLEX;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_ENUM, posenc_sinusoidal_create, &p);
    p.layout = POSENC_SINUSOIDAL_LAYOUT_UNSET;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_LAYOUT_UNSET, posenc_sinusoidal_create, &p);
    p.layout = POSENC_SINUSOIDAL_COMPLEX;
    p.schedule = POSENC_SCHEDULE_UNSET;
    p.dim = DIM + 1;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_sinusoidal_create, &p);
    RETURNS(POSENC_ERR_NULL, posenc_timestep_create, DIM, 1, 0.0, 1.0, 1e4, NULL);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_timestep_create, 0, 1, 0.0, 1.0, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_BASE, posenc_timestep_create, DIM, 1, 0.0, 1.0, 0.0);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALING, posenc_timestep_create, DIM, 1, 0.0, (double)NAN, 1e4);

    posenc_view m = posenc_view_dense(out, POSENC_F32, DIM, DIM, 1, 1), wide = m, half = m;
    posenc_encoding *odd, *bits;
    truth_ok(posenc_timestep_create(DIM + 1, 1, 0.0, 1.0, 1e4, &odd));
    truth_ok(posenc_bits_create(DIM, POSENC_BITS_GRAY, 0.0f, 1.0f, &bits));
    wide.ne[2] = 2;
    wide.nb[2] = 4 * DIM * DIM;
    half = posenc_view_dense(out, POSENC_F16, DIM, DIM, 1, 1);
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_shift, NULL, 1, &m);
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_shift, pe, 1, NULL);
    RETURNS(POSENC_ERR_DTYPE, posenc_sinusoidal_shift, pe, 1, &half);
    RETURNS(POSENC_ERR_SHAPE, posenc_sinusoidal_shift, pe, 1, &wide);
    RETURNS(POSENC_ERR_ENUM, posenc_sinusoidal_shift, bits, 1, &m);
    RETURNS(POSENC_ERR_HEAD_DIM, posenc_sinusoidal_shift, odd, 1, &m);
    /* A sine without its cosine, and a column to make the number even. */
    posenc_encoding *half_pair, *padded;
    posenc_sinusoidal_params lone = POSENC_SINUSOIDAL_DEFAULTS;
    lone.layout = POSENC_SINUSOIDAL_INTERLEAVED;
    lone.dim = DIM - 1;
    truth_ok(posenc_sinusoidal_create(&lone, &half_pair));
    posenc_part lone_parts[2] = {{.encoding = half_pair}, {.width = 1}};
    truth_ok(posenc_encoding_concat(lone_parts, 2, &padded));
    RETURNS(POSENC_ERR_ENUM, posenc_sinusoidal_shift, padded, 1, &m);
    posenc_encoding_free(half_pair);
    posenc_encoding_free(padded);
    const posenc_part others[] = {{.encoding = pe, .width = DIM - 2}, /* of which no matrix is this */
                                  {.encoding = pe, .axis = 1},
                                  {.encoding = pe, .divide = 2},
                                  {.encoding = pe, .modulo = 9}};
    for (size_t i = 0; i < COUNT(others); i++) {
        posenc_encoding *part;
        truth_ok(posenc_encoding_concat(&others[i], 1, &part));
        RETURNS(POSENC_ERR_ENUM, posenc_sinusoidal_shift, part, 1, &m);
        posenc_encoding_free(part);
    }
    m.ne[1] = DIM - 1;
    RETURNS(POSENC_ERR_SHAPE, posenc_sinusoidal_shift, pe, 1, &m);
    posenc_encoding_free(odd);
    posenc_encoding_free(bits);

    RETURNS(POSENC_ERR_NULL, posenc_grid_create, POSENC_GRID_W_FIRST, DIM, 0, 1e4, NULL);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_ENUM, posenc_grid_create, (posenc_grid)5, DIM, 0, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_ENUM, posenc_grid_create, (posenc_grid)-1, DIM, 0, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SECTIONS, posenc_grid_create, POSENC_GRID_TIMM, DIM, 2, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SECTIONS, posenc_grid_create, POSENC_GRID_TENSOR2TENSOR, DIM, 0, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SECTIONS, posenc_grid_create, POSENC_GRID_TENSOR2TENSOR, DIM, 5, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SECTIONS, posenc_grid_create, POSENC_GRID_TENSOR2TENSOR, DIM, INT_MAX,
                    1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_grid_create, POSENC_GRID_TENSOR2TENSOR, 5, 3, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_grid_create, POSENC_GRID_VOLUME, 24, 0, 1e4);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_BASE, posenc_grid_create, POSENC_GRID_H_FIRST, DIM, 0, 0.0);
    static const int64_t dims[] = {0, -4, 6, 2 * (int64_t)POSENC_MAX_PAIRS + 4, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(dims); i++)
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_grid_create, POSENC_GRID_W_FIRST, dims[i], 0, 1e4);
}

static void test_fourier_params(void) {
    float matrix[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    posenc_fourier_params good = POSENC_FOURIER_DEFAULTS, p;
    good.n_features = 2;
    good.n_coords = 2;
    RETURNS(POSENC_ERR_NULL, posenc_fourier_create, &good, NULL);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_NULL, posenc_fourier_create, NULL);
    static const int64_t features[] = {0, -1, 65537, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(features); i++) {
        p = good;
        p.n_features = features[i];
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_fourier_create, &p);
    }
    static const int coords[] = {0, -1, POSENC_MAX_COORDS + 1};
    for (size_t i = 0; i < COUNT(coords); i++) {
        p = good;
        p.n_coords = coords[i];
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SECTIONS, posenc_fourier_create, &p);
    }
    static const double sigmas[] = {0.0, -1.0, 4096.5, INFINITY, NAN};
    for (size_t i = 0; i < COUNT(sigmas); i++) {
        p = good;
        p.sigma = sigmas[i];
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALE, posenc_fourier_create, &p);
    }
    static const float entries[] = {65537.0f, -1e30f, INFINITY, NAN};
    for (size_t i = 0; i < COUNT(entries); i++) {
        p = good;
        p.matrix = matrix;
        matrix[3] = entries[i];
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_FREQUENCY, posenc_fourier_create, &p);
        double wide[4] = {1.0, 2.0, 3.0, (double)entries[i]};
        p.matrix = NULL;
        p.matrix_f64 = wide;
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_FREQUENCY, posenc_fourier_create, &p);
    }
    double wide[4] = {1.0, 2.0, 3.0, 4.0};
    p = good;
    p.matrix_f64 = shifted(wide, HALF_OF_8);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_STRIDE, posenc_fourier_create, &p);
    matrix[3] = 4.0f;
    p.matrix = matrix;
    p.matrix_f64 = wide; /* which of them? */
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_ENUM, posenc_fourier_create, &p);
    p = good;
    p.matrix = shifted(matrix, 2);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_STRIDE, posenc_fourier_create, &p);
    p = good;
    p.order = (posenc_fourier_order)2;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_ENUM, posenc_fourier_create, &p);

    posenc_encoding *e;
    posenc_view y = posenc_view_dense(out, POSENC_F32, 4, 2, 1, 1);
    int32_t far[4] = {0, 0, 0, (1 << 29) + 1};
    truth_ok(posenc_fourier_create(&good, &e));
    RETURNS(POSENC_ERR_POSITION, posenc_encoding_write, e, far, &y);
    far[3] = -far[3];
    RETURNS(POSENC_ERR_POSITION, posenc_encoding_write, e, far, &y);
    posenc_coords at = posenc_coords_of(far, POSENC_COORD_I32);
    at.axis_stride = (int64_t)1 << 60;
    RETURNS(POSENC_ERR_STRIDE, posenc_encoding_apply, e, &at, NULL, NULL, &y, posenc_range_all());
    posenc_encoding_free(e);
}

/* The last values that are accepted. */
static void test_ends_of_params(void) {
    static const double sigmas[] = {0x1p-60, 0x1p60}, centres[] = {0x1p40, -0x1p40};
    posenc_encoding *e;
    truth_ok(posenc_integer_create(DIM, (int64_t)1 << 31, 1000.0, &e));
    posenc_encoding_free(e);
    for (size_t i = 0; i < COUNT(sigmas); i++) {
        truth_ok(posenc_rbf_create(centres, 2, sigmas[i], &e));
        posenc_encoding_free(e);
    }
}

void test_encoding_params(void **state) {
    (void)state;
    test_sinusoids();
    test_fourier_params();
    test_ends_of_params();

    static const int64_t dims[] = {0, -1, ((int64_t)1 << 21) + 1, INT64_MAX, INT64_MIN};
    double centres[3] = {0.0, 1.0, 2.0};
    for (size_t i = 0; i < COUNT(dims); i++) {
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_integer_create, dims[i], 10, 1.0);
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_bits_create, dims[i], POSENC_BITS_GRAY, 0.0f,
                        1.0f);
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_rbf_create, centres, dims[i], 1.0);
    }
    static const int64_t lengths[] = {0, -1, ((int64_t)1 << 31) + 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(lengths); i++)
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_CONTEXT, posenc_integer_create, DIM, lengths[i], 1.0);
    const double alphas[] = {-1.0, -1e-300, nextafter(1000.0, INFINITY), 1000.5, INFINITY, NAN};
    for (size_t i = 0; i < COUNT(alphas); i++)
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALING, posenc_integer_create, DIM, 10, alphas[i]);
    static const float values[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < COUNT(values); i++) {
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALE, posenc_bits_create, DIM, POSENC_BITS_GRAY, values[i], 1.0f);
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALE, posenc_bits_create, DIM, POSENC_BITS_GRAY, 0.0f, values[i]);
    }
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_ENUM, posenc_bits_create, DIM, (posenc_bit_code)2, 0.0f, 1.0f);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_ENUM, posenc_bits_create, DIM, (posenc_bit_code)-1, 0.0f, 1.0f);
    static const double sigmas[] = {0.0, -1.0, 0x1p-61, 0x1p61, INFINITY, NAN};
    for (size_t i = 0; i < COUNT(sigmas); i++)
        CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALE, posenc_rbf_create, centres, 3, sigmas[i]);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_STRIDE, posenc_rbf_create, shifted(centres, HALF_OF_8), 2, 1.0);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_NULL, posenc_rbf_create, NULL, 3, 1.0);
    centres[2] = (double)NAN;
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SCALE, posenc_rbf_create, centres, 3, 1.0);
    RETURNS(POSENC_ERR_NULL, posenc_integer_create, DIM, 10, 1.0, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_bits_create, DIM, POSENC_BITS_GRAY, 0.0f, 1.0f, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_rbf_create, centres, 2, 1.0, NULL);
    ANSWERS(== 3, posenc_gray_encode, 2);
    ANSWERS(== 2, posenc_gray_decode, 3);

    posenc_encoding *bits;
    posenc_view y = posenc_view_dense(out, POSENC_F32, DIM, TOKENS, 1, 1);
    truth_ok(posenc_bits_create(DIM, POSENC_BITS_BINARY, 0.0f, 1.0f, &bits));
    RETURNS(POSENC_ERR_POSITION, posenc_encoding_write, bits, positions, &y); /* -5 is among them */
    posenc_encoding_free(bits);
}

/* ---- Tables ---- */

static void test_learned(void) {
    posenc_view table = posenc_view_dense(in, POSENC_F32, DIM, TOKENS, 1, 1), y = table, many = table, none = table;
    posenc_view dy = posenc_view_dense(rows_a, POSENC_F32, DIM, TOKENS, BATCH, 1), half = dy;
    const posenc_lookup good = POSENC_LOOKUP_DEFAULTS;
    y.data = out;
    many.ne[2] = 2;
    many.nb[2] = 4 * DIM * TOKENS;
    none.ne[0] = 0;
    RETURNS(POSENC_ERR_NULL, posenc_learned_create, &table, &good, NULL);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_NULL, posenc_learned_create, NULL, &good);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_SHAPE, posenc_learned_create, &many, &good);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_HEAD_DIM, posenc_learned_create, &none, &good);
    posenc_coords at = posenc_coords_of(positions, POSENC_COORD_I32), real = at;
    real.type = POSENC_COORD_F32;
    posenc_range all = posenc_range_all();
    static const struct {
        posenc_lookup lookup;
        posenc_status want;
    } bad[] = {
        {{0, NAN, POSENC_OUT_OF_RANGE_ERROR}, POSENC_ERR_SCALE},
        {{0, INFINITY, POSENC_OUT_OF_RANGE_ERROR}, POSENC_ERR_SCALE},
        {{0, 1.0f, (posenc_out_of_range)3}, POSENC_ERR_ENUM},
        {{0, 1.0f, (posenc_out_of_range)-1}, POSENC_ERR_ENUM},
        {{INT64_MAX, 1.0f, POSENC_OUT_OF_RANGE_ZERO}, POSENC_ERR_POSITION},
        {{INT64_MIN, 1.0f, POSENC_OUT_OF_RANGE_ZERO}, POSENC_ERR_POSITION},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        CREATES_NOTHING(posenc_encoding, bad[i].want, posenc_learned_create, &table, &bad[i].lookup);
        RETURNS(bad[i].want, posenc_learned_backward, &bad[i].lookup, &at, &dy, &y, all);
    }
    posenc_encoding *e;
    truth_ok(posenc_learned_create(&table, NULL, &e));
    RETURNS(POSENC_ERR_POSITION, posenc_encoding_write, e, positions, &y);
    RETURNS(POSENC_ERR_DTYPE, posenc_encoding_apply, e, &real, NULL, NULL, &y, all);
    posenc_encoding_free(e);

    RETURNS(POSENC_ERR_POSITION, posenc_learned_backward, &good, &at, &dy, &y, all);
    RETURNS(POSENC_ERR_POSITION, posenc_learned_backward, NULL, &at, &dy, &y, (posenc_range){0, 0});
    RETURNS(POSENC_ERR_NULL, posenc_learned_backward, &good, NULL, &dy, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_learned_backward, &good, &at, NULL, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_learned_backward, &good, &at, &dy, NULL, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_learned_backward, &good, &real, &dy, &y, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_learned_backward, &good, &at, &dy, &many, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_learned_backward, &good, &at, &y, &y, all);
    RETURNS(POSENC_ERR_ROWS, posenc_learned_backward, &good, &at, &dy, &y, (posenc_range){0, TOKENS + 1});
    static int32_t late[BATCH * TOKENS] = {[BATCH * TOKENS - 1] = TOKENS}; /* in the last batch only */
    posenc_coords of_batches = posenc_coords_of(late, POSENC_COORD_I32);
    of_batches.batch_stride = TOKENS;
    RETURNS(POSENC_ERR_POSITION, posenc_learned_backward, &good, &of_batches, &dy, &y, all);
    half = posenc_view_dense(out, POSENC_BF16, DIM, TOKENS, 1, 1);
    RETURNS(POSENC_ERR_DTYPE, posenc_learned_backward, &good, &at, &dy, &half, all);
    dy.ne[0] = DIM - 1;
    RETURNS(POSENC_ERR_SHAPE, posenc_learned_backward, &good, &at, &dy, &y, all);
}

static void test_resizing(void) {
    posenc_resize_params good = POSENC_RESIZE_DEFAULTS, p;
    good.w_in = TOKENS;
    good.w_out = TOKENS + 1;
    posenc_view x = posenc_view_dense(in, POSENC_F32, DIM, TOKENS, 1, 1), half;
    posenc_view y = posenc_view_dense(out, POSENC_F32, DIM, TOKENS + 1, 1, 1);
    posenc_range all = posenc_range_all();
    RETURNS(POSENC_ERR_NULL, posenc_table_resize, NULL, &x, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_table_resize, &good, NULL, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_table_resize, &good, &x, NULL, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_table_resize, &good, &y, &x, all);
    RETURNS(POSENC_ERR_ROWS, posenc_table_resize, &good, &x, &y, (posenc_range){0, TOKENS + 2});
    RETURNS(POSENC_ERR_NULL, posenc_table_resize_backward, NULL, &y, &x);
    RETURNS(POSENC_ERR_NULL, posenc_table_resize_backward, &good, NULL, &x);
    RETURNS(POSENC_ERR_NULL, posenc_table_resize_backward, &good, &y, NULL);
    RETURNS(POSENC_ERR_SHAPE, posenc_table_resize_backward, &good, &x, &y);
    half = posenc_view_dense(in, POSENC_F32, DIM, TOKENS, 2, 1); /* two tables */
    RETURNS(POSENC_ERR_SHAPE, posenc_table_resize, &good, &half, &y, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_table_resize_backward, &good, &y, &half);
    half = posenc_view_dense(in, POSENC_F16, DIM, TOKENS, 1, 1);
    RETURNS(POSENC_ERR_DTYPE, posenc_table_resize_backward, &good, &y, &half);
    y.data = in + DIM;
    RETURNS(POSENC_ERR_OVERLAP, posenc_table_resize, &good, &x, &y, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_table_resize_backward, &good, &y, &x);
    y.data = out;

    static const int64_t sides[] = {0, -1, ((int64_t)1 << 20) + 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(sides); i++)
        for (int which = 0; which < 4; which++) {
            p = good;
            *(which == 0 ? &p.h_in : which == 1 ? &p.w_in : which == 2 ? &p.h_out : &p.w_out) = sides[i];
            RETURNS(POSENC_ERR_SHAPE, posenc_table_resize, &p, &x, &y, all);
        }
    static const int64_t prefixes[] = {-1, 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        p = good;
        p.n_prefix = prefixes[i];
        RETURNS(POSENC_ERR_SHAPE, posenc_table_resize, &p, &x, &y, all);
    }
    static const double ratios[] = {-1.0, INFINITY, NAN};
    for (size_t i = 0; i < COUNT(ratios); i++) {
        p = good;
        p.h_ratio = ratios[i];
        RETURNS(POSENC_ERR_SCALING, posenc_table_resize, &p, &x, &y, all);
        p = good;
        p.w_ratio = ratios[i];
        RETURNS(POSENC_ERR_SCALING, posenc_table_resize, &p, &x, &y, all);
        p = good;
        p.cubic_a = 5.0 * ratios[i];
        RETURNS(POSENC_ERR_SCALING, posenc_table_resize_backward, &p, &y, &x);
    }
    p = good;
    p.w_ratio = 0.5;
    p.align_corners = 1;
    RETURNS(POSENC_ERR_SCALING, posenc_table_resize, &p, &x, &y, all);
    p.w_ratio = 1e-300;
    RETURNS(POSENC_ERR_SCALING, posenc_table_resize, &p, &x, &y, all);
    p = good;
    p.method = (posenc_resize_method)2;
    RETURNS(POSENC_ERR_ENUM, posenc_table_resize, &p, &x, &y, all);
    p = good;
    p.antialias = 1;
    p.w_ratio = (double)TOKENS / ((double)TOKENS + 0.5);
    RETURNS(POSENC_OK, posenc_table_resize, &p, &x, &y, (posenc_range){0, 0}); /* the last centre on the edge */
    p.w_ratio *= 1.001;
    RETURNS(POSENC_ERR_SCALING, posenc_table_resize, &p, &x, &y, all);
    RETURNS(POSENC_ERR_SCALING, posenc_table_resize_backward, &p, &y, &x);
    p.w_ratio = 0.0;
    p.align_corners = 1;
    RETURNS(POSENC_ERR_ENUM, posenc_table_resize, &p, &x, &y, all);
}

static void test_gates(void) {
    posenc_view e = posenc_view_dense(in, POSENC_F32, DIM, TOKENS, BATCH, 1), dy = e, de = e, odd = e,
                four = dense(rows_a);
    posenc_view gate = posenc_view_dense(rows_b, POSENC_F32, 1, TOKENS, BATCH, 1), dgate = gate, half;
    posenc_range all = posenc_range_all();
    dy.data = rows_a;
    de.data = out;
    dgate.data = out + 512;
    odd.ne[0] = DIM - 1;
    half = posenc_view_dense(rows_a, POSENC_F16, DIM, TOKENS, BATCH, 1);
    RETURNS(POSENC_ERR_NULL, posenc_gate_backward, NULL, &gate, &dy, &dgate, NULL, all);
    RETURNS(POSENC_ERR_NULL, posenc_gate_backward, &e, NULL, &dy, NULL, &de, all);
    RETURNS(POSENC_ERR_NULL, posenc_gate_backward, &e, &gate, NULL, &dgate, &de, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_gate_backward, &e, &gate, &half, &dgate, &de, all);
    RETURNS(POSENC_ERR_DTYPE, posenc_gate_backward, &half, &gate, &dy, &dgate, &de, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_gate_backward, &odd, &gate, &dy, &dgate, &de, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_gate_backward, &e, &gate, &dy, &odd, &de, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_gate_backward, &e, &odd, &dy, &dgate, &de, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_gate_backward, &e, &gate, &four, NULL, NULL, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_gate_backward, &e, &gate, &dy, &dy, NULL, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_gate_backward, &e, &gate, &dy, &e, NULL, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_gate_backward, &e, &gate, &dy, &gate, &de, all);
    RETURNS(POSENC_ERR_OVERLAP, posenc_gate_backward, &e, &gate, &dy, &dgate, &e, all);
    odd = de;
    odd.data = gate.data;
    RETURNS(POSENC_ERR_OVERLAP, posenc_gate_backward, NULL, &gate, &dy, NULL, &odd, all);
    RETURNS(POSENC_ERR_ROWS, posenc_gate_backward, &e, &gate, &dy, &dgate, &de, (posenc_range){0, TOKENS * BATCH + 1});
    RETURNS(POSENC_OK, posenc_gate_backward, NULL, NULL, &dy, NULL, NULL, all);
}

static void test_filling(void) {
    posenc_view y = posenc_view_dense(out, POSENC_F32, DIM, TOKENS, 1, 1);
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1.1e30, -1.1e30};
    posenc_range all = posenc_range_all();
    for (size_t i = 0; i < COUNT(bad); i++) {
        RETURNS(POSENC_ERR_SCALE, posenc_fill_normal, 1, bad[i], 1.0, &y, all);
        RETURNS(POSENC_ERR_SCALE, posenc_fill_normal, 1, 0.0, bad[i], &y, all);
        RETURNS(POSENC_ERR_SCALE, posenc_fill_uniform, 1, bad[i], 1.0, &y, all);
        RETURNS(POSENC_ERR_SCALE, posenc_fill_uniform, 1, 0.0, bad[i], &y, all);
    }
    RETURNS(POSENC_ERR_SCALE, posenc_fill_normal, 1, 0.0, -1.0, &y, all);
    RETURNS(POSENC_ERR_SCALE, posenc_fill_uniform, 1, 1.0, 0.0, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_fill_normal, 1, 0.0, 1.0, NULL, all);
    RETURNS(POSENC_ERR_NULL, posenc_fill_uniform, 1, 0.0, 1.0, NULL, all);
    RETURNS(POSENC_ERR_ROWS, posenc_fill_normal, 1, 0.0, 1.0, &y, (posenc_range){-1, 2});
    y.nb[1] = 0;
    RETURNS(POSENC_ERR_STRIDE, posenc_fill_uniform, 1, 0.0, 1.0, &y, all);
    ANSWERS(== 0.0, posenc_xavier_uniform, 0, 0);
    ANSWERS(== 0.0, posenc_xavier_normal, -1, 1);
}

void test_tables(void **state) {
    (void)state;
    test_learned();
    test_resizing();
    test_gates();
    test_filling();
}

/* ---- Convolution ---- */

/* ---- Positions ---- */

void test_more_positions(void **state) {
    (void)state;
    static const uint8_t mask[6] = {1, 1, 1, 0, 1, 1};
    static const int32_t document[4] = {1, 1, 2, 2};
    int64_t sizes[4] = {2, 2, 1, 1};
    int32_t *to = (int32_t *)(void *)out;
    RETURNS(POSENC_ERR_NULL, posenc_positions_masked, NULL, 6, 1, 0, 0, to);
    RETURNS(POSENC_ERR_NULL, posenc_positions_masked, mask, 6, 1, 0, 0, NULL);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_masked, mask, -1, 1, 0, 0, to);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_masked, mask, 1, -1, 0, 0, to);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_masked, mask, INT64_MAX, 2, 0, 0, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_masked, mask, 6, 1, 0, 0, shifted(to, 2));
    RETURNS(POSENC_ERR_POSITION, posenc_positions_masked, mask, 3, 2, INT32_MAX - 1, 0, to);
    static const uint8_t second_mask[6] = {0, 0, 0, 1, 1, 1}; /* tokens of the second batch alone */
    RETURNS(POSENC_ERR_POSITION, posenc_positions_masked, second_mask, 3, 2, INT32_MAX - 1, 0, to);
    RETURNS(POSENC_OK, posenc_positions_masked, NULL, 0, 5, 0, 0, NULL);

    RETURNS(POSENC_ERR_NULL, posenc_positions_documents, NULL, 4, to);
    RETURNS(POSENC_ERR_NULL, posenc_positions_documents, document, 4, NULL);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_documents, document, -1, to);
    RETURNS(POSENC_ERR_SHAPE, posenc_positions_documents, document, INT64_MAX, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_documents, shifted(document, 1), 2, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_documents, document, 2, shifted(to, 3));
    RETURNS(POSENC_OK, posenc_positions_documents, NULL, 0, NULL);

    RETURNS(POSENC_ERR_SECTIONS, posenc_positions_grid, sizes, 0, to);
    RETURNS(POSENC_ERR_SECTIONS, posenc_positions_grid, sizes, 5, to);
    RETURNS(POSENC_ERR_NULL, posenc_positions_grid, NULL, 2, to);
    RETURNS(POSENC_ERR_NULL, posenc_positions_grid, sizes, 2, NULL);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_grid, shifted(sizes, HALF_OF_8), 2, to);
    RETURNS(POSENC_ERR_STRIDE, posenc_positions_grid, sizes, 2, shifted(to, 2));
    static const int64_t bad_sizes[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 31, (int64_t)1 << 30};
    for (size_t i = 0; i < COUNT(bad_sizes); i++) {
        sizes[1] = bad_sizes[i];
        RETURNS(POSENC_ERR_SHAPE, posenc_positions_grid, sizes, 2, to);
    }
    sizes[1] = 0;
    RETURNS(POSENC_OK, posenc_positions_grid, sizes, 4, NULL);
}
