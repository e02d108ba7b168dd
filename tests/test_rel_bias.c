/* SPDX-License-Identifier: MIT */
/* Relative biases against their formulas in double (angles from MPFR): FORMULAS C.3, C.5, C.6, C.10, C.16, C.18, C.30;
 * and what bias.h promises of each: any range of offsets, the same bits whatever part is made and on every tier. */
#include "truth.h"
#include "truth_mpfr.h"

#include <float.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h>

#include "core/elementary.h"
#include "core/for_python.h"

enum { MAX_HEADS = 40, MAX_OFFSETS = 600 };

/* ---- The schemes, with the parameters of the day ---- */

static float slopes[MAX_HEADS], p[MAX_HEADS], a[MAX_HEADS], sigma[MAX_HEADS], amplitude[MAX_HEADS];
static double omega[MAX_HEADS], phi[MAX_HEADS];
static posenc_sandwich sandwich;
static truth_table sandwich_angles, wave_angles;

static void draw_parameters(void) {
    static const int64_t dims[] = {2, 8, 30, 64, 128, 514};
    for (int h = 0; h < MAX_HEADS; h++) {
        slopes[h] = (float)truth_uniform(-2.0, 2.0);
        p[h] = (float)(truth_below(4) ? truth_uniform(0.0, 2.5) : truth_log_uniform(1e-4, 100.0));
        a[h] = (float)(truth_below(4) ? truth_uniform(-0.1, 1.0) : truth_log_uniform(1e-4, 1000.0));
        sigma[h] = (float)truth_log_uniform(0.1, 1e6);
        amplitude[h] = (float)truth_uniform(-3.0, 3.0);
        omega[h] = truth_below(8) ? truth_log_uniform(1e-9, 10.0) : POSENC_MAX_FREQUENCY;
        phi[h] = truth_uniform(-10.0, 10.0);
    }
    sandwich =
        (posenc_sandwich){dims[truth_below(6)], truth_log_uniform(10.0, 1e6), truth_below(2), (int)truth_below(2)};
    sandwich_angles = truth_powers(1.0, sandwich.base, 2, sandwich.dim, sandwich.dim / 2 + 1);
    wave_angles = truth_values(omega, MAX_HEADS);
}

static void free_parameters(void) {
    truth_table_free(&sandwich_angles);
    truth_table_free(&wave_angles);
}

static posenc_status make_alibi(const posenc_rel_bias *rel_bias) {
    return posenc_rel_bias_alibi(slopes, rel_bias);
}

static posenc_status make_log(const posenc_rel_bias *rel_bias) {
    posenc_kerple kerple = {POSENC_KERPLE_LOG, p, a, 0.01f};
    return posenc_rel_bias_kerple(&kerple, rel_bias);
}

static posenc_status make_power(const posenc_rel_bias *rel_bias) {
    posenc_kerple kerple = {POSENC_KERPLE_POWER, p, a, 0.01f};
    return posenc_rel_bias_kerple(&kerple, rel_bias);
}

static posenc_status make_rbf(const posenc_rel_bias *rel_bias) {
    return posenc_rel_bias_rbf(sigma, rel_bias);
}

static posenc_status make_sandwich(const posenc_rel_bias *rel_bias) {
    return posenc_rel_bias_sandwich(&sandwich, rel_bias);
}

static posenc_status make_cosine(const posenc_rel_bias *rel_bias) {
    return posenc_rel_bias_cosine(omega, phi, amplitude, rel_bias);
}

static posenc_status make_plain_cosine(const posenc_rel_bias *rel_bias) {
    return posenc_rel_bias_cosine(omega, NULL, NULL, rel_bias);
}

/* A value by the formula, and the size of what was added up for it. */
typedef struct truth_value {
    double value, terms;
} truth_value;

static truth_value alibi(int64_t h, int64_t n_heads, int64_t o) {
    (void)n_heads;
    return (truth_value){(double)-(slopes[h] * (float)llabs(o)), 0.0};
}

static double clamped(float x, double high) {
    return fmin(fmax((double)x, (double)0.01f), high);
}

static truth_value logarithmic(int64_t h, int64_t n_heads, int64_t o) {
    (void)n_heads;
    return (truth_value){-clamped(p[h], 1e9) * log1p(clamped(a[h], 1e9) * (double)llabs(o)), 0.0};
}

static truth_value power(int64_t h, int64_t n_heads, int64_t o) {
    (void)n_heads;
    return (truth_value){-clamped(a[h], 1e9) * pow((double)llabs(o), clamped(p[h], 2.0)), 0.0};
}

static truth_value rbf(int64_t h, int64_t n_heads, int64_t o) {
    (void)n_heads;
    return (truth_value){exp(-(double)o * (double)o / (2.0 * (double)sigma[h] * (double)sigma[h])), 0.0};
}

static truth_value sandwiched(int64_t h, int64_t n_heads, int64_t o) {
    double sum = 0.0, cosine, sine, factor = (double)n_heads / (8.0 * (double)(h + 1));
    for (int64_t k = 0; k < sandwich.dim / 2; k++) {
        truth_angle_d(&sandwich_angles, sandwich.first + k, (int32_t)o, &cosine, &sine);
        sum += cosine;
    }
    double n = (double)(sandwich.dim / 2);
    return (truth_value){factor * (sum - (sandwich.centred ? n : 0.0)), factor * n};
}

static truth_value wave(int64_t h, int64_t o, double size, double phase) {
    double cosine, sine;
    truth_angle_d(&wave_angles, h, (int32_t)o, &cosine, &sine);
    return (truth_value){size * (cosine * cos(phase) - sine * sin(phase)), fabs(size)};
}

static truth_value cosine(int64_t h, int64_t n_heads, int64_t o) {
    (void)n_heads;
    return wave(h, o, (double)amplitude[h], phi[h]);
}

static truth_value plain_cosine(int64_t h, int64_t n_heads, int64_t o) {
    (void)n_heads;
    return wave(h, o, 1.0, 0.0);
}

static const struct scheme {
    const char *name;
    posenc_status (*make)(const posenc_rel_bias *rel_bias);
    truth_value (*truth)(int64_t h, int64_t n_heads, int64_t o);
} schemes[] = {
    {"ALiBi", make_alibi, alibi},
    {"KERPLE, logarithm", make_log, logarithmic},
    {"KERPLE, power", make_power, power},
    {"RBF", make_rbf, rbf},
    {"Sandwich", make_sandwich, sandwiched},
    {"cosine", make_cosine, cosine},
    {"plain cosine", make_plain_cosine, plain_cosine},
};
enum { N_SCHEMES = sizeof schemes / sizeof schemes[0] };

/* ---- Against the formulas ---- */

/* Anywhere, mostly around 0. */
static int64_t some_first(int64_t n) {
    const int64_t last = INT32_MAX;
    switch (truth_below(5)) {
    case 0: return -n / 2;
    case 1: return 1 - n;
    case 2: return -last;
    case 3: return last - n + 1;
    default: return truth_below(last) - last / 2;
    }
}

static double ulp(double x) {
    float f = (float)fabs(x);
    return f < FLT_MIN ? (double)FLT_TRUE_MIN : (double)(nextafterf(f, INFINITY) - f);
}

/* The error in parts of what bias.h allows. */
static double check_value(float got, truth_value want, const char *name, int64_t h, int64_t o) {
    if (fabs(want.value) < (double)FLT_MIN * 1.000001 && got == 0.0f)
        return 0.0;
    double allowed = fmax(ulp(want.value), 0x1p-40 * want.terms);
    truth_close((double)got, want.value, allowed, "%s: head %lld, offset %lld", name, (long long)h, (long long)o);
    return fabs((double)got - want.value) / allowed;
}

/* Writes all heads, and nothing behind the last. */
static void test_no_head_beyond(void **state) {
    (void)state;
    enum { HEADS = 2, N = 9 };
    draw_parameters();
    for (int s = 0; s < N_SCHEMES; s++) {
        float data[(HEADS + 1) * N];
        for (int i = 0; i < (HEADS + 1) * N; i++)
            data[i] = 77.0f;
        posenc_rel_bias rel_bias = {data, 1 - N, N, HEADS, N, 0};
        truth_ok(schemes[s].make(&rel_bias));
        for (int i = HEADS * N; i < (HEADS + 1) * N; i++)
            assert_true(data[i] == 77.0f);
    }
    free_parameters();
}

/* Causal within chunks: the keys of the query's own chunk up to its own. */
/* Range of offsets for every window and chunk: from the first to the last that some query sees. */
static void test_ranges(void **state) {
    (void)state;
    enum { N = 20, KINDS = 5 };
    static const int64_t windows[KINDS] = {-1, 0, 1, 5, 40}, chunks[KINDS] = {0, 1, 2, 8, 50};
    for (int kind = 0; kind < KINDS * KINDS * KINDS; kind++) {
        posenc_mask mask = posenc_mask_none();
        mask.before = windows[kind % KINDS];
        mask.after = windows[kind / KINDS % KINDS];
        mask.chunk = chunks[kind / (KINDS * KINDS)];
        int64_t lowest = N, highest = -N, first, n;
        for (int64_t query = 0; query < N; query++)
            for (int64_t key = 0; key < N; key++) {
                int64_t offset = key - query;
                if ((mask.before >= 0 && offset < -mask.before) || (mask.after >= 0 && offset > mask.after) ||
                    (mask.chunk > 0 && key / mask.chunk != query / mask.chunk))
                    continue;
                lowest = offset < lowest ? offset : lowest;
                highest = offset > highest ? offset : highest;
            }
        truth_ok(posenc_rel_bias_range(mask, 0, N, N, &first, &n));
        assert_int_equal(first, lowest);
        assert_int_equal(n, highest - lowest + 1);
    }
}

/* Lines without an offset, beside positions of which no key is seen: what stands before the line was read as its last
 * offset. */
static void test_without_offsets(void **state) {
    (void)state;
    const int32_t q_pos = 0, k_pos = 100;
    void *const unreadable = (void *)(uintptr_t)64;
    float x = 1.0f, products[2] = {1.0f, 2.0f};
    posenc_view scores = posenc_view_dense(&x, POSENC_F32, 1, 1, 1, 1),
                rows = posenc_view_dense(products, POSENC_F32, 2, 1, 1, 1);
    posenc_rel_index index = {unreadable, 5, 0, 2};
    posenc_rel_bias rel_bias = {unreadable, 5, 0, 1, 0, 0}, nowhere = {NULL, 0, 0, 1, 0, 0};
    for (int tier = -1; truth_next_tier(&tier);)
        for (int kind = 0; kind < 4; kind++) {
            posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
            params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
            float y = 1.0f;
            posenc_view to = posenc_view_dense(&y, POSENC_F32, 1, 1, 1, 1);
            params.positions.queries = &q_pos;
            params.positions.keys = &k_pos;
            params.mask.before = params.mask.after = 0;
            params.bias.relative = kind == 1 ? &rel_bias : kind == 2 ? &nowhere : NULL;
            if (kind % 3 == 0)
                *(kind == 0 ? &params.bias.by_query : &params.bias.by_key) = (posenc_relative){&rows, &index};
            truth_ok(posenc_softmax(&params, &scores, &to, posenc_range_all()));
            assert_true(y == 0.0f);
        }
    truth_ok(posenc_rel_bias_alibi(products, &nowhere));
}

static void test_formulas(void **state) {
    (void)state;
    for (int s = 0; s < N_SCHEMES; s++) {
        double worst = 0.0;
        long long n_values = 0;
        for (int round = 0; round < 12; round++) {
            draw_parameters();
            int64_t n_heads = 1 + truth_below(round % 3 ? 4 : MAX_HEADS), n = 1 + truth_below(round % 4 ? 60 : 200);
            float data[MAX_HEADS * 200];
            posenc_rel_bias rel_bias = {data, some_first(n), n, n_heads, n, 0};
            truth_ok(schemes[s].make(&rel_bias));
            for (int64_t h = 0; h < n_heads; h++)
                for (int64_t t = 0; t < n; t += 1 + truth_below(s < 4 ? 3 : 9), n_values++) {
                    truth_value want = schemes[s].truth(h, n_heads, rel_bias.first + t);
                    worst = fmax(worst, check_value(data[h * n + t], want, schemes[s].name, h, rel_bias.first + t));
                }
            free_parameters();
        }
        truth_report(schemes[s].name, n_values, worst, TRUTH_ALLOWED, "random lines");
    }
}

/* KERPLE's exponents are clamped at 2, and at no number below or above it. */
static void test_kerple_exponents(void **state) {
    (void)state;
    float p_near_2[3] = {nextafterf(2.0f, 0.0f), 2.0f, nextafterf(2.0f, 3.0f)}, ones[3] = {1.0f, 1.0f, 1.0f}, y[3];
    const posenc_kerple kerple = {POSENC_KERPLE_POWER, p_near_2, ones, 0.01f};
    const posenc_rel_bias rel_bias = {y, 1 << 12, 1, 3, 1, 0};
    truth_ok(posenc_rel_bias_kerple(&kerple, &rel_bias));
    assert_true(y[1] == -0x1p24f && y[2] == y[1] && y[0] > y[1]);
}

/* ---- Parts, strides, tiers ---- */

/* A part of a line has the bits of the whole, writes nothing beside it, and a shared line is head 0. */
static void test_parts(void **state) {
    (void)state;
    static float whole[MAX_HEADS * MAX_OFFSETS], part[MAX_HEADS * MAX_OFFSETS];
    for (int s = 0; s < N_SCHEMES; s++)
        for (int round = 0; round < 20; round++) {
            draw_parameters();
            int64_t n_heads = 1 + truth_below(MAX_HEADS), n = 1 + truth_below(MAX_OFFSETS), begin = truth_below(n);
            posenc_rel_bias rel_bias = {whole, some_first(n), n, n_heads, n, 0};
            truth_ok(schemes[s].make(&rel_bias));
            for (int tier = -1; truth_next_tier(&tier);) {
                for (int64_t i = 0; i < MAX_HEADS * MAX_OFFSETS; i++)
                    part[i] = 77.0f;
                int64_t m = truth_below(n - begin + 1), stride = m + truth_below(MAX_OFFSETS - m + 1);
                posenc_rel_bias shard = {part, rel_bias.first + begin, m, n_heads, stride, 0};
                truth_ok(schemes[s].make(&shard));
                if (stride == 0)
                    continue;
                for (int64_t i = 0; i < n_heads * stride; i++) {
                    int64_t h = i / stride, t = i % stride;
                    float want = t < m ? whole[h * n + begin + t] : 77.0f;
                    truth_same_bits(part + i, &want, 1, "%s: head %lld, offset %lld", schemes[s].name, (long long)h,
                                    (long long)(shard.first + t));
                }
            }
            free_parameters();
        }
}

/* Longer than the blocks of offsets for which Sandwich makes an angle once. */
static void test_parts_of_a_long_line(void **state) {
    (void)state;
    enum { HEADS = 2, OFFSETS = 2500, PART = 499 };
    static float whole[HEADS * OFFSETS], part[HEADS * PART];
    const posenc_sandwich params = POSENC_SANDWICH_DEFAULTS;
    const posenc_rel_bias rel_bias = {whole, -2000, OFFSETS, HEADS, OFFSETS, 0};
    truth_ok(posenc_rel_bias_sandwich(&params, &rel_bias));
    for (int64_t first = 0; first + PART <= OFFSETS; first += PART) {
        const posenc_rel_bias shard = {part, rel_bias.first + first, PART, HEADS, PART, 0};
        truth_ok(posenc_rel_bias_sandwich(&params, &shard));
        for (int h = 0; h < HEADS; h++)
            truth_same_bits(part + h * PART, whole + h * OFFSETS + first, PART, "head %d, offset %lld", h,
                            (long long)shard.first);
    }
}

static void test_shared(void **state) {
    (void)state;
    draw_parameters();
    for (int s = 0; s < N_SCHEMES; s++) {
        if (schemes[s].make == make_sandwich) /* whose values depend on how many heads there are */
            continue;
        float one[50], shared[51];
        posenc_rel_bias rel_bias = {one, -20, 50, 1, 50, 0}, of_many = {shared, -20, 50, 8, 0, 0};
        shared[50] = 77.0f;
        truth_ok(schemes[s].make(&rel_bias));
        truth_ok(schemes[s].make(&of_many));
        truth_same_bits(shared, one, 50, "%s: stride 0", schemes[s].name);
        assert_true(shared[50] == 77.0f);

        enum { HEADS = 3, N_Q = 2, N_K = 25 };
        float logits[HEADS * N_Q * N_K];
        posenc_view view = posenc_view_dense(logits, POSENC_F32, N_K, N_Q, HEADS, 1);
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
        params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
        params.bias.relative = &of_many; /* of any number of heads */
        truth_ok(posenc_logits(&params, NULL, &view, posenc_range_all()));
        for (int i = 0; i < HEADS * N_Q * N_K; i++)
            assert_true(logits[i] == shared[20 + i % N_K - i / N_K % N_Q]);
    }
    free_parameters();
}

/* The line has the bits that the softmax path makes of the slopes. */
static void test_alibi_is_softmaxs(void **state) {
    (void)state;
    enum { HEADS = 12, N_Q = 40, N_K = 70 };
    static float by_slopes[HEADS * N_Q * N_K], by_line[HEADS * N_Q * N_K], data[HEADS * (N_Q + N_K)];
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = N_K - N_Q;
    truth_ok(posenc_alibi_slopes(HEADS, 8.0, slopes));
    posenc_view view = posenc_view_dense(by_slopes, POSENC_F32, N_K, N_Q, HEADS, 1);
    params.bias.alibi_slopes = slopes;
    params.n_heads = HEADS;
    truth_ok(posenc_logits(&params, NULL, &view, posenc_range_all()));
    posenc_rel_bias rel_bias = {.data = data, .n_heads = HEADS, .stride = N_Q + N_K};
    truth_ok(posenc_rel_bias_range(posenc_mask_none(), params.positions.query_start, N_Q, N_K, &rel_bias.first,
                                   &rel_bias.n_offsets));
    assert_int_equal(rel_bias.n_offsets, N_Q + N_K - 1);
    truth_ok(posenc_rel_bias_alibi(slopes, &rel_bias));
    params.bias.alibi_slopes = NULL;
    params.bias.relative = &rel_bias;
    view.data = by_line;
    truth_ok(posenc_logits(&params, NULL, &view, posenc_range_all()));
    for (size_t i = 0; i < HEADS * N_Q * N_K; i++)
        by_slopes[i] += 0.0f, by_line[i] += 0.0f; /* -0 and 0 are the same bias */
    truth_same_bits(by_line, by_slopes, HEADS * N_Q * N_K, "ALiBi by line");
}

static void test_one_row(void **state) {
    (void)state;
    enum { HEADS = 5, N_K = 33, BATCH = 3, STRIDE = N_K + 1 }; /* a float between rows, which stays */
    float data[BATCH * HEADS * STRIDE];
    uint8_t keep[BATCH * N_K];
    truth_ok(posenc_alibi_slopes(HEADS, 8.0, slopes));
    for (int i = 0; i < BATCH * N_K; i++)
        keep[i] = (uint8_t)(truth_below(3) * truth_below(100));
    for (int form = POSENC_ALIBI_ROW_FROM_FIRST; form <= POSENC_ALIBI_ROW_COUNTED; form++) {
        posenc_view bias = posenc_view_dense(data, POSENC_F32, STRIDE, 1, HEADS, BATCH);
        bias.ne[0] = N_K;
        truth_fill(data, BATCH * HEADS * STRIDE);
        float before[BATCH * HEADS * STRIDE];
        memcpy(before, data, sizeof data);
        truth_ok(posenc_alibi_row(slopes, (posenc_alibi_row_form)form, keep, &bias));
        for (int i = 0; i < BATCH * HEADS * STRIDE; i++) {
            int j = i % STRIDE, h = i / STRIDE % HEADS, b = i / STRIDE / HEADS, count = -1;
            if (j == N_K) {
                truth_same_bits(&data[i], &before[i], 1, "form %d, between rows, head %d, batch %d", form, h, b);
                continue;
            }
            for (int k = 0; k <= j; k++)
                count += keep[b * N_K + k] != 0;
            double at = form == POSENC_ALIBI_ROW_FROM_FIRST  ? j
                        : form == POSENC_ALIBI_ROW_FROM_LAST ? j - (N_K - 1)
                                                             : count * (keep[b * N_K + j] != 0);
            float want = (float)((double)slopes[h] * at) + 0.0f, got = data[i] + 0.0f;
            truth_same_bits(&got, &want, 1, "form %d, key %d, head %d, batch %d", form, j, h, b);
        }
    }
}

static int is_masked(const posenc_mask *mask, int64_t offset) {
    return (mask->before >= 0 && -offset > mask->before) || (mask->after >= 0 && offset > mask->after);
}

static void test_mask(void **state) {
    (void)state;
    int n_refused = 0;
    for (int round = 0; round < 400; round++) {
        float data[3 * 60];
        posenc_mask mask = {truth_below(30) - 5, truth_below(30) - 5, 0, 0};
        int extended = round % 2;
        posenc_rel_bias rel_bias = {data, truth_below(80) - 70, extended + truth_below(61 - extended), 3, 60, extended};
        truth_fill(data, 180);
        float before[180];
        memcpy(before, data, sizeof data);
        int64_t last = rel_bias.first + rel_bias.n_offsets - 1,
                n_other = 0; /* beyond an end that does not speak for them */
        for (int64_t o = 1; extended && o < 200; o++)
            n_other += is_masked(&mask, rel_bias.first - o) != is_masked(&mask, rel_bias.first) ||
                       is_masked(&mask, last + o) != is_masked(&mask, last);
        assert_int_equal(posenc_rel_bias_mask(mask, &rel_bias), n_other > 0 ? POSENC_ERR_OFFSETS : POSENC_OK);
        n_refused += n_other > 0;
        for (int64_t i = 0; i < 180; i++) {
            int64_t t = i % 60, o = rel_bias.first + t;
            float want = n_other == 0 && t < rel_bias.n_offsets && is_masked(&mask, o) ? -INFINITY : before[i];
            truth_same_bits(data + i, &want, 1, "offset %lld", (long long)o);
        }
    }
    assert_true(n_refused > 40 && n_refused < 180); /* of 200 that are extended */
}

/* ---- Tables ---- */

/* Both layouts and any strides, scaled. */
static void test_gather(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        enum { ROWS = 9, HEADS = 6, N = 50 };
        float table_data[3 * ROWS * HEADS], data[HEADS * N], scale = round % 2 ? 1.0f : (float)truth_uniform(-3.0, 3.0);
        int32_t rows[N + 20];
        truth_fill(table_data, 3 * ROWS * HEADS);
        posenc_rel_index index = {rows, truth_below(1000) - 500, N + 20, ROWS};
        for (int i = 0; i < N + 20; i++)
            rows[i] = (int32_t)truth_below(ROWS);
        int64_t n = truth_below(N + 1), skip = truth_below(N + 21 - n), n_heads = 1 + truth_below(HEADS);
        posenc_bias_table table = {table_data, ROWS, n_heads, n_heads, 1};
        if (round % 3 == 1)
            table = (posenc_bias_table){table_data, ROWS, n_heads, 1, ROWS};
        if (round % 3 == 2)
            table = (posenc_bias_table){table_data + 3 * ROWS * HEADS - 1, ROWS, n_heads, -2 * HEADS, -1};
        posenc_rel_bias rel_bias = {data, index.first + skip, n, n_heads, N, 0};
        truth_ok(posenc_rel_bias_gather(&index, &table, scale, &rel_bias));
        for (int64_t i = 0; i < n_heads * N; i++)
            if (i % N < n) {
                float want = table.data[rows[skip + i % N] * table.row_stride + i / N * table.head_stride] * scale;
                truth_same_bits(data + i, &want, 1, "head %lld", (long long)(i / N));
            }
    }
}

/* ---- T5's buckets ---- */

/* max_distance^k exact^(steps-k) <= d^steps, in integers of any size: the definition of FORMULAS C.5. */
static int has_reached(int64_t max_distance, int64_t exact, int64_t steps, int64_t k, int64_t d) {
    mpfr_t left, right, factor;
    mpfr_inits2(31 * (mpfr_prec_t)steps + 64, left, right, factor, (mpfr_ptr)NULL);
    int inexact = mpfr_ui_pow_ui(left, (unsigned long)max_distance, (unsigned long)k, MPFR_RNDN);
    inexact |= mpfr_ui_pow_ui(factor, (unsigned long)exact, (unsigned long)(steps - k), MPFR_RNDN);
    inexact |= mpfr_mul(left, left, factor, MPFR_RNDN);
    inexact |= mpfr_ui_pow_ui(right, (unsigned long)d, (unsigned long)steps, MPFR_RNDN);
    assert_int_equal(inexact, 0);
    int reached = mpfr_lessequal_p(left, right);
    mpfr_clears(left, right, factor, (mpfr_ptr)NULL);
    return reached;
}

/* The bucket of distance d in one direction is b. */
static void check_bucket(const posenc_t5_params *t5, int64_t d, int64_t b) {
    int64_t n = t5->bidirectional ? t5->num_buckets / 2 : t5->num_buckets, exact = n / 2, steps = n - exact,
            k = b - exact;
    const char *what = NULL;
    if (d < exact)
        what = b == d ? NULL : "exact";
    else if (k < 0 || k >= steps)
        what = "range";
    else if (!has_reached(t5->max_distance, exact, steps, k, d))
        what = "too late a bucket";
    else if (k + 1 < steps && has_reached(t5->max_distance, exact, steps, k + 1, d))
        what = "too early a bucket";
    if (what != NULL)
        fail_msg("%s: distance %lld, bucket %lld, of %lld up to %lld%s", what, (long long)d, (long long)b,
                 (long long)t5->num_buckets, (long long)t5->max_distance, t5->bidirectional ? ", bidirectional" : "");
}

/* A line around distances first .. first + n - 1, on both sides, against single buckets; the boundaries against the
 * definition. */
static void check_buckets(const posenc_t5_params *t5, int64_t first, int64_t n) {
    static int32_t forwards[20000], backwards[20000];
    posenc_rel_index after = {forwards, first, n, t5->num_buckets},
                     before = {backwards, 1 - first - n, n, t5->num_buckets};
    truth_ok(posenc_rel_index_t5(t5, &after));
    truth_ok(posenc_rel_index_t5(t5, &before));
    int64_t half = t5->num_buckets / 2;
    for (int64_t t = 0; t < n; t++) {
        int32_t b = backwards[n - 1 - t];
        assert_int_equal(forwards[t], first + t == 0 ? b : t5->bidirectional ? half + b : 0);
        if (t == 0 || t == n - 1 || b != backwards[n - t] || b != backwards[n - 2 - t] || truth_below(300) == 0) {
            int32_t alone;
            check_bucket(t5, first + t, b);
            truth_ok(posenc_t5_bucket(t5, (int32_t) - (first + t), &alone));
            assert_int_equal(alone, b);
        }
    }
}

static void test_t5(void **state) {
    (void)state;
    static const posenc_t5_params known[] = {POSENC_T5_ENCODER, POSENC_T5_DECODER, {32, 256, 1},       {64, 4096, 0},
                                             {2, 2, 0},         {4, 3, 1},         {4096, 1 << 30, 0}, {4096, 2049, 0},
                                             {128, 1 << 30, 1}, {17, 128, 0},      {33, 1024, 1},      {48, 512, 0},
                                             {20, 10000, 0},    {256, 16384, 1}};
    int n_known = sizeof known / sizeof known[0];
    for (int k = 0; k < n_known + 30; k++) {
        posenc_t5_params t5 = {4 + truth_below(60), 0, (int)truth_below(2)};
        int64_t exact = t5.num_buckets / (t5.bidirectional ? 4 : 2);
        t5.max_distance = exact + 1 + (truth_below(3) ? truth_below(300) : (int64_t)truth_log_uniform(1.0, 1e9));
        if (k < n_known)
            t5 = known[k];
        check_buckets(&t5, 0, t5.num_buckets > 1000 ? 3000 : 20000);
        check_buckets(&t5, t5.max_distance > 100 ? t5.max_distance - 50 : 0, 100);
        if (t5.num_buckets < 200)
            check_buckets(&t5, INT32_MAX - 99, 100);
    }
}

/* Offsets up to max_distance, extended, make the bias of any line, and take its gradient. */
static void test_t5_extended(void **state) {
    (void)state;
    enum { MAX_DISTANCE = 128, HEADS = 2, KEYS = 500, QUERIES = 3, LONG = KEYS + QUERIES - 1 };
    for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
        posenc_t5_params t5 = {32, MAX_DISTANCE, bidirectional};
        static float table_data[32 * HEADS], gradients[2][32 * HEADS], data[2][HEADS * LONG],
            bias[2][KEYS * QUERIES * HEADS];
        static int32_t buckets[LONG];
        posenc_bias_table table = {table_data, 32, HEADS, HEADS, 1};
        posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
        params.positions.query_start = 250;
        truth_fill(table_data, 32 * HEADS);
        for (int extended = 0; extended < 2; extended++) {
            posenc_rel_bias rel_bias = {data[extended], -(250 + QUERIES - 1), LONG, HEADS, LONG, 0};
            if (extended)
                rel_bias = (posenc_rel_bias){
                    data[extended], -MAX_DISTANCE, MAX_DISTANCE + (bidirectional ? MAX_DISTANCE : 0) + 1,
                    HEADS,          LONG,          1};
            posenc_rel_index index = {buckets, rel_bias.first, rel_bias.n_offsets, 32};
            posenc_view y = posenc_view_dense(bias[extended], POSENC_F32, KEYS, QUERIES, HEADS, 1);
            truth_ok(posenc_rel_index_t5(&t5, &index));
            truth_ok(posenc_rel_bias_gather(&index, &table, 1.0f, &rel_bias));
            params.bias.relative = &rel_bias;
            truth_ok(posenc_logits(&params, NULL, &y, posenc_range_all()));
            posenc_bias_table gradient = {gradients[extended], 32, HEADS, HEADS, 1};
            params.bias.relative = NULL;
            y.data = bias[0];
            truth_ok(posenc_rel_bias_backward(&params, &y, &rel_bias));
            truth_ok(posenc_bias_table_backward(&index, &rel_bias, 1.0f, &gradient));
        }
        truth_same_bits(bias[1], bias[0], KEYS * QUERIES * HEADS, "extended");
        for (int i = 0; i < 32 * HEADS; i++) /* whose sums are rounded in other places */
            truth_close((double)gradients[1][i], (double)gradients[0][i], 1e-4 + 1e-6 * fabs((double)gradients[0][i]),
                        "gradient %d", i);
    }
}

/* The boundaries that FORMULAS C.5 lists. */
static void test_t5_boundaries(void **state) {
    (void)state;
    static const int encoder[] = {8, 12, 16, 23, 32, 46, 64, 91};
    static const int decoder[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
    const posenc_t5_params both = POSENC_T5_ENCODER, causal = POSENC_T5_DECODER;
    for (int k = 0; k < 16; k++) {
        int32_t before, at;
        const posenc_t5_params *t5 = k < 8 ? &both : &causal;
        int distance = k < 8 ? encoder[k] : decoder[k];
        for (int part = 0; part < (k < 8 ? 2 : 1); part++) {
            if (part == 1) {
                t5 = &causal;
                distance = decoder[k];
            }
            truth_ok(posenc_t5_bucket(t5, 1 - distance, &before));
            truth_ok(posenc_t5_bucket(t5, -distance, &at));
            assert_int_equal(at, (t5 == &both ? 8 : 16) + k);
            assert_int_equal(before, at - 1);
        }
    }
}

static void test_clipped(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 16, 64, ((int64_t)1 << 29) - 1};
    for (int s = 0; s < 6; s++)
        for (int round = 0; round < 20; round++) {
            int32_t rows[100];
            int64_t k = sizes[s];
            posenc_rel_index index = {rows, some_first(100), 100, 0};
            posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, k, 0);
            truth_ok(posenc_rel_index_fill(&rule, &index));
            assert_int_equal(index.n_rows, 2 * k + 1);
            for (int64_t t = 0; t < 100; t++) {
                int64_t o = index.first + t;
                assert_int_equal(rows[t], (o < -k ? -k : o > k ? k : o) + k);
            }
        }
}

/* ---- exp and log ---- */

static double relative_error(double got, mpfr_t truth) {
    mpfr_t difference;
    mpfr_init2(difference, 200);
    mpfr_sub_d(difference, truth, got, MPFR_RNDN);
    if (!mpfr_zero_p(truth))
        mpfr_div(difference, difference, truth, MPFR_RNDN);
    double error = fabs(mpfr_get_d(difference, MPFR_RNDN));
    mpfr_clear(difference);
    return error;
}

static void test_elementary(void **state) {
    (void)state;
    double worst_exp = 0.0, worst_log = 0.0;
    mpfr_t x;
    mpfr_init2(x, 200);
    for (int k = 0; k < 50000; k++) {
        double e = k == 0 ? 0.0 : k % 2 ? truth_uniform(-700.0, 700.0) : truth_uniform(-1.0, 1.0);
        mpfr_set_d(x, e, MPFR_RNDN);
        mpfr_exp(x, x, MPFR_RNDN);
        worst_exp = fmax(worst_exp, relative_error(posenc_exp_double(e), x));
        double y = k == 0 ? 0.0 : k % 3 == 0 ? truth_uniform(0.0, 3.0) : truth_log_uniform(1e-300, 1e300);
        mpfr_set_d(x, y, MPFR_RNDN);
        mpfr_log1p(x, x, MPFR_RNDN);
        worst_log = fmax(worst_log, relative_error(posenc_log1p_double(y), x));
    }
    mpfr_clear(x);
    truth_report("exp in double", 50000, worst_exp, "relative", "-700 to 700");
    truth_report("log1p in double", 50000, worst_log, "relative", "0 to 1e300");
    assert_true(worst_exp < 0x1p-50 && worst_log < 0x1p-50);
}

/* Set-up with a timescale of 5e-324 left ERANGE behind: ldexp had set it. */
static void test_powers_leave_errno_alone(void **state) {
    (void)state;
    for (int i = 0; i < 100000; i++) {
        double x = (i % 2 ? -1.0 : 1.0) * truth_log_uniform(0x1p-120, 4.0);
        int k = i < 10 ? (int[]){0, 1, -1, 1023, 1024, -1022, -1074, -1075, 99999, -99999}[i] : i % 4600 - 2300;
        double expected = ldexp(x, k);
        errno = 0;
        double scaled = posenc_scale_by_power(x, k);
        assert_memory_equal(&scaled, &expected, sizeof scaled);
        assert_int_equal(errno, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_no_head_beyond),
        truth_test(test_ranges),
        truth_test(test_formulas),
        truth_test(test_kerple_exponents),
        truth_test(test_parts),
        truth_test(test_parts_of_a_long_line),
        truth_test(test_shared),
        truth_test(test_alibi_is_softmaxs),
        truth_test(test_one_row),
        truth_test(test_mask),
        truth_test(test_gather),
        truth_test(test_t5),
        truth_test(test_t5_boundaries),
        truth_test(test_t5_extended),
        truth_test(test_clipped),
        truth_test(test_elementary),
        truth_test(test_powers_leave_errno_alone),
        truth_test(test_without_offsets),
    };
    return truth_run(tests);
}
