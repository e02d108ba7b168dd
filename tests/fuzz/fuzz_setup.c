/* SPDX-License-Identifier: MIT */
/* Set-up: the first byte chooses a constructor, the others are its parameters. A refused call must leave
 * nothing behind; an accepted one must do a small piece of work, in memory of exactly the size it says. */
#include <posenc/posenc.h>

#include <stdlib.h>

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 600 }; /* elements of a list */

static void expect(int holds) {
    if (!holds)
        abort();
}

static void *memory(size_t bytes) {
    void *p = malloc(bytes > 0 ? bytes : 1);
    expect(p != NULL);
    return p;
}

/* A list of exactly n elements, to be freed; of one where n is no length of a list. */
static double *doubles(input *in, int64_t n) {
    size_t count = n >= 0 && n <= MOST ? (size_t)n : 1;
    double *list = memory(count * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = input_double(in);
    return list;
}

static float *floats(input *in, int64_t n) {
    size_t count = n >= 0 && n <= MOST * 64 ? (size_t)n : 1;
    float *list = memory(count * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = input_float(in);
    return list;
}

/* ---- Rotations ---- */

static void use_freq(posenc_status status, posenc_freq *freq, int32_t position) {
    expect((status == POSENC_OK) == (freq != NULL));
    int64_t n = freq != NULL ? posenc_freq_count(freq) : 0;
    float *rows = memory((size_t)n * 2 * sizeof(float));
    if (freq != NULL)
        expect(posenc_angle_rows(freq, &position, 1, rows, rows + n, 2 * n) == POSENC_OK);
    for (int64_t i = 0; i < 2 * n; i++)
        expect(rows[i] >= -1.0f && rows[i] <= 1.0f);
    free(rows);
    posenc_freq_free(freq);
}

static void setup_freq(input *in) {
    posenc_freq *freq;
    int32_t position;
    input_bytes(in, &position, sizeof position);
    double base = input_double(in);
    use_freq(posenc_freq_create(base, input_size(in, MOST), &freq), freq, position);
    int64_t n = input_size(in, MOST);
    double *theta = doubles(in, n);
    use_freq(posenc_freq_create_values(theta, n, &freq), freq, position);
    free(theta);
}

static posenc_rope_scaling scaling_of(input *in, const double *factors, const float *factors_f32) {
    posenc_rope_scaling s = {.type = (posenc_scaling_type)input_enum(in)};
    double *numbers[] = {&s.factor,     &s.original_context, &s.max_context, &s.context,         &s.alpha,
                         &s.beta_fast,  &s.beta_slow,        &s.ext_factor,  &s.low_freq_factor, &s.high_freq_factor,
                         &s.proportion, &s.attention_factor, &s.mscale,      &s.mscale_all_dim,  &s.freq_scale};
    uint16_t given;
    input_bytes(in, &given, sizeof given);
    posenc_rope_scaling defaults = POSENC_ROPE_SCALING_DEFAULTS;
    defaults.type = s.type;
    s = defaults;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (given >> i & 1)
            *numbers[i] = input_double(in);
    s.truncate = given >> 15 & 1;
    uint8_t lists = input_byte(in);
    s.n_factors = lists & 8 ? input_size(in, MOST) : 0;
    if (s.n_factors > 0 && s.n_factors <= MOST) {
        s.freq_factors = lists & 1 ? factors : NULL;
        s.short_factors = lists & 2 ? factors : NULL;
        s.long_factors = lists & 4 ? factors : NULL;
        s.freq_factors_f32 = lists & 16 ? factors_f32 : NULL;
    }
    return s;
}

static void setup_rope(input *in) {
    double factors[MOST];
    float factors_f32[MOST];
    posenc_rope_params p = POSENC_ROPE_DEFAULTS;
    p.layout = (posenc_rope_layout)input_enum(in);
    p.head_dim = input_size(in, 2 * MOST);
    p.n_rot = input_byte(in) % 4 ? p.head_dim : input_size(in, 2 * MOST);
    p.n_offs = input_byte(in) % 4 ? 0 : input_size(in, MOST);
    p.base = input_double(in);
    p.rot_fraction = input_byte(in) % 2 ? 0.0 : input_double(in);
    if (input_byte(in) % 2) {
        p.axes.kind = (posenc_axes_kind)input_enum(in);
        p.axes.n_axes = input_enum(in);
        for (int i = 0; i < POSENC_MAX_AXES; i++)
            p.axes.sections[i] = input_size(in, 64);
    }
    if (input_byte(in) % 4 == 0)
        p.xpos = (posenc_xpos){(posenc_xpos_role)input_enum(in), input_double(in), input_double(in),
                               (int32_t)input_size(in, 4096)};
    p.scaling = scaling_of(in, factors, factors_f32);
    double fill = input_double(in), step = input_double(in);
    for (int i = 0; i < MOST; i++)
        factors[i] = fill + (double)i * step;
    for (int i = 0; i < MOST; i++)
        factors_f32[i] = (float)factors[i];

    int32_t axes[MOST];
    int lists = input_byte(in);
    for (int i = 0; i < MOST; i++)
        axes[i] = (lists >> i % 4 & 3) - lists / 128;
    p.lists.axes = lists & 1 ? axes : NULL;
    p.lists.theta = lists & 2 ? factors : NULL;
    p.lists.bases[lists / 16 % POSENC_MAX_AXES] = lists & 4 ? input_double(in) : 0.0;

    posenc_rope *rope;
    posenc_status status = posenc_rope_create(&p, &rope);
    expect((status == POSENC_OK) == (rope != NULL));
    if (rope == NULL)
        return;
    int32_t positions[POSENC_MAX_AXES];
    input_bytes(in, positions, sizeof positions);
    float *x = floats(in, p.head_dim), *y = memory((size_t)p.head_dim * sizeof *y);
    posenc_view from = posenc_view_dense(x, POSENC_F32, p.head_dim, 1, 1, 1);
    posenc_view to = posenc_view_dense(y, POSENC_F32, p.head_dim, 1, 1, 1);
    status = posenc_rope_apply(rope, &from, positions, &to, (posenc_direction)input_enum(in), posenc_range_all());
    expect(status == POSENC_OK || status == POSENC_ERR_ENUM || status == POSENC_ERR_POSITION);
    free(x);
    free(y);
    posenc_rope_free(rope);
}

/* Parameters that are accepted can be created. */
static void setup_rope_ggml(input *in) {
    posenc_rope_ggml g = POSENC_ROPE_GGML_DEFAULTS;
    static const int modes[] = {0, 2, 8, 24, 40, 1};
    double *numbers[] = {&g.freq_base, &g.freq_scale, &g.ext_factor, &g.attn_factor, &g.beta_fast, &g.beta_slow};
    g.mode = modes[input_byte(in) % (sizeof modes / sizeof modes[0])];
    g.head_dim = input_size(in, 2 * MOST);
    g.n_dims = (int)input_size(in, MOST);
    g.n_offs = input_byte(in) % 4 ? 0 : (int)input_size(in, MOST);
    g.n_ctx_orig = (int)input_size(in, 8192);
    for (int i = 0; i < 4; i++)
        g.sections[i] = (int)input_size(in, 200);
    uint8_t given = input_byte(in);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (given >> i & 1)
            *numbers[i] = input_double(in);
    posenc_rope_params params;
    if (posenc_rope_params_from_ggml(&g, &params) != POSENC_OK)
        return;
    posenc_rope *rope;
    expect(posenc_rope_create(&params, &rope) == POSENC_OK);
    posenc_rope_free(rope);
}

/* ---- Absolute encodings ---- */

static posenc_encoding *sinusoidal_of(input *in) {
    posenc_encoding *e;
    if (input_byte(in) % 2) {
        int64_t dim = input_size(in, MOST);
        int flip = input_byte(in) % 2;
        double shift = input_double(in), scale = input_double(in);
        (void)posenc_timestep_create(dim, flip, shift, scale, input_double(in), &e);
        return e;
    }
    posenc_sinusoidal_params p = {.layout = (posenc_sinusoidal_layout)input_enum(in)};
    p.schedule = (posenc_schedule)input_enum(in);
    p.odd = (posenc_odd)input_enum(in);
    p.dim = input_size(in, MOST);
    p.base = input_double(in);
    p.min_timescale = input_double(in);
    p.shift = input_double(in);
    p.scale = input_double(in);
    (void)posenc_sinusoidal_create(&p, &e);
    return e;
}

static posenc_encoding *fourier_of(input *in) {
    posenc_encoding *e;
    posenc_fourier_params p = {.n_features = input_size(in, 64), .n_coords = input_enum(in)};
    p.order = (posenc_fourier_order)input_enum(in);
    float *matrix = floats(in, 64 * POSENC_MAX_COORDS);
    double wide[64 * POSENC_MAX_COORDS];
    for (int i = 0; i < 64 * POSENC_MAX_COORDS; i++)
        wide[i] = (double)matrix[i] / 3.0;
    int which = input_byte(in) % 4;
    p.matrix = which & 1 ? matrix : NULL;
    p.matrix_f64 = which & 2 ? wide : NULL;
    p.sigma = input_double(in);
    input_bytes(in, &p.seed, sizeof p.seed);
    (void)posenc_fourier_create(&p, &e);
    free(matrix);
    return e;
}

static posenc_encoding *integers_of(input *in) {
    posenc_encoding *e;
    int64_t dim = input_size(in, MOST);
    uint8_t which = input_byte(in);
    if (which % 4 == 0) {
        int64_t length = input_size(in, MOST);
        (void)posenc_integer_create(dim, length, input_double(in), &e);
    } else if (which % 4 == 1) {
        float zero = input_float(in);
        (void)posenc_bits_create(dim, (posenc_bit_code)input_enum(in), zero, input_float(in), &e);
    } else if (which % 4 == 2) {
        double *centres = doubles(in, dim);
        (void)posenc_rbf_create(centres, dim, input_double(in), &e);
        free(centres);
    } else {
        int n_axes = input_enum(in);
        (void)posenc_grid_create((posenc_grid)input_enum(in), dim, n_axes, input_double(in), &e);
    }
    return e;
}

static posenc_encoding *learned_of(input *in) {
    static float table[64 * 16];
    posenc_encoding *e;
    posenc_view view =
        posenc_view_dense(table, (posenc_dtype)input_enum(in), input_extent(in, 64), input_extent(in, 16), 1, 1);
    posenc_lookup lookup = {input_offset(in, 50), input_float(in), (posenc_out_of_range)input_enum(in)};
    (void)posenc_learned_create(&view, &lookup, &e);
    return e;
}

static posenc_encoding *encoding_of(input *in, int depth);

static posenc_encoding *combined_of(input *in, int depth) {
    posenc_part parts[POSENC_MAX_PARTS + 1];
    posenc_encoding *owned[POSENC_MAX_PARTS + 1], *e;
    int n = input_byte(in) % (POSENC_MAX_PARTS + 2), is_sum = input_byte(in) % 2;
    for (int i = 0; i < n; i++) {
        owned[i] = input_byte(in) % 8 ? encoding_of(in, depth + 1) : NULL;
        parts[i] = (posenc_part){owned[i],       input_size(in, 8), input_size(in, 64),
                                 input_enum(in), input_size(in, 5), input_size(in, 5)};
    }
    (void)(is_sum ? posenc_encoding_sum : posenc_encoding_concat)(parts, n, &e);
    for (int i = 0; i < n; i++)
        posenc_encoding_free(owned[i]);
    return e;
}

static posenc_encoding *encoding_of(input *in, int depth) {
    switch (input_byte(in) % (depth < 3 ? 5 : 4)) {
    case 0: return sinusoidal_of(in);
    case 1: return fourier_of(in);
    case 2: return integers_of(in);
    case 3: return learned_of(in);
    default: return combined_of(in, depth);
    }
}

static void setup_encoding(input *in) {
    posenc_encoding *e = encoding_of(in, 0);
    enum { TOKENS = 3 };
    if (e != NULL) {
        int64_t dim = posenc_encoding_dim(e);
        expect(dim >= 1 && dim <= (int64_t)2 * POSENC_MAX_PAIRS && posenc_encoding_axis_count(e) <= POSENC_MAX_COORDS);
        double at[TOKENS * POSENC_MAX_COORDS];
        for (int i = 0; i < TOKENS * POSENC_MAX_COORDS; i++)
            at[i] = input_double(in);
        int64_t integers[TOKENS * POSENC_MAX_COORDS];
        for (int i = 0; i < TOKENS * POSENC_MAX_COORDS; i++)
            integers[i] = input_offset(in, 30000);
        int is_real = input_byte(in) % 2;
        posenc_coords coords =
            is_real ? posenc_coords_of(at, POSENC_COORD_F64) : posenc_coords_of(integers, POSENC_COORD_I64);
        float *y = memory((size_t)(dim * TOKENS) * sizeof *y);
        posenc_view view = posenc_view_dense(y, POSENC_F32, dim, TOKENS, 1, 1);
        int64_t row;
        posenc_status checked = posenc_encoding_check(e, &coords, TOKENS, 1, &row);
        expect(posenc_encoding_apply(e, &coords, NULL, NULL, &view, posenc_range_all()) == checked);
        free(y);
    }
    posenc_encoding_free(e);
}

/* ---- The softmax path ---- */

static void setup_fire(input *in) {
    posenc_fire_params p = {.n_heads = input_size(in, 8), .n_hidden = input_size(in, 40)};
    float *w1 = floats(in, p.n_hidden), *b1 = floats(in, p.n_hidden), *w2 = floats(in, 8 * 40),
          *b2 = floats(in, p.n_heads);
    p.w1 = w1, p.b1 = b1, p.w2 = w2, p.b2 = b2;
    p.c = input_double(in);
    p.threshold = input_double(in);
    p.eps = input_double(in);
    p.max_distance = input_size(in, 300);
    posenc_fire *fire;
    expect((posenc_fire_create(&p, &fire) == POSENC_OK) == (fire != NULL));
    if (fire != NULL) {
        float *y = memory((size_t)((p.max_distance + 1) * p.n_heads) * sizeof *y);
        posenc_view view = posenc_view_dense(y, POSENC_F32, p.max_distance + 1, 1, p.n_heads, 1);
        expect(posenc_fire_write(fire, p.max_distance, &view, posenc_range_all()) == POSENC_OK);
        free(y);
    }
    posenc_fire_free(fire);
    free(w1);
    free(b1);
    free(w2);
    free(b2);
}

static void setup_conv(input *in) {
    posenc_conv_params p = {.n_channels = input_size(in, 20), .n_dims = input_enum(in), .kernel = input_size(in, 8)};
    p.is_causal = input_byte(in) % 2;
    p.has_residual = input_byte(in) % 2;
    float *weights = floats(in, 20 * 8 * 8), *bias = floats(in, p.n_channels);
    posenc_conv *conv;
    expect((posenc_conv_create(&p, weights, input_byte(in) % 2 ? bias : NULL, &conv) == POSENC_OK) == (conv != NULL));
    free(weights);
    free(bias);
    if (conv != NULL) {
        posenc_conv_grid grid = {input_size(in, 2), p.n_dims == 1 ? 1 : input_size(in, 5), input_size(in, 5)};
        int64_t n = input_byte(in) % 28, count = n * p.n_channels;
        float *x = floats(in, count), *y = memory((size_t)count * sizeof *y);
        posenc_view from = posenc_view_dense(x, POSENC_F32, p.n_channels, n, 1, 1);
        posenc_view to = posenc_view_dense(y, POSENC_F32, p.n_channels, n, 1, 1);
        (void)posenc_conv_apply(conv, grid, &from, &to, posenc_range_all()); /* refuses what is not n tokens */
        free(x);
        free(y);
    }
    posenc_conv_free(conv);
}

static void setup_grouped_conv(input *in) {
    posenc_grouped_conv_params p = {input_size(in, 40), input_size(in, 6), input_size(in, 12), input_byte(in) % 2};
    float *weights = floats(in, 40 * 40 * 12), *bias = floats(in, p.n_channels);
    posenc_grouped_conv *conv;
    expect((posenc_grouped_conv_create(&p, weights, input_byte(in) % 2 ? bias : NULL, &conv) == POSENC_OK) ==
           (conv != NULL));
    if (conv != NULL) {
        int64_t n_tokens = input_byte(in) % 40, count = n_tokens * p.n_channels;
        float *x = floats(in, count), *y = memory((size_t)count * sizeof *y);
        posenc_view from = posenc_view_dense(x, POSENC_F32, p.n_channels, n_tokens, 1, 1);
        posenc_view to = posenc_view_dense(y, POSENC_F32, p.n_channels, n_tokens, 1, 1);
        expect(posenc_grouped_conv_apply(conv, &from, &to, posenc_range_all()) == POSENC_OK);
        expect((posenc_grouped_conv_backward_input(conv, &from, &to, posenc_range_all()) == POSENC_OK) ==
               (p.has_backward != 0));
        expect(posenc_grouped_conv_backward_weights(conv, &from, &to, weights, bias, posenc_range_all()) == POSENC_OK);
        free(x);
        free(y);
    }
    free(weights);
    free(bias);
    posenc_grouped_conv_free(conv);
}

static void setup_relative(input *in) {
    static float table[16 * 16 * 4];
    posenc_view rows = posenc_view_dense(table, (posenc_dtype)input_enum(in), input_extent(in, 16),
                                         input_extent(in, 16), input_extent(in, 4), 1);
    posenc_relative_table *packed;
    expect((posenc_relative_table_create(&rows, &packed) == POSENC_OK) == (packed != NULL));
    posenc_relative_table_free(packed);
}

/* Lines of n offsets from `first` on, in memory of just that size. */
static void setup_rel_bias(input *in) {
    int64_t n = input_size(in, MOST), first = input_offset(in, 2 * MOST), n_heads = 1 + input_byte(in) % 3;
    int64_t count = n >= 0 && n <= MOST ? n : 0;
    int32_t *index = memory((size_t)count * sizeof *index);
    float *values = memory((size_t)(count * n_heads) * sizeof *values), *slopes = floats(in, n_heads),
          *others = floats(in, n_heads);
    posenc_rel_index indices = {index, first, count, 0};
    posenc_rel_bias rel_bias = {values, first, count, n_heads, count, 0};
    posenc_t5_params t5 = {input_size(in, 5000), input_size(in, 5000), input_byte(in) % 2};
    if (input_byte(in) % 8 == 0)
        t5.max_distance = INT64_C(1) << input_byte(in) % 40;
    posenc_rel_index_rule rule = {input_size(in, MOST), input_size(in, MOST), input_byte(in) % 3 - 1,
                                  input_byte(in) % 2,   input_size(in, 600),  input_size(in, 3000),
                                  input_byte(in) % 2};
    posenc_sandwich sandwich = {input_size(in, 256), input_double(in), input_byte(in) % 3, input_byte(in) % 2};
    posenc_kerple kerple = {(posenc_kerple_kind)input_enum(in), slopes, others, input_float(in)};
    posenc_mask mask = {input_offset(in, 50), input_offset(in, 50), input_size(in, 10), input_size(in, 10)};
    switch (input_byte(in) % 8) {
    case 0: (void)posenc_rel_index_t5(&t5, &indices); break;
    case 1: (void)posenc_rel_index_fill(&rule, &indices); break;
    case 2: (void)posenc_rel_bias_sandwich(&sandwich, &rel_bias); break;
    case 3: (void)posenc_rel_bias_kerple(&kerple, &rel_bias); break;
    case 4: (void)posenc_rel_bias_rbf(slopes, &rel_bias); break;
    case 5: (void)posenc_rel_bias_mask(mask, &rel_bias); break;
    case 6: (void)posenc_alibi_slopes(n_heads, input_double(in), slopes); break;
    default: (void)posenc_rel_bias_range(mask, first, n, count, &rel_bias.first, &rel_bias.n_offsets); break;
    }
    free(index);
    free(values);
    free(slopes);
    free(others);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const setups[])(input *) = {setup_freq,     setup_rope,      setup_encoding,
                                              setup_fire,     setup_conv,      setup_relative,
                                              setup_rel_bias, setup_rope_ggml, setup_grouped_conv};
    input in = {data, size};
    setups[input_byte(&in) % (sizeof setups / sizeof setups[0])](&in);
    return 0;
}
