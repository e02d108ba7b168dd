/* SPDX-License-Identifier: MIT */
/* What the command and the checker use of GNU's <argp.h>, under its names, for C libraries that have no argp: musl's
 * and that of Windows. GNU's manual says what each part means. Arguments are taken in the order in which they stand.
 */
#ifndef POSENC_ARGP_H
#define POSENC_ARGP_H

#include <stdio.h>

typedef int error_t;

enum {
    ARGP_KEY_ARG = 0,
    ARGP_KEY_END = 0x1000001,
    ARGP_KEY_NO_ARGS,
    ARGP_KEY_INIT,
    ARGP_KEY_SUCCESS,
    ARGP_KEY_HELP_EXTRA = 0x2000005,
    ARGP_ERR_UNKNOWN = 7,
    ARGP_IN_ORDER = 8,
    ARGP_HELP_STD_HELP = 1
};

struct argp_option {
    const char *name;
    int key; /* a printing character is a short name too */
    const char *arg;
    int flags;
    const char *doc;
    int group;
};

struct argp_state {
    int argc;
    char **argv;
    int next; /* the argument that is parsed next */
    void *input;
    void **child_inputs;
    const char *name;
    const struct argp *root_argp;
};

struct argp_child {
    const struct argp *argp;
    int flags;
    const char *header;
    int group;
};

struct argp {
    const struct argp_option *options;
    error_t (*parser)(int key, char *argument, struct argp_state *state);
    const char *args_doc;
    const char *doc; /* what stands before the options, '\v', and what stands behind them */
    const struct argp_child *children;
    char *(*help_filter)(int key, const char *text, void *input); /* asked for ARGP_KEY_HELP_EXTRA alone */
};

extern const char *argp_program_version;
extern int argp_err_exit_status;

/* flags and end_index are GNU's, and have no meaning here. Ends the program for --help and on a mistake. */
error_t argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *end_index, void *input);

void argp_error(const struct argp_state *state, const char *format, ...);
void argp_state_help(const struct argp_state *state, FILE *f, unsigned flags);

#endif
