/* SPDX-License-Identifier: MIT */
/* Intel's manual, volume 2: the encodings of AMX's instructions. */
#include "trap.h"

#include "emulated/vex.h"
#include "tiles.h"

static int execute_tiles(const emulated_vex *i, char *vectors) {
    (void)vectors;
    if (i->is_256)
        return 0;
    switch (i->opcode << 4 | i->prefix << 1 | i->in_memory) {
    case 0x491: emulated_loadconfig(i->address + i->index); return 1;
    case 0x490: emulated_release(); return 1;
    case 0x496: emulated_zero(i->reg); return 1;
    case 0x4b7: emulated_load(i->reg, i->address, i->index); return 1;
    case 0x4b5: emulated_store(i->reg, (void *)(uintptr_t)i->address, i->index); return 1;
    case 0x5c4: emulated_dpbf16ps(i->reg, i->rm, i->third); return 1;
    case 0x5e6: emulated_dpbssd(i->reg, i->rm, i->third); return 1;
    default: return 0;
    }
}

void emulated_trap_tiles(void) {
    emulated_trap(execute_tiles);
}
