/* SPDX-License-Identifier: MIT */
/* Numbers on the command line: every option reads its own in one of these ways. */
#ifndef POSENC_TOOLS_NUMBER_H
#define POSENC_TOOLS_NUMBER_H

#include <stdint.h>

/* 1 and the number, if the text is nothing but one in the range; whole numbers in decimal digits. */
int read_whole(const char *text, int64_t low, int64_t high, int64_t *number);
int read_unsigned(const char *text, uint64_t *number);
int read_real(const char *text, double low, double high, double *number);

#endif
