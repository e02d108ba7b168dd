/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <stdio.h>

void print_json_string(const char *text) {
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text >= ' ')
            putchar(*text);
    }
    putchar('"');
}
