/* SPDX-License-Identifier: MIT */
#include "negate.h"

#include <string.h>

/* Compiled once per vector length, so that memory and not SSE2 is the limit. Only glibc's loader chooses among them. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define EVERY_VECTOR_LENGTH __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define EVERY_VECTOR_LENGTH
#endif

EVERY_VECTOR_LENGTH
static void flip(char *y, const char *x, size_t size, uint32_t bits) {
    for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
        uint32_t value;
        memcpy(&value, x + i, sizeof value);
        value ^= bits;
        memcpy(y + i, &value, sizeof value);
    }
}

void negate(void *y, const void *x, int64_t n, posenc_dtype type) {
    int is_float = type == POSENC_F32;
    flip(y, x, (size_t)n * (is_float ? 4 : 2), is_float ? 0x80000000u : 0x80008000u);
}
