/* posenc table: any encoding or bias as a NumPy file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "method.h"
#include "npy.h"
#include "progress.h"

/* Block by block, so that a table may be larger than memory. NULL, or what went wrong. */
static const char *write_rows(const table *t, FILE *f) {
    int64_t n = table_count_rows(t);
    size_t row_size = (size_t)t->n_columns * sizeof(float);
    float *block = malloc(TABLE_BLOCK * row_size);
    const char *wrong = block == NULL ? strerror(ENOMEM) : NULL;
    for (int64_t row = 0; row < n && wrong == NULL; row += TABLE_BLOCK) {
        int64_t n_rows = n - row < TABLE_BLOCK ? n - row : TABLE_BLOCK;
        posenc_status status = table_read(t, row, n_rows, block);
        if (status != POSENC_OK)
            wrong = posenc_status_string(status);
        else if (fwrite(block, row_size, (size_t)n_rows, f) != (size_t)n_rows)
            wrong = strerror(errno);
        progress("writing", (double)row / (double)n);
    }
    progress("writing", 1.0);
    free(block);
    return wrong;
}

/* Half a file must not be taken for a whole one. */
static void remove_file(const char *path) {
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) /* no device, for one */
        remove(path);
}

static int write_file(const table *t, const char *path) {
    const int64_t shape[] = {t->n_planes, t->n_rows, t->n_columns};
    int skip = t->n_planes == 1 && t->method->kind == METHOD_ROWS; /* no axis of planes where there is but one */
    FILE *f = fopen(path, "wb");
    const char *wrong = f == NULL ? strerror(errno) : NULL;
    if (wrong == NULL)
        wrong = npy_write_header(f, shape + skip, 3 - skip) ? write_rows(t, f) : strerror(errno);
    if (f != NULL && fclose(f) != 0 && wrong == NULL)
        wrong = strerror(errno);
    if (wrong == NULL)
        return 1;
    fprintf(stderr, "posenc table: %s: %s\n", path, wrong);
    if (f != NULL)
        remove_file(path);
    return 0;
}

int command_table(int argc, char **argv) {
    struct argp argp = *method_argp();
    argp.doc = "Writes an encoding, or the biases of every head, as a NumPy file: float32, [position, channel], "
               "[plane, position, "
               "channel] where a method has several planes, or [head, query, key] with -inf where a key is masked.\v"
               "Example: posenc table sinusoidal --length 512 --dim 64 -o pe.npy";
    method_arguments a = {.file_type = ".npy"};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    posenc_status status = table_open(&a.table);
    if (status != POSENC_OK) {
        fprintf(stderr, "posenc table: %s: %s\n", a.table.method->name, posenc_status_string(status));
        return EXIT_USAGE;
    }
    int ok = write_file(&a.table, a.path);
    table_close(&a.table);
    return ok ? 0 : EXIT_USAGE;
}
