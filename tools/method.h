/* SPDX-License-Identifier: MIT */
/* What `posenc table` writes and `posenc plot` draws: a method, its options, and the table of floats that they give.
 *
 * A method is one entry in methods_rows.c or methods_bias.c: name, one line of help, its options, and functions that
 * open a table, fill rows of it by calls of the library, and close it.
 */
#ifndef POSENC_TOOLS_METHOD_H
#define POSENC_TOOLS_METHOD_H

#include <argp.h>

#include <posenc/posenc.h>

/* Every option that some method takes; method_options.c has names, ranges and words. */
typedef enum option_id {
    OPTION_NONE = 0,
    OPTION_LENGTH,
    OPTION_START,
    OPTION_DIM,
    OPTION_BASE,
    OPTION_LAYOUT,
    OPTION_SCHEDULE,
    OPTION_ODD,
    OPTION_SCALING,
    OPTION_FACTOR,
    OPTION_CONTEXT,
    OPTION_SHIFT,
    OPTION_TRAINED,
    OPTION_DEVIATION,
    OPTION_BLOCK,
    OPTION_RESIZE,
    OPTION_ALPHA,
    OPTION_ORDER,
    OPTION_HEIGHT,
    OPTION_WIDTH,
    OPTION_HEADS,
    OPTION_MAX_BIAS,
    OPTION_BUCKETS,
    OPTION_MAX_DISTANCE,
    OPTION_P,
    OPTION_A,
    OPTION_SIGMA,
    OPTION_SEED,
    OPTION_MASK,
    OPTION_WINDOW,
    OPTION_CHUNK,
    OPTION_COUNT
} option_id;

/* An option of a method, and its value unless it is given. A word of an option is its number. */
typedef struct setting {
    option_id option;
    double value;
} setting;

enum { WORD_INTERLEAVED, WORD_CONCAT, WORD_COMPLEX, WORD_CONCAT_COS };               /* --layout */
enum { WORD_HALF, WORD_HALF_MINUS_1 };                                               /* --schedule */
enum { WORD_SIN, WORD_ZERO };                                                        /* --odd */
enum { WORD_UNSCALED, WORD_LINEAR, WORD_NTK, WORD_DYNAMIC, WORD_YARN, WORD_LLAMA3 }; /* --scaling */
enum { WORD_W_FIRST, WORD_H_FIRST, WORD_TIMM };                                      /* --order */
enum { WORD_LINEAR_RESIZE, WORD_CUBIC };                                             /* --resize */
enum { WORD_CAUSAL, WORD_FULL };                                                     /* --mask */

typedef enum method_kind {
    METHOD_ROWS, /* row: a position, column: a channel; several planes belong to one row, as cosines and sines do */
    METHOD_BIAS  /* plane: a head, row: a query, column: a key; -inf where it is masked */
} method_kind;

struct table;

typedef struct method {
    const char *name, *help; /* help: one line */
    const char *title;       /* of a picture */
    method_kind kind;
    const char *row_label, *column_label, *plane_names[2];
    setting takes[12];                               /* up to OPTION_NONE */
    int n_parts;                                     /* of --dim channels each, side by side; 0: one */
    const char *(*check)(const struct table *table); /* of method_checks.h; NULL: none is needed */
    posenc_status (*open)(struct table *table);      /* sets the extents, and data */
    posenc_status (*fill)(const struct table *table, int64_t row, int64_t n,
                          float *values); /* n: at most TABLE_BLOCK */
    void (*close)(struct table *table);
} method;

/* Rows that are filled at once. */
enum { TABLE_BLOCK = 64 };

/* n_planes * n_rows rows of n_columns floats: plane 0 first. */
typedef struct table {
    const method *method;
    double value[OPTION_COUNT];
    int64_t n_planes, n_rows, n_columns;
    int64_t first; /* position of row 0 */
    void *data;    /* what open has made */
} table;

/* The methods of a file, the last without a name. */
extern const method methods_rows[], methods_bias[];

/* NULL if there is none of this name. */
const method *method_find(const char *name);

int method_takes(const method *m, option_id id);

/* One line, as printf has it; it stays until the next call. */
__attribute__((format(printf, 1, 2))) const char *method_text(const char *format, ...);

/* NULL, or what is wrong with the options and how to put it right, to follow "METHOD: ". Check, and then open. */
const char *table_check(const table *t);
const char *table_open(table *t);
void table_close(table *t);

/* Fills rows of all planes. */
posenc_status table_read(const table *t, int64_t row, int64_t n, float *values);

/* Bytes of the whole table; needs nothing but the options. */
double table_bytes(const table *t);

/* What to do about a table that is too large: "use a smaller --length or --dim". only_rows: the number of its rows is
 * what counts. */
const char *table_shrink(const table *t, int only_rows);

int64_t table_count_rows(const table *t);

/* The options that were given, as text: "dim 64, base 10000". */
void table_describe(const table *t, char *text, size_t size);

/* ---- The command line: METHOD and its options, and -o FILE ---- */

/* Input of method_argp(); path and table are what it finds. */
typedef struct method_arguments {
    const char *file_type; /* ".npy" or ".png" */
    const char *path;
    table table;
    const char *given[OPTION_COUNT];
} method_arguments;

/* To be a child of a command's own parser. Its help lists the methods. */
const struct argp *method_argp(void);

#endif
