/* SPDX-License-Identifier: MIT */
/* Instructions that this CPU lacks, executed by the handler of the signal that they raise, so that the compiled code of
 * a feature runs on every CPU that has the rest of its tier. Linux on x86-64. */
#ifndef POSENC_TESTS_EMULATED_VEX_H
#define POSENC_TESTS_EMULATED_VEX_H

#include <stddef.h>

/* An instruction of three bytes VEX, of map 0F38 and W 0. */
typedef struct emulated_vex {
    int prefix; /* 0: none, 1: 66, 2: F3, 3: F2 */
    int is_256;
    int opcode, in_memory;
    int reg, rm, third;  /* numbers of registers; rm: unless the operand is in memory */
    const char *address; /* base and displacement of an operand in memory */
    long index;          /* its index register, scaled; 0 without */
    size_t length;
} emulated_vex;

/* Executes the instruction, or returns 0 for one of another feature. vectors: XSAVE area of the registers, or NULL. */
typedef int emulated_execute(const emulated_vex *i, char *vectors);

/* Sets the handler of SIGILL. */
void emulated_trap(emulated_execute *execute);

#endif
