/* SPDX-License-Identifier: MIT */
/* Stands in for model_json.c in builds that found no cJSON. */
#include "model_reader.h"

void model_read_json(reader *r, model_config *config) {
    (void)config;
    reader_fail(r, "is no GGUF file, and this program was built without cJSON, which reads config.json; install "
                   "libcjson-dev and build again");
}
