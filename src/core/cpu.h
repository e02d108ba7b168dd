/* SPDX-License-Identifier: MIT */
/* Instruction sets that this CPU and its operating system can run. */
#ifndef POSENC_CPU_H
#define POSENC_CPU_H

#include <stdint.h>

#include <posenc/isa.h>

/* The words that x86 CPUs answer with, apart from the asking, so that tests can make up machines. */
typedef struct posenc_cpuid {
    uint32_t leaf1_ecx;   /* FMA, OSXSAVE, AVX, F16C */
    uint32_t leaf7_ebx;   /* AVX2, AVX-512 */
    uint64_t xcr0;        /* registers the operating system saves; 0 without OSXSAVE */
    uint32_t leaf7_ecx;   /* AVX-512 VNNI */
    uint32_t leaf7_edx;   /* AMX */
    uint32_t leaf7_1_eax; /* AVX-VNNI */
} posenc_cpuid;

/* XCR0 as `read` gives it. 0 without OSXSAVE in the word of leaf 1: to read it then is an illegal instruction. */
uint64_t posenc_xcr0_if_readable(uint32_t leaf1_ecx, uint64_t (*read)(void));

/* 1 if a machine with these words can run the tier: instructions present, and registers saved by the OS. */
int posenc_cpuid_allows(const posenc_cpuid *words, posenc_isa_tier tier);

/* 1 if a machine with these words has fused multiply-add. */
int posenc_cpuid_has_fma(const posenc_cpuid *words);

/* Features of some CPUs beside the instructions of a tier. */
typedef enum posenc_cpu_feature {
    POSENC_CPU_AVX_VNNI,
    POSENC_CPU_AVX512_VNNI,
    POSENC_CPU_AMX, /* tiles, their products of bf16 and of bytes; with AVX-512 VNNI */
    POSENC_CPU_DOTPROD,
    POSENC_CPU_I8MM, /* with dot products */
    POSENC_CPU_FEATURES
} posenc_cpu_feature;

/* 1 if a machine with these words has the feature and can run its tier. */
int posenc_cpuid_has(const posenc_cpuid *words, posenc_cpu_feature feature);

/* 1 if this machine, of any architecture, can run the tier, has FMA, has the feature. AMX also needs the system's
 * permission to use tiles, which is asked for once. */
int posenc_cpu_allows(posenc_isa_tier tier);
int posenc_cpu_has_fma(void);
int posenc_cpu_has(posenc_cpu_feature feature);

/* CPUID words of this machine; zeros if it is not x86. */
posenc_cpuid posenc_cpu_words(void);

#endif
