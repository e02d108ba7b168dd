/* Calls of the sweeps (tests/kernels_*.c), timed with ordinary numbers and with hostile ones in all that is float32,
 * f16 or bf16. For each kernel, tier and kind of numbers the line
 *
 *     time | kernel | tier | kind | calls | ordinary ns | hostile ns
 *
 * with the times of all calls added up, each the shortest of some: what else runs on the machine only makes them
 * longer. usage: hostile_time [flush]: with denormals flushed to zero, as a host may ask of its processor */
#define _POSIX_C_SOURCE 200809L
#include "../kernel_call.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

enum { REPETITIONS = 25, LEAST_ELEMENTS = 1500, MOST_CALLS = 12 };

typedef enum kind { ORDINARY, DENORMAL, DENORMAL_AMONG, INFINITE, NOT_A_NUMBER, ALTERNATING, N_KINDS } kind;

static const char *const kind_names[N_KINDS] = {"ordinary", "denormal", "denormal among ordinary",
                                                "infinite", "NaN",      "alternating extremes"};

static double shortest[N_KINDS];
static int n_calls;

static double number(kind k, element_type type, size_t i) {
    double smallest = type == ELEMENT_F16 ? 0x1p-20 : 0x1p-130, largest = type == ELEMENT_F16 ? 65504.0 : 0x1.fep127;
    double smallest_normal = type == ELEMENT_F16 ? 0x1p-14 : 0x1p-126;
    double sign = i % 2 ? -1.0 : 1.0;
    switch (k) {
    case ORDINARY: return 0.5 + (double)(i * 37 % 101) / 64.0; /* what probabilities may be as well */
    case DENORMAL:
    case DENORMAL_AMONG: return sign * smallest * (double)(1 + i % 7);
    case INFINITE: return sign * INFINITY;
    case NOT_A_NUMBER: return NAN;
    default: return i % 4 < 2 ? sign * largest : sign * smallest_normal;
    }
}

static int is_data(const operand *o) {
    return (o->role & OPERAND_IN) && (o->type == ELEMENT_F32 || o->type == ELEMENT_F16 || o->type == ELEMENT_BF16);
}

static const operand *largest_data(const kernel_call *call) {
    const operand *largest = NULL;
    for (int j = 0; j < call->n_operands; j++)
        if (is_data(&call->operands[j]) && (largest == NULL || call->operands[j].count > largest->count))
            largest = &call->operands[j];
    return largest;
}

/* Indices and masks stay as the sweep has drawn them, so that the work is the same. Of products of two denormals
 * nothing is left, and 0 is quick: they stand alone, among ordinary numbers, too. */
static void fill(kernel_call *call, kind k) {
    const operand *largest = largest_data(call);
    for (int j = 0; j < call->n_operands; j++) {
        operand *o = &call->operands[j];
        kind of_operand = k == DENORMAL_AMONG && o != largest ? ORDINARY : k;
        for (size_t i = 0; is_data(o) && i < o->count; i++)
            if (o->lane[i] != NO_LANE)
                operand_set(o, i, number(of_operand, o->type, i));
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_of(kernel_call *call, const posenc_kernels *variant) {
    double best = INFINITY;
    call_place(call);
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        for (int j = 0; j < call->n_operands; j++) { /* what the call before has written */
            operand *o = &call->operands[j];
            memcpy(o->memory.data, o->before, o->count * o->element);
        }
        double start = now();
        call->run(variant, call);
        best = fmin(best, now() - start);
    }
    return best;
}

static void watch(kernel_call *call, const posenc_kernels *variant) {
    size_t n = 0;
    for (int j = 0; j < call->n_operands; j++)
        n += call->operands[j].count;
    if (n < LEAST_ELEMENTS || n_calls == MOST_CALLS)
        return;
    n_calls++;
    for (kind k = ORDINARY; k < N_KINDS; k++) {
        fill(call, k);
        shortest[k] += time_of(call, variant);
    }
}

static const struct {
    const char *name;
    void (*sweep)(const posenc_kernels *);
} kernels[] = {
#define KERNEL(name, args) {#name, sweep_##name},
#include "kernels/kernels.def"
#undef KERNEL
};

/* 0 if this processor has no such mode. */
static int flush_denormals(void) {
#if defined __SSE2__
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return 1;
#elif defined __aarch64__
    uint64_t modes;
    __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
    __asm__ volatile("msr fpcr, %0" : : "r"(modes | 1 << 24));
    return 1;
#else
    return 0;
#endif
}

int main(int argc, char **argv) {
    int flushes = argc > 1 && strcmp(argv[1], "flush") == 0;
    if (argc > 1 && (!flushes || !flush_denormals()))
        return 2;
    call_watcher = watch;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++) {
        const posenc_kernels *variant = posenc_tier_kernels((posenc_isa_tier)tier);
        const char *name = posenc_isa_name((posenc_isa_tier)tier);
        for (size_t k = 0; variant != NULL && k < sizeof kernels / sizeof kernels[0]; k++) {
            memset(shortest, 0, sizeof shortest);
            n_calls = 0;
            kernels[k].sweep(variant);
            for (kind of = DENORMAL; of < N_KINDS && n_calls > 0; of++)
                printf("time | %s | %s | %s | %d | %.0f | %.0f\n", kernels[k].name, name, kind_names[of], n_calls,
                       shortest[ORDINARY], shortest[of]);
            fflush(stdout);
        }
    }
    return 0;
}
