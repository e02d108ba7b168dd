/* SPDX-License-Identifier: MIT */
/* What the parts of the reader of config.json share. */
#ifndef POSENC_TOOLS_MODEL_JSON_H
#define POSENC_TOOLS_MODEL_JSON_H

#include "json.h"
#include "model_types.h"

/* The parts of the file, and what its model_type implies. */
typedef struct json_model {
    reader *r;
    model_config *config;
    const cJSON *text, *attention; /* text: what describes the language model, often the whole */
    const model_type *type;        /* of an unknown model: all 0 */
} json_model;

/* Once the heads are known: the tables, and which channels of Q and K they rotate. */
void model_json_read_rope(const json_model *m);

#endif
