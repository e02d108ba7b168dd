/* SPDX-License-Identifier: MIT */
/* posenc-bench layout: attention over keys and values in layout t beside layout h (cache.h), each case a row. */
#ifndef POSENC_BENCH_LAYOUT_H
#define POSENC_BENCH_LAYOUT_H

/* The options behind the word `layout`; prints the rows that they choose. The exit status. */
int bench_layout(int argc, char **argv);

#endif
