/* SPDX-License-Identifier: MIT */
/* Intel's manual, volume 2: instruction formats. */
#define _GNU_SOURCE
#include "vex.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static int64_t displacement(const uint8_t *at, size_t n) {
    int32_t wide;
    if (n == 1)
        return (int8_t)*at;
    memcpy(&wide, at, sizeof wide);
    return n == 4 ? wide : 0;
}

/* The operand in memory: base, index and displacement, or relative to the instruction pointer. */
static void decode_address(const greg_t *of, const uint8_t *code, int mod, emulated_vex *i) {
    int base = i->rm, index = 4, scale = 0;
    size_t at = 5, n = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if ((i->rm & 7) == 4) {
        uint8_t sib = code[at++];
        base = (sib & 7) | (i->rm & 8);
        index = (sib >> 3 & 7) | (~code[1] >> 6 & 1) << 3;
        scale = sib >> 6;
    }
    int has_base = mod != 0 || (base & 7) != 5;
    n = has_base ? n : 4;
    i->length = at + n;
    i->index = index == 4 ? 0 : (long)of[registers[index]] * (1L << scale);
    int64_t from = has_base ? of[registers[base]] : at == 5 ? of[REG_RIP] + (int64_t)i->length : 0;
    i->address = (const char *)(uintptr_t)(from + displacement(code + at, n));
}

/* Returns 0 for an instruction of another form. */
static int decode(const greg_t *of, emulated_vex *i) {
    const uint8_t *code = (const uint8_t *)(uintptr_t)of[REG_RIP];
    if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x80) != 0)
        return 0;
    int mod = code[4] >> 6;
    *i = (emulated_vex){.prefix = code[2] & 3,
                        .is_256 = code[2] >> 2 & 1,
                        .opcode = code[3],
                        .in_memory = mod != 3,
                        .reg = (code[4] >> 3 & 7) | (~code[1] >> 7 & 1) << 3,
                        .rm = (code[4] & 7) | (~code[1] >> 5 & 1) << 3,
                        .third = ~code[2] >> 3 & 15,
                        .length = 5};
    if (i->in_memory)
        decode_address(of, code, mod, i);
    return 1;
}

static emulated_execute *execute;

/* Executes all such instructions in a row: a signal takes longer than they do. */
static void on_illegal_instruction(int number, siginfo_t *info, void *context) {
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    emulated_vex i;
    int n = 0;
    (void)info;
    for (; decode(machine->gregs, &i) && execute(&i, (char *)machine->fpregs); n++)
        machine->gregs[REG_RIP] += (greg_t)i.length;
    if (n == 0)
        signal(number, SIG_DFL); /* comes again */
}

void emulated_trap(emulated_execute *of_feature) {
    struct sigaction action = {.sa_sigaction = on_illegal_instruction, .sa_flags = SA_SIGINFO | SA_NODEFER};
    execute = of_feature;
    sigaction(SIGILL, &action, NULL);
}
