/* SPDX-License-Identifier: MIT */
#include "cpu_name.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

void cpu_name(char *name, size_t size) {
    unsigned words[12] = {0};
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]))
            break;
    char brand[sizeof words + 1] = {0};
    memcpy(brand, words, sizeof words);
    const char *start = brand + strspn(brand, " ");
    snprintf(name, size, "%s", *start != '\0' ? start : "unknown");
}

/* XCR0 bits: 1 and 2 for YMM, 5 to 7 for ZMM and the masks. */
const char *cpu_feature(int i, int *present) {
    posenc_cpuid words = posenc_cpu_words();
    const struct {
        const char *name;
        int present;
    } features[] = {
        {"FMA", (words.leaf1_ecx & bit_FMA) != 0},
        {"F16C", (words.leaf1_ecx & bit_F16C) != 0},
        {"AVX2", (words.leaf7_ebx & bit_AVX2) != 0},
        {"AVX512F", (words.leaf7_ebx & bit_AVX512F) != 0},
        {"AVX512BW", (words.leaf7_ebx & bit_AVX512BW) != 0},
        {"AVX512DQ", (words.leaf7_ebx & bit_AVX512DQ) != 0},
        {"AVX512VL", (words.leaf7_ebx & bit_AVX512VL) != 0},
        {"YMM saved by the OS", (words.xcr0 & 0x06) == 0x06},
        {"ZMM saved by the OS", (words.xcr0 & 0xe6) == 0xe6},
    };
    if ((size_t)i >= sizeof features / sizeof features[0])
        return NULL;
    *present = features[i].present;
    return features[i].name;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

/* From Arm's and the vendors' manuals: implementer (MIDR bits 24-31) and part number (bits 4-15). */
static const struct part {
    unsigned implementer, number;
    const char *name;
} parts[] = {
    {0x41, 0xd03, "Arm Cortex-A53"},  {0x41, 0xd04, "Arm Cortex-A35"}, {0x41, 0xd05, "Arm Cortex-A55"},
    {0x41, 0xd07, "Arm Cortex-A57"},  {0x41, 0xd08, "Arm Cortex-A72"}, {0x41, 0xd09, "Arm Cortex-A73"},
    {0x41, 0xd0a, "Arm Cortex-A75"},  {0x41, 0xd0b, "Arm Cortex-A76"}, {0x41, 0xd0c, "Arm Neoverse-N1"},
    {0x41, 0xd40, "Arm Neoverse-V1"}, {0x41, 0xd41, "Arm Cortex-A78"}, {0x41, 0xd49, "Arm Neoverse-N2"},
    {0x41, 0xd4f, "Arm Neoverse-V2"}, {0xc0, 0xac3, "Ampere-1"},       {0x48, 0xd01, "HiSilicon TaiShan v110"},
};

static uint64_t main_id_register(void) {
    uint64_t id = 0;
    if (getauxval(AT_HWCAP) & 1u << 11) /* HWCAP_CPUID: the kernel lets programs read it */
        __asm__("mrs %0, MIDR_EL1" : "=r"(id));
    return id;
}

void cpu_name(char *name, size_t size) {
    uint64_t id = main_id_register();
    unsigned implementer = (unsigned)(id >> 24) & 0xff, number = (unsigned)(id >> 4) & 0xfff;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].implementer == implementer && parts[i].number == number) {
            snprintf(name, size, "%s", parts[i].name);
            return;
        }
    snprintf(name, size, id == 0 ? "unknown" : "implementer 0x%02x, part 0x%03x", implementer, number);
}

const char *cpu_feature(int i, int *present) {
    *present = (getauxval(AT_HWCAP) & 1u << 1) != 0; /* HWCAP_ASIMD */
    return i == 0 ? "Advanced SIMD" : NULL;
}

#else

void cpu_name(char *name, size_t size) {
    snprintf(name, size, "unknown");
}

const char *cpu_feature(int i, int *present) {
    (void)i;
    (void)present;
    return NULL;
}

#endif
