/* SPDX-License-Identifier: MIT */
/* The options of the methods: names, ranges and words, how they are read, and the help that lists the methods. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "method.h"
#include "number.h"

typedef struct description {
    const char *name, *argument, *help; /* help: without the range or the words */
    double min, max;
    int is_whole;
    const char *words[8]; /* instead of a number */
    option_id of;         /* means something only with another word than the first of this option */
} description;

static const description options[OPTION_COUNT] = {
    [OPTION_LENGTH] = {"length", "N", "Positions; of a bias, queries and keys", 1, 1 << 24, 1, {0}, OPTION_NONE},
    [OPTION_START] = {"start", "P", "The first position", -0x1p31, 0x1p31 - 1, 1, {0}, OPTION_NONE},
    [OPTION_DIM] = {"dim", "N", "Channels", 1, 1 << 21, 1, {0}, OPTION_NONE},
    [OPTION_BASE] = {"base", "X", "Base of the frequencies", 1, 1e30, 0, {0}, OPTION_NONE},
    [OPTION_LAYOUT] = {"layout",
                       "WORD",
                       "Order of sines and cosines",
                       0,
                       0,
                       0,
                       {"interleaved", "concat", "complex", "concat-cos"},
                       OPTION_NONE},
    [OPTION_SCHEDULE] =
        {"schedule", "WORD", "Divisor of the exponents", 0, 0, 0, {"half", "half-minus-1"}, OPTION_NONE},
    [OPTION_ODD] = {"odd", "WORD", "The last channel of an odd dim", 0, 0, 0, {"sin", "zero"}, OPTION_NONE},
    [OPTION_SCALING] = {"scaling",
                        "WORD",
                        "How frequencies are stretched",
                        0,
                        0,
                        0,
                        {"none", "linear", "ntk", "dynamic", "yarn", "llama3"},
                        OPTION_NONE},
    [OPTION_FACTOR] = {"factor", "X", "Factor of the scaling", 1, 1e9, 0, {0}, OPTION_SCALING},
    [OPTION_CONTEXT] = {"context",
                        "N",
                        "Positions of the training, before the scaling; dynamic is as for --factor times as many",
                        1,
                        1e9,
                        1,
                        {0},
                        OPTION_SCALING},
    [OPTION_SHIFT] = {"shift", "X", "diffusers' downscale_freq_shift", 0, 1000, 0, {0}, OPTION_NONE},
    [OPTION_TRAINED] = {"trained", "N", "Rows of a learned table", 1, 1 << 24, 1, {0}, OPTION_NONE},
    [OPTION_DEVIATION] = {"deviation", "X", "Standard deviation of random numbers", 0, 1e9, 0, {0}, OPTION_NONE},
    [OPTION_BLOCK] = {"block", "N", "Positions of a block", 1, 1 << 24, 1, {0}, OPTION_NONE},
    [OPTION_RESIZE] = {"resize", "WORD", "Interpolation", 0, 0, 0, {"linear", "cubic"}, OPTION_NONE},
    [OPTION_ALPHA] = {"alpha", "X", "Exponent of the scales", 0, 1000, 0, {0}, OPTION_NONE},
    [OPTION_ORDER] =
        {"order", "WORD", "Which of row and column comes first", 0, 0, 0, {"w-first", "h-first", "timm"}, OPTION_NONE},
    [OPTION_HEIGHT] = {"height", "N", "Rows of an image or a grid", 1, 4096, 1, {0}, OPTION_NONE},
    [OPTION_WIDTH] = {"width", "N", "Columns of an image or a grid", 1, 4096, 1, {0}, OPTION_NONE},
    [OPTION_HEADS] = {"heads", "N", "Heads", 1, 4096, 1, {0}, OPTION_NONE},
    [OPTION_MAX_BIAS] = {"max-bias", "X", "ALiBi's exponent", 0, 100, 0, {0}, OPTION_NONE},
    [OPTION_BUCKETS] = {"buckets", "N", "Buckets of distances", 2, 4096, 1, {0}, OPTION_NONE},
    [OPTION_MAX_DISTANCE] =
        {"max-distance", "N", "Distance from which on all are alike", 0, 1 << 24, 1, {0}, OPTION_NONE},
    [OPTION_P] = {"p", "X", "KERPLE's p", 0, 1000, 0, {0}, OPTION_NONE},
    [OPTION_A] = {"a", "X", "KERPLE's a", 0, 1000, 0, {0}, OPTION_NONE},
    [OPTION_SIGMA] = {"sigma", "X", "Width of a Gaussian", 1e-6, 1e8, 0, {0}, OPTION_NONE},
    [OPTION_SEED] = {"seed", "N", "Which random numbers", 0, 1e15, 1, {0}, OPTION_NONE},
    [OPTION_MASK] =
        {"mask", "WORD", "Whether keys after the query are hidden", 0, 0, 0, {"causal", "full"}, OPTION_NONE},
    [OPTION_WINDOW] = {"window",
                       "N",
                       "Keys a query sees on either side, itself included, or 0 for all",
                       0,
                       1 << 24,
                       1,
                       {0},
                       OPTION_NONE},
    [OPTION_CHUNK] = {"chunk",
                      "N",
                      "Keys are seen within chunks of so many positions, or 0 for everywhere",
                      0,
                      1 << 24,
                      1,
                      {0},
                      OPTION_NONE},
};

enum { FIRST_KEY = 0x1000, KEY_OUTPUT = 'o' };

/* ---- Values ---- */

/* The words of an option: "interleaved or concat". */
static const char *words_of(const description *o) {
    static char text[160];
    size_t n = 0;
    for (int i = 0; o->words[i] != NULL; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                              i == 0                    ? ""
                              : o->words[i + 1] != NULL ? ", "
                                                        : " or ",
                              o->words[i]);
    return text;
}

static double read_word(const description *o, const char *text, struct argp_state *state) {
    for (int i = 0; o->words[i] != NULL; i++)
        if (strcmp(o->words[i], text) == 0)
            return i;
    argp_error(state, "--%s takes %s, not '%s'", o->name, words_of(o), text);
    return 0.0;
}

/* The range of an option, as its numbers are read: "1 to 4096". */
static const char *range_of(const description *o) {
    static char text[64];
    snprintf(text, sizeof text, o->is_whole ? "%.0f to %.0f" : "%.10g to %.10g", o->min, o->max);
    return text;
}

static double read_number(const description *o, const char *text, struct argp_state *state) {
    int64_t n = 0;
    double x = 0.0;
    int ok = o->is_whole ? read_whole(text, (int64_t)o->min, (int64_t)o->max, &n) : read_real(text, o->min, o->max, &x);
    if (!ok)
        argp_error(state, "--%s takes a %s from %s, not '%s'", o->name, o->is_whole ? "whole number" : "number",
                   range_of(o), text);
    return o->is_whole ? (double)n : x;
}

/* "dim 64" or "--dim 64". */
static int print_value(char *text, size_t size, const char *dashes, option_id id, double value) {
    const description *o = &options[id];
    if (o->words[0] == NULL)
        return snprintf(text, size, "%s%s %.10g", dashes, o->name, value);
    return snprintf(text, size, "%s%s %s", dashes, o->name, o->words[(int)value]);
}

/* The options of a method and their defaults: "--length 128 --dim 64". */
static const char *options_of(const method *m) {
    static char text[512];
    size_t n = 0;
    for (int i = 0; m->takes[i].option != OPTION_NONE; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", i == 0 ? "" : " ");
        n += (size_t)print_value(text + n, sizeof text - n, "--", m->takes[i].option, m->takes[i].value);
    }
    return text;
}

/* ---- The command line ---- */

static int has_meaning(const table *t, option_id id) {
    return options[id].of == OPTION_NONE || t->value[options[id].of] != 0.0;
}

/* What is not usual, and numbers all the same unless they are 0. The axes tell length and start. */
static int is_worth_saying(const table *t, const setting *s) {
    if (s->option == OPTION_LENGTH || s->option == OPTION_START || !has_meaning(t, s->option))
        return 0;
    int is_usual = t->value[s->option] == s->value;
    return !is_usual || (options[s->option].words[0] == NULL && s->value != 0.0);
}

void table_describe(const table *t, char *text, size_t size) {
    size_t n = 0;
    text[0] = '\0';
    for (const setting *s = t->method->takes; s->option != OPTION_NONE; s++) {
        if (!is_worth_saying(t, s) || n >= size)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s", n == 0 ? "" : ", ");
        if (n < size)
            n += (size_t)print_value(text + n, size - n, "", s->option, t->value[s->option]);
    }
}

/* A name that promises another kind of file is a mistake. */
static void check_path(const method_arguments *a, struct argp_state *state) {
    if (a->path == NULL)
        argp_error(state, "the file to write is missing: -o FILE%s", a->file_type);
    if (a->path[0] == '\0')
        argp_error(state, "the name of the file to write is empty: -o FILE%s", a->file_type);
    const char *slash = strrchr(a->path, '/'), *name = slash != NULL ? slash + 1 : a->path, *end = strrchr(name, '.');
    if (end != NULL && end != name && strcasecmp(end, a->file_type) != 0)
        argp_error(state, "-o %s: nothing but %s files can be written; use a name that ends with %s", a->path,
                   a->file_type, a->file_type);
}

/* All has been read: defaults, then what was given. */
static void finish(method_arguments *a, struct argp_state *state) {
    const method *m = a->table.method;
    if (m == NULL)
        argp_error(state, "METHOD is missing; --help lists them");
    check_path(a, state);
    for (const setting *s = m->takes; s->option != OPTION_NONE; s++)
        a->table.value[s->option] = s->value;
    for (option_id id = OPTION_NONE + 1; id < OPTION_COUNT; id++) {
        if (a->given[id] == NULL)
            continue;
        if (!method_takes(m, id))
            argp_error(state, "%s takes no --%s; its options are %s", m->name, options[id].name, options_of(m));
        a->table.value[id] = options[id].words[0] != NULL ? read_word(&options[id], a->given[id], state)
                                                          : read_number(&options[id], a->given[id], state);
    }
    for (option_id id = OPTION_NONE + 1; id < OPTION_COUNT; id++)
        if (a->given[id] != NULL && !has_meaning(&a->table, id))
            argp_error(state, "--%s does nothing without --%s", options[id].name, options[options[id].of].name);
    if (a->table.value[OPTION_START] + a->table.value[OPTION_LENGTH] > 0x1p31)
        argp_error(state, "--start %.0f and --length %.0f reach beyond position 2147483647, the last",
                   a->table.value[OPTION_START], a->table.value[OPTION_LENGTH]);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    method_arguments *a = state->input;
    if (key > FIRST_KEY && key < FIRST_KEY + OPTION_COUNT) {
        a->given[key - FIRST_KEY] = argument;
        return 0;
    }
    switch (key) {
    case KEY_OUTPUT: a->path = argument; return 0;
    case ARGP_KEY_ARG:
        if (a->table.method != NULL)
            argp_error(state, "one METHOD at a time: '%s' is one too many", argument);
        a->table.method = method_find(argument);
        if (a->table.method == NULL)
            argp_error(state, "there is no method '%s'; --help lists them", argument);
        return 0;
    case ARGP_KEY_END: finish(a, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Help ---- */

enum { LINE_LENGTH = 78, TEXT_COLUMN = 15 };

/* Words, and options with their values, from TEXT_COLUMN on; `column` is where the line stands. */
static void print_wrapped(FILE *f, int column, const char *text) {
    for (const char *word = text; *word != '\0';) {
        const char *end = strstr(word + 1, word[0] == '-' ? " --" : " ");
        int length = end != NULL ? (int)(end - word) : (int)strlen(word);
        if (column > 0 && column + 1 + length > LINE_LENGTH) {
            fprintf(f, "\n");
            column = 0;
        }
        column += fprintf(f, "%*s%.*s", column > TEXT_COLUMN ? 1 : TEXT_COLUMN - column, "", length, word);
        word += length + (end != NULL);
    }
    fprintf(f, "\n");
}

static void list_methods(FILE *f, const char *title, const method *methods) {
    fprintf(f, "\n%s\n", title);
    for (const method *m = methods; m->name != NULL; m++) {
        print_wrapped(f, fprintf(f, "  %s", m->name), m->help);
        print_wrapped(f, 0, options_of(m));
    }
}

/* argp frees what this returns, unless it is the text itself. */
static char *filter_help(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA)
        return (char *)text;
    char *help = NULL;
    size_t size;
    FILE *f = open_memstream(&help, &size);
    if (f == NULL)
        return NULL;
    fprintf(f, "Methods, and what their options are unless given:\n");
    list_methods(f, "Encodings: a row is a position", methods_rows);
    list_methods(f, "Biases of attention scores: a row is a query, a column a key", methods_bias);
    fclose(f);
    return help;
}

/* argp's own form of the table above. */
static const struct argp_option *argp_options(void) {
    static struct argp_option list[OPTION_COUNT + 1];
    static char help[OPTION_COUNT][200];
    list[0] = (struct argp_option){"output", KEY_OUTPUT, "FILE", 0, "The file to write; - is standard output", 1};
    for (int id = OPTION_NONE + 1; id < OPTION_COUNT; id++) {
        const description *o = &options[id];
        if (o->words[0] != NULL)
            snprintf(help[id], sizeof help[id], "%s: %s", o->help, words_of(o));
        else
            snprintf(help[id], sizeof help[id], "%s: %s", o->help, range_of(o));
        list[id] = (struct argp_option){o->name, FIRST_KEY + id, o->argument, 0, help[id], 2};
    }
    return list;
}

const struct argp *method_argp(void) {
    static struct argp argp = {.parser = parse, .args_doc = "METHOD", .help_filter = filter_help};
    argp.options = argp_options();
    return &argp;
}
