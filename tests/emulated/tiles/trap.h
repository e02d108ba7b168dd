/* SPDX-License-Identifier: MIT */
/* On a CPU without AMX its instructions are illegal: the handler of that signal executes them, by tiles.h, so that what
 * a compiler made of src/avx512/tiles*.c runs on every CPU that has the rest of the tier. Linux on x86-64. */
#ifndef POSENC_TESTS_EMULATED_TILES_TRAP_H
#define POSENC_TESTS_EMULATED_TILES_TRAP_H

/* From now on. */
void emulated_trap_tiles(void);

#endif
