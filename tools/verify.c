/* posenc verify: every kernel of every tier against scalar, and scalar against the reference. */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <posenc/posenc.h>

#include "commands.h"
#include "tiers.h"
#include "truth.h"
#include "variants.h"

typedef struct options {
    int quick;
    uint64_t seed;
} options;

/* ---- Progress: on a terminal, once a second has passed ---- */

static const char *volatile running[2];

static void progress(const char *what, const char *detail) {
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

static void progress_done(void) {
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
static void check_kernel(const variant_kernel *kernel, const options *o, complaints *c) {
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
        progress(kernel->name, name);
        kernel->check(&check);
        char cell[40];
        snprintf(cell, sizeof cell, "%llu %s", (unsigned long long)check.values, check.wrong == 0 ? "ok" : "FAILED");
        used += snprintf(line + used, sizeof line - (size_t)used, "%18s", cell);
        if (check.wrong > 0)
            complain(c, kernel->name, name, &check);
    }
    progress_done();
    puts(line);
}

static int verify_variants(const options *o) {
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

/* ---- Scalar against the reference ---- */

enum { N_POSITIONS = 64 };

/* The ends of the range, zero, and random positions of every size. */
static void choose_positions(int32_t positions[N_POSITIONS], random_state *random) {
    static const int32_t corners[] = {0, 1, -1, 31, 32, INT32_MAX, INT32_MIN};
    enum { N_CORNERS = sizeof corners / sizeof corners[0] };
    for (int i = 0; i < N_POSITIONS; i++)
        positions[i] = i < N_CORNERS ? corners[i] : random_position(random);
}

static truth check_angle_rows(const int32_t *positions, random_state *random) {
    truth t = truth_none();
    static const double bases[] = {1e4, 5e5, 1e6, 1e7};
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
        truth_merge(&t, truth_angle_rows(bases[i], 128, positions, N_POSITIONS));
    truth_merge(&t, truth_angle_rows(exp(random_between(random, log(1e4), log(1e7))), 96, positions, N_POSITIONS));
    return t;
}

static truth check_sinusoidal(const int32_t *positions, random_state *random) {
    (void)random;
    truth t = truth_sinusoidal(POSENC_SINUSOIDAL_INTERLEAVED, 512, positions, N_POSITIONS);
    truth_merge(&t, truth_sinusoidal(POSENC_SINUSOIDAL_CONCAT, 512, positions, N_POSITIONS));
    return t;
}

static truth check_rope(posenc_rope_layout layout, const int32_t *positions, random_state *random) {
    posenc_rope_params whole = {layout, 128, 128, 0, 500000.0};
    posenc_rope_params part = {layout, 96, 24, 8, 10000.0};
    truth t = truth_rope(&whole, 4, positions, N_POSITIONS, random);
    truth_merge(&t, truth_rope(&part, 4, positions, N_POSITIONS, random));
    return t;
}

static truth check_rope_half(const int32_t *positions, random_state *random) {
    return check_rope(POSENC_ROPE_HALF, positions, random);
}

static truth check_rope_interleaved(const int32_t *positions, random_state *random) {
    return check_rope(POSENC_ROPE_INTERLEAVED, positions, random);
}

static truth check_slopes(const int32_t *positions, random_state *random) {
    (void)positions;
    (void)random;
    truth t = truth_none();
    for (int64_t n_heads = 1; n_heads <= 128; n_heads++)
        truth_merge(&t, truth_alibi_slopes(n_heads));
    return t;
}

static truth check_bias(const int32_t *positions, random_state *random) {
    (void)positions;
    (void)random;
    truth t = truth_alibi_bias(12, 5, 700, 300);
    truth_merge(&t, truth_alibi_bias(8, 2, 1000, 1 << 29));
    return t;
}

static truth check_softmax(const int32_t *positions, random_state *random) {
    (void)positions;
    truth t = truth_softmax(NULL, 2, 3, 1000, POSENC_MASK_NONE, random);
    truth_merge(&t, truth_softmax(NULL, 1, 1, 100000, POSENC_MASK_NONE, random));
    return t;
}

static truth check_softmax_alibi(const int32_t *positions, random_state *random) {
    (void)positions;
    float slopes[12];
    truth t = truth_none();
    t.status = posenc_alibi_slopes(12, 8.0, slopes);
    truth_merge(&t, truth_softmax(slopes, 12, 40, 777, POSENC_MASK_CAUSAL, random));
    return t;
}

static const struct truth_line {
    const char *what;
    truth (*check)(const int32_t *positions, random_state *random);
    double limit;
    const char *unit;
} truth_lines[] = {
    {"cos/sin rows", check_angle_rows, 1.0, "ulp"},
    {"sinusoidal", check_sinusoidal, 1.0, "ulp"},
    {"RoPE half-split", check_rope_half, TRUTH_ROPE_LIMIT, "2^-24 (|x0| + |x1|)"},
    {"RoPE interleaved", check_rope_interleaved, TRUTH_ROPE_LIMIT, "2^-24 (|x0| + |x1|)"},
    {"ALiBi slopes", check_slopes, TRUTH_SLOPES_LIMIT, "ulp"},
    {"ALiBi bias", check_bias, TRUTH_BIAS_LIMIT, "2^-24, relative"},
    {"softmax", check_softmax, 1.0, "2e-6, and 4e-6 relative"},
    {"softmax with ALiBi", check_softmax_alibi, 1.0, "2e-6, and 1.4e-5 relative"},
};

static int check_truth(const struct truth_line *line, const options *o, random_state *random) {
    truth t = truth_none();
    int32_t positions[N_POSITIONS];
    for (int round = 0; round < (o->quick ? 1 : 8); round++) {
        progress(line->what, "against the reference");
        choose_positions(positions, random);
        truth_merge(&t, line->check(positions, random));
    }
    progress_done();
    int ok = t.status == POSENC_OK && t.values > 0 && t.worst <= line->limit;
    printf("  %-18s%12llu%12.3g%10.3g  %-8s%s\n", line->what, (unsigned long long)t.values, t.worst, line->limit,
           ok ? "ok" : "FAILED", t.status == POSENC_OK ? line->unit : posenc_status_string(t.status));
    return !ok;
}

static int verify_truth(const options *o, random_state *random) {
    printf("Scalar, by the public calls, against a reference (fixed-point phases, double arithmetic)\n\n"
           "  %-18s%12s%12s%10s  %-8s%s\n",
           "what", "values", "worst error", "allowed", "", "unit");
    posenc_isa_tier in_use = posenc_isa();
    posenc_select_isa(POSENC_ISA_SCALAR);
    int failures = 0;
    for (size_t i = 0; i < sizeof truth_lines / sizeof truth_lines[0]; i++)
        failures += check_truth(&truth_lines[i], o, random);
    posenc_select_isa(in_use);
    puts("");
    return failures;
}

/* ---- The command ---- */

static const struct argp_option argp_options[] = {
    {"quick", 'q', NULL, 0, "A sixteenth of the cases: for slow boards and emulators", 0},
    {"seed", 's', "N", 0, "Start of the random numbers; 1 unless given. The same seed makes the same run anywhere", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    options *o = state->input;
    char *end;
    switch (key) {
    case 'q': o->quick = 1; return 0;
    case 's':
        o->seed = strtoull(argument, &end, 0);
        if (end == argument || *end != '\0')
            argp_error(state, "--seed takes a number, not '%s'", argument);
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "verify takes no argument '%s'", argument); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int command_verify(int argc, char **argv) {
    static const struct argp argp = {
        .options = argp_options,
        .parser = parse_option,
        .doc = "Checks every kernel on every tier this CPU can run against the scalar one, bit for bit, and the scalar "
               "one against an independent reference. Needs nothing but this program: copy it to the board.\v"
               "Exit status: 0 nothing failed, 1 something did.",
    };
    options o = {.seed = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    random_state random = {o.seed};
    progress("posenc verify", "set-up");
    watch_for_crashes();
    int failures = verify_variants(&o) + verify_truth(&o, &random);
    printf("%s (posenc %s, %s, seed %llu%s)\n", failures == 0 ? "Verified." : "FAILED.", posenc_version(),
           architecture_name(), (unsigned long long)o.seed, o.quick ? ", quick" : "");
    return failures == 0 ? 0 : EXIT_VERIFY_FAILED;
}
