/* The two halves of posenc verify: tiers against scalar (verify.c), scalar against the reference (verify_truth.c). */
#ifndef POSENC_TOOLS_VERIFY_H
#define POSENC_TOOLS_VERIFY_H

#include <stdint.h>

typedef struct verify_options {
    int quick;
    uint64_t seed;
} verify_options;

/* Prints a table and counts failures. */
int verify_truth(const verify_options *o);

/* Says what is running, on a terminal once a second has passed, and to the handler of crashes. */
void verify_progress(const char *what, const char *detail);
void verify_progress_done(void);

#endif
