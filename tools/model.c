/* SPDX-License-Identifier: MIT */
/* Reading a model: which format it is, and what both have in common afterwards. */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model_reader.h"

/* ---- What the formats share ---- */

void reader_fail(reader *r, const char *format, ...) {
    if (r->failed)
        return;
    r->failed = 1;
    va_list values;
    va_start(values, format);
    vsnprintf(r->error, r->error_size, format, values);
    va_end(values);
}

int reader_set_number(reader *r, posenc_rope_params *params, const char *name, double value) {
    posenc_status status = posenc_rope_set_number(params, name, value);
    if (status == POSENC_ERR_N_ROT)
        reader_fail(r, "\"%s\" is %g; as a part of the channels it has to be above 0 and at most 1: correct it", name,
                    value);
    else if (status == POSENC_ERR_SHAPE)
        reader_fail(r, "\"%s\" is %g; it has to be a whole number: correct it", name, value);
    return status != POSENC_ERR_ENUM;
}

int reader_set_string(reader *r, posenc_rope_params *params, const char *name, const char *value) {
    posenc_rope_params other = *params;
    int is_known = posenc_rope_set_string(params, name, value) == POSENC_OK;
    if (is_known || posenc_rope_set_string(&other, name, "none") != POSENC_OK)
        return is_known;
    reader_fail(r,
                "\"%s\" is \"%.48s\", a scaling that posenc does not have; it has default, linear, dynamic, yarn, "
                "longrope, llama3 and proportional",
                name, value);
    return 1;
}

void reader_check_no_number(reader *r, const char *name) {
    posenc_rope_params any = POSENC_ROPE_DEFAULTS;
    if (posenc_rope_set_number(&any, name, 1.0) != POSENC_ERR_ENUM)
        reader_fail(r, "\"%s\" is no number; correct it", name);
}

int reader_set_list(reader *r, posenc_rope_params *params, const char *name, const double *values, int64_t n) {
    posenc_status status = posenc_rope_set_list(params, name, values, n);
    if (status == POSENC_ERR_FACTORS)
        reader_fail(r, "\"%s\" has %lld numbers, and another list of factors has %lld; correct one of them", name,
                    (long long)n, (long long)params->scaling.n_factors);
    return status != POSENC_ERR_ENUM;
}

void reader_not_understood(model_config *c, const char *name) {
    size_t used = strlen(c->not_understood);
    snprintf(c->not_understood + used, sizeof c->not_understood - used, "%s%s", used > 0 ? ", " : "", name);
}

double *reader_new_list(reader *r, model_config *c, size_t n) {
    int k = 0;
    while (k < MODEL_MOST_LISTS && c->lists[k] != NULL)
        k++;
    if (k == MODEL_MOST_LISTS || (c->lists[k] = malloc((n + 1) * sizeof(double))) == NULL) {
        reader_fail(r, "has too many lists of factors");
        return NULL;
    }
    return c->lists[k];
}

model_table *reader_new_table(reader *r, model_config *c, const char *name, const posenc_rope_params *like) {
    if (c->n_tables == MODEL_MOST_TABLES) {
        reader_fail(r, "has more than %d kinds of layers", MODEL_MOST_TABLES);
        return NULL;
    }
    model_table *table = &c->tables[c->n_tables++];
    *table = (model_table){
        .q = {c->n_heads, c->head_dim, 0}, .k = {c->n_kv_heads, c->head_dim, 0}, .params = POSENC_ROPE_DEFAULTS};
    if (like != NULL)
        table->params = *like;
    snprintf(table->name, sizeof table->name, "%s", name);
    return table;
}

void reader_set_sections(reader *r, posenc_rope_params *params, posenc_axes_kind kind, const double *sections,
                         uint64_t n) {
    if (n < 2 || n > POSENC_MAX_AXES) {
        reader_fail(r, "M-RoPE has %llu sections, but 2 to %d are possible", (unsigned long long)n, POSENC_MAX_AXES);
        return;
    }
    params->axes = (posenc_rope_axes){.kind = kind, .n_axes = (int)n};
    for (uint64_t a = 0; a < n; a++) {
        if (!(sections[a] >= 0.0 && sections[a] <= 1e6 && sections[a] == floor(sections[a])))
            reader_fail(r, "\"%s\" holds %g, and a section is a number of pairs; correct it",
                        r->is_gguf ? "rope.dimension_sections" : "mrope_section", sections[a]);
        else
            params->axes.sections[a] = (int64_t)sections[a];
    }
}

/* ---- Lengths of the context ---- */

/* LongRoPE has one list up to the original context and one beyond: both are of interest, unless a length was given. */
static void split_longrope(reader *r, model_config *c, model_table *table) {
    posenc_rope_scaling *s = &table->params.scaling;
    double original = s->original_context != 0.0 ? s->original_context : s->max_context;
    s->context = original;
    if (s->max_context <= original)
        return;
    model_table *beyond = reader_new_table(r, c, "", &table->params);
    if (beyond == NULL)
        return;
    beyond->params.scaling.context = s->max_context;
    beyond->q = table->q; /* of latent attention they are not those of the model */
    beyond->k = table->k;
    beyond->n_layers = table->n_layers;
    beyond->is_alternative = 1;
    snprintf(table->name, sizeof table->name, "up to %.0f positions", original);
    snprintf(beyond->name, sizeof beyond->name, "beyond %.0f positions", original);
}

static void choose_context(reader *r, model_config *c, model_table *table, double context) {
    posenc_rope_scaling *s = &table->params.scaling;
    s->context = context;
    if (context != 0.0)
        return;
    if (s->type == POSENC_SCALING_LONGROPE)
        split_longrope(r, c, table);
    else if (s->type == POSENC_SCALING_DYNAMIC) /* below that it changes nothing */
        s->context = s->factor * (s->max_context != 0.0 ? s->max_context : s->original_context);
}

/* ---- Checks ---- */

/* Far more than any model has; beyond it, checking would take minutes. */
enum { MOST_HEADS = 4096, MOST_HEAD_DIM = 4096 };

static void check_heads(reader *r, const rotated_tensor *q, const rotated_tensor *k) {
    int64_t widest = q->head_dim > k->head_dim ? q->head_dim : k->head_dim;
    if (q->n_heads > MOST_HEADS || widest > MOST_HEAD_DIM)
        reader_fail(r, "%lld heads of %lld channels make no sense; at most %d of %d are expected",
                    (long long)q->n_heads, (long long)widest, MOST_HEADS, MOST_HEAD_DIM);
    if (k->n_heads > q->n_heads || (q->n_heads > 0 && q->n_heads % k->n_heads != 0))
        reader_fail(r, "%lld key-value heads cannot serve %lld heads; correct one of them", (long long)k->n_heads,
                    (long long)q->n_heads);
}

/* The library judges, and says how many channels are rotated. */
static void check_table(reader *r, const model_config *c, model_table *table) {
    posenc_rope *rope;
    check_heads(r, &table->q, &table->k);
    if (r->failed)
        return;
    table->params.head_dim = table->q.head_dim;
    table->params.n_offs = table->q.n_offs;
    posenc_rope_params params = table->params;
    posenc_status status = posenc_rope_create(&params, &rope);
    if (status == POSENC_OK) {
        table->params.n_rot = 2 * posenc_rope_pair_count(rope);
        table->params.rot_fraction = 0.0;
        posenc_rope_free(rope);
        reader_check_sense(r, c, &table->params);
        params = model_rope_params(table, &table->k);
        status = posenc_rope_create(&params, &rope);
    }
    if (status != POSENC_OK)
        reader_fail_refused(r, c, &params, status);
    posenc_rope_free(rope);
}

static void finish(reader *r, model_config *c, double context) {
    if (c->kind == POSITION_UNKNOWN)
        reader_fail(r,
                    "%s%s%s, and nothing (rope_theta, alibi, position_embedding_type) tells its positions; add the one "
                    "that applies",
                    c->model_type[0] != '\0' ? "model_type \"" : "there is no model_type", c->model_type,
                    c->model_type[0] != '\0' ? "\" is unknown" : "");
    check_heads(r, &(rotated_tensor){c->n_heads, c->head_dim, 0}, &(rotated_tensor){c->n_kv_heads, c->head_dim, 0});
    if (c->kind != POSITION_ROPE)
        return;
    for (int k = 0, n = c->n_tables; k < n; k++)
        choose_context(r, c, &c->tables[k], context);
    for (int k = 0; k < c->n_tables && !r->failed; k++)
        check_table(r, c, &c->tables[k]);
}

/* ---- The whole ---- */

/* 1 for GGUF, 0 for what is not; a failure if it cannot be read. */
static int is_gguf(reader *r) {
    struct stat status;
    char magic[4] = {0};
    if (stat(r->path, &status) != 0)
        reader_fail(r, "%s; give the path of a model's config.json or GGUF file", strerror(errno));
    else if (S_ISDIR(status.st_mode))
        reader_fail(r, "this is a directory; give the config.json in it");
    else if (!S_ISREG(status.st_mode)) /* it is read twice, and by its size */
        reader_fail(r, "this is a pipe or a device; write it to a file, and give that");
    if (r->failed)
        return 0;
    FILE *file = fopen(r->path, "rb");
    if (file == NULL) {
        reader_fail(r, "cannot be read: %s", strerror(errno));
        return 0;
    }
    size_t n = fread(magic, 1, sizeof magic, file);
    fclose(file);
    return n == sizeof magic && memcmp(magic, "GGUF", sizeof magic) == 0;
}

/* Bytes of the character there; 0 for a control character, of one byte or as UTF-8, and for what is no UTF-8. */
static size_t printable_bytes(const unsigned char *at) {
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000}; /* of so many bytes: below that, a longer form */
    if (at[0] < 0x80)
        return at[0] >= ' ' && at[0] != 127;
    size_t n = at[0] < 0xc0 || at[0] > 0xf4 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t character = at[0] & (0x7fu >> n);
    for (size_t k = 1; k < n; k++) {
        if ((at[k] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (at[k] & 0x3fu);
    }
    return character >= least[n] ? n : 0;
}

void model_make_printable(char *text) {
    while (*text != '\0') {
        size_t n = printable_bytes((const unsigned char *)text);
        if (n == 0)
            *text = '?';
        text += n > 0 ? n : 1;
    }
}

int model_read(const char *path, double context, model_config *config, char *error, size_t error_size) {
    reader r = {.path = path, .error = error, .error_size = error_size};
    *config = (model_config){.kind = POSITION_UNKNOWN, .max_bias = 8.0};
    r.is_gguf = is_gguf(&r);
    if (!r.failed)
        r.is_gguf ? model_read_gguf(&r, config) : model_read_json(&r, config);
    if (!r.failed)
        finish(&r, config, context);
    model_make_printable(config->architecture);
    model_make_printable(config->model_type);
    model_make_printable(config->not_understood);
    for (int k = 0; k < config->n_tables; k++)
        model_make_printable(config->tables[k].name);
    if (r.failed) {
        model_make_printable(error);
        model_free(config);
    }
    return !r.failed;
}

void model_free(model_config *config) {
    for (int k = 0; k < MODEL_MOST_LISTS; k++) {
        free(config->lists[k]);
        config->lists[k] = NULL;
    }
}
