/* SPDX-License-Identifier: MIT */
/* Two reports of posenc bench --json, side by side. */
#ifndef POSENC_TOOLS_BENCH_COMPARE_H
#define POSENC_TOOLS_BENCH_COMPARE_H

/* Prints the table; returns the exit status. command: argv[0], which begins a line about what is wrong. */
int bench_compare(const char *command, const char *const files[2]);

#endif
