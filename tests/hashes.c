#include "hashes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "view.h"

/* ---- Numbers ---- */

uint64_t next(sweep *s) { /* splitmix64 */
    uint64_t x = s->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

double even(sweep *s, double limit) {
    return (double)((int64_t)next(s) >> 10) * 0x1p-53 * limit;
}

size_t size_of(posenc_dtype type) {
    return (size_t)posenc_dtype_size(type);
}

void fill_doubles(sweep *s, double *a, size_t n, double limit) {
    for (size_t i = 0; i < n; i++)
        a[i] = even(s, limit);
}

void fill_floats(sweep *s, float *a, size_t n, float limit) {
    for (size_t i = 0; i < n; i++) {
        a[i] = (float)even(s, (double)limit);
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
        fill_floats(s, a, n, 8.0f);
    for (size_t i = 0; type != POSENC_F32 && i < n; i++) {
        uint16_t bits = (uint16_t)next(s);
        half[i] = next(s) % 32 == 0 ? bits : small_half(bits, type);
    }
}

/* ---- Their hash ---- */

void hash_bytes(sweep *s, uint64_t value, int n) {
    for (int i = 0; i < n; i++)
        s->hash = (s->hash ^ (value >> 8 * i & 0xff)) * 0x100000001b3u;
}

void hash_floats(sweep *s, const float *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        hash_bytes(s, isnan(a[i]) ? 0x7fc00000u : test_bits_of_float(a[i]), 4);
}

void hash_doubles(sweep *s, const double *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        hash_bytes(s, isnan(a[i]) ? 0x7ff8000000000000u : test_bits_of_double(a[i]), 8);
}

void hash_rows(sweep *s, const void *a, size_t n, posenc_dtype type) {
    const uint16_t *half = a;
    if (type == POSENC_F32)
        hash_floats(s, a, n);
    for (size_t i = 0; type != POSENC_F32 && i < n; i++) {
        uint16_t infinite = type == POSENC_F16 ? 0x7c00 : 0x7f80;
        hash_bytes(s, (half[i] & 0x7fff) > infinite ? 0x7fff : half[i], 2);
    }
}

/* ---- The record ---- */

static const hashes *mine;
static const char *record;

uint64_t hash_of(const hashed *one, posenc_isa_tier tier) {
    sweep s = {.kernels = posenc_tier_kernels(tier), .random = 1, .hash = 0xcbf29ce484222325u};
    assert_int_equal(posenc_select_isa(tier), POSENC_OK);
    one->run(&s);
    return s.hash;
}

/* Cosines and sines in double come from another function of SLEEF where it has no FMA instructions, with other last
 * bits: such a machine has lines of its own for what they show in. */
static const char *without_fma(const char *name) {
    static const char *const show[] = {"angle_anchors", "zeros_of_cosines"};
    for (size_t i = 0; i < sizeof show / sizeof show[0]; i++)
        if (!posenc_cpu_has_fma() && strcmp(name, show[i]) == 0)
            return ".without_fma";
    return "";
}

/* The recorded hash of that name. */
static uint64_t recorded(const char *family) {
    char line[256], name[64], word[64];
    unsigned long long hash;
    snprintf(name, sizeof name, "%s%s", family, without_fma(family));
    FILE *file = fopen(record, "r");
    if (file == NULL)
        fail_msg("cannot read %s", record);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%63s %llx", word, &hash) == 2 && strcmp(word, name) == 0) {
            fclose(file);
            return hash;
        }
    fclose(file);
    fail_msg("%s has no line for %s: %s --print", record, name, mine->program);
    return 0;
}

static void test_hashes_of_tier(void **state) {
    posenc_isa_tier tier = *(const posenc_isa_tier *)*state;
    if (!test_tier_ready(tier))
        skip();
    int changed = 0;
    for (size_t k = 0; k < mine->n; k++) {
        const char *name = mine->all[k].name;
        uint64_t hash = hash_of(&mine->all[k], tier), expected = recorded(name);
        if (hash != expected) {
            print_error("%s on %s: %016llx, recorded %016llx\n", name, posenc_isa_name(tier), (unsigned long long)hash,
                        (unsigned long long)expected);
            changed++;
        }
    }
    if (changed > 0)
        fail_msg("%d results differ from %s. If that is meant: %s --print > %s, and say why in the commit", changed,
                 record, mine->program, record);
}

static int print_hashes(posenc_isa_tier tier) {
    if (!posenc_isa_supported(tier)) {
        fprintf(stderr, "this tier cannot run here\n");
        return 2;
    }
    printf("# FNV-1a over a fixed sweep of %s, the same on every tier. Made by: %s --print\n", mine->of, mine->program);
    for (size_t k = 0; k < mine->n; k++)
        printf("%s%s %016llx\n", mine->all[k].name, without_fma(mine->all[k].name),
               (unsigned long long)hash_of(&mine->all[k], tier));
    return 0;
}

int hashes_main(int argc, char **argv, const hashes *all) {
    mine = all;
    if (argc >= 2 && strcmp(argv[1], "--print") == 0)
        return print_hashes(argc > 2 ? test_tier_by_name(argv[2]) : POSENC_ISA_SCALAR);
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE | %s --print [TIER]\n", all->program, all->program);
        return 2;
    }
    record = argv[1];
    static posenc_isa_tier tiers[POSENC_ISA_COUNT];
    struct CMUnitTest tests[POSENC_ISA_COUNT];
    size_t n = 0;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_built((posenc_isa_tier)tier)) {
            tiers[n] = (posenc_isa_tier)tier;
            tests[n] = (struct CMUnitTest){
                .name = posenc_isa_name(tiers[n]), .test_func = test_hashes_of_tier, .initial_state = &tiers[n]};
            n++;
        }
    return _cmocka_run_group_tests(all->program, tests, n, NULL, NULL);
}
