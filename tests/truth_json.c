/* SPDX-License-Identifier: MIT */
#include "truth_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Reading ---- */

double number(const cJSON *item) {
    if (cJSON_IsString(item))
        return strcmp(item->valuestring, "-inf") == 0 ? -INFINITY : NAN;
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

const cJSON *input(const example *e, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(e->inputs, name);
    if (item == NULL)
        fail_msg("%s: no input %s", e->where, name);
    return item;
}

double value(const example *e, const char *name) {
    return number(input(e, name));
}

int is(const example *e, const char *name, const char *text) {
    return strcmp(input(e, name)->valuestring, text) == 0;
}

int has(const example *e, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(e->inputs, name);
    return item != NULL && !cJSON_IsNull(item) && !(cJSON_IsNumber(item) && item->valuedouble == 0.0);
}

static int flatten(const cJSON *item, float *x, int n) {
    if (!cJSON_IsArray(item)) {
        assert_true(n < MAX_VALUES);
        x[n] = (float)number(item);
        return n + 1;
    }
    for (const cJSON *child = item->child; child != NULL; child = child->next)
        n = flatten(child, x, n);
    return n;
}

int floats(const example *e, const char *name, float *x) {
    return flatten(input(e, name), x, 0);
}

static int64_t flatten_integers(const cJSON *item, int32_t *x, int64_t n) {
    if (!cJSON_IsArray(item)) {
        assert_true(n < MAX_POSITIONS);
        x[n] = (int32_t)number(item);
        assert_true(x[n] == number(item)); /* float would lose large ones */
        return n + 1;
    }
    for (const cJSON *child = item->child; child != NULL; child = child->next)
        n = flatten_integers(child, x, n);
    return n;
}

int64_t integers(const example *e, const char *name, int32_t *x) {
    return flatten_integers(input(e, name), x, 0);
}

int64_t width(const example *e, const char *name) {
    const cJSON *item = input(e, name);
    while (cJSON_IsArray(item->child))
        item = item->child;
    return cJSON_GetArraySize(item);
}

int match(const example *e, const float *got, int first, int n) {
    assert_true(first + n <= e->n_expected);
    for (int i = 0; i < n; i++)
        if (isinf(e->expected[first + i]))
            assert_true((double)got[i] == e->expected[first + i]);
        else
            truth_close((double)got[i], e->expected[first + i], TRUTH_TOLERANCE, "%s, value %d", e->where, first + i);
    return n;
}

/* ---- Files ---- */

static cJSON *read_json(const char *file) {
    static char text[1 << 16];
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.json", TRUTH_VECTORS, file);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("%s cannot be read", path);
    size_t n = fread(text, 1, sizeof text - 1, f);
    assert_true(feof(f));
    fclose(f);
    text[n] = '\0';
    cJSON *json = cJSON_Parse(text);
    if (json == NULL)
        fail_msg("%s is not JSON", path);
    return json;
}

static int check_case(const vector_file *file, const cJSON *c, int index) {
    char where[100];
    snprintf(where, sizeof where, "%s, case %d", file->name, index);
    example e = {.where = where, .inputs = cJSON_GetObjectItem(c, "inputs")};
    for (const cJSON *v = cJSON_GetObjectItem(c, "expected")->child; v != NULL; v = v->next) {
        assert_true(e.n_expected < MAX_VALUES);
        e.expected[e.n_expected++] = number(v);
    }
    return file->check(&e);
}

void check_vector_files(const vector_file *files, size_t n_files, int n_cases, int n_values, int n_left_out) {
    for (int tier = -1; truth_next_tier(&tier);) {
        int cases = 0, values = 0, left_out = 0;
        for (size_t k = 0; k < n_files; k++) {
            cJSON *json = read_json(files[k].name);
            int checked = 0, index = 0;
            for (const cJSON *c = cJSON_GetObjectItem(json, "cases")->child; c != NULL; c = c->next, index++) {
                int n = check_case(&files[k], c, index);
                values += n;
                checked += n > 0;
                left_out += n == 0;
            }
            if (checked == 0)
                fail_msg("%s: no case was checked", files[k].name);
            cases += checked;
            cJSON_Delete(json);
        }
        print_message("%s: %d cases, %d values compared, %d cases left out\n", posenc_isa_name(posenc_isa()), cases,
                      values, left_out);
        assert_int_equal(cases, n_cases);
        assert_int_equal(values, n_values);
        assert_int_equal(left_out, n_left_out);
    }
}
