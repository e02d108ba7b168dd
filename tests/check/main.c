/* SPDX-License-Identifier: MIT */
/* posenc-check: every kernel of every tier against scalar. check.h and README.md say what is compared. */
#define _GNU_SOURCE
#include "check.h"

#include <getopt.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "core/features.h"
#include "public.h"
#include "record.h"
#include "amx_order.h"
#include "tiers.h"

typedef enum check_task { COMPARE, VERIFY, HASH, TIME, LIST, AMX_ORDER } check_task;

static struct {
    check_task task;
    char wanted[KERNEL_COUNT]; /* none: all */
    int n_wanted;
    posenc_isa_tier tier; /* POSENC_ISA_COUNT: all */
    uint64_t seed, scale;
    int flushes;
    const char *symbols; /* a file of functions that --complete looks for */
} options = {.tier = POSENC_ISA_COUNT};

/* ---- Options ---- */

static const char help[] =
    "Usage: posenc-check [OPTION...]\n"
    "Checks every kernel of every tier against the scalar one, bit for bit: between guard pages, at every\n"
    "misalignment, with canaries around and between rows, on ordinary and adversarial values.\n"
    "\n"
    "  -l, --list           list the kernels and exit\n"
    "  -k, --kernel NAME    only this kernel; may be given several times (with --verify: no public functions)\n"
    "  -t, --tier NAME      only this tier; exit status 77 if it cannot run here\n"
    "  -n, --scale N        one case in N (default: $POSENC_TEST_SCALE, or 1)\n"
    "  -s, --seed N         draw the values that another run with this seed drew (default: $POSENC_TEST_SEED, or\n"
    "                       the time)\n"
    "\n"
    "Instead of that:\n"
    "  --verify             hold the hashes of kernels and public functions to the recorded ones\n"
    "  --hash               print these hashes, of scalar or the given tier, as tests/hashes/*.def have them\n"
    "  --complete FILE      check that every function listed in FILE has a part in a hash\n"
    "  --time               print times on ordinary and on adversarial data\n"
    "  --flush              let the CPU flush denormals to zero (with --time)\n"
    "  --amx-order          hold AMX's products of bf16 to the order that the kernels state, and those of bytes to\n"
    "                       plain integers; exit status 77 without AMX\n"
    "\n"
    "Exit status: 0 all equal, 1 a difference, 2 the arguments are wrong, 77 the tier cannot run here.\n";

enum { OPTION_HASH = 256, OPTION_VERIFY, OPTION_TIME, OPTION_FLUSH, OPTION_COMPLETE, OPTION_AMX_ORDER };

static const struct option names[] = {{"list", no_argument, NULL, 'l'},
                                      {"kernel", required_argument, NULL, 'k'},
                                      {"tier", required_argument, NULL, 't'},
                                      {"scale", required_argument, NULL, 'n'},
                                      {"seed", required_argument, NULL, 's'},
                                      {"verify", no_argument, NULL, OPTION_VERIFY},
                                      {"hash", no_argument, NULL, OPTION_HASH},
                                      {"complete", required_argument, NULL, OPTION_COMPLETE},
                                      {"time", no_argument, NULL, OPTION_TIME},
                                      {"amx-order", no_argument, NULL, OPTION_AMX_ORDER},
                                      {"flush", no_argument, NULL, OPTION_FLUSH},
                                      {"help", no_argument, NULL, 'h'},
                                      {0}};

static _Noreturn void usage_error(const char *format, const char *word) {
    fprintf(stderr, "posenc-check: ");
    fprintf(stderr, format, word);
    fprintf(stderr, "; see posenc-check --help\n");
    exit(2);
}

static uint64_t number(const char *text, const char *expected, uint64_t least) {
    char *end;
    unsigned long long value = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || text[0] == '-' || value < least)
        usage_error(expected, text);
    return value;
}

static void read_option(int letter) {
    kernel_id kernel;
    switch (letter) {
    case 'l': options.task = LIST; break;
    case OPTION_HASH: options.task = HASH; break;
    case OPTION_VERIFY: options.task = VERIFY; break;
    case OPTION_COMPLETE: options.symbols = optarg; break;
    case OPTION_TIME: options.task = TIME; break;
    case OPTION_FLUSH: options.flushes = 1; break;
    case OPTION_AMX_ORDER: options.task = AMX_ORDER; break;
    case 'n': options.scale = number(optarg, "--scale takes a whole number from 1 on, not '%s'", 1); break;
    case 's': options.seed = number(optarg, "--seed takes a whole number from 0 on, not '%s'", 0); break;
    case 'k':
        kernel = check_kernel_by_name(optarg);
        if (kernel == KERNEL_COUNT)
            usage_error("there is no kernel '%s'; --list shows them", optarg);
        options.n_wanted += !options.wanted[kernel];
        options.wanted[kernel] = 1;
        break;
    case 't':
        options.tier = test_tier_by_name(optarg);
        if (options.tier == POSENC_ISA_COUNT)
            usage_error("there is no tier '%s'; the tiers are scalar"
#define TIER(name, ...) ", " #name
#include "tiers.def"
                        ,
                        optarg);
        break;
    case 'h': fputs(help, stdout); exit(EXIT_SUCCESS);
    default: exit(2); /* getopt_long has said what is wrong */
    }
}

static void read_options(int argc, char **argv) {
    for (int letter; (letter = getopt_long(argc, argv, "lk:t:n:s:h", names, NULL)) != -1;)
        read_option(letter);
    if (optind < argc)
        usage_error("it takes no argument '%s'", argv[optind]);
    if (options.n_wanted > 0 && options.task == HASH)
        usage_error("--hash is of all kernels: leave out %s", "--kernel");
}

/* ---- Comparison ---- */

static jmp_buf failed;
static int is_comparing;
static char failure[768];

/* A comparison goes on with the next kernel; everything else ends here. */
static void note_failure(const char *message) {
    if (!is_comparing) {
        fprintf(stderr, "posenc-check: %s\n", message);
        exit(EXIT_FAILURE);
    }
    snprintf(failure, sizeof failure, "%s", message);
    longjmp(failed, 1);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 1 if all is equal. On a terminal the kernel at work is shown before its line is complete. */
static int compare(kernel_id kernel, const posenc_kernels *variant) {
    const char *name = check_kernels[kernel].name, *tier = posenc_isa_name(variant->tier);
    double start = seconds();
    if (isatty(STDOUT_FILENO)) {
        printf("%-18s %-7s ...\r", name, tier);
        fflush(stdout);
    }
    test_start(options.seed, options.scale);
    failure[0] = '\0';
    is_comparing = 1;
    if (setjmp(failed) == 0)
        check_kernels[kernel].sweep(variant);
    is_comparing = 0;
    printf("%-18s %-7s %8llu cases %12llu values %6.1f s  %s\n", name, tier, (unsigned long long)test_n_cases(),
           (unsigned long long)test_n_compared(), seconds() - start, failure[0] ? "FAILED" : "ok");
    if (failure[0])
        printf("    %s\n", failure);
    fflush(stdout);
    return !failure[0];
}

/* ---- Hashes ---- */

static void say_nothing(const char *name, posenc_isa_tier tier) {
    (void)name, (void)tier;
}

static void say_difference(const char *name, posenc_isa_tier tier, uint64_t hash, uint64_t recorded) {
    if (hash != recorded)
        printf("%s on %s: %016llx, recorded %016llx\n", name, posenc_isa_name(tier), (unsigned long long)hash,
               (unsigned long long)recorded);
}

/* ---- All kernels of a tier ---- */

static record_counts total;
static int n_skipped; /* tiers and features */

static void verify(posenc_isa_tier tier) {
    static const record_listener listener = {say_nothing, say_difference};
    record_counts n = record_verify(tier, options.n_wanted > 0 ? options.wanted : NULL, &listener);
    printf("%-7s %d hashes as recorded, %d different\n", posenc_isa_name(tier), n.passed, n.failed);
    total.passed += n.passed;
    total.failed += n.failed;
}

static void skip_tier(posenc_isa_tier tier) {
    int is_required = test_tier_required(tier);
    total.failed += is_required;
    n_skipped += !is_required;
    printf("%-18s %-7s %s: %s\n", "all kernels", posenc_isa_name(tier),
           is_required ? "FAILED, for it is required" : "skipped",
           posenc_isa_built(tier) ? "this CPU cannot run it" : "it is not built for this architecture");
}

/* Prints the features of a tier: on, or skipped because this CPU lacks them. */
static void tell_features(posenc_isa_tier tier) {
    const posenc_feature *feature;
    for (int i = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (feature->tier == tier) {
            int is_on = posenc_feature_is_on(feature);
            n_skipped += !is_on;
            printf("%-18s %-7s %s: %s\n", "all kernels", posenc_isa_name(tier), is_on ? "with" : "skipped",
                   feature->name);
        }
}

static void run_tier(posenc_isa_tier tier) {
    const posenc_kernels *variant = posenc_tier_kernels(tier);
    if (variant == NULL) {
        skip_tier(tier);
        return;
    }
    if (options.task == HASH)
        record_print(tier);
    else if (options.task == VERIFY)
        verify(tier);
    for (int kernel = 0; kernel < KERNEL_COUNT; kernel++) {
        int is_wanted = options.n_wanted == 0 || options.wanted[kernel];
        if (is_wanted && options.task == TIME)
            check_time((kernel_id)kernel, variant);
        else if (is_wanted && options.task == COMPARE)
            *(compare((kernel_id)kernel, variant) ? &total.passed : &total.failed) += 1;
    }
    if (options.task == COMPARE || options.task == VERIFY)
        tell_features(tier);
}

/* Hashes are those of one tier, scalar unless one is named; times those of each that can run. */
static int is_in_run(posenc_isa_tier tier) {
    if (options.tier != POSENC_ISA_COUNT)
        return tier == options.tier;
    if (options.task == HASH)
        return tier == POSENC_ISA_SCALAR;
    return options.task != TIME || posenc_isa_supported(tier);
}

/* 0 if this processor has no such mode. */
static int flush_denormals(void) {
#if defined __SSE2__
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return 1;
#elif defined __aarch64__
    uint64_t modes;
    __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
    __asm__ volatile("msr fpcr, %0" : : "r"(modes | 1 << 24));
    return 1;
#else
    return 0;
#endif
}

int main(int argc, char **argv) {
    options.seed = test_seed_or((uint64_t)time(NULL));
    options.scale = test_scale_or(1);
    read_options(argc, argv);
    if (options.flushes && !flush_denormals()) {
        fprintf(stderr, "posenc-check: this processor has no mode that flushes denormals\n");
        return 2;
    }
    if (options.task == LIST) {
        for (int kernel = 0; kernel < KERNEL_COUNT; kernel++)
            puts(check_kernels[kernel].name);
        return 0;
    }
    test_on_failure(note_failure);
    test_catch_faults();
    if (options.task == AMX_ORDER) {
        test_start(options.seed, 1);
        return check_amx_order();
    }
    if (options.symbols != NULL)
        return !public_is_complete(options.symbols);
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (is_in_run((posenc_isa_tier)tier))
            run_tier((posenc_isa_tier)tier);
    if (options.task == COMPARE)
        printf("seed %llu, one case in %llu\n", (unsigned long long)options.seed, (unsigned long long)options.scale);
    if (options.task == COMPARE || options.task == VERIFY)
        printf("%d passed, %d failed, %d skipped\n", total.passed, total.failed, n_skipped);
    return total.failed > 0 ? 1 : total.passed == 0 && n_skipped > 0 ? TEST_EXIT_SKIPPED : 0;
}
