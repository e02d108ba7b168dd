/* SPDX-License-Identifier: MIT */
/* posenc table: any encoding or bias as a NumPy file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "method.h"
#include "npy.h"
#include "output.h"
#include "progress.h"

/* Beyond this a file is more likely a slip than a wish. */
#define GIB 0x1p30
#define MOST_BYTES (4.0 * GIB)

typedef struct table_options {
    method_arguments arguments;
    int is_large;
} table_options;

static const struct argp_option argp_options[] = {
    {"large", 'L', NULL, 0, "Write the file even if it has more than 4 GiB", 1},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    table_options *o = state->input;
    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->arguments; return 0;
    case 'L': o->is_large = 1; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The file ---- */

/* Block by block, so that a table may be larger than memory. NULL, or what went wrong. */
static const char *write_rows(const table *t, FILE *f) {
    int64_t n = table_count_rows(t);
    size_t row_size = (size_t)t->n_columns * sizeof(float);
    float *block = malloc(TABLE_BLOCK * row_size);
    char what[40];
    snprintf(what, sizeof what, "writing %.1f GiB", (double)n * (double)row_size / GIB);
    const char *wrong = block == NULL ? strerror(ENOMEM) : NULL;
    for (int64_t row = 0; row < n && wrong == NULL; row += TABLE_BLOCK) {
        int64_t n_rows = n - row < TABLE_BLOCK ? n - row : TABLE_BLOCK;
        posenc_status status = table_read(t, row, n_rows, block);
        if (status != POSENC_OK)
            wrong = posenc_status_string(status);
        else if (fwrite(block, row_size, (size_t)n_rows, f) != (size_t)n_rows)
            wrong = strerror(errno);
        progress(what, (double)row / (double)n);
    }
    progress(what, 1.0);
    free(block);
    return wrong;
}

static const char *write_file(const table *t, const char *path) {
    const int64_t shape[] = {t->n_planes, t->n_rows, t->n_columns};
    int skip = t->n_planes == 1 && t->method->kind == METHOD_ROWS; /* no axis of planes where there is but one */
    output o;
    const char *wrong = output_open(&o, path);
    if (wrong != NULL)
        return wrong;
    return output_close(&o, npy_write_header(o.file, shape + skip, 3 - skip) ? write_rows(t, o.file) : strerror(errno));
}

/* ---- The command ---- */

static const char *check(const table_options *o) {
    const table *t = &o->arguments.table;
    const char *wrong = table_check(t);
    double bytes = table_bytes(t);
    if (wrong != NULL || o->is_large || bytes <= MOST_BYTES)
        return wrong;
    return method_text("this file would have %.1f GiB: %s, or add --large to write it all the same", bytes / GIB,
                       table_shrink(t, 0));
}

int command_table(int argc, char **argv) {
    const struct argp_child children[] = {{method_argp(), 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = argp_options,
        .parser = parse_option,
        .doc = "Writes an encoding, or the biases of every head, as a NumPy file: float32, [position, channel], "
               "[plane, position, channel] where a method has several planes, or [head, query, key] with -inf where a "
               "key is masked. The file has its name only once it is whole.\v"
               "Example: posenc table sinusoidal --length 512 --dim 64 -o pe.npy",
        .children = children,
    };
    table_options o = {.arguments.file_type = ".npy"};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    table *t = &o.arguments.table;
    const char *wrong = check(&o), *subject = t->method->name;
    if (wrong == NULL)
        wrong = table_open(t);
    if (wrong == NULL) {
        wrong = write_file(t, o.arguments.path);
        subject = o.arguments.path;
        table_close(t);
    }
    if (wrong != NULL)
        fprintf(stderr, "posenc table: %s: %s\n", subject, wrong);
    return wrong == NULL ? 0 : EXIT_USAGE;
}
