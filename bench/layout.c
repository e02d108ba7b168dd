/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
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
    {"q8_0_int16", POSENC_Q8_0, POSENC_MATH_INT16, 0}, {"f8_e4m3", POSENC_F8_E4M3, POSENC_MATH_F32, 0},
};

enum { N_CASES = sizeof cases / sizeof cases[0], N_TYPES = sizeof types / sizeof types[0] };

typedef struct layout_options {
    const char *work, *type, *place, *heads, *keys;
    double milliseconds; /* processor time of a row */
    int as_json;
} layout_options;

/* ---- One case, both layouts ---- */

static attention_shape shape_of(const layout_case *c, const struct layout_type *type, cache_layout layout,
                                cache_place place) {
    return (attention_shape){.n_heads = c->n_heads,
                             .n_q = c->n_q,
                             .cache = {.type = type->type,
                                       .head_dim = c->head_dim,
                                       .n_heads = c->n_kv_heads,
                                       .n_keys = c->n_k,
                                       .page_size = c->page_size,
                                       .layout = layout,
                                       .place = place},
                             .math = type->math,
                             .mask = c->window > 0 ? posenc_mask_window(c->window)
                                     : c->causal   ? posenc_mask_causal()
                                                   : posenc_mask_none()};
}

/* ---- Times ---- */

enum { LEAST_TURNS = 3 };

typedef struct layout_times {
    samples t, ratio, limit; /* seconds of a call in t; t / h and t / limit of neighbours */
} layout_times;

/* Calls of one layout in a row. */
typedef struct visit_plan {
    int warming, timed;
} visit_plan;

enum { MAX_TIMED = 3 };

/* The other layout's calls came between, and one call does not make a cache hot again: a last cache keeps only some of
 * what passes by. After one call, decode over 67 MB took as long as from memory; after eight, two thirds of it (Intel
 * Emerald Rapids). */
static visit_plan plan_visits(const layout_case *c, cache_place place) {
    if (place == CACHE_MEMORY || place == CACHE_MEMORY_HUGE)
        return (visit_plan){0, 1};
    return c->n_q == 1 ? (visit_plan){6, MAX_TIMED} : (visit_plan){1, 1};
}

typedef struct visit {
    double seconds[MAX_TIMED]; /* of a call */
} visit;

static visit time_visit(bench_call *call, bench_job *job, visit_plan plan) {
    visit v = {{0}};
    for (int i = 0; i < plan.warming; i++)
        call(job);
    for (int i = 0; i < plan.timed; i++)
        v.seconds[i] = time_calls(call, 1, job);
    return v;
}

/* The layouts go first in turns. The limit reads the cache of the layout that goes first in the next turn. */
static void take_turns(bench_job *t, bench_job *h, visit_plan plan, double seconds, layout_times *times) {
    bench_call *ours = attention_race.racers[BENCH_OURS], *limit = attention_race.racers[BENCH_LIMIT];
    double end = slice_clock() + seconds;
    for (int turn = 0; turn < LEAST_TURNS || slice_clock() < end; turn++) {
        int is_h_first = turn % 2;
        visit first = time_visit(ours, is_h_first ? h : t, plan);
        visit second = time_visit(ours, is_h_first ? t : h, plan);
        visit least = time_visit(limit, is_h_first ? t : h, plan);
        const visit *of_t = is_h_first ? &second : &first, *of_h = is_h_first ? &first : &second;
        for (int i = 0; i < plan.timed; i++) {
            samples_add(&times->t, of_t->seconds[i]);
            samples_add(&times->ratio, of_t->seconds[i] / of_h->seconds[i]);
            samples_add(&times->limit, of_t->seconds[i] / least.seconds[i]);
        }
    }
}

static void print_row(const layout_case *c, const struct layout_type *type, cache_place place, layout_times *times,
                      int lacks_huge_pages, int as_json) {
    double ms = 1e3 * samples_median(&times->t), ratio = samples_median(&times->ratio);
    size_t n = times->ratio.n < MAX_SLICES ? times->ratio.n : MAX_SLICES;
    double low = times->ratio.value[n / 4], high = times->ratio.value[n - 1 - n / 4];
    printf(as_json
               ? "{\"work\": \"%s\", \"heads\": \"%dx%d\", \"queries\": %d, \"keys\": %d, \"type\": \"%s\", "
                 "\"place\": \"%s\", \"t_ms\": %.4g, \"h_ms\": %.4g, \"ratio\": %.3f, \"low\": %.3f, \"high\": %.3f, "
                 "\"limit\": %.3f, \"note\": \"%s\"}\n"
               : "%-8s %2dx%-2d %4dx%-6d %-10s %-18s %9.3f %9.3f %6.2f %5.2f-%.2f %8.2f  %s\n",
           c->work, (int)c->n_heads, (int)c->n_kv_heads, (int)c->n_q, (int)c->n_k, type->name, cache_place_name(place),
           ms, ms / ratio, ratio, low, high, samples_median(&times->limit),
           lacks_huge_pages ? "the system has no huge pages" : "");
    fflush(stdout);
}

static void race_layouts(const layout_case *c, const struct layout_type *type, cache_place place,
                         const layout_options *o) {
    static layout_times times; /* static: large */
    attention_shape shapes[] = {shape_of(c, type, CACHE_T, place), shape_of(c, type, CACHE_H, place)};
    bench_job *t = bench_open(&attention_race, &shapes[0], posenc_isa());
    bench_job *h = bench_open(&attention_race, &shapes[1], posenc_isa());
    attention_race.racers[BENCH_OURS](t);
    attention_race.racers[BENCH_OURS](h);
    attention_compare(t, h);
    times.t.n = times.ratio.n = times.limit.n = 0;
    take_turns(t, h, plan_visits(c, place), 1e-3 * o->milliseconds, &times);
    int wants_huge = place == CACHE_HOT_HUGE || place == CACHE_MEMORY_HUGE;
    print_row(c, type, place, &times, wants_huge && !attention_has_huge_pages(t), o->as_json);
    bench_close(&attention_race, t);
    bench_close(&attention_race, h);
}

/* ---- The command line ---- */

static const char help[] =
    "usage: posenc-bench layout [OPTION VALUE]...: attention in layout t beside layout h, each case a row\n"
    "  --work decode|paged|window|prefill|causal\n"
    "  --type f32|f16|bf16|q8_0|q8_0_int16|f8_e4m3\n"
    "  --heads 32x8|32x32|8x8\n"
    "  --keys 512|1024|4096|16384\n"
    "  --place hot|memory           pages of 4 KB, and with ',huge' huge ones: hot,huge memory,huge\n"
    "  --ms N                       processor time of each row (300)\n"
    "  --isa TIER                   instead of the best\n"
    "  --format text|json\n"
    "Prints milliseconds of a call in t and in h; t / h, the median of turns, and their quartiles; and t by the limit, "
    "which\n"
    "reads the keys and values once (decode) or does the multiply-adds alone (prefill).\n";

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
    const struct {
        const char *name, **value;
    } words[] = {{"--work", &o->work},
                 {"--type", &o->type},
                 {"--heads", &o->heads},
                 {"--keys", &o->keys},
                 {"--place", &o->place}};
    for (int i = 0; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        size_t k = 0;
        while (k < sizeof words / sizeof words[0] && strcmp(name, words[k].name) != 0)
            k++;
        if (k < sizeof words / sizeof words[0])
            *words[k].value = value;
        else if (strcmp(name, "--ms") == 0 && atof(value) > 0)
            o->milliseconds = atof(value);
        else if (strcmp(name, "--isa") == 0)
            select_tier(value);
        else if (strcmp(name, "--format") == 0 && fits(value, "json"))
            o->as_json = 1;
        else if (strcmp(name, "--format") != 0 || !fits(value, "text"))
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
                if (n_rows++ == 0 && !options.as_json)
                    printf("%-8s %-5s %-11s %-10s %-18s %9s %9s %6s %10s %8s\n", "work", "heads", "queries", "type",
                           "place", "t ms", "h ms", "t/h", "quartiles", "t/limit");
                race_layouts(&cases[i], &types[k], (cache_place)place, &options);
            }
    if (n_rows == 0)
        fputs("posenc-bench: no case has all of these\n", stderr);
    return n_rows == 0;
}
