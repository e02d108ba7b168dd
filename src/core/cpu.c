/* SPDX-License-Identifier: MIT */
/* Detection of instruction sets: CPUID and XGETBV on x86, hwcaps on ARM and RISC-V. */
#include "core/cpu.h"

#include <stdatomic.h>

#include "kernels/fma.h"

#if (defined(__arm__) || defined(__aarch64__) || defined(__riscv)) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Bit numbers from Intel's Software Developer's Manual, volume 2, CPUID; volume 1, chapter 13, XCR0. */
enum {
    ECX_FMA = 12,
    ECX_OSXSAVE = 27,
    ECX_AVX = 28,
    ECX_F16C = 29,
    EBX_AVX2 = 5,
    EBX_AVX512F = 16,
    EBX_AVX512DQ = 17,
    EBX_AVX512BW = 30,
    EBX_AVX512VL = 31,
    ECX_AVX512VNNI = 11,
    EDX_AMX_BF16 = 22,
    EDX_AMX_TILE = 24,
    EDX_AMX_INT8 = 25,
    EAX_AVXVNNI = 4, /* of subleaf 1 */
    XCR0_SSE = 1,
    XCR0_YMM = 2,
    XCR0_OPMASK = 5,
    XCR0_ZMM_LOW = 6,
    XCR0_ZMM_HIGH = 7,
    XCR0_TILE_CONFIGURATION = 17,
    XCR0_TILES = 18
};

#define BIT(n) ((uint64_t)1 << (n))

static int has_all(uint64_t word, uint64_t bits) {
    return (word & bits) == bits;
}

uint64_t posenc_xcr0_if_readable(uint32_t leaf1_ecx, uint64_t (*read)(void)) {
    return has_all(leaf1_ecx, BIT(ECX_OSXSAVE)) ? read() : 0;
}

#if defined(__x86_64__) || defined(__i386__)
static uint64_t read_xcr0(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

posenc_cpuid posenc_cpu_words(void) {
    posenc_cpuid words = {0};
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        words.leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        words.leaf7_ebx = ebx;
        words.leaf7_ecx = ecx;
        words.leaf7_edx = edx;
    }
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
        words.leaf7_1_eax = eax;
    words.xcr0 = posenc_xcr0_if_readable(words.leaf1_ecx, read_xcr0);
    return words;
}
#else
posenc_cpuid posenc_cpu_words(void) {
    return (posenc_cpuid){0};
}
#endif

int posenc_cpuid_allows(const posenc_cpuid *words, posenc_isa_tier tier) {
    int avx2 = has_all(words->leaf1_ecx, BIT(ECX_OSXSAVE) | BIT(ECX_AVX) | BIT(ECX_FMA) | BIT(ECX_F16C)) &&
               has_all(words->leaf7_ebx, BIT(EBX_AVX2)) && has_all(words->xcr0, BIT(XCR0_SSE) | BIT(XCR0_YMM));
    int avx512 =
        avx2 &&
        has_all(words->leaf7_ebx, BIT(EBX_AVX512F) | BIT(EBX_AVX512DQ) | BIT(EBX_AVX512BW) | BIT(EBX_AVX512VL)) &&
        has_all(words->xcr0, BIT(XCR0_OPMASK) | BIT(XCR0_ZMM_LOW) | BIT(XCR0_ZMM_HIGH));
    switch (tier) {
    case POSENC_ISA_SCALAR: return 1;
    case POSENC_ISA_AVX2: return avx2;
    case POSENC_ISA_AVX512: return avx512;
    default: return 0;
    }
}

int posenc_cpuid_has_fma(const posenc_cpuid *words) {
    return has_all(words->leaf1_ecx, BIT(ECX_OSXSAVE) | BIT(ECX_AVX) | BIT(ECX_FMA)) &&
           has_all(words->xcr0, BIT(XCR0_SSE) | BIT(XCR0_YMM));
}

int posenc_cpuid_has(const posenc_cpuid *words, posenc_cpu_feature feature) {
    switch (feature) {
    case POSENC_CPU_AVX_VNNI:
        return posenc_cpuid_allows(words, POSENC_ISA_AVX2) && has_all(words->leaf7_1_eax, BIT(EAX_AVXVNNI));
    case POSENC_CPU_AVX512_VNNI:
        return posenc_cpuid_allows(words, POSENC_ISA_AVX512) && has_all(words->leaf7_ecx, BIT(ECX_AVX512VNNI));
    case POSENC_CPU_AMX:
        return posenc_cpuid_has(words, POSENC_CPU_AVX512_VNNI) &&
               has_all(words->leaf7_edx, BIT(EDX_AMX_BF16) | BIT(EDX_AMX_TILE) | BIT(EDX_AMX_INT8)) &&
               has_all(words->xcr0, BIT(XCR0_TILE_CONFIGURATION) | BIT(XCR0_TILES));
    default: return 0;
    }
}

#if defined(__arm__) || defined(__aarch64__) || defined(__riscv)
/* Auxiliary vector entries in which Linux describes the CPU: AT_HWCAP and AT_HWCAP2. */
typedef enum linux_word { FIRST_WORD = 16, SECOND_WORD = 26 } linux_word;

/* A bit of that, by <asm/hwcap.h>. Elsewhere features are left out. */
static int linux_tells(linux_word word, int bit) {
#ifdef __linux__
    return (getauxval((unsigned long)word) >> bit & 1) != 0;
#else
    (void)word;
    (void)bit;
    return 0;
#endif
}
#endif

#if defined(__aarch64__)

enum { HWCAP_DOT_PRODUCTS = 20, HWCAP2_MATRIX_PRODUCTS = 13 };

int posenc_cpu_allows(posenc_isa_tier tier) {
    return tier == POSENC_ISA_SCALAR || tier == POSENC_ISA_NEON;
}

static int has_fma(void) {
    return 1;
}

int posenc_cpu_has(posenc_cpu_feature feature) {
    int has_dot_products = linux_tells(FIRST_WORD, HWCAP_DOT_PRODUCTS);
    int is_there = feature == POSENC_CPU_DOTPROD ||
                   (feature == POSENC_CPU_I8MM && linux_tells(SECOND_WORD, HWCAP2_MATRIX_PRODUCTS));
    return has_dot_products && is_there;
}

#elif defined(__arm__)

int posenc_cpu_allows(posenc_isa_tier tier) {
    return tier == POSENC_ISA_SCALAR;
}

/* Fused multiply-add came with the fourth floating-point unit. */
enum { HWCAP_FOURTH_UNIT = 16 };

static int has_fma(void) {
    return linux_tells(FIRST_WORD, HWCAP_FOURTH_UNIT);
}

int posenc_cpu_has(posenc_cpu_feature feature) {
    (void)feature;
    return 0;
}

#elif defined(__riscv)

enum { HWCAP_V = 'v' - 'a' };

/* Bytes of a vector; 0 without V 1.0. Kernels of vendors set the same bit for drafts of V, in which a type of vectors
 * whose tail is agnostic is illegal: the sign of vtype. The instruction is a word: this file is compiled without V. */
static uintptr_t vector_bytes(void) {
    uintptr_t type, bytes = 0;
    if (!linux_tells(FIRST_WORD, HWCAP_V))
        return 0;
    __asm__ volatile(".4byte 0x0c0072d7\n\t" /* vsetvli t0, zero, e8, m1, ta, ma */
                     "csrr %0, 0xc21"         /* vtype */
                     : "=r"(type)
                     :
                     : "t0");
    if ((intptr_t)type >= 0)
        __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes)); /* vlenb */
    return bytes;
}

int posenc_cpu_allows(posenc_isa_tier tier) {
    switch (tier) {
    case POSENC_ISA_SCALAR: return 1;
    case POSENC_ISA_RVV128: return vector_bytes() == 16;
    case POSENC_ISA_RVV256: return vector_bytes() == 32;
    default: return 0;
    }
}

static int has_fma(void) {
    return 0; /* where the compiler was not told so */
}

int posenc_cpu_has(posenc_cpu_feature feature) {
    (void)feature;
    return 0;
}

#else

/* Linux lets a process have tiles that asks for them, unless an alternate signal stack has no room for their state. Its
 * <asm/prctl.h> has the number since 5.16. */
static int tiles_are_allowed(void) {
#if defined(__linux__) && defined(__x86_64__)
    enum { REQUEST_PERMISSION = 0x1023 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, XCR0_TILES) == 0;
#else
    return 0;
#endif
}

/* Asked once and kept, for CPUID takes microseconds on a virtual machine. Threads that race store the same value. */
enum { KNOWN = 1, HAS_FMA = 2, HAS_TIER_0 = 4, HAS_FEATURE_0 = HAS_TIER_0 << POSENC_ISA_COUNT };

static unsigned abilities(void) {
    static atomic_uint kept;
    unsigned found = atomic_load_explicit(&kept, memory_order_relaxed);
    if (found & KNOWN)
        return found;
    posenc_cpuid words = posenc_cpu_words();
    found = KNOWN | (posenc_cpuid_has_fma(&words) ? HAS_FMA : 0);
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_cpuid_allows(&words, (posenc_isa_tier)tier))
            found |= (unsigned)HAS_TIER_0 << tier;
    for (int feature = 0; feature < POSENC_CPU_FEATURES; feature++)
        if (posenc_cpuid_has(&words, (posenc_cpu_feature)feature) && (feature != POSENC_CPU_AMX || tiles_are_allowed()))
            found |= (unsigned)HAS_FEATURE_0 << feature;
#ifdef POSENC_EMULATED_AVX512 /* a build for tests, whose avx512 tier is made of AVX2's instructions */
    if (posenc_cpuid_allows(&words, POSENC_ISA_AVX2))
        found |= (unsigned)HAS_TIER_0 << POSENC_ISA_AVX512;
#endif
    atomic_store_explicit(&kept, found, memory_order_relaxed);
    return found;
}

int posenc_cpu_allows(posenc_isa_tier tier) {
    return (abilities() >> tier & HAS_TIER_0) != 0;
}

static int has_fma(void) {
    return (abilities() & HAS_FMA) != 0;
}

int posenc_cpu_has(posenc_cpu_feature feature) {
    return (abilities() >> feature & HAS_FEATURE_0) != 0;
}

#endif

int posenc_cpu_has_fma(void) {
    return POSENC_HAS_FMA_INSTRUCTION || has_fma();
}
