/* SPDX-License-Identifier: MIT */
/* A JSON file and its fields, which go by several names. */
#ifndef POSENC_TOOLS_JSON_H
#define POSENC_TOOLS_JSON_H

#include <cJSON.h>

#include "model_reader.h"

/* The object in the file, to be freed with cJSON_Delete; a failure, and perhaps NULL, if there is none. */
cJSON *json_read(reader *r);

/* Names, the first that is there counts. */
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The field, or NULL where there is none but null. */
const cJSON *json_find(const cJSON *object, const char *const *names);

/* The fallback, "" or 0 where the field is missing; out of range or of another type is a failure. */
double json_number(reader *r, const cJSON *object, const char *const *names, double fallback, double low, double high);
const char *json_string(const cJSON *object, const char *const *names);
int json_is_true(const cJSON *object, const char *name);

/* 1 if a field of that name speaks of RoPE. */
int json_is_of_rope(const char *name);

/* A count, from 1 to 2^20; 0 where it is not stated. */
int64_t json_count(reader *r, const cJSON *object, const char *const *names);

#endif
