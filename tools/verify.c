/* SPDX-License-Identifier: MIT */
/* posenc verify: the recorded hashes of kernels and public functions, computed anew on this CPU. */
#include <stdio.h>
#include <stdlib.h>

#include <posenc/posenc.h>

#include "case.h"
#include "commands.h"
#include "options.h"
#include "progress.h"
#include "record.h"
#include "tiers.h"

static const char *running[2]; /* what is at work, and on which tier: for a crash */

static int n_done, n_all;

static void show_progress(const char *name, posenc_isa_tier tier) {
    running[0] = name;
    running[1] = posenc_isa_name(tier);
    progress(name, (double)n_done++ / n_all);
}

static void show_difference(const char *name, posenc_isa_tier tier, uint64_t hash, uint64_t recorded) {
    if (hash != recorded)
        printf("  FAILED: %s on %s gives %016llx, recorded is %016llx\n", name, posenc_isa_name(tier),
               (unsigned long long)hash, (unsigned long long)recorded);
}

/* A wrong instruction or address is a failed verification, and the user wants to know whose. */
static void stop_at_failure(const char *message) {
    progress("", 1.0);
    printf("  FAILED: %s on %s: %s\n", running[0], running[1], message);
    exit(EXIT_CHECK_FAILED);
}

/* The number of hashes that differ. */
static int verify_tier(posenc_isa_tier tier) {
    static const record_listener listener = {show_progress, show_difference};
    const char *absence = tier_absence(tier), *name = posenc_isa_name(tier);
    if (absence != NULL) {
        printf("  %-8s skipped: %s\n", name, absence);
        return 0;
    }
    record_counts counts = record_verify(tier, NULL, &listener);
    progress("", 1.0);
    printf("  %-8s %d of %d results as recorded\n", name, counts.passed, counts.passed + counts.failed);
    fflush(stdout);
    return counts.failed;
}

int command_verify(int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {0}};
    static const char help[] =
        "Usage: posenc verify\n"
        "Computes the recorded hashes of every kernel and public function anew, on every tier that this CPU can\n"
        "run. The record has been proved against independent references; equal hashes are the same results, bit\n"
        "for bit. For another machine copy the command with scripts/board, which takes along libraries that may\n"
        "be missing there.\n";
    next_option(argc, argv, ":h", names, help);
    test_on_failure(stop_at_failure);
    test_catch_faults();
    printf("posenc %s on %s, kernels and public functions:\n", posenc_version(), architecture_name());
    n_all = record_size();
    int failures = 0;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++) {
        n_done = 0;
        failures += verify_tier((posenc_isa_tier)tier);
    }
    puts(failures == 0 ? "Verified." : "FAILED.");
    return failures == 0 ? 0 : EXIT_CHECK_FAILED;
}
