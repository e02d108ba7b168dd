/* SPDX-License-Identifier: MIT */
/* Time on adversarial data: what else runs on the machine only makes calls longer, so the shortest of some counts. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* Indices and masks stay as the sweep has drawn them, so that the work is the same. Products
 * of two denormals are 0, and 0 is quick: denormals also stand alone among ordinary numbers. */
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
    kernel_args args;
    call_place(call);
    call->arguments(call, &args);
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        for (int j = 0; j < call->n_operands; j++) { /* what the call before has written */
            operand *o = &call->operands[j];
            memcpy(o->memory.data, o->before, o->count * o->element);
        }
        double start = now();
        call_kernel(variant, call->kernel, &args);
        best = fmin(best, now() - start);
    }
    return best;
}

static void time_call(kernel_call *call, const posenc_kernels *variant, call_places places) {
    (void)places;
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

void check_time(kernel_id kernel, const posenc_kernels *variant) {
    static const check_mode timing = {time_call, NULL};
    memset(shortest, 0, sizeof shortest);
    n_calls = 0;
    check_set_mode(&timing);
    check_kernels[kernel].sweep(variant);
    check_set_mode(&check_compare);
    for (kind of = DENORMAL; of < N_KINDS && n_calls > 0; of++)
        printf("time | %s | %s | %s | %d | %.0f | %.0f\n", check_kernels[kernel].name, posenc_isa_name(variant->tier),
               kind_names[of], n_calls, shortest[ORDINARY], shortest[of]);
    fflush(stdout);
}
