/* SPDX-License-Identifier: MIT */
#include "npy.h"

#include <inttypes.h>
#include <string.h>

enum { MAGIC_SIZE = 8, LENGTH_SIZE = 2, HEADER_SIZE = 192, ALIGNMENT = 64 }; /* the numbers start at a multiple of 64 */

static int is_little_endian(void) {
    const uint16_t one = 1;
    return *(const unsigned char *)&one;
}

int npy_write_header(FILE *f, const int64_t *shape, int n_dims) {
    char text[HEADER_SIZE];
    int n = snprintf(text, sizeof text, "{'descr': '%sf4', 'fortran_order': False, 'shape': (",
                     is_little_endian() ? "<" : ">");
    for (int i = 0; i < n_dims; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRId64, i == 0 ? "" : ", ", shape[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, ")}");

    int length = (MAGIC_SIZE + LENGTH_SIZE + n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - MAGIC_SIZE - LENGTH_SIZE;
    memset(text + n, ' ', (size_t)(length - n - 1));
    text[length - 1] = '\n';
    const unsigned char head[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 255), (unsigned char)(length >> 8)};
    return fwrite(head, 1, sizeof head, f) == sizeof head && fwrite(text, 1, (size_t)length, f) == (size_t)length;
}
