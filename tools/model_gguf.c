/* SPDX-License-Identifier: MIT */
/* The metadata of a GGUF file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gguf.h"
#include "model_reader.h"

/* More factors than any head has pairs. */
#define MOST_FACTORS 65536

typedef struct gguf_model {
    reader *r;
    model_config *config;
    gguf_file file;
    const model_type *type;
    layer_pattern layers; /* of the type, as far as this file has them */
    posenc_rope_params params;
    int64_t key_length_mla, compressed; /* multi-head latent attention */
    int64_t n_without_attention;        /* layers of a hybrid that have no K and V */
    gguf_value pattern;                 /* which layers have a window; no key: the file does not tell */
    int64_t n_windows;                  /* layers that have one; -1: there is no list of them */
    double local_base;
    int has_alibi, has_no_rope, has_windows, has_type; /* has_type: rope.scaling.type is stated */
    int is_split;                                      /* into several files, of which this is one */
} gguf_model;

/* ---- Keys ---- */

/* The key without "<architecture>."; NULL if it is another's. */
static const char *own_key(const gguf_model *m, const char *key) {
    size_t n = strlen(m->config->model_type);
    return strncmp(key, m->config->model_type, n) == 0 && key[n] == '.' ? key + n + 1 : NULL;
}

/* 1 if the key is a count that the tool itself wants. Where each layer has its own, the largest counts. */
static int take_count(gguf_model *m, const char *key, const gguf_value *value) {
    model_config *c = m->config;
    const struct {
        const char *key;
        int64_t *to;
    } counts[] = {
        {"block_count", &c->n_layers},
        {"embedding_length", &c->hidden_size},
        {"attention.head_count", &c->n_heads},
        {"attention.head_count_kv", &c->n_kv_heads},
        {"attention.key_length", &c->head_dim},
        {"attention.key_length_mla", &m->key_length_mla},
        {"attention.kv_lora_rank", &m->compressed},
        {"context_length", &c->max_position},
    };
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        if (strcmp(key, counts[k].key) != 0)
            continue;
        double n = value->largest, most = counts[k].to == &c->max_position ? 0x1p31 - 1.0 : 0x1p20;
        if (value->type == GGUF_STRING)
            reader_fail(m->r, "\"%s\" is no number", value->key);
        else if (!(n >= 0.0 && n <= most && n == floor(n)))
            reader_fail(m->r, "\"%s\" is %g, which makes no sense; expected a whole number up to %g", value->key, n,
                        most);
        else
            *counts[k].to = (int64_t)n;
        return 1;
    }
    return 0;
}

/* Without a first and a second section llama.cpp takes them for none. */
static void take_sections(gguf_model *m, const gguf_value *value) {
    if (value->n >= 2 && value->first[0] == 0.0 && value->first[1] == 0.0)
        return;
    reader_set_sections(m->r, &m->params, m->type->axes != POSENC_AXES_SINGLE ? m->type->axes : POSENC_AXES_MROPE,
                        value->first, value->n);
}

/* 0: there is none. */
static void take_max_bias(gguf_model *m, const gguf_value *value) {
    double bias = value->first[0];
    if (!(bias >= 0.0 && bias <= MODEL_LARGEST_BIAS))
        reader_fail(m->r, "\"%s\" is %g, which makes no sense; expected 0 to %g", value->key, bias, MODEL_LARGEST_BIAS);
    else if (bias > 0.0) {
        m->has_alibi = 1;
        m->config->max_bias = bias;
    }
}

/* Keys that the tool knows, and that are not the library's. */
static int take_other(gguf_model *m, const char *key, const gguf_value *value) {
    if (strcmp(key, "rope.dimension_sections") == 0 && value->is_array)
        take_sections(m, value);
    else if (strcmp(key, "rope.freq_base_swa") == 0)
        m->local_base = value->first[0];
    else if (strcmp(key, "attention.max_alibi_bias") == 0)
        take_max_bias(m, value);
    else if (strcmp(key, "attention.head_count_kv") == 0 && value->is_array)
        m->n_without_attention = (int64_t)value->n_zeros;
    else if (strcmp(key, "attention.sliding_window") == 0)
        m->has_windows = value->largest > 0.0;
    else if (strcmp(key, "attention.sliding_window_pattern") == 0)
        m->pattern = *value;
    else if (strcmp(key, "rope.scaling.finetuned") == 0) /* of most models it says nothing about positions */
        m->has_no_rope = m->type->finetuned_tells && value->first[0] == 0.0;
    else
        return 0;
    return 1;
}

static void take_value(gguf_model *m, const gguf_value *value) {
    const char *key = own_key(m, value->key);
    char text[2 * GGUF_MOST_TEXT];
    if (key == NULL)
        return;
    int known = take_count(m, key, value) | take_other(m, key, value);
    if (!value->is_array)
        known |= value->type == GGUF_STRING ? reader_set_string(m->r, &m->params, value->key, value->text)
                                            : reader_set_number(m->r, &m->params, value->key, value->first[0]);
    m->has_type |= strcmp(key, "rope.scaling.type") == 0;
    int is_temperature = strcmp(key, "attention.temperature_scale") == 0 && value->first[0] != 0.0;
    if (known || (strncmp(key, "rope.", 5) != 0 && !is_temperature))
        return;
    reader_check_no_number(m->r, value->key);
    snprintf(text, sizeof text, "%.60s%s%.60s", value->key, value->text[0] != '\0' ? " = " : "", value->text);
    reader_not_understood(m->config, text);
}

/* The architecture first, for the other keys begin with it. */
static void take_values(gguf_model *m) {
    model_config *c = m->config;
    gguf_value value;
    size_t place = m->file.keys;
    for (uint64_t k = 0; k < m->file.n_keys; k++) {
        place = gguf_value_at(&m->file, place, &value);
        if (strcmp(value.key, "general.architecture") == 0)
            snprintf(c->model_type, sizeof c->model_type, "%.63s", value.text);
        if (strcmp(value.key, "general.name") == 0)
            snprintf(c->architecture, sizeof c->architecture, "%.63s", value.text);
        if (strcmp(value.key, "split.count") == 0)
            m->is_split = value.first[0] > 1.0;
    }
    if (c->model_type[0] == '\0') {
        reader_fail(m->r, "there is no general.architecture; %s",
                    m->is_split ? "this is a part of a split model: give the first" : "is this a model?");
        return;
    }
    m->type = model_type_of_gguf(c->model_type);
    if (m->type == NULL) {
        reader_fail(m->r,
                    "architecture \"%s\" is unknown: posenc cannot tell what its positions do; give the config.json "
                    "of the model it was made from",
                    c->model_type);
        return;
    }
    place = m->file.keys;
    for (uint64_t k = 0; k < m->file.n_keys; k++) {
        place = gguf_value_at(&m->file, place, &value);
        take_value(m, &value);
    }
}

/* ---- Tensors ---- */

/* 1 if the file has that list of factors. */
static int take_list(gguf_model *m, const char *name) {
    gguf_tensor tensor;
    if (!gguf_find_tensor(&m->file, name, &tensor))
        return 0;
    size_t n = tensor.dims[0] <= MOST_FACTORS ? (size_t)tensor.dims[0] : 0;
    double *numbers = n > 0 ? reader_new_list(m->r, m->config, n) : NULL;
    if (numbers == NULL || !gguf_read_floats(&m->file, &tensor, numbers, n))
        reader_fail(m->r, "tensor \"%s\" is no list of float32 inside the file; fetch the file again", name);
    else
        reader_set_list(m->r, &m->params, name, numbers, (int64_t)n);
    return 1;
}

static void take_tensors(gguf_model *m) {
    gguf_tensor norm;
    if (m->is_split && m->file.n_tensors == 0)
        reader_not_understood(m->config, "split.count (tensors are in other files)");
    take_list(m, "rope_freqs.weight");
    int has_lists = take_list(m, "rope_factors_short.weight") | take_list(m, "rope_factors_long.weight");
    if (has_lists && !m->has_type) /* llama.cpp goes by the tensors */
        reader_set_string(m->r, &m->params, "rope.scaling.type", "longrope");
    m->config->has_qk_norm = gguf_find_tensor(&m->file, "blk.0.attn_q_norm.weight", &norm) && norm.n_dims == 1 &&
                             norm.dims[0] == (uint64_t)m->config->head_dim;
}

/* ---- The whole ---- */

static void check_heads(gguf_model *m) {
    model_config *c = m->config;
    if (c->n_heads == 0)
        reader_fail(m->r, "there is no %s.attention.head_count; is this a Transformer?", c->model_type);
    else if (c->head_dim == 0 && (c->hidden_size == 0 || c->hidden_size % c->n_heads != 0))
        reader_fail(m->r, "there is no %s.attention.key_length, and embedding_length %lld is no multiple of %lld heads",
                    c->model_type, (long long)c->hidden_size, (long long)c->n_heads);
    else if (c->head_dim == 0)
        c->head_dim = c->hidden_size / c->n_heads;
    if (c->n_kv_heads == 0)
        c->n_kv_heads = c->n_heads;
}

/* Which layers see all keys: one of so many (0: none does), or those with 0 in a list of all. */
static void read_window_pattern(gguf_model *m) {
    const gguf_value *v = &m->pattern;
    double every = v->first[0];
    int is_number = v->type != GGUF_STRING;
    if (v->key[0] == '\0' || (m->type->layers.only_if_windows && !m->has_windows))
        return;
    if (v->is_array && is_number && v->n == (uint64_t)m->config->n_layers)
        m->n_windows = (int64_t)(v->n - v->n_zeros);
    else if (v->is_array || !is_number || !(every >= 0.0 && every <= 0x1p20 && every == floor(every)))
        reader_not_understood(m->config, v->key);
    else if (every > 0.0)
        m->layers.full_every = (int64_t)every;
    else
        m->n_windows = m->config->n_layers;
}

/* Layers that rotate, by a table for layers of that kind. */
static int64_t count_layers(const gguf_model *m, const char *kind) {
    int64_t n_layers = m->config->n_layers;
    if (m->n_windows < 0 || m->layers.unrotated_every != 0)
        return layers_of_kind(&m->layers, n_layers, kind);
    int64_t n_full = m->layers.only_windows_rotate ? 0 : n_layers - m->n_windows;
    if (kind[0] == '\0')
        return n_full + m->n_windows;
    return strcmp(kind, "full_attention") == 0 ? n_full : m->n_windows;
}

/* None where it is known that no layer would use it. */
static void new_table(gguf_model *m, const char *name, const char *kind, const posenc_rope_params *params) {
    int64_t n = count_layers(m, kind);
    int is_known = m->config->n_layers > 0 && (kind[0] == '\0' || m->layers.full_every != 0 || m->n_windows >= 0);
    model_table *table = n > 0 || !is_known ? reader_new_table(m->r, m->config, name, params) : NULL;
    if (table != NULL)
        table->n_layers = n;
}

/* Of the only table. Where none would be left, the file is not taken at its word. */
static void leave_out_layers_without_attention(gguf_model *m) {
    model_table *table = &m->config->tables[0];
    if (m->n_without_attention < table->n_layers)
        table->n_layers -= m->n_without_attention;
}

static void make_tables(gguf_model *m) {
    model_config *c = m->config;
    posenc_rope_params *p = &m->params, plain = *p;
    if (!m->has_type && p->scaling.type == POSENC_SCALING_NONE && p->scaling.factor > 1.0)
        reader_set_string(m->r, p, "rope.scaling.type", "linear");
    double implied = m->layers.windows_unscaled ? p->base : m->type->local_base;
    double local_base = m->local_base != 0.0 ? m->local_base : implied;
    if (local_base == 0.0) {
        new_table(m, "", "", p);
        leave_out_layers_without_attention(m);
        return;
    }
    new_table(m, "full attention", "full_attention", p);
    plain.scaling = (posenc_rope_scaling)POSENC_ROPE_SCALING_DEFAULTS;
    plain.scaling.max_context = (double)c->max_position;
    plain.base = local_base;
    new_table(m, "sliding window", "sliding_attention", &plain);
}

/* Multi-head latent attention: the rotated channels come last, in K behind the compressed keys and values. */
static void find_tensors_rotated(gguf_model *m) {
    model_config *c = m->config;
    int64_t n_rot = m->params.n_rot, q_length = m->key_length_mla > 0 ? m->key_length_mla : c->head_dim;
    if (m->compressed == 0 || n_rot <= 0 || n_rot > q_length)
        return;
    for (int k = 0; k < c->n_tables; k++) {
        c->tables[k].q = (rotated_tensor){c->n_heads, q_length, q_length - n_rot};
        c->tables[k].k = (rotated_tensor){1, m->compressed + n_rot, m->compressed};
    }
}

static void interpret(gguf_model *m) {
    take_values(m);
    if (!m->r->failed)
        check_heads(m);
    if (m->r->failed)
        return;
    m->has_alibi |= m->type->alibi_layers != 0 && m->config->n_layers == m->type->alibi_layers;
    m->config->kind = m->has_alibi ? POSITION_ALIBI : m->has_no_rope ? POSITION_NONE : m->type->kind;
    if (m->config->kind != POSITION_ROPE)
        return;
    int has_sections = m->params.axes.kind != POSENC_AXES_SINGLE; /* M-RoPE pairs the halves, whatever the type */
    m->params.layout = has_sections ? POSENC_ROPE_HALF : m->type->layout;
    m->params.rot_fraction = 1.0;
    if (!m->type->layers.only_if_windows || m->has_windows)
        m->layers = m->type->layers;
    read_window_pattern(m);
    take_tensors(m);
    make_tables(m);
    if (m->config->n_tables == 0)
        m->config->kind = POSITION_NONE;
    find_tensors_rotated(m);
}

void model_read_gguf(reader *r, model_config *config) {
    gguf_model m = {.r = r, .config = config, .params = POSENC_ROPE_DEFAULTS, .n_windows = -1};
    char complaint[128];
    if (!gguf_open(r->path, &m.file, complaint, sizeof complaint)) {
        reader_fail(r, "the GGUF file %s", complaint);
        return;
    }
    interpret(&m);
    gguf_close(&m.file);
}
