/* SPDX-License-Identifier: MIT */
/* Memory between two pages that must not be touched. */
#ifndef POSENC_CHECK_GUARDED_H
#define POSENC_CHECK_GUARDED_H

#include <stddef.h>

typedef struct test_guarded {
    unsigned char *first; /* accessible bytes */
    size_t size;
    unsigned char *data; /* what was placed last */
    size_t bytes;
} test_guarded;

/* Against which guard page the data lies, and how many bytes away from it. */
typedef struct test_placement {
    int at_end;
    size_t distance;
} test_placement;

/* Byte that stands wherever nothing should be read or written: a NaN in float32 and float64. */
#define TEST_CANARY 0xff

/* Room for `bytes` in the given place, with canaries around. Grows the mapping if it must. */
void *test_guarded_place(test_guarded *memory, size_t bytes, test_placement placement);

/* 1 if the canaries around the data are as they were. */
int test_guarded_intact(const test_guarded *memory);

void test_guarded_free(test_guarded *memory);

#endif
