/* SPDX-License-Identifier: MIT */
/* Finds the arguments of a node in op_params. ggml's headers do not say where they are, and the place may change
 * between versions. So the plugin, when it is loaded, lets ggml make a node of each operation and looks where its
 * arguments are. */
#include <string.h>

#include "ops.h"

/* Ordinary extents, which no version of ggml refuses. */
enum { CHANNELS = 64, TOKENS = 64, HEADS = 2 };

/* Inputs of a node that the plugin reads: all words of op_params, and all sources. */
typedef struct arguments {
    int32_t words[OP_WORDS];
    const struct ggml_tensor *sources[GGML_MAX_SRC];
} arguments;

static int32_t word_of(float value) {
    int32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static bool has(const struct ggml_tensor *node, enum ggml_op op, const arguments *expected) {
    for (int i = 0; i < GGML_MAX_SRC; i++)
        if (node->src[i] != expected->sources[i])
            return false;
    return node->op == op && memcmp(node->op_params, expected->words, sizeof expected->words) == 0;
}

static struct ggml_tensor *new_scores(struct ggml_context *ctx) {
    return ggml_new_tensor_3d(ctx, GGML_TYPE_F32, TOKENS, TOKENS, HEADS);
}

static struct ggml_tensor *new_mask(struct ggml_context *ctx) {
    return ggml_new_tensor_2d(ctx, GGML_TYPE_F16, TOKENS, TOKENS);
}

static struct ggml_tensor *new_sinks(struct ggml_context *ctx) {
    return ggml_new_tensor_1d(ctx, GGML_TYPE_F32, HEADS);
}

static bool rope_is_known(struct ggml_context *ctx, enum ggml_op op) {
    int sections[GGML_MROPE_SECTIONS] = {5, 6, 7, 8};
    struct ggml_tensor *x = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, CHANNELS, HEADS, TOKENS);
    struct ggml_tensor *positions = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, GGML_MROPE_SECTIONS * TOKENS);
    struct ggml_tensor *factors = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, CHANNELS / 2);
    struct ggml_tensor *node = (op == GGML_OP_ROPE ? ggml_rope_multi : ggml_rope_multi_back)(
        ctx, x, positions, factors, CHANNELS, sections, GGML_ROPE_TYPE_MROPE, 4096, 1e4f, 0.5f, 0.25f, 1.5f, 32.0f,
        2.0f);
    const arguments expected = {
        {0, CHANNELS, GGML_ROPE_TYPE_MROPE, 0, 4096, word_of(1e4f), word_of(0.5f), word_of(0.25f), word_of(1.5f),
         word_of(32.0f), word_of(2.0f), 5, 6, 7, 8},
        {x, positions, factors},
    };
    return has(node, op, &expected);
}

static bool soft_max_is_known(struct ggml_context *ctx) {
    struct ggml_tensor *x = new_scores(ctx), *mask = new_mask(ctx), *sinks = new_sinks(ctx);
    struct ggml_tensor *node = ggml_soft_max_ext(ctx, x, mask, 0.5f, 8.0f);
    ggml_soft_max_add_sinks(node, sinks);
    const arguments expected = {{word_of(0.5f), word_of(8.0f)}, {x, mask, sinks}};
    return has(node, GGML_OP_SOFT_MAX, &expected);
}

static bool diag_mask_inf_is_known(struct ggml_context *ctx) {
    struct ggml_tensor *x = new_scores(ctx), *node = ggml_diag_mask_inf(ctx, x, 7);
    const arguments expected = {{7}, {x}};
    return has(node, GGML_OP_DIAG_MASK_INF, &expected);
}

static bool flash_attn_is_known(struct ggml_context *ctx) {
    struct ggml_tensor *q = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, CHANNELS, TOKENS, HEADS);
    struct ggml_tensor *k = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, CHANNELS, TOKENS, HEADS);
    struct ggml_tensor *v = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, CHANNELS, TOKENS, HEADS);
    struct ggml_tensor *mask = new_mask(ctx), *sinks = new_sinks(ctx);
    struct ggml_tensor *node = ggml_flash_attn_ext(ctx, q, k, v, mask, 0.5f, 8.0f, 30.0f);
    ggml_flash_attn_ext_add_sinks(node, sinks);
    const arguments expected = {{word_of(0.5f), word_of(8.0f), word_of(30.0f)}, {q, k, v, mask, sinks}};
    return has(node, GGML_OP_FLASH_ATTN_EXT, &expected);
}

bool arguments_are_known(enum ggml_op op) {
    struct ggml_context *ctx = ggml_init((struct ggml_init_params){16 * ggml_tensor_overhead(), NULL, true});
    bool are_known = false;
    switch (op) {
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK: are_known = rope_is_known(ctx, op); break;
    case GGML_OP_SOFT_MAX: are_known = soft_max_is_known(ctx); break;
    case GGML_OP_DIAG_MASK_INF: are_known = diag_mask_inf_is_known(ctx); break;
    case GGML_OP_FLASH_ATTN_EXT: are_known = flash_attn_is_known(ctx); break;
    default: break;
    }
    ggml_free(ctx);
    return are_known;
}
