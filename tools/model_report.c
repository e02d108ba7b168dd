#include "commands.h"
int command_model(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return 0;
}
