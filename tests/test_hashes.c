/* One hash per kernel over a fixed sweep, equal on every tier and from every compiler, recorded in tests/hashes.txt.
 *
 * hashes.h says how it is called. A hash changes when a kernel's results do, or when its sweep below does; a commit
 * that records a new one says which.
 */
#include "hashes.h"

#include <math.h>

#include "kernels/exp.h"

/* ---- The sweeps: hash_<kernel> for every kernel of kernels.def ---- */

enum { MAX = 700, MAX_HEADS = 3, MAX_ROWS = 4, COLUMNS = MAX / POSENC_COLUMN + 1 };

static const size_t sizes[] = {1, 2, 3, 5, 8, 13, 16, 31, 32, 64, 67, 128, 300};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static size_t padded(size_t n) {
    return (n + POSENC_COLUMN - 1) / POSENC_COLUMN * POSENC_COLUMN;
}

/* Plain, with a magnitude, and with growth. */
static void hash_angle_anchors(sweep *s) {
    double hi[MAX], lo[MAX], growth[MAX], cos_out[MAX], sin_out[MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int exponent = -30; exponent <= 14; exponent += 4) {
            size_t n = padded(sizes[k]);
            for (size_t i = 0; i < n; i++) {
                hi[i] = ldexp(even(s, 1.0), exponent);
                lo[i] = even(s, 0x1p-54) * hi[i];
                growth[i] = ldexp(even(s, 1.0), -24);
            }
            double position = (double)((int64_t)next(s) >> 37) * 32.0; /* below 2^31 */
            double centre = (double)((int64_t)next(s) >> 40), magnitude = even(s, 2.0);
            posenc_angle_anchors_args args = {
                .hi = hi,
                .lo = lo,
                .growth = exponent % 3 == 0 ? growth : NULL,
                .centre = centre,
                .magnitude = exponent < 0 ? 1.0 : magnitude,
                .position = position,
                .cos_out = cos_out,
                .sin_out = sin_out,
                .n = n,
            };
            s->kernels->angle_anchors(&args);
            hash_doubles(s, cos_out, n);
            hash_doubles(s, sin_out, n);
        }
}

/* Planes, pairs, and pairs without the last float; written and added. */
static void hash_angle_rows(sweep *s) {
    static posenc_turn_column blocks[COLUMNS], offsets[COLUMNS];
    static posenc_growth_column growth[COLUMNS];
    static float out[2 * MAX_ROWS * MAX];
    double anchor_cos[MAX], anchor_sin[MAX];
    fill_doubles(s, &blocks[0].cos_sin[0][0][0], sizeof blocks / (sizeof(double)), 1.0);
    fill_doubles(s, &offsets[0].cos_sin[0][0][0], sizeof offsets / (sizeof(double)), 1.0);
    fill_doubles(s, &growth[0].factor[0][0], sizeof growth / (sizeof(double)), 2.0);
    fill_doubles(s, anchor_cos, MAX, 1.0);
    fill_doubles(s, anchor_sin, MAX, 1.0);
    for (size_t k = 0; k < N_SIZES; k++)
        for (int mode = 0; mode < 6; mode++) {
            size_t n = sizes[k];
            int step = mode / 2 > 0 ? 2 : 1;
            fill_floats(s, out, 2 * MAX_ROWS * n, 1.0f);
            posenc_angle_rows_args args = {
                .anchor_cos = anchor_cos,
                .anchor_sin = anchor_sin,
                .blocks = blocks,
                .offsets = offsets,
                .growth = k % 4 == 3 ? growth : NULL,
                .block = (int)(next(s) % POSENC_ANCHOR_BLOCK) - POSENC_ANCHOR_REACH,
                .first_offset = (int)(next(s) % (POSENC_ANCHOR_BLOCK + 1 - MAX_ROWS)) - POSENC_ANCHOR_REACH,
                .cos_out = out,
                .sin_out = out + (step == 1 ? n : 1),
                .cos_stride = 2 * (ptrdiff_t)n,
                .sin_stride = 2 * (ptrdiff_t)n,
                .n = n,
                .n_rows = MAX_ROWS,
                .step = step,
                .drop_last = mode / 2 == 2,
                .add = mode % 2,
            };
            s->kernels->angle_rows(&args);
            hash_floats(s, out, 2 * MAX_ROWS * n);
        }
}

/* Rows of a storage type. */
typedef union rows {
    float single[MAX_HEADS * 2 * MAX];
    uint16_t half[MAX_HEADS * 2 * MAX];
} rows;

static void hash_rope_of(sweep *s, void (*rotate)(const posenc_rope_args *), posenc_dtype x_type, posenc_dtype y_type) {
    static rows x, y;
    float cos_row[MAX], sin_row[MAX], weight[2 * MAX], head_factors[MAX_HEADS];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int mode = 0; mode < 4; mode++) {
            size_t n = sizes[k];
            int backwards = mode % 2, is_normed = mode / 2;
            fill_floats(s, cos_row, n, 1.0f);
            fill_floats(s, sin_row, n, 1.0f);
            fill_floats(s, weight, 2 * n, 2.0f);
            fill_floats(s, head_factors, MAX_HEADS, 4.0f);
            fill_rows(s, &x, MAX_HEADS * 2 * n, x_type);
            posenc_rope_args args = {
                .x = &x,
                .y = &y,
                .x_type = x_type,
                .y_type = y_type,
                .x_stride = (ptrdiff_t)(2 * n * size_of(x_type)),
                .y_stride = (ptrdiff_t)(2 * n * size_of(y_type)),
                .cos_row = cos_row,
                .sin_row = sin_row,
                .cos_factor = backwards ? 1.0f : 0.3f,
                .sin_factor = backwards ? -1.0f : 0.3f,
                .weight = is_normed ? weight : NULL,
                .head_factors = is_normed ? head_factors : NULL,
                .half = n,
                .n = n,
                .n_heads = MAX_HEADS,
            };
            rotate(&args);
            hash_rows(s, &y, MAX_HEADS * 2 * n, y_type);
        }
}

static void hash_rope(sweep *s, void (*rotate)(const posenc_rope_args *)) {
#define HASH(x_type, y_type) hash_rope_of(s, rotate, x_type, y_type);
    POSENC_EACH_TYPE_PAIR(HASH)
#undef HASH
}

static void hash_rope_half(sweep *s) {
    hash_rope(s, s->kernels->rope_half);
}

static void hash_rope_interleaved(sweep *s) {
    hash_rope(s, s->kernels->rope_interleaved);
}

static void hash_rope_deinterleave(sweep *s) {
    hash_rope(s, s->kernels->rope_deinterleave);
}

static void hash_rms_factors(sweep *s) {
    static rows x;
    float factors[MAX_HEADS];
    for (int type = POSENC_F32; type <= POSENC_BF16; type++)
        for (size_t k = 0; k < N_SIZES; k++)
            for (int round = 0; round < 2; round++) {
                size_t n = sizes[k];
                fill_rows(s, &x, MAX_HEADS * n, (posenc_dtype)type);
                posenc_rms_factors_args args = {
                    .x = &x,
                    .x_type = (posenc_dtype)type,
                    .x_stride = (ptrdiff_t)(n * size_of((posenc_dtype)type)),
                    .factors = factors,
                    .eps = round == 0 ? 0.0f : 1e-6f,
                    .n = n,
                    .n_heads = MAX_HEADS,
                };
                s->kernels->rms_factors(&args);
                hash_floats(s, factors, MAX_HEADS);
            }
}

static void hash_convert_of(sweep *s, posenc_dtype x_type, posenc_dtype y_type) {
    static rows x, y;
    float weight[MAX], head_factors[MAX_HEADS];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int round = 0; round < 3; round++) {
            size_t n = sizes[k];
            fill_floats(s, weight, n, 2.0f);
            fill_floats(s, head_factors, MAX_HEADS, 4.0f);
            fill_rows(s, &x, MAX_HEADS * n, x_type);
            posenc_convert_args args = {
                .x = &x,
                .y = &y,
                .x_type = x_type,
                .y_type = y_type,
                .x_stride = (ptrdiff_t)(n * size_of(x_type)),
                .y_stride = (ptrdiff_t)(n * size_of(y_type)),
                .factor = round == 0 ? 1.0f : (float)even(s, 2.0),
                .weight = round == 2 ? weight : NULL,
                .head_factors = round == 2 ? head_factors : NULL,
                .n = n,
                .n_heads = MAX_HEADS,
            };
            s->kernels->convert_rows(&args);
            hash_rows(s, &y, MAX_HEADS * n, y_type);
        }
}

static void hash_convert_rows(sweep *s) {
#define HASH(x_type, y_type) hash_convert_of(s, x_type, y_type);
    POSENC_EACH_TYPE_PAIR(HASH)
#undef HASH
}

/* Added to or not, with every gate, one row from nowhere. */
static void hash_place_of(sweep *s, posenc_dtype source_type, posenc_dtype type) {
    static rows source, y;
    float gate[MAX_HEADS * MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int mode = 0; mode < 6; mode++) {
            size_t n = sizes[k];
            fill_rows(s, &source, MAX_HEADS * n, source_type);
            fill_rows(s, &y, MAX_HEADS * n, type);
            fill_floats(s, gate, MAX_HEADS * n, 2.0f);
            const char *first = (const char *)&source;
            const void *sources[MAX_HEADS] = {first + 2 * n * size_of(source_type), NULL, first};
            posenc_place_rows_args args = {
                .sources = sources,
                .source_type = source_type,
                .factor = mode < 2 ? 1.0f : 0.3f,
                .gate = mode / 2 == 0 ? NULL : gate,
                .gate_stride = (ptrdiff_t)(n * sizeof(float)),
                .gate_step = mode / 2 == 1,
                .x = mode % 2 ? &y : NULL,
                .y = &y,
                .type = type,
                .x_stride = (ptrdiff_t)(n * size_of(type)),
                .y_stride = (ptrdiff_t)(n * size_of(type)),
                .n = n,
                .n_rows = MAX_HEADS,
            };
            s->kernels->place_rows(&args);
            hash_rows(s, &y, MAX_HEADS * n, type);
        }
}

static void hash_place_rows(sweep *s) {
#define HASH(x_type, y_type) hash_place_of(s, x_type, y_type);
    POSENC_EACH_TYPE_PAIR(HASH)
#undef HASH
}

static void hash_mix_of(sweep *s, posenc_dtype x_type, posenc_dtype y_type) {
    static rows x, y;
    float weights[MAX_HEADS * MAX], start[MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int mode = 0; mode < 4; mode++) {
            size_t n = sizes[k];
            fill_rows(s, &x, MAX_HEADS * n, x_type);
            fill_floats(s, weights, MAX_HEADS * n, 2.0f);
            fill_floats(s, start, n, 2.0f);
            const void *terms[MAX_HEADS];
            const float *factors[MAX_HEADS];
            for (size_t t = 0; t < MAX_HEADS; t++) {
                terms[t] = (const char *)&x + t * n * size_of(x_type);
                factors[t] = weights + t * n;
            }
            posenc_mix_row_args args = {
                .x = terms,
                .x_type = x_type,
                .y_type = y_type,
                .weights = factors,
                .weight_step = mode % 2,
                .start = mode / 2 ? start : NULL,
                .residual = mode == 1 ? terms[1] : NULL,
                .y = &y,
                .n = n,
                .n_terms = MAX_HEADS,
            };
            s->kernels->mix_row(&args);
            hash_rows(s, &y, n, y_type);
        }
}

static void hash_mix_row(sweep *s) {
#define HASH(x_type, y_type) hash_mix_of(s, x_type, y_type);
    POSENC_EACH_TYPE_PAIR(HASH)
#undef HASH
}

static void hash_bit_rows(sweep *s) {
    float y[MAX_HEADS * MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int add = 0; add < 2; add++) {
            size_t n = sizes[k];
            uint64_t codes[MAX_HEADS] = {next(s), next(s) >> 40, next(s) >> 60};
            fill_floats(s, y, MAX_HEADS * n, 2.0f);
            posenc_bit_rows_args args = {.codes = codes,
                                         .zero = -1.0f,
                                         .one = (float)even(s, 2.0),
                                         .y = y,
                                         .stride = (ptrdiff_t)n,
                                         .n = n,
                                         .n_rows = MAX_HEADS,
                                         .add = add};
            s->kernels->bit_rows(&args);
            hash_floats(s, y, MAX_HEADS * n);
        }
}

static void hash_rbf_rows(sweep *s) {
    float y[MAX_HEADS * MAX];
    double centres[MAX + POSENC_COLUMN], positions[MAX_HEADS];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int round = 0; round < 16; round++) {
            size_t n = sizes[k];
            fill_doubles(s, centres, n + POSENC_COLUMN, 100.0);
            fill_doubles(s, positions, MAX_HEADS, 100.0);
            fill_floats(s, y, MAX_HEADS * n, 2.0f);
            posenc_rbf_rows_args args = {.positions = positions,
                                         .minus_centres = centres,
                                         .minus_k = -ldexp(1.0 + even(s, 0.5), 2 * (round - 12)),
                                         .y = y,
                                         .stride = (ptrdiff_t)n,
                                         .n = n,
                                         .n_rows = MAX_HEADS,
                                         .add = round % 2};
            s->kernels->rbf_rows(&args);
            hash_floats(s, y, MAX_HEADS * n);
        }
}

/* Half of the rows with a few of the terms a logit may have, the others with scale and slope alone. */
static void hash_softmax_row(sweep *s) {
    static float x[MAX], y[MAX], line[MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int round = 0; round < 96; round++) { /* enough for a last bit of a constant to show */
            size_t n = 2 * sizes[k] + 11;
            for (size_t i = 0; i < n; i++) {
                x[i] = round % 4 == 3 && next(s) % 4 == 0 ? -INFINITY : (float)even(s, round % 4 ? 8.0 : 100.0);
                line[i] = (float)even(s, 4.0);
            }
            if (round % 32 == 31)
                x[next(s) % n] = NAN;
            int32_t query = (int32_t)(next(s) % n);
            posenc_softmax_row_args args = {
                .x = x,
                .y = y,
                .n = n,
                .seen.end = round % 3 == 0 ? n : (size_t)(next(s) % (n + 1)),
                .form = round % 8 < 4 ? POSENC_PROBABILITIES : (posenc_softmax_form)(round % 3),
                .position = query,
                .scale = (float)even(s, 1.0),
                .slope = round % 2 ? 0.0f : (float)even(s, 0.5),
                .exp_lowest = round % 8 == 4 ? POSENC_WEIGHT_LOWEST : POSENC_EXP_LOWEST,
                .sink = round % 5 == 0 ? 0.5f : -INFINITY,
                .least = round % 6 ? -INFINITY : (float)even(s, 4.0),
            };
            if (round >= 48) {
                args.seen.begin = args.seen.end / 3;
                args.cap = round % 7 == 0 ? 0.0f : 30.0f;
                args.inv_cap = round % 7 == 0 ? 0.0f : 1.0f / 30.0f;
                args.line = (posenc_float_line){line, -query, (int32_t)n - 1 - query};
                args.bias = line;
                args.bias_slope = 0.25f;
            }
            s->kernels->softmax_row(&args);
            hash_floats(s, y, n);
        }
}

static void hash_dot_rows(sweep *s) {
    static rows x, y;
    static float panels[(MAX + POSENC_PANEL) * 67];
    float shift[67];
    for (int type = POSENC_F32; type <= POSENC_BF16; type++)
        for (size_t k = 0; k < N_SIZES; k++)
            for (size_t dim = 1; dim <= 67; dim = 3 * dim + 1) {
                size_t n = sizes[k];
                fill_rows(s, &x, MAX_HEADS * dim, (posenc_dtype)type);
                fill_floats(s, shift, dim, 2.0f);
                fill_floats(s, panels, padded(n + POSENC_COLUMN) * dim, 2.0f); /* whole panels */
                posenc_dot_rows_args args = {
                    .x = &x,
                    .x_type = (posenc_dtype)type,
                    .x_stride = (ptrdiff_t)(dim * size_of((posenc_dtype)type)),
                    .shift = k % 2 ? shift : NULL,
                    .panels = panels,
                    .y = y.single,
                    .y_stride = (ptrdiff_t)(n * sizeof(float)),
                    .dim = dim,
                    .n_x = MAX_HEADS,
                    .n_rows = n,
                };
                s->kernels->dot_rows(&args);
                hash_floats(s, y.single, MAX_HEADS * n);
            }
}

static void hash_dot_few(sweep *s) {
    static rows x, y, table;
    for (int type = POSENC_F16; type <= POSENC_BF16; type++)
        for (size_t n_x = 1; n_x <= POSENC_FEW; n_x++)
            for (size_t dim = POSENC_FEW_CHANNELS; dim <= 40; dim += 2 * POSENC_FEW_CHANNELS) {
                fill_rows(s, &x, n_x * dim, POSENC_F32);
                fill_rows(s, &table, POSENC_PANEL * dim, (posenc_dtype)type);
                posenc_dot_few_args args = {
                    .x = x.single,
                    .x_stride = (ptrdiff_t)(dim * sizeof(float)),
                    .rows = &table,
                    .rows_type = (posenc_dtype)type,
                    .row_stride = (ptrdiff_t)(dim * sizeof(uint16_t)),
                    .y = y.single,
                    .y_stride = POSENC_PANEL * sizeof(float),
                    .dim = dim,
                    .n_x = n_x,
                    .n_rows = POSENC_PANEL,
                };
                s->kernels->dot_few(&args);
                hash_floats(s, y.single, n_x * POSENC_PANEL);
            }
}

static void hash_pack_rows(sweep *s) {
    static rows table;
    static float panels[(MAX + POSENC_PANEL) * 67];
    for (int type = POSENC_F32; type <= POSENC_BF16; type++)
        for (size_t k = 0; k < N_SIZES; k++)
            for (size_t n = 1; n <= MAX_HEADS; n++) {
                fill_rows(s, &table, n * sizes[k], (posenc_dtype)type);
                posenc_pack_rows_args args = {
                    .rows = &table,
                    .rows_type = (posenc_dtype)type,
                    .row_stride = (ptrdiff_t)(sizes[k] * size_of((posenc_dtype)type)),
                    .panels = panels,
                    .dim = sizes[k],
                    .n_rows = n,
                };
                s->kernels->pack_rows(&args);
                hash_floats(s, panels, POSENC_PANEL * sizes[k]);
            }
}

static void hash_attend_rows(sweep *s) {
    static rows table;
    static float weights[13 * MAX_HEADS], y[13 * MAX], keep[13];
    int32_t begin[13], end[13];
    for (int type = POSENC_F32; type <= POSENC_BF16; type++)
        for (size_t k = 0; k < N_SIZES; k++)
            for (size_t n = 1; n <= 13; n += 4) {
                size_t dim = sizes[k];
                fill_rows(s, &table, MAX_HEADS * dim, (posenc_dtype)type);
                fill_floats(s, weights, n * MAX_HEADS, 1.0f);
                fill_floats(s, keep, n, 1.0f);
                fill_floats(s, y, n * dim, 1.0f);
                for (size_t i = 0; i < n; i++) {
                    begin[i] = (int32_t)(next(s) % 2);
                    end[i] = (int32_t)(MAX_HEADS - next(s) % 2);
                }
                posenc_attend_rows_args args = {
                    .weights = weights,
                    .weight_stride = MAX_HEADS,
                    .keep = keep,
                    .begin = begin,
                    .end = end,
                    .rows = &table,
                    .rows_type = (posenc_dtype)type,
                    .row_stride = (ptrdiff_t)(dim * size_of((posenc_dtype)type)),
                    .y = y,
                    .y_stride = dim,
                    .dim = dim,
                    .n = n,
                };
                s->kernels->attend_rows(&args);
                hash_floats(s, y, n * dim);
            }
}

static void hash_weighted_rows(sweep *s) {
    static rows table;
    float weights[67], shift[MAX], y[MAX];
    int32_t index[67];
    for (int type = POSENC_F32; type <= POSENC_BF16; type++)
        for (size_t k = 0; k < N_SIZES; k++)
            for (size_t n = 1; n <= 67; n = 3 * n + 1) {
                size_t dim = sizes[k];
                fill_rows(s, &table, MAX_HEADS * dim, (posenc_dtype)type);
                fill_floats(s, weights, n, 1.0f);
                fill_floats(s, shift, dim, 2.0f);
                fill_floats(s, y, dim, 1.0f);
                for (size_t i = 0; i < n; i++)
                    index[i] = (int32_t)(next(s) % MAX_HEADS);
                posenc_weighted_rows_args args = {
                    .weights = weights,
                    .weight_stride = sizeof(float),
                    .factor = n % 2 ? 1.0f : 0.3f,
                    .rows = &table,
                    .rows_type = (posenc_dtype)type,
                    .row_stride = (ptrdiff_t)(dim * size_of((posenc_dtype)type)),
                    .index = index,
                    .shift = k % 2 ? shift : NULL,
                    .y = y,
                    .dim = dim,
                    .n = n,
                };
                s->kernels->weighted_rows(&args);
                hash_floats(s, y, dim);
            }
}

static void hash_affine_row(sweep *s) {
    float x[MAX], y[MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int add = 0; add < 2; add++) {
            fill_floats(s, x, sizes[k], 8.0f);
            fill_floats(s, y, sizes[k], 8.0f);
            posenc_affine_row_args args = {
                .x = x, .y = y, .a = (float)even(s, 2.0), .b = (float)even(s, 2.0), .n = sizes[k], .add = add};
            s->kernels->affine_row(&args);
            hash_floats(s, y, sizes[k]);
        }
}

static void hash_cope_row(sweep *s) {
    float x[MAX], gates[MAX], z[MAX], y[MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int round = 0; round < 32; round++) {
            size_t n = 2 * sizes[k] + 11;
            for (size_t i = 0; i < n; i++) {
                x[i] = (float)even(s, 8.0);
                gates[i] = (float)even(s, round % 4 ? 8.0 : 200.0);
                z[i] = (float)even(s, 4.0);
            }
            if (round % 16 == 15)
                gates[next(s) % n] = NAN;
            posenc_cope_row_args args = {
                .x = x,
                .gates = round % 2 ? x : gates,
                .z = z,
                .y = y,
                .scale = (float)even(s, 1.0),
                .is_scaled = round % 3 == 0,
                .n = n,
                .n_seen = round % 3 == 0 ? n : (size_t)(next(s) % (n + 1)),
                .n_positions = 1 + (size_t)(next(s) % n),
            };
            s->kernels->cope_row(&args);
            hash_floats(s, y, n);
        }
}

/* Probabilities of every size, some nothing; bounds, caps, sinks. */
static void hash_softmax_backward(sweep *s) {
    static float p[MAX], dp[MAX], scores[MAX], dx[MAX], db[MAX];
    for (size_t k = 0; k < N_SIZES; k++)
        for (int round = 0; round < 48; round++) {
            size_t n = 2 * sizes[k] + 11;
            for (size_t i = 0; i < n; i++) {
                p[i] = round % 3 == 0 && next(s) % 4 == 0 ? 0.0f : (float)fabs(even(s, 1.0));
                dp[i] = (float)even(s, 4.0);
                scores[i] = (float)even(s, 40.0);
            }
            if (round % 16 == 15)
                dp[next(s) % n] = round == 15 ? NAN : INFINITY;
            float dsink = 0.0f;
            posenc_softmax_backward_args args = {
                .p = p,
                .dp = dp,
                .s = round % 4 >= 2 ? scores : NULL,
                .dx = dx,
                .db = round % 2 ? db : NULL,
                .n = n,
                .seen.end = round % 5 == 0 ? n : (size_t)(next(s) % (n + 1)),
                .scale = (float)even(s, 1.0),
                .inv_cap = 0.05f,
                .bias_slope = 0.3f,
                .dsink = &dsink,
            };
            args.seen.begin = args.seen.end / 3;
            if (args.seen.begin + 4 < args.seen.end && round % 6 == 0) {
                args.seen.hole_begin = args.seen.begin + 1;
                args.seen.hole_end = args.seen.end - 2;
            }
            s->kernels->softmax_backward(&args);
            hash_floats(s, dx, n);
            hash_floats(s, db, round % 2 ? n : 0);
            hash_floats(s, &dsink, 1);
        }
}

static void hash_add_axes(sweep *s) {
    static float y[MAX_ROWS * MAX];
    float by_row[MAX_ROWS], by_column[MAX];
    for (size_t k = 0; k < N_SIZES; k++) {
        fill_floats(s, y, MAX_ROWS * sizes[k], 8.0f);
        fill_floats(s, by_row, MAX_ROWS, 8.0f);
        fill_floats(s, by_column, sizes[k], 8.0f);
        posenc_add_axes_args args = {y, by_row, by_column, MAX_ROWS, sizes[k]};
        s->kernels->add_axes(&args);
        hash_floats(s, y, MAX_ROWS * sizes[k]);
    }
}

static const hashed kernels[] = {
#define KERNEL(name, args) {#name, hash_##name},
#include "kernels/kernels.def"
#undef KERNEL
};

int main(int argc, char **argv) {
    const hashes all = {"test_hashes", "each kernel", kernels, sizeof kernels / sizeof kernels[0]};
    return hashes_main(argc, argv, &all);
}
