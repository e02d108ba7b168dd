/* SPDX-License-Identifier: MIT */
/* posenc model: what the model is. */
#include <math.h>
#include <stdio.h>

#include <posenc/posenc.h>

#include "model_report.h"

/* ---- RoPE ---- */

static const char *layout_name(posenc_rope_layout layout) {
    switch (layout) {
    case POSENC_ROPE_HALF: return "half-split";
    case POSENC_ROPE_INTERLEAVED: return "interleaved";
    default: return "interleaved pairs written half-split";
    }
}

static void print_axes(const posenc_rope_axes *axes) {
    if (axes->kind == POSENC_AXES_SINGLE)
        return;
    printf("  axes           %d positions a token, M-RoPE, sections of", axes->n_axes);
    for (int a = 0; a < axes->n_axes; a++)
        printf(" %lld", (long long)axes->sections[a]);
    printf(" pairs, %s\n", axes->kind == POSENC_AXES_MROPE ? "one after the other" : "interleaved");
}

/* The number, with what goes before it, if there is one. */
static void print_given(const char *before, double value) {
    if (value != 0.0)
        printf("%s%g", before, value);
}

static void print_scaling(const posenc_rope_scaling *s) {
    static const char *const names[] = {"unscaled", "linear",   "ntk",    "ntk by length", "dynamic ntk",
                                        "yarn",     "longrope", "llama3", "proportional",  "ggml"};
    printf(", %s", s->type == POSENC_SCALING_NONE && s->freq_factors != NULL ? "divided by the file's factors"
                                                                             : names[s->type]);
    if (s->type == POSENC_SCALING_NONE)
        return;
    int from_lengths = s->type == POSENC_SCALING_YARN && s->factor == 0.0;
    double original = s->original_context != 0.0 ? s->original_context : s->max_context; /* as the library has it */
    print_given(", factor ", from_lengths ? s->max_context / original : s->factor);
    print_given(", original context ", s->original_context);
    if (s->type == POSENC_SCALING_DYNAMIC)
        print_given(", as for a context of ", s->context);
    if (s->type == POSENC_SCALING_YARN)
        printf(", beta %g and %g%s", s->beta_fast, s->beta_slow, s->truncate ? "" : ", not truncated");
    if (s->type == POSENC_SCALING_LLAMA3)
        printf(", turns %g to %g", s->low_freq_factor, s->high_freq_factor);
    if (s->type == POSENC_SCALING_PROPORTIONAL)
        printf(", proportion %g", s->proportion);
}

/* Where the frequencies differ from what they would be without scaling, and by how much. */
static void print_difference(const posenc_rope *rope, const posenc_rope *unscaled) {
    int64_t n = posenc_rope_pair_count(rope), first = -1, last = -1;
    double least = INFINITY, most = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double by = posenc_rope_theta(unscaled, i) / posenc_rope_theta(rope, i);
        if (fabs(by - 1.0) < 1e-12)
            continue;
        first = first < 0 ? i : first;
        last = i;
        least = fmin(least, by);
        most = fmax(most, by);
    }
    if (first < 0)
        return;
    printf("                 pairs %lld to %lld, of %lld, differ from the unscaled: ", (long long)first,
           (long long)last, (long long)n);
    if (isinf(most))
        printf("these do not turn\n");
    else if (most - least < 1e-9 * most)
        printf("divided by %g\n", most);
    else
        printf("divided by %.4g to %.4g\n", least, most);
}

static void print_frequencies(const posenc_rope *rope) {
    const double two_pi = 6.283185307179586;
    int64_t last = posenc_rope_pair_count(rope) - 1;
    while (last > 0 && posenc_rope_theta(rope, last) == 0.0)
        last--;
    double high = posenc_rope_theta(rope, 0), low = posenc_rope_theta(rope, last);
    printf("                 theta %.6g to %.6g, wavelengths %.4g to %.4g positions\n", high, low, two_pi / high,
           two_pi / low);
}

static void print_table(const model_config *m, const model_table *table) {
    posenc_rope_params plain = table->params;
    plain.scaling = (posenc_rope_scaling)POSENC_ROPE_SCALING_DEFAULTS;
    posenc_rope *rope = NULL, *unscaled = NULL;
    if (table->name[0] != '\0') {
        printf("  frequencies    %s", table->name);
        if (table->n_layers > 0 && table->n_layers < model_rotated_layers(m))
            printf(", %lld layer%s", (long long)table->n_layers, table->n_layers == 1 ? "" : "s");
        if (!model_same_heads(table, model_timed_table(m)))
            printf(", Q %lld, K %lld, of %lld channels", (long long)table->q.n_heads, (long long)table->k.n_heads,
                   (long long)table->q.head_dim);
        printf(":\n                 ");
    } else {
        printf("  frequencies    ");
    }
    printf("base %g", table->params.base);
    print_scaling(&table->params.scaling);
    printf("\n");
    if (posenc_rope_create(&table->params, &rope) == POSENC_OK && posenc_rope_pair_count(rope) > 0 &&
        posenc_rope_create(&plain, &unscaled) == POSENC_OK) {
        print_frequencies(rope);
        print_difference(rope, unscaled);
        if (posenc_rope_magnitude(rope) != 1.0)
            printf("                 magnitude %.9g on cosine and sine\n", posenc_rope_magnitude(rope));
    }
    /* Other models state its parameters for the magnitude only. */
    double softmax = table->q.n_offs > 0 ? posenc_rope_softmax_multiplier(&table->params.scaling) : 1.0;
    if (isfinite(softmax) && softmax != 1.0)
        printf("                 softmax scale to be multiplied by %.9g\n", softmax);
    posenc_rope_free(unscaled);
    posenc_rope_free(rope);
}

static void print_rotated(const char *name, const rotated_tensor *tensor, int64_t n_rot) {
    printf("%s %lld x %lld", name, (long long)tensor->n_heads, (long long)tensor->head_dim);
    if (tensor->n_offs > 0)
        printf(" (the last %lld rotated)", (long long)n_rot);
}

static void print_heads(const model_config *m) {
    if (m->n_heads == 0 || m->head_dim == 0)
        return;
    printf("  heads          ");
    const model_table *table = model_timed_table(m);
    if (m->kind == POSITION_ROPE && table->q.n_offs > 0) {
        print_rotated("Q", &table->q, table->params.n_rot);
        print_rotated(", K", &table->k, table->params.n_rot);
        printf(", latent attention");
    } else {
        printf("Q %lld, K %lld, of %lld channels", (long long)m->n_heads, (long long)m->n_kv_heads,
               (long long)m->head_dim);
    }
    if (m->n_layers > 0)
        printf(", in %lld layers", (long long)m->n_layers);
    printf("\n");
}

static void print_rope(const model_config *m) {
    const posenc_rope_params *p = &model_timed_table(m)->params;
    int64_t rotated = model_rotated_layers(m);
    printf("  positions      RoPE, %s, %lld of %lld channels", layout_name(p->layout), (long long)p->n_rot,
           (long long)p->head_dim);
    if (rotated != m->n_layers)
        printf(", in %lld of the layers", (long long)rotated);
    printf("%s\n", m->has_qk_norm ? ", after an RMS-norm of each head" : "");
    print_axes(&p->axes);
    for (int k = 0; k < m->n_tables; k++)
        print_table(m, &m->tables[k]);
}

/* ---- The whole ---- */

void model_print(const model_config *m, const char *path) {
    printf("%s  (%s)\n\n", m->architecture[0] != '\0' ? m->architecture : m->model_type, path);
    print_heads(m);
    if (m->kind == POSITION_ROPE)
        print_rope(m);
    else if (m->kind == POSITION_ALIBI)
        printf("  positions      ALiBi: %lld slopes down to 2^-%g%s, applied in the softmax over the scores\n",
               (long long)m->n_heads, m->max_bias, m->bias_is_scaled ? ", times 1/sqrt(head_dim)" : "");
    if (m->max_position > 0)
        printf("  context        %lld positions\n", (long long)m->max_position);
    if (m->guessed[0] != '\0')
        printf("  guessed        %s: neither the file nor its model_type, \"%s\", tells\n", m->guessed, m->model_type);
    if (m->not_understood[0] != '\0')
        printf("  not understood %s\n", m->not_understood);
    printf("\n");
}
