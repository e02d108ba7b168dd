/* SPDX-License-Identifier: MIT */
/* posenc: looks at its first argument and hands the rest to a subcommand. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <posenc/types.h>

#include "commands.h"
#include "options.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"info", command_info}, {"verify", command_verify}, {"bench", command_bench}};

static const char help[] =
    "Usage: posenc COMMAND [OPTION...]\n"
    "SIMD kernels for the position information of Transformers, seen from the command line.\n"
    "\n"
    "Commands:\n"
    "  info     what this CPU has, which tiers are built, which runs and why\n"
    "  verify   kernels and calls against recorded results\n"
    "  bench    check and time the positional work of one attention layer\n"
    "\n"
    "'posenc help COMMAND' tells a command's options, 'posenc --version' the version. POSENC_ISA in the\n"
    "environment forces a tier: scalar"
#define TIER(name, ...) ", " #name
#include "tiers.def"
    ".\n"
    "\n"
    "Exit status: 0 all is well, 1 a check has failed, 2 the arguments are wrong, memory runs out, or the\n"
    "output cannot be written.\n";

static const struct command *find_command(char *const *argv, const char *name) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    usage_error(argv, name[0] == '-' ? "unknown option '%s'" : "there is no command '%s'", name);
}

/* argv[0] is the command's name. */
static int run(const struct command *command, int argc, char **argv) {
    char name[32];
    snprintf(name, sizeof name, "posenc %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

static int is(const char *argument, const char *letter, const char *word) {
    return strcmp(argument, letter) == 0 || strcmp(argument, word) == 0;
}

static int call(int argc, char **argv) {
    static char wants_help[] = "--help";
    if (argc < 2)
        usage_error(argv, "a command is missing: info, verify or bench");
    int asks_for_help = strcmp(argv[1], "help") == 0;
    if (is(argv[1], "-h", "--help") || (asks_for_help && argc == 2)) {
        fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    if (is(argv[1], "-V", "--version")) {
        puts("posenc " POSENC_VERSION);
        return EXIT_SUCCESS;
    }
    if (!asks_for_help)
        return run(find_command(argv, argv[1]), argc - 1, argv + 1);
    char *arguments[] = {argv[2], wants_help, NULL};
    return run(find_command(argv, argv[2]), 2, arguments);
}

static int has_complained; /* the command has said itself what went wrong */

/* At exit, for --help ends in the middle. */
static void check_stdout(void) {
    errno = 0;
    if (has_complained || (fflush(stdout) == 0 && !ferror(stdout)))
        return;
    fprintf(stderr, "posenc: standard output: %s\n", errno != 0 ? strerror(errno) : "not everything could be written");
    _exit(EXIT_USAGE);
}

int main(int argc, char **argv) {
    static char program[] = "posenc";
    argv[0] = program;
    atexit(check_stdout);
    int status = call(argc, argv);
    has_complained = status == EXIT_USAGE;
    return status;
}
