/* SPDX-License-Identifier: MIT */
/* Executes AMX's instructions by tiles.h on a CPU without them. */
#ifndef POSENC_TESTS_EMULATED_TILES_TRAP_H
#define POSENC_TESTS_EMULATED_TILES_TRAP_H

/* From now on. */
void emulated_trap_tiles(void);

#endif
