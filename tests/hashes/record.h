/* SPDX-License-Identifier: MIT */
/* The recorded hashes, and a CPU held to them: equal hashes are right results, since scalar's have been proved. */
#ifndef POSENC_HASHES_RECORD_H
#define POSENC_HASHES_RECORD_H

#include <stdint.h>

#include <posenc/isa.h>

typedef struct record_counts {
    int passed, failed;
} record_counts;

/* Listener to a run. `progress` is called before each hash is computed, `result` after it. */
typedef struct record_listener {
    void (*progress)(const char *name, posenc_isa_tier tier);
    void (*result)(const char *name, posenc_isa_tier tier, uint64_t hash, uint64_t recorded);
} record_listener;

/* Number of hashes of a tier. */
int record_size(void);

/* Computes the recorded hashes on the tier, which can run here: of the kernels that are wanted, a flag for each, or
 * with NULL of all and of the public functions. Another tier may be selected afterwards. */
record_counts record_verify(posenc_isa_tier tier, const char *wanted, const record_listener *listener);

/* Prints the hashes of the tier in the form of kernels.def and public.def, for those two files. */
void record_print(posenc_isa_tier tier);

#endif
