/* SPDX-License-Identifier: MIT */
/* Methods by name, and reading a table block by block. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "method.h"

const method *method_find(const char *name) {
    const method *const lists[] = {methods_rows, methods_bias};
    for (int i = 0; i < 2; i++)
        for (const method *m = lists[i]; m->name != NULL; m++)
            if (strcmp(m->name, name) == 0)
                return m;
    return NULL;
}

int method_takes(const method *m, option_id id) {
    for (const setting *s = m->takes; s->option != OPTION_NONE; s++)
        if (s->option == id)
            return 1;
    return 0;
}

const char *method_text(const char *format, ...) {
    static char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return text;
}

/* ---- Size ---- */

double table_bytes(const table *t) {
    const double *v = t->value;
    double rows = method_takes(t->method, OPTION_HEIGHT) ? v[OPTION_HEIGHT] * v[OPTION_WIDTH] : v[OPTION_LENGTH];
    double parts = t->method->n_parts > 0 ? t->method->n_parts : 1.0;
    return sizeof(float) * rows * (t->method->kind == METHOD_BIAS ? rows * v[OPTION_HEADS] : v[OPTION_DIM] * parts);
}

const char *table_shrink(const table *t, int only_rows) {
    const char *rows = method_takes(t->method, OPTION_HEIGHT) ? "--height or --width" : "--length";
    static char text[64];
    snprintf(text, sizeof text, "use a smaller %s%s", rows,
             only_rows                        ? ""
             : t->method->kind == METHOD_BIAS ? " or --heads"
                                              : " or --dim");
    return text;
}

/* ---- Rows ---- */

const char *table_check(const table *t) {
    return t->method->check != NULL ? t->method->check(t) : NULL;
}

const char *table_open(table *t) {
    t->n_planes = 1;
    t->n_rows = (int64_t)t->value[OPTION_LENGTH];
    t->n_columns = t->method->kind == METHOD_BIAS ? t->n_rows : (int64_t)t->value[OPTION_DIM];
    t->first = (int64_t)t->value[OPTION_START];
    posenc_status status = t->method->open(t);
    if (status == POSENC_ERR_MEMORY)
        return method_text("there is not enough memory: %s%s", table_shrink(t, 0),
                           method_takes(t->method, OPTION_TRAINED) ? " or --trained" : "");
    return status == POSENC_OK ? NULL
                               : method_text("one of these options is out of range: %s", posenc_status_string(status));
}

void table_close(table *t) {
    t->method->close(t);
}

int64_t table_count_rows(const table *t) {
    return t->n_planes * t->n_rows;
}

posenc_status table_read(const table *t, int64_t row, int64_t n, float *values) {
    posenc_status status = POSENC_OK;
    for (int64_t done = 0; done < n && status == POSENC_OK;) {
        int64_t plane_end = t->n_rows - (row + done) % t->n_rows; /* a block stays in its plane */
        int64_t block = n - done < TABLE_BLOCK ? n - done : TABLE_BLOCK;
        if (block > plane_end)
            block = plane_end;
        status = t->method->fill(t, row + done, block, values + done * t->n_columns);
        done += block;
    }
    return status;
}
