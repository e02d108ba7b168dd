/* SPDX-License-Identifier: MIT */
/* Fused attention: steps of a call for its `math` and its types: float32, integers or bf16. */
#include "attention/attention.h"

#include "core/view.h"

static const posenc_attention_steps in_float32 = {posenc_attention_multiply_floats, posenc_attention_sum_floats, 1, 1};
static const posenc_attention_steps in_bf16 = {posenc_attention_multiply_bf16, posenc_attention_sum_bf16,
                                               POSENC_BF16_BLOCK, 1};

/* Integers replace float32 for quantised values, and for quantised keys without RoPE on load. */
static void choose_integers(posenc_attention_call *call) {
    const posenc_attention_args *args = call->args;
    int are_keys = posenc_block_bytes(args->k.dtype) > 0 && args->k_rope == NULL;
    int are_values = posenc_block_bytes(args->v.dtype) > 0;
    if (are_keys) {
        call->prepare = posenc_attention_quantise_queries;
        call->steps.multiply = posenc_attention_multiply_quants;
    }
    if (are_values) {
        call->steps.sum = posenc_attention_sum_quants;
        call->steps.value_group = POSENC_QUANT_GROUP;
    }
    call->n_exact = are_keys || are_values ? POSENC_KEYS_EXACT : 0;
}

void posenc_attention_choose_steps(posenc_attention_call *call) {
    call->steps = call->exact = in_float32;
    switch (call->args->math) {
    case POSENC_MATH_F32: break;
    case POSENC_MATH_INT16: choose_integers(call); break;
    case POSENC_MATH_BF16:
    case POSENC_MATH_BF16X2:
    case POSENC_MATH_BF16X3:
        call->prepare = posenc_attention_round_queries;
        call->steps = in_bf16;
        /* BF16X3 adds second parts after all first parts of a key block: its values come in one run. */
        call->steps.sums_in_runs = call->args->math != POSENC_MATH_BF16X3 || call->args->v.dtype == POSENC_BF16;
        break;
    }
}
