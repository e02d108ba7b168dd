/* SPDX-License-Identifier: MIT */
/* XNNPACK's softmax, through its public interface; its rotation came after the version that Debian 12 has. */
#include <xnnpack.h>

#include <stdio.h>

#include "peers/worker.h"

typedef struct xnnpack_job {
    bench_job base;
    xnn_operator_t softmax;
    float *x, *y;
} xnnpack_job;

static xnnpack_job the_job;

static void run(bench_job *base) {
    (void)base;
    xnn_run_operator(the_job.softmax, NULL);
}

static void close_softmax(bench_job *base) {
    xnn_delete_operator(the_job.softmax);
    bench_free_blocks(base);
    the_job = (xnnpack_job){0};
}

/* The operator and its shape; newer versions take the data apart. */
static enum xnn_status set_up(size_t keys, size_t rows) {
#ifdef XNNPACK_HAS_RESHAPE
    enum xnn_status status = xnn_create_softmax_nc_f32(0, &the_job.softmax);
    if (status == xnn_status_success)
        status = xnn_reshape_softmax_nc_f32(the_job.softmax, keys, keys, keys, rows, NULL);
    return status == xnn_status_success ? xnn_setup_softmax_nc_f32(the_job.softmax, the_job.x, the_job.y) : status;
#else
    enum xnn_status status = xnn_create_softmax_nc_f32(keys, keys, keys, 0, &the_job.softmax);
    if (status != xnn_status_success)
        return status;
    return xnn_setup_softmax_nc_f32(the_job.softmax, rows, the_job.x, the_job.y, NULL);
#endif
}

static const char *open_softmax(const work *w, worker_job *opened) {
    if (!work_is(w, "softmax"))
        return "has no operation for it in this version";
    if (w->alibi || w->causal)
        return "knows no bias and no mask";
    size_t rows = (size_t)(w->heads * w->queries), n = rows * (size_t)w->keys;
    the_job.x = bench_floats(&the_job.base, n);
    the_job.y = bench_floats(&the_job.base, n);
    bench_random(the_job.x, POSENC_F32, n, 16.0f);
    if (set_up((size_t)w->keys, rows) != xnn_status_success) {
        close_softmax(&the_job.base);
        return "its operator cannot be set up";
    }
    *opened = (worker_job){.job = &the_job.base, .call = run, .close = close_softmax};
    return NULL;
}

int main(void) {
    if (xnn_initialize(NULL) != xnn_status_success) {
        fprintf(stderr, "peer-xnnpack: XNNPACK does not run here\n");
        return 1;
    }
    return worker_main(&(peer){"XNNPACK", open_softmax});
}
