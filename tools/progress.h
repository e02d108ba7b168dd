/* SPDX-License-Identifier: MIT */
/* Progress of a long piece of work: a line on standard error, if that is a terminal, after the first second. */
#ifndef POSENC_TOOLS_PROGRESS_H
#define POSENC_TOOLS_PROGRESS_H

/* The part of the work that is done, 0 .. 1. At 1 the line is taken away. The clock starts with the first call, and
 * with the first after a 1. */
void progress(const char *what, double done);

#endif
