/* SPDX-License-Identifier: MIT */
/* Intel's manual, volume 2: instruction formats, and the encodings of AMX's instructions. */
#define _GNU_SOURCE
#include "trap.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "tiles.h"

/* The three bytes of VEX, opcode, ModRM and what follows, where all tile instructions are of one form: VEX.128 of map
 * 0F38, W 0. */
typedef struct instruction {
    int prefix; /* 0: none, 1: 66, 2: F3, 3: F2 */
    int opcode, mod, reg, rm, third;
    const char *address; /* of what is in memory */
    long stride;         /* the index register's part of it */
    size_t length;
} instruction;

static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static int64_t displacement(const uint8_t *at, size_t n) {
    int32_t wide;
    if (n == 1)
        return (int8_t)*at;
    memcpy(&wide, at, sizeof wide);
    return n == 4 ? wide : 0;
}

/* The operand in memory: base, index and displacement. Relative to the instruction pointer is not among what compilers
 * make of tiles, but of a configuration that is a constant. */
static void decode_address(const greg_t *of, const uint8_t *code, instruction *i) {
    int base = i->rm | (~code[1] >> 5 & 1) << 3, index = 4, scale = 0;
    size_t at = 5, n = i->mod == 1 ? 1 : i->mod == 2 ? 4 : 0;
    if (i->rm == 4) {
        uint8_t sib = code[at++];
        base = (sib & 7) | (~code[1] >> 5 & 1) << 3;
        index = (sib >> 3 & 7) | (~code[1] >> 6 & 1) << 3;
        scale = sib >> 6;
    }
    int has_base = i->mod != 0 || (base & 7) != 5;
    n = has_base ? n : 4;
    i->length = at + n;
    i->stride = index == 4 ? 0 : (long)of[registers[index]] << scale;
    int64_t from = has_base ? of[registers[base]] : i->rm == 5 ? of[REG_RIP] + (int64_t)i->length : 0;
    i->address = (const char *)(uintptr_t)(from + displacement(code + at, n));
}

/* 0: none of AMX's. */
static int decode(const greg_t *of, instruction *i) {
    const uint8_t *code = (const uint8_t *)(uintptr_t)of[REG_RIP];
    if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0)
        return 0;
    *i = (instruction){.prefix = code[2] & 3,
                       .opcode = code[3],
                       .mod = code[4] >> 6,
                       .reg = code[4] >> 3 & 7,
                       .rm = code[4] & 7,
                       .third = ~code[2] >> 3 & 7,
                       .length = 5};
    if (i->mod != 3)
        decode_address(of, code, i);
    return 1;
}

/* 0: it is another instruction. */
static int execute(const instruction *i) {
    int in_memory = i->mod != 3;
    switch (i->opcode << 4 | i->prefix << 1 | in_memory) {
    case 0x491: emulated_loadconfig(i->address); return 1;
    case 0x490: emulated_release(); return 1;
    case 0x496: emulated_zero(i->reg); return 1;
    case 0x4b7: emulated_load(i->reg, i->address, i->stride); return 1;
    case 0x4b5: emulated_store(i->reg, (void *)(uintptr_t)i->address, i->stride); return 1;
    case 0x5c4: emulated_dpbf16ps(i->reg, i->rm, i->third); return 1;
    case 0x5e6: emulated_dpbssd(i->reg, i->rm, i->third); return 1;
    default: return 0;
    }
}

static void on_illegal_instruction(int number, siginfo_t *info, void *context) {
    greg_t *of = ((ucontext_t *)context)->uc_mcontext.gregs;
    instruction i;
    (void)info;
    if (!decode(of, &i) || !execute(&i)) {
        signal(number, SIG_DFL); /* comes again */
        return;
    }
    of[REG_RIP] += (greg_t)i.length;
}

void emulated_trap_tiles(void) {
    struct sigaction action = {.sa_sigaction = on_illegal_instruction, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGILL, &action, NULL);
}
