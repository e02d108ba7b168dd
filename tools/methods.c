/* Methods by name, and reading a table block by block. */
#include <string.h>

#include "method.h"
#include "progress.h"

const method *method_find(const char *name) {
    const method *const lists[] = {methods_rows, methods_bias};
    for (int i = 0; i < 2; i++)
        for (const method *m = lists[i]; m->name != NULL; m++)
            if (strcmp(m->name, name) == 0)
                return m;
    return NULL;
}

posenc_status table_open(table *t) {
    t->n_planes = 1;
    t->n_rows = (int64_t)t->value[OPTION_LENGTH];
    t->n_columns = t->method->kind == METHOD_BIAS ? t->n_rows : (int64_t)t->value[OPTION_DIM];
    t->first = (int64_t)t->value[OPTION_START];
    return t->method->open(t);
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
