/* SPDX-License-Identifier: MIT */
/* Random nodes, most of them odd: strides, offsets, extents, types and arguments that do not fit. A node that the
 * backend takes it has to compute; one that it does not take and that is pinned to it fails the graph with one line in
 * the log, and writes nothing. It says the same whether there is memory yet or not. No memory around a tensor changes;
 * under AddressSanitizer, none is read.
 *
 *     ggml-random-nodes [NODES]      POSENC_TEST_SEED=n: the same nodes again */
#include <ggml-backend.h>
#include <ggml.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LENGTH(array) (int)(sizeof(array) / sizeof(array)[0])

enum {
    MAX_TENSORS = 6,     /* of a node, itself included */
    MAX_BYTES = 1 << 21, /* of a tensor */
    CANARY = 64,         /* bytes before and, without AddressSanitizer, behind it */
#ifdef __SANITIZE_ADDRESS__
    BEHIND = 0,
#else
    BEHIND = CANARY,
#endif
    FILLED = 0x3f, /* every byte: ordinary numbers of every type, at any offset */
};

/* ---- Numbers ---- */

static uint64_t state;

static uint64_t next_word(void) {
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 .. n - 1 */
static int below(int n) {
    return (int)(next_word() % (uint64_t)n);
}

static bool one_in(int n) {
    return below(n) == 0;
}

#define ANY_OF(array) (array)[below(LENGTH(array))]

/* ---- Nodes as they should be ---- */

static struct ggml_tensor *new_tensor(struct ggml_context *ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                      int64_t ne2, int64_t ne3) {
    return ggml_new_tensor_4d(ctx, type, ne0, ne1, ne2, ne3);
}

static enum ggml_type float_type(void) {
    return one_in(2) ? GGML_TYPE_F32 : GGML_TYPE_F16;
}

static int n_rows(void) {
    return one_in(40) ? 300 : 1 + below(12);
}

static int n_heads(void) {
    static const int ordinary[] = {1, 2, 3, 4, 6, 12};
    static const int edge[] = {1023, 1024, 1025, 1200};
    return one_in(10) ? ANY_OF(edge) : ANY_OF(ordinary);
}

static float max_bias(void) {
    return one_in(2) ? 0.0f : 8.0f;
}

static struct ggml_tensor *rope(struct ggml_context *ctx) {
    static const int modes[] = {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE, GGML_ROPE_TYPE_IMROPE,
                                GGML_ROPE_TYPE_VISION};
    static const int edge[] = {510, 512, 513, 600};
    int mode = ANY_OF(modes), n_pairs = one_in(8) ? ANY_OF(edge) : 1 + below(40), n_tokens = n_rows();
    bool has_axes = mode & GGML_ROPE_TYPE_MROPE;
    int n_dims = mode == GGML_ROPE_TYPE_VISION ? n_pairs : 2 * n_pairs, more = below(20);
    int sections[4] = {n_pairs / 2, n_pairs - n_pairs / 2, 0, 0};
    if (mode == GGML_ROPE_TYPE_VISION)
        more = 0; /* ggml rotates all channels */
    struct ggml_tensor *x = new_tensor(ctx, float_type(), 2 * n_pairs + more, 1 + below(4), n_tokens, 1 + below(2));
    struct ggml_tensor *positions = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, has_axes ? 4 * n_tokens : n_tokens);
    struct ggml_tensor *factors = one_in(2) ? NULL : ggml_new_tensor_1d(ctx, GGML_TYPE_F32, n_pairs + below(3));
    float ext_factor = one_in(3) ? 1.0f : 0.0f;
    struct ggml_tensor *node = has_axes ? ggml_rope_multi(ctx, x, positions, factors, n_dims, sections, mode, 4096,
                                                          10000.0f, 0.5f, ext_factor, 1.0f, 32.0f, 1.0f)
                                        : ggml_rope_ext(ctx, x, positions, factors, n_dims, mode, 4096, 10000.0f, 0.5f,
                                                        ext_factor, 1.0f, 32.0f, 1.0f);
    node->op = one_in(4) ? GGML_OP_ROPE_BACK : GGML_OP_ROPE;
    return node;
}

/* A divisor of n. */
static int divisor(int n) {
    int d = 1 + below(n);
    while (n % d != 0)
        d--;
    return d;
}

static struct ggml_tensor *mask_for(struct ggml_context *ctx, enum ggml_type type, int n_keys, int n_queries, int heads,
                                    int n_batch) {
    return new_tensor(ctx, type, n_keys, n_queries + below(3), one_in(2) ? 1 : divisor(heads), divisor(n_batch));
}

static struct ggml_tensor *soft_max(struct ggml_context *ctx) {
    int n_keys = 1 + below(40), n_queries = n_rows(), heads = n_heads(), n_batch = 1 + below(2);
    struct ggml_tensor *x = new_tensor(ctx, GGML_TYPE_F32, n_keys, n_queries, heads, n_batch), *mask = NULL;
    if (!one_in(4))
        mask = mask_for(ctx, float_type(), n_keys, n_queries, heads, n_batch);
    struct ggml_tensor *node = ggml_soft_max_ext(ctx, x, mask, 0.5f, mask != NULL ? max_bias() : 0.0f);
    if (one_in(3))
        ggml_soft_max_add_sinks(node, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, heads));
    return node;
}

static struct ggml_tensor *diag_mask_inf(struct ggml_context *ctx) {
    return ggml_diag_mask_inf(ctx, new_tensor(ctx, GGML_TYPE_F32, 1 + below(40), n_rows(), n_heads(), 1 + below(2)),
                              below(8));
}

static struct ggml_tensor *flash_attn(struct ggml_context *ctx) {
    static const enum ggml_type types[] = {GGML_TYPE_F32,    GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0,
                                           GGML_TYPE_Q4_0,   GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                           GGML_TYPE_IQ4_NL, GGML_TYPE_Q8_1};
    enum ggml_type k_type = ANY_OF(types), v_type = ANY_OF(types);
    int dim = one_in(20) ? 1056 : 32 * (1 + below(3)), v_dim = 32 * (1 + below(3)),
        n_keys = one_in(8) ? 600 : 1 + below(70);
    int n_queries = n_rows(), heads = n_heads(), kv_heads = divisor(heads), n_batch = 1 + below(2);
    struct ggml_tensor *q = new_tensor(ctx, GGML_TYPE_F32, dim, n_queries, heads, n_batch);
    struct ggml_tensor *k = new_tensor(ctx, k_type, dim, n_keys, kv_heads, n_batch);
    struct ggml_tensor *v = new_tensor(ctx, v_type, v_dim, n_keys, kv_heads, n_batch), *mask = NULL;
    if (!one_in(4))
        mask = mask_for(ctx, GGML_TYPE_F16, n_keys, n_queries, heads, n_batch);
    struct ggml_tensor *node =
        ggml_flash_attn_ext(ctx, q, k, v, mask, 0.1f, mask != NULL ? max_bias() : 0.0f, one_in(2) ? 0.0f : 30.0f);
    if (one_in(3))
        ggml_flash_attn_ext_add_sinks(node, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, heads));
    return node;
}

static struct ggml_tensor *other(struct ggml_context *ctx) {
    return ggml_sqr(ctx, new_tensor(ctx, float_type(), 1 + below(40), n_rows(), 1, 1));
}

static const struct kind {
    const char *name;
    struct ggml_tensor *(*make)(struct ggml_context *ctx);
} kinds[] = {{"ROPE", rope},
             {"SOFT_MAX", soft_max},
             {"DIAG_MASK_INF", diag_mask_inf},
             {"FLASH_ATTN_EXT", flash_attn},
             {"another", other}};

/* ---- Running them ---- */

/* A node and its sources; each is a view of a root, some of the same. */
typedef struct drawn {
    struct ggml_tensor *node, *tensors[MAX_TENSORS];
    int n;
} drawn;

static drawn tensors_of(struct ggml_context *ctx, struct ggml_tensor *node) {
    drawn d = {node, {node}, 1};
    for (int i = 0; i < GGML_MAX_SRC; i++)
        if (node->src[i] != NULL)
            d.tensors[d.n++] = node->src[i];
    for (int i = 0; i < d.n; i++)
        d.tensors[i]->view_src = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 1);
    return d;
}

/* The node becomes a view of a source, or lies somewhere among its elements. */
static void put_in_place(const drawn *d, bool is_same) {
    const struct ggml_tensor *x = d->tensors[is_same ? 1 : 1 + below(d->n - 1)];
    d->node->view_src = x->view_src;
    d->node->view_offs = x->view_offs + (is_same ? 0 : (size_t)below(3) * x->nb[below(4)]);
    if (is_same && d->node->op != GGML_OP_FLASH_ATTN_EXT)
        memcpy(d->node->nb, x->nb, sizeof x->nb);
}

/* Rows in any order in memory, some of them parts of longer ones. */
static void lay_out(struct ggml_tensor *tensor) {
    int order[] = {1, 2, 3}, i = below(3), j = below(3), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
    size_t block = ggml_type_size(tensor->type);
    size_t step = (size_t)tensor->ne[0] / (size_t)ggml_blck_size(tensor->type) * block;
    step += one_in(2) ? block * (size_t)(1 + below(4)) : 0;
    for (int k = 0; k < 3; k++) {
        tensor->nb[order[k]] = step;
        step *= (size_t)tensor->ne[order[k]];
    }
}

static void distort_stride(struct ggml_tensor *tensor) {
    size_t *nb = &tensor->nb[below(4)];
    const size_t others[] = {*nb + 1,     *nb + 2, *nb - 2, *nb + 4, *nb / 2, 0, 258, 2, tensor->nb[below(4)],
                             SIZE_MAX - 3};
    *nb = ANY_OF(others);
}

static void distort_extent(struct ggml_tensor *tensor) {
    int64_t *ne = &tensor->ne[below(4)];
    const int64_t others[] = {0, 0, 0, 1, *ne + 1, *ne - 1, 2 * *ne, INT64_C(1) << 40, -1};
    *ne = ANY_OF(others);
}

static void distort_type(struct ggml_tensor *tensor) {
    static const enum ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16,  GGML_TYPE_BF16,
                                           GGML_TYPE_I32, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0};
    tensor->type = ANY_OF(types);
    if (one_in(2))
        tensor->nb[0] = ggml_type_size(tensor->type);
}

/* Float bits among them: 1, -1, NaN, infinity, a denormal number, a large one. */
static void distort_argument(struct ggml_tensor *node) {
    static const uint32_t words[] = {0,          1,          2,          3,          8,          24,
                                     40,         1200,       UINT32_MAX, 0x80000000, 0x3f800000, 0xbf800000,
                                     0x7fc00000, 0x7f800000, 0x000fffff, 0x7f000000};
    node->op_params[below(16)] = (int32_t)ANY_OF(words);
}

static void distort(const drawn *d) {
    struct ggml_tensor *tensor = d->tensors[below(d->n)];
    switch (below(7)) {
    case 0: distort_stride(tensor); break;
    case 1: tensor->view_offs += (size_t)(1 + below(4)); break;
    case 2: distort_extent(tensor); break;
    case 3: distort_type(tensor); break;
    case 4: distort_argument(d->node); break;
    case 5: put_in_place(d, false); break;
    default: lay_out(tensor); break;
    }
}

static drawn draw(struct ggml_context *ctx, const struct kind *kind) {
    drawn d = tensors_of(ctx, kind->make(ctx));
    for (int i = 0; i < d.n; i++)
        if (one_in(3))
            lay_out(d.tensors[i]);
    if (one_in(3))
        put_in_place(&d, true);
    for (int n = one_in(3) ? 0 : 1 + below(2); n > 0; n--)
        distort(&d);
    return d;
}

/* ---- Memory ---- */

/* Bytes from the first to behind the last element; more than MAX_BYTES: too many. In double, for odd strides. */
static double span_of(const struct ggml_tensor *tensor) {
    int64_t block = ggml_blck_size(tensor->type);
    double span = (double)ggml_type_size(tensor->type);
    for (int i = 0; i < 4; i++) {
        int64_t n = i == 0 ? (tensor->ne[0] + block - 1) / block : tensor->ne[i];
        if (n <= 0)
            return 0.0;
        span += (double)(n - 1) * (double)tensor->nb[i];
    }
    return span;
}

/* Total size of all tensors that are views of the root. */
static double size_of(const drawn *d, const struct ggml_tensor *root) {
    double size = 0.0;
    for (int i = 0; i < d->n; i++) {
        double end = (double)d->tensors[i]->view_offs + span_of(d->tensors[i]);
        if (d->tensors[i]->view_src == root && end > size)
            size = end;
    }
    return size;
}

typedef struct block {
    char *begin;
    size_t size;
} block;

/* Memory for the roots, and the tensors placed in it; false if one is too large. */
static bool allocate(const drawn *d, block blocks[MAX_TENSORS]) {
    for (int i = 0; i < d->n; i++)
        if (size_of(d, d->tensors[i]->view_src) > MAX_BYTES)
            return false;
    for (int i = 0; i < d->n; i++) {
        struct ggml_tensor *tensor = d->tensors[i], *root = tensor->view_src;
        if (root->data == NULL) {
            size_t size = (size_t)size_of(d, root);
            void *memory = NULL;
            GGML_ASSERT(posix_memalign(&memory, 64, CANARY + size + BEHIND) == 0);
            memset(memory, FILLED, CANARY + size + BEHIND);
            blocks[i] = (block){memory, size};
            root->data = (char *)memory + CANARY;
        }
        tensor->data = (char *)root->data + tensor->view_offs;
    }
    return true;
}

static bool is_filled(const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != FILLED)
            return false;
    return true;
}

/* Frees the blocks and checks that memory outside the node's output is unchanged, and all memory if the node failed. */
static bool is_intact(const drawn *d, block blocks[MAX_TENSORS], bool is_computed) {
    bool intact = true;
    for (int i = 0; i < d->n; i++) {
        const block *b = &blocks[i];
        if (b->begin == NULL)
            continue;
        bool is_written = is_computed && b->begin + CANARY == (char *)d->node->view_src->data;
        intact = intact && is_filled(b->begin, CANARY) && is_filled(b->begin + CANARY + b->size, BEHIND) &&
                 (is_written || is_filled(b->begin + CANARY, b->size));
        free(b->begin);
    }
    return intact;
}

/* ---- One node ---- */

static void count_line(enum ggml_log_level level, const char *text, void *n_lines) {
    (void)text;
    *(int *)n_lines += level == GGML_LOG_LEVEL_ERROR;
}

static void show(const drawn *d) {
    for (int i = 0; i < d->n; i++) {
        const struct ggml_tensor *t = d->tensors[i];
        printf("  %s %s at %p + %zu, ne", i == 0 ? ggml_op_name(t->op) : "of", ggml_type_name(t->type),
               (void *)t->view_src, t->view_offs);
        for (int k = 0; k < 4; k++)
            printf(" %lld", (long long)t->ne[k]);
        printf(", nb");
        for (int k = 0; k < 4; k++)
            printf(" %lld", (long long)t->nb[k]);
        printf("\n");
    }
    for (int i = 0; i < 16; i++)
        printf(" %x", (unsigned)d->node->op_params[i]);
    printf("\n");
}

typedef struct tally {
    int taken, declined, too_large, wrong;
} tally;

static void try_one(ggml_backend_t backend, const struct kind *kind, tally *t) {
    struct ggml_init_params params = {(size_t)1 << 18, NULL, true};
    struct ggml_context *ctx = ggml_init(params);
    drawn d = draw(ctx, kind);
    block blocks[MAX_TENSORS] = {{NULL, 0}};
    bool is_taken = ggml_backend_supports_op(backend, d.node);
    if (!allocate(&d, blocks)) {
        t->too_large++;
        ggml_free(ctx);
        return;
    }
    bool is_still_taken = ggml_backend_supports_op(backend, d.node);
    struct ggml_cgraph *graph = ggml_new_graph_custom(ctx, 32, false);
    ggml_build_forward_expand(graph, d.node);
    int n_lines = 0;
    ggml_log_set(count_line, &n_lines);
    bool is_computed = ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS;
    ggml_log_set(NULL, NULL);
    bool intact = is_intact(&d, blocks, is_computed);
    *(is_taken ? &t->taken : &t->declined) += 1;
    if (is_taken != is_still_taken || is_computed != is_taken || n_lines != !is_computed || !intact) {
        printf("%s, with memory %s, %s, %d lines, memory %s: WRONG\n", is_taken ? "taken" : "declined",
               is_still_taken ? "taken" : "declined", is_computed ? "computed" : "failed", n_lines,
               intact ? "intact" : "overwritten");
        show(&d);
        t->wrong++;
    }
    ggml_free(ctx);
}

static ggml_backend_t open_backend(void) {
    ggml_backend_load_all();
    ggml_backend_t backend = ggml_backend_init_by_name("POSENC", NULL);
    GGML_ASSERT(backend != NULL);
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    ggml_backend_set_n_threads_t set_n_threads = NULL;
    *(void **)&set_n_threads = ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    set_n_threads(backend, 2);
    return backend;
}

int main(int argc, char **argv) {
    const char *seed = getenv("POSENC_TEST_SEED");
    int n = argc > 1 ? atoi(argv[1]) : 20000, n_wrong = 0;
    state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("POSENC_TEST_SEED=%llu\n", (unsigned long long)state);
    fflush(stdout);
    ggml_backend_t backend = open_backend();
    tally tallies[LENGTH(kinds)] = {{0, 0, 0, 0}};
    for (int i = 0; i < n && n_wrong < 10; i++) {
        int kind = below(LENGTH(kinds));
        n_wrong -= tallies[kind].wrong;
        try_one(backend, &kinds[kind], &tallies[kind]);
        n_wrong += tallies[kind].wrong;
    }
    for (int kind = 0; kind < LENGTH(kinds); kind++)
        printf("%s: %d taken and computed, %d declined, %d too large, %d wrong\n", kinds[kind].name,
               tallies[kind].taken, tallies[kind].declined, tallies[kind].too_large, tallies[kind].wrong);
    ggml_backend_free(backend);
    return n_wrong > 0;
}
