/* SPDX-License-Identifier: MIT */
#include "truth_scene.h"
#include "truth_score.h"

#include <math.h>
#include <string.h>

/* ---- Visible keys ---- */

int64_t scene_query(const scene *s, int64_t i, int64_t b) {
    return truth_query(&s->params, i, b);
}

int scene_sees(const scene *s, int64_t j, int64_t i, int64_t h, int64_t b) {
    return truth_sees(&s->params, j, i, h, b);
}

double scene_logit(const scene *s, double score, int64_t j, int64_t i, int64_t h, int64_t b) {
    double size;
    return truth_logit(&s->params, score, j, i, h, b, &size);
}

/* ---- Random scenes ---- */

static posenc_dtype random_type(void) {
    return truth_below(2) ? POSENC_F32 : (posenc_dtype)truth_below(3);
}

static posenc_mask random_mask(void) {
    int64_t size = 1 + truth_below(truth_below(2) ? 30 : 900);
    posenc_mask mask;
    switch (truth_below(6)) {
    case 0: return posenc_mask_none();
    case 1: return posenc_mask_causal();
    case 2: return posenc_mask_sides(size, size);
    case 3:
        mask = posenc_mask_chunked(size);
        if (truth_below(2))
            mask.before = truth_below(size), mask.after = truth_below(size + 1) - 1;
        return mask;
    case 4: mask = posenc_mask_window(size); break;
    default: mask = (posenc_mask){size, truth_below(5), 0, 0};
    }
    mask.n_first = truth_below(2) ? truth_below(40) : 0;
    return mask;
}

static void scale_tensor(truth_tensor *t, double size) {
    truth_tensor source = truth_tensor_random(t->view.ne);
    TRUTH_EACH(&source.view, i0, i1, i2, i3)
    *truth_at(&source.view, i0, i1, i2, i3) = (float)truth_uniform(-size, size);
    truth_convert(&source.view, &t->view);
    truth_tensor_free(&source);
    truth_mark(t);
}

static truth_tensor tensor_of(posenc_dtype type, double size, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    truth_tensor t = truth_tensor_random_of(type, (int64_t[4]){ne0, ne1, ne2, ne3});
    scale_tensor(&t, size);
    return t;
}

/* Bytes of a mask: here and there, or in runs, as those of windows and documents are. */
static void draw_bytes(scene *s) {
    int is_in_runs = truth_below(2) != 0, is_set = 0;
    for (size_t k = 0, left = 0; k < sizeof s->bytes; k++) {
        if (left == 0) {
            is_set = is_in_runs ? !is_set : truth_below(3) != 0;
            left = is_in_runs ? 1 + (size_t)truth_below(60) : 1;
        }
        left--;
        s->bytes[k] = is_set ? (uint8_t)(1 + truth_below(255)) : 0;
    }
}

static void make_positions(scene *s) {
    posenc_score_params *p = &s->params;
    p->mask = random_mask();
    p->positions.query_start = truth_below(4) ? s->n_k - s->n_q : truth_below(2 * s->n_k + 60) - 30;
    if (p->mask.n_first == 0 && truth_below(4) == 0) {
        for (int64_t i = 0; i < s->n_q; i++)
            s->q_pos[i] = (int32_t)(truth_below(1000) - 100);
        for (int64_t j = 0; j < s->n_k; j++)
            s->k_pos[j] = (int32_t)(truth_below(1000) - 100);
        p->positions.queries = s->q_pos;
        p->positions.keys = s->k_pos;
    } else if (truth_below(3) == 0) {
        for (int b = 0; b < SCENE_BATCH; b++)
            s->query_starts[b] = (int32_t)(truth_below(300) - 150);
        p->positions.query_starts = s->query_starts;
        p->positions.query_start = POSENC_ALIGN_LAST_KEY;
    }
    if (truth_below(4) == 0) {
        s->cu_seqlens[1] = (int32_t)truth_below(s->n_k + 1);
        s->cu_seqlens[2] = s->cu_seqlens[1] + (int32_t)truth_below(s->n_k + 1 - s->cu_seqlens[1]);
        s->cu_seqlens[3] = (int32_t)s->n_k;
        p->sequences.cu_seqlens = s->cu_seqlens;
        p->sequences.n_seqs = 1 + truth_below(3);
    }
    for (int b = 0; b < SCENE_BATCH; b++) {
        s->k_begin[b] = (int32_t)truth_below(s->n_k / 2 + 1);
        s->k_end[b] = (int32_t)(s->n_k - truth_below(s->n_k / 2 + 1));
    }
    p->sequences.k_begin = truth_below(5) == 0 ? s->k_begin : NULL;
    p->sequences.k_end = truth_below(5) == 0 ? s->k_end : NULL;
    for (int b = 0; b < SCENE_BATCH; b++)
        s->origins[b] = truth_below(2) ? s->k_begin[b] : (int32_t)(truth_below(100) - 50);
    p->sequences.origins = truth_below(3) == 0 ? s->origins : NULL;
    if (truth_below(5) == 0) {
        int64_t by_query = truth_below(2) * truth_below(40), by_head = truth_below(2) * truth_below(400);
        draw_bytes(s);
        s->bool_mask =
            (posenc_bool_mask){s->bytes, {1, by_query, by_head, s->n_k}, truth_below(2) ? POSENC_KEEP : POSENC_DROP};
        p->bool_mask = &s->bool_mask;
    }
}

/* Lines over exactly the offsets that the call may see, or extended ones over fewer, in any place. */
static void make_rel_bias(scene *s) {
    posenc_score_params *p = &s->params;
    int64_t first, n;
    int64_t least = scene_query(s, 0, 0), greatest = least;
    for (int64_t b = 1; b < s->n_batch; b++) {
        least = least < scene_query(s, 0, b) ? least : scene_query(s, 0, b);
        greatest = greatest > scene_query(s, 0, b) ? greatest : scene_query(s, 0, b);
    }
    truth_ok(posenc_rel_bias_range(p->mask, least, greatest - least + s->n_q, s->n_k, &first, &n));
    if (p->positions.keys != NULL) {
        first = -1000;
        n = 2001;
    }
    assert_true(n <= SCENE_OFFSETS);
    for (int h = 0; h < SCENE_HEADS; h++)
        for (int64_t o = 0; o < n; o++)
            s->rel_bias_data[h][o] = (float)truth_uniform(-2.0, 2.0);
    for (int64_t o = 0; o < n; o++)
        s->index_data[o] = (int32_t)truth_below(SCENE_ROWS);
    int64_t stride = truth_below(3) ? SCENE_OFFSETS : 0;
    s->rel_bias = (posenc_rel_bias){s->rel_bias_data[0], first, n, s->n_heads, stride, 0};
    if (truth_below(2)) {
        s->rel_bias.is_clamped = 1;
        s->rel_bias.first = first + truth_below(n + 200) - 100;
        s->rel_bias.n_offsets = 1 + truth_below(truth_below(2) ? 40 : n + 1);
    }
    s->index = (posenc_rel_index){s->index_data, first, n, SCENE_ROWS};
    p->bias.relative = truth_below(2) ? &s->rel_bias : NULL;
}

static void make_terms(scene *s) {
    posenc_score_params *p = &s->params;
    for (int h = 0; h < SCENE_HEADS; h++) {
        s->slopes[h] = (float)truth_uniform(0.0, 0.004);
        s->bias_slopes[h] = (float)truth_uniform(-1.0, 1.0);
        s->sinks[h] = truth_below(4) ? (float)truth_uniform(-4.0, 4.0) : -INFINITY;
    }
    p->bias.alibi_slopes = truth_below(3) == 0 ? s->slopes : NULL;
    p->sinks = truth_below(3) == 0 ? s->sinks : NULL;
    p->bias.tensor_slopes = truth_below(2) ? s->bias_slopes : NULL;
    p->cap = truth_below(3) == 0 ? (float)truth_uniform(0.5, 60.0) : 0.0f;
    p->bias.tensor = truth_below(3) == 0 ? &s->bias.view : NULL;
    p->fully_masked = (posenc_fully_masked_row)truth_below(3);
    if (truth_below(4) == 0)
        p->bias.by_query = (posenc_relative){&s->by_query.view, &s->index};
    if (truth_below(4) == 0)
        p->bias.by_key = (posenc_relative){&s->by_key.view, &s->index};
}

/* Shared along a dimension, or not. */
static int64_t one_or(int64_t n) {
    return truth_below(3) ? n : 1;
}

void scene_open(scene *s, int64_t n_k) {
    memset(s, 0, sizeof *s);
    s->n_k = n_k;
    s->n_q = 1 + truth_below(n_k < 200 && truth_below(8) == 0 ? SCENE_Q : 6); /* of attention more than a unit */
    s->n_heads = 1 + truth_below(SCENE_HEADS);
    s->n_batch = 1 + truth_below(SCENE_BATCH);
    s->params = (posenc_score_params)POSENC_SCORE_DEFAULTS;
    s->params.mask = posenc_mask_none();
    s->params.scale = (float)truth_uniform(0.05, 1.0);
    s->params.n_heads = s->n_heads;
    s->params.n_batch = s->n_batch;
    int64_t n_q = s->n_q, n_heads = s->n_heads, n_batch = s->n_batch;
    s->x = tensor_of(random_type(), 4.0, n_k, s->n_q, s->n_heads, s->n_batch);
    s->y = tensor_of(random_type(), 1.0, n_k, s->n_q, s->n_heads, s->n_batch);
    s->bias = tensor_of(random_type(), 2.0, n_k, one_or(n_q), one_or(n_heads), one_or(n_batch));
    s->by_query = tensor_of(POSENC_F32, 1.0, SCENE_ROWS, one_or(n_q), one_or(n_heads), one_or(n_batch));
    s->by_key = tensor_of(POSENC_F32, 1.0, SCENE_ROWS, one_or(n_k), one_or(n_heads), one_or(n_batch));
    make_positions(s);
    make_rel_bias(s);
    make_terms(s);
}

void scene_close(scene *s) {
    truth_tensor *all[] = {&s->x, &s->y, &s->bias, &s->by_query, &s->by_key};
    for (int k = 0; k < 5; k++)
        truth_tensor_free(all[k]);
}
