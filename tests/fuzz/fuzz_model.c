/* SPDX-License-Identifier: MIT */
/* The command's readers: any bytes as a config.json or a GGUF file. What is accepted, RoPE must take. */
#define _GNU_SOURCE /* memfd_create */
#include <posenc/posenc.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../tools/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const model_config *config) {
    for (int t = 0; t < config->n_tables && config->kind == POSITION_ROPE; t++) {
        posenc_rope_params params = model_rope_params(&config->tables[t], &config->tables[t].q);
        posenc_rope *rope;
        if (posenc_rope_create(&params, &rope) != POSENC_OK)
            abort();
        posenc_rope_free(rope);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int file = -1;
    static char path[64], error[512];
    if (file < 0) {
        file = memfd_create("model", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    model_config config;
    error[0] = '\0';
    if (model_read(path, 0.0, &config, error, sizeof error)) {
        check(&config);
        model_free(&config);
    } else if (error[0] == '\0') {
        abort(); /* refused without a reason */
    }
    return 0;
}
