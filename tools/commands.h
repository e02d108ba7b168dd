/* SPDX-License-Identifier: MIT */
/* The subcommands of posenc. Each takes its own arguments (argv[0] is "posenc NAME") and returns the exit status. */
#ifndef POSENC_TOOLS_COMMANDS_H
#define POSENC_TOOLS_COMMANDS_H

/* 0: all is well. */
enum { EXIT_CHECK_FAILED = 1, EXIT_USAGE = 2 };

int command_info(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_bench(int argc, char **argv);

#endif
