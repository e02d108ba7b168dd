/* SPDX-License-Identifier: MIT */
/* Intel's manual, volume 2: VPDPBUSD, VPDPBUSDS, VPDPWSSD, VPDPWSSDS; volume 1: the XSAVE area, of which Linux writes
 * the standard form behind a signal's legacy registers, and its own words into bytes that the CPU leaves alone. */
#include "vnni.h"

#include <cpuid.h>
#include <stdint.h>
#include <string.h>

#include "check/case.h"
#include "vex.h"

enum { BUSD = 0x50, BUSDS, WSSD, WSSDS };

/* Bytes of the area. */
enum { LOW_HALVES = 160, FIRST_MAGIC = 464, COMPONENTS = 472, AREA_SIZE = 480, REGISTERS = 16, HALF = 16 };
enum { SSE = 1, AVX = 2 }; /* components: low halves, high halves */

static const uint32_t first_magic = 0x46505853, last_magic = 0x46505845;
static unsigned high_halves; /* offset in the area */
static volatile long n_executed;

static uint64_t number_at(const char *p, size_t bytes) {
    uint64_t number = 0;
    memcpy(&number, p, bytes);
    return number;
}

static int has_halves(const char *area) {
    if (area == NULL || number_at(area + FIRST_MAGIC, 4) != first_magic)
        return 0;
    uint64_t size = number_at(area + AREA_SIZE, 4), components = number_at(area + COMPONENTS, 8);
    return (components >> SSE & components >> AVX & 1) != 0 && size >= high_halves + REGISTERS * HALF &&
           number_at(area + size, 4) == last_magic;
}

typedef struct vector {
    uint32_t words[2 * HALF / 4];
} vector;

/* A component that is not in use is zeros, of which the instructions make zeros: it stays so. */
static vector load_register(const char *area, int number) {
    vector v;
    memcpy(v.words, area + LOW_HALVES + number * HALF, HALF);
    memcpy(v.words + HALF / 4, area + high_halves + number * HALF, HALF);
    return v;
}

/* Bits above 256, which the instruction clears, are left: code of AVX2 has none. */
static void store_register(char *area, int number, vector v) {
    memcpy(area + LOW_HALVES + number * HALF, v.words, HALF);
    memcpy(area + high_halves + number * HALF, v.words + HALF / 4, HALF);
}

static uint32_t add_products(int opcode, uint32_t sum, uint32_t a, uint32_t b) {
    int is_saturated = opcode == BUSDS || opcode == WSSDS;
    int64_t exact = (int32_t)sum;
    for (int k = 0; k < 4 && opcode <= BUSDS; k++)
        exact += (uint8_t)(a >> 8 * k) * (int8_t)(b >> 8 * k);
    for (int k = 0; k < 2 && opcode >= WSSD; k++)
        exact += (int16_t)(a >> 16 * k) * (int16_t)(b >> 16 * k);
    if (is_saturated)
        exact = exact > INT32_MAX ? INT32_MAX : exact < INT32_MIN ? INT32_MIN : exact;
    return (uint32_t)exact;
}

static int execute_vnni(const emulated_vex *i, char *area) {
    if (i->prefix != 1 || i->opcode < BUSD || i->opcode > WSSDS)
        return 0;
    if (!has_halves(area))
        test_fail("the system saves no YMM registers where a handler could change them");
    vector sum = load_register(area, i->reg), a = load_register(area, i->third), b = {{0}};
    size_t n = i->is_256 ? 8 : 4;
    if (i->in_memory)
        memcpy(&b, (const char *)((uintptr_t)i->address + (uintptr_t)i->index), n * sizeof b.words[0]);
    else
        b = load_register(area, i->rm);
    for (size_t k = 0; k < 8; k++)
        sum.words[k] = k < n ? add_products(i->opcode, sum.words[k], a.words[k], b.words[k]) : 0;
    store_register(area, i->reg, sum);
    n_executed++;
    return 1;
}

void emulated_trap_vnni(void) {
    unsigned size, unused;
    __cpuid_count(13, AVX, size, high_halves, unused, unused);
    (void)size;
    emulated_trap(execute_vnni);
}

long emulated_vnni_count(void) {
    return n_executed;
}
