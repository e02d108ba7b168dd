/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "slices.h"

/* ---- The cases ---- */

typedef struct layout_case {
    const char *work;
    int64_t n_heads, n_kv_heads, n_q, n_k, head_dim;
    int64_t window;    /* keys that a query sees; 0: all, or those up to its own if causal */
    int64_t page_size; /* of a paged cache */
    int causal;
} layout_case;

static const layout_case cases[] = {
    {"decode", 32, 8, 1, 512, 128, 0, 0, 0},     {"decode", 32, 8, 1, 4096, 128, 0, 0, 0},
    {"decode", 32, 8, 1, 16384, 128, 0, 0, 0},   {"decode", 32, 32, 1, 512, 128, 0, 0, 0},
    {"decode", 32, 32, 1, 4096, 128, 0, 0, 0},   {"decode", 32, 32, 1, 16384, 128, 0, 0, 0},
    {"paged", 32, 8, 1, 4096, 128, 0, 64, 0},    {"window", 32, 8, 1, 4096, 128, 512, 0, 0},
    {"prefill", 8, 8, 1024, 1024, 128, 0, 0, 0}, {"causal", 8, 8, 1024, 1024, 128, 0, 0, 1},
    {"prefill", 32, 8, 512, 4096, 128, 0, 0, 0}, {"prefill", 8, 8, 4096, 4096, 128, 0, 0, 0},
    {"causal", 8, 8, 4096, 4096, 128, 0, 0, 1},
};

/* Types of keys and values, with how they are multiplied. */
static const struct layout_type {
    const char *name;
    posenc_dtype type;
    posenc_attention_math math;
    int in_prefill;
} types[] = {
    {"f32", POSENC_F32, POSENC_MATH_F32, 1},           {"f16", POSENC_F16, POSENC_MATH_F32, 1},
    {"bf16", POSENC_BF16, POSENC_MATH_F32, 0},         {"q8_0", POSENC_Q8_0, POSENC_MATH_F32, 0},
    {"q8_0_int16", POSENC_Q8_0, POSENC_MATH_INT16, 0},
};

enum { N_CASES = sizeof cases / sizeof cases[0], N_TYPES = sizeof types / sizeof types[0] };

/* ---- One case, both layouts ---- */

typedef struct layout_job {
    bench_job base;
    cache cache;
    posenc_score_params params;
    posenc_attention_args args;
    void *scratch;
} layout_job;

static cache_shape cache_shape_of(const layout_case *c, const struct layout_type *type, cache_layout layout,
                                  cache_place place) {
    return (cache_shape){.type = type->type,
                         .head_dim = c->head_dim,
                         .n_heads = c->n_kv_heads,
                         .n_keys = c->n_k,
                         .page_size = c->page_size,
                         .layout = layout,
                         .place = place};
}

static posenc_mask mask_of(const layout_case *c) {
    return c->window > 0 ? posenc_mask_window(c->window) : c->causal ? posenc_mask_causal() : posenc_mask_none();
}

static posenc_view new_queries(bench_job *job, const layout_case *c, cache_layout layout) {
    if (layout == CACHE_T)
        return bench_view(job, POSENC_F32, c->head_dim, c->n_heads, c->n_q);
    return posenc_view_transpose(bench_view(job, POSENC_F32, c->head_dim, c->n_q, c->n_heads), 1, 2);
}

/* The same numbers in both layouts. */
static void fill_queries(const posenc_view *q) {
    for (int64_t head = 0; head < q->ne[1]; head++)
        for (int64_t token = 0; token < q->ne[2]; token++)
            for (int64_t i = 0; i < q->ne[0]; i++)
                ((float *)((char *)q->data + head * q->nb[1] + token * q->nb[2]))[i] =
                    (float)((head * 131 + token * 17 + i * 7919) % 1021) / 510.5f - 1.0f;
}

static void open_job(layout_job *job, const layout_case *c, const struct layout_type *type, cache_layout layout,
                     cache_place place) {
    *job = (layout_job){.params = POSENC_SCORE_DEFAULTS};
    cache_shape shape = cache_shape_of(c, type, layout, place);
    cache_open(&job->cache, &shape);
    job->params.mask = mask_of(c);
    job->params.scale = 0.0883883f;
    job->args = (posenc_attention_args){.params = &job->params,
                                        .q = new_queries(&job->base, c, layout),
                                        .out = new_queries(&job->base, c, layout),
                                        .math = type->math};
    fill_queries(&job->args.q);
    job->scratch = bench_alloc(&job->base, posenc_attention_workspace_bytes(c->head_dim, c->head_dim));
}

static void close_job(layout_job *job) {
    cache_close(&job->cache);
    bench_free_blocks(&job->base);
}

static void run_attention(bench_job *base) {
    layout_job *job = (layout_job *)base;
    cache_next(&job->cache, &job->args);
    bench_check(posenc_attention_run(&job->args, job->scratch, posenc_range_all()));
}

/* Ends the program if the layouts differ in a bit. */
static void compare_layouts(const posenc_view *t, const posenc_view *h) {
    for (int64_t head = 0; head < t->ne[1]; head++)
        for (int64_t token = 0; token < t->ne[2]; token++)
            if (memcmp((char *)t->data + head * t->nb[1] + token * t->nb[2],
                       (char *)h->data + head * h->nb[1] + token * h->nb[2], (size_t)t->ne[0] * sizeof(float)) != 0) {
                fprintf(stderr, "posenc-bench: head %d of query %d differs between layouts t and h\n", (int)head,
                        (int)token);
                exit(1);
            }
}

/* ---- Times ---- */

enum { LEAST_TURNS = 3 };

typedef struct layout_times {
    samples t, ratio; /* seconds of a call; t / h of neighbours */
} layout_times;

/* What is hot is in the caches again after the other layout's call. */
static double time_layout(layout_job *job, cache_place place) {
    if (place == CACHE_HOT || place == CACHE_HOT_HUGE)
        run_attention(&job->base);
    return time_calls(run_attention, 1, &job->base);
}

static void take_turns(layout_job *t, layout_job *h, cache_place place, double seconds, layout_times *times) {
    double end = slice_clock() + seconds;
    for (int turn = 0; turn < LEAST_TURNS || slice_clock() < end; turn++) {
        double of_h = turn % 2 ? time_layout(h, place) : 0.0;
        double of_t = time_layout(t, place);
        of_h = turn % 2 ? of_h : time_layout(h, place);
        samples_add(&times->t, of_t);
        samples_add(&times->ratio, of_t / of_h);
    }
}

static void race_layouts(const layout_case *c, const struct layout_type *type, cache_place place, double seconds) {
    static layout_times times; /* static: large */
    layout_job t, h;
    open_job(&t, c, type, CACHE_T, place);
    open_job(&h, c, type, CACHE_H, place);
    run_attention(&t.base);
    run_attention(&h.base);
    compare_layouts(&t.args.out, &h.args.out);
    times.t.n = times.ratio.n = 0;
    take_turns(&t, &h, place, seconds, &times);
    double of_t = samples_median(&times.t), ratio = samples_median(&times.ratio);
    size_t n = times.ratio.n < MAX_SLICES ? times.ratio.n : MAX_SLICES;
    printf("%-8s %2dx%-2d %4dx%-5d %-10s %-18s %9.3f %9.3f %7.2f  %.2f-%.2f%s\n", c->work, (int)c->n_heads,
           (int)c->n_kv_heads, (int)c->n_q, (int)c->n_k, type->name, cache_place_name(place), 1e3 * of_t,
           1e3 * of_t / ratio, ratio, times.ratio.value[n / 4], times.ratio.value[n - 1 - n / 4],
           strstr(cache_place_name(place), "huge") && !cache_has_huge_pages(&t.cache) ? "  (the system has none)" : "");
    fflush(stdout);
    close_job(&t);
    close_job(&h);
}

/* ---- The command line ---- */

typedef struct layout_options {
    const char *work, *type, *place, *heads, *keys;
    double milliseconds;
} layout_options;

static const char help[] =
    "usage: posenc-bench layout [OPTION VALUE]...: attention in layout t beside layout h, each case a row\n"
    "  --work decode|paged|window|prefill|causal\n"
    "  --type f32|f16|bf16|q8_0|q8_0_int16\n"
    "  --heads 32x8|32x32|8x8\n"
    "  --keys 512|1024|4096|16384\n"
    "  --place hot|memory           pages of 4 KB, and with ',huge' huge ones: hot,huge memory,huge\n"
    "  --ms N                       processor time of each row (300)\n"
    "  --isa TIER                   instead of the best\n"
    "Prints milliseconds of a call in t and in h, and t / h: the median of turns, and their quartiles.\n";

static int fits(const char *wanted, const char *name) {
    return wanted == NULL || strcmp(wanted, name) == 0;
}

static int is_chosen(const layout_options *o, const layout_case *c, const struct layout_type *type, cache_place place) {
    static const char *const places[CACHE_PLACES] = {"hot", "hot,huge", "memory", "memory,huge"};
    char heads[32], keys[32];
    snprintf(heads, sizeof heads, "%dx%d", (int)c->n_heads, (int)c->n_kv_heads);
    snprintf(keys, sizeof keys, "%d", (int)c->n_k);
    int is_decode = c->n_q == 1;
    return (is_decode || (type->in_prefill && place == CACHE_HOT)) && fits(o->work, c->work) &&
           fits(o->type, type->name) && fits(o->heads, heads) && fits(o->keys, keys) && fits(o->place, places[place]);
}

static void select_tier(const char *name) {
    posenc_isa_tier tier;
    for (int i = 0; (tier = bench_tier(i)) != POSENC_ISA_COUNT; i++)
        if (strcmp(posenc_isa_name(tier), name) == 0)
            break;
    bench_check(tier == POSENC_ISA_COUNT ? POSENC_ERR_ISA : posenc_isa_select(tier));
}

static int parse(layout_options *o, int argc, char **argv) {
    for (int i = 0; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--work") == 0)
            o->work = value;
        else if (strcmp(name, "--type") == 0)
            o->type = value;
        else if (strcmp(name, "--heads") == 0)
            o->heads = value;
        else if (strcmp(name, "--keys") == 0)
            o->keys = value;
        else if (strcmp(name, "--place") == 0)
            o->place = value;
        else if (strcmp(name, "--ms") == 0 && atof(value) > 0)
            o->milliseconds = atof(value);
        else if (strcmp(name, "--isa") == 0)
            select_tier(value);
        else
            return 0;
    }
    return argc % 2 == 0;
}

int bench_layout(int argc, char **argv) {
    layout_options options = {.milliseconds = 300};
    if (argc == 1 && strcmp(argv[0], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (!parse(&options, argc, argv)) {
        fputs(help, stderr);
        return 2;
    }
    int n_rows = 0;
    for (int i = 0; i < N_CASES; i++)
        for (int k = 0; k < N_TYPES; k++)
            for (int place = 0; place < CACHE_PLACES; place++) {
                if (!is_chosen(&options, &cases[i], &types[k], (cache_place)place))
                    continue;
                if (n_rows++ == 0)
                    printf("%-8s %-5s %-10s %-10s %-18s %9s %9s %7s  %s\n", "work", "heads", "queries", "type", "place",
                           "t ms", "h ms", "t/h", "quartiles");
                race_layouts(&cases[i], &types[k], (cache_place)place, 1e-3 * options.milliseconds);
            }
    if (n_rows == 0)
        fputs("posenc-bench: no case has all of these\n", stderr);
    return n_rows == 0;
}
