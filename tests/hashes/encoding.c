/* SPDX-License-Identifier: MIT */
/* Hashes of absolute encodings, tables, convolution and arrays of positions. */
#include "public.h"

enum { TOKENS = 9, BATCH = 2 };

/* ---- Rows of any encoding ---- */

/* Coordinates of all tokens and axes between low and high, integers or (of a real type) not. */
static posenc_coords coords(sweep *s, posenc_coord_type type, int64_t n_axes, double low, double high) {
    size_t n = (size_t)n_axes * TOKENS * BATCH;
    double *values = take(n * sizeof(double)); /* of every type, the largest */
    for (size_t i = 0; i < n; i++) {
        double real = low + (high - low) * 0.5 * (1.0 + even(s, 1.0));
        switch (type) {
        case POSENC_COORD_I32: ((int32_t *)(void *)values)[i] = (int32_t)floor(real); break;
        case POSENC_COORD_I64: ((int64_t *)(void *)values)[i] = (int64_t)floor(real); break;
        case POSENC_COORD_F32: ((float *)(void *)values)[i] = (float)real; break;
        case POSENC_COORD_F64: values[i] = real; break;
        }
    }
    posenc_coords at = {values, type, 0, n_axes * TOKENS};
    return at;
}

/* Written, added, gated by token and by channel, to every type. */
static void hash_rows_at(sweep *s, const posenc_encoding *e, const posenc_coords *at) {
    int64_t dim = ASK(posenc_encoding_dim, e), row;
    CALL(posenc_encoding_check, e, at, TOKENS, BATCH, &row);
    hash_bytes(&s->hash, (uint64_t)row, 8);
    EACH_TYPE(type) {
        posenc_view y = zeros(type, dim, TOKENS, BATCH, 1), x = adversarial(s, type, dim, TOKENS, BATCH, 1);
        posenc_view gate = tensor(s, POSENC_F32, 1, TOKENS, BATCH, 1),
                    gates = tensor(s, POSENC_F32, dim, TOKENS, BATCH, 1);
        CALL(posenc_encoding_apply, e, at, NULL, NULL, &y, posenc_range_all());
        hash_view(s, &y);
        CALL(posenc_encoding_apply, e, at, &x, &gate, &y, posenc_range_all());
        hash_view(s, &y);
        CALL(posenc_encoding_apply, e, at, &x, &gates, &x, posenc_range_all());
        hash_view(s, &x);
    }
}

static void hash_encoding(sweep *s, posenc_encoding *e, posenc_coord_type type, double low, double high) {
    posenc_coords at = coords(s, type, ASK(posenc_encoding_axis_count, e), low, high);
    hash_rows_at(s, e, &at);
    if (type == POSENC_COORD_I32) {
        posenc_view y = zeros(POSENC_F16, posenc_encoding_dim(e), TOKENS, 1, 1);
        CALL(posenc_encoding_write, e, at.data, &y);
        hash_view(s, &y);
        CALL(posenc_encoding_add, e, at.data, &y);
        hash_view(s, &y);
    }
}

/* ---- Sinusoids ---- */

static const struct {
    posenc_coord_type type;
    double low, high;
} ranges[] = {{POSENC_COORD_I32, -0x1p31, 0x1p31 - 1},
              {POSENC_COORD_I32, -1000.0, 9000.0},
              {POSENC_COORD_I64, 0.0, 0x1p31 - 1},
              {POSENC_COORD_F32, -1000.0, 1000.0},
              {POSENC_COORD_F64, -0x1p31, 0x1p31}};

static posenc_encoding *sinusoid(posenc_sinusoidal_layout layout, posenc_schedule schedule, int64_t dim, int round) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.layout = layout;
    params.schedule = schedule;
    params.odd = round % 2 ? POSENC_ODD_ZERO : POSENC_ODD_SIN;
    params.dim = dim;
    params.base = round % 2 ? 500.0 : 10000.0;
    params.min_timescale = round % 2 ? 2.5 : 1.0;
    params.shift = round % 2 ? 0.3 : 0.0;
    params.scale = round % 2 ? 0.37 : 1.0;
    posenc_encoding *e;
    CALL(posenc_sinusoidal_create, &params, &e);
    return e;
}

void hash_sinusoidal(sweep *s) {
    static const int64_t dims[] = {2, 7, 64, 101};
    for (int layout = POSENC_SINUSOIDAL_INTERLEAVED; layout <= POSENC_SINUSOIDAL_CONCAT_COS; layout++)
        for (int schedule = POSENC_SCHEDULE_HALF; schedule <= POSENC_SCHEDULE_SHIFT; schedule++)
            for (size_t k = 0; k < 2 * COUNT(dims); k++) {
                int is_concat = layout == POSENC_SINUSOIDAL_CONCAT || layout == POSENC_SINUSOIDAL_CONCAT_COS;
                int64_t dim = dims[k / 2];
                if ((!is_concat && schedule != POSENC_SCHEDULE_HALF) ||
                    (layout == POSENC_SINUSOIDAL_COMPLEX && dim % 2))
                    continue;
                posenc_encoding *e = sinusoid((posenc_sinusoidal_layout)layout, (posenc_schedule)schedule, dim, (int)k);
                for (size_t r = 0; r < COUNT(ranges); r++) {
                    fresh();
                    hash_encoding(s, e, ranges[r].type, ranges[r].low, ranges[r].high);
                }
                if (dim % 2 == 0) {
                    posenc_view m = zeros(POSENC_F32, dim, dim, 1, 1);
                    CALL(posenc_sinusoidal_shift, e, any_position(s), &m);
                    hash_view(s, &m);
                }
                posenc_encoding_free(e);
            }
}

void hash_grids(sweep *s) {
    posenc_encoding *e;
    for (int64_t dim = 16; dim <= 208; dim += 64) {
        for (int flip = 0; flip < 2; flip++) {
            fresh();
            CALL(posenc_timestep_create, dim + 1, flip, flip ? 0.0 : 1.0, 1.5, 10000.0, &e);
            hash_encoding(s, e, POSENC_COORD_F32, 0.0, 1000.0);
            posenc_encoding_free(e);
        }
        for (int grid = POSENC_GRID_W_FIRST; grid <= POSENC_GRID_TENSOR2TENSOR; grid++) {
            fresh();
            CALL(posenc_grid_create, (posenc_grid)grid, dim, grid == POSENC_GRID_TENSOR2TENSOR ? 3 : 0, 10000.0, &e);
            hash_encoding(s, e, POSENC_COORD_I32, 0.0, 300.0);
            hash_encoding(s, e, POSENC_COORD_F64, -300.0, 300.0);
            posenc_encoding_free(e);
        }
    }
}

/* ---- Fourier features ---- */

void hash_fourier(sweep *s) {
    for (int64_t n = 1; n < 150; n = 2 * n + 3)
        for (int n_coords = 1; n_coords <= 3; n_coords++)
            for (int round = 0; round < 4; round++) {
                fresh();
                posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
                params.n_features = n;
                params.n_coords = n_coords;
                params.order = round % 2 ? POSENC_FOURIER_SIN_COS : POSENC_FOURIER_COS_SIN;
                params.matrix = round < 2 ? NULL : floats(s, (size_t)(n * n_coords), round == 2 ? 1.0 : 65536.0);
                params.sigma = round == 0 ? 1.0 : 10.0;
                params.seed = (uint64_t)round;
                posenc_encoding *e;
                CALL(posenc_fourier_create, &params, &e);
                hash_encoding(s, e, POSENC_COORD_F32, -1.0, 1.0);
                hash_encoding(s, e, POSENC_COORD_I32, -0x1p29, 0x1p29);
                posenc_encoding_free(e);
            }
}

/* ---- Learned tables ---- */

enum { TABLE = 20 };

/* A table and a gradient, of 13 channels, resized. */
static void hash_resized(sweep *s, const posenc_resize_params *params, posenc_dtype type, posenc_dtype y_type) {
    int64_t n_in = params->n_prefix + params->h_in * params->w_in;
    int64_t n_out = params->n_prefix + params->h_out * params->w_out;
    posenc_view x = tensor(s, type, 13, n_in, 1, 1), y = zeros(y_type, 13, n_out, 1, 1);
    posenc_view dy = tensor(s, type, 13, n_out, 1, 1), dx = tensor(s, POSENC_F32, 13, n_in, 1, 1);
    CALL(posenc_table_resize, params, &x, &y, posenc_range_all());
    CALL(posenc_table_resize_backward, params, &dy, &dx);
    hash_view(s, &y);
    hash_view(s, &dx);
}

void hash_learned(sweep *s) {
    for (int64_t dim = 1; dim < 150; dim = 2 * dim + 5)
        EACH_TYPE(type)
    for (int policy = POSENC_OUT_OF_RANGE_ERROR; policy <= POSENC_OUT_OF_RANGE_ZERO; policy++) {
        fresh();
        posenc_view table = adversarial(s, type, dim, TABLE, 1, 1);
        posenc_lookup lookup = {2, policy == POSENC_OUT_OF_RANGE_ERROR ? 1.0f : 0.7f, (posenc_out_of_range)policy};
        double low = policy == POSENC_OUT_OF_RANGE_ERROR ? -2.0 : -9.0,
               high = policy == POSENC_OUT_OF_RANGE_ERROR ? 17.0 : 30.0;
        posenc_encoding *e;
        CALL(posenc_learned_create, &table, &lookup, &e);
        hash_encoding(s, e, POSENC_COORD_I32, low, high);
        hash_encoding(s, e, POSENC_COORD_I64, low, high);
        posenc_encoding_free(e);

        posenc_coords ids = coords(s, POSENC_COORD_I32, 1, low, high);
        posenc_view dy = tensor(s, type, dim, TOKENS, BATCH, 1), dtable = tensor(s, POSENC_F32, dim, TABLE, 1, 1);
        CALL(posenc_learned_backward, &lookup, &ids, &dy, &dtable, posenc_range_all());
        hash_view(s, &dtable);
    }
}

/* The weights alone, and so close to their zeros that float32 shows what double has rounded. */
static void hash_weights(sweep *s, double cubic_a) {
    enum { N = 13 };
    fresh();
    posenc_view x = zeros(POSENC_F32, N, N, 1, 1), y = zeros(POSENC_F32, N, N, 1, 1);
    for (int i = 0; i < N; i++)
        ((float *)x.data)[i * N + i] = 1.0f;
    posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
    params.method = POSENC_RESIZE_CUBIC;
    params.w_in = params.w_out = N;
    params.w_ratio = 1.0 + 0x1p-30;
    params.cubic_a = cubic_a;
    CALL(posenc_table_resize, &params, &x, &y, posenc_range_all());
    hash_view(s, &y);
}

void hash_resize(sweep *s) {
    for (int i = 0; i < 20; i++)
        hash_weights(s, even(s, 1.0));
    static const int64_t shapes[][4] = {{1, 7, 1, 19}, {1, 19, 1, 7}, {1, 1, 1, 5}, {7, 5, 10, 9}, {14, 14, 6, 13}};
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int round = 0; round < 6; round++)
            EACH_TYPE(type) {
                fresh();
                posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
                params.method = round % 2 ? POSENC_RESIZE_CUBIC : POSENC_RESIZE_LINEAR;
                params.align_corners = round / 2 == 1;
                params.h_in = shapes[k][0], params.w_in = shapes[k][1];
                params.h_out = shapes[k][2], params.w_out = shapes[k][3];
                params.n_prefix = (int64_t)(k % 2);
                if (round / 2 == 2)
                    params.h_ratio = 0.71, params.w_ratio = 1.37;
                if (k == 3)
                    params.cubic_a = -0.5;
                hash_resized(s, &params, type, POSENC_F32);
            }
}

void hash_resize_antialias(sweep *s) {
    static const int64_t shapes[][4] = {{1, 19, 1, 7}, {1, 7, 1, 19}, {14, 14, 6, 13}, {24, 24, 1, 2}};
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int round = 0; round < 4; round++)
            EACH_TYPE(type) {
                fresh();
                posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
                params.method = round % 2 ? POSENC_RESIZE_CUBIC : POSENC_RESIZE_LINEAR;
                params.antialias = 1;
                params.h_in = shapes[k][0], params.w_in = shapes[k][1];
                params.h_out = shapes[k][2], params.w_out = shapes[k][3];
                params.n_prefix = (int64_t)(k % 2);
                if (round / 2 == 1) {
                    params.h_ratio = (double)params.h_in / ((double)params.h_out + 0.1);
                    params.w_ratio = (double)params.w_in / ((double)params.w_out + 0.1);
                }
                hash_resized(s, &params, type, type);
            }
}

/* ---- Integers, codes, bumps ---- */

static void hash_and_free(sweep *s, posenc_encoding *e, double high) {
    hash_encoding(s, e, POSENC_COORD_I32, 0.0, high);
    hash_encoding(s, e, POSENC_COORD_I64, 0.0, high);
    posenc_encoding_free(e);
}

static void hash_codes(sweep *s, int64_t dim) {
    static const double alphas[] = {0.0, 0.5, 1.0, 2.7, 31.0};
    posenc_encoding *e;
    for (size_t k = 0; k < COUNT(alphas); k++) {
        fresh();
        CALL(posenc_integer_create, dim, k % 2 ? 1000 : (int64_t)1 << 31, alphas[k], &e);
        hash_encoding(s, e, POSENC_COORD_F64, -5.0, 2000.0);
        hash_and_free(s, e, 0x1p31 - 1);
    }
    for (int code = POSENC_BITS_BINARY; code <= POSENC_BITS_GRAY; code++) {
        fresh();
        CALL(posenc_bits_create, dim, (posenc_bit_code)code, code ? -1.0f : 0.0f, 1.0f, &e);
        hash_and_free(s, e, 0x1p31 - 1);
    }
    for (int round = 0; round < 3; round++) {
        fresh();
        CALL(posenc_rbf_create, doubles(s, (size_t)dim, 100.0), dim, 0.5 + 10.0 * round, &e);
        hash_encoding(s, e, POSENC_COORD_F32, -100.0, 100.0);
        hash_and_free(s, e, 100.0);
    }
}

void hash_integer_rows(sweep *s) {
    static const int64_t dims[] = {1, 2, 16, 67, 130};
    for (size_t k = 0; k < COUNT(dims); k++)
        hash_codes(s, dims[k]);
    for (int round = 0; round < 100; round++) {
        uint64_t p = next(s) >> round % 60, q = next(s) >> round % 50;
        hash_bytes(&s->hash, ASK(posenc_gray_encode, p), 8);
        hash_bytes(&s->hash, ASK(posenc_gray_decode, p), 8);
        hash_bytes(&s->hash, (uint64_t)ASK(posenc_hamming_binary, p, q), 4);
        hash_bytes(&s->hash, (uint64_t)ASK(posenc_hamming_gray, p, q), 4);
    }
}

/* ---- Made of others ---- */

void hash_parts(sweep *s) {
    for (int64_t dim = 6; dim < 80; dim = 3 * dim + 1)
        for (int round = 0; round < 4; round++) {
            fresh();
            posenc_view table = tensor(s, round % 2 ? POSENC_BF16 : POSENC_F32, dim, TABLE, 1, 1);
            posenc_lookup lookup = {0, 0.7f, round < 2 ? POSENC_OUT_OF_RANGE_CLAMP : POSENC_OUT_OF_RANGE_ZERO};
            posenc_encoding *sines = sinusoid(POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, dim, round), *learned, *e;
            CALL(posenc_learned_create, &table, &lookup, &learned);
            const posenc_part hybrid[] = {{.encoding = sines, .first = 1, .width = dim - 3},
                                          {.width = 3},
                                          {.encoding = learned, .axis = round % 2}};
            const posenc_part blocks[] = {{.encoding = sines, .divide = 7}, {.encoding = learned, .modulo = 7}};
            const posenc_part trainable[] = {
                {.encoding = learned}, {.encoding = sines}, {.encoding = learned, .axis = 1}};
            CALL(posenc_encoding_concat, hybrid, COUNT(hybrid), &e);
            hash_encoding(s, e, POSENC_COORD_I32, -10.0, 40.0);
            posenc_encoding_free(e);
            CALL(posenc_encoding_sum, blocks, COUNT(blocks), &e);
            hash_encoding(s, e, POSENC_COORD_I64, -200.0, 40.0);
            posenc_encoding_free(e);
            CALL(posenc_encoding_sum, trainable, COUNT(trainable), &e);
            hash_encoding(s, e, POSENC_COORD_I32, -10.0, 40.0);
            posenc_encoding_free(e);
            posenc_encoding_free(sines);
            posenc_encoding_free(learned);
        }
}

void hash_gates(sweep *s) {
    for (int64_t dim = 1; dim < 300; dim = 2 * dim + 3)
        for (int by_channel = 0; by_channel < 2; by_channel++) {
            fresh();
            int64_t width = by_channel ? dim : 1;
            posenc_view e = adversarial(s, POSENC_F32, dim, TOKENS, BATCH, 1),
                        dy = adversarial(s, POSENC_F32, dim, TOKENS, BATCH, 1);
            posenc_view gate = tensor(s, POSENC_F32, width, TOKENS, BATCH, 1);
            posenc_view dgate = zeros(POSENC_F32, width, TOKENS, BATCH, 1),
                        de = zeros(POSENC_F32, dim, TOKENS, BATCH, 1);
            CALL(posenc_gate_backward, &e, &gate, &dy, &dgate, &de, posenc_range_all());
            hash_view(s, &dgate);
            hash_view(s, &de);
        }
}

/* ---- Random numbers ---- */

/* Bits of one number that float32 lacks. */
static void hash_lost_bits(sweep *s, uint64_t seed) {
    float one;
    posenc_view y = posenc_view_dense(&one, POSENC_F32, 1, 1, 1, 1);
    CALL(posenc_fill_normal, seed, 0.0, 1.0, &y, posenc_range_all());
    CALL(posenc_fill_normal, seed, -(double)one, 1.0, &y, posenc_range_all());
    hash_view(s, &y);
}

void hash_random(sweep *s) {
    for (uint64_t seed = 0; seed < 1000; seed++)
        hash_lost_bits(s, seed);
    for (int64_t n = 1; n < 2000; n = 3 * n + 1)
        EACH_TYPE(type) {
            fresh();
            posenc_view y = zeros(type, n, 5, 1, 1);
            double low = -fabs(even(s, 2.0)), high = fabs(even(s, 3.0));
            CALL(posenc_fill_normal, (uint64_t)n, low, high, &y, posenc_range_all());
            hash_view(s, &y);
            CALL(posenc_fill_uniform, (uint64_t)n, low, high, &y, posenc_range_all());
            hash_view(s, &y);
            double limits[] = {ASK(posenc_xavier_uniform, n, 3 * n + 1), ASK(posenc_xavier_normal, 7, n)};
            hash_doubles(&s->hash, limits, 2);
        }
}

/* ---- Convolution ---- */

static void hash_conv_of(sweep *s, const posenc_conv_params *params, posenc_conv_grid grid) {
    int64_t n_channels = params->n_channels,
            n_taps = params->n_dims == 1 ? params->kernel : params->kernel * params->kernel;
    int64_t n_tokens = grid.n_prefix + grid.height * grid.width;
    size_t n_weights = (size_t)(n_channels * n_taps);
    fresh();
    posenc_conv *conv;
    float *bias = params->kernel == 5 ? NULL : floats(s, (size_t)n_channels, 1.0);
    CALL(posenc_conv_create, params, floats(s, n_weights, 1.0), bias, &conv);
    EACH_TYPE(type) {
        posenc_view x = tensor(s, type, n_channels, n_tokens, BATCH, 1);
        posenc_view y = zeros(POSENC_F32, n_channels, n_tokens, BATCH, 1),
                    dx = zeros(type, n_channels, n_tokens, BATCH, 1);
        CALL(posenc_conv_apply, conv, grid, &x, &y, posenc_range_all());
        hash_view(s, &y);
        CALL(posenc_conv_backward_input, conv, grid, &y, &dx, posenc_range_all());
        hash_view(s, &dx);
    }
    posenc_view x = tensor(s, POSENC_F32, n_channels, n_tokens, BATCH, 1),
                dy = tensor(s, POSENC_F32, n_channels, n_tokens, BATCH, 1);
    float *dw = floats(s, n_weights, 1.0), *db = floats(s, (size_t)n_channels, 1.0);
    CALL(posenc_conv_backward_weights, conv, grid, &x, &dy, dw, db, posenc_range_all());
    hash_floats(&s->hash, dw, n_weights);
    hash_floats(&s->hash, db, (size_t)n_channels);
    posenc_conv_free(conv);
}

void hash_conv(sweep *s) {
    static const int64_t channels[] = {1, 6, 64, 67};
    for (size_t c = 0; c < COUNT(channels); c++)
        for (int64_t kernel = 1; kernel <= 7; kernel++) {
            posenc_conv_params params = {channels[c], 1, kernel, kernel % 2 == 0 || kernel == 7, kernel % 3 != 0};
            hash_conv_of(s, &params, (posenc_conv_grid){kernel % 2, 1, 11});
            params.n_dims = 2;
            params.is_causal = 0;
            if (kernel % 2 == 1 && kernel > 1)
                hash_conv_of(s, &params, (posenc_conv_grid){1, 6, 5});
        }
}

static void hash_grouped_conv_of(sweep *s, const posenc_grouped_conv_params *params, int64_t n_tokens) {
    int64_t n = params->n_channels;
    size_t n_weights = (size_t)(params->kernel * n * (n / params->n_groups));
    fresh();
    posenc_grouped_conv *conv;
    float *bias = params->kernel == 5 ? NULL : floats(s, (size_t)n, 1.0);
    CALL(posenc_grouped_conv_create, params, floats(s, n_weights, 1.0), bias, &conv);
    EACH_TYPE(type) {
        posenc_view x = tensor(s, type, n, n_tokens, BATCH, 1), y = zeros(type, n, n_tokens, BATCH, 1);
        posenc_view dx = zeros(POSENC_F32, n, n_tokens, BATCH, 1);
        CALL(posenc_grouped_conv_apply, conv, &x, &y, posenc_range_all());
        hash_view(s, &y);
        CALL(posenc_grouped_conv_backward_input, conv, &y, &dx, posenc_range_all());
        hash_view(s, &dx);
    }
    posenc_view x = tensor(s, POSENC_F32, n, n_tokens, BATCH, 1), dy = tensor(s, POSENC_F32, n, n_tokens, BATCH, 1);
    float *dw = floats(s, n_weights, 1.0), *db = floats(s, (size_t)n, 1.0);
    CALL(posenc_grouped_conv_backward_weights, conv, &x, &dy, dw, db, posenc_range_all());
    hash_floats(&s->hash, dw, n_weights);
    hash_floats(&s->hash, db, (size_t)n);
    posenc_grouped_conv_free(conv);
}

void hash_grouped_conv(sweep *s) {
    static const posenc_grouped_conv_params shapes[] = {
        {4, 4, 3, 1}, {6, 2, 128, 1}, {33, 1, 4, 1}, {96, 2, 5, 1}, {70, 1, 2, 1}};
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int64_t n_tokens = 1; n_tokens < 60; n_tokens = n_tokens * 6 + 5)
            hash_grouped_conv_of(s, &shapes[k], n_tokens);
}

/* ---- Positions ---- */

void hash_positions(sweep *s) {
    enum { N = 60 };
    static const int64_t sizes[] = {3, 4, 5};
    static const int32_t ends[] = {0, 7, 7, 30, N}, starts[] = {3, -1, 100, 7};
    static const int32_t documents[] = {4, 4, 4, 1, 1, 9, 4, 4};
    int32_t planes[3 * N];
    uint8_t mask[N];
    for (size_t i = 0; i < N; i++)
        mask[i] = (uint8_t)(next(s) % 3);
    CALL(posenc_positions_range, -5, N, planes);
    hash_integers(s, planes, N);
    CALL(posenc_positions_packed, ends, starts, 4, planes);
    hash_integers(s, planes, N);
    CALL(posenc_positions_masked, mask, N / 3, 3, 2, 1, planes);
    hash_integers(s, planes, N);
    CALL(posenc_positions_documents, documents, 8, planes);
    hash_integers(s, planes, 8);
    CALL(posenc_positions_grid, sizes, 3, planes);
    hash_integers(s, planes, COUNT(planes));
}
