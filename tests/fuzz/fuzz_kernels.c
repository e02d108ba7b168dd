/* Differential: the first byte chooses a kernel, the next a tier, the next two a case of the kernel's sweep
 * (tests/kernels_*.c); the other bytes are the random numbers that it draws. The harness compares with scalar, bit for bit,
 * between guard pages. */
#include "../kernel_call.h"

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void (*const sweeps[])(const posenc_kernels *) = {
#define KERNEL(name, args) sweep_##name,
#include "kernels/kernels.def"
#undef KERNEL
};
enum { N_KERNELS = sizeof sweeps / sizeof sweeps[0] };

/* A sweep's cases are counted once, by a run that wants none. */
static uint64_t count_cases(size_t kernel) {
    static uint64_t counts[N_KERNELS];
    if (counts[kernel] == 0) {
        test_drive(NULL, 0, UINT64_MAX);
        sweeps[kernel](posenc_tier_kernels(POSENC_ISA_SCALAR));
        counts[kernel] = test_driven_cases();
    }
    return counts[kernel];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    size_t kernel = input_byte(&in) % N_KERNELS;
    const posenc_kernels *variant = posenc_tier_kernels((posenc_isa_tier)(input_byte(&in) % POSENC_ISA_COUNT));
    uint16_t wanted;
    input_bytes(&in, &wanted, sizeof wanted);
    if (variant == NULL)
        return -1;
    uint64_t n_cases = count_cases(kernel);
    test_drive(in.at, in.left, wanted % n_cases);
    sweeps[kernel](variant);
    return 0;
}
