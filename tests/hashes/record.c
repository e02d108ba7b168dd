/* SPDX-License-Identifier: MIT */
#include "record.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "core/cpu.h"
#include "public.h"

/* ---- The record ---- */

/* Cosines and sines in double come from another function of SLEEF where the CPU has no fused multiply-add, with other
 * last bits; blocks of bytes read as halves hold other numbers where the order of bytes is another. Lists of their
 * own have what these show in, and only that. */
typedef enum record_list { EVERYWHERE, WITHOUT_FMA, BIG_ENDIAN } record_list;

typedef struct record_line {
    const char *name;
    record_list list;
    uint64_t hash;
} record_line;

#define HASH(name, value) {#name, EVERYWHERE, value},
#define HASH_WITHOUT_FMA(name, value) {#name, WITHOUT_FMA, value},
#define HASH_BIG_ENDIAN(name, value) {#name, BIG_ENDIAN, value},
static const record_line kernel_lines[] = {
#include "kernels.def"
};
static const record_line public_lines[] = {
#include "public.def"
};

static int is_big_endian(void) {
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* A line of this CPU's own list comes before that for all. 0, which no result has, if there is none. */
static uint64_t recorded(const record_line *lines, size_t n, const char *name) {
    uint64_t found = 0;
    int is_own = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(lines[i].name, name) != 0)
            continue;
        if ((lines[i].list == WITHOUT_FMA && !posenc_cpu_has_fma()) ||
            (lines[i].list == BIG_ENDIAN && is_big_endian())) {
            found = lines[i].hash;
            is_own = 1;
        } else if (lines[i].list == EVERYWHERE && !is_own) {
            found = lines[i].hash;
        }
    }
    return found;
}

/* ---- Verification ---- */

int record_size(void) {
    return KERNEL_COUNT + (int)n_public_families;
}

static void compare(record_counts *counts, const record_listener *listener, const char *name, posenc_isa_tier tier,
                    uint64_t hash, uint64_t expected) {
    counts->passed += hash == expected;
    counts->failed += hash != expected;
    listener->result(name, tier, hash, expected);
}

record_counts record_verify(posenc_isa_tier tier, const char *wanted, const record_listener *listener) {
    record_counts counts = {0};
    for (int k = 0; k < KERNEL_COUNT; k++) {
        const char *name = check_kernels[k].name;
        if (wanted != NULL && !wanted[k])
            continue;
        listener->progress(name, tier);
        compare(&counts, listener, name, tier, check_hash((kernel_id)k, posenc_tier_kernels(tier)),
                recorded(kernel_lines, COUNT(kernel_lines), name));
    }
    posenc_isa_select(tier);
    for (size_t k = 0; wanted == NULL && k < n_public_families; k++) {
        const char *name = public_families[k].name;
        listener->progress(name, tier);
        compare(&counts, listener, name, tier, public_hash(&public_families[k]),
                recorded(public_lines, COUNT(public_lines), name));
    }
    return counts;
}

/* ---- Recording ---- */

void record_print(posenc_isa_tier tier) {
    printf("/* kernels.def */\n");
    for (int k = 0; k < KERNEL_COUNT; k++)
        printf("HASH(%s, 0x%016llx)\n", check_kernels[k].name,
               (unsigned long long)check_hash((kernel_id)k, posenc_tier_kernels(tier)));
    posenc_isa_select(tier);
    printf("/* public.def */\n");
    for (size_t k = 0; k < n_public_families; k++)
        printf("HASH(%s, 0x%016llx)\n", public_families[k].name, (unsigned long long)public_hash(&public_families[k]));
}
