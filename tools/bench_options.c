/* SPDX-License-Identifier: MIT */
/* posenc bench: its arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/features.h"
#include "options.h"
#include "shape.h"
#include "threads.h"
#include "tiers.h"

static const char help[] =
    "Usage: posenc bench [OPTION...]\n"
    "       posenc bench --compare A.json B.json\n"
    "Checks the positional work of one attention layer on every tier against scalar, bit for bit, and times it.\n"
    "\n"
    "  --n-heads N        heads of Q; 32 unless given\n"
    "  --n-kv-heads N     heads of K and V; as many as of Q unless given\n"
    "  --head-dim N       channels of a head; 128 unless given\n"
    "  --n-layers N       layers, for a sum of their RoPE\n"
    "  --layout LAYOUT    RoPE's pairs: half (the default) or interleaved\n"
    "  --set NAME=VALUE   a field of RoPE by its name in config.json: rope_theta=500000, rope_type=llama3,\n"
    "                     factor=8, partial_rotary_factor=0.5 ...\n"
    "  --alibi            ALiBi instead of RoPE\n"
    "  --tokens N         tokens of the prefill; 128 unless given\n"
    "  --context N        keys that a token sees which is decoded; 4096 unless given\n"
    "  --isa TIER,...     only these tiers, and scalar for comparison\n"
    "  --threads N        threads that share each call, up to 64; 1 unless given\n"
    "  --quick            few repetitions: the figures say little\n"
    "  --json             print the rows as JSON, with the machine\n"
    "  --csv              print the rows as CSV\n"
    "  --compare A B      show two files of --json side by side: two machines, or two tiers\n"
    "\n"
    "Llama 3.1 8B: posenc bench --n-heads 32 --n-kv-heads 8 --head-dim 128 --set rope_theta=500000\n";

enum { MOST_HEADS = 4096, MOST_LAYERS = 4096, MOST_TOKENS = 65536, MOST_KEYS = 1 << 20 };

/* Letters of options that have no short form. */
enum {
    N_HEADS = 256,
    N_KV_HEADS,
    HEAD_DIM,
    N_LAYERS,
    LAYOUT,
    SET,
    ALIBI,
    TOKENS,
    CONTEXT,
    ISA,
    QUICK,
    JSON,
    CSV,
    COMPARE,
    THREADS
};

static const struct option names[] = {{"help", no_argument, NULL, 'h'},
                                      {"n-heads", required_argument, NULL, N_HEADS},
                                      {"n-kv-heads", required_argument, NULL, N_KV_HEADS},
                                      {"head-dim", required_argument, NULL, HEAD_DIM},
                                      {"n-layers", required_argument, NULL, N_LAYERS},
                                      {"layout", required_argument, NULL, LAYOUT},
                                      {"set", required_argument, NULL, SET},
                                      {"alibi", no_argument, NULL, ALIBI},
                                      {"tokens", required_argument, NULL, TOKENS},
                                      {"context", required_argument, NULL, CONTEXT},
                                      {"isa", required_argument, NULL, ISA},
                                      {"threads", required_argument, NULL, THREADS},
                                      {"quick", no_argument, NULL, QUICK},
                                      {"json", no_argument, NULL, JSON},
                                      {"csv", no_argument, NULL, CSV},
                                      {"compare", no_argument, NULL, COMPARE},
                                      {0}};

static unsigned tiers_of(char *const *argv, const char *list) {
    unsigned tiers = 1u << POSENC_ISA_SCALAR;
    for (const char *rest = list; rest != NULL; rest = strchr(rest, ',')) {
        char name[32];
        rest += rest != list; /* the comma */
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, ","), rest);
        posenc_isa_tier tier = posenc_tier_named(name);
        if (tier == POSENC_ISA_COUNT)
            usage_error(argv, "there is no tier '%s'; the tiers are %s", name, posenc_tier_names);
        if (tier_absence(tier) != NULL)
            usage_error(argv, "%s cannot run here: %s", name, tier_absence(tier));
        tiers |= 1u << tier;
    }
    return tiers;
}

static unsigned tiers_that_run(void) {
    unsigned tiers = 0;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        tiers |= (unsigned)posenc_isa_supported((posenc_isa_tier)tier) << tier;
    return tiers;
}

static posenc_rope_layout layout_of(char *const *argv, const char *name) {
    if (strcmp(name, "half") == 0)
        return POSENC_ROPE_HALF;
    if (strcmp(name, "interleaved") == 0)
        return POSENC_ROPE_INTERLEAVED;
    usage_error(argv, "--layout takes half or interleaved, not '%s'", name);
}

/* A word is a type of scaling, all else a number. */
static void set_field(char *const *argv, posenc_rope_params *params, char *field) {
    char *value = strchr(field, '=');
    if (value == NULL)
        usage_error(argv, "--set takes NAME=VALUE, such as rope_theta=500000, not '%s'", field);
    *value++ = '\0';
    posenc_status status = posenc_rope_set_string(params, field, value);
    if (status != POSENC_OK && strcmp(field, "rope_type") != 0 && strcmp(field, "type") != 0)
        status = posenc_rope_set_number(params, field, real_of(argv, field, value));
    if (status != POSENC_OK)
        usage_error(argv, "--set %s=%s: %s", field, value, posenc_status_string(status));
}

static void read_option(char *const *argv, int letter, bench_shape *shape) {
    switch (letter) {
    case N_HEADS: shape->n_heads = whole_of(argv, "--n-heads", 1, MOST_HEADS); break;
    case N_KV_HEADS: shape->n_kv_heads = whole_of(argv, "--n-kv-heads", 1, MOST_HEADS); break;
    case HEAD_DIM: shape->head_dim = whole_of(argv, "--head-dim", 1, POSENC_MAX_HEAD_DIM); break;
    case N_LAYERS: shape->n_layers = whole_of(argv, "--n-layers", 1, MOST_LAYERS); break;
    case LAYOUT: shape->params.layout = layout_of(argv, optarg); break;
    case SET: set_field(argv, &shape->params, optarg); break;
    case ALIBI: shape->has_alibi = 1; break;
    case TOKENS: shape->n_tokens = whole_of(argv, "--tokens", 1, MOST_TOKENS); break;
    case CONTEXT: shape->n_keys = whole_of(argv, "--context", 1, MOST_KEYS); break;
    case ISA: shape->tiers = tiers_of(argv, optarg); break;
    case THREADS: shape->n_threads = (int)whole_of(argv, "--threads", 1, MAX_THREADS); break;
    case QUICK: shape->seconds = 0.0; break;
    case JSON: shape->format = FORMAT_JSON; break;
    case CSV: shape->format = FORMAT_CSV; break;
    case COMPARE: usage_error(argv, "--compare takes two files of 'posenc bench --json', and nothing else");
    }
}

/* Scores grow with the square of the tokens: better said before than by the system's memory. */
static void check_size(char *const *argv, const bench_shape *shape) {
    const double tokens = (double)shape->n_tokens, keys = (double)shape->n_keys, heads = (double)shape->n_heads;
    const double prefill = heads * tokens * (tokens + 4.0 * (double)shape->head_dim) * sizeof(float);
    const double decode = heads * keys * (1.0 + 2.0 * (double)shape->head_dim) * sizeof(float);
    const char *option = prefill > decode ? "--tokens" : "--context";
    if (prefill + decode > 0x1p31)
        usage_error(argv, "this takes %.1f GiB; use a smaller %s", (prefill + decode) * 0x1p-30, option);
}

void bench_read_options(int argc, char **argv, bench_shape *shape) {
    *shape = (bench_shape){.n_heads = 32,
                           .head_dim = 128,
                           .n_tokens = 128,
                           .n_keys = 4096,
                           .n_threads = 1,
                           .params = POSENC_ROPE_DEFAULTS,
                           .tiers = tiers_that_run(),
                           .seconds = 0.02};
    shape->params.layout = POSENC_ROPE_HALF;
    for (int letter; (letter = next_option(argc, argv, ":h", names, help)) != -1;)
        read_option(argv, letter, shape);
    if (shape->n_kv_heads == 0)
        shape->n_kv_heads = shape->n_heads;
    if (shape->n_heads % shape->n_kv_heads != 0)
        usage_error(argv, "%lld heads of K and V cannot serve %lld of Q; --n-heads is a multiple of --n-kv-heads",
                    (long long)shape->n_kv_heads, (long long)shape->n_heads);
    check_size(argv, shape);
    shape->params.head_dim = shape->head_dim;
    /* Magnitude 1: what is rotated in place many times must stay the size that it is. */
    posenc_rope_params params = shape->params;
    params.scaling.attention_factor = 1.0;
    params.scaling.attn_factor = 0.0;
    posenc_status status = shape->has_alibi ? POSENC_OK : posenc_rope_create(&params, &shape->rope);
    if (status != POSENC_OK)
        usage_error(argv, "RoPE of %lld channels with these fields: %s; correct --head-dim or --set",
                    (long long)shape->head_dim, posenc_status_string(status));
    if (!shape->has_alibi && posenc_rope_axis_count(shape->rope) != 1)
        usage_error(argv, "positions of several axes are not timed here; leave the sections out");
}
