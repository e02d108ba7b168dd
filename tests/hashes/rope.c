/* SPDX-License-Identifier: MIT */
/* Hashes of frequencies, angles and rotations. */
#include "public.h"

#include <string.h>

#include "rope/rope.h"

/* ---- Angles ---- */

enum { TOKENS = 11, BATCH = 2, HEADS = 3 };

/* Neighbours of a block's border, far ones, the ends of the range, and rows that follow each other. */
static int32_t *spread_positions(sweep *s, size_t n) {
    static const int32_t special[] = {0, INT32_MAX, INT32_MIN, 15, 16, -17, 1000000};
    int32_t *positions = integers(s, n, -5000, 200000);
    for (size_t i = 0; i < n; i++)
        if (i % 4 == 0)
            positions[i] = any_position(s);
        else if (i % 4 == 1)
            positions[i] = special[next(s) % COUNT(special)];
        else if (i % 4 == 2 && positions[i - 1] < INT32_MAX)
            positions[i] = positions[i - 1] + 1;
    return positions;
}

/* Double-double too: its last bits show at no position. */
static void hash_frequency_bits(sweep *s, const posenc_freq *freq) {
    for (int64_t i = 0; i < freq->n; i++)
        hash_dd(s, (posenc_dd){freq->hi[i], freq->lo[i]});
    if (freq->growth != NULL)
        hash_doubles(&s->hash, freq->growth, (size_t)freq->n);
}

static void hash_freq(sweep *s, posenc_freq *freq) {
    hash_frequency_bits(s, freq);
    int64_t n = ASK(posenc_freq_count, freq);
    hash_bytes(&s->hash, (uint64_t)n, 8);
    for (int64_t i = 0; i < n; i++) {
        double theta = ASK(posenc_freq_theta, freq, i);
        hash_doubles(&s->hash, &theta, 1);
    }
}

static void hash_freq_rows(sweep *s, posenc_freq *freq, size_t n_positions) {
    int64_t stride = posenc_freq_count(freq) + 1;
    int32_t *positions = spread_positions(s, n_positions);
    float *cosines = take(n_positions * (size_t)stride * sizeof(float));
    float *sines = take(n_positions * (size_t)stride * sizeof(float));
    CALL(posenc_angle_rows, freq, positions, (int64_t)n_positions, cosines, sines, stride);
    hash_floats(&s->hash, cosines, n_positions * (size_t)stride);
    hash_floats(&s->hash, sines, n_positions * (size_t)stride);
}

static const double bases[] = {1.0, 1.5, 100.0, 10000.0, 500000.0, 1e6, 3.7e15, 1e30};
static const int64_t dims[] = {0, 2, 10, 64, 96, 128, 254};

/* Frequencies given as numbers, of any exponent that is allowed. */
static posenc_freq *own_frequencies(sweep *s, size_t n) {
    double *theta = doubles(s, n, 1.0);
    for (size_t i = 0; i < n; i++)
        theta[i] = ldexp(theta[i], (int)between(s, -60, 16));
    posenc_freq *freq;
    CALL(posenc_freq_create_values, theta, (int64_t)n, &freq);
    return freq;
}

static void with_each_table(sweep *s, void (*hash)(sweep *, posenc_freq *)) {
    posenc_freq *freq;
    for (size_t b = 0; b < COUNT(bases); b++)
        for (size_t d = 0; d < COUNT(dims); d++) {
            fresh();
            CALL(posenc_freq_create, bases[b], dims[d], &freq);
            hash(s, freq);
            posenc_freq_free(freq);
        }
    for (size_t n = 1; n < 200; n = 2 * n + 1) {
        fresh();
        freq = own_frequencies(s, n);
        hash(s, freq);
        posenc_freq_free(freq);
    }
}

void hash_frequencies(sweep *s) {
    with_each_table(s, hash_freq);
}

static void hash_some_rows(sweep *s, posenc_freq *freq) {
    hash_freq_rows(s, freq, 1);
    hash_freq_rows(s, freq, 37);
}

void hash_angle_rows(sweep *s) {
    with_each_table(s, hash_some_rows);
}

/* ---- Parameters of a rope ---- */

static posenc_rope *rope_of(const posenc_rope_params *params) {
    posenc_rope *rope;
    CALL(posenc_rope_create, params, &rope);
    return rope;
}

static posenc_rope_params params_of(posenc_rope_layout layout, int64_t n_rot, double base) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = layout;
    params.head_dim = params.n_rot = n_rot;
    params.base = base;
    return params;
}

static void hash_table(sweep *s, const posenc_rope *rope, int32_t *positions, posenc_direction direction) {
    int64_t bytes = ASK(posenc_rope_table_bytes, rope, TOKENS);
    float *values = take((size_t)bytes);
    posenc_rope_table table = ASK(posenc_rope_table_dense, rope, values);
    CALL(posenc_rope_table_fill, rope, positions, TOKENS, direction, &table);
    hash_floats(&s->hash, values, (size_t)bytes / sizeof(float));
}

/* Its numbers, and rows of cosines and sines. */
static void hash_rope(sweep *s, const posenc_rope_params *params) {
    posenc_rope *rope = rope_of(params);
    int64_t n_pairs = ASK(posenc_rope_pair_count, rope);
    int n_axes = ASK(posenc_rope_axis_count, rope);
    double magnitude = ASK(posenc_rope_magnitude, rope);
    hash_bytes(&s->hash, (uint64_t)n_pairs, 8);
    hash_bytes(&s->hash, (uint64_t)n_axes, 4);
    hash_doubles(&s->hash, &magnitude, 1);
    for (int64_t i = 0; i < n_pairs; i++) {
        double theta = ASK(posenc_rope_theta, rope, i);
        hash_doubles(&s->hash, &theta, 1);
        hash_bytes(&s->hash, (uint64_t)ASK(posenc_rope_axis, rope, i), 4);
    }
    for (int a = 0; a < n_axes; a++)
        for (int64_t i = 0; i < n_pairs; i++)
            if (posenc_rope_axis(rope, i) == a)
                hash_dd(s, (posenc_dd){rope->freq->hi[i], rope->freq->lo[i]});
    hash_table(s, rope, spread_positions(s, (size_t)n_axes * TOKENS), POSENC_FORWARD);
    posenc_rope_free(rope);
}

static double *factors(sweep *s, size_t n, double low, double high) {
    double *list = doubles(s, n, 1.0);
    for (size_t i = 0; i < n; i++)
        list[i] = low + (high - low) * fabs(list[i]);
    return list;
}

/* Numbers of every scheme: each takes what it needs. */
static posenc_rope_scaling scaling_of(sweep *s, posenc_scaling_type type, int round, size_t n_pairs) {
    static const double by[] = {1.5, 2.0, 8.0, 40.0};
    static const double trained[] = {2048.0, 4096.0, 8192.0, 131072.0};
    posenc_rope_scaling scaling = POSENC_ROPE_SCALING_DEFAULTS;
    scaling.type = type;
    scaling.n_factors = (int64_t)n_pairs;
    if (type != POSENC_SCALING_NONE && type != POSENC_SCALING_GGML)
        scaling.factor = by[round];
    scaling.original_context = scaling.max_context = trained[round];
    scaling.context = trained[round] * (0.5 + round);
    scaling.alpha = 0.75 + by[round];
    scaling.proportion = 0.25 + 0.2 * round;
    if (type == POSENC_SCALING_GGML) {
        scaling.freq_scale = 1.0 / by[round];
        scaling.ext_factor = 0.5 * (round % 3);
    }
    scaling.truncate = round % 2;
    if (round == 2)
        scaling.mscale = 0.707, scaling.mscale_all_dim = 1.1;
    if (round == 3)
        scaling.attn_factor = 1.2;
    if (round % 2)
        scaling.freq_factors = factors(s, n_pairs, 0.5, 40.0);
    scaling.short_factors = factors(s, n_pairs, 1.0, 2.0);
    scaling.long_factors = factors(s, n_pairs, 1.0, 64.0);
    return scaling;
}

void hash_rope_scalings(sweep *s) {
    static const int64_t widths[] = {4, 10, 64, 128};
    for (int type = POSENC_SCALING_NONE; type <= POSENC_SCALING_GGML; type++)
        for (size_t w = 0; w < COUNT(widths); w++)
            for (int round = 0; round < 4; round++) {
                fresh();
                posenc_rope_params params = params_of(POSENC_ROPE_HALF, widths[w], round % 2 ? 500000.0 : 10000.0);
                params.scaling = scaling_of(s, (posenc_scaling_type)type, round, (size_t)widths[w] / 2);
                hash_rope(s, &params);
            }
}

void hash_rope_factors(sweep *s) {
    for (int round = 0; round < 200; round++) {
        fresh();
        posenc_rope_scaling scaling = scaling_of(s, POSENC_SCALING_YARN, round % 4, 1);
        scaling.factor = 1.0 + fabs(even(s, 100.0));
        scaling.mscale_all_dim = round % 7 == 0 ? 0.0 : fabs(even(s, 2.0));
        double multiplier = ASK(posenc_rope_softmax_multiplier, &scaling);
        hash_doubles(&s->hash, &multiplier, 1);
        int32_t position = (int32_t)(between(s, 0, INT32_MAX) >> round % 31);
        double temperature = ASK(posenc_query_temperature, position, even(s, 1.0), round % 2 ? 8192.0 : 1.7);
        hash_doubles(&s->hash, &temperature, 1);
    }
}

static const posenc_rope_axes all_axes[] = {
    /* of 32 pairs */
    {POSENC_AXES_MROPE, 2, {20, 12, 0, 0}},      {POSENC_AXES_MROPE, 3, {8, 12, 12, 0}},
    {POSENC_AXES_MROPE, 4, {8, 8, 9, 7}},        {POSENC_AXES_IMROPE, 3, {12, 10, 10, 0}},
    {POSENC_AXES_IMROPE_GGML, 4, {11, 9, 9, 3}}, {POSENC_AXES_VISION, 2, {16, 16, 0, 0}},
    {POSENC_AXES_VISION, 4, {7, 9, 11, 5}},      {POSENC_AXES_PIXTRAL, 2, {0, 0, 0, 0}},
    {POSENC_AXES_AXIAL, 3, {8, 12, 12, 0}},      {POSENC_AXES_AXIAL, 4, {1, 7, 12, 12}},
};

void hash_rope_axes(sweep *s) {
    for (size_t k = 0; k < COUNT(all_axes); k++)
        for (int round = 0; round < 3; round++) {
            fresh();
            posenc_rope_params params = params_of(POSENC_ROPE_INTERLEAVED, 64, round == 1 ? 1e6 : 10000.0);
            params.axes = all_axes[k];
            if (round == 2 && params.axes.kind < POSENC_AXES_VISION)
                params.scaling = scaling_of(s, POSENC_SCALING_YARN, 1, 32);
            hash_rope(s, &params);
        }
}

static const posenc_rope_axes newer_axes[] = {
    /* of 32 pairs */
    {POSENC_AXES_ALTERNATE, 2, {0, 0, 0, 0}}, {POSENC_AXES_ALTERNATE, 4, {0, 0, 0, 0}},
    {POSENC_AXES_ERNIE, 3, {10, 11, 11, 0}},  {POSENC_AXES_LIST, 1, {0, 0, 0, 0}},
    {POSENC_AXES_LIST, 4, {0, 0, 0, 0}},
};

/* Lists of axes and frequencies, bases of axes, and the kinds of axes that came with them. */
void hash_rope_lists(sweep *s) {
    for (size_t k = 0; k < COUNT(newer_axes); k++)
        for (int round = 0; round < 3; round++) {
            fresh();
            posenc_rope_params params = params_of(POSENC_ROPE_INTERLEAVED, 64, 500000.0);
            params.axes = newer_axes[k];
            if (params.axes.kind == POSENC_AXES_LIST)
                params.lists.axes = integers(s, 32, 0, params.axes.n_axes - 1);
            params.lists.theta = round == 1 ? doubles(s, 32, 3.0) : NULL;
            for (int a = 0; round == 2 && a < params.axes.n_axes; a++)
                params.lists.bases[a] = 100.0 + 1000.0 * a;
            hash_rope(s, &params);
        }
    posenc_rope_scaling scaling = scaling_of(s, POSENC_SCALING_YARN, 1, 1);
    for (int k = 0; k < 31; k++) {
        scaling.temperature_beta = 0.01 * k;
        double temperature = ASK(posenc_rope_query_temperature, &scaling, INT32_MAX >> k);
        hash_doubles(&s->hash, &temperature, 1);
    }
}

static void hash_fields(sweep *s, const char *type, const char *const *names, const double *values, size_t n) {
    fresh();
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    for (size_t i = 0; i < n; i++)
        CALL(posenc_rope_set_number, &params, names[i], values[i]);
    CALL(posenc_rope_set_string, &params, "rope_type", type);
    if (strcmp(type, "longrope") == 0) {
        params.scaling.context = 9000.0;
        CALL(posenc_rope_set_list, &params, "short_factor", factors(s, 48, 1.0, 2.0), 48);
        CALL(posenc_rope_set_list, &params, "long_factor", factors(s, 48, 1.0, 60.0), 48);
    }
    hash_rope(s, &params);
}

void hash_rope_config(sweep *s) {
    static const char *const types[] = {"default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"};
    static const char *const hf[] = {"head_dim",
                                     "rope_theta",
                                     "original_max_position_embeddings",
                                     "max_position_embeddings",
                                     "beta_fast",
                                     "beta_slow",
                                     "mscale",
                                     "factor"};
    static const char *const gguf[] = {
        "llama.attention.key_length", "llama.rope.freq_base",           "llama.rope.scaling.original_context_length",
        "llama.context_length",       "llama.rope.scaling.attn_factor", "llama.rope.scaling.yarn_log_multiplier",
        "llama.rope.dimension_count", "llama.rope.scaling.factor"};
    static const double hf_values[] = {96.0, 500000.0, 4096.0, 131072.0, 32.0, 1.0, 0.707, 8.5};
    static const double gguf_values[] = {128.0, 1e6, 8192.0, 16384.0, 1.1, 0.1, 96.0, 3.0};
    for (size_t t = 0; t < COUNT(types); t++) {
        size_t n = strcmp(types[t], "default") == 0 ? COUNT(hf) - 1 : COUNT(hf);
        hash_fields(s, types[t], hf, hf_values, n);
        if (strcmp(types[t], "proportional") != 0)
            hash_fields(s, types[t], gguf, gguf_values, n);
    }
}

void hash_rope_ggml(sweep *s) {
    static const struct {
        int mode, n_dims, sections[4];
    } modes[] = {
        {0, 128, {0}}, {2, 96, {0}}, {8, 128, {16, 24, 24, 0}}, {24, 64, {32, 32, 0, 0}}, {40, 128, {24, 20, 20, 0}}};
    for (size_t m = 0; m < COUNT(modes); m++)
        for (int round = 0; round < 6; round++) {
            fresh();
            posenc_rope_ggml ggml = POSENC_ROPE_GGML_DEFAULTS;
            ggml.head_dim = 128;
            ggml.n_dims = modes[m].n_dims;
            ggml.mode = modes[m].mode;
            memcpy(ggml.sections, modes[m].sections, sizeof ggml.sections);
            ggml.n_ctx_orig = round % 3 == 0 ? 0 : 8192;
            ggml.freq_base = round % 2 ? 500000.0 : 10000.0;
            ggml.freq_scale = 1.0 / (1 + round);
            ggml.ext_factor = round % 3 == 0 ? 0.0 : 0.5 * (round % 3);
            ggml.attn_factor = 1.0 + 0.1 * round;
            float list[64];
            for (size_t i = 0; i < COUNT(list); i++)
                list[i] = (float)(1.0 + fabs(even(s, 30.0)));
            ggml.freq_factors = round >= 4 ? list : NULL;
            ggml.n_freq_factors = COUNT(list);
            posenc_rope_params params;
            CALL(posenc_rope_params_from_ggml, &ggml, &params);
            hash_rope(s, &params);
        }
}

/* ---- Tables and rotations ---- */

static posenc_rope_params xpos_params(posenc_xpos_role role, int64_t n_rot) {
    posenc_rope_params params = params_of(POSENC_ROPE_HALF, n_rot, 10000.0);
    params.xpos = (posenc_xpos){role, 0.4, 512.0, role == POSENC_XPOS_KEY ? 700 : 0};
    return params;
}

/* Every direction with a magnitude and with growth; pairs of cosine and sine, and rows of either. */
void hash_rope_tables(sweep *s) {
    for (int64_t n_rot = 2; n_rot < 300; n_rot += n_rot / 4 * 2 + 2)
        for (int role = POSENC_XPOS_OFF; role <= POSENC_XPOS_KEY; role++)
            for (int direction = POSENC_FORWARD; direction <= POSENC_SHIFT; direction++) {
                if (direction == POSENC_INVERSE && role != POSENC_XPOS_OFF)
                    continue;
                fresh();
                posenc_rope_params params = xpos_params((posenc_xpos_role)role, n_rot);
                if (role == POSENC_XPOS_OFF)
                    params.scaling = scaling_of(s, POSENC_SCALING_YARN, 2, (size_t)n_rot / 2);
                posenc_rope *rope = rope_of(&params);
                hash_frequency_bits(s, rope->freq);
                hash_table(s, rope, spread_positions(s, TOKENS), (posenc_direction)direction);
                hash_table(s, rope, integers(s, TOKENS, -3000, 40000), (posenc_direction)direction);
                float *pairs = take((size_t)n_rot * TOKENS * sizeof(float));
                posenc_rope_table table = {pairs, pairs + 1, n_rot, 2, 0};
                CALL(posenc_rope_table_fill, rope, spread_positions(s, TOKENS), TOKENS, (posenc_direction)direction,
                     &table);
                hash_floats(&s->hash, pairs, (size_t)n_rot * TOKENS);
                posenc_rope_free(rope);
            }
}

/* Out of place, and in place where types and layout allow it. */
static void hash_rotation(sweep *s, const posenc_rope_params *params, posenc_dtype x_type, posenc_dtype y_type,
                          posenc_direction direction) {
    fresh();
    posenc_rope *rope = rope_of(params);
    int64_t dim = params->head_dim;
    posenc_view x = adversarial(s, x_type, dim, HEADS, TOKENS, BATCH), y = zeros(y_type, dim, HEADS, TOKENS, BATCH);
    int32_t *positions = spread_positions(s, (size_t)posenc_rope_axis_count(rope) * TOKENS);
    CALL(posenc_rope_apply, rope, &x, positions, &y, direction, posenc_range_all());
    hash_view(s, &y);
    if (params->layout != POSENC_ROPE_DEINTERLEAVE && x_type == y_type) {
        CALL(posenc_rope_apply, rope, &x, positions, &x, direction, posenc_range_all());
        hash_view(s, &x);
    }
    posenc_rope_free(rope);
}

void hash_rope_apply(sweep *s) {
    static const int64_t shapes[][3] = {
        {2, 2, 0}, {13, 6, 3}, {64, 64, 0}, {101, 66, 17}}; /* head_dim, n_rot, n_offs */
    for (int layout = POSENC_ROPE_HALF; layout <= POSENC_ROPE_DEINTERLEAVE; layout++)
        for (int direction = POSENC_FORWARD; direction <= POSENC_SHIFT; direction++)
            for (size_t k = 0; k < COUNT(shapes); k++) {
                if (layout == POSENC_ROPE_DEINTERLEAVE && direction != POSENC_FORWARD)
                    continue;
                posenc_rope_params params = params_of((posenc_rope_layout)layout, shapes[k][1], 10000.0);
                params.head_dim = shapes[k][0];
                params.n_offs = shapes[k][2];
                params.scaling.attention_factor = k % 2 ? 1.3 : 0.0;
                params.scaling.type = k % 2 ? POSENC_SCALING_LINEAR : POSENC_SCALING_NONE;
                params.scaling.factor = k % 2 ? 3.0 : 0.0;
                EACH_TYPE(x_type)
                EACH_TYPE(y_type)
                hash_rotation(s, &params, x_type, y_type, (posenc_direction)direction);
            }
    for (size_t k = 0; k < COUNT(all_axes); k++) {
        posenc_rope_params params = params_of(k % 2 ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED, 64, 10000.0);
        params.axes = all_axes[k];
        hash_rotation(s, &params, POSENC_F32, POSENC_F32, POSENC_FORWARD);
    }
}

void hash_rope_halves(sweep *s) {
    for (size_t k = 0; k < COUNT(all_axes); k++) {
        posenc_rope_params params = params_of(POSENC_ROPE_HALF_BY_AXIS, 64, 100.0);
        params.axes = all_axes[k];
        if (params.axes.kind != POSENC_AXES_MROPE && params.axes.kind != POSENC_AXES_VISION &&
            params.axes.kind != POSENC_AXES_AXIAL)
            continue;
        for (int direction = POSENC_FORWARD; direction <= POSENC_SHIFT; direction++) {
            hash_rotation(s, &params, POSENC_F32, POSENC_F32, (posenc_direction)direction);
            hash_rotation(s, &params, POSENC_BF16, POSENC_F16, (posenc_direction)direction);
        }
    }
}

/* Real positions among integers, with strides, on one axis and on three. */
void hash_rope_reals(sweep *s) {
    enum { AXES = 3 };
    for (int round = 0; round < 24; round++) {
        fresh();
        posenc_rope_params params = params_of(round % 2 ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED, 64, 100.0);
        if (round % 3)
            params.axes = all_axes[round % 3 == 1 ? 1 : 3]; /* consecutive, interleaved */
        posenc_rope *rope = rope_of(&params);
        int64_t n_axes = posenc_rope_axis_count(rope);
        double *reals = doubles(s, BATCH * AXES * TOKENS, round < 12 ? 3.0 : 1e9);
        for (size_t i = 0; i < BATCH * AXES * TOKENS; i++)
            reals[i] = next(s) % 3 == 0 ? rint(reals[i]) : reals[i];
        posenc_coords at = {reals, POSENC_COORD_F64, 0, n_axes * TOKENS};
        posenc_view x = tensor(s, POSENC_F32, 64, HEADS, TOKENS, BATCH),
                    y = zeros(POSENC_F32, 64, HEADS, TOKENS, BATCH);
        CALL(posenc_rope_apply_at, rope, &x, &at, &y, POSENC_FORWARD, posenc_range_all());
        hash_view(s, &y);
        float *values = take((size_t)ASK(posenc_rope_table_bytes, rope, TOKENS));
        posenc_rope_table table = posenc_rope_table_dense(rope, values);
        CALL(posenc_rope_table_fill_at, rope, &at, TOKENS, POSENC_FORWARD, &table);
        hash_floats(&s->hash, values, 64 * TOKENS);
        posenc_rope_free(rope);
    }
}

/* Tables of any numbers. */
void hash_rope_apply_table(sweep *s) {
    for (int direction = POSENC_FORWARD; direction <= POSENC_SHIFT; direction++)
        for (int64_t n_rot = 2; n_rot < 300; n_rot += n_rot / 4 * 2 + 2)
            EACH_TYPE(type) {
                fresh();
                posenc_rope_params params =
                    params_of(n_rot % 4 ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED, n_rot, 10000.0);
                posenc_rope *rope = rope_of(&params);
                float *values = floats(s, (size_t)n_rot * TOKENS, 1.0);
                posenc_rope_table table = {values, values + 1, n_rot, 2, 0};
                posenc_view x = adversarial(s, type, n_rot, HEADS, TOKENS, 1),
                            y = zeros(POSENC_F32, n_rot, HEADS, TOKENS, 1);
                CALL(posenc_rope_apply_table, rope, &x, &table, &y, (posenc_direction)direction, posenc_range_all());
                hash_view(s, &y);
                posenc_rope_free(rope);
            }
}

/* Q with norm and scale, K with norm into a cache, V into a cache as it is. */
void hash_rope_tasks(sweep *s) {
    enum { ROWS = 2 * TOKENS };
    for (int64_t n_rot = 8; n_rot <= 256; n_rot *= 2)
        EACH_TYPE(type)
    for (int layout = POSENC_ROPE_HALF; layout <= POSENC_ROPE_INTERLEAVED; layout++) {
        fresh();
        posenc_rope_params params = params_of((posenc_rope_layout)layout, n_rot, 500000.0);
        posenc_rope *rope = rope_of(&params);
        int32_t rows32[TOKENS];
        int64_t rows64[TOKENS];
        for (int t = 0; t < TOKENS; t++)
            rows64[t] = rows32[t] = (5 * t + 3) % ROWS;
        posenc_view query = adversarial(s, POSENC_F32, n_rot, HEADS, TOKENS, 1);
        posenc_view key = adversarial(s, POSENC_F32, n_rot, 2, TOKENS, 1), keys = zeros(type, n_rot, 2, ROWS, 1);
        posenc_view value = adversarial(s, type, n_rot + 7, 2, TOKENS, 1);
        posenc_view values = zeros(POSENC_F16, n_rot + 7, 2, ROWS, 1);
        float *weight = floats(s, (size_t)n_rot, 2.0);
        posenc_rope_tensor tasks[3] = {
            {query, query, 1, 0.125f, weight, 1e-6f, NULL, NULL, 0, 0},
            {key, keys, 1, 1.0f, weight, 0.0f, rows32, NULL, 0, 0},
            {value, values, 0, 1.0f, NULL, 0.0f, NULL, rows64, 0, 0},
        };
        tasks[2].x.ne[0] = tasks[2].y.ne[0] = n_rot;
        CALL(posenc_rope_apply_tensors, rope, tasks, 3, spread_positions(s, TOKENS), NULL, POSENC_FORWARD,
             posenc_range_all());
        hash_view(s, &query);
        hash_view(s, &keys);
        hash_view(s, &values);
        posenc_rope_free(rope);
    }
}
