/* SPDX-License-Identifier: MIT */
/* Nodes computed by one backend and by another, for tests and times. */
#ifndef POSENC_GGML_COMPARE_H
#define POSENC_GGML_COMPARE_H

#include <ggml-backend.h>
#include <ggml.h>
#include <stdlib.h>

#include "random.h"

/* Numbers between -1 and 1, rounded to the tensor's type, whose rows lie side by side. */
static inline void fill_random(struct ggml_tensor *tensor, random_state *state) {
    int64_t n = ggml_nelements(tensor);
    float *values = malloc((size_t)n * sizeof *values);
    GGML_ASSERT(values != NULL);
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)random_symmetric(state, 1.0);
    ggml_quantize_chunk(tensor->type, values, tensor->data, 0, ggml_nrows(tensor), tensor->ne[0], NULL);
    free(values);
}

static inline void compute_on(const char *backend_name, int n_threads, struct ggml_cgraph *graph) {
    ggml_backend_t backend = ggml_backend_init_by_name(backend_name, NULL);
    GGML_ASSERT(backend != NULL);
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    ggml_backend_set_n_threads_t set_n_threads = NULL;
    *(void **)&set_n_threads = ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    set_n_threads(backend, n_threads);
    GGML_ASSERT(ggml_backend_supports_op(backend, ggml_graph_node(graph, -1)));
    GGML_ASSERT(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    ggml_backend_free(backend);
}

/* Sum of squared differences, over that of the squares (NMSE). */
static inline double difference(const float *got, const float *want, int64_t n) {
    double differences = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        differences += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
        squares += (double)want[i] * (double)want[i];
    }
    return differences / squares;
}

#endif
