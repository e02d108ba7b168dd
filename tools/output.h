/* SPDX-License-Identifier: MIT */
/* The file that a command writes. It stands under its name only when it is whole: until then it has another name beside
 * it, and a run that fails or is interrupted takes it away. */
#ifndef POSENC_TOOLS_OUTPUT_H
#define POSENC_TOOLS_OUTPUT_H

#include <stdio.h>

typedef struct output {
    FILE *file;
    char *path, *part; /* NULL where the file is written as it is: a device, a pipe, standard output */
} output;

/* "-" is standard output. NULL, or what is wrong. */
const char *output_open(output *o, const char *path);

/* What output_open has opened. wrong: what has gone wrong with the writing, NULL if nothing. Returns that, or what went
 * wrong now. */
const char *output_close(output *o, const char *wrong);

#endif
