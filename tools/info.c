/* SPDX-License-Identifier: MIT */
/* posenc info: what this machine has, what is built, what runs and why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <posenc/posenc.h>

#include "commands.h"
#include "core/features.h"
#include "cpu_name.h"
#include "json.h"
#include "kernels/sleef.h"
#include "options.h"
#include "tiers.h"

#define SLEEF_KIND (POSENC_SLEEF_FINZ ? "deterministic functions (finz)" : "deterministic throughout")

/* Prints the features of the CPU (or the missing ones) in one line; no line if there are none. */
static void print_features(const char *title, int wanted) {
    int present, n = 0;
    const char *feature;
    for (int i = 0; (feature = cpu_feature(i, &present)) != NULL; i++)
        if (present == wanted)
            n++ == 0 ? printf("  %-15s%s", title, feature) : printf(", %s", feature);
    if (n > 0)
        printf("\n");
}

static void print_machine(void) {
    char name[128];
    cpu_name(name, sizeof name);
    printf("posenc %s\n\n", posenc_version());
    printf("  CPU            %s\n", name);
    printf("  architecture   %s\n", architecture_name());
    print_features("has", 1);
    print_features("lacks", 0);
    printf("  SLEEF          %d.%d.%d, %s\n\n", SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL,
           SLEEF_KIND);
    if (!posenc_cpu_has_fma())
        printf("  No fused multiply-add here: scalar runs, slower, and may differ from other CPUs in rare last "
               "places.\n\n");
}

static const char *why_in_use(void) {
    const char *forced = tier_forced();
    if (forced == NULL)
        return "in use: the best that runs here";
    return tier_named(forced) == posenc_isa() ? "in use: POSENC_ISA asks for it" : "in use: POSENC_ISA was refused";
}

static void print_tiers(void) {
    printf("  tier      built   runs here\n");
    for (int i = 0; i < POSENC_ISA_COUNT; i++) {
        posenc_isa_tier tier = (posenc_isa_tier)i;
        const char *absence = tier_absence(tier);
        const char *remark = tier == posenc_isa() ? why_in_use() : absence != NULL ? absence : "";
        printf("  %-10s%-8s%-*s%s\n", posenc_isa_name(tier), posenc_isa_built(tier) ? "yes" : "no",
               remark[0] != '\0' ? 12 : 0, posenc_isa_supported(tier) ? "yes" : "no", remark);
    }
}

static const char *state_of(const posenc_feature *feature) {
    posenc_cpuid words = posenc_cpu_words();
    if (posenc_feature_is_on(feature))
        return "on";
    if (feature->kernels == NULL)
        return "left out of this build";
    if (posenc_cpu_has(feature->of_cpu))
        return "off: POSENC_ISA leaves it out";
    return posenc_cpuid_has(&words, feature->of_cpu) ? "off: the system lets this process have no tiles"
                                                     : "this CPU lacks it";
}

/* Prints the features of the tiers that run here. */
static void print_tier_features(void) {
    const posenc_feature *feature;
    for (int i = 0, n = 0; (feature = posenc_feature_at(i)) != NULL; i++) {
        if (!posenc_isa_supported(feature->tier))
            continue;
        printf("%s  %-14s%s\n", n++ == 0 ? "\n  feature       (kernels of attention)\n" : "", feature->name,
               state_of(feature));
    }
}

/* ---- JSON ---- */

/* Prints the features of the CPU, or the missing ones, as an array. */
static void print_feature_names(const char *name, int wanted) {
    int present, n = 0;
    const char *feature;
    printf(" \"%s\": [", name);
    for (int i = 0; (feature = cpu_feature(i, &present)) != NULL; i++)
        if (present == wanted)
            printf("%s\"%s\"", n++ == 0 ? "" : ", ", feature);
    printf("],\n");
}

static const char *truth(int is_true) {
    return is_true ? "true" : "false";
}

static void print_json(void) {
    char name[128];
    const posenc_feature *feature;
    cpu_name(name, sizeof name);
    printf("{\"posenc\": \"%s\", \"cpu\": ", posenc_version());
    print_json_string(name);
    printf(", \"architecture\": \"%s\",\n \"sleef\": \"%d.%d.%d\", \"has_fma\": %s,\n", architecture_name(),
           SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL, truth(posenc_cpu_has_fma()));
    print_feature_names("has", 1);
    print_feature_names("lacks", 0);
    printf(" \"in_use\": \"%s\",\n \"tiers\": [", posenc_isa_name(posenc_isa()));
    for (int i = 0; i < POSENC_ISA_COUNT; i++) {
        posenc_isa_tier tier = (posenc_isa_tier)i;
        printf("%s{\"name\": \"%s\", \"built\": %s, \"runs\": %s}", i == 0 ? "" : ", ", posenc_isa_name(tier),
               truth(posenc_isa_built(tier)), truth(posenc_isa_supported(tier)));
    }
    printf("],\n \"features\": [");
    for (int i = 0, n = 0; (feature = posenc_feature_at(i)) != NULL; i++)
        if (posenc_isa_supported(feature->tier))
            printf("%s{\"name\": \"%s\", \"state\": \"%s\"}", n++ == 0 ? "" : ", ", feature->name, state_of(feature));
    printf("]}\n");
}

int command_info(int argc, char **argv) {
    enum { JSON = 256 };
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {"json", no_argument, NULL, JSON}, {0}};
    static const char help[] =
        "Usage: posenc info [--json]\n"
        "Tells what this CPU has, which tiers are built and can run, and which one is in use and why.\n"
        "\n"
        "  --json   print the same as JSON\n";
    int has_json = 0;
    while (next_option(argc, argv, ":h", names, help) == JSON)
        has_json = 1;
    if (has_json) {
        print_json();
        return 0;
    }
    print_machine();
    print_tiers();
    print_tier_features();
    return 0;
}
