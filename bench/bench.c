/* What all races share: registration, memory, input, and the tiers. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"
#include "race.h"
#include "shim.h"

void bench_register(const bench_race *race, const void *shape, posenc_isa_tier tier, const char *name) {
    bench_entry *entry = malloc(sizeof *entry);
    void *copy = malloc(race->shape_size);
    if (entry == NULL || copy == NULL)
        bench_check(POSENC_ERR_MEMORY);
    memcpy(copy, shape, race->shape_size);
    *entry = (bench_entry){.race = race, .shape = copy, .tier = tier};
    shim_register(name, bench_run, entry); /* lives as long as the program */
}

posenc_isa_tier bench_tier(int i) {
    int tier = 0;
    for (; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_supported((posenc_isa_tier)tier) && i-- == 0)
            break;
    return (posenc_isa_tier)tier;
}

const bench_limits *bench_limits_of(posenc_isa_tier tier) {
    switch (tier) {
#ifdef POSENC_HAVE_AVX2
    case POSENC_ISA_AVX2: return &bench_limits_avx2;
#endif
#ifdef POSENC_HAVE_AVX512
    case POSENC_ISA_AVX512: return &bench_limits_avx512;
#endif
#ifdef POSENC_HAVE_NEON
    case POSENC_ISA_NEON: return &bench_limits_neon;
#endif
    default: return &bench_limits_scalar;
    }
}

void *bench_alloc(bench_job *job, size_t bytes) {
    size_t stagger = (size_t)job->n_blocks * (256 + 64);
    char *block = aligned_alloc(4096, (stagger + bytes + 4095) / 4096 * 4096);
    if (block == NULL || job->n_blocks == (int)(sizeof job->blocks / sizeof job->blocks[0]))
        bench_check(POSENC_ERR_MEMORY);
    job->blocks[job->n_blocks++] = block;
    return block + stagger;
}

float *bench_floats(bench_job *job, size_t n) {
    return bench_alloc(job, n * sizeof(float));
}

void bench_check(posenc_status status) {
    if (status == POSENC_OK)
        return;
    fprintf(stderr, "posenc-bench: %s\n", posenc_status_string(status));
    exit(1);
}

void bench_compare(bench_job *job, void *data, posenc_dtype type, size_t n) {
    if (job->n_outputs == (int)(sizeof job->outputs / sizeof job->outputs[0]))
        bench_check(POSENC_ERR_MEMORY);
    job->outputs[job->n_outputs++] = (bench_output){data, type, n};
}

void bench_random(void *x, posenc_dtype type, size_t n, float bound) {
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        posenc_store(x, i, bound * ((float)(state >> 8) * 0x1p-23f - 1.0f), type);
    }
}

const char *bench_type_name(posenc_dtype x_type, posenc_dtype y_type) {
    static const char *const names[3][3] = {
        [POSENC_F32] = {"f32", "f32_f16", "f32_bf16"},
        [POSENC_F16] = {"f16_f32", "f16", "f16_bf16"},
        [POSENC_BF16] = {"bf16_f32", "bf16_f16", "bf16"},
    };
    return names[x_type][y_type];
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
    note_tiers();
    bench_register_kernels();
    bench_register_rope();
    bench_register_fused();
    bench_register_tables();
    bench_register_encodings();
    bench_register_softmax();
    bench_register_score_bias();
    bench_register_relative();
    bench_register_gradients();
    return shim_main(argc, argv);
}
