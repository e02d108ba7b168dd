/* SPDX-License-Identifier: MIT */
/* Public calls that no other file measures, one line each, in the shape of a model. The limit reads what they read and
 * writes what they write. */
#include <posenc/attention.h>
#include <posenc/learned.h>
#include <posenc/relative.h>
#include <posenc/bias.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "plain.h"
#include "core/view.h"

typedef struct call_job {
    bench_job base;
    posenc_view in[4], out, out_lse;
    int n_in;
    int adds; /* to what is in out */
    float *weights[4];
    int32_t *rows;
    posenc_rel_index index;
    posenc_fire *fire;
    posenc_conv *conv;
    posenc_grouped_conv *grouped;
} call_job;

/* ---- Shared by all calls ---- */

static size_t size_of(const posenc_view *v) {
    return (size_t)(posenc_view_count(v) * posenc_dtype_size(v->dtype));
}

static void add_input(call_job *job, int64_t ne0, int64_t ne1, int64_t ne2) {
    job->in[job->n_in] = bench_view(&job->base, POSENC_F32, ne0, ne1, ne2);
    job->base.bytes += (double)size_of(&job->in[job->n_in++]);
}

/* The elements are those of the output, unless the call goes over something else. */
static void add_output(call_job *job, int64_t ne0, int64_t ne1, int64_t ne2, int adds) {
    job->out = bench_view(&job->base, POSENC_F32, ne0, ne1, ne2);
    job->adds = adds;
    job->base.bytes += (adds ? 2.0 : 1.0) * (double)size_of(&job->out);
    job->base.elements = (double)posenc_view_count(&job->out);
    bench_compare(&job->base, job->out.data, POSENC_F32, (size_t)posenc_view_count(&job->out));
}

static const float *add_weights(call_job *job, int i, size_t n) {
    job->weights[i] = bench_floats(&job->base, n);
    bench_random(job->weights[i], POSENC_F32, n, 1.0f);
    return job->weights[i];
}

/* No two inputs the same. */
static void fill_views(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int i = 0; i < job->n_in; i++)
        bench_random_view(&job->in[i], (float)(i + 1));
    bench_random_view(&job->out, 1.0f);
}

static void limit_call(bench_job *base) {
    const call_job *job = (call_job *)base;
    bench_rows out = {job->out.data, POSENC_F32, (ptrdiff_t)size_of(&job->out)};
    for (int i = 0; i < job->n_in; i++)
        base->limits->read(job->in[i].data, size_of(&job->in[i]));
    if (job->adds)
        base->limits->scale(out, out, 1, (size_t)posenc_view_count(&job->out), 1.0f);
    else
        base->limits->fill(job->out.data, (size_t)posenc_view_count(&job->out), 1.0f);
}

static void close_call(bench_job *base) {
    posenc_fire_free(((call_job *)base)->fire);
    posenc_conv_free(((call_job *)base)->conv);
    posenc_grouped_conv_free(((call_job *)base)->grouped);
}

/* Row i of matrix h. */
static float *row_of(const posenc_view *v, int64_t i, int64_t h) {
    return (float *)v->data + (h * v->ne[1] + i) * v->ne[0];
}

/* ---- FIRE: the last 64 queries of 2048, 12 heads, 32 hidden units ---- */

enum { FIRE_HEADS = 12, FIRE_UNITS = 32, FIRE_QUERIES = 64, FIRE_KEYS = 2048, FIRE_FIRST = FIRE_KEYS - FIRE_QUERIES };

static void open_fire(bench_job *base) {
    call_job *job = (call_job *)base;
    posenc_fire_params params = POSENC_FIRE_DEFAULTS;
    params.n_heads = FIRE_HEADS;
    params.n_hidden = FIRE_UNITS;
    params.w1 = add_weights(job, 0, FIRE_UNITS);
    params.b1 = add_weights(job, 1, FIRE_UNITS);
    params.w2 = add_weights(job, 2, FIRE_HEADS * FIRE_UNITS);
    params.b2 = add_weights(job, 3, FIRE_HEADS);
    params.max_distance = FIRE_KEYS - 1;
    bench_check(posenc_fire_create(&params, &job->fire));
    add_output(job, FIRE_KEYS, FIRE_QUERIES, FIRE_HEADS, 0);
}

static void run_fire(bench_job *base) {
    const call_job *job = (call_job *)base;
    bench_check(posenc_fire_write(job->fire, FIRE_FIRST, &job->out, posenc_range_all()));
}

static float psi(float distance) {
    return logf(0.1f * distance + 1.0f);
}

static void plain_fire(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int i = 0; i < FIRE_QUERIES; i++) {
        float norm = psi(fmaxf((float)(FIRE_FIRST + i), 512.0f)) + 1e-6f;
        for (int j = 0; j < FIRE_KEYS; j++) {
            float x = psi((float)abs(FIRE_FIRST + i - j)) / norm, hidden[FIRE_UNITS];
            for (int k = 0; k < FIRE_UNITS; k++)
                hidden[k] = fmaxf(job->weights[0][k] * x + job->weights[1][k], 0.0f);
            for (int h = 0; h < FIRE_HEADS; h++) {
                float sum = job->weights[3][h];
                for (int k = 0; k < FIRE_UNITS; k++)
                    sum += job->weights[2][h * FIRE_UNITS + k] * hidden[k];
                row_of(&job->out, i, h)[j] = sum;
            }
        }
    }
}

/* ---- CoPE: the last 128 queries of 1024, 12 heads, 64 positions ---- */

enum { COPE_HEADS = 12, COPE_QUERIES = 128, COPE_KEYS = 1024, COPE_POSITIONS = 64 };

static const posenc_cope_params cope = {0.125f, POSENC_COPE_LISTING, COPE_KEYS - COPE_QUERIES};

static void open_cope(bench_job *base) {
    call_job *job = (call_job *)base;
    add_input(job, COPE_KEYS, COPE_QUERIES, COPE_HEADS);
    add_input(job, COPE_POSITIONS, COPE_QUERIES, COPE_HEADS);
    add_output(job, COPE_KEYS, COPE_QUERIES, COPE_HEADS, 0);
}

static void run_cope(bench_job *base) {
    const call_job *job = (call_job *)base;
    bench_check(posenc_cope_logits(&cope, &job->in[0], NULL, &job->in[1], &job->out, posenc_range_all()));
}

static void plain_cope_call(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int64_t h = 0; h < COPE_HEADS; h++)
        for (int64_t i = 0; i < COPE_QUERIES; i++) {
            size_t visible = (size_t)(cope.query_start + i + 1);
            float *y = row_of(&job->out, i, h);
            plain_cope(row_of(&job->in[0], i, h), row_of(&job->in[1], i, h), y, visible, COPE_POSITIONS, cope.scale);
            plain_constant(-INFINITY, y + visible, COPE_KEYS - visible);
        }
}

/* ---- Shaw's values: the base Transformer's 8 heads of 64, clipped at 16, 512 tokens ---- */

enum { SHAW_HEADS = 8, SHAW_TOKENS = 512, SHAW_DIM = 64, SHAW_REACH = 16 };

static void open_values(bench_job *base) {
    call_job *job = (call_job *)base;
    posenc_rel_index *index = &job->index;
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, SHAW_REACH, 0);
    bench_check(
        posenc_rel_bias_range(posenc_mask_none(), 0, SHAW_TOKENS, SHAW_TOKENS, &index->first, &index->n_offsets));
    index->data = bench_alloc(base, (size_t)index->n_offsets * sizeof *index->data);
    bench_check(posenc_rel_index_fill(&rule, index));
    add_input(job, SHAW_TOKENS, SHAW_TOKENS, SHAW_HEADS);
    add_input(job, SHAW_DIM, index->n_rows, 1);
    add_output(job, SHAW_DIM, SHAW_TOKENS, SHAW_HEADS, 1);
    base->elements = SHAW_HEADS * SHAW_TOKENS * SHAW_TOKENS; /* probabilities */
}

static void run_values(bench_job *base) {
    const call_job *job = (call_job *)base;
    posenc_view rows = posenc_view_transpose(job->in[1], 1, 2), z = posenc_view_transpose(job->out, 1, 2);
    bench_check(posenc_relative_values(&job->index, posenc_mask_none(), 0, &job->in[0], &rows, &z, posenc_range_all()));
}

static void plain_values(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int64_t h = 0; h < SHAW_HEADS; h++)
        for (int64_t i = 0; i < SHAW_TOKENS; i++)
            for (int64_t j = 0; j < SHAW_TOKENS; j++)
                plain_weighted_sum(row_of(&job->in[0], i, h) + j,
                                   row_of(&job->in[1], job->index.data[j - i - job->index.first], 0),
                                   row_of(&job->out, i, h), 1, SHAW_DIM);
}

/* ---- Decomposed positions: a window of SAM's ViT-B, 14 x 14, 12 heads ---- */

enum { SAM_HEADS = 12, SAM_SIDE = 14, SAM_TOKENS = SAM_SIDE * SAM_SIDE };

static void open_decomposed(bench_job *base) {
    call_job *job = (call_job *)base;
    add_input(job, SAM_SIDE, SAM_TOKENS, SAM_HEADS);
    add_input(job, SAM_SIDE, SAM_TOKENS, SAM_HEADS);
    add_output(job, SAM_TOKENS, SAM_TOKENS, SAM_HEADS, 1);
}

static void run_decomposed(bench_job *base) {
    const call_job *job = (call_job *)base;
    bench_check(posenc_decomposed_add(&job->in[0], &job->in[1], &job->out, posenc_range_all()));
}

static void plain_decomposed(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int64_t h = 0; h < SAM_HEADS; h++)
        for (int64_t i = 0; i < SAM_TOKENS; i++)
            plain_add_axes(row_of(&job->out, i, h), row_of(&job->in[0], i, h), row_of(&job->in[1], i, h), SAM_SIDE,
                           SAM_SIDE);
}

/* ---- Convolution: CPVT-Ti's encoding generator, 3 x 3 over 14 x 14 tokens and one that is copied ---- */

enum { CPVT_SIDE = 14, CPVT_CHANNELS = 192, CPVT_TAPS = 9 };

static const posenc_conv_grid cpvt_grid = {1, CPVT_SIDE, CPVT_SIDE};

static void open_convolution(bench_job *base) {
    call_job *job = (call_job *)base;
    posenc_conv_params params = POSENC_CONV_DEFAULTS;
    params.n_channels = CPVT_CHANNELS;
    params.n_dims = 2;
    const float *weights = add_weights(job, 0, CPVT_CHANNELS * CPVT_TAPS);
    bench_check(posenc_conv_create(&params, weights, add_weights(job, 1, CPVT_CHANNELS), &job->conv));
    add_input(job, CPVT_CHANNELS, 1 + CPVT_SIDE * CPVT_SIDE, 1);
    add_output(job, CPVT_CHANNELS, 1 + CPVT_SIDE * CPVT_SIDE, 1, 0);
}

static void run_convolution(bench_job *base) {
    const call_job *job = (call_job *)base;
    bench_check(posenc_conv_apply(job->conv, cpvt_grid, &job->in[0], &job->out, posenc_range_all()));
}

static void plain_conv_token(const call_job *job, int64_t v, int64_t u) {
    const posenc_view *x = &job->in[0];
    float *y = row_of(&job->out, 1 + v * CPVT_SIDE + u, 0);
    for (int c = 0; c < CPVT_CHANNELS; c++)
        y[c] = job->weights[1][c] + row_of(x, 1 + v * CPVT_SIDE + u, 0)[c];
    for (int k = 0; k < CPVT_TAPS; k++) {
        int64_t at_v = v + k / 3 - 1, at_u = u + k % 3 - 1;
        if (at_v < 0 || at_v >= CPVT_SIDE || at_u < 0 || at_u >= CPVT_SIDE)
            continue;
        const float *from = row_of(x, 1 + at_v * CPVT_SIDE + at_u, 0);
        for (int c = 0; c < CPVT_CHANNELS; c++)
            y[c] += job->weights[0][c * CPVT_TAPS + k] * from[c];
    }
}

static void plain_convolution_call(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int c = 0; c < CPVT_CHANNELS; c++)
        row_of(&job->out, 0, 0)[c] = row_of(&job->in[0], 0, 0)[c];
    for (int64_t v = 0; v < CPVT_SIDE; v++)
        for (int64_t u = 0; u < CPVT_SIDE; u++)
            plain_conv_token(job, v, u);
}

/* ---- Grouped convolution: Wav2Vec2 base, one second ---- */

enum { SPEECH_TOKENS = 50, SPEECH_CHANNELS = 768, SPEECH_GROUPS = 16, SPEECH_TAPS = 128 };
enum { SPEECH_WIDTH = SPEECH_CHANNELS / SPEECH_GROUPS };

static void open_grouped(bench_job *base) {
    call_job *job = (call_job *)base;
    posenc_grouped_conv_params params = POSENC_GROUPED_CONV_DEFAULTS;
    params.n_channels = SPEECH_CHANNELS;
    const float *weights = add_weights(job, 0, (size_t)SPEECH_TAPS * SPEECH_WIDTH * SPEECH_CHANNELS);
    bench_check(posenc_grouped_conv_create(&params, weights, add_weights(job, 1, SPEECH_CHANNELS), &job->grouped));
    add_input(job, SPEECH_CHANNELS, SPEECH_TOKENS, 1);
    add_output(job, SPEECH_CHANNELS, SPEECH_TOKENS, 1, 0);
}

static void run_grouped(bench_job *base) {
    const call_job *job = (call_job *)base;
    bench_check(posenc_grouped_conv_apply(job->grouped, &job->in[0], &job->out, posenc_range_all()));
}

/* One tap of one group. x: channels that are read, y: channels that are written. */
static void plain_grouped_tap(const float *weights, const float *x, float *y) {
    for (int i = 0; i < SPEECH_WIDTH; i++)
        for (int c = 0; c < SPEECH_WIDTH; c++)
            y[c] += x[i] * weights[i * SPEECH_CHANNELS + c];
}

static void plain_grouped_call(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int64_t t = 0; t < SPEECH_TOKENS; t++) {
        float *y = row_of(&job->out, t, 0);
        for (int c = 0; c < SPEECH_CHANNELS; c++)
            y[c] = job->weights[1][c];
        for (int u = 0; u < SPEECH_TAPS; u++) {
            int64_t from = t + u - SPEECH_TAPS / 2;
            for (int first = 0; from >= 0 && from < SPEECH_TOKENS && first < SPEECH_CHANNELS; first += SPEECH_WIDTH)
                plain_grouped_tap(job->weights[0] + u * SPEECH_WIDTH * SPEECH_CHANNELS + first,
                                  row_of(&job->in[0], from, 0) + first, y + first);
        }
    }
}

/* ---- Resizing: ViT-B/16's table from 224 to 384 pixels, bicubic ---- */

enum { VIT_SIDE = 14, VIT_NEW_SIDE = 24, VIT_DIM = 768 };

static void open_resize(bench_job *base) {
    call_job *job = (call_job *)base;
    add_input(job, VIT_DIM, 1 + VIT_SIDE * VIT_SIDE, 1);
    add_output(job, VIT_DIM, 1 + VIT_NEW_SIDE * VIT_NEW_SIDE, 1, 0);
}

static void run_resize(bench_job *base) {
    const call_job *job = (call_job *)base;
    posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
    params.method = POSENC_RESIZE_CUBIC;
    params.h_in = params.w_in = VIT_SIDE;
    params.h_out = params.w_out = VIT_NEW_SIDE;
    params.n_prefix = 1;
    bench_check(posenc_table_resize(&params, &job->in[0], &job->out, posenc_range_all()));
}

/* ---- Swin-B's third stage: windows of 7 x 7, 16 heads ---- */

enum { SWIN_SIDE = 7, SWIN_TOKENS = SWIN_SIDE * SWIN_SIDE, SWIN_HEADS = 16 };

static void open_swin(bench_job *base) {
    call_job *job = (call_job *)base;
    job->rows = bench_alloc(base, SWIN_TOKENS * SWIN_TOKENS * sizeof *job->rows);
    bench_check(posenc_swin_index(SWIN_SIDE, SWIN_SIDE, job->rows));
    add_input(job, SWIN_HEADS, (2 * SWIN_SIDE - 1) * (2 * SWIN_SIDE - 1), 1);
    add_output(job, SWIN_TOKENS, SWIN_TOKENS, SWIN_HEADS, 0);
}

static void run_swin(bench_job *base) {
    const call_job *job = (call_job *)base;
    posenc_bias_table table = {job->in[0].data, job->in[0].ne[1], SWIN_HEADS, SWIN_HEADS, 1};
    bench_check(posenc_swin_bias(SWIN_SIDE, SWIN_SIDE, &table, &job->out));
}

static void plain_swin(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int64_t h = 0; h < SWIN_HEADS; h++)
        for (int64_t pair = 0; pair < SWIN_TOKENS * SWIN_TOKENS; pair++)
            row_of(&job->out, 0, h)[pair] = row_of(&job->in[0], job->rows[pair], 0)[h];
}

/* ---- Results over two sets of keys joined: 512 queries of Llama-3.1-8B ---- */

enum { LLAMA_HEADS = 32, LLAMA_DIM = 128, LLAMA_QUERIES = 512 };

static void open_merge(bench_job *base) {
    call_job *job = (call_job *)base;
    for (int64_t dim = LLAMA_DIM; dim >= 1; dim /= LLAMA_DIM) { /* the results of both, then their lse */
        add_input(job, dim, LLAMA_QUERIES, LLAMA_HEADS);
        add_input(job, dim, LLAMA_QUERIES, LLAMA_HEADS);
    }
    add_output(job, LLAMA_DIM, LLAMA_QUERIES, LLAMA_HEADS, 0);
    job->out_lse = bench_view(base, POSENC_F32, 1, LLAMA_QUERIES, LLAMA_HEADS);
    bench_compare(base, job->out_lse.data, POSENC_F32, LLAMA_QUERIES * LLAMA_HEADS);
}

static void run_merge(bench_job *base) {
    const call_job *job = (call_job *)base;
    posenc_attention_state a = {job->in[0], job->in[2]}, b = {job->in[1], job->in[3]}, y = {job->out, job->out_lse};
    bench_check(posenc_attention_combine(&a, &b, &y, posenc_range_all()));
}

static void plain_merge(bench_job *base) {
    const call_job *job = (call_job *)base;
    for (int64_t row = 0; row < LLAMA_QUERIES * LLAMA_HEADS; row++) {
        float lse_a = ((float *)job->in[2].data)[row], lse_b = ((float *)job->in[3].data)[row];
        float max = fmaxf(lse_a, lse_b), w_a = expf(lse_a - max), w_b = expf(lse_b - max), sum = w_a + w_b;
        for (int c = 0; c < LLAMA_DIM; c++)
            row_of(&job->out, row, 0)[c] =
                w_a / sum * row_of(&job->in[0], row, 0)[c] + w_b / sum * row_of(&job->in[1], row, 0)[c];
        ((float *)job->out_lse.data)[row] = max + logf(sum);
    }
}

/* ---- All of them ---- */

static const struct {
    const char *name, *shape;
    bench_call *open, *run, *plain;
} calls[] = {
    {"posenc_fire_write", "12x64x2048", open_fire, run_fire, plain_fire},
    {"posenc_cope_logits", "12x128x1024", open_cope, run_cope, plain_cope_call},
    {"posenc_relative_values", "8x512x512", open_values, run_values, plain_values},
    {"posenc_decomposed_add", "12x196x196", open_decomposed, run_decomposed, plain_decomposed},
    {"posenc_conv_apply", "197x192", open_convolution, run_convolution, plain_convolution_call},
    {"posenc_grouped_conv_apply", "50x768", open_grouped, run_grouped, plain_grouped_call},
    {"posenc_table_resize", "14x14_24x24x768", open_resize, run_resize, NULL},
    {"posenc_swin_bias", "16x49x49", open_swin, run_swin, plain_swin},
    {"posenc_attention_combine", "32x512x128", open_merge, run_merge, plain_merge},
};

enum { N_CALLS = sizeof calls / sizeof calls[0] };

void bench_register_calls(void) {
    static bench_race races[N_CALLS];
    for (int i = 0; i < N_CALLS; i++) {
        races[i] = (bench_race){.job_size = sizeof(call_job),
                                .shape_size = sizeof "",
                                .open = calls[i].open,
                                .fill = fill_views,
                                .close = close_call,
                                .racers = {calls[i].run, calls[i].plain, limit_call}};
        posenc_isa_tier tier;
        for (int t = 0; (tier = bench_tier(t)) != POSENC_ISA_COUNT; t++) {
            char name[128];
            snprintf(name, sizeof name, "%s/%s/%s", calls[i].name, posenc_isa_name(tier), calls[i].shape);
            bench_register(&races[i], "", tier, name);
        }
    }
}
