/* Every kernel of one tier against the scalar kernel: test_kernels scalar|avx2|avx512|neon. The sweeps stand in
 * kernels_*.c; for scalar they show that it keeps to its buffers and does not depend on where these lie. */
#include "kernel_call.h"

#include <stdio.h>

static posenc_isa_tier tier;

static void test_sweep(void **state) {
    void (*const *sweep)(const posenc_kernels *) = *state;
    if (!test_tier_ready(tier))
        skip();
    test_catch_faults();
    (*sweep)(posenc_tier_kernels(tier));
}

static const struct {
    const char *name;
    void (*sweep)(const posenc_kernels *);
} kernels[] = {
#define KERNEL(name, args) {#name, sweep_##name},
#include "kernels/kernels.def"
#undef KERNEL
};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

int main(int argc, char **argv) {
    tier = argc == 2 ? test_tier_by_name(argv[1]) : POSENC_ISA_COUNT;
    if (tier == POSENC_ISA_COUNT) {
        fprintf(stderr, "usage: test_kernels scalar|avx2|avx512|neon\n");
        return 2;
    }
    char names[N_KERNELS][64], group[64];
    struct CMUnitTest tests[N_KERNELS];
    for (size_t k = 0; k < N_KERNELS; k++) {
        snprintf(names[k], sizeof names[k], "%s, %s", kernels[k].name, argv[1]);
        tests[k] = (struct CMUnitTest){
            .name = names[k], .test_func = test_sweep, .initial_state = (void *)(uintptr_t)&kernels[k].sweep};
    }
    snprintf(group, sizeof group, "kernels, %s", argv[1]);
    return test_run_tier(group, tier, tests, N_KERNELS);
}
