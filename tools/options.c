/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

void usage_error(char *const *argv, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", argv[0]);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see '%s --help'\n", argv[0]);
    va_end(arguments);
    exit(EXIT_USAGE);
}

/* Refuses what getopt_long could not read: the word before optind, or, for letters in one word, optopt. */
static _Noreturn void refuse_option(char *const *argv) {
    const char *word = argv[optind - 1];
    if (strncmp(word, "--", 2) != 0 && optopt != 0)
        usage_error(argv, "unknown option '-%c'", optopt);
    usage_error(argv, optopt != 0 ? "'%s': this option takes no value" : "unknown option '%s'", word);
}

int next_option(int argc, char **argv, const char *letters, const struct option *names, const char *help) {
    opterr = 0;
    int letter = getopt_long(argc, argv, letters, names, NULL);
    switch (letter) {
    case 'h': fputs(help, stdout); exit(EXIT_SUCCESS);
    case ':': usage_error(argv, "option '%s' needs a value", argv[optind - 1]);
    case '?': refuse_option(argv);
    case -1:
        if (optind < argc)
            usage_error(argv, "it takes no argument '%s'", argv[optind]);
        return -1;
    default: return letter;
    }
}

int64_t whole_of(char *const *argv, const char *option, int64_t low, int64_t high) {
    char *end;
    errno = 0;
    long long n = strtoll(optarg, &end, 10);
    if (!isdigit((unsigned char)optarg[0]) || *end != '\0' || errno != 0 || n < low || n > high)
        usage_error(argv, "%s takes a whole number from %lld to %lld, not '%s'", option, (long long)low,
                    (long long)high, optarg);
    return n;
}

double real_of(char *const *argv, const char *option, const char *text) {
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !(x - x == 0.0)) /* neither infinite nor NaN */
        usage_error(argv, "%s takes a number, not '%s'", option, text);
    return x;
}
