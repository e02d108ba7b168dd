/* SPDX-License-Identifier: MIT */
/* RoPE in a config.json: fields by their published names, and a table for each kind of layers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model_json.h"

/* Of hybrids: the indices of the layers that are attention. */
#define ATTENTION_LISTS NAMES("full_attn_idxs", "attn_layer_indices")

/* ---- Fields ---- */

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
    if (reader_set_string(m->r, params, field->string, field->valuestring))
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
    int matters = inside || json_is_of_rope(name);
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

/* What the tool itself makes use of, beside the library; and fields that say what is done anyway. */
static int is_known_here(const cJSON *field) {
    static const char *const names[] = {"rope_scaling",      "rope_parameters",       "rope_local_base_freq",
                                        "rope_ratio",        "qk_rope_head_dim",      "rope_interleave",
                                        "mrope_interleaved", "global_rope_theta",     "local_rope_theta",
                                        "no_rope_layers",    "no_rope_layer_interval"};
    static const struct {
        const char *name;
        int value;
    } as_done[] = {{"original_rope", 1}, {"rotary", 1}, {"rope_interleaved", 0}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(field->string, names[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof as_done / sizeof as_done[0]; i++)
        if (strcmp(field->string, as_done[i].name) == 0 && cJSON_IsBool(field))
            return cJSON_IsTrue(field) == as_done[i].value;
    return 0;
}

/* Asked once for an object, and not for each field, as it looks through them all. */
static int has_newer_type(const cJSON *object) {
    return json_find(object, NAMES("rope_type")) != NULL;
}

/* The older name, beside the newer one: it does not count, wherever it stands. */
static int is_overruled(const cJSON *field, int has_newer) {
    return has_newer && strcmp(field->string, "type") == 0;
}

static void read_fields(const json_model *m, posenc_rope_params *params, const cJSON *object, int inside) {
    const cJSON *field;
    if (!cJSON_IsObject(object)) /* items of an array have no names */
        return;
    if (inside && (m->type->axes == POSENC_AXES_IMROPE || json_is_true(object, "mrope_interleaved")))
        params->axes.kind = POSENC_AXES_IMROPE;
    int has_newer = inside && has_newer_type(object);
    cJSON_ArrayForEach(field, object) {
        if (!is_known_here(field) && !is_overruled(field, has_newer))
            read_field(m, params, field, inside);
    }
    if (inside && params->axes.n_axes == 0)
        params->axes.kind = POSENC_AXES_SINGLE;
}

/* ---- Tables ---- */

/* rope_interleave tells it of the classes that have it, which write interleaved pairs half-split. */
static posenc_rope_layout find_layout(const json_model *m) {
    const cJSON *stated = json_find(m->text, NAMES("rope_interleave"));
    if (stated != NULL && !cJSON_IsTrue(stated))
        return POSENC_ROPE_HALF;
    if (m->type->layout != POSENC_ROPE_LAYOUT_UNSET)
        return m->type->layout;
    return stated != NULL ? POSENC_ROPE_DEINTERLEAVE : POSENC_ROPE_HALF;
}

/* What all layers have in common. */
static posenc_rope_params common_params(const json_model *m) {
    model_config *c = m->config;
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = find_layout(m);
    params.rot_fraction = m->type->rotated_part != 0.0 ? m->type->rotated_part : 1.0;
    params.base = m->type->base != 0.0 ? m->type->base : params.base;
    read_fields(m, &params, m->attention, 0);
    read_fields(m, &params, m->text, 0);
    params.base = json_number(m->r, m->text, NAMES("global_rope_theta"), params.base, 1.0, 1e30);
    params.head_dim = c->head_dim;
    params.scaling.max_context = (double)c->max_position;
    params.base *= json_number(m->r, m->text, NAMES("rope_ratio"), 1.0, 1e-3, 1e12); /* ChatGLM: a factor on the base */
    return params;
}

static void take_interval(const json_model *m, const char *const *names, int64_t *every) {
    const cJSON *field = json_find(m->text, names);
    if (cJSON_IsNumber(field) && field->valueint > 0)
        *every = field->valueint;
}

/* Its first element; NULL if the list is missing or empty. */
static const cJSON *first_of_list(const json_model *m, const char *name) {
    const cJSON *list = json_find(m->text, NAMES(name));
    return cJSON_IsArray(list) ? list->child : NULL;
}

/* The first index of the layers that are attention, where the others of a hybrid have no Q and K. NULL: no list, or one
 * that is not understood: these ascend. */
static const cJSON *first_attention_layer(const json_model *m) {
    const cJSON *list = json_find(m->text, ATTENTION_LISTS), *index;
    double least = 0.0;
    if (!cJSON_IsArray(list))
        return NULL;
    cJSON_ArrayForEach(index, list) {
        double i = cJSON_IsNumber(index) ? index->valuedouble : -1.0;
        if (!(i >= least && i < (double)m->config->n_layers && i == floor(i)))
            return NULL;
        least = i + 1.0;
    }
    return list->child;
}

/* Beyond the model's own layers some files list those that predict further tokens: 1 to 3 of them. */
enum { MOST_FURTHER_LAYERS = 16 };

/* A list that says something of each layer. */
static void check_length(const json_model *m, const char *name) {
    const int64_t n_layers = m->config->n_layers;
    const cJSON *first = first_of_list(m, name);
    int64_t n = first != NULL ? cJSON_GetArraySize(json_find(m->text, NAMES(name))) : n_layers;
    if (n_layers > 0 && (n < n_layers || n > n_layers + MOST_FURTHER_LAYERS))
        reader_fail(m->r, "\"%s\" is a list of %lld for %lld layers; correct it, or num_hidden_layers", name,
                    (long long)n, (long long)n_layers);
}

/* Layers that use the table of that name ("": of any); 0 where the file does not tell. */
static int64_t count_layers(const json_model *m, const char *name) {
    const cJSON *type = first_of_list(m, "layer_types");
    const cJSON *attention = type == NULL ? first_attention_layer(m) : NULL;
    const int has_list = attention != NULL;
    const cJSON *rotates = first_of_list(m, "no_rope_layers"); /* in spite of its name, 1 is a layer with RoPE */
    int64_t n = 0, n_layers = m->config->n_layers;
    if (n_layers == 0 && type != NULL)
        n_layers = cJSON_GetArraySize(json_find(m->text, NAMES("layer_types")));
    layer_pattern pattern = m->type->layers;
    if (pattern.only_if_windows && cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(m->text, "sliding_window")))
        pattern = (layer_pattern){0};
    take_interval(m, NAMES("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"),
                  &pattern.full_every);
    take_interval(m, NAMES("no_rope_layer_interval"), &pattern.unrotated_every);
    if (type == NULL) /* layer_types tells it itself */
        take_interval(m, NAMES("full_attention_interval"), &pattern.attention_every);
    if (rotates != NULL)
        pattern.unrotated_every = 0;
    for (int64_t i = 0; i < n_layers; i++) {
        const char *kind = cJSON_IsString(type) ? type->valuestring : layer_kind(&pattern, i);
        int is_listed = attention != NULL && attention->valuedouble == (double)i;
        if (has_list)
            kind = is_listed ? "full_attention" : "conv";
        attention = is_listed ? attention->next : attention;
        int is_unrotated = cJSON_IsNumber(rotates) && rotates->valueint == 0;
        n += !is_unrotated && layer_rotates(&pattern, i, kind) && (name[0] == '\0' || strcmp(kind, name) == 0);
        type = type != NULL ? type->next : NULL;
        rotates = rotates != NULL ? rotates->next : NULL;
    }
    return n;
}

/* Of the layers with a sliding window, where it is not that of the others. */
static double local_base(const json_model *m, double base) {
    double implied = m->type->local_base != 0.0 ? m->type->local_base : base;
    return json_number(m->r, m->text, NAMES("rope_local_base_freq", "local_rope_theta"), implied, 1.0, 1e30);
}

/* Layers that see all keys may have heads of their own. */
static void read_full_heads(const json_model *m, model_table *table) {
    int64_t head_dim = json_count(m->r, m->text, NAMES("global_head_dim"));
    int64_t n_kv_heads = json_count(m->r, m->text, NAMES("num_global_key_value_heads"));
    if (head_dim == 0)
        head_dim = m->type->full_head_dim;
    if (head_dim != 0)
        table->q.head_dim = table->k.head_dim = head_dim;
    if (n_kv_heads != 0 && json_is_true(m->text, "attention_k_eq_v")) /* without it the class takes no notice */
        table->k.n_heads = n_kv_heads;
}

static model_table *new_table(const json_model *m, const char *name, const posenc_rope_params *like) {
    model_table *table = reader_new_table(m->r, m->config, name, like);
    if (table == NULL)
        return NULL;
    table->n_layers = count_layers(m, name);
    if (strcmp(name, "sliding_attention") == 0)
        table->params.base = local_base(m, like->base);
    else if (strcmp(name, "full_attention") == 0)
        read_full_heads(m, table);
    return table;
}

/* An object inside the object for each kind of layers. What stands beside them is for all. 0 if there are none. */
static int read_kinds_of_layers(const json_model *m, const cJSON *rope, posenc_rope_params common) {
    const cJSON *field;
    int n = 0;
    cJSON_ArrayForEach(field, rope) n += cJSON_IsObject(field);
    if (n == 0)
        return 0;
    int has_newer = has_newer_type(rope);
    cJSON_ArrayForEach(field, rope) {
        if (!cJSON_IsObject(field) && !is_overruled(field, has_newer))
            read_field(m, &common, field, 1);
    }
    cJSON_ArrayForEach(field, rope) {
        model_table *table = cJSON_IsObject(field) ? new_table(m, field->string, &common) : NULL;
        if (table != NULL)
            read_fields(m, &table->params, field, 1);
    }
    return 1;
}

/* More fields than either object has. */
enum { MOST_SCALING_FIELDS = 64 };

/* 1 if both are written alike. cJSON_Compare would take time exponential in the depth. */
static int is_written_alike(const cJSON *a, const cJSON *b) {
    char *first = cJSON_PrintUnformatted(a), *second = cJSON_PrintUnformatted(b);
    int alike = first != NULL && second != NULL && strcmp(first, second) == 0;
    cJSON_free(first);
    cJSON_free(second);
    return alike;
}

/* 1 if two objects have the same fields, in any order. */
static int has_same_fields(const cJSON *a, const cJSON *b) {
    const cJSON *field;
    int n = cJSON_GetArraySize(a);
    if (n != cJSON_GetArraySize(b) || n > MOST_SCALING_FIELDS) /* each is looked for */
        return 0;
    cJSON_ArrayForEach(field, a) {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(b, field->string);
        if (other == NULL || !is_written_alike(field, other))
            return 0;
    }
    return 1;
}

/* What is told of the frequencies, in one object, or in one for each kind of layers. rope_scaling, the older name, goes
 * before the other, as transformers has it. NULL: nothing. */
static const cJSON *find_rope(const json_model *m) {
    const cJSON *scaling = json_find(m->text, NAMES("rope_scaling"));
    const cJSON *parameters = json_find(m->text, NAMES("rope_parameters"));
    const cJSON *both[] = {scaling, parameters};
    for (int i = 0; i < 2; i++)
        if (both[i] != NULL && !cJSON_IsObject(both[i])) {
            reader_fail(m->r, "\"%s\" is no object; correct it", both[i]->string);
            return NULL; /* its items would have no names */
        }
    if (cJSON_GetArraySize(scaling) == 0)
        return parameters;
    if (parameters != NULL && !has_same_fields(scaling, parameters))
        reader_not_understood(m->config, "rope_parameters beside rope_scaling");
    return scaling;
}

/* Layers with a sliding window may also have a base of their own, and then no scaling. */
static void read_tables(const json_model *m) {
    posenc_rope_params common = common_params(m);
    const cJSON *rope = find_rope(m);
    if (read_kinds_of_layers(m, rope, common))
        return;
    int has_local_base = local_base(m, 0.0) != 0.0;
    model_table *table = new_table(m, has_local_base ? "full_attention" : "", &common);
    read_fields(m, &table->params, rope, 1);
    if (m->type->axes != POSENC_AXES_SINGLE && table->params.axes.n_axes == 0)
        reader_set_sections(m->r, &table->params, m->type->axes, m->type->sections, 3);
    if (rope == NULL && m->type->full_proportion != 0.0) {
        table->params.scaling.type = POSENC_SCALING_PROPORTIONAL;
        table->params.scaling.proportion = m->type->full_proportion;
    }
    if (has_local_base)
        new_table(m, "sliding_attention", &common);
}

/* Lists of the layers that are attention, or that have a window, where layer_types does not tell it. */
static void note_unread_layers(const json_model *m) {
    static const char *const names[] = {"attn_type_list", "layers_block_type", "block_types", "_block_types"};
    if (first_of_list(m, "layer_types") != NULL)
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (json_find(m->text, NAMES(names[i])) != NULL)
            reader_not_understood(m->config, names[i]);
    if (cJSON_IsString(json_find(m->text, NAMES("sliding_window_pattern")))) /* "LLLG"; a number is an interval */
        reader_not_understood(m->config, "sliding_window_pattern");
    const cJSON *list = json_find(m->text, ATTENTION_LISTS);
    if (list != NULL && first_attention_layer(m) == NULL)
        reader_not_understood(m->config, list->string);
}

/* What bears on positions or on which layers have them, by names that do not speak of RoPE, and is not made use of. */
static void note_unread(const json_model *m) {
    static const char *const names[] = {"linear_attn_config", "cross_attention_layers", "use_dynamic_ntk",
                                        "use_logn_attn", "attn_temperature_tuning"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *field = json_find(m->text, NAMES(names[i]));
        int is_nothing = cJSON_IsFalse(field) || (cJSON_IsNumber(field) && field->valuedouble == 0.0) ||
                         (cJSON_IsArray(field) && field->child == NULL);
        if (field != NULL && !is_nothing)
            reader_not_understood(m->config, names[i]);
    }
    note_unread_layers(m);
}

/* In the model's object, that of its RoPE, or one inside that. */
static int states(const cJSON *object, const char *const *names) {
    const cJSON *field;
    if (json_find(object, names) != NULL)
        return 1;
    cJSON_ArrayForEach(field, object) if (cJSON_IsObject(field) && states(field, names)) return 1;
    return 0;
}

/* Classes differ in where the axes' pairs are, and not all of them look at mrope_interleaved. */
static int guesses_sections(const json_model *m) {
    int n = 0;
    for (int k = 0; k < m->config->n_tables; k++)
        n += m->config->tables[k].params.axes.kind == POSENC_AXES_MROPE;
    return n > 0 && m->type->kind == POSITION_UNKNOWN && !states(m->text, NAMES("mrope_interleaved"));
}

/* Towers for images rotate by rows and columns, each in its own way, or by their patches' index. */
static int guesses_one_axis(const json_model *m) {
    int n = 0;
    for (int k = 0; k < m->config->n_tables; k++)
        n += m->config->tables[k].params.axes.kind == POSENC_AXES_SINGLE;
    return n > 0 && m->type->kind == POSITION_UNKNOWN && json_find(m->text, NAMES("patch_size", "image_size")) != NULL;
}

static void note_guess(model_config *c, const char *guess) {
    size_t used = strlen(c->guessed);
    snprintf(c->guessed + used, sizeof c->guessed - used, "%s%s", used > 0 ? ", " : "", guess);
}

/* What neither the file states nor its type implies. */
static void note_guesses(const json_model *m) {
    if (m->type->layout == POSENC_ROPE_LAYOUT_UNSET && !cJSON_IsBool(json_find(m->text, NAMES("rope_interleave"))))
        note_guess(m->config, "half-split");
    if (m->type->base == 0.0 && !states(m->text, NAMES("rope_theta", "rotary_emb_base", "global_rope_theta")))
        note_guess(m->config, "base 10000");
    if (guesses_sections(m))
        note_guess(m->config, "sections one after the other");
    if (guesses_one_axis(m))
        note_guess(m->config, "one position a token");
}

void model_json_read_rope(const json_model *m) {
    model_config *c = m->config;
    c->has_qk_norm = m->type->has_qk_norm || (m->type->states_qk_norm && json_is_true(m->text, "use_qk_norm"));
    if (json_is_true(m->text, "position_encoding_2d")) /* the first ChatGLM */
        reader_fail(m->r, "\"position_encoding_2d\" is true: each token has two positions, which posenc model does not "
                          "read; of ChatGLM it reads the second and later");
    check_length(m, "layer_types");
    check_length(m, "no_rope_layers");
    if (m->r->failed)
        return;
    read_tables(m);
    note_unread(m);
    note_guesses(m);

    /* Multi-head latent attention: the rotated channels come last, in Q behind those of each head, in K once for all
     * heads behind the compressed keys and values. */
    int64_t n_rot = json_count(m->r, m->text, NAMES("qk_rope_head_dim"));
    if (n_rot == 0)
        return;
    int64_t unrotated = json_count(m->r, m->text, NAMES("qk_nope_head_dim"));
    int64_t compressed = json_count(m->r, m->text, NAMES("kv_lora_rank"));
    for (int k = 0; k < c->n_tables; k++) {
        c->tables[k].q = (rotated_tensor){c->n_heads, unrotated + n_rot, unrotated};
        c->tables[k].k = (rotated_tensor){1, compressed + n_rot, compressed};
        c->tables[k].params.n_rot = n_rot;
    }
}
