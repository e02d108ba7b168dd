/* SPDX-License-Identifier: MIT */
/* Threads that do the same thing at the same time, again and again: what scaling is measured with. They wait awake. */
#ifndef POSENC_TOOLS_THREADS_H
#define POSENC_TOOLS_THREADS_H

enum { MAX_THREADS = 64 };

typedef struct threads threads;

/* n threads, the caller among them; NULL without memory. */
threads *threads_new(int n, void (*work)(void *context, int thread), void *context);

/* work(context, thread) once on each, and waits for all. */
void threads_run(threads *t);

/* NULL is allowed. */
void threads_free(threads *t);

#endif
