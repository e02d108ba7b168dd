/* SPDX-License-Identifier: MIT */
/* The program: every race on every tier, by Google Benchmark, or what others ask for (serve.h). */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "race.h"
#include "serve.h"
#include "shim.h"

/* They live as long as the program. */
static const bench_entry *entries;

void bench_register(const bench_race *race, const void *shape, posenc_isa_tier tier, const char *name) {
    bench_entry *entry = malloc(sizeof *entry);
    void *copy = malloc(race->shape_size);
    char *own_name = malloc(strlen(name) + 1);
    if (entry == NULL || copy == NULL || own_name == NULL)
        bench_check(POSENC_ERR_MEMORY);
    memcpy(copy, shape, race->shape_size);
    strcpy(own_name, name);
    *entry = (bench_entry){.next = entries, .name = own_name, .race = race, .shape = copy, .tier = tier};
    entries = entry;
    shim_register(name, bench_run, entry);
}

bench_match bench_match_benchmark(const work *w) {
    for (const bench_entry *entry = entries; work_is(w, "benchmark") && entry != NULL; entry = entry->next)
        if (entry->tier == posenc_isa() && strcmp(entry->name, w->name) == 0)
            return (bench_match){entry->race, entry->shape};
    return (bench_match){NULL, NULL};
}

/* "scalar avx2; not run: avx512 (not supported by this CPU), neon (not built)" */
static void note_tiers(void) {
    char run[256] = "", skipped[256] = "";
    for (int i = 0; i < POSENC_ISA_COUNT; i++) {
        posenc_isa_tier tier = (posenc_isa_tier)i;
        char *list = posenc_isa_supported(tier) ? run : skipped;
        const char *why = list == run ? "" : posenc_isa_built(tier) ? " (this CPU lacks it)" : " (not built)";
        size_t used = strlen(list);
        snprintf(list + used, sizeof run - used, "%s%s%s", used ? ", " : "", posenc_isa_name(tier), why);
    }
    shim_note("tiers", run);
    shim_note("tiers skipped", skipped[0] ? skipped : "none");
}

int main(int argc, char **argv) {
    bench_register_kernels();
    bench_register_rope();
    bench_register_fused();
    bench_register_tables();
    bench_register_encodings();
    bench_register_softmax();
    bench_register_score_bias();
    bench_register_attention();
    bench_register_sparse();
    bench_register_relative();
    bench_register_gradients();
    bench_register_calls();
    if (argc == 4 && strcmp(argv[1], "--serve") == 0)
        return bench_serve(argv[2], argv[3]);
    if (argc > 1 && strcmp(argv[1], "layout") == 0)
        return bench_layout(argc - 2, argv + 2);
    note_tiers();
    return shim_main(argc, argv);
}
