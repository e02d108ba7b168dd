/* How much faster the plugin is with two threads than with one, on the nodes of a prompt, in turns. test-backend-ops may be
 * built to use one thread only. */
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 200

static double smallest_time(ggml_backend_t backend, struct ggml_cgraph *graph, double before) {
    int64_t start = ggml_time_us();
    GGML_ASSERT(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    double time = (double)(ggml_time_us() - start);
    return before > 0.0 && before < time ? before : time;
}

static void measure(const char *name, ggml_backend_t backend, ggml_backend_set_n_threads_t set_n_threads,
                    struct ggml_context *ctx, struct ggml_tensor *node) {
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(ctx, backend);
    ggml_backend_buffer_clear(memory, 0);
    double times[2] = {0.0, 0.0};
    for (int i = 0; i < 2 * ROUNDS; i++) {
        set_n_threads(backend, 1 + i % 2);
        times[i % 2] = smallest_time(backend, graph, times[i % 2]);
    }
    printf("%-26s %10.0f us, two threads %10.0f us: %.2fx\n", name, times[0], times[1], times[0] / times[1]);
    ggml_backend_buffer_free(memory);
}

static struct ggml_context *new_context(void) {
    struct ggml_init_params params = {ggml_tensor_overhead() * 16 + ggml_graph_overhead(), NULL, true};
    return ggml_init(params);
}

int main(void) {
    ggml_backend_load_all();
    ggml_backend_t backend = ggml_backend_init_by_name("POSENC", NULL);
    GGML_ASSERT(backend != NULL);
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    ggml_backend_set_n_threads_t set_n_threads = NULL;
    *(void **)&set_n_threads = ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    GGML_ASSERT(set_n_threads != NULL);

    static const struct {
        const char *name;
        enum ggml_type type;
        int mode;
    } ropes[] = {
        {"neox_f32_prefill", GGML_TYPE_F32, GGML_ROPE_TYPE_NEOX},
        {"neox_f16_prefill", GGML_TYPE_F16, GGML_ROPE_TYPE_NEOX},
        {"normal_f32_prefill", GGML_TYPE_F32, GGML_ROPE_TYPE_NORMAL},
    };
    for (size_t i = 0; i < sizeof ropes / sizeof ropes[0]; i++) {
        struct ggml_context *ctx = new_context();
        struct ggml_tensor *x = ggml_new_tensor_3d(ctx, ropes[i].type, 128, 32, 512);
        struct ggml_tensor *positions = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 512);
        measure(ropes[i].name, backend, set_n_threads, ctx, ggml_rope(ctx, x, positions, 128, ropes[i].mode));
        ggml_free(ctx);
    }
    struct ggml_context *ctx = new_context();
    struct ggml_tensor *x = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 1024, 128, 32);
    struct ggml_tensor *mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 1024, 128);
    measure("soft_max_mask_prefill", backend, set_n_threads, ctx, ggml_soft_max_ext(ctx, x, mask, 0.1f, 0.0f));
    ggml_free(ctx);
    ggml_backend_free(backend);
    return 0;
}
