/* SPDX-License-Identifier: MIT */
/* Writes the nodes that scripts/test-ggml times, in the form that test-backend-ops reads: numbers of operation and
 * type, extents, parameters, sources with extents and strides, a name. The numbers are those of the headers. */
#include <ggml.h>
#include <stdio.h>
#include <string.h>

static void print_extents(enum ggml_type type, const int64_t *ne) {
    size_t nb = ggml_type_size(type);
    printf(" %d", type);
    for (int i = 0; i < 4; i++)
        printf(" %lld", (long long)ne[i]);
    for (int i = 0; i < 4; i++) {
        printf(" %zu", nb);
        nb *= (size_t)ne[i];
    }
}

static void print_node(enum ggml_op op, enum ggml_type type, const int64_t *ne, const int32_t *params) {
    printf("%d %d %lld %lld %lld %lld 16", op, type, (long long)ne[0], (long long)ne[1], (long long)ne[2],
           (long long)ne[3]);
    for (int i = 0; i < 16; i++)
        printf(" %d", params[i]);
}

static int32_t bits(float value) {
    int32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static void rope(const char *name, enum ggml_type type, int mode, int64_t head_dim, int64_t n_heads, int64_t n_tokens) {
    int64_t ne[4] = {head_dim, n_heads, n_tokens, 1}, positions[4] = {n_tokens, 1, 1, 1};
    int32_t params[16] = {0, (int32_t)head_dim, mode,        0,         4096, bits(10000.0f), bits(1.0f),
                          0, bits(1.0f),        bits(32.0f), bits(1.0f)};
    print_node(GGML_OP_ROPE, type, ne, params);
    printf(" 2");
    print_extents(type, ne);
    print_extents(GGML_TYPE_I32, positions);
    printf(" %s\n", name);
}

static void soft_max(const char *name, int64_t n_keys, int64_t n_queries, int64_t n_heads, float max_bias) {
    int64_t ne[4] = {n_keys, n_queries, n_heads, 1}, mask[4] = {n_keys, n_queries, 1, 1};
    int32_t params[16] = {bits(0.0883883f), bits(max_bias)};
    print_node(GGML_OP_SOFT_MAX, GGML_TYPE_F32, ne, params);
    printf(" 2");
    print_extents(GGML_TYPE_F32, ne);
    print_extents(GGML_TYPE_F16, mask);
    printf(" %s\n", name);
}

int main(void) {
    rope("neox_f32_prefill", GGML_TYPE_F32, GGML_ROPE_TYPE_NEOX, 128, 32, 512);
    rope("neox_f16_prefill", GGML_TYPE_F16, GGML_ROPE_TYPE_NEOX, 128, 32, 512);
    rope("normal_f32_prefill", GGML_TYPE_F32, GGML_ROPE_TYPE_NORMAL, 128, 32, 512);
    rope("normal_f16_prefill", GGML_TYPE_F16, GGML_ROPE_TYPE_NORMAL, 128, 32, 512);
    rope("neox_f32_decode", GGML_TYPE_F32, GGML_ROPE_TYPE_NEOX, 128, 32, 1);
    rope("normal_f32_decode", GGML_TYPE_F32, GGML_ROPE_TYPE_NORMAL, 128, 32, 1);
    soft_max("soft_max_mask_prefill", 1024, 128, 32, 0.0f);
    soft_max("soft_max_mask_long", 8192, 32, 32, 0.0f);
    soft_max("soft_max_mask_decode", 4096, 1, 32, 0.0f);
    soft_max("soft_max_alibi_prefill", 1024, 128, 32, 8.0f);
    return 0;
}
