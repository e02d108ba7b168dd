/* SPDX-License-Identifier: MIT */
/* Differential: the first byte chooses a kernel, of all or of the list in the environment variable POSENC_FUZZ_KERNELS
 * (a comma behind each name), the next a tier, the next two a case of the kernel's sweep (tests/check); the
 * other bytes are the random numbers that it draws. It compares with scalar, bit for bit, between guard pages. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "../fuzz/input.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct target {
    const char *name; /* with a comma */
    void (*sweep)(const posenc_kernels *);
    uint64_t n_cases; /* 0: not counted yet */
} target;

static target targets[] = {
#define KERNEL(name, args) {#name ",", sweep_##name, 0},
#include "kernels/kernels.def"
#undef KERNEL
};
static size_t n_targets = sizeof targets / sizeof targets[0];

/* Leaves the kernels that are wanted. */
static void choose_targets(const char *names) {
    size_t n = 0;
    for (size_t i = 0; i < n_targets; i++)
        if (strstr(names, targets[i].name) != NULL)
            targets[n++] = targets[i];
    n_targets = n;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    const char *names = getenv("POSENC_FUZZ_KERNELS");
    if (names != NULL)
        choose_targets(names);
    if (n_targets == 0)
        abort();
    return 0;
}

/* A sweep's cases are counted once, by a run that wants none. */
static uint64_t count_cases(target *t) {
    if (t->n_cases == 0) {
        test_drive(NULL, 0, UINT64_MAX);
        t->sweep(posenc_tier_kernels(POSENC_ISA_SCALAR));
        t->n_cases = test_driven_cases();
    }
    return t->n_cases;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    target *t = &targets[input_byte(&in) % n_targets];
    const posenc_kernels *variant = posenc_tier_kernels((posenc_isa_tier)(input_byte(&in) % POSENC_ISA_COUNT));
    uint16_t wanted;
    input_bytes(&in, &wanted, sizeof wanted);
    if (variant == NULL)
        return -1;
    test_drive(in.at, in.left, wanted % count_cases(t));
    t->sweep(variant);
    return 0;
}
