/* SPDX-License-Identifier: MIT */
#include "bench_report.h"

#include <stdarg.h>
#include <stdio.h>

#include "cpu_name.h"
#include "json.h"
#include "tiers.h"

const char *report_type_name(posenc_dtype type) {
    return type == POSENC_F32 ? "f32" : type == POSENC_F16 ? "f16" : "bf16";
}

static const char *column_name(int column) {
    return column == LIMIT ? "limit" : posenc_isa_name((posenc_isa_tier)column);
}

static int is_wanted(const bench_shape *shape, int column) {
    return column == LIMIT || bench_wants(shape, column);
}

/* The fastest tier of a row. */
static int best_of(const bench_shape *shape, const double *us) {
    int best = POSENC_ISA_SCALAR;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (bench_wants(shape, tier) && us[tier] > 0.0 && us[tier] < us[best])
            best = tier;
    return best;
}

static double speed_up(const bench_row *row, int column) {
    return row->us[POSENC_ISA_SCALAR] / row->us[column];
}

static double gigabytes_per_second(const bench_row *row, int column) {
    return row->w->traffic / ((double)row->w->n_tokens * row->us[column]) * 1e-3;
}

/* ---- The table ---- */

enum { NAME = 31, TYPE = 6, TIME = 11, RATIO = 10 };

static void print_shape(const bench_shape *shape) {
    printf("Heads: Q %lld, K and V %lld, of %lld channels. ", (long long)shape->n_heads, (long long)shape->n_kv_heads,
           (long long)shape->head_dim);
    if (shape->has_alibi)
        printf("ALiBi.\n");
    else
        printf("RoPE: %lld channels, %s, theta %.6g to %.6g.\n", 2 * (long long)posenc_rope_pair_count(shape->rope),
               shape->params.layout == POSENC_ROPE_HALF ? "half-split" : "interleaved",
               posenc_rope_theta(shape->rope, 0),
               posenc_rope_theta(shape->rope, posenc_rope_pair_count(shape->rope) - 1));
    printf("Microseconds per token, one layer, %d thread%s, medians:\n\n", shape->n_threads,
           shape->n_threads == 1 ? "" : "s");
}

static void print_titles(const bench_shape *shape, const char *title) {
    printf("  %-*s%-*s", NAME, title, TYPE, "type");
    for (int column = 0; column < N_COLUMNS; column++)
        if (is_wanted(shape, column))
            printf("%*s", TIME, column_name(column));
    printf("%*s%*s\n", RATIO, "speed-up", RATIO, "GB/s");
}

static void print_cells(const bench_shape *shape, const bench_row *row) {
    printf("  %-*s%-*s", NAME, row->is_first ? row->w->name : "", TYPE, report_type_name(row->w->type));
    for (int column = 0; column < N_COLUMNS; column++) {
        if (!is_wanted(shape, column))
            continue;
        if (column != LIMIT && (row->differ >> column & 1) != 0)
            printf("%*s", TIME, "FAILED");
        else if (row->us[column] == 0.0)
            printf("%*s", TIME, "-");
        else
            printf("%*.*f", TIME, row->us[column] < 100.0 ? 3 : 0, row->us[column]);
    }
    int best = best_of(shape, row->us);
    printf("%*.1f%*.1f\n", RATIO, speed_up(row, best), RATIO, gigabytes_per_second(row, best));
    fflush(stdout);
}

/* ---- JSON and CSV ---- */

static void begin_json(const bench_shape *shape) {
    char name[128];
    cpu_name(name, sizeof name);
    printf("{\"posenc\": \"%s\", \"cpu\": ", posenc_version());
    print_json_string(name);
    printf(", \"architecture\": \"%s\",\n", architecture_name());
    printf(" \"heads\": %lld, \"kv_heads\": %lld, \"head_dim\": %lld, \"position\": \"%s\",\n",
           (long long)shape->n_heads, (long long)shape->n_kv_heads, (long long)shape->head_dim,
           shape->has_alibi ? "alibi" : "rope");
    printf(" \"rows\": [");
}

/* Prints what each column has for this row, each in a line. */
static void print_fields(const bench_shape *shape, const bench_row *row) {
    static int n_printed;
    for (int column = 0; column < N_COLUMNS; column++) {
        if (!is_wanted(shape, column) || row->us[column] == 0.0)
            continue;
        const char *verified = column != LIMIT && (row->differ >> column & 1) != 0 ? "false" : "true";
        const char *format = "%s,%lld,%lld,\"%s\",%s,%s,%d,%.6g,%.4g,%.4g,%s\n";
        if (shape->format == FORMAT_JSON) {
            format =
                "{\"phase\": \"%s\", \"tokens\": %lld, \"keys\": %lld, \"work\": \"%s\", \"type\": \"%s\", "
                "\"tier\": \"%s\", \"threads\": %d, \"us_per_token\": %.6g, \"speed_up\": %.4g, \"gb_per_s\": %.4g, "
                "\"verified\": %s}";
            printf("%s\n  ", n_printed++ == 0 ? "" : ",");
        }
        printf(format, row->phase, (long long)row->w->n_tokens, (long long)row->w->n_keys, row->w->name,
               report_type_name(row->w->type), column_name(column), shape->n_threads, row->us[column],
               speed_up(row, column), gigabytes_per_second(row, column), verified);
    }
}

/* ---- All forms ---- */

void report_begin(const bench_shape *shape) {
    switch (shape->format) {
    case FORMAT_TEXT: print_shape(shape); break;
    case FORMAT_JSON: begin_json(shape); break;
    case FORMAT_CSV: puts("phase,tokens,keys,work,type,tier,threads,us_per_token,speed_up,gb_per_s,verified"); break;
    }
}

void report_phase(const bench_shape *shape, const char *title) {
    if (shape->format == FORMAT_TEXT)
        print_titles(shape, title);
}

void report_row(const bench_shape *shape, const bench_row *row) {
    if (shape->format == FORMAT_TEXT)
        print_cells(shape, row);
    else
        print_fields(shape, row);
}

void report_note(const bench_shape *shape, const char *format, ...) {
    if (shape->format != FORMAT_TEXT)
        return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

void report_end(const bench_shape *shape, unsigned differ) {
    if (shape->format == FORMAT_JSON)
        printf("\n ],\n \"verified\": %s}\n", differ == 0 ? "true" : "false");
    report_note(
        shape,
        "speed-up: scalar's time over the best tier's; GB/s: what that reads and writes, each byte once.\n"
        "limit: the same elements negated in place, which is what memory allows. Later layers have the first's\n"
        "table of cosines and sines.\n%s\n",
        differ == 0 ? "Verified: every tier gives scalar's results, bit for bit."
                    : "FAILED: a tier differs from scalar; 'posenc verify' tells more.");
}
