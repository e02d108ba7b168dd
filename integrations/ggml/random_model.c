/* SPDX-License-Identifier: MIT */
/* Writes a GGUF file of llama's architecture with random weights, for llama-bench: attention as in Llama 3.1 8B (32
 * heads, 8 of keys and values, 128 channels), narrow elsewhere, so that attention shows in the times. usage:
 * ggml-random-model FILE */
#include <ggml.h>
#include <gguf.h>
#include <stdint.h>
#include <stdio.h>

#include "random.h"

enum {
    WIDTH = 1024,
    HEAD_DIM = 128,
    HEADS = 32,
    KV_HEADS = 8,
    INNER = 2048,
    LAYERS = 2,
    VOCABULARY = 512,
    CONTEXT = 32768
};

/* Weights of +-0.05. */
static void fill(struct ggml_tensor *tensor) {
    static random_state state = {1};
    for (int64_t i = 0; i < ggml_nelements(tensor); i++) {
        float value = (float)random_symmetric(&state, 0.05);
        if (tensor->type == GGML_TYPE_F16)
            ((ggml_fp16_t *)tensor->data)[i] = ggml_fp32_to_fp16(value);
        else
            ((float *)tensor->data)[i] = 1.0f;
    }
}

static void add_matrix(struct gguf_context *file, struct ggml_context *ctx, const char *name, int64_t in, int64_t out) {
    struct ggml_tensor *tensor = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, in, out);
    ggml_set_name(tensor, name);
    fill(tensor);
    gguf_add_tensor(file, tensor);
}

/* Ones. */
static void add_norm(struct gguf_context *file, struct ggml_context *ctx, const char *name) {
    struct ggml_tensor *tensor = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, WIDTH);
    ggml_set_name(tensor, name);
    fill(tensor);
    gguf_add_tensor(file, tensor);
}

static void add_layer(struct gguf_context *file, struct ggml_context *ctx, int layer) {
    static const struct {
        const char *name;
        int64_t in, out;
    } matrices[] = {
        {"attn_q", WIDTH, HEADS * HEAD_DIM},
        {"attn_k", WIDTH, KV_HEADS * HEAD_DIM},
        {"attn_v", WIDTH, KV_HEADS * HEAD_DIM},
        {"attn_output", HEADS * HEAD_DIM, WIDTH},
        {"ffn_gate", WIDTH, INNER},
        {"ffn_up", WIDTH, INNER},
        {"ffn_down", INNER, WIDTH},
    };
    static const char *norms[] = {"attn_norm", "ffn_norm"};
    char name[64];
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, matrices[i].name);
        add_matrix(file, ctx, name, matrices[i].in, matrices[i].out);
    }
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, norms[i]);
        add_norm(file, ctx, name);
    }
}

static void add_numbers(struct gguf_context *file) {
    static const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {
        {"llama.vocab_size", VOCABULARY},
        {"llama.context_length", CONTEXT},
        {"llama.embedding_length", WIDTH},
        {"llama.block_count", LAYERS},
        {"llama.feed_forward_length", INNER},
        {"llama.attention.head_count", HEADS},
        {"llama.attention.head_count_kv", KV_HEADS},
        {"llama.attention.key_length", HEAD_DIM},
        {"llama.attention.value_length", HEAD_DIM},
        {"llama.rope.dimension_count", HEAD_DIM},
    };
    gguf_set_val_str(file, "general.architecture", "llama");
    gguf_set_val_str(file, "general.name", "random");
    gguf_set_val_str(file, "tokenizer.ggml.model", "no_vocab");
    gguf_set_val_f32(file, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_set_val_f32(file, "llama.rope.freq_base", 500000.0f);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        gguf_set_val_u32(file, numbers[i].key, numbers[i].value);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    struct ggml_init_params params = {.mem_size = (size_t)256 << 20};
    struct ggml_context *ctx = ggml_init(params);
    struct gguf_context *file = gguf_init_empty();
    add_numbers(file);
    add_matrix(file, ctx, "token_embd.weight", WIDTH, VOCABULARY);
    add_norm(file, ctx, "output_norm.weight");
    add_matrix(file, ctx, "output.weight", WIDTH, VOCABULARY);
    for (int layer = 0; layer < LAYERS; layer++)
        add_layer(file, ctx, layer);
    int is_written = gguf_write_to_file(file, argv[1], false);
    gguf_free(file);
    ggml_free(ctx);
    return is_written ? 0 : 1;
}
