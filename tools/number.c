/* SPDX-License-Identifier: MIT */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static int begins_with_digit(const char *text) {
    return isdigit((unsigned char)text[0]);
}

int read_whole(const char *text, int64_t low, int64_t high, int64_t *number) {
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (!begins_with_digit(text + (text[0] == '-')) || *end != '\0' || errno != 0 || n < low || n > high)
        return 0;
    *number = n;
    return 1;
}

int read_unsigned(const char *text, uint64_t *number) {
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (!begins_with_digit(text) || *end != '\0' || errno != 0)
        return 0;
    *number = n;
    return 1;
}

int read_real(const char *text, double low, double high, double *number) {
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !(x >= low && x <= high)) /* no NaN either */
        return 0;
    *number = x;
    return 1;
}
