/* posenc verify: every kernel of every tier against scalar, and calls on scalar against the reference. */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <posenc/posenc.h>

#include "commands.h"
#include "number.h"
#include "tiers.h"
#include "variants.h"
#include "verify.h"

/* ---- Progress: on a terminal, once a second has passed ---- */

static const char *volatile running[2];

void verify_progress(const char *what, const char *detail) {
    static struct timespec start;
    struct timespec now;
    fflush(stdout); /* a crash loses nothing */
    running[0] = what;
    running[1] = detail;
    if (!isatty(STDERR_FILENO))
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (start.tv_sec == 0)
        start = now;
    if (now.tv_sec - start.tv_sec >= 1)
        fprintf(stderr, "\r\033[K%s, %s", what, detail);
}

/* A wrong instruction or address is a failed verification, and the user wants to know whose. */
static void on_crash(int number) {
    const char *const words[] = {
        "\nFAILED: ", running[0], ", ",
        running[1],   ": ",       number == SIGILL ? "illegal instruction\n" : "access to a wrong address\n"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (write(STDOUT_FILENO, words[i], strlen(words[i])) < 0)
            break;
    _exit(EXIT_VERIFY_FAILED);
}

static void watch_for_crashes(void) {
    static const int numbers[] = {SIGILL, SIGSEGV, SIGBUS};
    struct sigaction action = {.sa_handler = on_crash};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

void verify_progress_done(void) {
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

/* ---- Tiers against scalar ---- */

/* What went wrong, kept until the table is complete. */
typedef struct complaints {
    int n;
    char text[32][320];
} complaints;

static void complain(complaints *c, const char *kernel, const char *tier, const variant_check *check) {
    if (c->n < (int)(sizeof c->text / sizeof c->text[0]))
        snprintf(c->text[c->n], sizeof c->text[0], "%s on %s: %llu of %llu values differ; the first is %s", kernel,
                 tier, (unsigned long long)check->wrong, (unsigned long long)check->values, check->first);
    c->n++;
}

/* Every tier is shown the same cases, and what another kernel has drawn does not change them. */
static void check_kernel(const variant_kernel *kernel, const verify_options *o, complaints *c) {
    char line[160];
    int used = snprintf(line, sizeof line, "  %-18s", kernel->name);
    for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT; tier++) {
        const char *name = posenc_isa_name((posenc_isa_tier)tier);
        random_state random = {o->seed};
        variant_check check = {
            .scalar = posenc_tier_kernels(POSENC_ISA_SCALAR),
            .tier = posenc_tier_kernels((posenc_isa_tier)tier),
            .random = &random,
            .quick = o->quick,
        };
        if (check.tier == NULL)
            continue;
        verify_progress(kernel->name, name);
        kernel->check(&check);
        char cell[40];
        snprintf(cell, sizeof cell, "%llu %s", (unsigned long long)check.values, check.wrong == 0 ? "ok" : "FAILED");
        used += snprintf(line + used, sizeof line - (size_t)used, "%18s", cell);
        if (check.wrong > 0)
            complain(c, kernel->name, name, &check);
    }
    verify_progress_done();
    puts(line);
}

static int verify_variants(const verify_options *o) {
    static complaints c;
    printf("Every tier against scalar: values compared, bit for bit\n\n  %-18s", "kernel");
    int n_tiers = 0;
    for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_supported((posenc_isa_tier)tier)) {
            printf("%18s", posenc_isa_name((posenc_isa_tier)tier));
            n_tiers++;
        }
    puts("");
    for (size_t i = 0; n_tiers > 0 && i < n_variant_kernels; i++)
        check_kernel(&variant_kernels[i], o, &c);
    for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT; tier++) {
        const char *reason = tier_absence((posenc_isa_tier)tier);
        if (reason != NULL)
            printf("  %-18sskipped: %s\n", posenc_isa_name((posenc_isa_tier)tier), reason);
    }
    for (int i = 0; i < c.n && i < (int)(sizeof c.text / sizeof c.text[0]); i++)
        printf("\n  %s", c.text[i]);
    puts(c.n > 0 ? "\n" : "");
    return c.n;
}

/* ---- The command ---- */

static const struct argp_option argp_options[] = {
    {"quick", 'q', NULL, 0, "A sixteenth of the cases: for slow boards and emulators", 0},
    {"seed", 's', "N", 0, "Start of the random numbers; 1 unless given. The same seed makes the same run anywhere", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    verify_options *o = state->input;
    switch (key) {
    case 'q': o->quick = 1; return 0;
    case 's':
        if (!read_unsigned(argument, &o->seed))
            argp_error(state, "--seed takes a whole number from 0 to %llu, not '%s'", (unsigned long long)UINT64_MAX,
                       argument);
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "verify takes no argument '%s'", argument); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int command_verify(int argc, char **argv) {
    static const struct argp argp = {
        .options = argp_options,
        .parser = parse_option,
        .doc = "Checks every kernel on every tier this CPU can run against the scalar one, bit for bit, and rows, "
               "rotations, norm, ALiBi and softmax on the scalar one against an independent reference. For another "
               "machine copy it with scripts/board, which takes along libraries that may be missing there.\v"
               "Exit status: 0 nothing failed, 1 something did, 2 the arguments are wrong.",
    };
    verify_options o = {.seed = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    verify_progress("posenc verify", "set-up");
    watch_for_crashes();
    int failures = verify_variants(&o) + verify_truth(&o);
    printf("%s (posenc %s, %s, seed %llu%s)\n", failures == 0 ? "Verified." : "FAILED.", posenc_version(),
           architecture_name(), (unsigned long long)o.seed, o.quick ? ", quick" : "");
    return failures == 0 ? 0 : EXIT_VERIFY_FAILED;
}
