/* SPDX-License-Identifier: MIT */
/* posenc bench --compare A.json B.json: the fastest tiers of two machines, or of two tiers, row by row. */
#include "bench_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#ifdef POSENC_HAVE_CJSON
#include <cjson/cJSON.h>

enum { NAME = 31, TYPE = 6, CELL = 20, RATIO = 9 };

/* The text of a file; NULL if it cannot be read. */
static char *read_file(const char *name) {
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0 && (text = malloc((size_t)size + 1)) != NULL)
        text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
    return text;
}

static const char *string_of(const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}

static double time_of(const cJSON *row) {
    const cJSON *us = cJSON_GetObjectItemCaseSensitive(row, "us_per_token");
    return cJSON_IsNumber(us) ? us->valuedouble : 0.0;
}

/* A report, or NULL after a line that says what is wrong. */
static cJSON *read_report(const char *command, const char *name) {
    char *text = read_file(name);
    cJSON *report = text != NULL ? cJSON_Parse(text) : NULL;
    if (text == NULL)
        fprintf(stderr, "%s: %s cannot be read\n", command, name);
    else if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(report, "rows")))
        fprintf(stderr, "%s: %s is not what 'posenc bench --json' prints\n", command, name);
    free(text);
    if (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(report, "rows")))
        return report;
    cJSON_Delete(report);
    return NULL;
}

static int is_same_work(const cJSON *a, const cJSON *b) {
    static const char *const names[] = {"phase", "work", "type"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(string_of(a, names[i]), string_of(b, names[i])) != 0)
            return 0;
    return 1;
}

/* The fastest tier of a piece of work; NULL if the report does not have it. */
static const cJSON *best_of(const cJSON *report, const cJSON *work) {
    const cJSON *row, *best = NULL;
    cJSON_ArrayForEach(
        row, cJSON_GetObjectItemCaseSensitive(
                 report, "rows")) if (is_same_work(row, work) && strcmp(string_of(row, "tier"), "limit") != 0 &&
                                      time_of(row) > 0.0 && (best == NULL || time_of(row) < time_of(best))) best = row;
    return best;
}

static void print_cell(const cJSON *row) {
    char cell[64];
    snprintf(cell, sizeof cell, "%.4g %s", time_of(row), string_of(row, "tier"));
    printf("%*s", CELL, cell);
}

/* Prints the rows that both have; returns how many. */
static int print_rows(const cJSON *a, const cJSON *b) {
    int n = 0;
    const cJSON *work;
    cJSON_ArrayForEach(work, cJSON_GetObjectItemCaseSensitive(a, "rows")) {
        const cJSON *first = best_of(a, work), *second = best_of(b, work);
        if (first != work || second == NULL)
            continue;
        printf("  %-9s%-*s%-*s", string_of(work, "phase"), NAME, string_of(work, "work"), TYPE,
               string_of(work, "type"));
        print_cell(first);
        print_cell(second);
        printf("%*.2f\n", RATIO, time_of(first) / time_of(second));
        n++;
    }
    return n;
}

static void print_machine(const char *name, const cJSON *report, const char *file) {
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(report, "rows"), 0);
    const cJSON *threads = cJSON_GetObjectItemCaseSensitive(row, "threads");
    printf("%s: %s, posenc %s, %d threads, %s\n", name, string_of(report, "cpu"), string_of(report, "posenc"),
           cJSON_IsNumber(threads) ? threads->valueint : 1, file);
}

int bench_compare(const char *command, const char *const files[2]) {
    cJSON *a = read_report(command, files[0]), *b = a != NULL ? read_report(command, files[1]) : NULL;
    int n = 0;
    if (b != NULL) {
        print_machine("A", a, files[0]);
        print_machine("B", b, files[1]);
        printf("Microseconds per token of the fastest tier:\n\n");
        printf("  %-9s%-*s%-*s%*s%*s%*s\n", "", NAME, "", TYPE, "type", CELL, "A", CELL, "B", RATIO, "A / B");
        n = print_rows(a, b);
        if (n == 0)
            fprintf(stderr, "%s: the two files have no row in common\n", command);
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    return n > 0 ? 0 : EXIT_USAGE;
}

#else

int bench_compare(const char *command, const char *const files[2]) {
    (void)files;
    fprintf(stderr, "%s: this build reads no JSON: build it where libcjson-dev is installed\n", command);
    return EXIT_USAGE;
}

#endif
