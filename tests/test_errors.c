/* SPDX-License-Identifier: MIT */
/* Every public function, every parameter, bad values: the exact status, and not one byte written. The last test reads
 * the headers: a function declared POSENC_API that no row here names is a failure. */
#include "truth_errors.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/for_python.h"

/* ---- Declared in truth_errors.h ---- */

_Alignas(64) float arena[ARENA];
static unsigned char expected[sizeof arena];

float *const in = arena + 1024, *const out = arena + 2048, *const rows_a = arena + 4096, *const rows_b = arena + 6144;
const int32_t positions[TOKENS * BATCH] = {0, -5, 1000000, INT32_MAX, INT32_MIN, 31, 32, 33};
const float slopes[TOKENS] = {0.5f, 0.25f, 0.125f, 0.0f};

posenc_freq *freq;
posenc_rope *rope;
posenc_encoding *pe;

static int set_up(void **state) {
    posenc_rope_params rope_params = good_params();
    posenc_sinusoidal_params pe_params = {
        POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN, DIM, 10000.0, 1.0, 0.0, 1.0};
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
    posenc_encoding_free(pe);
    return 0;
}

posenc_view dense(float *data) {
    return posenc_view_dense(data, POSENC_F32, DIM, HEADS, TOKENS, BATCH);
}

void *shifted(const void *p, int bytes) {
    return (void *)((uintptr_t)p + (uintptr_t)bytes);
}

enum { MAX_NAMED = 200 };
static const char *named[MAX_NAMED];
static int n_named;
int n_checks;

void name(const char *function) {
    for (int i = 0; i < n_named; i++)
        if (strcmp(named[i], function) == 0)
            return;
    assert_true(n_named < MAX_NAMED);
    named[n_named++] = function;
}

void nothing_written(const char *what) {
    if (memcmp(arena, expected, sizeof arena) != 0)
        fail_msg("%s: memory was written", what);
}

void check(posenc_status got, posenc_status want, const char *what) {
    n_checks++;
    if (got != want)
        fail_msg("%s: \"%s\" instead of \"%s\"", what, posenc_status_string(got), posenc_status_string(want));
    nothing_written(what);
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
    const double *misaligned = (const double *)(const void *)((const char *)theta + HALF_OF_8);
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
    const int64_t n_most = 1 << 16, most = (int64_t)1 << 30; /* 2^46 numbers are not too many, but would overlap */
    RETURNS(POSENC_ERR_OVERLAP, posenc_angle_rows, freq, positions, n_most, a, a, most);
    RETURNS(POSENC_ERR_STRIDE, posenc_angle_rows, freq, positions, n_most, a, a, most + 1);
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
            float *moved = rows_a + 1000 + shift;
            posenc_status status = posenc_angle_rows(freq, positions, TOKENS, rows_a + 1000, moved, stride);
            assert_int_equal(status, shared ? POSENC_ERR_OVERLAP : POSENC_OK);
            if (status == POSENC_OK) /* written rightly */
                memcpy(arena, expected, sizeof arena);
            nothing_written("posenc_angle_rows");
        }
}

/* ---- Sinusoidal ---- */

static void test_sinusoidal(void **state) {
    (void)state;
#define INTERLEAVED POSENC_SINUSOIDAL_INTERLEAVED
#define CONCAT POSENC_SINUSOIDAL_CONCAT
#define HALF POSENC_SCHEDULE_HALF
#define MINUS_1 POSENC_SCHEDULE_HALF_MINUS_1
    const posenc_sinusoidal_params good = {CONCAT, HALF, POSENC_ODD_SIN, DIM, 1e4, 1.0, 0.0, 1.0};
    static const struct {
        posenc_sinusoidal_params params;
        posenc_status want;
    } bad[] = {
        {POSENC_SINUSOIDAL_DEFAULTS, POSENC_ERR_LAYOUT_UNSET},
        {{(posenc_sinusoidal_layout)5, HALF, 0, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_ENUM},
        {{(posenc_sinusoidal_layout)-1, HALF, 0, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_ENUM},
        {{INTERLEAVED, MINUS_1, 0, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_ENUM},
        {{INTERLEAVED, (posenc_schedule)4, 0, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, POSENC_SCHEDULE_UNSET, 0, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_UNSET},
        {{CONCAT, (posenc_schedule)-1, 0, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, HALF, (posenc_odd)2, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, HALF, (posenc_odd)-1, DIM, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_ENUM},
        {{CONCAT, HALF, 0, 0, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, -1, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, 2 * (int64_t)POSENC_MAX_PAIRS + 1, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, INT64_MIN, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, INT64_MAX, 1e4, 1.0, 0.0, 1.0}, POSENC_ERR_HEAD_DIM},
        {{CONCAT, HALF, 0, DIM, 0.0, 1.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, HALF, 0, DIM, -1e4, 1.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, HALF, 0, DIM, 0.999e-30, 1.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, HALF, 0, DIM, 1e-30, 1.0, 0.0, 1.0}, POSENC_ERR_FREQUENCY},
        {{CONCAT, MINUS_1, 0, DIM, 0.5, 0.501, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, HALF, 0, DIM, INFINITY, 1.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, HALF, 0, DIM, NAN, 1.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, 0.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, -1.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, 10001.0, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e30, POSENC_MAX_FREQUENCY * 1.001, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, NAN, 0.0, 1.0}, POSENC_ERR_BASE},
        {{CONCAT, MINUS_1, 0, DIM, 1e4, INFINITY, 0.0, 1.0}, POSENC_ERR_BASE},
    };
    RETURNS(POSENC_ERR_NULL, posenc_sinusoidal_create, &good, NULL);
    CREATES_NOTHING(posenc_encoding, POSENC_ERR_NULL, posenc_sinusoidal_create, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CREATES_NOTHING(posenc_encoding, bad[i].want, posenc_sinusoidal_create, &bad[i].params);
    name("posenc_encoding_free");
    posenc_encoding_free(NULL);

    posenc_view y = posenc_view_dense(out, POSENC_F32, DIM, TOKENS, BATCH, 1), four = dense(out);
    const int32_t *misaligned_positions = (const int32_t *)(const void *)((const char *)positions + 3);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_write, NULL, positions, &y);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_add, NULL, positions, &y);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_write, pe, NULL, &y);
    RETURNS(POSENC_ERR_NULL, posenc_encoding_add, pe, NULL, &y);
    RETURNS(POSENC_ERR_STRIDE, posenc_encoding_write, pe, misaligned_positions, &y);
    RETURNS(POSENC_ERR_STRIDE, posenc_encoding_add, pe, misaligned_positions, &y);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_write, pe, positions, &four);
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_add, pe, positions, &four);
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

/* ---- Types, tiers, version ---- */

static void test_types_and_tiers(void **state) {
    (void)state;
    posenc_isa_tier before = posenc_isa();
    ANSWERS(== before, posenc_isa, );
    RETURNS(POSENC_ERR_ENUM, posenc_isa_select, POSENC_ISA_COUNT);
    RETURNS(POSENC_ERR_ENUM, posenc_isa_select, (posenc_isa_tier)-1);
    RETURNS(POSENC_ERR_ENUM, posenc_isa_select, (posenc_isa_tier)INT32_MAX);
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (!posenc_isa_supported((posenc_isa_tier)tier))
            RETURNS(POSENC_ERR_ISA, posenc_isa_select, (posenc_isa_tier)tier);
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
    RETURNS(POSENC_ERR_SHAPE, posenc_encoding_write, pe, positions, &bad);
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
}

int main(void) {
#define ROWS(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROWS(test_views),
        ROWS(test_half_views),
        ROWS(test_huge_products),
        ROWS(test_strides_of_one),
        ROWS(test_empty),
        ROWS(test_empty_rows),
        ROWS(test_rows_of_nothing),
        ROWS(test_nothing),
        ROWS(test_overlap),
        ROWS(test_row_ranges),
        ROWS(test_overlap_between_rows),
        ROWS(test_angles),
        ROWS(test_angle_rows),
        ROWS(test_rope_params),
        ROWS(test_rope_apply),
        ROWS(test_rope_coords),
        ROWS(test_rope_coords_of_all),
        ROWS(test_rope_tables),
        ROWS(test_blocks),
        ROWS(test_hadamard),
        ROWS(test_rope_tasks),
        ROWS(test_rope_questions),
        ROWS(test_positions),
        ROWS(test_rope_config),
        ROWS(test_sinusoidal),
        ROWS(test_encoding_apply),
        ROWS(test_encoding_parts),
        ROWS(test_encoding_params),
        ROWS(test_tables),
        ROWS(test_conv),
        ROWS(test_grouped_conv),
        ROWS(test_more_positions),
        ROWS(test_slopes),
        ROWS(test_scores),
        ROWS(test_score_positions),
        ROWS(test_score_masks),
        ROWS(test_score_rel_bias),
        ROWS(test_score_relative),
        ROWS(test_relative_views),
        ROWS(test_relative_rules),
        ROWS(test_relative_tables),
        ROWS(test_rel_index_use),
        ROWS(test_fire_params),
        ROWS(test_cope_params),
        ROWS(test_attention_params),
        ROWS(test_attention_tasks),
        ROWS(test_steps),
        ROWS(test_attention_lists),
        ROWS(test_attention_ragged),
        ROWS(test_attention_blocks),
        ROWS(test_blocks_built),
        ROWS(test_index_scores),
        ROWS(test_top_k),
        ROWS(test_analysis_of_rows),
        ROWS(test_analysis_of_frequencies),
        ROWS(test_costs),
        ROWS(test_rel_bias),
        ROWS(test_rel_bias_parameters),
        ROWS(test_kerple),
        ROWS(test_sandwich),
        ROWS(test_bias_tables),
        ROWS(test_buckets),
        ROWS(test_one_row),
        ROWS(test_swin),
        ROWS(test_decomposed),
        ROWS(test_gradients),
        ROWS(test_types_and_tiers),
        ROWS(test_every_public_function_is_here),
    };
    return truth_run(tests);
}
