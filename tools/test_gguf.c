/* SPDX-License-Identifier: MIT */
/* `posenc model` on GGUF files: small valid ones, and the same files damaged in every way that comes to mind. What is
 * wrong gets exit status 2 and one line on standard error; nothing ends in a crash. Usage: test_gguf POSENC */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gguf.h"

extern char **environ;

static const char *posenc;
static char directory[] = "/tmp/posenc-gguf-XXXXXX";
static char model_path[64], out_path[64], err_path[64];
static int failures, runs;

/* ---- Writing: a file in memory ---- */

typedef struct file {
    unsigned char bytes[8192];
    size_t size;
    size_t header; /* where keys and tensor infos end */
} file;

static void put(file *f, const void *bytes, size_t n) {
    memcpy(f->bytes + f->size, bytes, n);
    f->size += n;
}

static void put_number(file *f, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++, value >>= 8)
        f->bytes[f->size++] = (unsigned char)value;
}

static void put_text(file *f, const char *text) {
    put_number(f, strlen(text), 8);
    put(f, text, strlen(text));
}

static void put_key(file *f, const char *key, gguf_type type) {
    put_text(f, key);
    put_number(f, type, 4);
}

static void put_u32(file *f, const char *key, uint32_t value) {
    put_key(f, key, GGUF_U32);
    put_number(f, value, 4);
}

static void put_f32(file *f, const char *key, float value) {
    put_key(f, key, GGUF_F32);
    put(f, &value, 4);
}

static void put_string(file *f, const char *key, const char *value) {
    put_key(f, key, GGUF_STRING);
    put_text(f, value);
}

static void put_array(file *f, const char *key, gguf_type type, uint64_t n) {
    put_key(f, key, GGUF_ARRAY);
    put_number(f, type, 4);
    put_number(f, n, 8);
}

static void begin(file *f, uint32_t version, uint64_t n_tensors, uint64_t n_keys) {
    f->size = 0;
    put(f, "GGUF", 4);
    put_number(f, version, 4);
    put_number(f, n_tensors, 8);
    put_number(f, n_keys, 8);
}

static void put_tensor(file *f, const char *name, uint64_t n, uint32_t type, uint64_t offset) {
    put_text(f, name);
    put_number(f, 1, 4);
    put_number(f, n, 8);
    put_number(f, type, 4);
    put_number(f, offset, 8);
}

/* n_lists lists of n numbers 1, 2, 3 ... of float32, each on a line of 32 bytes. */
static void put_data(file *f, int n_lists, int n) {
    f->header = f->size;
    for (int list = 0; list < n_lists; list++) {
        while (f->size % 32 != 0)
            f->bytes[f->size++] = 0;
        for (int i = 0; i < n; i++) {
            float value = (float)(i + 1);
            put(f, &value, 4);
        }
    }
}

/* ---- The files ---- */

/* Every key that all architectures have; 6 of them. Heads of 8 channels. */
static void put_common(file *f, const char *architecture) {
    static const struct {
        const char *key;
        uint32_t value;
    } counts[] = {{"block_count", 2},
                  {"context_length", 4096},
                  {"embedding_length", 16},
                  {"attention.head_count", 2},
                  {"attention.head_count_kv", 1}};
    char key[128];
    put_string(f, "general.architecture", architecture);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        snprintf(key, sizeof key, "%s.%s", architecture, counts[i].key);
        put_u32(f, key, counts[i].value);
    }
}

enum { N_COMMON = 6 };

/* Values of every type, a vocabulary, and rope_freqs. */
static void llama(file *f) {
    begin(f, 3, 2, N_COMMON + 8);
    put_common(f, "llama");
    put_u32(f, "llama.rope.dimension_count", 8);
    put_f32(f, "llama.rope.freq_base", 500000.0f);
    put_string(f, "general.name",
               "a small\nLlama\x9b"
               "31m\xc2\x9b");
    put_array(f, "tokenizer.ggml.tokens", GGUF_STRING, 3);
    put_text(f, "a");
    put_text(f, "");
    put_text(f, "bcd");
    put_array(f, "tokenizer.ggml.scores", GGUF_F64, 2);
    put_number(f, 0, 8);
    put_number(f, 0, 8);
    put_key(f, "tokenizer.ggml.add_bos_token", GGUF_BOOL);
    put_number(f, 1, 1);
    put_key(f, "an.i16", GGUF_I16);
    put_number(f, 0x8000, 2);
    put_key(f, "llama.rope.wobble", GGUF_I8);
    put_number(f, 1, 1);
    put_tensor(f, "token_embd.weight", 4, 30, 1 << 20); /* of a type unknown here, and not in the file */
    put_tensor(f, "rope_freqs.weight", 4, 0, 0);
    put_data(f, 1, 4);
}

static void phi3(file *f) {
    begin(f, 2, 3, N_COMMON + 2);
    put_common(f, "phi3");
    put_u32(f, "phi3.rope.scaling.original_context_length", 512);
    put_f32(f, "phi3.rope.scaling.attn_factor", 1.25f);
    put_tensor(f, "rope_factors_long.weight", 4, 0, 32);
    put_tensor(f, "rope_factors_short.weight", 4, 0, 64);
    put_tensor(f, "blk.0.attn_q_norm.weight", 8, 0, 0);
    put_data(f, 3, 4);
}

static void gemma3(file *f) {
    begin(f, 3, 0, N_COMMON + 3);
    put_common(f, "gemma3");
    put_u32(f, "gemma3.block_count", 6); /* the last sees all keys */
    put_f32(f, "gemma3.rope.freq_base", 1e6f);
    put_f32(f, "gemma3.rope.scaling.factor", 8.0f);
    put_data(f, 0, 0);
}

static void deepseek2(file *f) {
    begin(f, 3, 0, N_COMMON + 8);
    put_common(f, "deepseek2");
    put_u32(f, "deepseek2.attention.key_length", 24);
    put_u32(f, "deepseek2.attention.key_length_mla", 12);
    put_u32(f, "deepseek2.attention.kv_lora_rank", 20);
    put_u32(f, "deepseek2.rope.dimension_count", 4);
    put_string(f, "deepseek2.rope.scaling.type", "yarn");
    put_f32(f, "deepseek2.rope.scaling.factor", 40.0f);
    put_u32(f, "deepseek2.rope.scaling.original_context_length", 4096);
    put_f32(f, "deepseek2.rope.scaling.yarn_log_multiplier", 0.1f);
    put_data(f, 0, 0);
}

/* M-RoPE of the sections first, second, second and 0. */
static void put_sections(file *f, const char *architecture, int first, int second) {
    char key[64];
    snprintf(key, sizeof key, "%s.rope.dimension_sections", architecture);
    begin(f, 3, 0, N_COMMON + 1);
    put_common(f, architecture);
    put_array(f, key, GGUF_I32, 4);
    for (int a = 0; a < 4; a++)
        put_number(f, (uint64_t)(a == 0 ? first : a < 3 ? second : 0), 4);
    put_data(f, 0, 0);
}

static void qwen2vl(file *f) {
    put_sections(f, "qwen2vl", 2, 1);
}

/* Of a type whose layout is another without the sections. */
static void glm4(file *f) {
    put_sections(f, "glm4", 2, 1);
}

static void glm4_without_sections(file *f) {
    put_sections(f, "glm4", 0, 0);
}

static void put_not_finetuned(file *f, const char *architecture) {
    char key[64];
    snprintf(key, sizeof key, "%s.rope.scaling.finetuned", architecture);
    begin(f, 3, 0, N_COMMON + 1);
    put_common(f, architecture);
    put_key(f, key, GGUF_BOOL);
    put_number(f, 0, 1);
    put_data(f, 0, 0);
}

static void granite(file *f) {
    put_not_finetuned(f, "granitehybrid");
}

/* Of other types that key says nothing. */
static void llama_not_finetuned(file *f) {
    put_not_finetuned(f, "llama");
}

static void bloom(file *f) {
    begin(f, 3, 0, N_COMMON);
    put_common(f, "bloom");
    put_data(f, 0, 0);
}

static void mpt(file *f) {
    begin(f, 3, 0, N_COMMON + 1);
    put_common(f, "mpt");
    put_f32(f, "mpt.attention.max_alibi_bias", 16.0f);
    put_data(f, 0, 0);
}

static void starcoder(file *f) {
    begin(f, 3, 0, N_COMMON);
    put_common(f, "starcoder");
    put_data(f, 0, 0);
}

/* Of two block_counts, the last counts. */
static void put_layers(file *f, const char *architecture, uint32_t n_layers) {
    char key[64];
    snprintf(key, sizeof key, "%s.block_count", architecture);
    put_u32(f, key, n_layers);
}

static void put_deep(file *f, const char *architecture, uint32_t n_layers) {
    begin(f, 3, 0, N_COMMON + 1);
    put_common(f, architecture);
    put_layers(f, architecture, n_layers);
    put_data(f, 0, 0);
}

static void cohere2(file *f) {
    put_deep(f, "cohere2", 8);
}

static void baichuan_7b(file *f) {
    put_deep(f, "baichuan", 32);
}

static void baichuan_13b(file *f) {
    put_deep(f, "baichuan", 40);
}

static void gemma_embedding(file *f) {
    put_deep(f, "gemma-embedding", 24);
}

/* With a window, and YaRN, which not all layers need to have. */
static void put_windows(file *f, const char *architecture, uint32_t n_layers, uint32_t window) {
    char key[64];
    begin(f, 3, 0, N_COMMON + 4);
    put_common(f, architecture);
    put_layers(f, architecture, n_layers);
    snprintf(key, sizeof key, "%s.attention.sliding_window", architecture);
    put_u32(f, key, window);
    snprintf(key, sizeof key, "%s.rope.scaling.type", architecture);
    put_string(f, key, "yarn");
    snprintf(key, sizeof key, "%s.rope.scaling.factor", architecture);
    put_f32(f, key, 8.0f);
    put_data(f, 0, 0);
}

static void exaone4(file *f) {
    put_windows(f, "exaone4", 64, 4096);
}

static void exaone4_without_windows(file *f) {
    put_deep(f, "exaone4", 30);
}

static void smallthinker(file *f) {
    put_windows(f, "smallthinker", 30, 4096); /* 4 times 7, and 2, of which the first is full */
}

static void smallthinker_without_windows(file *f) {
    put_windows(f, "smallthinker", 30, 0);
}

static void olmo3(file *f) {
    put_windows(f, "olmo2", 32, 4096);
}

static void olmo2(file *f) {
    put_deep(f, "olmo2", 32);
}

/* ---- Patterns of windows: of 8 layers ---- */

/* The key of the pattern is to follow, and n_more keys. */
static void begin_pattern(file *f, const char *architecture, uint64_t n_more) {
    char key[64];
    begin(f, 3, 0, N_COMMON + 3 + n_more);
    put_common(f, architecture);
    put_layers(f, architecture, 8);
    snprintf(key, sizeof key, "%s.attention.sliding_window", architecture);
    put_u32(f, key, 4096);
}

static const char *pattern_key(const char *architecture) {
    static char key[64];
    snprintf(key, sizeof key, "%s.attention.sliding_window_pattern", architecture);
    return key;
}

static void put_period(file *f, const char *architecture, uint32_t every) {
    begin_pattern(f, architecture, 0);
    put_u32(f, pattern_key(architecture), every);
    put_data(f, 0, 0);
}

/* 1 for a layer with a window, in the lowest bit for the first. */
static void put_window_list(file *f, const char *architecture, int n, unsigned windows, uint64_t n_more) {
    begin_pattern(f, architecture, n_more);
    put_array(f, pattern_key(architecture), GGUF_BOOL, (uint64_t)n);
    for (int i = 0; i < n; i++)
        put_number(f, windows >> i & 1, 1);
}

static void exaone4_every_2(file *f) {
    put_period(f, "exaone4", 2);
}

static void exaone4_every_1(file *f) {
    put_period(f, "exaone4", 1);
}

static void smallthinker_every_0(file *f) {
    put_period(f, "smallthinker", 0);
}

static void gemma3_every_4(file *f) {
    put_period(f, "gemma3", 4);
}

static void exaone4_list(file *f) {
    put_window_list(f, "exaone4", 8, 0x2f, 0);
    put_data(f, 0, 0);
}

static void gemma3_list(file *f) {
    put_window_list(f, "gemma3", 8, 0x7f, 0);
    put_data(f, 0, 0);
}

static void exaone4_short_list(file *f) {
    put_window_list(f, "exaone4", 7, 0, 0);
    put_data(f, 0, 0);
}

static void exaone4_pattern_in_words(file *f) {
    begin_pattern(f, "exaone4", 0);
    put_string(f, pattern_key("exaone4"), "LLLG");
    put_data(f, 0, 0);
}

static void exaone4_half_a_period(file *f) {
    begin_pattern(f, "exaone4", 0);
    put_f32(f, pattern_key("exaone4"), 2.5f);
    put_data(f, 0, 0);
}

/* Layers that see all keys do not rotate: the one base left is that of the others. */
static void exaone4_two_bases(file *f) {
    put_window_list(f, "exaone4", 8, 0x2f, 1);
    put_f32(f, "exaone4.rope.freq_base_swa", 500.0f);
    put_data(f, 0, 0);
}

/* The last of so many layers of Llama 4 does not rotate, whatever has a window. */
static void llama4_list(file *f) {
    put_window_list(f, "llama4", 8, 0x77, 0);
    put_data(f, 0, 0);
}

/* A hybrid: of 16 layers, 6 are attention. */
static void lfm2(file *f) {
    static const uint32_t heads[16] = {0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 2, 0, 2, 0, 2, 0};
    begin(f, 3, 0, N_COMMON + 2);
    put_common(f, "lfm2");
    put_layers(f, "lfm2", 16);
    put_array(f, "lfm2.attention.head_count_kv", GGUF_I32, 16);
    for (int i = 0; i < 16; i++)
        put_number(f, heads[i], 4);
    put_data(f, 0, 0);
}

static void all_zeros(file *f) {
    begin(f, 3, 0, N_COMMON + 1);
    put_common(f, "lfm2");
    put_array(f, "lfm2.attention.head_count_kv", GGUF_I32, 2);
    put_number(f, 0, 8);
    put_data(f, 0, 0);
}

/* Ministral 3: YaRN's logarithm makes up for the magnitude, and the softmax scale is left alone. */
static void mistral3(file *f) {
    begin(f, 3, 0, N_COMMON + 5);
    put_common(f, "mistral3");
    put_string(f, "mistral3.rope.scaling.type", "yarn");
    put_f32(f, "mistral3.rope.scaling.factor", 16.0f);
    put_u32(f, "mistral3.rope.scaling.original_context_length", 16384);
    put_f32(f, "mistral3.rope.scaling.yarn_log_multiplier", 1.0f);
    put_f32(f, "mistral3.attention.temperature_scale", 0.1f);
    put_data(f, 0, 0);
}

/* One of the later files of a model that is split. */
static void part(file *f) {
    begin(f, 3, 0, 1);
    put_key(f, "split.count", GGUF_U16);
    put_number(f, 2, 2);
    put_data(f, 0, 0);
}

/* A first file without tensors. */
static void first_part(file *f) {
    begin(f, 3, 0, N_COMMON + 1);
    put_common(f, "llama");
    put_key(f, "split.count", GGUF_U16);
    put_number(f, 2, 2);
    put_data(f, 0, 0);
}

static void unknown(file *f) {
    begin(f, 3, 0, N_COMMON);
    put_common(f, "abacus");
    put_data(f, 0, 0);
}

/* ---- Running ---- */

static void fail(const char *what, const char *detail) {
    printf("FAILED: %s: %s\n", what, detail);
    failures++;
}

/* Exit status of the command on these bytes, or -1 if a signal ended it. */
static int run(const unsigned char *bytes, size_t size) {
    FILE *model = fopen(model_path, "wb");
    if (model == NULL || fwrite(bytes, 1, size, model) != size || fclose(model) != 0) {
        perror(model_path);
        exit(1);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const char *const arguments[] = {posenc, "model", "--quick", "--tokens", "2", "--isa", "scalar", model_path, NULL};
    pid_t child;
    int status = 0;
    if (posix_spawn(&child, posenc, &actions, NULL, (char *const *)(uintptr_t)arguments, environ) != 0 ||
        waitpid(child, &status, 0) < 0) {
        perror(posenc);
        exit(1);
    }
    posix_spawn_file_actions_destroy(&actions);
    runs++;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char text[16384];

static const char *contents(const char *path) {
    FILE *stream = fopen(path, "rb");
    size_t n = stream != NULL ? fread(text, 1, sizeof text - 1, stream) : 0;
    if (stream != NULL)
        fclose(stream);
    text[n] = '\0';
    return text;
}

/* Status 2 goes with one line on standard error and nothing on standard output. */
static void check_refusal(const char *what) {
    const char *line = contents(err_path), *end = strchr(line, '\n');
    if (end == NULL || end[1] != '\0' || strncmp(line, "posenc model: ", 14) != 0)
        fail(what, line[0] != '\0' ? line : "nothing on standard error");
    if (contents(out_path)[0] != '\0')
        fail(what, "output in spite of the error");
}

/* Refused, with the word in the message. */
static void refuses(const char *what, const char *word, const unsigned char *bytes, size_t size) {
    if (run(bytes, size) != 2) {
        fail(what, "exit status is not 2");
        return;
    }
    check_refusal(what);
    if (strstr(contents(err_path), word) == NULL)
        fail(what, text);
}

static void works(const char *what, void (*make)(file *), const char *const *words) {
    file f;
    make(&f);
    if (run(f.bytes, f.size) != 0)
        fail(what, contents(err_path));
    for (; *words != NULL; words++)
        if (strstr(contents(out_path), *words) == NULL)
            fail(what, *words);
}
#define WORKS(make, ...) works(#make, make, (const char *const[]){__VA_ARGS__, NULL})

/* Of the run before. */
static void lacks(const char *what, const char *words) {
    if (strstr(contents(out_path), words) != NULL)
        fail(what, words);
}

/* ---- Damage ---- */

/* In the data only the last byte, for the lists end there. */
static void cut_off(const char *what, void (*make)(file *), size_t least) {
    file f;
    make(&f);
    for (size_t size = least; size < f.header; size++)
        refuses(what, "", f.bytes, size);
    refuses(what, "no list of float32 inside the file", f.bytes, f.size - 1);
}

/* One byte changed may still make a valid file, but nothing worse than a refusal. */
static void change_every_byte(const char *what, void (*make)(file *)) {
    file f;
    make(&f);
    for (size_t i = 0; i < f.header; i++) {
        unsigned char bits = i % 2 == 0 ? 0x01 : 0x80; /* counts and types a little wrong, or much */
        f.bytes[i] ^= bits;
        int status = run(f.bytes, f.size);
        char place[64];
        snprintf(place, sizeof place, "%s, byte %zu changed by %#x", what, i, bits);
        if (status == 2)
            check_refusal(place);
        else if (status != 0)
            fail(place, status < 0 ? "crashed" : "exit status is neither 0 nor 2");
        f.bytes[i] ^= bits;
    }
}

/* A valid file that claims other counts. */
static void claim(const char *what, uint64_t n_tensors, uint64_t n_keys) {
    file f;
    llama(&f);
    size_t size = f.size;
    f.size = 8;
    put_number(&f, n_tensors, 8);
    put_number(&f, n_keys, 8);
    refuses(what, "ends too early", f.bytes, size);
}

/* A file of one key more, which is what is wrong. */
static file one_key(const char *key, gguf_type type) {
    file f;
    begin(&f, 3, 0, N_COMMON + 1);
    put_common(&f, "llama");
    put_key(&f, key, type);
    return f;
}

static void damage(void) {
    file f;
    llama(&f);
    f.bytes[0] = 'g';
    refuses("wrong magic", "JSON", f.bytes, f.size);
    llama(&f);
    f.bytes[4] = 1;
    refuses("version 1", "convert the model anew", f.bytes, f.size);
    f.bytes[4] = 0;
    f.bytes[7] = 3;
    refuses("big-endian", "version", f.bytes, f.size);
    claim("too many keys", 2, UINT64_MAX);
    claim("too many tensors", UINT64_MAX, N_COMMON + 8);

    static const gguf_type types[] = {GGUF_U8, GGUF_U16, GGUF_F64, GGUF_STRING};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        f = one_key("x", GGUF_ARRAY);
        put_number(&f, types[i], 4);
        put_number(&f, UINT64_MAX / 4 + 2, 8); /* times the size, it is small */
        refuses("array of too many", "ends too early", f.bytes, f.size);
    }
    f = one_key("x", (gguf_type)77);
    put_number(&f, 0, 8);
    refuses("unknown type", "unknown type", f.bytes, f.size);
    f = one_key("x", GGUF_ARRAY);
    put_number(&f, GGUF_ARRAY, 4);
    put_number(&f, 1, 8);
    refuses("array of arrays", "unknown type", f.bytes, f.size);
    f = one_key("x", GGUF_STRING);
    put_number(&f, UINT64_MAX, 8);
    refuses("text too long", "ends too early", f.bytes, f.size);
    static const uint32_t alignments[] = {0, 3, 24, 33, 1 << 20 | 1, 1 << 21};
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        f = one_key("general.alignment", GGUF_U32);
        put_number(&f, alignments[i], 4);
        refuses("alignment that is no power of two up to 2^20", "alignment", f.bytes, f.size);
    }
    f = one_key("llama.attention.head_count", GGUF_STRING);
    put_text(&f, "many");
    refuses("heads in words", "is no number", f.bytes, f.size);
    f = one_key("llama.rope.freq_base", GGUF_STRING);
    put_text(&f, "ten thousand");
    refuses("base in words", "is no number", f.bytes, f.size);
    f = one_key("llama.rope.scaling.type", GGUF_STRING);
    put_text(&f, "weird");
    refuses("an unknown scaling", "posenc does not have", f.bytes, f.size);
    f = one_key("llama.attention.head_count", GGUF_I32);
    put_number(&f, UINT32_MAX, 4);
    refuses("-1 heads", "makes no sense", f.bytes, f.size);
    f = one_key("llama.rope.dimension_count", GGUF_U32);
    put_number(&f, 7, 4);
    refuses("odd n_rot", "correct rope.dimension_count", f.bytes, f.size);
    f = one_key("llama.rope.freq_base", GGUF_U32);
    put_number(&f, 0, 4);
    refuses("no base", "\"llama.rope.freq_base\" is 0 or missing; it has to be 1 to 1e+30", f.bytes, f.size);
    mpt(&f);
    f.bytes[f.size - 1] ^= 0x80;
    refuses("ALiBi of -16", "max_alibi_bias\" is -16, which makes no sense", f.bytes, f.size);
    part(&f);
    refuses("a later part", "no general.architecture; this is a part of a split model: give the first", f.bytes,
            f.size);
    begin(&f, 3, 0, 0);
    refuses("no keys", "there is no general.architecture; is this a model?", f.bytes, f.size);
    unknown(&f);
    refuses("unknown architecture",
            "\"abacus\" is unknown: posenc cannot tell what its positions do; give the config.json", f.bytes, f.size);
}

static void wrong_lists(void) {
    static const struct {
        const char *what;
        uint64_t n, offset;
        uint32_t type;
    } lists[] = {
        {"list in f16", 4, 0, 1},
        {"empty list", 0, 0, 0},
        {"huge list", UINT64_MAX, 0, 0},
        {"list outside the file", 4, UINT64_MAX - 64, 0},
        {"list that ends outside", 4, 4, 0},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        file f;
        begin(&f, 3, 1, N_COMMON);
        put_common(&f, "llama");
        put_tensor(&f, "rope_freqs.weight", lists[i].n, lists[i].type, lists[i].offset);
        put_data(&f, 1, 4);
        refuses(lists[i].what, "no list of float32 inside the file", f.bytes, f.size);
    }
}

int main(int argc, char **argv) {
    if (argc != 2 || mkdtemp(directory) == NULL)
        return 1;
    posenc = argv[1];
    snprintf(model_path, sizeof model_path, "%s/model.gguf", directory);
    snprintf(out_path, sizeof out_path, "%s/out", directory);
    snprintf(err_path, sizeof err_path, "%s/err", directory);

    WORKS(llama, "a small?Llama?31m?? ", "interleaved, 8 of 8 channels", "base 500000, divided by the file's factors",
          "divided by 2 to 4", "not understood llama.rope.wobble");
    WORKS(phi3, "half-split", "after an RMS-norm", "up to 512 positions", "beyond 512 positions", "magnitude 1.25",
          "normed");
    WORKS(gemma3, "base 1e+06, linear, factor 8", "base 10000, unscaled");
    WORKS(deepseek2, "Q 2 x 12 (the last 4 rotated), K 1 x 24 (the last 4 rotated)", "yarn, factor 40",
          "softmax scale to be multiplied by 1.8738");
    WORKS(qwen2vl, "4 positions a token", "sections of 2 1 1 0 pairs");
    WORKS(glm4, "half-split", "sections of 2 1 1 0 pairs, one after the other");
    WORKS(glm4_without_sections, "interleaved, 8 of 8 channels");
    WORKS(granite, "know nothing of positions");
    WORKS(cohere2, "All 6 layers with RoPE");
    WORKS(llama_not_finetuned, "interleaved, 8 of 8 channels");
    WORKS(bloom, "ALiBi: 2 slopes down to 2^-8,");
    WORKS(mpt, "ALiBi: 2 slopes down to 2^-16,");
    WORKS(starcoder, "learned table");
    WORKS(baichuan_7b, "interleaved, 8 of 8 channels", "All 32 layers on");
    WORKS(baichuan_13b, "ALiBi: 2 slopes down to 2^-8,");
    WORKS(gemma_embedding, "full attention, 4 layers", "sliding window, 20 layers", "base 10000, unscaled");
    WORKS(exaone4, "channels, in 48 of the layers", "All 48 layers with RoPE");
    WORKS(exaone4_without_windows, "All 30 layers on");
    WORKS(smallthinker, "channels, in 22 of the layers", "All 22 layers with RoPE");
    WORKS(smallthinker_without_windows, "All 30 layers on");
    WORKS(olmo3, "full attention, 8 layers:\n                 base 10000, yarn, factor 8",
          "sliding window, 24 layers:\n                 base 10000, unscaled");
    WORKS(olmo2, "frequencies    base 10000", "All 32 layers on scalar, 1 list of rows");
    WORKS(exaone4_every_2, "channels, in 4 of the layers", "All 4 layers with RoPE");
    lacks("exaone4_every_2", "not understood");
    WORKS(exaone4_every_1, "know nothing of positions");
    WORKS(smallthinker_every_0, "All 8 layers on");
    WORKS(gemma3_every_4, "full attention, 2 layers", "sliding window, 6 layers");
    WORKS(exaone4_list, "channels, in 5 of the layers", "All 5 layers with RoPE");
    WORKS(gemma3_list, "full attention, 1 layer:", "sliding window, 7 layers");
    WORKS(exaone4_short_list, "not understood exaone4.attention.sliding_window_pattern", "in 6 of the layers");
    WORKS(exaone4_pattern_in_words, "not understood exaone4.attention.sliding_window_pattern", "in 6 of the layers");
    WORKS(exaone4_half_a_period, "not understood exaone4.attention.sliding_window_pattern", "in 6 of the layers");
    WORKS(exaone4_two_bases, "channels, in 5 of the layers", "base 500, unscaled", "All 5 layers with RoPE");
    lacks("exaone4_two_bases", "full attention");
    WORKS(llama4_list, "All 6 layers with RoPE");
    WORKS(lfm2, "K 2, of 8 channels, in 16 layers", "channels, in 6 of the layers", "All 6 layers with RoPE");
    WORKS(all_zeros, "K 2, of 8 channels", "All 2 layers on");
    WORKS(mistral3, "yarn, factor 16", "not understood mistral3.attention.temperature_scale");
    lacks("mistral3", "softmax scale");
    lacks("mistral3", "magnitude");
    WORKS(first_part, "base 10000, unscaled", "not understood split.count (tensors are in other files)");
    damage();
    wrong_lists();
    cut_off("llama cut off", llama, 0);
    cut_off("phi3 cut off", phi3, 400);
    change_every_byte("llama", llama);

    unlink(model_path);
    unlink(out_path);
    unlink(err_path);
    rmdir(directory);
    printf("%d runs of posenc, %d failures\n", runs, failures);
    return failures > 0;
}
