/* SPDX-License-Identifier: MIT */
#include "work.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <posenc/rope.h>

#include "kernels/formats.h"

static const struct {
    const char *name;
    size_t offset;
} keys[] = {
    {"layout", offsetof(work, layout)},       {"type", offsetof(work, type)},
    {"rows", offsetof(work, ready)},          {"lone", offsetof(work, lone)},
    {"alibi", offsetof(work, alibi)},         {"causal", offsetof(work, causal)},
    {"untouched", offsetof(work, untouched)}, {"tokens", offsetof(work, tokens)},
    {"heads", offsetof(work, heads)},         {"dim", offsetof(work, dim)},
    {"dim_v", offsetof(work, dim_v)},         {"kv_heads", offsetof(work, kv_heads)},
    {"queries", offsetof(work, queries)},     {"keys", offsetof(work, keys)},
    {"threads", offsetof(work, threads)},     {"ms", offsetof(work, ms)},
    {"elements", offsetof(work, elements)},   {"place", offsetof(work, place)},
    {"math", offsetof(work, math)},           {"window", offsetof(work, window)},
    {"page", offsetof(work, page)},           {"stride_heads", offsetof(work, stride_heads)},
};

/* Values that are no numbers. */
static const struct {
    const char *name;
    int64_t value;
} words[] = {{"half", POSENC_ROPE_HALF},
             {"interleaved", POSENC_ROPE_INTERLEAVED},
             {"t", CACHE_T},
             {"h", CACHE_H},
             {"hot", CACHE_HOT},
             {"hot_huge", CACHE_HOT_HUGE},
             {"memory", CACHE_MEMORY},
             {"memory_huge", CACHE_MEMORY_HUGE},
             {"int16", POSENC_MATH_INT16},
             {"made", 0},
             {"ready", 1},
#define WORD(type, name, ...) {#name, type},
             POSENC_EACH_TYPE(WORD)
#undef WORD
};

static int parse_value(const char *text, int64_t *value) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i].name) == 0) {
            *value = words[i].value;
            return 1;
        }
    }
    char *end;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *value >= 0;
}

static int parse_name(work *w, const char *word) {
    if (!work_is(w, "benchmark") || w->name[0] != '\0' || strlen(word) >= sizeof w->name)
        return 0;
    strcpy(w->name, word);
    return 1;
}

static int parse_pair(work *w, char *word) {
    char *value = strchr(word, '=');
    if (value == NULL)
        return parse_name(w, word);
    *value++ = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(word, keys[i].name) == 0)
            return parse_value(value, (int64_t *)((char *)w + keys[i].offset));
    return 0;
}

int work_is(const work *w, const char *kind) {
    return strcmp(w->kind, kind) == 0;
}

const char *work_parse(work *w, const char *line) {
    *w = (work){.tokens = 1, .heads = 1, .kv_heads = 1, .queries = 1, .keys = 1, .dim = 128, .ms = 20, .elements = 1};
    char buffer[sizeof w->shape];
    if (snprintf(buffer, sizeof buffer, "%s", line) >= (int)sizeof buffer)
        return "the line is too long";
    char *rest, *word = strtok_r(buffer, " \n", &rest);
    if (word == NULL || strlen(word) >= sizeof w->kind)
        return "no work of this name";
    strcpy(w->kind, word);
    while ((word = strtok_r(NULL, " \n", &rest)) != NULL) {
        size_t used = strlen(w->shape);
        snprintf(w->shape + used, sizeof w->shape - used, "%s%s", used ? " " : "", word);
        if (!parse_pair(w, word))
            return "a word that is not understood";
    }
    return NULL;
}

cache_shape work_cache(const work *w) {
    return (cache_shape){.type = (posenc_dtype)w->type,
                         .head_dim = w->dim,
                         .v_dim = w->dim_v,
                         .n_heads = w->kv_heads,
                         .n_keys = w->keys,
                         .stride_heads = w->stride_heads,
                         .page_size = w->page,
                         .layout = (cache_layout)w->layout,
                         .place = (cache_place)w->place};
}
