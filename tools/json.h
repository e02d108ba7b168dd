/* SPDX-License-Identifier: MIT */
#ifndef POSENC_TOOLS_JSON_H
#define POSENC_TOOLS_JSON_H

/* Prints text as a string of JSON, without its control characters. */
void print_json_string(const char *text);

#endif
