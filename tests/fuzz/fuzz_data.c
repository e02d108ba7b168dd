/* SPDX-License-Identifier: MIT */
/* Calls on data: the first byte chooses a family, the others are a random call of it, valid or nearly so. Tiers, parts
 * and the whole are compared bit for bit, and what they give with a plain loop in double. */
#include "data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const families[])(void) = {
        data_attention, data_softmax,  data_rope,     data_rope_tasks, data_attention, data_softmax,
        data_merge,     data_encoding, data_relative, data_sparse,     data_ragged,
    };
    enum { N_FAMILIES = sizeof families / sizeof families[0] };
    if (size < 2)
        return -1;
    data_open(data + 1, size - 1);
    families[data[0] % N_FAMILIES]();
    return 0;
}
