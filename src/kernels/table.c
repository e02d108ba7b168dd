/* SPDX-License-Identifier: MIT */
/* The table of one tier; compiled once per tier, and per feature of it with the tier's own for all other kernels. */
#include "kernels/variant.h"

/* Suffix of the variants in this table: of all kernels, of kernels of quantised rows, of their products, and of kernels
 * that use tiles. */
#ifndef POSENC_KERNELS_OF
#define POSENC_KERNELS_OF POSENC_VARIANT
#endif
#ifndef POSENC_QUANTS_OF
#define POSENC_QUANTS_OF POSENC_KERNELS_OF
#endif
#ifndef POSENC_PRODUCTS_OF
#define POSENC_PRODUCTS_OF POSENC_QUANTS_OF
#endif
#ifndef POSENC_TILES_OF
#define POSENC_TILES_OF POSENC_KERNELS_OF
#endif

#define KERNEL(name, args) void POSENC_PASTE(posenc_##name, _, POSENC_KERNELS_OF)(const args *);
#define QUANT_KERNEL(name, args) void POSENC_PASTE(posenc_##name, _, POSENC_QUANTS_OF)(const args *);
#define PRODUCT_KERNEL(name, args) void POSENC_PASTE(posenc_##name, _, POSENC_PRODUCTS_OF)(const args *);
#define TILE_KERNEL(name, args) void POSENC_PASTE(posenc_##name, _, POSENC_TILES_OF)(const args *);
#include "kernels/kernels.def"
#undef KERNEL

const posenc_kernels POSENC_PASTE(posenc_kernels, _, POSENC_VARIANT) = {
    .tier = POSENC_TIER,
#define KERNEL(name, args) .name = POSENC_PASTE(posenc_##name, _, POSENC_KERNELS_OF),
#define QUANT_KERNEL(name, args) .name = POSENC_PASTE(posenc_##name, _, POSENC_QUANTS_OF),
#define PRODUCT_KERNEL(name, args) .name = POSENC_PASTE(posenc_##name, _, POSENC_PRODUCTS_OF),
#define TILE_KERNEL(name, args) .name = POSENC_PASTE(posenc_##name, _, POSENC_TILES_OF),
#include "kernels/kernels.def"
#undef KERNEL
};
