/* Stands in for model_report.c in builds that found no cJSON. */
#include <stdio.h>

#include "commands.h"

int command_model(int argc, char **argv) {
    (void)argc;
    fprintf(stderr, "%s: built without cJSON, which reads config.json; install libcjson-dev and build again\n",
            argv[0]);
    return EXIT_USAGE;
}
