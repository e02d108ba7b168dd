/* SPDX-License-Identifier: MIT */
/* A Hugging Face config.json. */
#include <stdio.h>
#include <string.h>

#include "model_json.h"

/* ---- Kind and heads ---- */

/* 1 if a field speaks of RoPE, and not to say that there is none. */
static int speaks_of_rope(const cJSON *object) {
    const cJSON *field;
    if (!cJSON_IsObject(object))
        return 0;
    cJSON_ArrayForEach(field, object) {
        if (json_is_of_rope(field->string) && !cJSON_IsNull(field) && !cJSON_IsFalse(field))
            return 1;
    }
    return 0;
}

/* A kind that is stated of an unknown type by another name: some that state "sans_pos" rotate, conformers do not. */
static void note_stated(const json_model *m, const cJSON *field) {
    const char *name = cJSON_IsString(field) ? field->valuestring : "absolute";
    char text[96];
    if (strcmp(name, "absolute") == 0 || json_is_of_rope(name))
        return;
    if (strcmp(name, "relative") == 0)
        reader_fail(m->r, "\"%s\" is \"relative\", as Transformer-XL has it, which posenc model does not read",
                    field->string);
    snprintf(text, sizeof text, "%.32s \"%.48s\"", field->string, name);
    reader_not_understood(m->config, text);
}

/* What the file states goes before what its type implies, but for "absolute": many files have it from a class that
 * theirs was copied from, and rotate. */
static position_kind find_kind(const json_model *m) {
    static const struct {
        const char *name;
        position_kind kind;
    } stated[] = {
        {"alibi", POSITION_ALIBI},
        {"rope", POSITION_ROPE},
        {"rotary", POSITION_ROPE},
        {"nope", POSITION_NONE},
        {"relative_key", POSITION_RELATIVE_KEYS},
        {"relative_key_query", POSITION_RELATIVE_KEYS},
    };
    const cJSON *field = json_find(m->text, NAMES("position_embedding_type", "position_embeddings_type"));
    const char *name = cJSON_IsString(field) ? field->valuestring : "";
    if (json_is_true(m->text, "alibi") || json_is_true(m->attention, "alibi"))
        return POSITION_ALIBI;
    if (json_is_true(m->text, "mla_use_nope")) /* Kimi-Linear, whose other layers are no attention */
        return POSITION_NONE;
    if (json_is_true(m->attention, "rope"))
        return POSITION_ROPE;
    for (size_t i = 0; i < sizeof stated / sizeof stated[0]; i++)
        if (strcmp(name, stated[i].name) == 0)
            return stated[i].kind;
    if (m->type->kind != POSITION_UNKNOWN)
        return m->type->kind;
    note_stated(m, field);
    if (speaks_of_rope(m->text) || speaks_of_rope(m->attention))
        return POSITION_ROPE;
    return strcmp(name, "absolute") == 0 ? POSITION_LEARNED : POSITION_UNKNOWN;
}

static void read_kv_heads(const json_model *m) {
    model_config *c = m->config;
    c->n_kv_heads = json_count(m->r, m->text, NAMES("num_key_value_heads", "num_kv_heads"));
    /* ChatGLM's groups, which do not count if it says so */
    if (c->n_kv_heads == 0 && !cJSON_IsFalse(json_find(m->text, NAMES("multi_query_attention"))))
        c->n_kv_heads = json_count(m->r, m->text, NAMES("multi_query_group_num"));
    if (c->n_kv_heads == 0)
        c->n_kv_heads = json_count(m->r, m->attention, NAMES("kv_n_heads"));
    if (json_is_true(m->text, "multi_query") && !json_is_true(m->text, "new_decoder_architecture") &&
        json_find(m->text, NAMES("multi_query_group_num")) == NULL)
        c->n_kv_heads = 1; /* Falcon, whose num_kv_heads does not count then */
    if (c->n_kv_heads == 0)
        c->n_kv_heads = m->type->n_kv_heads != 0 ? m->type->n_kv_heads : c->n_heads;
}

/* What the file says, or else what its type implies. */
static int64_t count_or(const json_model *m, int64_t implied, const char *const *names) {
    int64_t stated = json_count(m->r, m->text, names);
    return stated != 0 ? stated : implied;
}

/* Of multi-head latent attention, whose heads need not divide the hidden size; 0: the model has none. */
static int64_t latent_head_dim(const json_model *m) {
    int64_t n_rot = json_count(m->r, m->text, NAMES("qk_rope_head_dim"));
    return n_rot != 0 ? json_count(m->r, m->text, NAMES("qk_nope_head_dim")) + n_rot : 0;
}

static void read_heads(const json_model *m) {
    reader *r = m->r;
    model_config *c = m->config;
    c->hidden_size = count_or(m, m->type->hidden_size, NAMES("hidden_size", "n_embd", "n_embed", "d_model"));
    c->n_heads = count_or(m, m->type->n_heads,
                          NAMES("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"));
    c->n_layers = count_or(m, m->type->n_layers, NAMES("num_hidden_layers", "n_layer", "n_layers", "num_layers"));
    c->max_position =
        (int64_t)json_number(r, m->text, NAMES("max_position_embeddings", "n_positions", "seq_length", "max_seq_len"),
                             (double)m->type->max_position, 1.0, 0x1p31 - 1.0);
    read_kv_heads(m);
    c->head_dim = count_or(m, m->type->head_dim, NAMES("head_dim", "kv_channels", "d_kv"));
    if (c->head_dim == 0)
        c->head_dim = latent_head_dim(m);
    if (c->head_dim == 0 && c->n_heads != 0 && c->hidden_size % c->n_heads == 0)
        c->head_dim = c->hidden_size / c->n_heads;
}

/* Encodings that are added to the embeddings, or to the scores by themselves, do without. */
static void check_heads(const json_model *m) {
    const model_config *c = m->config;
    if (c->kind != POSITION_ROPE && c->kind != POSITION_ALIBI)
        return;
    if (c->n_heads == 0)
        reader_fail(m->r, "there is no num_attention_heads (or n_head, n_heads); is this a Transformer's config.json?");
    else if (c->head_dim == 0 && c->hidden_size == 0)
        reader_fail(m->r, "there is neither head_dim nor hidden_size; add one of them");
    else if (c->head_dim == 0)
        reader_fail(m->r, "hidden_size %lld is no multiple of %lld heads; correct one, or add head_dim",
                    (long long)c->hidden_size, (long long)c->n_heads);
}

/* ---- The whole ---- */

static void interpret(reader *r, const cJSON *json, model_config *c) {
    static const model_type unknown;
    json_model m = {.r = r, .config = c, .text = json, .type = &unknown};
    /* Models that also see or hear keep the part that is wanted here inside. */
    const cJSON *text = json_find(json, NAMES("text_config", "llm_config", "language_config"));
    if (cJSON_IsObject(text) && json_find(json, NAMES("num_attention_heads")) == NULL)
        m.text = text;
    m.attention = json_find(m.text, NAMES("attn_config"));
    const cJSON *architectures = json_find(json, NAMES("architectures"));
    const char *architecture = cJSON_GetStringValue(cJSON_GetArrayItem(architectures, 0));
    snprintf(c->architecture, sizeof c->architecture, "%s", architecture != NULL ? architecture : "");
    snprintf(c->model_type, sizeof c->model_type, "%s", json_string(m.text, NAMES("model_type")));
    const model_type *type = model_type_of_json(c->model_type);
    if (type != NULL)
        m.type = type;
    c->kind = find_kind(&m);
    c->bias_is_scaled = m.type->bias_is_scaled;
    read_heads(&m);
    check_heads(&m);
    c->max_bias = json_number(r, m.attention, NAMES("alibi_bias_max"), c->max_bias, 0.01, MODEL_LARGEST_BIAS);
    if (c->kind == POSITION_ROPE && !r->failed)
        model_json_read_rope(&m);
}

void model_read_json(reader *r, model_config *config) {
    cJSON *json = json_read(r);
    if (!r->failed)
        interpret(r, json, config);
    cJSON_Delete(json);
}
