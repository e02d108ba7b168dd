/* SPDX-License-Identifier: MIT */
/* Arguments of the command and of its subcommands. A wrong argument ends the program with one line on standard error
 * that names it, and exit status EXIT_USAGE. */
#ifndef POSENC_TOOLS_OPTIONS_H
#define POSENC_TOOLS_OPTIONS_H

#include <getopt.h>
#include <stdint.h>

/* argv[0]: the command's name, which begins the line and ends it: "see 'posenc bench --help'". */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
_Noreturn void
usage_error(char *const *argv, const char *format, ...);

/* getopt_long without its messages: the next option's letter, or -1 after the last. -h prints the help and ends the
 * program. letters begins with ':'; after names a command takes no other arguments. */
int next_option(int argc, char **argv, const char *letters, const struct option *names, const char *help);

/* The option's argument: a whole number in decimal digits, or a real one, in the range. */
int64_t whole_of(char *const *argv, const char *option, int64_t low, int64_t high);
double real_of(char *const *argv, const char *option, const char *text);

#endif
