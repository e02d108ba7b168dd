#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cJSON.h>

#include "model_types.h"

/* No config.json is near this large; weights are. */
#define LARGEST_FILE (16L << 20)

/* What reading goes through; the first complaint stays. */
typedef struct reader {
    const char *path;
    char *error;
    size_t error_size;
    int failed;
} reader;

__attribute__((format(printf, 2, 3))) static void fail(reader *r, const char *format, ...) {
    if (r->failed)
        return;
    r->failed = 1;
    int used = snprintf(r->error, r->error_size, "%s: ", r->path);
    if (used < 0 || (size_t)used >= r->error_size)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(r->error + used, r->error_size - (size_t)used, format, values);
    va_end(values);
}

/* ---- The file ---- */

static char *read_text(reader *r) {
    struct stat status;
    if (stat(r->path, &status) != 0) {
        fail(r, "%s; give the path of a model's config.json", strerror(errno));
        return NULL;
    }
    if (S_ISDIR(status.st_mode)) {
        fail(r, "this is a directory; give the file in it: %s/config.json", r->path);
        return NULL;
    }
    if (status.st_size > LARGEST_FILE) {
        fail(r, "too large for a config.json; give the small JSON file that lies beside the weights");
        return NULL;
    }
    FILE *file = fopen(r->path, "rb");
    char *text = malloc((size_t)status.st_size + 1);
    size_t n = file != NULL && text != NULL ? fread(text, 1, (size_t)status.st_size, file) : 0;
    if (file == NULL || text == NULL || ferror(file)) {
        fail(r, "cannot be read: %s", strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[n] = '\0';
    }
    if (file != NULL)
        fclose(file);
    return text;
}

/* Line and column, from 1, of a place in the text. */
static void place_in(const char *text, const char *at, int *line, int *column) {
    *line = *column = 1;
    for (; text < at; text++)
        if (*text == '\n') {
            ++*line;
            *column = 1;
        } else {
            ++*column;
        }
}

static cJSON *parse(reader *r, const char *text) {
    const char *end = text;
    cJSON *json = cJSON_ParseWithOpts(text, &end, 1);
    if (json == NULL) {
        int line, column;
        place_in(text, end, &line, &column);
        if (*end == '\0')
            fail(r, "the JSON ends too early, at line %d, column %d; fetch the file again", line, column);
        else
            fail(r, "no valid JSON near line %d, column %d; correct it there, or fetch the file again", line, column);
    } else if (!cJSON_IsObject(json)) {
        fail(r, "the JSON is no object; give a model's config.json");
    }
    return json;
}

/* ---- Fields, which go by several names ---- */

/* The first of the names (NULL ends them) that is there and not null. */
static const cJSON *find(const cJSON *object, const char *const *names) {
    for (; *names != NULL; names++) {
        const cJSON *field = cJSON_GetObjectItemCaseSensitive(object, *names);
        if (field != NULL && !cJSON_IsNull(field))
            return field;
    }
    return NULL;
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static double number(reader *r, const cJSON *object, const char *const *names, double fallback, double low,
                     double high) {
    const cJSON *field = find(object, names);
    if (field == NULL)
        return fallback;
    if (!cJSON_IsNumber(field))
        fail(r, "\"%s\" is no number; correct it", field->string);
    else if (!(field->valuedouble >= low && field->valuedouble <= high))
        fail(r, "\"%s\" is %g, which makes no sense; expected %g .. %g", field->string, field->valuedouble, low, high);
    else
        return field->valuedouble;
    return fallback;
}

/* A count, from 1 to 2^20; 0 where it is not stated. */
static int64_t count(reader *r, const cJSON *object, const char *const *names) {
    double value = number(r, object, names, 0.0, 1.0, 0x1p20);
    if (value != floor(value))
        fail(r, "\"%s\" is %g, but must be a whole number", find(object, names)->string, value);
    return (int64_t)value;
}

static const char *string(const cJSON *object, const char *const *names) {
    const cJSON *field = find(object, names);
    return cJSON_IsString(field) ? field->valuestring : "";
}

static int is_true(const cJSON *object, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* ---- Kind ---- */

static const model_type *type_named(const char *name) {
    for (size_t i = 0; i < sizeof model_types / sizeof model_types[0]; i++)
        if (strcmp(name, model_types[i].name) == 0)
            return &model_types[i];
    return NULL;
}

static const char *const rope_keys[] = {"rope_theta", "rope_scaling", "rope_parameters",       "rotary_emb_base",
                                        "rotary_pct", "rotary_dim",   "partial_rotary_factor", "rope_ratio",
                                        NULL};

static position_kind find_kind(const cJSON *json, const cJSON *attention, const model_type *type) {
    const char *stated = string(json, NAMES("position_embedding_type", "position_embeddings_type"));
    if (is_true(json, "alibi") || is_true(attention, "alibi") || strcmp(stated, "alibi") == 0)
        return POSITION_ALIBI;
    if (is_true(attention, "rope") || strncmp(stated, "rop", 3) == 0 || strcmp(stated, "rotary") == 0)
        return POSITION_ROPE;
    if (type != NULL)
        return type->kind;
    if (find(json, rope_keys) != NULL)
        return POSITION_ROPE;
    return strcmp(stated, "absolute") == 0 ? POSITION_LEARNED : POSITION_UNKNOWN;
}

/* ---- RoPE ---- */

/* Newer files have rope_theta and its companions inside rope_parameters, perhaps once per kind of layer: then the
 * layers with full attention count. */
static const cJSON *rope_object(const cJSON *json) {
    const cJSON *object = find(json, NAMES("rope_scaling", "rope_parameters"));
    const cJSON *full = cJSON_GetObjectItemCaseSensitive(object, "full_attention");
    return cJSON_IsObject(full) ? full : object;
}

static void read_scaling(reader *r, const cJSON *object, model_config *c) {
    const char *type = string(object, NAMES("rope_type", "type"));
    if (object != NULL && !cJSON_IsObject(object))
        fail(r, "\"%s\" is no object; correct it", object->string);
    if (cJSON_GetObjectItemCaseSensitive(object, "mrope_section") != NULL)
        type = "mrope";
    else if (type[0] == '\0' && find(object, NAMES("factor", "short_factor")) != NULL)
        type = "unnamed";
    if (strcmp(type, "default") == 0)
        type = "";
    snprintf(c->scaling_type, sizeof c->scaling_type, "%s", type);
    c->scaling = type[0] != '\0' ? object : NULL;
}

static void read_rope(reader *r, const cJSON *json, const cJSON *attention, const model_type *type, model_config *c) {
    const cJSON *rope = rope_object(json);
    read_scaling(r, rope, c);
    const char *const *base_names = NAMES("rope_theta", "rotary_emb_base");
    const char *const *part_names = NAMES("partial_rotary_factor", "rotary_pct");
    c->base = number(r,
                     find(rope, base_names)   ? rope
                     : find(json, base_names) ? json
                                              : attention,
                     base_names, 10000.0, 1.0, 1e30);
    c->base *= number(r, json, NAMES("rope_ratio"), 1.0, 1e-3, 1e12); /* ChatGLM: a factor on the base */
    double part =
        number(r, find(rope, part_names) ? rope : json, part_names, type != NULL ? type->rotated_part : 1.0, 0.0, 1.0);
    c->layout = type != NULL && type->layout != POSENC_ROPE_LAYOUT_UNSET ? type->layout : POSENC_ROPE_HALF;
    c->n_rot = count(r, json, NAMES("rotary_dim", "qk_rope_head_dim"));
    if (c->n_rot == 0)
        c->n_rot = (int64_t)((double)c->head_dim * part);
    c->q = (rotated_tensor){c->n_heads, c->head_dim, 0};
    c->k = (rotated_tensor){c->n_kv_heads, c->head_dim, 0};

    /* Multi-head latent attention: the rotated channels come last in Q, and K has them once for all heads. */
    if (find(json, NAMES("qk_rope_head_dim")) != NULL) {
        int64_t unrotated = count(r, json, NAMES("qk_nope_head_dim"));
        c->q = (rotated_tensor){c->n_heads, unrotated + c->n_rot, unrotated};
        c->k = (rotated_tensor){1, c->n_rot, 0};
    } else if (c->n_rot > c->head_dim) {
        fail(r, "%lld channels are to be rotated, but a head has %lld; correct rotary_dim or head_dim",
             (long long)c->n_rot, (long long)c->head_dim);
    }
    if (c->n_rot % 2 != 0)
        fail(r, "%lld channels are to be rotated, but RoPE needs an even number; correct head_dim or the rotated part",
             (long long)c->n_rot);
}

/* ---- The whole ---- */

static void read_heads(reader *r, const cJSON *json, const cJSON *attention, model_config *c) {
    c->hidden_size = count(r, json, NAMES("hidden_size", "n_embd", "d_model"));
    c->n_heads = count(r, json, NAMES("num_attention_heads", "n_head", "n_heads", "num_heads"));
    c->n_layers = count(r, json, NAMES("num_hidden_layers", "n_layer", "n_layers", "num_layers"));
    c->max_position = (int64_t)number(
        r, json, NAMES("max_position_embeddings", "n_positions", "seq_length", "max_seq_len"), 0.0, 1.0, 0x1p31 - 1.0);
    if (c->n_heads == 0)
        fail(r, "there is no num_attention_heads (or n_head, n_heads); is this a Transformer's config.json?");
    c->n_kv_heads = count(r, json, NAMES("num_key_value_heads", "num_kv_heads", "multi_query_group_num"));
    if (c->n_kv_heads == 0)
        c->n_kv_heads = count(r, attention, NAMES("kv_n_heads"));
    if (is_true(json, "multi_query") && !is_true(json, "new_decoder_architecture") &&
        find(json, NAMES("multi_query_group_num")) == NULL)
        c->n_kv_heads = 1; /* Falcon, whose num_kv_heads does not count then */
    if (c->n_kv_heads == 0)
        c->n_kv_heads = c->n_heads;
    if (c->n_kv_heads > c->n_heads || (c->n_heads > 0 && c->n_heads % c->n_kv_heads != 0))
        fail(r, "%lld key-value heads cannot serve %lld heads; correct num_key_value_heads", (long long)c->n_kv_heads,
             (long long)c->n_heads);
    c->head_dim = count(r, json, NAMES("head_dim", "kv_channels"));
    if (c->head_dim == 0 && c->n_heads > 0) {
        if (c->hidden_size == 0)
            fail(r, "there is neither head_dim nor hidden_size; add one of them");
        else if (c->hidden_size % c->n_heads != 0)
            fail(r, "hidden_size %lld is no multiple of %lld heads; correct one, or add head_dim",
                 (long long)c->hidden_size, (long long)c->n_heads);
        c->head_dim = c->hidden_size / c->n_heads;
    }
}

static void interpret(reader *r, model_config *c) {
    const cJSON *json = c->json;
    /* Models that also see or hear keep the part that is wanted here inside. */
    const cJSON *text = find(json, NAMES("text_config"));
    if (cJSON_IsObject(text) && find(json, NAMES("num_attention_heads")) == NULL)
        json = text;
    const cJSON *attention = find(json, NAMES("attn_config"));
    const cJSON *architectures = find(c->json, NAMES("architectures"));
    const char *architecture = cJSON_GetStringValue(cJSON_GetArrayItem(architectures, 0));
    snprintf(c->architecture, sizeof c->architecture, "%s", architecture != NULL ? architecture : "");
    snprintf(c->model_type, sizeof c->model_type, "%s", string(json, NAMES("model_type")));

    const model_type *type = type_named(c->model_type);
    read_heads(r, json, attention, c);
    c->kind = find_kind(json, attention, type);
    if (c->kind == POSITION_ROPE)
        read_rope(r, json, attention, type, c);
    else if (c->kind == POSITION_UNKNOWN)
        fail(r,
             "model_type \"%s\" is unknown, and no rope_theta, alibi or position_embedding_type tells its positions; "
             "add the one that applies",
             c->model_type);
}

int model_read(const char *path, model_config *config, char *error, size_t error_size) {
    reader r = {path, error, error_size, 0};
    *config = (model_config){.json = NULL};
    char *text = read_text(&r);
    if (text != NULL)
        config->json = parse(&r, text);
    free(text);
    if (!r.failed)
        interpret(&r, config);
    if (r.failed)
        model_free(config);
    return !r.failed;
}

void model_free(model_config *config) {
    cJSON_Delete(config->json);
    config->json = NULL;
}
