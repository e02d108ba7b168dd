/* SPDX-License-Identifier: MIT */
/* posenc: looks at its first argument and hands the rest to a subcommand. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <posenc/types.h>

#include "commands.h"
#include "tiers.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"info", command_info},   {"verify", command_verify}, {"model", command_model},
    {"table", command_table}, {"plot", command_plot},
};

/* Lines of the list are broken here, for argp would go on in column 0. */
static const char doc[] =
    "SIMD kernels for the position information of Transformers, seen from the command line.\v"
    "Commands:\n"
    "  info          what this CPU has, which tiers are built, which runs and why\n"
    "  verify        kernels and calls against recorded results\n"
    "  model FILE    verify and time a model's positional work, from its\n"
    "                config.json or GGUF file\n"
    "  table METHOD  write an encoding, or the biases of attention heads, as a\n"
    "                NumPy file\n"
    "  plot METHOD   draw it as a PNG picture: heat map, similarity, curves or\n"
    "                spectrum\n"
    "\n"
    "'posenc help COMMAND' tells a command's options. POSENC_ISA in the environment (scalar, avx2, avx512, neon) "
    "forces a tier.\n"
    "\n"
    "Exit status: 0 all is well, 1 a check has failed, 2 the arguments or the input file are wrong, memory runs out, "
    "or the output cannot be written.";

typedef struct call {
    const struct command *command;
    int argc;
    char **argv;
} call;

/* Ends the program if there is none of this name. */
static const struct command *find_command(const char *name, const struct argp_state *state) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    argp_error(state, "there is no command '%s'", name);
    return NULL;
}

/* 'help COMMAND' is 'COMMAND --help', and 'help' alone '--help'. */
static void give_help(call *c, struct argp_state *state) {
    static char help[] = "--help";
    if (state->next == state->argc)
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    c->command = find_command(state->argv[state->next], state);
    state->argv[state->next] = help;
    c->argc = 2;
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    call *c = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        c->argv = state->argv + state->next - 1;
        c->argc = state->argc - state->next + 1;
        if (strcmp(argument, "help") == 0)
            give_help(c, state);
        else
            c->command = find_command(argument, state);
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a command is missing"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int has_complained; /* the command has said itself what went wrong */

/* At exit, for argp leaves in the middle of --help and --version. */
static void check_stdout(void) {
    errno = 0;
    if (has_complained || (fflush(stdout) == 0 && !ferror(stdout)))
        return;
    fprintf(stderr, "posenc: standard output: %s\n", errno != 0 ? strerror(errno) : "not everything could be written");
    _exit(EXIT_USAGE);
}

int main(int argc, char **argv) {
    static const struct argp argp = {.parser = parse_option, .args_doc = "COMMAND [ARGUMENT...]", .doc = doc};
    static char program[] = "posenc";
    argp_program_version = "posenc " POSENC_VERSION;
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = program;
    call c = {NULL, 0, NULL};
    atexit(check_stdout);
    tier_tell_refusal();
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &c);

    char name[32];
    snprintf(name, sizeof name, "posenc %s", c.command->name);
    c.argv[0] = name;
    int status = c.command->run(c.argc, c.argv);
    has_complained = status == EXIT_USAGE;
    return status;
}
