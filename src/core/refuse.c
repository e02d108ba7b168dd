/* SPDX-License-Identifier: MIT */
#include "core/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

static _Thread_local char text[TEXT_BYTES];

const char *posenc_last_error(void) {
    return text;
}

void posenc_note_status(posenc_status status) {
    const char *general = posenc_status_string(status);
    size_t n = strlen(general);
    n = n < TEXT_BYTES - 1 ? n : TEXT_BYTES - 1;
    memcpy(text, general, n);
    text[n] = '\0';
}

void posenc_note_text(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
}

void posenc_note_argument(const char *name) {
    size_t n_name = strlen(name) + 2, n = strlen(text);
    if (n_name >= TEXT_BYTES)
        return;
    n = n < TEXT_BYTES - 1 - n_name ? n : TEXT_BYTES - 1 - n_name;
    memmove(text + n_name, text, n);
    memcpy(text, name, n_name - 2);
    memcpy(text + n_name - 2, ": ", 2);
    text[n_name + n] = '\0';
}
