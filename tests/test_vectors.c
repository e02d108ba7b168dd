/* The golden vectors (tests/vectors, FORMULAS 0.5) through the public API, on every tier.
 *
 * Left for later, because the library has no such thing yet; a case is counted as left when its check returns 0:
 *   B.6, E.3 with mscale != 1; C.3 "one_row"; C.22 with windows, chunks or padding masks;
 *   C.26 with softcap, sink or the policies other than zeros (an arbitrary bias is added to the dots by the caller,
 *   exactly: they are multiples of 1/64); C.32 with softcap; the outputs P V of C.4 and C.32.
 */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define TOLERANCE 2e-6 /* FORMULAS 0.5, for unit-size data and sums of at most 64 terms */

enum { MAX_VALUES = 1024, MAX_POSITIONS = 64 };

/* One case of a file. */
typedef struct example {
    const char *where;
    const cJSON *inputs;
    double expected[MAX_VALUES];
    int n_expected;
} example;

/* ---- Reading ---- */

static double number(const cJSON *item) {
    if (cJSON_IsString(item))
        return strcmp(item->valuestring, "-inf") == 0 ? -INFINITY : NAN;
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static const cJSON *input(const example *e, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(e->inputs, name);
    if (item == NULL)
        fail_msg("%s: no input %s", e->where, name);
    return item;
}

static double value(const example *e, const char *name) {
    return number(input(e, name));
}

static int is(const example *e, const char *name, const char *text) {
    return strcmp(input(e, name)->valuestring, text) == 0;
}

static int has(const example *e, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(e->inputs, name);
    return item != NULL && !cJSON_IsNull(item) && !(cJSON_IsNumber(item) && item->valuedouble == 0.0);
}

/* Numbers of an array, whatever its nesting, into x; returns how many. */
static int flatten(const cJSON *item, float *x, int n) {
    if (!cJSON_IsArray(item)) {
        assert_true(n < MAX_VALUES);
        x[n] = (float)number(item);
        return n + 1;
    }
    for (const cJSON *child = item->child; child != NULL; child = child->next)
        n = flatten(child, x, n);
    return n;
}

static int floats(const example *e, const char *name, float *x) {
    return flatten(input(e, name), x, 0);
}

static int64_t integers(const example *e, const char *name, int32_t *positions) {
    int64_t n = 0;
    for (const cJSON *child = input(e, name)->child; child != NULL; child = child->next) {
        assert_true(n < MAX_POSITIONS);
        positions[n++] = (int32_t)number(child);
    }
    return n;
}

/* Length of the innermost arrays of an input. */
static int64_t width(const example *e, const char *name) {
    const cJSON *item = input(e, name);
    while (cJSON_IsArray(item->child))
        item = item->child;
    return cJSON_GetArraySize(item);
}

/* Compares n values with expected[first ..]; returns n. */
static int match(const example *e, const float *got, int first, int n) {
    assert_true(first + n <= e->n_expected);
    for (int i = 0; i < n; i++)
        if (isinf(e->expected[first + i]))
            assert_true((double)got[i] == e->expected[first + i]);
        else
            truth_close((double)got[i], e->expected[first + i], TOLERANCE, "%s, value %d", e->where, first + i);
    return n;
}

/* ---- A: absolute encodings ---- */

static void encode(posenc_sinusoidal_params params, const int32_t *positions, int64_t n, float *rows, int64_t stride) {
    posenc_sinusoidal *pe;
    truth_ok(posenc_sinusoidal_create(&params, &pe));
    posenc_view y = posenc_view_dense(rows, POSENC_F32, params.dim, n, 1, 1);
    y.nb[1] = stride * (int64_t)sizeof(float);
    truth_ok(posenc_sinusoidal_write(pe, positions, &y));
    posenc_sinusoidal_free(pe);
}

static int check_encoding(const example *e, posenc_sinusoidal_layout layout, posenc_schedule schedule, posenc_odd odd) {
    int32_t positions[MAX_POSITIONS];
    float rows[MAX_VALUES];
    int64_t n = integers(e, "positions", positions), dim = (int64_t)value(e, "d");
    encode((posenc_sinusoidal_params){layout, schedule, odd, dim, value(e, "base"), 1.0}, positions, n, rows, dim);
    return match(e, rows, 0, (int)(n * dim));
}

static int check_a01(const example *e) {
    return check_encoding(e, POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN);
}

static int check_a02(const example *e) {
    posenc_schedule schedule = is(e, "schedule", "half") ? POSENC_SCHEDULE_HALF : POSENC_SCHEDULE_HALF_MINUS_1;
    return check_encoding(e, POSENC_SINUSOIDAL_CONCAT, schedule, POSENC_ODD_SIN);
}

static int check_a04(const example *e) {
    if (is(e, "mode", "concat_half"))
        return check_encoding(e, POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN);
    return check_encoding(e, POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_UNSET,
                          is(e, "mode", "interleaved_sin") ? POSENC_ODD_SIN : POSENC_ODD_ZERO);
}

/* M_k PE(p) is PE(p + k), and the first column of block i of M_k is (cos, -sin) of k theta_i. */
static int check_a06(const example *e) {
    int dim = (int)value(e, "d");
    int32_t k = (int32_t)value(e, "k"), sum = (int32_t)value(e, "position") + k;
    posenc_sinusoidal_params params = {
        POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_UNSET, POSENC_ODD_SIN, dim, value(e, "base"), 1.0};
    float turned[MAX_VALUES], shift[MAX_VALUES];
    encode(params, &sum, 1, turned, dim);
    encode(params, &k, 1, shift, dim);
    for (int i = 0; i < dim / 2; i++) {
        float negated = -shift[2 * i];
        match(e, &shift[2 * i + 1], 2 * i * dim + 2 * i, 1);
        match(e, &negated, (2 * i + 1) * dim + 2 * i, 1);
    }
    return dim + match(e, turned, dim * dim, dim);
}

/* Two encodings of half the width side by side: slices of wider rows. */
static int check_a21(const example *e) {
    int64_t h = (int64_t)value(e, "H"), w = (int64_t)value(e, "W"), dim = (int64_t)value(e, "d");
    int64_t prefix = (int64_t)value(e, "n_prefix");
    posenc_sinusoidal_params params = {
        POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN, dim / 2, value(e, "base"), 1.0};
    int32_t rows[MAX_POSITIONS], columns[MAX_POSITIONS];
    for (int64_t t = 0; t < h * w; t++) {
        rows[t] = (int32_t)(t / w);
        columns[t] = (int32_t)(t % w);
    }
    int w_first = is(e, "first", "w");
    float pe[MAX_VALUES] = {0.0f}, *grid = pe + prefix * dim;
    encode(params, w_first ? columns : rows, h * w, grid, dim);
    encode(params, w_first ? rows : columns, h * w, grid + dim / 2, dim);
    return match(e, pe, 0, (int)((prefix + h * w) * dim));
}

/* ---- B: rotary ---- */

static int check_b01(const example *e) {
    posenc_freq *freq;
    float theta[MAX_VALUES];
    truth_ok(posenc_freq_create(value(e, "base"), (int64_t)value(e, "n_rot"), &freq));
    int n = (int)posenc_freq_count(freq);
    for (int i = 0; i < n; i++)
        theta[i] = (float)posenc_freq_theta(freq, i);
    posenc_freq_free(freq);
    return match(e, theta, 0, n);
}

/* Rotates rows [n_tokens][head_dim] in place. */
static void rotate(posenc_rope_params params, float *x, int64_t n_tokens, const int32_t *positions,
                   posenc_direction direction) {
    posenc_rope *rope;
    truth_ok(posenc_rope_create(&params, &rope));
    posenc_view view = posenc_view_dense(x, POSENC_F32, params.head_dim, 1, n_tokens, 1);
    truth_ok(posenc_rope_apply(rope, &view, positions, &view, direction, posenc_all_rows()));
    posenc_rope_free(rope);
}

static posenc_rope_layout layout_of(const example *e) {
    return is(e, "layout", "half") ? POSENC_ROPE_HALF : POSENC_ROPE_INTERLEAVED;
}

static int check_rotation(const example *e, posenc_rope_layout layout, posenc_direction direction) {
    int32_t positions[MAX_POSITIONS];
    float x[MAX_VALUES];
    int n = floats(e, "x", x);
    posenc_rope_params params = {layout, width(e, "x"), width(e, "x"), 0, value(e, "base")};
    if (has(e, "n_rot") || direction == POSENC_FORWARD)
        params.n_rot = (int64_t)value(e, "n_rot");
    if (has(e, "offset"))
        params.n_offs = (int64_t)value(e, "offset");
    rotate(params, x, integers(e, "positions", positions), positions, direction);
    return match(e, x, 0, n);
}

static int check_b02(const example *e) {
    return check_rotation(e, POSENC_ROPE_INTERLEAVED, POSENC_FORWARD);
}

static int check_b03(const example *e) {
    return check_rotation(e, POSENC_ROPE_HALF, POSENC_FORWARD);
}

static int check_b05(const example *e) {
    return check_rotation(e, layout_of(e), POSENC_FORWARD);
}

static int check_b06(const example *e) {
    return value(e, "mscale") == 1.0 ? check_rotation(e, layout_of(e), POSENC_INVERSE) : 0;
}

static int check_e03(const example *e) {
    if (value(e, "mscale") != 1.0)
        return 0;
    float x[MAX_VALUES];
    int n = floats(e, "dy", x);
    int32_t position = (int32_t)value(e, "position");
    rotate((posenc_rope_params){layout_of(e), n, (int64_t)value(e, "n_rot"), 0, value(e, "base")}, x, 1, &position,
           POSENC_INVERSE);
    return match(e, x, 0, n);
}

static int check_b08(const example *e) {
    float x[MAX_VALUES];
    int n = floats(e, "x", x);
    int32_t position = (int32_t)value(e, "position"), delta = (int32_t)value(e, "delta");
    posenc_rope_params params = {layout_of(e), n, n, 0, value(e, "base")};
    rotate(params, x, 1, &position, POSENC_FORWARD);
    match(e, x, 0, n);
    rotate(params, x, 1, &delta, POSENC_FORWARD);
    return n + match(e, x, n, n);
}

/* One rotary slice per axis. */
static int check_b23(const example *e) {
    float x[MAX_VALUES];
    int n = floats(e, "x", x);
    int64_t offset = 0, axis = 0, dim = width(e, "x");
    for (const cJSON *d = input(e, "axes_dim")->child; d != NULL; d = d->next, axis++) {
        int32_t position = (int32_t)number(cJSON_GetArrayItem(input(e, "positions")->child, (int)axis));
        assert_int_equal(n, dim); /* one token */
        rotate((posenc_rope_params){layout_of(e), dim, (int64_t)number(d), offset, value(e, "base")}, x, 1, &position,
               POSENC_FORWARD);
        offset += (int64_t)number(d);
    }
    return match(e, x, 0, n);
}

static double dot(const float *x, const float *y, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static int check_b24(const example *e) {
    float q[MAX_VALUES], k[MAX_VALUES];
    int n = floats(e, "q", q);
    floats(e, "k", k);
    int32_t m = (int32_t)value(e, "m"), at = (int32_t)value(e, "n");
    posenc_rope_params params = {layout_of(e), n, n, 0, value(e, "base")};
    rotate(params, q, 1, &m, POSENC_FORWARD);
    rotate(params, k, 1, &at, POSENC_FORWARD);
    float score = (float)dot(q, k, n);
    return match(e, &score, 0, 1);
}

static int check_f02(const example *e) {
    int32_t positions[MAX_POSITIONS];
    float cosines[MAX_VALUES], sines[MAX_VALUES];
    int n_positions = (int)integers(e, "positions", positions), n_rot = (int)value(e, "n_rot");
    posenc_freq *freq;
    truth_ok(posenc_freq_create(value(e, "base"), n_rot, &freq));
    truth_ok(posenc_angle_rows(freq, positions, n_positions, cosines, sines, n_rot / 2));
    posenc_freq_free(freq);
    int n = n_positions * n_rot / 2;
    return match(e, cosines, 0, n) + match(e, sines, n, n);
}

/* ---- C: the score path ---- */

static int check_c02(const example *e) {
    float slopes[MAX_VALUES];
    int n = (int)value(e, "n_heads");
    truth_ok(posenc_alibi_slopes(n, value(e, "max_bias"), slopes));
    return match(e, slopes, 0, n);
}

static int check_c03(const example *e) {
    float slopes[MAX_VALUES], bias[MAX_VALUES];
    int64_t n_heads = (int64_t)value(e, "n_heads"), n_q = (int64_t)value(e, "n_q"), n_k = (int64_t)value(e, "n_k");
    truth_ok(posenc_alibi_slopes(n_heads, 8.0, slopes));
    posenc_view view = posenc_view_dense(bias, POSENC_F32, n_k, n_q, n_heads, 1);
    truth_ok(posenc_alibi_bias(slopes, is(e, "form", "causal") ? POSENC_MASK_CAUSAL : POSENC_MASK_NONE,
                               (int64_t)value(e, "q_offset"), &view, posenc_all_rows()));
    return match(e, bias, 0, (int)(n_heads * n_q * n_k));
}

/* The causal mask alone is the bias of slope 0. */
static int check_c22(const example *e) {
    const cJSON *rule = input(e, "rule");
    if (cJSON_GetArraySize(rule) != 1 || !cJSON_IsTrue(cJSON_GetObjectItem(rule, "causal")) ||
        has(e, "key_padding_keep"))
        return 0;
    float mask[MAX_VALUES], slope = 0.0f;
    int64_t n_q = (int64_t)value(e, "n_q"), n_k = (int64_t)value(e, "n_k");
    posenc_view view = posenc_view_dense(mask, POSENC_F32, n_k, n_q, 1, 1);
    truth_ok(posenc_alibi_bias(&slope, POSENC_MASK_CAUSAL, (int64_t)value(e, "q_offset"), &view, posenc_all_rows()));
    return match(e, mask, 0, (int)(n_q * n_k));
}

static int check_c26(const example *e) {
    if (has(e, "softcap") || cJSON_IsNumber(input(e, "sink")) || !is(e, "policy", "zeros"))
        return 0;
    float dots[MAX_VALUES], bias[MAX_VALUES], mask[MAX_VALUES], probabilities[MAX_VALUES];
    int n = floats(e, "dots", dots), n_allowed = 0;
    floats(e, "bias", bias);
    floats(e, "mask", mask);
    while (n_allowed < n && mask[n_allowed] == 0.0f)
        n_allowed++;
    for (int j = n_allowed; j < n; j++)
        if (mask[j] == 0.0f)
            return 0; /* not what a causal mask can say */
    double scale = value(e, "scale"), slope = value(e, "slope");
    for (int j = 0; j < n; j++)
        dots[j] = (float)((double)dots[j] + slope * (double)bias[j] / scale); /* scale is a power of two: exact */
    posenc_softmax_params params = {(float)scale, NULL, POSENC_MASK_CAUSAL, n_allowed - 1};
    posenc_view x = posenc_view_dense(dots, POSENC_F32, n, 1, 1, 1);
    posenc_view y = posenc_view_dense(probabilities, POSENC_F32, n, 1, 1, 1);
    truth_ok(posenc_softmax(&params, &x, &y, posenc_all_rows()));
    return match(e, probabilities, n, n); /* the first part is the logits */
}

/* Probabilities of one head from q and k. */
static int check_attention(const example *e, const float *q, const float *k, double scale, double slope,
                           posenc_mask mask) {
    float scores[MAX_VALUES], head_slope = (float)slope;
    int n = cJSON_GetArraySize(input(e, "q"));
    int64_t dim = width(e, "q");
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            scores[i * n + j] = (float)dot(q + i * dim, k + j * dim, dim);
    posenc_softmax_params params = {(float)scale, &head_slope, mask, 0};
    posenc_view view = posenc_view_dense(scores, POSENC_F32, n, n, 1, 1);
    truth_ok(posenc_softmax(&params, &view, &view, posenc_all_rows()));
    return match(e, scores, 0, n * n);
}

static int check_c04(const example *e) {
    float q[MAX_VALUES], k[MAX_VALUES];
    int64_t dim = width(e, "q"), n = floats(e, "q", q) / dim;
    floats(e, "k", k);
    int32_t positions[MAX_POSITIONS];
    for (int64_t t = 0; t < n; t++)
        positions[t] = (int32_t)t;
    posenc_rope_params params = {layout_of(e), dim, dim, 0, value(e, "base")};
    rotate(params, q, n, positions, POSENC_FORWARD);
    rotate(params, k, n, positions, POSENC_FORWARD);
    return check_attention(e, q, k, 1.0 / sqrt((double)dim), value(e, "slope"), POSENC_MASK_NONE);
}

static int check_c32(const example *e) {
    if (has(e, "softcap"))
        return 0;
    float q[MAX_VALUES], k[MAX_VALUES];
    floats(e, "q", q);
    floats(e, "k", k);
    return check_attention(e, q, k, value(e, "scale"), value(e, "alibi_slope"),
                           cJSON_IsTrue(input(e, "causal")) ? POSENC_MASK_CAUSAL : POSENC_MASK_NONE);
}

/* ---- Every file ---- */

static const struct {
    const char *file;
    int (*check)(const example *); /* returns the number of values compared */
} files[] = {
    {"A01_sinusoidal_interleaved", check_a01},
    {"A02_sinusoidal_concat", check_a02},
    {"A04_odd_dimension", check_a04},
    {"A06_shift_matrix", check_a06},
    {"A21_sincos_2d", check_a21},
    {"B01_rope_frequencies", check_b01},
    {"B02_rope_interleaved", check_b02},
    {"B03_rope_half_split", check_b03},
    {"B05_rope_partial", check_b05},
    {"B06_rope_inverse", check_b06},
    {"B08_rope_delta", check_b08},
    {"B23_axial_rope", check_b23},
    {"B24_rope_score", check_b24},
    {"C02_alibi_slopes", check_c02},
    {"C03_alibi_bias", check_c03},
    {"C04_rope_alibi", check_c04},
    {"C22_masks", check_c22},
    {"C26_softmax_path", check_c26},
    {"C32_attention", check_c32},
    {"E03_rope_backward", check_e03},
    {"F02_exact_angles", check_f02},
};

static cJSON *read_json(const char *file) {
    char path[1024], text[16384];
    snprintf(path, sizeof path, "%s/%s.json", TRUTH_VECTORS, file);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("%s cannot be read", path);
    size_t n = fread(text, 1, sizeof text - 1, f);
    assert_true(feof(f));
    fclose(f);
    text[n] = '\0';
    cJSON *json = cJSON_Parse(text);
    if (json == NULL)
        fail_msg("%s is not JSON", path);
    return json;
}

static void test_vectors(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);) {
        int n_cases = 0, n_values = 0, n_left = 0;
        for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
            cJSON *json = read_json(files[k].file);
            int checked = 0, index = 0;
            for (const cJSON *c = cJSON_GetObjectItem(json, "cases")->child; c != NULL; c = c->next, index++) {
                char where[100];
                snprintf(where, sizeof where, "%s, case %d", files[k].file, index);
                example e = {.where = where, .inputs = cJSON_GetObjectItem(c, "inputs")};
                for (const cJSON *v = cJSON_GetObjectItem(c, "expected")->child; v != NULL; v = v->next) {
                    assert_true(e.n_expected < MAX_VALUES);
                    e.expected[e.n_expected++] = number(v);
                }
                int n = files[k].check(&e);
                n_values += n;
                checked += n > 0;
                n_left += n == 0;
            }
            if (checked == 0)
                fail_msg("%s: no case was checked", files[k].file);
            n_cases += checked;
            cJSON_Delete(json);
        }
        print_message("%s: %d cases, %d values compared, %d cases left for later\n", posenc_isa_name(posenc_isa()),
                      n_cases, n_values, n_left);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_vectors)};
    return truth_run(tests);
}
