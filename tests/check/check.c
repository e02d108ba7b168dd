/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <string.h>

#include "hash.h"

const check_kernel check_kernels[KERNEL_COUNT] = {
#define KERNEL(name, args) [KERNEL_##name] = {#name, sweep_##name, &bench_##name},
#include "kernels/kernels.def"
#undef KERNEL
};

kernel_id check_kernel_by_name(const char *name) {
    int kernel = 0;
    while (kernel < KERNEL_COUNT && strcmp(check_kernels[kernel].name, name) != 0)
        kernel++;
    return (kernel_id)kernel;
}

/* ---- Hashes ---- */

enum { HASH_SEED = 1, HASH_SCALE = 4 }; /* one case in four: a few seconds for all kernels */

static uint64_t hash;

static void hash_element(const operand *o, size_t i) {
    const unsigned char *data = o->memory.data + i * o->element;
    switch (o->type) {
    case ELEMENT_F32: hash_floats(&hash, (const void *)data, 1); break;
    case ELEMENT_F64: hash_doubles(&hash, (const void *)data, 1); break;
    case ELEMENT_F16:
    case ELEMENT_BF16: hash_halves(&hash, (const void *)data, 1, (posenc_dtype)o->type); break;
    case ELEMENT_U16: hash_bytes(&hash, *(const uint16_t *)(const void *)data, 2); break;
    case ELEMENT_I32: hash_bytes(&hash, *(const uint32_t *)(const void *)data, 4); break;
    default: test_fail("%s: outputs of this type have no hash", o->name);
    }
}

/* 8-bit floats came later: public functions have their hashes, rope_f8 and attention_f8. */
static int has_float8(const kernel_call *call) {
    int n = 0;
    for (int k = 0; k < call->n_operands; k++)
        n += call->operands[k].type == ELEMENT_F8_E4M3;
    return n > 0;
}

static void hash_call(kernel_call *call, const posenc_kernels *variant, call_places places) {
    (void)places;
    if (has_float8(call))
        return;
    call_make(call, variant);
    for (int k = 0; k < call->n_operands; k++)
        for (size_t i = 0; i < call->operands[k].count; i++)
            if (operand_is_output(&call->operands[k], i))
                hash_element(&call->operands[k], i);
}

uint64_t check_hash(kernel_id kernel, const posenc_kernels *variant) {
    static const check_mode hashing = {hash_call, NULL};
    hash = HASH_START;
    test_start(HASH_SEED, HASH_SCALE);
    check_set_mode(&hashing);
    check_kernels[kernel].sweep(variant);
    check_set_mode(&check_compare);
    return hash;
}
