/* SPDX-License-Identifier: MIT */
#include "model_types.h"

#include <string.h>

/* As the model and configuration code of the transformers library has it. */
static const model_type json_types[] = {
    {"llama mistral mistral3 ministral ministral3 qwen2 qwen2_moe phi3 starcoder2 olmo olmo2 granite granitemoe dbrx",
     .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4},
    {"granitemoehybrid", .kind = POSITION_NONE, /* unless it states "rope" */
     .layout = POSENC_ROPE_HALF, .base = 1e4},
    {"jamba nemotron_h", .kind = POSITION_NONE}, /* some files have a rope_theta, the classes do not look at it */
    {"falcon", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4,
     .bias_is_scaled = 1}, /* unless "alibi" is true it has no bias */
    {"mixtral qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF,
     .base = 1e6},
    {"gpt_oss", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 150000.0, .head_dim = 64},
    {"seed_oss", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .head_dim = 128},
    {"smollm3", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 2e6, .layers = {.unrotated_every = 4}},
    {"qwen3", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .head_dim = 128, .has_qk_norm = 1},
    {"qwen3_moe", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .has_qk_norm = 1},
    {"qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF,
     .base = 5e6, .head_dim = 128, .has_qk_norm = 1, .axes = POSENC_AXES_IMROPE, .sections = {24.0, 20.0, 20.0}},
    {"gemma gemma2", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .head_dim = 256},
    {"gemma3 gemma3_text", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e6, .local_base = 1e4,
     .hidden_size = 2304, .n_heads = 8, .n_kv_heads = 4, .head_dim = 256, .n_layers = 26, .max_position = 131072,
     .layers = {.full_every = 6}, .has_qk_norm = 1},
    {"gemma4 gemma4_text", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e6, .local_base = 1e4,
     .hidden_size = 2304, .n_heads = 8, .n_kv_heads = 4, .head_dim = 256, .n_layers = 30, .max_position = 131072,
     .full_head_dim = 512, .full_proportion = 0.25, .layers = {.full_every = 6}, .has_qk_norm = 1},
    {"modernbert", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 160000.0, .local_base = 1e4,
     .hidden_size = 768, .n_heads = 12, .n_layers = 22, .max_position = 8192,
     .layers = {.full_every = 3, .full_comes_first = 1}},
    {"phi", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .rotated_part = 0.5},
    {"glm4_moe", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .rotated_part = 0.5,
     .states_qk_norm = 1},
    {"persimmon", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 25000.0, .rotated_part = 0.5},
    {"gpt_neox stablelm", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .rotated_part = 0.25},
    {"cohere2", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED, .base = 1e4,
     .layers = {.full_every = 4, .only_windows_rotate = 1}},
    {"exaone4", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .base = 1e4, .has_qk_norm = 1,
     .layers = {.full_every = 4, .only_windows_rotate = 1, .only_if_windows = 1}},
    {"gptj codegen cohere", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED, .base = 1e4},
    {"llama4_text", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED, .base = 5e5, .head_dim = 128,
     .layers = {.unrotated_every = 4}},
    {"chatglm", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED, .base = 1e4, .rotated_part = 0.5},
    {"glm glm4", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED, .base = 1e4, .rotated_part = 0.5,
     .head_dim = 128},
    {"deepseek_v2 deepseek_v3 kimi_k2 glm4_moe_lite", .kind = POSITION_ROPE, .layout = POSENC_ROPE_DEINTERLEAVE,
     .base = 1e4},
    {"bloom", .kind = POSITION_ALIBI},
    {"mpt gpt2 gpt_bigcode opt bert roberta", .kind = POSITION_LEARNED}, /* mpt: unless attn_config says otherwise */
    {"marian m2m_100 whisper", .kind = POSITION_SINUSOIDAL},
    {"t5 mt5 umt5", .kind = POSITION_RELATIVE_BUCKETS},
};

/* As llama.cpp has it, which converts weights where the layouts of the two differ. */
static const model_type gguf_types[] = {
    {"llama llada deci internlm2 minicpm xverse command-r olmo arctic deepseek deepseek2 plm "
     "chatglm glm4 chameleon bailingmoe neo-bert arcee ernie4_5 ernie4_5-moe mistral3",
     .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED},
    {"baichuan", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED, .alibi_layers = 40}, /* 13B; 7B rotates */
    {"granite granitemoe granitehybrid", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED,
     .finetuned_tells = 1},
    {"cohere2", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED,
     .layers = {.full_every = 4, .only_windows_rotate = 1}},
    {"llama4 smollm3", .kind = POSITION_ROPE, .layout = POSENC_ROPE_INTERLEAVED, .layers = {.unrotated_every = 4}},
    {"falcon falcon-h1 grok dbrx nomic-bert nomic-bert-moe jina-bert-v3 stablelm bitnet qwen qwen2 "
     "qwen2moe qwen2vl qwen3 qwen3moe dream llada-moe olmoe phi2 phi3 phimoe plamo plamo2 plamo3 gemma gemma2 "
     "starcoder2 openelm gptneox codeshell orion nemotron exaone minicpm3 bailingmoe2 dots1 "
     "hunyuan-moe hunyuan-dense gpt-oss lfm2 lfm2moe glm4moe seed_oss grovemoe apertus minimax-m2",
     .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF},
    {"gemma3 gemma-embedding", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .local_base = 1e4,
     .layers = {.full_every = 6}},
    {"gemma3n", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .local_base = 1e4, .layers = {.full_every = 5}},
    {"exaone4", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF,
     .layers = {.full_every = 4, .only_windows_rotate = 1, .only_if_windows = 1}},
    {"smallthinker", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF,
     .layers = {.full_every = 4, .full_comes_first = 1, .only_windows_rotate = 1, .only_if_windows = 1}},
    {"olmo2", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, /* with windows it is OLMo 3 */
     .layers = {.full_every = 4, .only_if_windows = 1, .windows_unscaled = 1}},
    {"modern-bert", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF,
     .layers = {.full_every = 3, .full_comes_first = 1}},
    {"qwen3vl qwen3vlmoe", .kind = POSITION_ROPE, .layout = POSENC_ROPE_HALF, .axes = POSENC_AXES_IMROPE_GGML},
    {"bloom refact jina-bert-v2", .kind = POSITION_ALIBI},
    {"mpt gpt2 bert starcoder", .kind = POSITION_LEARNED}, /* mpt: unless there is an attention.max_alibi_bias */
    {"t5 t5encoder", .kind = POSITION_RELATIVE_BUCKETS},
};

static int has_word(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = words; n > 0 && (at = strstr(at, word)) != NULL; at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return strchr(word, ' ') == NULL;
    return 0;
}

static const model_type *find(const model_type *types, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (has_word(types[i].names, name))
            return &types[i];
    return NULL;
}

const model_type *model_type_of_json(const char *name) {
    return find(json_types, sizeof json_types / sizeof json_types[0], name);
}

const model_type *model_type_of_gguf(const char *name) {
    return find(gguf_types, sizeof gguf_types / sizeof gguf_types[0], name);
}

/* ---- Layers ---- */

const char *layer_kind(const layer_pattern *p, int64_t i) {
    if (p->full_every == 0)
        return "";
    return i % p->full_every == (p->full_comes_first ? 0 : p->full_every - 1) ? "full_attention" : "sliding_attention";
}

int layer_rotates(const layer_pattern *p, int64_t i, const char *kind) {
    if (has_word("mamba linear_attention conv recurrent", kind)) /* there are no Q and K */
        return 0;
    if (p->only_windows_rotate && strcmp(kind, "sliding_attention") != 0)
        return 0;
    if (p->attention_every != 0 && (i + 1) % p->attention_every != 0)
        return 0;
    return p->unrotated_every == 0 || (i + 1) % p->unrotated_every != 0;
}

int64_t layers_of_kind(const layer_pattern *p, int64_t n, const char *kind) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *own = layer_kind(p, i);
        count += layer_rotates(p, i, own) && (kind[0] == '\0' || strcmp(own, kind) == 0);
    }
    return count;
}
