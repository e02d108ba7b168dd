/* SPDX-License-Identifier: MIT */
#include "worker.h"

#include <stdio.h>
#include <string.h>

#include "slices.h"

typedef struct state {
    const peer *peer;
    char line[sizeof((work *)0)->shape]; /* what is open, if anything is */
    worker_job open;
    int64_t calls; /* in a slice */
    int is_long;   /* of a call: to it, what is in cache when it begins is nothing */
} state;

#define LONG_SECONDS 0.2

static void close_open(state *s) {
    if (s->line[0] == '\0')
        return;
    s->open.close(s->open.job);
    s->line[0] = '\0';
}

/* Keeps what is open if it is asked for once more: rounds ask for the same line again and again. */
static const char *open_line(state *s, const char *line, const work *w) {
    if (strcmp(line, s->line) == 0)
        return NULL;
    close_open(s);
    s->open = (worker_job){0};
    const char *why_not = s->peer->open(w, &s->open);
    if (why_not != NULL)
        return why_not;
    snprintf(s->line, sizeof s->line, "%s", line);
    slices_use_wall_clock(w->threads > 0);
    double first = time_calls(s->open.call, 1, s->open.job); /* with what is set up by the first call */
    s->is_long = first > LONG_SECONDS;
    s->calls = s->is_long ? 1 : calls_in_slice(s->open.call, s->open.job);
    return NULL;
}

/* Slices until the time is over, at least one; before them one that only brings the data back into cache. */
static double measure(state *s, const work *w) {
    static samples times; /* static: large */
    times.n = 0;
    if (!s->is_long)
        time_calls(s->open.call, s->calls, s->open.job);
    double end = slice_clock() + 1e-3 * (double)w->ms;
    do
        samples_add(&times, time_calls(s->open.call, s->calls, s->open.job));
    while (slice_clock() < end);
    return samples_median(&times) / (double)(s->open.works_a_call > 1 ? s->open.works_a_call : 1);
}

static void answer(state *s, const char *line) {
    work w;
    const char *why_not = work_parse(&w, line);
    if (why_not == NULL)
        why_not = open_line(s, line, &w);
    printf("{\"peer\": \"%s\", \"work\": \"%s\", \"shape\": \"%s\", ", s->peer->name, w.kind, w.shape);
    if (why_not != NULL) {
        printf("\"absent\": \"%s\"}\n", why_not);
    } else {
        double ns = 1e9 * measure(s, &w);
        printf("\"ns_per_element\": %.6g, \"ns_per_call\": %.6g, \"calls\": %lld}\n", ns / (double)w.elements, ns,
               (long long)s->calls);
    }
    fflush(stdout);
}

int worker_main(const peer *self) {
    state s = {.peer = self};
    char line[sizeof s.line];
    while (fgets(line, sizeof line, stdin) != NULL)
        answer(&s, line);
    close_open(&s);
    return 0;
}
