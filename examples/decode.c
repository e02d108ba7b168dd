/* An attention layer in the shape of Llama with its key/value cache: prefill, decoding token by token, and a context shift,
 * alone and with threads. A model is many of these; here there is one, and its matrix products are plain loops.
 *
 * It checks itself: decoding gives the bits of the prefill, threads give the bits of one thread, and a shifted cache gives
 * what a cache filled at the new positions gives, up to the rounding of the keys.
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
enum { N_CTX = 64, N_PREFILL = 24, N_TOKENS = 32, N_THREADS = 3 };

typedef struct layer {
    float wq[Q * HIDDEN], wk[KV * HIDDEN], wv[KV * HIDDEN], wo[HIDDEN * Q];
    posenc_rope *rope; /* made once for the model: immutable, shared by layers and threads */
} layer;

/* Cell j holds the key and value of the token at position j: [head_dim, n_kv_heads, n_ctx]. An engine would take 16 bits
 * here, POSENC_F16 in the views below, and nothing else would change. */
typedef struct cache {
    float k[N_CTX * KV], v[N_CTX * KV];
    int32_t n;
} cache;

/* One forward pass over n tokens that follow those in the cache: what all its threads share. */
typedef struct pass {
    const layer *layer;
    cache *cache;
    const float *x; /* [hidden, n] */
    float *y;       /* [hidden, n] */
    int64_t n;
    int32_t positions[N_CTX];
    float table[N_CTX * HEAD_DIM]; /* cosines and sines of the tokens: one table for all layers of a model */
    float q[N_CTX * Q], k[N_CTX * KV], v[N_CTX * KV], scores[N_HEADS * N_CTX * N_CTX], mixed[N_CTX * Q];
    int nth;
    pthread_barrier_t barrier;
    posenc_status status[N_THREADS];
} pass;

static void check(posenc_status status, const char *what) {
    if (status != POSENC_OK) {
        fprintf(stderr, "%s: %s\n", what, posenc_status_string(status));
        exit(1);
    }
}

/* The part of n rows that thread ith of nth takes. */
static posenc_rows part_of(int64_t n, int ith, int nth) {
    posenc_rows rows = {n * ith / nth, n * (ith + 1) / nth};
    return rows;
}

static float dot(const float *a, const float *b, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y = W x for the tokens of a range. */
static void project(const float *w, const float *x, float *y, int64_t n_in, int64_t n_out, posenc_rows tokens) {
    for (int64_t t = tokens.begin; t < tokens.end; t++)
        for (int64_t o = 0; o < n_out; o++)
            y[t * n_out + o] = dot(w + o * n_in, x + t * n_in, n_in);
}

/* ---- The pass, as each of its threads runs it ---- */

/* Q is rotated in place and scaled; K is rotated on its way into the cache, V is copied there. One call, one set of
 * cosines and sines; a row is one head of one token, so that even a single token is work for several threads. */
static posenc_status rotate(pass *p, int ith) {
    posenc_rope_table table = posenc_rope_table_dense(p->layer->rope, p->table);
    posenc_view q = posenc_view_dense(p->q, POSENC_F32, HEAD_DIM, N_HEADS, p->n, 1);
    posenc_rope_task tasks[3] = {
        {.x = q, .y = q, .rotates = 1, .scale = 1.0f / 8.0f}, /* 1 / sqrt(HEAD_DIM) */
        {.x = posenc_view_dense(p->k, POSENC_F32, HEAD_DIM, N_KV_HEADS, p->n, 1),
         .y = posenc_view_dense(p->cache->k, POSENC_F32, HEAD_DIM, N_KV_HEADS, N_CTX, 1),
         .rotates = 1,
         .scale = 1.0f,
         .rows32 = p->positions},
        {.x = posenc_view_dense(p->v, POSENC_F32, HEAD_DIM, N_KV_HEADS, p->n, 1),
         .y = posenc_view_dense(p->cache->v, POSENC_F32, HEAD_DIM, N_KV_HEADS, N_CTX, 1),
         .rotates = 0,
         .scale = 1.0f,
         .rows32 = p->positions},
    };
    posenc_rows rows = part_of(p->n * (N_HEADS + 2 * N_KV_HEADS), ith, p->nth);
    return posenc_rope_apply_tasks(p->layer->rope, tasks, 3, NULL, &table, POSENC_FORWARD, rows);
}

/* Scores, softmax and mixing of the values, for a range of rows: row = head * n + query. */
static posenc_status attend(pass *p, int ith) {
    int64_t n_k = p->cache->n + p->n;
    posenc_rows rows = part_of(N_HEADS * p->n, ith, p->nth);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        int64_t head = r / p->n, query = r % p->n, kv_head = head / (N_HEADS / N_KV_HEADS);
        for (int64_t j = 0; j < n_k; j++)
            p->scores[r * n_k + j] =
                dot(p->q + query * Q + head * HEAD_DIM, p->cache->k + j * KV + kv_head * HEAD_DIM, HEAD_DIM);
    }

    posenc_score_params params = POSENC_SCORE_DEFAULTS; /* the scale is in Q already */
    params.mask = posenc_mask_causal();
    params.q_off = p->cache->n;
    posenc_view scores = posenc_view_dense(p->scores, POSENC_F32, n_k, p->n, N_HEADS, 1);
    posenc_status status = posenc_softmax(&params, &scores, &scores, rows);

    for (int64_t r = rows.begin; r < rows.end; r++) {
        int64_t head = r / p->n, query = r % p->n, kv_head = head / (N_HEADS / N_KV_HEADS);
        float *mixed = p->mixed + query * Q + head * HEAD_DIM;
        memset(mixed, 0, HEAD_DIM * sizeof *mixed);
        for (int64_t j = 0; j <= p->cache->n + query; j++)
            for (int64_t i = 0; i < HEAD_DIM; i++)
                mixed[i] += p->scores[r * n_k + j] * p->cache->v[j * KV + kv_head * HEAD_DIM + i];
    }
    return status;
}

static void run_part(pass *p, int ith) {
    posenc_rows tokens = part_of(p->n, ith, p->nth);
    project(p->layer->wq, p->x, p->q, HIDDEN, Q, tokens);
    project(p->layer->wk, p->x, p->k, HIDDEN, KV, tokens);
    project(p->layer->wv, p->x, p->v, HIDDEN, KV, tokens);
    pthread_barrier_wait(&p->barrier);
    p->status[ith] = rotate(p, ith);
    pthread_barrier_wait(&p->barrier);
    if (p->status[ith] == POSENC_OK)
        p->status[ith] = attend(p, ith);
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
static void forward(const layer *l, cache *c, const float *x, float *y, int64_t n, int nth) {
    static pass p;
    p.layer = l;
    p.cache = c;
    p.x = x;
    p.y = y;
    p.n = n;
    p.nth = nth;
    check(posenc_positions_range(c->n, n, p.positions), "positions");
    posenc_rope_table table = posenc_rope_table_dense(l->rope, p.table);
    check(posenc_rope_fill_table(l->rope, p.positions, n, POSENC_FORWARD, &table), "table");

    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    pthread_barrier_init(&p.barrier, NULL, (unsigned)nth);
    for (int ith = 1; ith < nth; ith++) {
        workers[ith] = (worker){&p, ith};
        if (pthread_create(&threads[ith], NULL, run_worker, &workers[ith]) != 0)
            exit(1);
    }
    run_part(&p, 0);
    for (int ith = 1; ith < nth; ith++)
        pthread_join(threads[ith], NULL);
    pthread_barrier_destroy(&p.barrier);
    for (int ith = 0; ith < nth; ith++)
        check(p.status[ith], "attention");
    c->n += (int32_t)n;
}

/* ---- Context shift: the n_discard tokens behind the first n_keep leave the cache, those behind them move up ---- */

static void shift(const layer *l, cache *c, int32_t n_keep, int32_t n_discard) {
    int64_t n_moved = c->n - n_keep - n_discard;
    float *to = c->k + n_keep * KV;
    memmove(to, to + n_discard * KV, (size_t)(n_moved * KV) * sizeof *to);
    memmove(c->v + n_keep * KV, c->v + (n_keep + n_discard) * KV, (size_t)(n_moved * KV) * sizeof *to);

    /* A rotation by the difference takes a key from its old position to the new one. */
    int32_t deltas[N_CTX];
    for (int64_t t = 0; t < n_moved; t++)
        deltas[t] = -n_discard;
    posenc_view k = posenc_view_dense(to, POSENC_F32, HEAD_DIM, N_KV_HEADS, n_moved, 1);
    check(posenc_rope_apply(l->rope, &k, deltas, &k, POSENC_SHIFT, posenc_all_rows()), "shift");
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
static int decodes(const layer *l, cache *c, const float *x, const float *expected, int nth, const char *what) {
    static float y[N_CTX * HIDDEN];
    c->n = 0;
    forward(l, c, x, y, N_PREFILL, nth);
    for (int64_t t = N_PREFILL; t < N_TOKENS; t++)
        forward(l, c, x + t * HIDDEN, y + t * HIDDEN, 1, nth);
    return report(what, largest_difference(y, expected, N_TOKENS * HIDDEN), 0.0f);
}

/* Once the cache is shifted, the next token must see what it sees behind the same tokens run afresh. */
static int shifts(const layer *l, cache *c, float *x) {
    enum { N_KEEP = 4, N_DISCARD = 10, N_LEFT = N_TOKENS - N_DISCARD };
    static cache fresh;
    static float y[HIDDEN], y_fresh[N_CTX * HIDDEN];
    shift(l, c, N_KEEP, N_DISCARD);
    forward(l, c, x + N_TOKENS * HIDDEN, y, 1, 1);
    memmove(x + N_KEEP * HIDDEN, x + (N_KEEP + N_DISCARD) * HIDDEN,
            (size_t)(N_TOKENS + 1 - N_KEEP - N_DISCARD) * HIDDEN * sizeof *x);
    forward(l, &fresh, x, y_fresh, N_LEFT + 1, 1);
    return report("context shift and filling afresh", largest_difference(y, y_fresh + N_LEFT * HIDDEN, HIDDEN), 1e-5f);
}

int main(void) {
    static layer l;
    static cache c;
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

    forward(&l, &c, x, at_once, N_TOKENS, 1);
    int is_right = decodes(&l, &c, x, at_once, N_THREADS, "decoding with three threads and prefill with one");
    is_right &= decodes(&l, &c, x, at_once, 1, "decoding and prefill");
    is_right &= shifts(&l, &c, x);
    posenc_rope_free(l.rope);
    return is_right ? 0 : 1;
}
