/* SPDX-License-Identifier: MIT */
/* Stands before the compiler's <immintrin.h> where src/avx512/tiles*.c are compiled for tests, so that every machine
 * checks what is done with tiles. */
#ifndef POSENC_TESTS_EMULATED_TILES_IMMINTRIN_H
#define POSENC_TESTS_EMULATED_TILES_IMMINTRIN_H

#if defined __x86_64__ || defined __i386__
#include_next <immintrin.h> /* for the vectors of a tier */
#endif

#include "tiles.h"

/* ---- Intel's names, some of which are macros of the compiler's header ---- */

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#define _tile_loadconfig emulated_loadconfig
#define _tile_release emulated_release
#define _tile_zero emulated_zero
#define _tile_loadd emulated_load
#define _tile_stored emulated_store
#define _tile_dpbf16ps emulated_dpbf16ps
#define _tile_dpbssd emulated_dpbssd

#endif
