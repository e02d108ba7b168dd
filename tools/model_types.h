/* What a config.json does not say because its model_type implies it. */
#ifndef POSENC_TOOLS_MODEL_TYPES_H
#define POSENC_TOOLS_MODEL_TYPES_H

#include "model.h"

typedef struct model_type {
    const char *name;
    position_kind kind;
    posenc_rope_layout layout;
    double rotated_part; /* of head_dim, where the file is silent */
} model_type;

static const model_type model_types[] = {
    {"llama", POSITION_ROPE, POSENC_ROPE_HALF, 1.0},
    {"mistral", POSITION_ROPE, POSENC_ROPE_HALF, 1.0},
    {"gemma", POSITION_ROPE, POSENC_ROPE_HALF, 1.0},
    {"falcon", POSITION_ROPE, POSENC_ROPE_HALF, 1.0}, /* unless "alibi" is true */
    {"gpt_neox", POSITION_ROPE, POSENC_ROPE_HALF, 0.25},
    {"gptj", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 1.0},
    {"codegen", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 1.0},
    {"chatglm", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 0.5},
    {"glm", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 0.5},
    {"glm4", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 0.5},
    {"cohere", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 1.0},
    {"cohere2", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 1.0},
    {"deepseek_v2", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 1.0},
    {"deepseek_v3", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 1.0},
    {"llama4_text", POSITION_ROPE, POSENC_ROPE_INTERLEAVED, 1.0},
    {"bloom", POSITION_ALIBI, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"mpt", POSITION_LEARNED, POSENC_ROPE_LAYOUT_UNSET, 0.0}, /* unless attn_config says alibi or rope */
    {"gpt2", POSITION_LEARNED, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"gpt_bigcode", POSITION_LEARNED, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"opt", POSITION_LEARNED, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"bert", POSITION_LEARNED, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"roberta", POSITION_LEARNED, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"marian", POSITION_SINUSOIDAL, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"m2m_100", POSITION_SINUSOIDAL, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"whisper", POSITION_SINUSOIDAL, POSENC_ROPE_LAYOUT_UNSET, 0.0},
    {"t5", POSITION_RELATIVE_BUCKETS, POSENC_ROPE_LAYOUT_UNSET, 0.0},
};

#endif
