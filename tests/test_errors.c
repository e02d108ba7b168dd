/* Every public function, every parameter, bad values: the exact status, and not one byte written. The last test reads
 * the headers: a function declared POSENC_API that no row here names is a failure. */
#include "truth.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory: everything a call could write to ---- */

enum { DIM = 8, HEADS = 3, TOKENS = 4, BATCH = 2, N = DIM * HEADS * TOKENS * BATCH, PAIRS = DIM / 2, ARENA = 8192 };

static _Alignas(64) float arena[ARENA];
static unsigned char expected[sizeof arena];

/* Where things lie in it, with room around each. */
static float *const in = arena + 1024, *const out = arena + 2048, *const rows_a = arena + 4096,
                    *const rows_b = arena + 6144;
static const int32_t positions[TOKENS] = {0, -5, 1000000, INT32_MAX};
static const float slopes[TOKENS] = {0.5f, 0.25f, 0.125f, 0.0f};

static posenc_freq *freq;
static posenc_rope *rope;
static posenc_sinusoidal *pe;

static int set_up(void **state) {
    posenc_rope_params rope_params = {POSENC_ROPE_HALF, DIM, DIM, 0, 10000.0};
    posenc_sinusoidal_params pe_params = {
        POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN, DIM, 10000.0, 1.0};
    truth_reseed(state);
    truth_fill(arena, ARENA);
    memcpy(expected, arena, sizeof arena);
    return posenc_freq_create(10000.0, DIM, &freq) != POSENC_OK ||
           posenc_rope_create(&rope_params, &rope) != POSENC_OK ||
           posenc_sinusoidal_create(&pe_params, &pe) != POSENC_OK;
}

static int tear_down(void **state) {
    (void)state;
    posenc_freq_free(freq);
    posenc_rope_free(rope);
    posenc_sinusoidal_free(pe);
    return 0;
}

/* ---- What a row of the tables becomes ---- */

enum { MAX_NAMED = 100 };
static const char *named[MAX_NAMED];
static int n_named, n_checks;

static void name(const char *function) {
    for (int i = 0; i < n_named; i++)
        if (strcmp(named[i], function) == 0)
            return;
    assert_true(n_named < MAX_NAMED);
    named[n_named++] = function;
}

static void nothing_written(const char *what) {
    if (memcmp(arena, expected, sizeof arena) != 0)
        fail_msg("%s: memory was written", what);
}

static void check(posenc_status got, posenc_status want, const char *what) {
    n_checks++;
    if (got != want)
        fail_msg("%s: \"%s\" instead of \"%s\"", what, posenc_status_string(got), posenc_status_string(want));
    nothing_written(what);
}

/* The call returns the status and writes nothing; what it may write lies in the arena. */
#define RETURNS(status, function, ...)                                                                                 \
    (name(#function), check(function(__VA_ARGS__), status, #function "(" #__VA_ARGS__ ")"))

/* The call creates nothing: the status, and a pointer that is NULL afterwards. */
#define CREATES_NOTHING(type, status, function, ...)                                                                   \
    do {                                                                                                               \
        type *made = (type *)(void *)arena;                                                                            \
        RETURNS(status, function, __VA_ARGS__, &made);                                                                 \
        assert_null(made);                                                                                             \
    } while (0)

/* A call that cannot fail, and what it answers. */
#define ANSWERS(condition, function, ...)                                                                              \
    do {                                                                                                               \
        name(#function);                                                                                               \
        n_checks++;                                                                                                    \
        assert_true(function(__VA_ARGS__) condition);                                                                  \
    } while (0)

static posenc_view dense(float *data) {
    return posenc_view_dense(data, POSENC_F32, DIM, HEADS, TOKENS, BATCH);
}

/* ---- Views: the same bad ones for every call that takes one ---- */

static posenc_status call_rope(const posenc_view *x, const posenc_view *y, posenc_rows rows) {
    name("posenc_rope_apply");
    return posenc_rope_apply(rope, x, positions, y, POSENC_FORWARD, rows);
}

static posenc_status call_rope_rows(const posenc_view *x, const posenc_view *y, posenc_rows rows) {
    name("posenc_rope_apply_rows");
    return posenc_rope_apply_rows(rope, x, rows_a, rows_b, PAIRS, y, POSENC_FORWARD, rows);
}

static posenc_status call_softmax(const posenc_view *x, const posenc_view *y, posenc_rows rows) {
    name("posenc_softmax");
    posenc_softmax_params params = POSENC_SOFTMAX_DEFAULTS;
    return posenc_softmax(&params, x, y, rows);
}

static posenc_status call_bias(const posenc_view *x, const posenc_view *y, posenc_rows rows) {
    (void)x;
    name("posenc_alibi_bias");
    return posenc_alibi_bias(slopes, POSENC_MASK_NONE, 0, y, rows);
}

static posenc_status call_write(const posenc_view *x, const posenc_view *y, posenc_rows rows) {
    (void)x;
    (void)rows;
    name("posenc_sinusoidal_write");
    return posenc_sinusoidal_write(pe, positions, y);
}

static posenc_status call_add(const posenc_view *x, const posenc_view *y, posenc_rows rows) {
    (void)x;
    (void)rows;
    name("posenc_sinusoidal_add");
    return posenc_sinusoidal_add(pe, positions, y);
}

static const struct {
    const char *name;
    posenc_status (*call)(const posenc_view *x, const posenc_view *y, posenc_rows rows);
    int has_input, has_rows, n_dims;
} calls[] = {
    {"posenc_rope_apply", call_rope, 1, 1, 4},        {"posenc_rope_apply_rows", call_rope_rows, 1, 1, 4},
    {"posenc_softmax", call_softmax, 1, 1, 4},        {"posenc_alibi_bias", call_bias, 0, 1, 4},
    {"posenc_sinusoidal_write", call_write, 0, 0, 3}, {"posenc_sinusoidal_add", call_add, 0, 0, 3},
};

enum { N_CALLS = sizeof calls / sizeof calls[0] };

/* Dense x and y that call k accepts. */
static void good_views(int k, posenc_view *x, posenc_view *y) {
    *x = dense(in);
    *y = dense(out);
    if (calls[k].n_dims == 3)
        *y = posenc_view_dense(out, POSENC_F32, DIM, TOKENS, BATCH, 1);
}

typedef enum field { DATA, DTYPE, NE, NB } field;
typedef enum place { INPUT = 1, OUTPUT = 2, BOTH = 3 } place;

static void set_field(posenc_view *view, field f, int dim, int64_t value) {
    switch (f) {
    case DATA: view->data = value == 0 ? NULL : (char *)view->data + value; break;
    case DTYPE: view->dtype = (posenc_dtype)value; break;
    case NE: view->ne[dim] = value; break;
    case NB: view->nb[dim] = value; break;
    }
}

static void refuse_view(int k, place where, field f, int dim, int64_t value, posenc_status want) {
    posenc_view x, y;
    good_views(k, &x, &y);
    if (calls[k].n_dims <= dim && f == NB)
        return; /* the extent is 1: the stride is never used */
    char what[120];
    for (int p = INPUT; p <= OUTPUT; p++) {
        if (!(where & p) || (p == INPUT && !calls[k].has_input))
            continue;
        posenc_view bad_x = x, bad_y = y;
        set_field(p == INPUT ? &bad_x : &bad_y, f, dim, value);
        snprintf(what, sizeof what, "%s, %s view, field %d[%d] = %lld", calls[k].name, p == INPUT ? "input" : "output",
                 f, dim, (long long)value);
        check(calls[k].call(&bad_x, &bad_y, posenc_all_rows()), want, what);
    }
}

static void test_views(void **state) {
    (void)state;
    static const int64_t bad_extents[] = {-1, INT64_MIN, INT64_MIN + 1, INT64_MAX, (int64_t)1 << 60, (int64_t)1 << 47};
    static const int64_t bad_strides[] = {
        2, DIM * 4 + 1, INT64_MIN, INT64_MAX, INT64_MAX - 3, INT64_MIN + 4, (int64_t)1 << 60, -((int64_t)1 << 60)};
    static const int64_t overlapping[] = {0, 4, -4, DIM * 4 - 4, -(DIM * 4 - 4)};
    static const int64_t bad_elements[] = {0, 2, 8, -4, INT64_MIN, INT64_MAX};
    for (int k = 0; k < N_CALLS; k++) {
        posenc_view x, y;
        good_views(k, &x, &y);
        if (calls[k].has_input)
            check(calls[k].call(NULL, &y, posenc_all_rows()), POSENC_ERR_NULL, "input view NULL");
        check(calls[k].call(&x, NULL, posenc_all_rows()), POSENC_ERR_NULL, "output view NULL");
        refuse_view(k, BOTH, DATA, 0, 0, POSENC_ERR_NULL);
        for (int64_t off = 1; off < 4; off++)
            refuse_view(k, BOTH, DATA, 0, off, POSENC_ERR_STRIDE);
        refuse_view(k, BOTH, DTYPE, 0, 1, POSENC_ERR_DTYPE);
        refuse_view(k, BOTH, DTYPE, 0, -1, POSENC_ERR_DTYPE);
        refuse_view(k, BOTH, DTYPE, 0, INT32_MAX, POSENC_ERR_DTYPE);
        for (size_t v = 0; v < sizeof bad_elements / sizeof bad_elements[0]; v++)
            refuse_view(k, BOTH, NB, 0, bad_elements[v], POSENC_ERR_STRIDE);
        for (int dim = 0; dim < 4; dim++)
            for (size_t v = 0; v < sizeof bad_extents / sizeof bad_extents[0]; v++)
                refuse_view(k, BOTH, NE, dim, bad_extents[v], POSENC_ERR_SHAPE);
        for (int dim = 1; dim < 4; dim++) {
            for (size_t v = 0; v < sizeof bad_strides / sizeof bad_strides[0]; v++)
                refuse_view(k, BOTH, NB, dim, bad_strides[v], POSENC_ERR_STRIDE);
            for (size_t v = 0; v < sizeof overlapping / sizeof overlapping[0]; v++)
                refuse_view(k, OUTPUT, NB, dim, overlapping[v], POSENC_ERR_STRIDE);
        }
        for (int dim = 0; dim < 4; dim++) /* one element less than its partner or its set-up object */
            if (calls[k].has_input)
                refuse_view(k, INPUT, NE, dim, x.ne[dim] - 1, POSENC_ERR_SHAPE);
        if (strncmp(calls[k].name, "posenc_sinusoidal", 17) == 0)
            refuse_view(k, OUTPUT, NE, 0, DIM - 1, POSENC_ERR_SHAPE);
    }
}

/* Products of extents that leave int64, with and without a 0 among them. */
static void test_huge_products(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {
        {DIM, (int64_t)1 << 30, (int64_t)1 << 30, 1},
        {DIM, 0, (int64_t)1 << 46, (int64_t)1 << 46},
        {DIM, (int64_t)1 << 30, (int64_t)1 << 46, 0},
        {0, (int64_t)1 << 30, (int64_t)1 << 46, (int64_t)1 << 46},
        {(int64_t)1 << 46, (int64_t)1 << 46, (int64_t)1 << 46, (int64_t)1 << 46},
    };
    for (int k = 0; k < N_CALLS; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            posenc_view x, y;
            good_views(k, &x, &y);
            memcpy(x.ne, shapes[s], sizeof x.ne);
            memcpy(y.ne, shapes[s], sizeof y.ne);
            char what[100];
            snprintf(what, sizeof what, "%s, huge shape %zu", calls[k].name, s);
            check(calls[k].call(&x, &y, posenc_all_rows()), POSENC_ERR_SHAPE, what);
        }
}

/* Empty tensors need no memory. */
static void test_empty(void **state) {
    (void)state;
    for (int k = 0; k < N_CALLS; k++)
        for (int dim = 1; dim < 4; dim++) {
            posenc_view x, y;
            good_views(k, &x, &y);
            x.ne[dim] = y.ne[dim] = 0;
            x.data = y.data = NULL;
            check(calls[k].call(&x, &y, posenc_all_rows()), POSENC_OK, calls[k].name);
        }
    posenc_view none = posenc_view_dense(NULL, POSENC_F32, 0, HEADS, TOKENS, BATCH);
    posenc_softmax_params params = POSENC_SOFTMAX_DEFAULTS;
    RETURNS(POSENC_OK, posenc_softmax, &params, &none, &none, posenc_all_rows());
}

static void test_overlap(void **state) {
    (void)state;
    for (int k = 0; k < N_CALLS; k++) {
        if (!calls[k].has_input)
            continue;
        static const int64_t shifts[] = {1, -1, DIM, -DIM, N - 1, -(N - 1)};
        for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; s++) {
            posenc_view x = dense(in), y = dense(in + shifts[s]);
            check(calls[k].call(&x, &y, posenc_all_rows()), POSENC_ERR_OVERLAP, calls[k].name);
        }
        posenc_view x = dense(in), y = dense(in), reversed = dense(in + (N - DIM * HEADS * TOKENS));
        y.nb[1] = x.nb[1] * TOKENS; /* the same memory with heads and tokens exchanged */
        y.nb[2] = x.nb[1];
        check(calls[k].call(&x, &y, posenc_all_rows()), POSENC_ERR_OVERLAP, "the same memory, other strides");
        reversed.nb[3] = -x.nb[3];
        check(calls[k].call(&x, &reversed, posenc_all_rows()), POSENC_ERR_OVERLAP, "the same memory, batches reversed");
        reversed.data = in + N; /* only what lies before its data is shared */
        check(calls[k].call(&x, &reversed, posenc_all_rows()), POSENC_ERR_OVERLAP, "reaches back into the input");
        x.nb[1] = x.nb[2] = x.nb[3] = 0;
        y = dense(in);
        check(calls[k].call(&x, &y, posenc_all_rows()), POSENC_ERR_OVERLAP, "a broadcast row inside the output");
        y = dense(in + DIM);
        posenc_rows nothing = {0, 0};
        check(calls[k].call(&x, &y, nothing), POSENC_OK, "neighbours do not overlap");
    }
}

static void test_row_ranges(void **state) {
    (void)state;
    enum { ROWS = HEADS * TOKENS * BATCH };
    static const posenc_rows bad[] = {
        {-1, 0}, {1, 0},   {0, ROWS + 1}, {ROWS + 1, ROWS + 1}, {INT64_MIN, INT64_MAX}, {0, INT64_MAX},
        {0, -2}, {-1, -1}, {1, -1},       {INT64_MIN, -1}};
    for (int k = 0; k < N_CALLS; k++) {
        posenc_view x, y;
        good_views(k, &x, &y);
        for (size_t r = 0; calls[k].has_rows && r < sizeof bad / sizeof bad[0]; r++)
            check(calls[k].call(&x, &y, bad[r]), POSENC_ERR_ROWS, calls[k].name);
        for (int64_t at = 0; calls[k].has_rows && at <= ROWS; at++)
            check(calls[k].call(&x, &y, (posenc_rows){at, at}), POSENC_OK, calls[k].name);
    }
}

/* ---- Angles ---- */

static void test_angles(void **state) {
    (void)state;
    static const double bad_bases[] = {0.0, -1.0, 0.5, 0.9999999, 1.0000001e30, INFINITY, -INFINITY, NAN};
    static const int64_t bad_dims[] = {-2,        -1,           1, 7, 2 * (int64_t)POSENC_MAX_PAIRS + 2, INT64_MAX,
                                       INT64_MIN, INT64_MAX - 1};
    static const double bad_thetas[] = {POSENC_MAX_FREQUENCY * (1.0 + 0x1p-52), -1e300, INFINITY, -INFINITY, NAN};
    RETURNS(POSENC_ERR_NULL, posenc_freq_create, 10000.0, DIM, NULL);
    for (size_t i = 0; i < sizeof bad_bases / sizeof bad_bases[0]; i++)
        CREATES_NOTHING(posenc_freq, POSENC_ERR_BASE, posenc_freq_create, bad_bases[i], DIM);
    for (size_t i = 0; i < sizeof bad_dims / sizeof bad_dims[0]; i++)
        CREATES_NOTHING(posenc_freq, POSENC_ERR_HEAD_DIM, posenc_freq_create, 10000.0, bad_dims[i]);

    double theta[2] = {1.0, 0.5};
    RETURNS(POSENC_ERR_NULL, posenc_freq_create_values, theta, 2, NULL);
    CREATES_NOTHING(posenc_freq, POSENC_ERR_NULL, posenc_freq_create_values, NULL, 2);
    const double *misaligned = (const double *)(const void *)((const char *)theta + 4);
    CREATES_NOTHING(posenc_freq, POSENC_ERR_STRIDE, posenc_freq_create_values, misaligned, 1);
    CREATES_NOTHING(posenc_freq, POSENC_ERR_SHAPE, posenc_freq_create_values, theta, -1);
    CREATES_NOTHING(posenc_freq, POSENC_ERR_SHAPE, posenc_freq_create_values, theta, (int64_t)POSENC_MAX_PAIRS + 1);
    CREATES_NOTHING(posenc_freq, POSENC_ERR_SHAPE, posenc_freq_create_values, theta, INT64_MAX);
    CREATES_NOTHING(posenc_freq, POSENC_ERR_SHAPE, posenc_freq_create_values, theta, INT64_MIN);
    for (size_t i = 0; i < sizeof bad_thetas / sizeof bad_thetas[0]; i++) {
        theta[1] = bad_thetas[i];
        CREATES_NOTHING(posenc_freq, POSENC_ERR_FREQUENCY, posenc_freq_create_values, theta, 2);
    }

    posenc_freq *empty;
    truth_ok(posenc_freq_create_values(NULL, 0, &empty));
    ANSWERS(== 0, posenc_freq_count, empty);
    RETURNS(POSENC_OK, posenc_angle_rows, empty, positions, TOKENS, NULL, NULL, 0);
    posenc_freq_free(empty);
    name("posenc_freq_free");
    posenc_freq_free(NULL);
    ANSWERS(== 0, posenc_freq_count, NULL);
    ANSWERS(== 0.0, posenc_freq_theta, NULL, 0);
    ANSWERS(== 0.0, posenc_freq_theta, freq, -1);
    ANSWERS(== 0.0, posenc_freq_theta, freq, PAIRS);
    ANSWERS(== 0.0, posenc_freq_theta, freq, INT64_MIN);
    ANSWERS(== 0.0, posenc_freq_theta, freq, INT64_MAX);
}

static void test_angle_rows(void **state) {
    (void)state;
    float *a = rows_a, *b = rows_b, *misaligned = (float *)(void *)((char *)rows_a + 2);
    const int32_t *misaligned_positions = (const int32_t *)(const void *)((const char *)positions + 2);
    RETURNS(POSENC_ERR_NULL, posenc_angle_rows, NULL, positions, TOKENS, a, b, PAIRS);
    RETURNS(POSENC_ERR_NULL, posenc_angle_rows, freq, NULL, TOKENS, a, b, PAIRS);
    RETURNS(POSENC_ERR_NULL, posenc_angle_rows, freq, positions, TOKENS, NULL, b, PAIRS);
    RETURNS(POSENC_ERR_NULL, posenc_angle_rows, freq, positions, TOKENS, a, NULL, PAIRS);
    RETURNS(POSENC_OK, posenc_angle_rows, freq, NULL, 0, NULL, NULL, PAIRS);
    RETURNS(POSENC_ERR_SHAPE, posenc_angle_rows, freq, positions, -1, a, b, PAIRS);
    RETURNS(POSENC_ERR_SHAPE, posenc_angle_rows, freq, positions, INT64_MIN, a, b, PAIRS);
    RETURNS(POSENC_ERR_SHAPE, posenc_angle_rows, freq, positions, INT64_MAX, a, b, PAIRS);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, TOKENS, a, b, PAIRS - 1);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, TOKENS, a, b, 0);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, TOKENS, a, b, -PAIRS);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, TOKENS, a, b, INT64_MIN);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, TOKENS, a, b, INT64_MAX);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, INT32_MAX, a, b, INT32_MAX);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, TOKENS, misaligned, b, PAIRS);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, TOKENS, b, misaligned, PAIRS);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, misaligned_positions, 1, a, b, PAIRS);
    /* Overlap: exactly when two rows share a float. */
    for (int64_t stride = PAIRS; stride <= 3 * PAIRS; stride++)
        for (int64_t shift = -TOKENS * stride; shift <= TOKENS * stride; shift++) {
            int shared = 0;
            for (int64_t row = 0; row < TOKENS * TOKENS; row++) {
                int64_t distance = shift + (row / TOKENS - row % TOKENS) * stride;
                shared = shared || (distance > -PAIRS && distance < PAIRS);
            }
            float *shifted = rows_a + 1000 + shift;
            posenc_status status = posenc_angle_rows(freq, positions, TOKENS, rows_a + 1000, shifted, stride);
            assert_int_equal(status, shared ? POSENC_ERR_OVERLAP : POSENC_OK);
            if (status == POSENC_OK) /* written rightly */
                memcpy(arena, expected, sizeof arena);
            nothing_written("posenc_angle_rows");
        }
}

/* ---- Rope and sinusoidal ---- */

static void test_rope(void **state) {
    (void)state;
    const posenc_rope_params good = {POSENC_ROPE_HALF, DIM, DIM, 0, 10000.0};
    static const struct {
        posenc_rope_params params;
        posenc_status want;
    } bad[] = {
        {POSENC_ROPE_DEFAULTS, POSENC_ERR_ENUM},
        {{(posenc_rope_layout)3, DIM, DIM, 0, 1e4}, POSENC_ERR_ENUM},
        {{(posenc_rope_layout)-1, DIM, DIM, 0, 1e4}, POSENC_ERR_ENUM},
        {{POSENC_ROPE_HALF, 0, 0, 0, 1e4}, POSENC_ERR_HEAD_DIM},
        {{POSENC_ROPE_HALF, -8, 0, 0, 1e4}, POSENC_ERR_HEAD_DIM},
        {{POSENC_ROPE_HALF, 2 * (int64_t)POSENC_MAX_PAIRS + 1, 0, 0, 1e4}, POSENC_ERR_HEAD_DIM},
        {{POSENC_ROPE_HALF, INT64_MIN, 0, 0, 1e4}, POSENC_ERR_HEAD_DIM},
        {{POSENC_ROPE_HALF, INT64_MAX, 0, 0, 1e4}, POSENC_ERR_HEAD_DIM},
        {{POSENC_ROPE_HALF, DIM, -2, 0, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, 3, 0, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, DIM + 2, 0, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, DIM, 1, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, 0, DIM + 1, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, 2, -1, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, 2, INT64_MAX, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, 2, INT64_MIN, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, INT64_MIN, 0, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, INT64_MAX - 1, 2, 1e4}, POSENC_ERR_N_ROT},
        {{POSENC_ROPE_HALF, DIM, DIM, 0, 0.0}, POSENC_ERR_BASE},
        {{POSENC_ROPE_HALF, DIM, DIM, 0, -1e4}, POSENC_ERR_BASE},
        {{POSENC_ROPE_HALF, DIM, DIM, 0, 0.999}, POSENC_ERR_BASE},
        {{POSENC_ROPE_HALF, DIM, DIM, 0, 2e30}, POSENC_ERR_BASE},
        {{POSENC_ROPE_HALF, DIM, DIM, 0, INFINITY}, POSENC_ERR_BASE},
        {{POSENC_ROPE_HALF, DIM, DIM, 0, NAN}, POSENC_ERR_BASE},
    };
    RETURNS(POSENC_ERR_NULL, posenc_rope_create, &good, NULL);
    CREATES_NOTHING(posenc_rope, POSENC_ERR_NULL, posenc_rope_create, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CREATES_NOTHING(posenc_rope, bad[i].want, posenc_rope_create, &bad[i].params);
    ANSWERS(== NULL, posenc_rope_freq, NULL);
    name("posenc_rope_free");
    posenc_rope_free(NULL);

    posenc_view x = dense(in), y = dense(out);
    posenc_rows all = posenc_all_rows();
    float *misaligned = (float *)(void *)((char *)rows_a + 1);
    const int32_t *misaligned_positions = (const int32_t *)(const void *)((const char *)positions + 1);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply, NULL, &x, positions, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply, rope, &x, NULL, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply, rope, &x, misaligned_positions, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply, rope, &x, positions, &y, (posenc_direction)2, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply, rope, &x, positions, &y, (posenc_direction)-1, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_rows, NULL, &x, rows_a, rows_b, PAIRS, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_rows, rope, &x, NULL, rows_b, PAIRS, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_rows, rope, &x, rows_a, NULL, PAIRS, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_rows, rope, &x, misaligned, rows_b, PAIRS, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_rows, rope, &x, rows_a, misaligned, PAIRS, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_rows, rope, &x, rows_a, rows_b, PAIRS - 1, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_rows, rope, &x, rows_a, rows_b, INT64_MIN, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_rows, rope, &x, rows_a, rows_b, INT64_MAX, &y, POSENC_FORWARD, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply_rows, rope, &x, rows_a, rows_b, PAIRS, &y, (posenc_direction)7, all);
}

static void test_sinusoidal(void **state) {
    (void)state;
#define INTERLEAVED POSENC_SINUSOIDAL_INTERLEAVED
#define CONCAT POSENC_SINUSOIDAL_CONCAT
#define HALF POSENC_SCHEDULE_HALF
#define MINUS_1 POSENC_SCHEDULE_HALF_MINUS_1
    const posenc_sinusoidal_params good = {CONCAT, HALF, POSENC_ODD_SIN, DIM, 1e4, 1.0};
    static const struct {
        posenc_sinusoidal_params params;
        posenc_status want;
    } bad[] = {
        {POSENC_SINUSOIDAL_DEFAULTS, POSENC_ERR_ENUM},
        {{(posenc_sinusoidal_layout)3, HALF, 0, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{(posenc_sinusoidal_layout)-1, HALF, 0, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{INTERLEAVED, MINUS_1, 0, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{INTERLEAVED, (posenc_schedule)3, 0, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, POSENC_SCHEDULE_UNSET, 0, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, (posenc_schedule)-1, 0, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, HALF, (posenc_odd)2, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, HALF, (posenc_odd)-1, DIM, 1e4, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, HALF, 0, 0, 1e4, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, -1, 1e4, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, 2 * (int64_t)POSENC_MAX_PAIRS + 1, 1e4, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, INT64_MIN, 1e4, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, INT64_MAX, 1e4, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, DIM, 0.5, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, HALF, 0, DIM, INFINITY, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, HALF, 0, DIM, NAN, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, 0.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, -1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, 10001.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e30, POSENC_MAX_FREQUENCY * 1.001}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, NAN}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, INFINITY}, POSENC_ERR_BASE},
    };
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_create, &good, NULL);
    CREATES_NOTHING(posenc_sinusoidal, POSENC_ERR_NULL, posenc_sinusoidal_create, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CREATES_NOTHING(posenc_sinusoidal, bad[i].want, posenc_sinusoidal_create, &bad[i].params);
    name("posenc_sinusoidal_free");
    posenc_sinusoidal_free(NULL);

    posenc_view y = posenc_view_dense(out, POSENC_F32, DIM, TOKENS, BATCH, 1), four = dense(out);
    const int32_t *misaligned_positions = (const int32_t *)(const void *)((const char *)positions + 3);
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_write, NULL, positions, &y);
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_add, NULL, positions, &y);
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_write, pe, NULL, &y);
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_add, pe, NULL, &y);
    RETURNS(POSENC_ERR_STRIDE, posenc_sinusoidal_write, pe, misaligned_positions, &y);
    RETURNS(POSENC_ERR_STRIDE, posenc_sinusoidal_add, pe, misaligned_positions, &y);
    RETURNS(POSENC_ERR_SHAPE, posenc_sinusoidal_write, pe, positions, &four);
    RETURNS(POSENC_ERR_SHAPE, posenc_sinusoidal_add, pe, positions, &four);
}

/* ---- Scores ---- */

static void test_slopes(void **state) {
    (void)state;
    static const int64_t bad_counts[] = {0, -1, ((int64_t)1 << 20) + 1, INT64_MIN, INT64_MAX};
    static const double bad_biases[] = {-1.0, -1e-300, 100.0001, INFINITY, -INFINITY, NAN};
    RETURNS(POSENC_ERR_NULL, posenc_alibi_slopes, HEADS, 8.0, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_alibi_slopes_plain, HEADS, 8.0, NULL);
    float *misaligned = (float *)(void *)((char *)out + 2);
    RETURNS(POSENC_ERR_STRIDE, posenc_alibi_slopes, HEADS, 8.0, misaligned);
    RETURNS(POSENC_ERR_STRIDE, posenc_alibi_slopes_plain, HEADS, 8.0, misaligned);
    for (size_t i = 0; i < sizeof bad_counts / sizeof bad_counts[0]; i++) {
        RETURNS(POSENC_ERR_N_HEADS, posenc_alibi_slopes, bad_counts[i], 8.0, out);
        RETURNS(POSENC_ERR_N_HEADS, posenc_alibi_slopes_plain, bad_counts[i], 8.0, out);
    }
    for (size_t i = 0; i < sizeof bad_biases / sizeof bad_biases[0]; i++) {
        RETURNS(POSENC_ERR_SCALE, posenc_alibi_slopes, HEADS, bad_biases[i], out);
        RETURNS(POSENC_ERR_SCALE, posenc_alibi_slopes_plain, HEADS, bad_biases[i], out);
    }
}

static void test_scores(void **state) {
    (void)state;
    const int64_t limit = (int64_t)1 << 30; /* as alibi.h says of q_off + n_q and n_k */
    const int64_t bad_offsets[] = {-limit - 1, limit - HEADS + 1, INT32_MAX, INT32_MIN, INT64_MIN, INT64_MAX};
    static const float bad_floats[] = {INFINITY, -INFINITY, NAN};
    posenc_view x = dense(in), y = dense(out), huge = posenc_view_dense(out, POSENC_F32, limit + 1, 1, 1, 1);
    posenc_view tall = posenc_view_dense(out, POSENC_F32, 1, limit + 1, 1, 1);
    posenc_rows all = posenc_all_rows(), nothing = {0, 0};
    posenc_softmax_params params = {1.0f, slopes, POSENC_MASK_NONE, 0};
    posenc_mask none = POSENC_MASK_NONE;

    RETURNS(POSENC_ERR_NULL, posenc_alibi_bias, NULL, none, 0, &y, all);
    RETURNS(POSENC_ERR_ENUM, posenc_alibi_bias, slopes, (posenc_mask)2, 0, &y, all);
    RETURNS(POSENC_ERR_ENUM, posenc_alibi_bias, slopes, (posenc_mask)-1, 0, &y, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_alibi_bias, slopes, none, 0, &huge, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_alibi_bias, slopes, none, 0, &tall, all);
    RETURNS(POSENC_OK, posenc_alibi_bias, slopes, none, -limit, &y, nothing);
    RETURNS(POSENC_OK, posenc_alibi_bias, slopes, none, limit - HEADS, &y, nothing);

    RETURNS(POSENC_ERR_NULL, posenc_softmax, NULL, &x, &y, all);
    params.slopes = (const float *)(const void *)((const char *)slopes + 1);
    RETURNS(POSENC_ERR_STRIDE, posenc_softmax, &params, &x, &y, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_alibi_bias, params.slopes, none, 0, &y, all);
    params.slopes = slopes;
    RETURNS(POSENC_ERR_SHAPE, posenc_softmax, &params, &huge, &huge, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_softmax, &params, &tall, &tall, all);
    for (int mask = -1; mask <= 2; mask += 3) {
        params.mask = (posenc_mask)mask;
        RETURNS(POSENC_ERR_ENUM, posenc_softmax, &params, &x, &y, all);
    }
    params.mask = none;
    for (size_t i = 0; i < sizeof bad_offsets / sizeof bad_offsets[0]; i++) {
        params.q_off = bad_offsets[i];
        RETURNS(POSENC_ERR_POSITION, posenc_softmax, &params, &x, &y, all);
        RETURNS(POSENC_ERR_POSITION, posenc_alibi_bias, slopes, none, bad_offsets[i], &y, all);
    }
    params.q_off = 0;
    for (size_t i = 0; i < sizeof bad_floats / sizeof bad_floats[0]; i++) {
        params.scale = bad_floats[i];
        RETURNS(POSENC_ERR_SCALE, posenc_softmax, &params, &x, &y, all);
        params.scale = 1.0f;
        float bad_slopes[4] = {0.5f, 0.5f, 0.5f, bad_floats[i]};
        params.slopes = bad_slopes;
        RETURNS(POSENC_ERR_SCALE, posenc_softmax, &params, &x, &y, all);
        RETURNS(POSENC_ERR_SCALE, posenc_alibi_bias, bad_slopes, none, 0, &y, all);
        params.slopes = slopes;
    }
}

/* ---- Types, tiers, version ---- */

static void test_types_and_tiers(void **state) {
    (void)state;
    posenc_isa_tier before = posenc_isa();
    ANSWERS(== before, posenc_isa, );
    RETURNS(POSENC_ERR_ENUM, posenc_select_isa, POSENC_ISA_COUNT);
    RETURNS(POSENC_ERR_ENUM, posenc_select_isa, (posenc_isa_tier)-1);
    RETURNS(POSENC_ERR_ENUM, posenc_select_isa, (posenc_isa_tier)INT32_MAX);
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (!posenc_isa_supported((posenc_isa_tier)tier))
            RETURNS(POSENC_ERR_ISA, posenc_select_isa, (posenc_isa_tier)tier);
    assert_int_equal(posenc_isa(), before);
    static const posenc_isa_tier unknown[] = {POSENC_ISA_COUNT, (posenc_isa_tier)-1, (posenc_isa_tier)INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        ANSWERS(== 0, posenc_isa_built, unknown[i]);
        ANSWERS(== 0, posenc_isa_supported, unknown[i]);
        ANSWERS([0] == 'u', posenc_isa_name, unknown[i]);
    }
    for (int status = -1; status <= POSENC_ERR_MEMORY + 1; status++) { /* each with a line of its own */
        ANSWERS(!= NULL, posenc_status_string, (posenc_status)status);
        for (int other = -1; other < status; other++)
            if (!(other == -1 && status == POSENC_ERR_MEMORY + 1))
                assert_string_not_equal(posenc_status_string((posenc_status)status),
                                        posenc_status_string((posenc_status)other));
    }
    ANSWERS([0] == '0' + POSENC_VERSION_MAJOR, posenc_version, );
    assert_string_equal(posenc_version(), POSENC_VERSION);
    ANSWERS(.nb[3] == 4 * DIM * HEADS * TOKENS, posenc_view_dense, out, POSENC_F32, DIM, HEADS, TOKENS, BATCH);
    /* Extents that no call accepts: whatever the strides become, this is no overflow and the calls say no. */
    posenc_view bad = posenc_view_dense(out, POSENC_F32, INT64_MAX, INT64_MAX, INT64_MIN, -1);
    RETURNS(POSENC_ERR_SHAPE, posenc_sinusoidal_write, pe, positions, &bad);
}

/* ---- Nothing forgotten ---- */

static int is_named(const char *function) {
    for (int i = 0; i < n_named; i++)
        if (strcmp(named[i], function) == 0)
            return 1;
    return 0;
}

/* The identifier before the first parenthesis of a declaration. */
static void function_name(const char *declaration, char *function, size_t size) {
    const char *end = strchr(declaration, '('), *begin = end;
    assert_non_null(end);
    while (begin[-1] == '_' || (begin[-1] >= 'a' && begin[-1] <= 'z') || (begin[-1] >= '0' && begin[-1] <= '9'))
        begin--;
    snprintf(function, size, "%.*s", (int)(end - begin), begin);
}

static void test_every_public_function_is_here(void **state) {
    (void)state;
    DIR *directory = opendir(TRUTH_HEADERS);
    assert_non_null(directory);
    int n_functions = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[1024], line[512], function[100];
        snprintf(path, sizeof path, "%s/%s", TRUTH_HEADERS, entry->d_name);
        if (strstr(entry->d_name, ".h") == NULL)
            continue;
        FILE *header = fopen(path, "r");
        assert_non_null(header);
        while (fgets(line, sizeof line, header) != NULL)
            if (strncmp(line, "POSENC_API ", 11) == 0) {
                function_name(line, function, sizeof function);
                n_functions++;
                if (!is_named(function))
                    fail_msg("%s: %s has no row in tests/test_errors.c", entry->d_name, function);
            }
        fclose(header);
    }
    closedir(directory);
    print_message("%d public functions, %d checks\n", n_functions, n_checks);
    assert_int_equal(n_functions, n_named);
}

int main(void) {
#define ROWS(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROWS(test_views),
        ROWS(test_huge_products),
        ROWS(test_empty),
        ROWS(test_overlap),
        ROWS(test_row_ranges),
        ROWS(test_angles),
        ROWS(test_angle_rows),
        ROWS(test_rope),
        ROWS(test_sinusoidal),
        ROWS(test_slopes),
        ROWS(test_scores),
        ROWS(test_types_and_tiers),
        ROWS(test_every_public_function_is_here),
    };
    return truth_run(tests);
}
