/* A Hugging Face config.json. */
#include <stdio.h>
#include <string.h>

#include "json.h"

/* The parts of the file, and what its model_type implies. */
typedef struct json_model {
    reader *r;
    model_config *config;
    const cJSON *text, *attention; /* text: what describes the language model, often the whole */
    const model_type *type;
} json_model;

/* ---- Kind and heads ---- */

static const char *const rope_keys[] = {"rope_theta", "rope_scaling", "rope_parameters",       "rotary_emb_base",
                                        "rotary_pct", "rotary_dim",   "partial_rotary_factor", "rope_ratio",
                                        NULL};

static position_kind find_kind(const json_model *m) {
    const char *stated = json_string(m->text, NAMES("position_embedding_type", "position_embeddings_type"));
    if (json_is_true(m->text, "alibi") || json_is_true(m->attention, "alibi") || strcmp(stated, "alibi") == 0)
        return POSITION_ALIBI;
    if (json_is_true(m->attention, "rope") || strncmp(stated, "rop", 3) == 0 || strcmp(stated, "rotary") == 0)
        return POSITION_ROPE;
    if (m->type != NULL)
        return m->type->kind;
    if (json_find(m->text, rope_keys) != NULL)
        return POSITION_ROPE;
    return strcmp(stated, "absolute") == 0 ? POSITION_LEARNED : POSITION_UNKNOWN;
}

static void read_kv_heads(const json_model *m) {
    model_config *c = m->config;
    c->n_kv_heads = json_count(m->r, m->text, NAMES("num_key_value_heads", "num_kv_heads", "multi_query_group_num"));
    if (c->n_kv_heads == 0)
        c->n_kv_heads = json_count(m->r, m->attention, NAMES("kv_n_heads"));
    if (json_is_true(m->text, "multi_query") && !json_is_true(m->text, "new_decoder_architecture") &&
        json_find(m->text, NAMES("multi_query_group_num")) == NULL)
        c->n_kv_heads = 1; /* Falcon, whose num_kv_heads does not count then */
    if (c->n_kv_heads == 0)
        c->n_kv_heads = c->n_heads;
}

static void read_heads(const json_model *m) {
    reader *r = m->r;
    model_config *c = m->config;
    c->hidden_size = json_count(r, m->text, NAMES("hidden_size", "n_embd", "d_model"));
    c->n_heads = json_count(r, m->text, NAMES("num_attention_heads", "n_head", "n_heads", "num_heads"));
    c->n_layers = json_count(r, m->text, NAMES("num_hidden_layers", "n_layer", "n_layers", "num_layers"));
    c->max_position =
        (int64_t)json_number(r, m->text, NAMES("max_position_embeddings", "n_positions", "seq_length", "max_seq_len"),
                             0.0, 1.0, 0x1p31 - 1.0);
    if (c->n_heads == 0)
        reader_fail(r, "there is no num_attention_heads (or n_head, n_heads); is this a Transformer's config.json?");
    read_kv_heads(m);
    c->head_dim = json_count(r, m->text, NAMES("head_dim", "kv_channels"));
    if (c->head_dim != 0 || c->n_heads == 0)
        return;
    if (c->hidden_size == 0)
        reader_fail(r, "there is neither head_dim nor hidden_size; add one of them");
    else if (c->hidden_size % c->n_heads != 0)
        reader_fail(r, "hidden_size %lld is no multiple of %lld heads; correct one, or add head_dim",
                    (long long)c->hidden_size, (long long)c->n_heads);
    c->head_dim = c->hidden_size / c->n_heads;
}

/* ---- Fields of RoPE ---- */

static void read_list(const json_model *m, posenc_rope_params *params, const cJSON *array) {
    size_t n = (size_t)cJSON_GetArraySize(array), i = 0;
    double *values = reader_new_list(m->r, m->config, n);
    const cJSON *element;
    if (values == NULL)
        return;
    cJSON_ArrayForEach(element, array) {
        if (!cJSON_IsNumber(element)) {
            reader_fail(m->r, "\"%s\" holds what is no number; correct it", array->string);
            return;
        }
        values[i++] = element->valuedouble;
    }
    if (strcmp(array->string, "mrope_section") == 0)
        reader_set_sections(
            m->r, params, params->axes.kind == POSENC_AXES_IMROPE ? POSENC_AXES_IMROPE : POSENC_AXES_MROPE, values, n);
    else if (!reader_set_list(m->r, params, array->string, values, (int64_t)n)) {
        reader_check_no_number(m->r, array->string);
        reader_not_understood(m->config, array->string);
    }
}

static void read_type(const json_model *m, posenc_rope_params *params, const cJSON *field) {
    int is_mrope = strcmp(field->valuestring, "mrope") == 0; /* says only that there are sections */
    if (reader_set_string(m->r, params, field->string, is_mrope ? "default" : field->valuestring))
        return;
    reader_check_no_number(m->r, field->string);
    char text[96];
    snprintf(text, sizeof text, "%.32s \"%.48s\"", field->string, field->valuestring);
    reader_not_understood(m->config, text);
}

/* One field, for the library to understand. inside: of rope_scaling or rope_parameters, where every name matters; of
 * the others, only names that speak of RoPE. */
static void read_field(const json_model *m, posenc_rope_params *params, const cJSON *field, int inside) {
    const char *name = field->string;
    int matters = inside || strstr(name, "rope") != NULL || strstr(name, "rotary") != NULL;
    if (cJSON_IsNumber(field) || cJSON_IsBool(field)) {
        double value = cJSON_IsNumber(field) ? field->valuedouble : (double)cJSON_IsTrue(field);
        if (!reader_set_number(m->r, params, name, value) && matters)
            reader_not_understood(m->config, name);
    } else if (cJSON_IsString(field) && inside) {
        read_type(m, params, field);
    } else if (cJSON_IsArray(field) && inside) {
        read_list(m, params, field);
    } else if (!cJSON_IsNull(field) && matters) {
        reader_check_no_number(m->r, name);
        reader_not_understood(m->config, name);
    }
}

/* What the tool itself makes use of, beside the library. */
static int is_known_here(const char *name) {
    static const char *const names[] = {"rope_scaling",     "rope_parameters", "rope_local_base_freq", "rope_ratio",
                                        "qk_rope_head_dim", "rope_interleave", "mrope_interleaved"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

static void read_fields(const json_model *m, posenc_rope_params *params, const cJSON *object, int inside) {
    const cJSON *field;
    if (!cJSON_IsObject(object)) /* items of an array have no names */
        return;
    if (inside && json_is_true(object, "mrope_interleaved"))
        params->axes.kind = POSENC_AXES_IMROPE;
    cJSON_ArrayForEach(field, object) if (!is_known_here(field->string)) read_field(m, params, field, inside);
    if (inside && params->axes.n_axes == 0)
        params->axes.kind = POSENC_AXES_SINGLE;
}

/* ---- Tables ---- */

/* What all layers have in common. */
static posenc_rope_params common_params(const json_model *m) {
    model_config *c = m->config;
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = m->type != NULL && m->type->layout != POSENC_ROPE_LAYOUT_UNSET ? m->type->layout : POSENC_ROPE_HALF;
    if (json_find(m->text, NAMES("rope_interleave")) != NULL && !json_is_true(m->text, "rope_interleave"))
        params.layout = POSENC_ROPE_HALF;
    params.rot_fraction = m->type != NULL && m->type->rotated_part != 0.0 ? m->type->rotated_part : 1.0;
    read_fields(m, &params, m->attention, 0);
    read_fields(m, &params, m->text, 0);
    params.head_dim = c->head_dim;
    params.scaling.max_context = (double)c->max_position;
    params.base *= json_number(m->r, m->text, NAMES("rope_ratio"), 1.0, 1e-3, 1e12); /* ChatGLM: a factor on the base */
    return params;
}

/* Layers of that name; 0 where the file does not tell. */
static int64_t count_layers(const json_model *m, const char *name) {
    const cJSON *types = json_find(m->text, NAMES("layer_types")), *type;
    const cJSON *pattern = json_find(m->text, NAMES("sliding_window_pattern", "_sliding_window_pattern"));
    int64_t n = 0, every = cJSON_IsNumber(pattern) && pattern->valueint > 0 ? pattern->valueint : 0;
    cJSON_ArrayForEach(type, types) n += cJSON_IsString(type) && strcmp(type->valuestring, name) == 0;
    if (types != NULL || every == 0)
        return n;
    int64_t full = m->config->n_layers / every;
    return strcmp(name, "full_attention") == 0 ? full : m->config->n_layers - full;
}

static model_table *new_table(const json_model *m, const char *name, const posenc_rope_params *like) {
    model_table *table = reader_new_table(m->r, m->config, name, like);
    if (table != NULL && name[0] != '\0')
        table->n_layers = count_layers(m, name);
    return table;
}

/* An object inside the object for each kind of layers. What stands beside them is for all. 0 if there are none. */
static int read_kinds_of_layers(const json_model *m, const cJSON *rope, posenc_rope_params common) {
    const cJSON *field;
    int n = 0;
    cJSON_ArrayForEach(field, rope) n += cJSON_IsObject(field);
    if (n == 0)
        return 0;
    cJSON_ArrayForEach(field, rope) if (!cJSON_IsObject(field)) read_field(m, &common, field, 1);
    cJSON_ArrayForEach(field, rope) {
        model_table *table = cJSON_IsObject(field) ? new_table(m, field->string, &common) : NULL;
        if (table != NULL)
            read_fields(m, &table->params, field, 1);
    }
    return 1;
}

/* Layers with a sliding window may also have a base of their own, and then no scaling. */
static void read_tables(const json_model *m) {
    posenc_rope_params common = common_params(m);
    const cJSON *rope = json_find(m->text, NAMES("rope_parameters", "rope_scaling"));
    if (rope != NULL && !cJSON_IsObject(rope))
        reader_fail(m->r, "\"%s\" is no object; correct it", rope->string);
    if (read_kinds_of_layers(m, rope, common))
        return;
    const cJSON *local_base = json_find(m->text, NAMES("rope_local_base_freq"));
    model_table *table = new_table(m, local_base != NULL ? "full_attention" : "", &common);
    read_fields(m, &table->params, rope, 1);
    if (local_base == NULL)
        return;
    common.base = json_number(m->r, m->text, NAMES("rope_local_base_freq"), common.base, 1.0, 1e30);
    new_table(m, "sliding_attention", &common);
}

/* In the model's object, that of its RoPE, or one inside that. */
static int states_base(const cJSON *object) {
    const cJSON *field;
    if (json_find(object, NAMES("rope_theta", "rotary_emb_base")) != NULL)
        return 1;
    cJSON_ArrayForEach(field, object) if (cJSON_IsObject(field) && states_base(field)) return 1;
    return 0;
}

/* An unknown type implies nothing: what the file does not state either is a guess. */
static void note_guesses(const json_model *m) {
    model_config *c = m->config;
    if (m->type == NULL)
        snprintf(c->guessed, sizeof c->guessed, "half-split%s", states_base(m->text) ? "" : ", base 10000");
}

static void read_rope(const json_model *m) {
    model_config *c = m->config;
    c->has_qk_norm = m->type != NULL && m->type->has_qk_norm;
    c->q = (rotated_tensor){c->n_heads, c->head_dim, 0};
    c->k = (rotated_tensor){c->n_kv_heads, c->head_dim, 0};
    read_tables(m);
    note_guesses(m);

    /* Multi-head latent attention: the rotated channels come last, in Q behind those of each head, in K once for all
     * heads behind the compressed keys and values. */
    int64_t n_rot = json_count(m->r, m->text, NAMES("qk_rope_head_dim"));
    if (n_rot == 0)
        return;
    int64_t unrotated = json_count(m->r, m->text, NAMES("qk_nope_head_dim"));
    int64_t compressed = json_count(m->r, m->text, NAMES("kv_lora_rank"));
    c->q = (rotated_tensor){c->n_heads, unrotated + n_rot, unrotated};
    c->k = (rotated_tensor){1, compressed + n_rot, compressed};
    for (int k = 0; k < c->n_tables; k++)
        c->tables[k].params.n_rot = n_rot;
}

/* ---- The whole ---- */

static void interpret(reader *r, const cJSON *json, model_config *c) {
    json_model m = {.r = r, .config = c, .text = json};
    /* Models that also see or hear keep the part that is wanted here inside. */
    const cJSON *text = json_find(json, NAMES("text_config"));
    if (cJSON_IsObject(text) && json_find(json, NAMES("num_attention_heads")) == NULL)
        m.text = text;
    m.attention = json_find(m.text, NAMES("attn_config"));
    const cJSON *architectures = json_find(json, NAMES("architectures"));
    const char *architecture = cJSON_GetStringValue(cJSON_GetArrayItem(architectures, 0));
    snprintf(c->architecture, sizeof c->architecture, "%s", architecture != NULL ? architecture : "");
    snprintf(c->model_type, sizeof c->model_type, "%s", json_string(m.text, NAMES("model_type")));
    m.type = model_type_of_json(c->model_type);
    read_heads(&m);
    c->kind = find_kind(&m);
    if (c->kind == POSITION_ROPE && !r->failed)
        read_rope(&m);
}

void model_read_json(reader *r, model_config *config) {
    cJSON *json = json_read(r);
    if (!r->failed)
        interpret(r, json, config);
    cJSON_Delete(json);
}
