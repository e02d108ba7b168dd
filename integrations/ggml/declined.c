/* What posenc_attention would refuse is declined when ggml asks, not failed when it computes: forms of FLASH_ATTN_EXT
 * at the edge of what the plugin takes. Those that it takes it has to compute. */
#include <ggml-backend.h>
#include <ggml.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { DIM = 64, QUERIES = 32, KEYS = 256, HEADS = 4 };

typedef struct form {
    const char *what;
    bool is_taken;
    int64_t n_values; /* rows of V */
    float scale, cap;
} form;

static const form forms[] = {
    {"plain", true, KEYS, 0.125f, 0.0f},
    {"more rows of V than of K", false, KEYS + 8, 0.125f, 0.0f},
    {"soft cap", true, KEYS, 0.125f, 30.0f},
    {"least soft cap", true, KEYS, 0.125f, 0x1p-126f},
    {"soft cap below normal numbers", false, KEYS, 0.125f, 1e-40f},
    {"negative soft cap", false, KEYS, 0.125f, -1.0f},
    {"soft cap of NaN", false, KEYS, 0.125f, NAN},
    {"infinite soft cap", false, KEYS, 0.125f, INFINITY},
    {"negative scale", true, KEYS, -1.0f, 0.0f},
    {"infinite scale", false, KEYS, INFINITY, 0.0f},
};

static struct ggml_tensor *zeros(struct ggml_context *ctx, enum ggml_type type, int64_t n_rows) {
    return ggml_set_zero(ggml_new_tensor_3d(ctx, type, DIM, n_rows, HEADS));
}

static bool computes(ggml_backend_t backend, struct ggml_context *ctx, struct ggml_tensor *node) {
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    return ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS;
}

static bool is_as_expected(ggml_backend_t backend, const form *f) {
    struct ggml_init_params params = {(size_t)4 << 20, NULL, false};
    struct ggml_context *ctx = ggml_init(params);
    struct ggml_tensor *q = zeros(ctx, GGML_TYPE_F32, QUERIES), *k = zeros(ctx, GGML_TYPE_F16, KEYS);
    struct ggml_tensor *v = zeros(ctx, GGML_TYPE_F16, f->n_values);
    struct ggml_tensor *node = ggml_flash_attn_ext(ctx, q, k, v, NULL, f->scale, 0.0f, f->cap);
    bool is_taken = ggml_backend_supports_op(backend, node), is_computed = is_taken && computes(backend, ctx, node);
    bool is_right = is_taken == f->is_taken && is_computed == is_taken;
    printf("%s: %s%s\n", f->what,
           is_computed ? "computed"
           : is_taken  ? "taken, and failed"
                       : "declined",
           is_right ? "" : ", WRONG");
    ggml_free(ctx);
    return is_right;
}

int main(void) {
    int n_wrong = 0;
    ggml_backend_load_all();
    ggml_backend_t backend = ggml_backend_init_by_name("POSENC", NULL);
    GGML_ASSERT(backend != NULL);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        n_wrong += !is_as_expected(backend, &forms[i]);
    ggml_backend_free(backend);
    return n_wrong > 0;
}
