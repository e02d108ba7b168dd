/* SPDX-License-Identifier: MIT */
#include "public.h"

#include <stdio.h>
#include <string.h>

#include "values.h"
#include "core/view.h"

/* ---- Nothing forgotten ---- */

/* Functions that compute nothing that could have other bits. Objects are made by the families; what was made is seen in
 * their results. */
static const char *const excused[][2] = {
    {"posenc_status_string", "text"},
    {"posenc_last_error", "text"},
    {"posenc_attention_ragged_unit_count", "a number"},
    {"posenc_attention_run_ragged", "calls of posenc_attention_run; test_attention_ragged.c compares them"},
    {"posenc_step_append", "rope and attention, whose hashes there are; test_mistakes.c compares them"},
    {"posenc_step_attend", "the same"},
    {"posenc_version", "text"},
    {"posenc_isa", "which tier runs"},
    {"posenc_isa_name", "which tier runs"},
    {"posenc_isa_built", "which tier runs"},
    {"posenc_isa_supported", "which tier runs"},
    {"posenc_isa_select", "which tier runs"},
    {"posenc_view_dense", "a view; every tensor here is made by it"},
    {"posenc_freq_free", "frees"},
    {"posenc_rope_free", "frees"},
    {"posenc_encoding_free", "frees"},
    {"posenc_conv_free", "frees"},
    {"posenc_grouped_conv_free", "frees"},
    {"posenc_fire_free", "frees"},
    {"posenc_relative_table_free", "frees"},
};

enum { MAX_CALLED = 200 };
static const char *names[MAX_CALLED];
static size_t n_names;

static int was_called(const char *function) {
    for (size_t i = 0; i < n_names; i++)
        if (strcmp(names[i], function) == 0)
            return 1;
    return 0;
}

static int is_excused(const char *function) {
    for (size_t i = 0; i < COUNT(excused); i++)
        if (strcmp(excused[i][0], function) == 0)
            return 1;
    return 0;
}

void called(const char *function) {
    if (was_called(function))
        return;
    if (n_names == MAX_CALLED)
        test_fail("more functions than %d", MAX_CALLED);
    names[n_names++] = function;
}

void must(const char *function, posenc_status status) {
    called(function);
    if (status != POSENC_OK)
        test_fail("%s: %s", function, posenc_status_string(status));
}

/* ---- Numbers ---- */

uint64_t next(sweep *s) {
    return random_bits(&s->random);
}

double even(sweep *s, double limit) {
    return random_symmetric(&s->random, limit);
}

size_t size_of(posenc_dtype type) {
    return (size_t)posenc_dtype_size(type);
}

void fill_doubles(sweep *s, double *a, size_t n, double limit) {
    for (size_t i = 0; i < n; i++)
        a[i] = even(s, limit);
}

static void fill_floats(sweep *s, float *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        a[i] = (float)even(s, 8.0);
        uint32_t bits = (uint32_t)next(s);
        if (bits % 32 == 0)
            memcpy(&a[i], &bits, sizeof bits);
    }
}

uint16_t small_half(uint64_t bits, posenc_dtype type) {
    uint16_t quarter = type == POSENC_F16 ? 13 << 10 : 125 << 7, octaves = type == POSENC_F16 ? 0xfff : 0x1ff;
    return (uint16_t)((bits & (0x8000u | octaves)) + quarter);
}

void fill_rows(sweep *s, void *a, size_t n, posenc_dtype type) {
    uint16_t *half = a;
    if (type == POSENC_F32)
        fill_floats(s, a, n);
    for (size_t i = 0; type != POSENC_F32 && i < n; i++) {
        uint16_t bits = (uint16_t)next(s);
        half[i] = next(s) % 32 == 0 ? bits : small_half(bits, type);
    }
}

/* ---- Memory and tensors ---- */

static _Alignas(64) unsigned char memory[16 << 20];
static size_t n_taken;

void fresh(void) {
    n_taken = 0;
}

void *take(size_t bytes) {
    if (bytes > sizeof memory - n_taken)
        test_fail("no room for %zu bytes", bytes);
    void *place = memory + n_taken;
    n_taken += (bytes + 63) / 64 * 64;
    return memset(place, 0, bytes);
}

float *floats(sweep *s, size_t n, double limit) {
    float *a = take(n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        a[i] = (float)even(s, limit);
    return a;
}

double *doubles(sweep *s, size_t n, double limit) {
    double *a = take(n * sizeof *a);
    fill_doubles(s, a, n, limit);
    return a;
}

int64_t between(sweep *s, int64_t low, int64_t high) {
    return low + (int64_t)(next(s) % (uint64_t)(high - low + 1));
}

int32_t any_position(sweep *s) {
    return (int32_t)between(s, INT32_MIN, INT32_MAX);
}

int32_t *integers(sweep *s, size_t n, int32_t low, int32_t high) {
    int32_t *a = take(n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        a[i] = (int32_t)between(s, low, high);
    return a;
}

static size_t n_elements(const posenc_view *view) {
    return (size_t)(view->ne[0] * view->ne[1] * view->ne[2] * view->ne[3]);
}

posenc_view zeros(posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    void *data = take((size_t)(ne0 * ne1 * ne2 * ne3) * size_of(type));
    return posenc_view_dense(data, type, ne0, ne1, ne2, ne3);
}

posenc_view adversarial(sweep *s, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    posenc_view view = zeros(type, ne0, ne1, ne2, ne3);
    fill_rows(s, view.data, n_elements(&view), type);
    return view;
}

posenc_view tensor(sweep *s, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    posenc_view view = zeros(type, ne0, ne1, ne2, ne3);
    for (size_t i = 0; i < n_elements(&view); i++)
        if (type == POSENC_F32)
            ((float *)view.data)[i] = (float)even(s, 4.0);
        else
            ((uint16_t *)view.data)[i] = small_half(next(s), type);
    return view;
}

void hash_view(sweep *s, const posenc_view *view) {
    hash_rows(&s->hash, view->data, n_elements(view), view->dtype);
}

void hash_integers(sweep *s, const int32_t *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        hash_bytes(&s->hash, (uint32_t)a[i], 4);
}

posenc_rel_bias rel_bias_of(int64_t first, int64_t n_offsets, int64_t n_heads) {
    float *data = take((size_t)(n_offsets * n_heads) * sizeof *data);
    return (posenc_rel_bias){data, first, n_offsets, n_heads, n_offsets, 0};
}

void hash_rel_bias(sweep *s, const posenc_rel_bias *rel_bias) {
    hash_floats(&s->hash, rel_bias->data, (size_t)(rel_bias->n_offsets * rel_bias->n_heads));
}

posenc_rel_index index_of(posenc_rel_index_rule rule, int64_t first, int64_t n_offsets) {
    posenc_rel_index index = {take((size_t)n_offsets * sizeof(int32_t)), first, n_offsets, 0};
    CALL(posenc_rel_index_fill, &rule, &index);
    return index;
}

/* ---- The families ---- */

const public_family public_families[] = {
#define FAMILY(name) {#name, hash_##name},
    PUBLIC_FAMILIES(FAMILY)
#undef FAMILY
};
const size_t n_public_families = COUNT(public_families);

uint64_t public_hash(const public_family *family) {
    sweep s = {{1}, HASH_START};
    test_start(1, 1);
    test_case("hash of %s", family->name);
    family->run(&s);
    return s.hash;
}

int public_is_complete(const char *symbols) {
    char function[100];
    int n_missing = 0;
    FILE *file = fopen(symbols, "r");
    if (file == NULL) {
        fprintf(stderr, "cannot read %s\n", symbols);
        return 0;
    }
    for (size_t k = 0; k < n_public_families; k++)
        public_hash(&public_families[k]);
    while (fscanf(file, "%99s", function) == 1)
        if (was_called(function) == is_excused(function)) {
            fprintf(stderr, "%s is %s\n", function, was_called(function) ? "called, and excused" : "not called");
            n_missing++;
        }
    fclose(file);
    return n_missing == 0;
}
