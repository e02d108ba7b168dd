/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* No config.json is near this large; weights are. */
#define LARGEST_FILE (16L << 20)

/* ---- The file ---- */

static char *read_text(reader *r) {
    struct stat status = {.st_size = 0};
    if (stat(r->path, &status) != 0 || status.st_size > LARGEST_FILE) {
        reader_fail(r, "too large for a config.json, and no GGUF file; give the small JSON file beside the weights");
        return NULL;
    }
    FILE *file = fopen(r->path, "rb");
    char *text = malloc((size_t)status.st_size + 1);
    size_t n = file != NULL && text != NULL ? fread(text, 1, (size_t)status.st_size, file) : 0;
    if (file == NULL || text == NULL || ferror(file)) {
        reader_fail(r, "cannot be read: %s", strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[n] = '\0';
    }
    if (file != NULL)
        fclose(file);
    return text;
}

/* Line and column, from 1, of a place in the text. */
static void place_in(const char *text, const char *at, int *line, int *column) {
    *line = *column = 1;
    for (; text < at; text++)
        if (*text == '\n') {
            ++*line;
            *column = 1;
        } else {
            ++*column;
        }
}

static cJSON *parse(reader *r, const char *text) {
    const char *end = text;
    cJSON *json = cJSON_ParseWithOpts(text, &end, 1);
    if (json == NULL) {
        int line, column;
        place_in(text, end, &line, &column);
        if (*end == '\0')
            reader_fail(r, "the JSON ends too early, at line %d, column %d; fetch the file again", line, column);
        else
            reader_fail(r, "no valid JSON near line %d, column %d; correct it there, or fetch the file again", line,
                        column);
    } else if (!cJSON_IsObject(json)) {
        reader_fail(r, "the JSON is no object; give a model's config.json");
    }
    return json;
}

cJSON *json_read(reader *r) {
    char *text = read_text(r);
    cJSON *json = text != NULL ? parse(r, text) : NULL;
    free(text);
    return json;
}

/* ---- Fields, which go by several names ---- */

const cJSON *json_find(const cJSON *object, const char *const *names) {
    for (; *names != NULL; names++) {
        const cJSON *field = cJSON_GetObjectItemCaseSensitive(object, *names);
        if (field != NULL && !cJSON_IsNull(field))
            return field;
    }
    return NULL;
}

double json_number(reader *r, const cJSON *object, const char *const *names, double fallback, double low, double high) {
    const cJSON *field = json_find(object, names);
    if (field == NULL)
        return fallback;
    if (cJSON_IsArray(field)) /* OpenELM's heads, Swin's */
        reader_fail(r, "\"%s\" is a list, and posenc model reads one number for all layers", field->string);
    else if (!cJSON_IsNumber(field))
        reader_fail(r, "\"%s\" is no number; correct it", field->string);
    else if (!(field->valuedouble >= low && field->valuedouble <= high))
        reader_fail(r, "\"%s\" is %g, which makes no sense; expected %g .. %g", field->string, field->valuedouble, low,
                    high);
    else
        return field->valuedouble;
    return fallback;
}

int64_t json_count(reader *r, const cJSON *object, const char *const *names) {
    double value = json_number(r, object, names, 0.0, 1.0, 0x1p20);
    if (value != floor(value))
        reader_fail(r, "\"%s\" is %g, but must be a whole number", json_find(object, names)->string, value);
    return (int64_t)value;
}

const char *json_string(const cJSON *object, const char *const *names) {
    const cJSON *field = json_find(object, names);
    return cJSON_IsString(field) ? field->valuestring : "";
}

int json_is_true(const cJSON *object, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

int json_is_of_rope(const char *name) {
    return strstr(name, "rope") != NULL || strstr(name, "rotary") != NULL;
}
