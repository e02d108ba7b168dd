/* SPDX-License-Identifier: MIT */
/* Rows of absolute encodings against plain double references written from FORMULAS, and the properties
 * that it names: A.3, A.6, A.13-A.19, A.22, A.23; E.1, E.2; seeded numbers. */
#include "truth.h"
#include "truth_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* One row at a real coordinate. */
static void real_row(const posenc_encoding *e, double p, float *row) {
    posenc_coords at = posenc_coords_of(&p, POSENC_COORD_F64);
    posenc_view y = posenc_view_dense(row, POSENC_F32, posenc_encoding_dim(e), 1, 1, 1);
    truth_ok(posenc_encoding_apply(e, &at, NULL, NULL, &y, posenc_range_all()));
}

/* ---- Sinusoids ---- */

/* A.3 with frequencies and angles in long double, timesteps small enough for its sine. */
static void test_timesteps(void **state) {
    (void)state;
    for (int round = 0; round < 300; round++) {
        int64_t dim = 4 + truth_below(400), half = dim / 2;
        int flip = (int)truth_below(2);
        double shift = truth_below(3) == 0 ? truth_uniform(-2.0, 1.5) : (double)truth_below(2);
        double scale = truth_below(2) ? 1.0 : truth_uniform(-100.0, 100.0), period = truth_uniform(2.0, 20000.0);
        posenc_encoding *e;
        truth_ok(posenc_timestep_create(dim, flip, shift, scale, period, &e));
        for (int tier = -1; truth_next_tier(&tier);) {
            double t = truth_uniform(-1000.0, 1000.0);
            float row[512];
            real_row(e, t, row);
            for (int64_t i = 0; i < half; i++) {
                long double f =
                    expl(-logl((long double)period) * (long double)i / ((long double)half - (long double)shift));
                long double a = (long double)scale * (long double)t * f;
                truth_close((double)row[flip ? half + i : i], (double)sinl(a), 0x1p-23, "sine %d", (int)i);
                truth_close((double)row[flip ? i : half + i], (double)cosl(a), 0x1p-23, "cosine %d", (int)i);
            }
            assert_true(dim % 2 == 0 || row[dim - 1] == 0.0f);
        }
        posenc_encoding_free(e);
    }
}

static void shift_matrix(const posenc_encoding *e, int32_t k, float *m) {
    int64_t dim = posenc_encoding_dim(e);
    posenc_view view = posenc_view_dense(m, POSENC_F32, dim, dim, 1, 1);
    truth_ok(posenc_sinusoidal_shift(e, k, &view));
}

/* A.6 in every layout: PE[p + k] = M_k PE[p], M_-k = M_k transposed, M_a M_b = M_(a+b), M_0 = I. */
static void test_shift(void **state) {
    (void)state;
    enum { DIM = 24 };
    for (int layout = POSENC_SINUSOIDAL_INTERLEAVED; layout <= POSENC_SINUSOIDAL_CONCAT_COS; layout++)
        for (int round = 0; round < 20; round++) {
            posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
            params.layout = (posenc_sinusoidal_layout)layout;
            params.schedule = POSENC_SCHEDULE_HALF;
            params.dim = DIM;
            posenc_encoding *e;
            truth_ok(posenc_sinusoidal_create(&params, &e));
            float ma[DIM * DIM], mb[DIM * DIM], sum[DIM * DIM], back[DIM * DIM], from[DIM], to[DIM];
            int32_t a = truth_position() / 4, b = round == 0 ? 0 : truth_position() / 4, p = truth_position() / 4;
            shift_matrix(e, a, ma);
            shift_matrix(e, b, mb);
            shift_matrix(e, a + b, sum);
            shift_matrix(e, -a, back);
            real_row(e, p, from);
            real_row(e, (double)p + a, to);
            for (int r = 0; r < DIM; r++) {
                double moved = 0.0;
                for (int c = 0; c < DIM; c++) {
                    double product = 0.0;
                    for (int k = 0; k < DIM; k++)
                        product += (double)ma[r * DIM + k] * (double)mb[k * DIM + c];
                    truth_close((double)sum[r * DIM + c], product, 3e-7, "M_a M_b (%d, %d)", r, c);
                    assert_true(back[r * DIM + c] == ma[c * DIM + r]);
                    assert_true(round > 0 || mb[r * DIM + c] == (r == c ? 1.0f : 0.0f));
                    moved += (double)ma[r * DIM + c] * (double)from[c];
                }
                truth_close((double)to[r], moved, 3e-7, "PE(p + k), column %d", r);
            }
            posenc_encoding_free(e);
        }
}

/* A.22, Tensor2Tensor's timing signal of n dimensions, and timm's order. */
static void test_grids(void **state) {
    (void)state;
    enum { DIM = 44, AXES = 3, PER_AXIS = 14 };
    int32_t planes[AXES] = {5, 17, 1000};
    float row[DIM], axis_row[PER_AXIS];
    posenc_encoding *e, *axis;
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    posenc_view y = posenc_view_dense(row, POSENC_F32, DIM, 1, 1, 1),
                part = posenc_view_dense(axis_row, POSENC_F32, PER_AXIS, 1, 1, 1);
    params.layout = POSENC_SINUSOIDAL_CONCAT;
    params.schedule = POSENC_SCHEDULE_HALF_MINUS_1;
    params.dim = PER_AXIS;
    truth_ok(posenc_grid_create(POSENC_GRID_TENSOR2TENSOR, PER_AXIS, 1, 1e4, &e)); /* of one axis: that axis */
    truth_ok(posenc_sinusoidal_create(&params, &axis));
    truth_ok(posenc_encoding_write(e, planes, &part));
    memcpy(row, axis_row, sizeof axis_row);
    truth_ok(posenc_encoding_write(axis, planes, &part));
    truth_same_bits(row, axis_row, PER_AXIS, "one axis");
    posenc_encoding_free(e);
    truth_ok(posenc_grid_create(POSENC_GRID_TENSOR2TENSOR, DIM, AXES, 1e4, &e));
    assert_int_equal(posenc_encoding_axis_count(e), AXES);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_encoding_write(e, planes, &y));
        for (int a = 0; a < AXES; a++) {
            truth_ok(posenc_encoding_write(axis, &planes[a], &part));
            truth_same_bits(row + a * PER_AXIS, axis_row, PER_AXIS, "axis %d", a);
        }
        assert_true(row[DIM - 1] == 0.0f && row[DIM - 2] == 0.0f);
    }
    posenc_encoding_free(e);
    posenc_encoding_free(axis);

    float timm[DIM], moco[DIM];
    posenc_encoding *h_first;
    posenc_view ys[] = {posenc_view_dense(timm, POSENC_F32, DIM, 1, 1, 1),
                        posenc_view_dense(moco, POSENC_F32, DIM, 1, 1, 1)};
    truth_ok(posenc_grid_create(POSENC_GRID_TIMM, DIM, 0, 1e4, &e));
    truth_ok(posenc_grid_create(POSENC_GRID_H_FIRST, DIM, 0, 1e4, &h_first));
    truth_ok(posenc_encoding_write(e, planes, &ys[0]));
    truth_ok(posenc_encoding_write(h_first, planes, &ys[1])); /* [sin y | cos y | sin x | cos x] */
    truth_same_bits(timm, moco, DIM / 4, "sin y");
    truth_same_bits(timm + DIM / 4, moco + DIM / 2, DIM / 4, "sin x");
    truth_same_bits(timm + DIM / 2, moco + DIM / 4, DIM / 4, "cos y");
    truth_same_bits(timm + 3 * DIM / 4, moco + 3 * DIM / 4, DIM / 4, "cos x");
    posenc_encoding_free(e);
    posenc_encoding_free(h_first);
}

/* ---- Fourier features ---- */

static void test_fourier(void **state) {
    (void)state;
    enum { MAX_FEATURES = 300, MAX_AXES = 4 };
    static float matrix[MAX_FEATURES * MAX_AXES], row[2 * MAX_FEATURES], drawn[2 * MAX_FEATURES];
    for (int round = 0; round < 200; round++) {
        posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
        params.n_features = 1 + truth_below(MAX_FEATURES);
        params.n_coords = 1 + (int)truth_below(MAX_AXES);
        params.sigma = truth_log_uniform(0.01, 100.0);
        params.seed = truth_random();
        params.order = (posenc_fourier_order)truth_below(2);
        posenc_view table = posenc_view_dense(matrix, POSENC_F32, params.n_coords, params.n_features, 1, 1);
        truth_ok(posenc_fill_normal(params.seed, 0.0, params.sigma, &table, posenc_range_all()));
        posenc_encoding *e, *same;
        truth_ok(posenc_fourier_create(&params, &e));
        params.matrix = matrix;
        truth_ok(posenc_fourier_create(&params, &same));
        float p[MAX_AXES];
        truth_fill(p, MAX_AXES);
        for (int a = 0; a < MAX_AXES; a++) /* so many turns that a double would lose the last digits of their sum */
            p[a] *= (float)truth_log_uniform(1.0, 0x1p22);
        posenc_coords at = posenc_coords_of(p, POSENC_COORD_F32);
        posenc_view y = posenc_view_dense(row, POSENC_F32, 2 * params.n_features, 1, 1, 1), own = y;
        own.data = drawn;
        for (int tier = -1; truth_next_tier(&tier);) {
            truth_ok(posenc_encoding_apply(same, &at, NULL, NULL, &y, posenc_range_all()));
            truth_ok(posenc_encoding_apply(e, &at, NULL, NULL, &own, posenc_range_all()));
            truth_same_bits(drawn, row, (size_t)(2 * params.n_features), "drawn or given");
            for (int64_t i = 0; i < params.n_features; i++) {
                double turns = 0.0; /* each product is exact, and so is its fraction of a turn */
                for (int a = 0; a < params.n_coords; a++) {
                    double product = (double)matrix[i * params.n_coords + a] * (double)p[a];
                    turns += product - rint(product);
                }
                int64_t cosine = params.order == POSENC_FOURIER_COS_SIN ? i : params.n_features + i;
                int64_t sine = params.order == POSENC_FOURIER_COS_SIN ? params.n_features + i : i;
                truth_close((double)row[cosine], cos(2.0 * pi * turns), 0x1p-24, "cosine");
                truth_close((double)row[sine], sin(2.0 * pi * turns), 0x1p-24, "sine");
            }
        }
        posenc_encoding_free(e);
        posenc_encoding_free(same);
    }
}

/* Entries and coordinates in double, where float32 would be off by 1e-3 and more. */
static void test_fourier_in_double(void **state) {
    (void)state;
    enum { N_FEATURES = 130, N_COORDS = 3 };
    static double matrix[N_FEATURES * N_COORDS];
    static float row[2 * N_FEATURES];
    for (int round = 0; round < 50; round++) {
        double p[N_COORDS];
        for (int i = 0; i < N_FEATURES * N_COORDS; i++)
            matrix[i] = truth_log_uniform(1e-3, 65536.0) * (truth_below(2) ? 1.0 : -1.0);
        for (int a = 0; a < N_COORDS; a++)
            p[a] = truth_uniform(-1.0, 1.0) * truth_log_uniform(1.0, 0x1p30);
        posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
        params.n_features = N_FEATURES;
        params.n_coords = N_COORDS;
        params.matrix_f64 = matrix;
        posenc_encoding *e;
        truth_ok(posenc_fourier_create(&params, &e));
        posenc_coords at = posenc_coords_of(p, POSENC_COORD_F64);
        posenc_view y = posenc_view_dense(row, POSENC_F32, 2 * N_FEATURES, 1, 1, 1);
        for (int tier = -1; truth_next_tier(&tier);) {
            truth_ok(posenc_encoding_apply(e, &at, NULL, NULL, &y, posenc_range_all()));
            for (int i = 0; i < N_FEATURES; i++) {
                double turns = 0.0; /* of each product without its whole turns, and of what its rounding lost */
                for (int a = 0; a < N_COORDS; a++) {
                    double product = matrix[i * N_COORDS + a] * p[a];
                    turns += product - rint(product) + fma(matrix[i * N_COORDS + a], p[a], -product);
                }
                truth_close((double)row[i], cos(2.0 * pi * turns), 0x1p-24, "cosine");
                truth_close((double)row[N_FEATURES + i], sin(2.0 * pi * turns), 0x1p-24, "sine");
            }
        }
        posenc_encoding_free(e);
    }
}

/* ---- Integers, bits, bumps ---- */

/* The power is rounded to float32 once: 2^-alpha is 7.8e-24 below a number between two floats. */
static void test_one_rounding(void **state) {
    (void)state;
    float row[3];
    posenc_encoding *e;
    truth_ok(posenc_integer_create(3, 2, 4.2995663356387483e-08, &e));
    real_row(e, 1.0, row);
    assert_true(row[1] == 0x1.fffffep-1f);
    posenc_encoding_free(e);
}

static void test_integers(void **state) {
    (void)state;
    float row[64];
    for (int round = 0; round < 300; round++) {
        int64_t dim = 1 + truth_below(64), length = round == 0 ? 1 : 1 + truth_below(5000);
        double alpha = truth_below(3) == 0 ? 0.0 : truth_uniform(0.0, 6.0), p = (double)truth_below(6000) - 500.0;
        posenc_encoding *e;
        truth_ok(posenc_integer_create(dim, length, alpha, &e));
        for (int tier = -1; truth_next_tier(&tier);) {
            real_row(e, p, row);
            for (int64_t i = 0; i < dim; i++) {
                double scale = dim == 1 ? 1.0 : pow((double)i / (double)(dim - 1), alpha);
                double want = length == 1 ? 0.0 : p / (double)(length - 1) * scale;
                truth_close((double)row[i], want, fabs(want) * 0x1.8p-23, "column %d", (int)i);
            }
        }
        posenc_encoding_free(e);
    }
}

/* A.15, A.16: neighbours differ in one bit, also from the last code to the first; p and p + 2^d collide. */
static void test_bits(void **state) {
    (void)state;
    for (int64_t dim = 1; dim <= 130; dim = dim < 12 ? dim + 1 : 2 * dim) {
        posenc_encoding *gray, *binary;
        truth_ok(posenc_bits_create(dim, POSENC_BITS_GRAY, 0.0f, 1.0f, &gray));
        truth_ok(posenc_bits_create(dim, POSENC_BITS_BINARY, -1.0f, 1.0f, &binary));
        for (int round = 0; round < 100; round++) {
            int64_t p[2] = {(int64_t)(truth_random() >> (1 + truth_below(63))), 0};
            p[1] = p[0] == INT64_MAX ? 0 : p[0] + 1; /* INT64_MAX is followed by the first but for the bits beyond */
            posenc_coords at = posenc_coords_of(p, POSENC_COORD_I64);
            float codes[2][256], bits[2][256];
            posenc_view y = posenc_view_dense(codes, POSENC_F32, dim, 2, 1, 1),
                        z = posenc_view_dense(bits, POSENC_F32, dim, 2, 1, 1);
            y.nb[1] = z.nb[1] = sizeof codes[0];
            truth_ok(posenc_encoding_apply(gray, &at, NULL, NULL, &y, posenc_range_all()));
            truth_ok(posenc_encoding_apply(binary, &at, NULL, NULL, &z, posenc_range_all()));
            int differ = 0;
            for (int64_t i = 0; i < dim; i++) {
                differ += codes[0][i] != codes[1][i];
                int bit = i < 64 && ((uint64_t)p[0] >> i & 1), next = i < 63 && ((uint64_t)p[0] >> (i + 1) & 1);
                assert_true(bits[0][i] == (bit ? 1.0f : -1.0f));
                assert_true(codes[0][i] == (float)(bit ^ next));
            }
            if (p[1] != 0)
                assert_true(differ == 1 || (dim < 64 && differ <= 1));
            assert_int_equal(posenc_gray_decode(posenc_gray_encode((uint64_t)p[0])), (uint64_t)p[0]);
        }
        posenc_encoding_free(gray);
        posenc_encoding_free(binary);
    }
    assert_int_equal(posenc_gray_decode(posenc_gray_encode(UINT64_MAX)), UINT64_MAX);
}

/* The promised bound: 2^-24 (|exponent| + 2), relative, down to FLT_MIN. */
static void test_bumps(void **state) {
    (void)state;
    enum { N = 100 };
    double centres[N];
    float row[N];
    for (int round = 0; round < 500; round++) {
        double sigma = truth_log_uniform(1e-3, 1e3), p = truth_uniform(-1e4, 1e4);
        for (int i = 0; i < N; i++)
            centres[i] = p + truth_uniform(-15.0, 15.0) * sigma;
        centres[0] = p;
        posenc_encoding *e;
        truth_ok(posenc_rbf_create(centres, N, sigma, &e));
        for (int tier = -1; truth_next_tier(&tier);) {
            real_row(e, p, row);
            assert_true(row[0] == 1.0f);
            for (int i = 0; i < N; i++) {
                double z = (p - centres[i]) / sigma, exponent = -0.5 * z * z, want = exp(exponent);
                double bound = want < 0x1.01p-126 ? 0x1.01p-126 : want * 0x1p-24 * (2.0 - exponent);
                truth_close((double)row[i], want, bound, "exponent %g", exponent);
            }
        }
        posenc_encoding_free(e);
    }
}

/* ---- Gradients of tables and gates ---- */

/* E.1 in ascending order in float32, of every type, split in ranges of table rows; ids as any type. */
static void test_table_gradient(void **state) {
    (void)state;
    enum { ROWS = 9, DIM = 37, TOKENS = 200, BATCH = 2 };
    for (int round = 0; round < 30; round++) {
        posenc_lookup lookup = {truth_below(5) - 2, round % 2 ? 1.0f : 0.3f, (posenc_out_of_range)truth_below(3)};
        int64_t ids[TOKENS * BATCH], ne[4] = {DIM, TOKENS, BATCH, 1};
        int is_strict = lookup.policy == POSENC_OUT_OF_RANGE_ERROR;
        for (int t = 0; t < TOKENS * BATCH; t++)
            ids[t] = is_strict ? truth_below(ROWS) - lookup.offset : truth_below(40) - 20;
        truth_tensor dy = truth_tensor_random_of((posenc_dtype)truth_below(3), ne);
        float want[ROWS][DIM], got[ROWS][DIM];
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < DIM; c++)
                want[r][c] = 0.5f;
        for (int64_t b = 0; b < BATCH; b++)
            for (int64_t t = 0; t < TOKENS; t++) {
                int64_t r = ids[b * TOKENS + t] + lookup.offset;
                if (lookup.policy == POSENC_OUT_OF_RANGE_CLAMP)
                    r = r < 0 ? 0 : r >= ROWS ? ROWS - 1 : r;
                for (int64_t c = 0; r >= 0 && r < ROWS && c < DIM; c++) {
                    float step = truth_get(&dy.view, c, t, b, 0) * lookup.scale;
                    want[r][c] += step;
                }
            }
        for (int tier = -1; truth_next_tier(&tier);) {
            for (int r = 0; r < ROWS; r++)
                for (int c = 0; c < DIM; c++)
                    got[r][c] = 0.5f;
            posenc_coords at = {ids, POSENC_COORD_I64, 0, TOKENS};
            posenc_view to = posenc_view_dense(got, POSENC_F32, DIM, ROWS, 1, 1);
            int64_t cut = truth_below(ROWS + 1);
            truth_ok(posenc_learned_backward(&lookup, &at, &dy.view, &to, (posenc_range){cut, ROWS}));
            truth_ok(posenc_learned_backward(&lookup, &at, &dy.view, &to, (posenc_range){0, cut}));
            truth_same_bits(&got[0][0], &want[0][0], ROWS * DIM, "table gradient");
        }
        truth_tensor_free(&dy);
    }
}

static void test_gate_gradient(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t dim = 1 + truth_below(100), ne[4] = {dim, 1 + truth_below(9), 1 + truth_below(3), 1};
        int64_t gate_ne[4] = {round % 2 ? dim : 1, ne[1], ne[2], 1};
        truth_tensor e = truth_tensor_random(ne), dy = truth_tensor_random(ne), gate = truth_tensor_random(gate_ne);
        truth_tensor nothing = truth_tensor_random(ne);
        TRUTH_EACH(&nothing.view, i, t, b, l)
        *truth_at(&nothing.view, i, t, b, l) = 0.0f;
        for (int tier = -1; truth_next_tier(&tier);) {
            truth_tensor dgate = truth_tensor_random(gate_ne), de = truth_tensor_random(ne);
            truth_ok(posenc_gate_backward(&e.view, &gate.view, &dy.view, &dgate.view, &de.view, posenc_range_all()));
            TRUTH_EACH(&dgate.view, i, t, b, l) {
                double sum = 0.0, size = 0.0;
                for (int64_t c = gate_ne[0] == 1 ? 0 : i; c < (gate_ne[0] == 1 ? dim : i + 1); c++) {
                    double product = (double)*truth_at(&dy.view, c, t, b, l) * (double)*truth_at(&e.view, c, t, b, l);
                    sum += product;
                    size += fabs(product);
                }
                truth_close((double)*truth_at(&dgate.view, i, t, b, l), sum, size * 0x1.1p-24, "dgate");
            }
            TRUTH_EACH(&de.view, i, t, b, l)
            assert_true(*truth_at(&de.view, i, t, b, l) ==
                        *truth_at(&dy.view, i, t, b, l) * *truth_at(&gate.view, gate_ne[0] == 1 ? 0 : i, t, b, l));
            truth_nothing_else_changed(&de, 0, dim, "de");
            truth_nothing_else_changed(&dgate, 0, gate_ne[0], "dgate");
            if (round < 2) { /* no gradient is no gradient, to the last bit */
                truth_ok(
                    posenc_gate_backward(&e.view, &gate.view, &nothing.view, &dgate.view, NULL, posenc_range_all()));
                TRUTH_EACH(&dgate.view, i, t, b, l)
                assert_true(*truth_at(&dgate.view, i, t, b, l) == 0.0f);
            }
            truth_tensor_free(&dgate);
            truth_tensor_free(&de);
        }
        truth_tensor_free(&e);
        truth_tensor_free(&dy);
        truth_tensor_free(&gate);
        truth_tensor_free(&nothing);
    }
}

/* ---- Seeded numbers ---- */

/* Number that splitmix64 maps to `bits`. */
static uint64_t before_mixing(uint64_t bits) {
    uint64_t z = bits ^ bits >> 31 ^ bits >> 62;
    z *= 0x319642b2d24d8ec3u; /* times 0x94d049bb133111eb: 1 */
    z ^= z >> 27 ^ z >> 54;
    z *= 0x96de1b173f119089u; /* times 0xbf58476d1ce4e5b9: 1 */
    return z ^ z >> 30 ^ z >> 60;
}

/* The distribution function takes each number back to the uniform one that it was made of: splitmix64 of seed and
 * place. The first is made of the bits given: beyond five deviations chance seldom gets. */
static void check_quantiles(uint64_t first_bits) {
    enum { N = 500 };
    static float x[N];
    const uint64_t seed = before_mixing(first_bits) - 0x9e3779b97f4a7c15u;
    posenc_view view = posenc_view_dense(x, POSENC_F32, N, 1, 1, 1);
    truth_ok(posenc_fill_normal(seed, 0.0, 1.0, &view, posenc_range_all()));
    for (uint64_t i = 0; i < N; i++) {
        uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        double u = ((double)((z ^ z >> 31) >> 12) + 0.5) * 0x1p-52, value = (double)x[i];
        double tail = u < 0.5 ? u : 1.0 - u, got = 0.5 * erfc(fabs(value) / sqrt(2.0));
        assert_true((value < 0.0) == (u < 0.5));
        double ulp = (double)(nextafterf(fabsf(x[i]), INFINITY) - fabsf(x[i]));
        double density = exp(-0.5 * value * value) * 0.39894228040143268;
        truth_close(got, tail, density * 0.502 * ulp + tail * 1e-13, "quantile of %g", u);
        assert_true(i > 0 || (z ^ z >> 31) == first_bits);
    }
}

static void test_quantiles(void) {
    for (int bit = 0; bit < 52; bit++) { /* down to u = 2^-53 */
        check_quantiles((uint64_t)1 << (12 + bit));
        check_quantiles(~((uint64_t)1 << (12 + bit)));
        check_quantiles(((uint64_t)1 << (12 + bit)) - 1);
    }
    for (uint64_t nearest = 0; nearest < 200; nearest++)
        check_quantiles(nearest << 12);
}

/* Moments and tails, and that numbers depend on seed and place alone. The hash says that they are the same on every
 * machine. */
static void test_random_numbers(void **state) {
    (void)state;
    enum { N = 500, ROWS = 400 };
    static float x[ROWS * N], y[ROWS * N];
    posenc_view view = posenc_view_dense(x, POSENC_F32, N, ROWS, 1, 1),
                other = posenc_view_dense(y, POSENC_F32, N, ROWS, 1, 1);
    truth_ok(posenc_fill_normal(1, 2.0, 3.0, &view, posenc_range_all()));
    double moments[5] = {0.0};
    int beyond = 0;
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < ROWS * N; i++) {
        double z = ((double)x[i] - 2.0) / 3.0;
        for (int k = 1; k <= 4; k++)
            moments[k] += pow(z, k) / (ROWS * N);
        beyond += fabs(z) > 1.959963984540054;
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    truth_close(moments[1], 0.0, 0.01, "mean");
    truth_close(moments[2], 1.0, 0.02, "variance");
    truth_close(moments[3], 0.0, 0.03, "skewness");
    truth_close(moments[4], 3.0, 0.1, "kurtosis");
    truth_close((double)beyond / (ROWS * N), 0.05, 0.002, "tails");
    if (hash != 0xf79f943988c83692u)
        fail_msg("the normal numbers have become others: hash %016llx", (unsigned long long)hash);
    test_quantiles();

    truth_ok(posenc_fill_normal(1, 2.0, 3.0, &other, (posenc_range){100, ROWS}));
    truth_ok(posenc_fill_normal(1, 2.0, 3.0, &other, (posenc_range){0, 100}));
    truth_same_bits(y, x, ROWS * N, "in two parts");
    truth_ok(posenc_fill_uniform(2, -0.1, 0.1, &view, posenc_range_all()));
    double sum = 0.0;
    for (int i = 0; i < ROWS * N; i++) {
        assert_true(x[i] >= -0.1f && x[i] <= 0.1f);
        sum += (double)x[i] / (ROWS * N);
    }
    truth_close(sum, 0.0, 0.0005, "mean of the uniform numbers");
    truth_close(posenc_xavier_uniform(300, 200), sqrt(6.0 / 500.0), 1e-15, "Xavier, uniform");
    truth_close(posenc_xavier_normal(300, 200), sqrt(2.0 / 500.0), 1e-15, "Xavier, normal");
    assert_true(posenc_xavier_normal(0, 0) == 0.0 && posenc_xavier_uniform(-1, 5) == 0.0);
}

/* A number between two halves, or next to the middle of them, goes to the nearest: on its way it must not be rounded to
 * a float, and then, a second time, away from it. */
static void test_random_halves(void **state) {
    (void)state;
    const struct {
        posenc_dtype type;
        double mean, want;
    } cases[] = {
        {POSENC_F16, 1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-10},
        {POSENC_F16, 1.0 + 0x1p-11, 1.0},
        {POSENC_F16, 1.0 + 0x1p-11 - 0x1p-40, 1.0},
        {POSENC_F16, -1.0 - 0x1p-11 - 0x1p-40, -1.0 - 0x1p-10},
        {POSENC_F16, 1.0 + 0x3p-11 - 0x1p-40, 1.0 + 0x1p-10},
        {POSENC_BF16, 1.0 + 0x1p-8 + 0x1p-40, 1.0 + 0x1p-7},
        {POSENC_BF16, 1.0 + 0x3p-8 - 0x1p-40, 1.0 + 0x1p-7},
        {POSENC_BF16, -3.0 - 0x1p-7 + 0x1p-40, -3.0},
        {POSENC_F16, 1.0 + 0x1p-11 + 0x1p-23 - 0x1p-40, 1.0 + 0x1p-10}, /* next to a float that is odd already */
        {POSENC_F16, 1.0 + 0x3p-11 - 0x1p-23 + 0x1p-40, 1.0 + 0x1p-10},
        {POSENC_F32, 1.0 + 0x1p-24 + 0x1p-40, 1.0 + 0x1p-23}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float memory = 0.0f;
        posenc_view y = posenc_view_dense(&memory, cases[i].type, 1, 1, 1, 1);
        truth_ok(posenc_fill_normal(5, cases[i].mean, 0.0, &y, posenc_range_all()));
        truth_close((double)truth_get(&y, 0, 0, 0, 0), cases[i].want, 0.0, "case %d", (int)i);
    }
}

/* ---- Position ids ---- */

static void test_position_ids(void **state) {
    (void)state;
    uint8_t mask[2][6] = {{0, 0, 1, 1, 9, 1}, {1, 1, 1, 0, 0, 0}};
    int32_t ids[2][6];
    const int32_t left[6] = {-1, -1, 0, 1, 2, 3}, right[6] = {0, 1, 2, -1, -1, -1};
    truth_ok(posenc_positions_masked(&mask[0][0], 6, 2, 0, -1, &ids[0][0]));
    assert_memory_equal(ids[0], left, sizeof left);
    assert_memory_equal(ids[1], right, sizeof right);
    truth_ok(posenc_positions_masked(&mask[0][0], 6, 2, INT32_MAX - 3, -1, &ids[0][0])); /* four real tokens fit */
    assert_int_equal(ids[0][5], INT32_MAX);

    const int32_t documents[7] = {4, 4, 4, 1, 4, 4, -2}, restarted[7] = {0, 1, 2, 0, 0, 1, 0};
    int32_t own[7];
    truth_ok(posenc_positions_documents(documents, 7, own));
    assert_memory_equal(own, restarted, sizeof own);

    int64_t sizes[3] = {2, 3, 4};
    int32_t planes[3][24];
    truth_ok(posenc_positions_grid(sizes, 3, &planes[0][0]));
    for (int t = 0; t < 24; t++)
        assert_true(planes[0][t] == t / 12 && planes[1][t] == t / 4 % 3 && planes[2][t] == t % 4);
    truth_ok(posenc_positions_grid(sizes, 1, planes[0]));
    assert_true(planes[0][0] == 0 && planes[0][1] == 1);
    truth_ok(posenc_positions_grid((int64_t[3]){INT32_MAX, 2, 0}, 3, NULL)); /* no token, in any order of the axes */
    truth_ok(posenc_positions_grid((int64_t[3]){0, INT32_MAX, 2}, 3, NULL));
}

/* A real position of -0 is 0, to the last bit. */
static void test_minus_zero(void **state) {
    (void)state;
    posenc_encoding *e;
    float of_zero[8], of_minus[8];
    const float minus = -0.0f;
    const int32_t zero = 0;
    posenc_coords at = posenc_coords_of(&minus, POSENC_COORD_F32);
    posenc_view y = posenc_view_dense(of_zero, POSENC_F32, 8, 1, 1, 1), other = y;
    other.data = of_minus;
    truth_ok(posenc_integer_create(8, 100, 1.5, &e));
    truth_ok(posenc_encoding_write(e, &zero, &y));
    truth_ok(posenc_encoding_apply(e, &at, NULL, NULL, &other, posenc_range_all()));
    assert_memory_equal(of_minus, of_zero, sizeof of_zero);
    posenc_encoding_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_timesteps),
        truth_test(test_shift),
        truth_test(test_grids),
        truth_test(test_fourier),
        truth_test(test_fourier_in_double),
        truth_test(test_integers),
        truth_test(test_bits),
        truth_test(test_bumps),
        truth_test(test_table_gradient),
        truth_test(test_gate_gradient),
        truth_test(test_random_numbers),
        truth_test(test_random_halves),
        truth_test(test_position_ids),
        truth_test(test_minus_zero),
        truth_test(test_one_rounding),
    };
    return truth_run(tests);
}
