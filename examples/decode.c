/* SPDX-License-Identifier: MIT */
/* An attention layer in the shape of Llama with its key/value cache: prefill, decoding token by token, and a context
 * shift, alone and with threads. A model is many of these; here there is one, and its projections are plain loops.
 *
 * It checks itself: decoding gives the bits of the prefill; threads give those of one thread, also where they share
 * the keys of a long cache; attention is what the plain reference says; and a shifted cache gives what a cache filled
 * at the new positions gives, up to the rounding of the keys to f16.
 *
 *     cc decode.c $(pkg-config --cflags --libs posenc) -lm -lpthread
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <posenc/posenc.h>

enum { HEAD_DIM = 64, N_HEADS = 4, N_KV_HEADS = 2, HIDDEN = 128, Q = N_HEADS * HEAD_DIM, KV = N_KV_HEADS * HEAD_DIM };
enum { N_CTX = 5120, N_SEGMENTS = (N_CTX - 1) / POSENC_ATTENTION_SEGMENT + 1 };
enum { N_PREFILL = 24, N_TOKENS = 32, MAX_BATCH = 32, N_THREADS = 3 };

typedef struct layer {
    float wq[Q * HIDDEN], wk[KV * HIDDEN], wv[KV * HIDDEN], wo[HIDDEN * Q];
    posenc_rope *rope; /* made once for the model: immutable, shared by layers and threads */
} layer;

/* Cell j holds the f16 key and value of the token at position j: [head_dim, n_kv_heads, n_ctx]. */
typedef struct cache {
    uint16_t k[N_CTX * KV], v[N_CTX * KV];
    int32_t n;
} cache;

/* One forward pass over n tokens that follow those in the cache: what all its threads share. */
typedef struct pass {
    const layer *layer;
    cache *cache;
    const float *x; /* [hidden, n] */
    float *y;       /* [hidden, n] */
    int64_t n;
    int32_t positions[MAX_BATCH];
    float table[MAX_BATCH * HEAD_DIM]; /* cosines and sines of the tokens: one table for all layers of a model */
    float q[MAX_BATCH * Q], k[MAX_BATCH * KV], v[MAX_BATCH * KV], mixed[MAX_BATCH * Q];
    posenc_score_params params;
    posenc_attention_args attention;
    void *scratch[N_THREADS];
    size_t scratch_bytes;                                           /* of each thread */
    float parts[(HEAD_DIM + 2) * MAX_BATCH * N_HEADS * N_SEGMENTS]; /* posenc_attention_split_bytes at most */
    int nth;
    pthread_barrier_t barrier;
} pass;

/* A status other than POSENC_OK is a mistake in this program. */
static void check(posenc_status status, const char *what) {
    if (status != POSENC_OK) {
        fprintf(stderr, "%s: %s\n", what, posenc_status_string(status));
        exit(1);
    }
}

static float dot(const float *a, const float *b, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y = W x for the tokens of a range. */
static void project(const float *w, const float *x, float *y, int64_t n_in, int64_t n_out, posenc_range tokens) {
    for (int64_t t = tokens.begin; t < tokens.end; t++)
        for (int64_t o = 0; o < n_out; o++)
            y[t * n_out + o] = dot(w + o * n_in, x + t * n_in, n_in);
}

/* ---- The pass, as each of its threads runs it ---- */

/* Q is rotated in place and scaled; K is rotated and V goes as it is into the cache, both rounded to f16. One call, one
 * set of cosines and sines; a row is one head of one token, so that even a single token is work for several threads. */
static void rotate(pass *p, int ith) {
    posenc_rope_table table = posenc_rope_table_dense(p->layer->rope, p->table);
    posenc_view q = posenc_view_dense(p->q, POSENC_F32, HEAD_DIM, N_HEADS, p->n, 1);
    posenc_rope_tensor tasks[3] = {
        {.x = q, .y = q, .rotates = 1, .scale = 1.0f / 8.0f}, /* 1 / sqrt(HEAD_DIM) */
        {.x = posenc_view_dense(p->k, POSENC_F32, HEAD_DIM, N_KV_HEADS, p->n, 1),
         .y = posenc_view_dense(p->cache->k, POSENC_F16, HEAD_DIM, N_KV_HEADS, N_CTX, 1),
         .rotates = 1,
         .scale = 1.0f,
         .rows32 = p->positions},
        {.x = posenc_view_dense(p->v, POSENC_F32, HEAD_DIM, N_KV_HEADS, p->n, 1),
         .y = posenc_view_dense(p->cache->v, POSENC_F16, HEAD_DIM, N_KV_HEADS, N_CTX, 1),
         .rotates = 0,
         .scale = 1.0f,
         .rows32 = p->positions},
    };
    posenc_range rows = posenc_range_of_thread(p->n * (N_HEADS + 2 * N_KV_HEADS), ith, p->nth);
    check(posenc_rope_apply_tensors(p->layer->rope, tasks, 3, NULL, &table, POSENC_FORWARD, rows), "rotation");
}

/* Sets the arguments of attention. The tokens of the pass are in the cache already. */
static void set_attention(pass *p) {
    int64_t n_k = p->cache->n + p->n;
    p->params = posenc_score_params_of(1.0f, posenc_mask_causal()); /* the scale is in Q already */
    p->attention = (posenc_attention_args){
        .params = &p->params,
        .q = posenc_view_dense(p->q, POSENC_F32, HEAD_DIM, N_HEADS, p->n, 1),
        .k = posenc_view_dense(p->cache->k, POSENC_F16, HEAD_DIM, N_KV_HEADS, n_k, 1),
        .v = posenc_view_dense(p->cache->v, POSENC_F16, HEAD_DIM, N_KV_HEADS, n_k, 1),
        .out = posenc_view_dense(p->mixed, POSENC_F32, HEAD_DIM, N_HEADS, p->n, 1),
    };
}

/* Threads share units, of up to 64 queries and heads over the same keys. A lone token has one for each head of K and V.
 * Where units are fewer than threads, a unit's keys are shared, 4096 at a time, and the parts are joined behind a
 * barrier. All threads go the same way. Behind a causal mask later units have more keys: for long prompts an engine
 * hands units out a few at a time instead (docs/embedding.md). */
static void attend(pass *p, int ith) {
    const posenc_attention_args *args = &p->attention;
    int64_t n_units = posenc_attention_unit_count(&args->q, &args->k), n_parts = posenc_attention_split_count(args);
    posenc_range units = posenc_range_of_thread(n_units, ith, p->nth);
    if (n_units >= p->nth) {
        check(posenc_attention_run(args, p->scratch[ith], p->scratch_bytes, units), "attention");
        return;
    }
    check(posenc_attention_split(args, p->scratch[ith], p->scratch_bytes, p->parts, sizeof p->parts,
                                 posenc_range_of_thread(n_parts, ith, p->nth)),
          "parts");
    pthread_barrier_wait(&p->barrier);
    check(posenc_attention_combine_splits(args, p->parts, sizeof p->parts, units), "join");
}

static void run_part(pass *p, int ith) {
    posenc_range tokens = posenc_range_of_thread(p->n, ith, p->nth);
    project(p->layer->wq, p->x, p->q, HIDDEN, Q, tokens);
    project(p->layer->wk, p->x, p->k, HIDDEN, KV, tokens);
    project(p->layer->wv, p->x, p->v, HIDDEN, KV, tokens);
    pthread_barrier_wait(&p->barrier);
    rotate(p, ith);
    pthread_barrier_wait(&p->barrier);
    attend(p, ith);
    pthread_barrier_wait(&p->barrier);
    project(p->layer->wo, p->mixed, p->y, Q, HIDDEN, tokens);
}

typedef struct worker {
    pass *pass;
    int ith;
} worker;

static void *run_worker(void *argument) {
    worker *w = argument;
    run_part(w->pass, w->ith);
    return NULL;
}

/* Runs n tokens on nth threads, of which the caller's is one. */
static void forward(pass *p, const float *x, float *y, int64_t n, int nth) {
    p->x = x;
    p->y = y;
    p->n = n;
    p->nth = nth;
    check(posenc_positions_range(p->cache->n, n, p->positions), "positions");
    posenc_rope_table table = posenc_rope_table_dense(p->layer->rope, p->table);
    check(posenc_rope_table_fill(p->layer->rope, p->positions, n, POSENC_FORWARD, &table), "table");
    set_attention(p);

    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    pthread_barrier_init(&p->barrier, NULL, (unsigned)nth);
    for (int ith = 1; ith < nth; ith++) {
        workers[ith] = (worker){p, ith};
        if (pthread_create(&threads[ith], NULL, run_worker, &workers[ith]) != 0)
            exit(1);
    }
    run_part(p, 0);
    for (int ith = 1; ith < nth; ith++)
        pthread_join(threads[ith], NULL);
    pthread_barrier_destroy(&p->barrier);
    p->cache->n += (int32_t)n;
}

/* ---- Context shift: the n_discard tokens behind the first n_keep leave the cache, those behind them move up ---- */

static void shift(const layer *l, cache *c, int32_t n_keep, int32_t n_discard) {
    int64_t n_moved = c->n - n_keep - n_discard;
    uint16_t *to = c->k + n_keep * KV;
    memmove(to, to + n_discard * KV, (size_t)(n_moved * KV) * sizeof *to);
    memmove(c->v + n_keep * KV, c->v + (n_keep + n_discard) * KV, (size_t)(n_moved * KV) * sizeof *to);

    /* A rotation by the difference takes a key from its old position to the new one. */
    int32_t deltas[N_CTX];
    for (int64_t t = 0; t < n_moved; t++)
        deltas[t] = -n_discard;
    posenc_view k = posenc_view_dense(to, POSENC_F16, HEAD_DIM, N_KV_HEADS, n_moved, 1);
    check(posenc_rope_apply(l->rope, &k, deltas, &k, POSENC_SHIFT, posenc_range_all()), "shift");
    c->n -= n_discard;
}

/* ---- Does it agree? ---- */

static void fill_random(float *p, int64_t n, float size) {
    static uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = size * ((float)(state >> 8) * 0x1p-23f - 1.0f);
    }
}

/* f16 of either sign from 0.5 to 1. */
static void fill_random_halves(uint16_t *p, int64_t n) {
    static uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (uint16_t)((state >> 16 & 0x83ff) | 0x3800);
    }
}

/* NaN if there is one. */
static float largest_difference(const float *a, const float *b, int64_t n) {
    float largest = 0.0f;
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= largest))
            largest = fabsf(a[i] - b[i]);
    return largest;
}

static int report(const char *what, float difference, float allowed) {
    int is_right = difference <= allowed;
    printf("%-52s largest difference %g%s\n", what, (double)difference, is_right ? "" : "  WRONG");
    return is_right;
}

/* The output of the last n_new tokens must be `expected` when the first are run at once and those one by one. */
static int decodes(pass *p, const float *x, const float *expected, int nth, const char *what) {
    static float y[N_TOKENS * HIDDEN];
    p->cache->n = 0;
    forward(p, x, y, N_PREFILL, nth);
    for (int64_t t = N_PREFILL; t < N_TOKENS; t++)
        forward(p, x + t * HIDDEN, y + t * HIDDEN, 1, nth);
    return report(what, largest_difference(y, expected, N_TOKENS * HIDDEN), 0.0f);
}

/* Once the cache is shifted, the next token must see what it sees behind the same tokens run afresh. */
static int shifts(pass *p, float *x) {
    enum { N_KEEP = 4, N_DISCARD = 10, N_LEFT = N_TOKENS - N_DISCARD };
    static float y[HIDDEN], y_fresh[MAX_BATCH * HIDDEN];
    shift(p->layer, p->cache, N_KEEP, N_DISCARD);
    forward(p, x + N_TOKENS * HIDDEN, y, 1, 1);
    memmove(x + N_KEEP * HIDDEN, x + (N_KEEP + N_DISCARD) * HIDDEN,
            (size_t)(N_TOKENS + 1 - N_KEEP - N_DISCARD) * HIDDEN * sizeof *x);
    p->cache->n = 0;
    forward(p, x, y_fresh, N_LEFT + 1, 1);
    return report("context shift and filling afresh", largest_difference(y, y_fresh + N_LEFT * HIDDEN, HIDDEN),
                  0x1p-11f);
}

/* Compares the output of the last pass with the plain reference for the same queries and cache. */
static int matches_reference(pass *p, const char *what) {
    static float expected[MAX_BATCH * Q];
    const posenc_attention_args *args = &p->attention;
    posenc_view out = posenc_view_dense(expected, POSENC_F32, HEAD_DIM, N_HEADS, p->n, 1);
    check(posenc_attention_reference(&p->params, &args->q, &args->k, &args->v, &out, NULL), "reference");
    return report(what, largest_difference(p->mixed, expected, p->n * Q), 4e-6f);
}

/* One token behind a long cache: two units for three threads, so they share the keys. */
static int shares_keys(pass *p, const float *x) {
    enum { N_BEFORE = N_CTX - 1 };
    static float alone[HIDDEN], shared[HIDDEN];
    fill_random_halves(p->cache->k, N_BEFORE * KV);
    fill_random_halves(p->cache->v, N_BEFORE * KV);
    p->cache->n = N_BEFORE;
    forward(p, x, alone, 1, 1);
    int is_right = matches_reference(p, "attention over a long cache and the reference");
    p->cache->n = N_BEFORE;
    forward(p, x, shared, 1, N_THREADS);
    is_right &= report("keys shared by three threads", largest_difference(shared, alone, HIDDEN), 0.0f);
    return is_right;
}

int main(void) {
    static layer l;
    static cache c;
    static pass p = {.layer = &l, .cache = &c};
    static float x[(N_TOKENS + 1) * HIDDEN], at_once[N_TOKENS * HIDDEN];
    fill_random(l.wq, Q * HIDDEN, 0.3f);
    fill_random(l.wk, KV * HIDDEN, 0.3f);
    fill_random(l.wv, KV * HIDDEN, 0.1f);
    fill_random(l.wo, HIDDEN * Q, 0.1f);
    fill_random(x, (N_TOKENS + 1) * HIDDEN, 1.0f);
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = HEAD_DIM;
    params.base = 500000.0;
    check(posenc_rope_create(&params, &l.rope), "rope");
    p.scratch_bytes = posenc_attention_workspace_bytes(HEAD_DIM, HEAD_DIM);
    for (int ith = 0; ith < N_THREADS; ith++) /* a thread needs one, whatever the number of layers and keys */
        if ((p.scratch[ith] = malloc(p.scratch_bytes)) == NULL)
            return 1;

    forward(&p, x, at_once, N_TOKENS, 1);
    int is_right = matches_reference(&p, "attention over a prompt and the reference");
    is_right &= decodes(&p, x, at_once, N_THREADS, "decoding with three threads and prefill with one");
    is_right &= decodes(&p, x, at_once, 1, "decoding and prefill");
    is_right &= shifts(&p, x);
    is_right &= shares_keys(&p, x);
    for (int ith = 0; ith < N_THREADS; ith++)
        free(p.scratch[ith]);
    posenc_rope_free(l.rope);
    return is_right ? 0 : 1;
}
