/* SPDX-License-Identifier: MIT */
/* Makes calls of a kernel on its benchmark's case, for an emulator that counts instructions: scripts/count.
 * usage: count KERNEL TIER TYPE-OF-X TYPE-OF-Y UNITS CALLS. Prints the elements of a call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernel_bench.h"
#include "tiers.h"

static int fail(const char *why, const char *what) {
    fprintf(stderr, "count: %s %s\n", why, what);
    return 2;
}

static int type_named(const char *name) {
    int type = 0;
    while (type < POSENC_TYPES && strcmp(name, element_name((posenc_dtype)type)) != 0)
        type++;
    return type;
}

int main(int argc, char **argv) {
    if (argc != 7)
        return fail("takes KERNEL TIER TYPE TYPE UNITS CALLS, not", argc > 1 ? argv[1] : "nothing");
    kernel_id kernel = check_kernel_by_name(argv[1]);
    posenc_isa_tier tier = test_tier_by_name(argv[2]);
    int x = type_named(argv[3]), y = type_named(argv[4]);
    if (kernel == KERNEL_COUNT || x == POSENC_TYPES || y == POSENC_TYPES)
        return fail("no such kernel or type:", argv[1]);
    const posenc_kernels *kernels = posenc_tier_kernels(tier);
    if (kernels == NULL)
        return fail("cannot run here:", argv[2]);
    size_t units = strtoull(argv[5], NULL, 10);
    kernel_call call = {0};
    kernel_args args;
    test_case("%s", argv[1]);
    check_kernels[kernel].bench->describe(&call, units, (kernel_types){(posenc_dtype)x, (posenc_dtype)y});
    call_place(&call);
    call.arguments(&call, &args);
    for (int calls = atoi(argv[6]); calls > 0; calls--)
        call_kernel(kernels, kernel, &args);
    printf("%.0f\n", (double)units * check_kernels[kernel].bench->elements);
    call_free(&call);
    return 0;
}
