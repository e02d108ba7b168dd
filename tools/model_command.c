/* SPDX-License-Identifier: MIT */
/* posenc model: a model's positional work, verified and timed on every tier that runs here. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include <posenc/posenc.h>

#include "commands.h"
#include "model_report.h"
#include "number.h"
#include "tiers.h"

int model_wants(const model_options *o, int tier) {
    return (o->tiers >> tier & 1) != 0 && posenc_isa_supported((posenc_isa_tier)tier);
}

int64_t model_cached_tokens(const model_options *o, const model_config *m) {
    int64_t context = m->max_position > 0 && m->max_position < o->n_tokens ? m->max_position : o->n_tokens;
    return context - 1;
}

int64_t model_rotated_layers(const model_config *m) {
    int64_t n = 0;
    for (int k = 0; k < m->n_tables; k++) {
        if (m->tables[k].n_layers == 0) /* nothing tells */
            return m->n_layers;
        n += m->tables[k].is_alternative ? 0 : m->tables[k].n_layers;
    }
    return n;
}

int model_same_heads(const model_table *a, const model_table *b) {
    return a->q.n_heads == b->q.n_heads && a->q.head_dim == b->q.head_dim && a->k.n_heads == b->k.n_heads &&
           a->k.head_dim == b->k.head_dim;
}

const model_table *model_timed_table(const model_config *m) {
    const model_table *most = &m->tables[0];
    for (int k = 1; k < m->n_tables; k++)
        if (m->tables[k].n_layers > most->n_layers)
            most = &m->tables[k];
    return most;
}

/* What to say of models that leave nothing to time here. */
static void remark(const model_config *m) {
    static const char *const remarks[] = {
        [POSITION_NONE] = "Its attention layers know nothing of positions.",
        [POSITION_SINUSOIDAL] = "Sinusoidal rows are added to the embeddings, once per token and not per layer: "
                                "posenc_encoding_add does that.",
        [POSITION_LEARNED] = "A learned table is added to the embeddings: one row is read per token, once and not per "
                             "layer: posenc_learned_create and posenc_encoding_apply do that.",
        [POSITION_RELATIVE_BUCKETS] = "A learned bias per bucket of distance is added to the scores: "
                                      "posenc_rel_index_t5 and posenc_rel_bias_gather make "
                                      "lines of\nit, which posenc_softmax adds.",
        [POSITION_RELATIVE_KEYS] = "A learned row per distance is multiplied with Q, and with K where the file says "
                                   "so: posenc_rel_index_relative_key "
                                   "and\nposenc_relative_products make these terms, which posenc_softmax adds.",
    };
    printf("%s\nThere is nothing to verify or time.\n", remarks[m->kind]);
}

/* The exit status. */
static int report(const model_options *o, const model_config *m) {
    posenc_isa_tier in_use = posenc_isa();
    posenc_status status = POSENC_OK;
    int failures = 0;
    model_print(m, o->path);
    switch (m->kind) {
    case POSITION_ROPE: status = model_report_rope(o, m, &failures); break;
    case POSITION_ALIBI: status = model_report_alibi(o, m, &failures); break;
    default: remark(m); break;
    }
    posenc_isa_select(in_use);
    if (failures > 0)
        printf("FAILED: see above; 'posenc verify' tells more.\n");
    if (status != POSENC_OK)
        fprintf(stderr, "posenc model: %s; use a smaller --tokens\n", posenc_status_string(status));
    return failures > 0 ? EXIT_VERIFY_FAILED : status != POSENC_OK ? EXIT_USAGE : 0;
}

/* ---- The command ---- */

enum { MOST_TOKENS = 65536 };
#define MOST_CONTEXT 1000000000000000LL

static const struct argp_option argp_options[] = {
    {"tokens", 't', "N", 0, "Tokens of the prefill, 1 to 65536; 512 unless given", 0},
    {"context", 'c', "N", 0,
     "The longest sequence to come, 1 to 1000000000000000, which LongRoPE and dynamic NTK go by", 0},
    {"isa", 'i', "TIER[,TIER...]", 0, "Only these tiers, and scalar for comparison", 0},
    {"quick", 'q', NULL, 0, "Time with few repetitions: the figures say little", 0},
    {0},
};

static void parse_tiers(model_options *o, char *list, struct argp_state *state) {
    o->tiers = 1u << POSENC_ISA_SCALAR;
    for (char *name = strsep(&list, ","); name != NULL; name = strsep(&list, ",")) {
        posenc_isa_tier tier = tier_named(name);
        if (tier == POSENC_ISA_COUNT)
            argp_error(state, "there is no tier '%s'; the tiers are scalar, avx2, avx512 and neon", name);
        const char *absence = tier_absence(tier);
        if (absence != NULL)
            argp_error(state, "%s cannot run here: %s", name, absence);
        o->tiers |= 1u << tier;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    model_options *o = state->input;
    int64_t context = 0;
    switch (key) {
    case 't':
        if (!read_whole(argument, 1, MOST_TOKENS, &o->n_tokens))
            argp_error(state, "--tokens takes a whole number from 1 to %d, not '%s'", MOST_TOKENS, argument);
        return 0;
    case 'c':
        if (!read_whole(argument, 1, MOST_CONTEXT, &context))
            argp_error(state, "--context takes a whole number from 1 to %lld, not '%s'", MOST_CONTEXT, argument);
        o->context = (double)context;
        return 0;
    case 'q': o->seconds = 0.0; return 0;
    case 'i': parse_tiers(o, argument, state); return 0;
    case ARGP_KEY_ARG:
        if (o->path != NULL)
            argp_error(state, "one FILE at a time");
        if (argument[0] == '\0')
            argp_error(state, "the name of FILE is empty: give the path of a model's config.json or GGUF file");
        o->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "FILE is missing: the path of a model's config.json or GGUF file");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Scores grow with the square of the tokens: better said before than by the system's memory. */
static int fits(const model_options *o, const model_config *m) {
    const rotated_tensor *q = &model_timed_table(m)->q, *k = &model_timed_table(m)->k;
    double tokens = (double)o->n_tokens, bytes = 0.0;
    if (m->kind == POSITION_ALIBI)
        bytes = (double)m->n_heads * tokens * tokens * 4.0;
    else if (m->kind == POSITION_ROPE)
        bytes = tokens * (double)(q->n_heads * q->head_dim + k->n_heads * k->head_dim) * 8.0;
    if (bytes <= 0x1p30)
        return 1;
    fprintf(stderr, "posenc model: %lld tokens of this model take %.1f GiB; use a smaller --tokens\n",
            (long long)o->n_tokens, bytes * 0x1p-30);
    return 0;
}

int command_model(int argc, char **argv) {
    static const struct argp argp = {
        .options = argp_options,
        .parser = parse_option,
        .args_doc = "FILE",
        .doc = "Reads a Hugging Face config.json or a GGUF file and, for that model's real shapes and parameters, "
               "verifies and times its positional work (RoPE of Q and K, or the softmax with ALiBi) on every tier that "
               "runs here.\v"
               "Exit status: 0 all is well, 1 a check has failed, 2 the file or the arguments are wrong, or memory "
               "runs out.",
    };
    model_options o = {.n_tokens = 512, .tiers = ~0u, .seconds = 0.02};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    model_config model;
    char error[512];
    int is_read = model_read(o.path, o.context, &model, error, sizeof error);
    model_make_printable(o.path); /* from here on it is only printed, before the reason, which it leaves its place */
    if (!is_read) {
        fprintf(stderr, "posenc model: %s: %s\n", o.path, error);
        return EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    if (fits(&o, &model))
        status = report(&o, &model);
    model_free(&model);
    return status;
}
