/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct threads {
    int n;
    void (*work)(void *, int);
    void *context;
    atomic_int next_name;
    atomic_uint round;    /* counted up to start one */
    atomic_int remaining; /* threads that still work on it */
    atomic_int ends;
    pthread_t handles[MAX_THREADS];
};

/* Awake, but not at the cost of who has something to do on this core. */
static void wait_a_little(int *turns) {
    if (++*turns % 4096 == 0)
        sched_yield();
}

static void *work_in_rounds(void *argument) {
    threads *t = argument;
    int name = atomic_fetch_add(&t->next_name, 1);
    for (unsigned done = 0;; done++) {
        int turns = 0;
        while (atomic_load(&t->round) == done)
            wait_a_little(&turns);
        if (atomic_load(&t->ends))
            return NULL;
        t->work(t->context, name);
        atomic_fetch_sub(&t->remaining, 1);
    }
}

threads *threads_new(int n, void (*work)(void *, int), void *context) {
    threads *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->work = work;
    t->context = context;
    t->n = 1;
    atomic_store(&t->next_name, 1);
    while (t->n < n && pthread_create(&t->handles[t->n], NULL, work_in_rounds, t) == 0)
        t->n++;
    if (t->n == n)
        return t;
    threads_free(t);
    return NULL;
}

void threads_run(threads *t) {
    atomic_store(&t->remaining, t->n - 1);
    atomic_fetch_add(&t->round, 1);
    t->work(t->context, 0);
    int turns = 0;
    while (atomic_load(&t->remaining) > 0)
        wait_a_little(&turns);
}

void threads_free(threads *t) {
    if (t == NULL)
        return;
    atomic_store(&t->ends, 1);
    atomic_fetch_add(&t->round, 1);
    for (int i = 1; i < t->n; i++)
        pthread_join(t->handles[i], NULL);
    free(t);
}
