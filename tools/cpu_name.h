/* SPDX-License-Identifier: MIT */
/* Name of the CPU. */
#ifndef POSENC_TOOLS_CPU_NAME_H
#define POSENC_TOOLS_CPU_NAME_H

#include <stddef.h>

/* The processor's name, or "unknown". */
void cpu_name(char *name, size_t size);

/* Whether the instructions a tier needs are there; feature i, NULL after the last. */
const char *cpu_feature(int i, int *present);

#endif
