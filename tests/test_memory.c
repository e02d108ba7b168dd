/* SPDX-License-Identifier: MIT */
/* Memory that runs out: every set-up object is made again and again, and each of its allocations fails in turn. The
 * call says POSENC_ERR_MEMORY, gives no object, and keeps nothing of what it had. The linker puts the functions below
 * in the place of malloc, calloc, aligned_alloc and free in the library (--wrap). */
#include <posenc/posenc.h>

#include <stdlib.h>

#include "truth.h"

enum { ANY_NUMBER = -1 };

static int n_left = ANY_NUMBER; /* allocations that succeed before one fails */
static int n_live;              /* blocks that were not freed */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);

static int runs_out(void) {
    return n_left != ANY_NUMBER && n_left-- == 0;
}

static void *counted(void *block) {
    n_live += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size) {
    return runs_out() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size) {
    return runs_out() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return runs_out() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *block) {
    n_live -= block != NULL;
    __real_free(block);
}

/* ---- One of each ---- */

static const float weights[64];

static posenc_status make_rope(int axes, posenc_xpos_role role, void **object) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = 16;
    if (axes > 0)
        params.axes = (posenc_rope_axes){POSENC_AXES_MROPE, axes, {3, 3, 2, 0}};
    params.xpos.role = role;
    return posenc_rope_create(&params, (posenc_rope **)object);
}

static posenc_status make_plain_rope(void **object) {
    return make_rope(0, POSENC_XPOS_OFF, object);
}

static posenc_status make_mrope(void **object) {
    return make_rope(3, POSENC_XPOS_OFF, object);
}

static posenc_status make_xpos(void **object) {
    return make_rope(0, POSENC_XPOS_QUERY, object);
}

static void free_rope(void *object) {
    posenc_rope_free(object);
}

static posenc_status make_freq(void **object) {
    return posenc_freq_create(1e4, 40, (posenc_freq **)object);
}

static void free_freq(void *object) {
    posenc_freq_free(object);
}

static posenc_status make_sinusoid(void **object) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.dim = 12;
    params.layout = POSENC_SINUSOIDAL_CONCAT;
    params.schedule = POSENC_SCHEDULE_HALF;
    return posenc_sinusoidal_create(&params, (posenc_encoding **)object);
}

static posenc_status make_timestep(void **object) {
    return posenc_timestep_create(12, 1, 0.0, 1.0, 1e4, (posenc_encoding **)object);
}

static posenc_status make_grid(void **object) {
    return posenc_grid_create(POSENC_GRID_TENSOR2TENSOR, 12, 3, 1e4, (posenc_encoding **)object);
}

static posenc_status make_fourier(void **object) {
    posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
    params.n_features = 6;
    params.n_coords = 2;
    return posenc_fourier_create(&params, (posenc_encoding **)object);
}

static posenc_status make_integer(void **object) {
    return posenc_integer_create(12, 100, 1.0, (posenc_encoding **)object);
}

static posenc_status make_bits(void **object) {
    return posenc_bits_create(12, POSENC_BITS_GRAY, 0.0f, 1.0f, (posenc_encoding **)object);
}

static posenc_status make_bumps(void **object) {
    static const double centres[12];
    return posenc_rbf_create(centres, 12, 1.0, (posenc_encoding **)object);
}

static posenc_status make_learned(void **object) {
    posenc_view table = posenc_view_dense((float *)(uintptr_t)weights, POSENC_F32, 12, 5, 1, 1);
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
    return posenc_learned_create(&table, &lookup, (posenc_encoding **)object);
}

/* Makes an encoding of two parts; memory does not run out while the parts are made. */
static posenc_status make_of_parts(int is_sum, void **object) {
    posenc_encoding *e[2];
    int left = n_left;
    n_left = ANY_NUMBER;
    truth_ok(make_sinusoid((void **)&e[0]));
    truth_ok(make_learned((void **)&e[1]));
    n_left = left;
    posenc_part parts[2] = {{.encoding = e[0]}, {.encoding = e[1]}};
    posenc_status status =
        (is_sum ? posenc_encoding_sum : posenc_encoding_concat)(parts, 2, (posenc_encoding **)object);
    posenc_encoding_free(e[0]);
    posenc_encoding_free(e[1]);
    return status;
}

static posenc_status make_sum(void **object) {
    return make_of_parts(1, object);
}

static posenc_status make_hybrid(void **object) {
    return make_of_parts(0, object);
}

static void free_encoding(void *object) {
    posenc_encoding_free(object);
}

static posenc_status make_fire(void **object) {
    posenc_fire_params params = POSENC_FIRE_DEFAULTS;
    params.n_heads = 2;
    params.n_hidden = 4;
    params.w1 = params.b1 = params.w2 = params.b2 = weights;
    params.max_distance = 8;
    return posenc_fire_create(&params, (posenc_fire **)object);
}

static void free_fire(void *object) {
    posenc_fire_free(object);
}

static posenc_status make_conv(void **object) {
    posenc_conv_params params = POSENC_CONV_DEFAULTS;
    params.n_channels = 4;
    params.n_dims = 1;
    params.kernel = 3;
    return posenc_conv_create(&params, weights, NULL, (posenc_conv **)object);
}

static void free_conv(void *object) {
    posenc_conv_free(object);
}

static posenc_status make_grouped_conv(void **object) {
    posenc_grouped_conv_params params = {.n_channels = 4, .n_groups = 2, .kernel = 3, .has_backward = 1};
    return posenc_grouped_conv_create(&params, weights, weights, (posenc_grouped_conv **)object);
}

static void free_grouped_conv(void *object) {
    posenc_grouped_conv_free(object);
}

static posenc_status make_relative_table(void **object) {
    posenc_view rows = posenc_view_dense((float *)(uintptr_t)weights, POSENC_F32, 8, 1, 5, 1);
    return posenc_relative_table_create(&rows, (posenc_relative_table **)object);
}

static void free_relative_table(void *object) {
    posenc_relative_table_free(object);
}

/* No object, but memory for the length of the call. */
static posenc_status attend(void **object) {
    static float out[8];
    posenc_score_params params = POSENC_SCORE_DEFAULTS;
    params.mask = posenc_mask_none();
    posenc_view q = posenc_view_dense((float *)(uintptr_t)weights, POSENC_F32, 4, 1, 2, 1), to = q;
    to.data = out;
    *object = NULL;
    return posenc_attention_reference(&params, &q, &q, &q, &to, NULL);
}

static void free_nothing(void *object) {
    assert_null(object);
}

static const struct kind {
    const char *name;
    posenc_status (*make)(void **object);
    void (*drop)(void *object);
} kinds[] = {
    {"rope", make_plain_rope, free_rope},
    {"rope, three axes", make_mrope, free_rope},
    {"rope, xPos", make_xpos, free_rope},
    {"frequencies", make_freq, free_freq},
    {"sinusoid", make_sinusoid, free_encoding},
    {"timestep", make_timestep, free_encoding},
    {"grid", make_grid, free_encoding},
    {"Fourier features", make_fourier, free_encoding},
    {"integers", make_integer, free_encoding},
    {"bits", make_bits, free_encoding},
    {"bumps", make_bumps, free_encoding},
    {"table", make_learned, free_encoding},
    {"sum", make_sum, free_encoding},
    {"side by side", make_hybrid, free_encoding},
    {"FIRE", make_fire, free_fire},
    {"convolution", make_conv, free_conv},
    {"grouped convolution", make_grouped_conv, free_grouped_conv},
    {"relative table", make_relative_table, free_relative_table},
    {"attention as a reference", attend, free_nothing},
};

static void test_memory_runs_out(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int n = 0;; n++) {
            int something;
            void *object = &something;
            n_live = 0;
            n_left = n;
            posenc_status status = kinds[i].make(&object);
            int ran_out = n_left < 0;
            n_left = ANY_NUMBER;
            if (!ran_out) {
                truth_ok(status);
                kinds[i].drop(object);
            }
            if (n_live != 0 || (ran_out && (status != POSENC_ERR_MEMORY || object != NULL)))
                fail_msg("%s, allocation %d: status %d, object %p, %d blocks kept", kinds[i].name, n, (int)status,
                         object, n_live);
            if (!ran_out) {
                assert_true(n > 0); /* some memory was asked for */
                break;
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_memory_runs_out)};
    return truth_run(tests);
}
