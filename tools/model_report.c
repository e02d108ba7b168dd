/* posenc model: a model's positional work, verified and timed on every tier that runs here. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <posenc/posenc.h>

#include "commands.h"
#include "model.h"
#include "model_work.h"
#include "tiers.h"
#include "timing.h"
#include "truth.h"

typedef struct options {
    const char *path;
    int64_t n_tokens;
    unsigned tiers; /* bit t: tier t is wanted */
} options;

static int wanted(const options *o, int tier) {
    return (o->tiers >> tier & 1) != 0 && posenc_isa_supported((posenc_isa_tier)tier);
}

/* ---- What the model is ---- */

static void print_rope(const model_config *m) {
    printf("  positions      RoPE, %s, %lld of %lld channels, base %g\n",
           m->layout == POSENC_ROPE_HALF ? "half-split" : "interleaved", (long long)m->n_rot, (long long)m->q.head_dim,
           m->base);
    if (m->scaling_type[0] != '\0')
        printf("  scaling        %s: changes the values of the frequencies, not the work; not applied yet\n",
               m->scaling_type);
}

static void print_model(const model_config *m, const char *path) {
    printf("%s  (%s)\n\n", m->architecture[0] != '\0' ? m->architecture : m->model_type, path);
    int latent = m->kind == POSITION_ROPE && m->q.head_dim != m->k.head_dim;
    if (latent)
        printf("  heads          Q %lld x %lld, K 1 x %lld rotated for all heads (latent attention)",
               (long long)m->q.n_heads, (long long)m->q.head_dim, (long long)m->k.head_dim);
    else
        printf("  heads          Q %lld, K %lld, of %lld channels", (long long)m->n_heads, (long long)m->n_kv_heads,
               (long long)m->head_dim);
    if (m->n_layers > 0)
        printf(", in %lld layers", (long long)m->n_layers);
    printf("\n");
    if (m->kind == POSITION_ROPE)
        print_rope(m);
    else if (m->kind == POSITION_ALIBI)
        printf("  positions      ALiBi: %lld slopes, applied in the softmax over the scores\n", (long long)m->n_heads);
    if (m->max_position > 0)
        printf("  context        %lld positions\n", (long long)m->max_position);
    printf("\n");
}

/* What to say of models that leave nothing to time here. 1 if there is something to time. */
static int has_work(const model_config *m) {
    static const char *const remarks[] = {
        [POSITION_SINUSOIDAL] = "Sinusoidal rows are added to the embeddings, once per token and not per layer: "
                                "posenc_sinusoidal_add does that.",
        [POSITION_LEARNED] = "A learned table is added to the embeddings: one row is read per token, once and not per "
                             "layer; posenc has no call for it yet.",
        [POSITION_RELATIVE_BUCKETS] =
            "A learned bias per bucket of distance is added to the scores; posenc has no call "
            "for it yet.",
    };
    if (m->kind == POSITION_ROPE || m->kind == POSITION_ALIBI)
        return 1;
    printf("%s\nThere is nothing to verify or time.\n", remarks[m->kind]);
    return 0;
}

/* ---- Verification ---- */

static posenc_status run_once(const model_work *work) {
    return work->model->kind == POSITION_ROPE ? model_work_rope(work) : model_work_softmax(work);
}

/* The tier's bits against scalar's, from the same input. */
static int same_as_scalar(const model_work *work, posenc_isa_tier tier, float *input, float *expected) {
    int64_t n;
    float *data = model_work_data(work, &n);
    size_t size = (size_t)n * sizeof *data;
    memcpy(input, data, size);
    posenc_select_isa(POSENC_ISA_SCALAR);
    posenc_status status = run_once(work);
    memcpy(expected, data, size);
    memcpy(data, input, size);
    posenc_select_isa(tier);
    if (status == POSENC_OK)
        status = run_once(work);
    int same = status == POSENC_OK && memcmp(data, expected, size) == 0;
    memcpy(data, input, size);
    return same;
}

/* Tiers against scalar on a batch of tokens. Counts failures. */
static int verify_tiers(const options *o, const model_work *work) {
    int64_t n;
    int failures = 0;
    model_work_data(work, &n);
    float *input = malloc((size_t)n * sizeof *input), *expected = malloc((size_t)n * sizeof *expected);
    printf("  verified       %lld values", (long long)n);
    for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT; tier++)
        if (wanted(o, tier)) {
            int same =
                input != NULL && expected != NULL && same_as_scalar(work, (posenc_isa_tier)tier, input, expected);
            printf(", %s %s", posenc_isa_name((posenc_isa_tier)tier), same ? "= scalar" : "FAILED");
            failures += !same;
        }
    printf("\n");
    free(expected);
    free(input);
    return failures;
}

/* Scalar against the reference, at positions over the whole context, its end included. */
static int verify_truth(const model_config *m, random_state *random) {
    enum { N_POSITIONS = 16 };
    int32_t positions[N_POSITIONS] = {0, 1};
    double last = m->max_position > 0 ? (double)(m->max_position - 1) : 2147483647.0;
    for (int i = 2; i < N_POSITIONS; i++)
        positions[i] = (int32_t)(i == 2 ? last : random_between(random, 0.0, last));
    truth t = truth_none();
    double limit = 1.0;
    posenc_select_isa(POSENC_ISA_SCALAR);
    if (m->kind == POSITION_ROPE) {
        posenc_rope_params q = model_rope_params(m, &m->q), k = model_rope_params(m, &m->k);
        truth_merge(&t, truth_rope(&q, m->q.n_heads, positions, N_POSITIONS, random));
        truth_merge(&t, truth_rope(&k, m->k.n_heads, positions, N_POSITIONS, random));
        limit = TRUTH_ROPE_LIMIT;
    } else {
        float *slopes = malloc((size_t)m->n_heads * sizeof *slopes);
        t.status = slopes == NULL ? POSENC_ERR_MEMORY : posenc_alibi_slopes(m->n_heads, 8.0, slopes);
        if (t.status == POSENC_OK)
            truth_merge(&t, truth_softmax(slopes, m->n_heads, 4, 513, POSENC_MASK_CAUSAL, random));
        truth_merge(&t, truth_alibi_slopes(m->n_heads));
        free(slopes);
    }
    int ok = t.status == POSENC_OK && t.values > 0 && t.worst <= limit;
    printf("                 %llu values against the reference: worst error %.2f of the %g allowed%s\n\n",
           (unsigned long long)t.values, t.worst, limit, ok ? "" : ": FAILED");
    return !ok;
}

/* ---- Timing ---- */

typedef struct timed_job {
    const model_work *work;
    posenc_isa_tier tier;
    posenc_status (*run)(const model_work *work);
} timed_job;

static void run_job(void *context) {
    const timed_job *job = context;
    posenc_select_isa(job->tier);
    job->run(job->work);
}

static posenc_status scale_job(const model_work *work) {
    model_work_scale(work);
    return POSENC_OK;
}

static void print_cells(double ns, double scalar_ns, double scale_ns, const model_work *work) {
    double bytes = 2.0 * sizeof(float) * (double)model_work_elements(work); /* read and written */
    printf("%12.0f%9.1fx%9.1f%9.2fx", ns / (double)work->n_tokens, scalar_ns / ns, bytes / ns, ns / scale_ns);
}

/* What the whole model spends, on the last tier of the table: the first layer makes what the others find ready. */
static void print_all_layers(const timed_job *last, const alternative *timed, int n_ways) {
    int64_t n_layers = last->work->model->n_layers;
    double ns = timed[0].median_ns + (double)(n_layers - 1) * timed[n_ways - 1].median_ns;
    if (n_layers > 1)
        printf("  All %lld layers on %s: %.1f microseconds per token.\n\n", (long long)n_layers,
               posenc_isa_name(last->tier), ns * 1e-3 / (double)last->work->n_tokens);
}

/* One line per tier, one group of columns per way of calling, and the limit. 0 without memory. */
static int time_work(const options *o, const model_work *work, posenc_status (*const *ways)(const model_work *),
                     const char *const *titles, int n_ways) {
    enum { MOST = 2 * POSENC_ISA_COUNT + 1 };
    timed_job jobs[MOST];
    alternative timed[MOST];
    int n = 0;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        for (int way = 0; way < n_ways && wanted(o, tier); way++)
            jobs[n++] = (timed_job){work, (posenc_isa_tier)tier, ways[way]};
    jobs[n++] = (timed_job){work, POSENC_ISA_SCALAR, scale_job};
    for (int i = 0; i < n; i++)
        timed[i] = (alternative){run_job, &jobs[i], 0.0};
    if (!time_alternatives(timed, n, 0.03))
        return 0;

    double scale_ns = timed[n - 1].median_ns;
    printf("  %-12s", "");
    for (int way = 0; way < n_ways; way++)
        printf("%41s", titles[way]);
    printf("\n  %-12s", "tier");
    for (int way = 0; way < n_ways; way++)
        printf("%12s%10s%9s%10s", "ns/token", "vs scalar", "GB/s", "vs scale");
    for (int i = 0; i < n - 1; i++) {
        if (i % n_ways == 0)
            printf("\n  %-12s", posenc_isa_name(jobs[i].tier));
        print_cells(timed[i].median_ns, timed[i % n_ways].median_ns, scale_ns, work);
    }
    double bytes = 2.0 * sizeof(float) * (double)model_work_elements(work);
    printf("\n  %-12s%12.0f%10s%9.1f%9.2fx\n\n", "scale", scale_ns / (double)work->n_tokens, "", bytes / scale_ns, 1.0);
    print_all_layers(&jobs[n - 2], &timed[n - 1 - n_ways], n_ways);
    return 1;
}

static int time_rope(const options *o, const model_work *work) {
    static posenc_status (*const ways[])(const model_work *) = {model_work_rope, model_work_rope_rows};
    static const char *const titles[] = {"cos/sin rows made in the call", "rows ready, as for all later layers"};
    return time_work(o, work, ways, titles, 2);
}

static int time_alibi(const options *o, const model_work *work) {
    static posenc_status (*const ways[])(const model_work *) = {model_work_softmax};
    static const char *const titles[] = {"scale, ALiBi, causal mask, softmax"};
    return time_work(o, work, ways, titles, 1);
}

/* Decode and prefill of one layer. first: tokens before the batch. Counts failures. */
static int report_batch(const options *o, const model_config *m, const char *title, int64_t n_tokens, int64_t first,
                        random_state *random) {
    model_work work;
    posenc_status status = model_work_create(&work, m, n_tokens, first, random);
    int failures = 0;
    if (status == POSENC_OK) {
        double size = (double)model_work_elements(&work) * sizeof(float);
        int large = size >= 0x1p20;
        printf("%s, one layer: %.1f %s in place\n\n", title, size * (large ? 0x1p-20 : 0x1p-10), large ? "MiB" : "KiB");
        failures += verify_tiers(o, &work);
        printf("\n");
        if (!(m->kind == POSITION_ROPE ? time_rope(o, &work) : time_alibi(o, &work)))
            status = POSENC_ERR_MEMORY;
    }
    if (status != POSENC_OK) {
        printf("%s: FAILED: %s\n\n", title, posenc_status_string(status));
        failures++;
    }
    model_work_free(&work);
    return failures;
}

static int report(const options *o, const model_config *m) {
    random_state random = {1};
    posenc_isa_tier in_use = posenc_isa();
    print_model(m, o->path);
    if (!has_work(m))
        return 0;
    char decode[64], prefill[64];
    int alibi = m->kind == POSITION_ALIBI;
    int64_t context = m->max_position > 0 && m->max_position < o->n_tokens ? m->max_position : o->n_tokens;
    snprintf(decode, sizeof decode, alibi ? "Decode, 1 token against %lld keys" : "Decode, 1 token at position %lld",
             (long long)(alibi ? context : context - 1));
    snprintf(prefill, sizeof prefill, "Prefill, %lld tokens", (long long)o->n_tokens);
    int failures = verify_truth(m, &random);
    failures += report_batch(o, m, decode, 1, context - 1, &random);
    failures += report_batch(o, m, prefill, o->n_tokens, 0, &random);
    posenc_select_isa(in_use);
    printf("Medians, one thread. GB/s: bytes read and written. scale: the same elements multiplied in place, the limit "
           "of memory.\n");
    if (failures > 0)
        printf("FAILED: see above; 'posenc verify' tells more.\n");
    return failures;
}

/* ---- The command ---- */

static const struct argp_option argp_options[] = {
    {"tokens", 't', "N", 0, "Tokens of the prefill, 1 to 65536; 512 unless given", 0},
    {"isa", 'i', "TIER[,TIER...]", 0, "Only these tiers, and scalar for comparison", 0},
    {0},
};

static void parse_tiers(options *o, char *list, struct argp_state *state) {
    o->tiers = 1u << POSENC_ISA_SCALAR;
    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ",")) {
        int tier = 0;
        while (tier < POSENC_ISA_COUNT && strcmp(name, posenc_isa_name((posenc_isa_tier)tier)) != 0)
            tier++;
        if (tier == POSENC_ISA_COUNT)
            argp_error(state, "there is no tier '%s'; the tiers are scalar, avx2, avx512 and neon", name);
        const char *absence = tier_absence((posenc_isa_tier)tier);
        if (absence != NULL)
            argp_error(state, "%s cannot run here: %s", name, absence);
        o->tiers |= 1u << tier;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    options *o = state->input;
    char *end;
    switch (key) {
    case 't':
        o->n_tokens = strtoll(argument, &end, 10);
        if (end == argument || *end != '\0' || o->n_tokens < 1 || o->n_tokens > 65536)
            argp_error(state, "--tokens takes a number from 1 to 65536, not '%s'", argument);
        return 0;
    case 'i': parse_tiers(o, argument, state); return 0;
    case ARGP_KEY_ARG:
        if (o->path != NULL)
            argp_error(state, "one FILE at a time");
        o->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "FILE is missing: the path of a model's config.json"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Scores grow with the square of the tokens: better said before than by the system's memory. */
static int fits(const options *o, const model_config *m) {
    double bytes = (double)m->n_heads * (double)o->n_tokens * (double)o->n_tokens * sizeof(float);
    if (m->kind == POSITION_ROPE)
        bytes = (double)o->n_tokens * (double)(m->q.n_heads * m->q.head_dim + m->k.n_heads * m->k.head_dim) * 4.0;
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
        .doc = "Reads a Hugging Face config.json and, for that model's real shapes and parameters, verifies and times "
               "its positional work (RoPE of Q and K, or the softmax with ALiBi) on every tier that runs here.\v"
               "Exit status: 0 all is well, 1 a check has failed, 2 the file or the arguments are wrong.",
    };
    options o = {.n_tokens = 512, .tiers = ~0u};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    model_config model;
    char error[512];
    if (!model_read(o.path, &model, error, sizeof error)) {
        fprintf(stderr, "posenc model: %s\n", error);
        return EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    if (fits(&o, &model))
        status = report(&o, &model) == 0 ? 0 : EXIT_VERIFY_FAILED;
    model_free(&model);
    return status;
}
