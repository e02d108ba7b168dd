/* SPDX-License-Identifier: MIT */
/* The buffers that `posenc bench` times RoPE on: in place, each run takes what the last has left. After more runs than
 * a timing has they must still hold ordinary numbers, for subnormal ones take a hundred times as long. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "kernels/half.h"
#include "work.h"

enum { RUNS = 20000 };

/* Numbers that are infinite or NaN, or smaller than the smallest normal one of the type. */
static int64_t count_strange(const work *w, int64_t n) {
    double smallest = w->type == POSENC_F16 ? 0x1p-14 : (double)FLT_MIN;
    int64_t strange = 0;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs((double)posenc_load_stored(w->data, (size_t)i, w->type));
        strange += !(size >= smallest && isfinite(size));
    }
    return strange;
}

static int check(const bench_shape *shape, posenc_dtype type) {
    random_state random = {1};
    work w = {.type = type, .n_tokens = 3, .n_keys = 1003};
    posenc_status status = work_create_rope_table(&w, shape, &random);
    for (int i = 0; i < RUNS && status == POSENC_OK; i++)
        status = w.run(&w, 0, 1);
    int64_t n = (int64_t)(w.size / work_type_size(type));
    int64_t strange = status == POSENC_OK ? count_strange(&w, n) : n;
    work_free(&w);
    int ok = n > 0 && strange <= (type == POSENC_F16 ? n / 100 : 0); /* f16: a turn may pass as near to 0 as that */
    if (!ok)
        printf("FAILED: type %d, %d channels: %d of %d numbers are not ordinary after %d runs\n", type,
               (int)shape->head_dim, (int)strange, (int)n, RUNS);
    return !ok;
}

int main(void) {
    static const int64_t channels[][2] = {{128, 128}, {80, 32}};
    int failures = 0;
    for (int k = 0; k < 2; k++) {
        bench_shape shape = {
            .n_heads = 2, .n_kv_heads = 1, .head_dim = channels[k][0], .n_threads = 1, .params = POSENC_ROPE_DEFAULTS};
        shape.params.layout = POSENC_ROPE_HALF;
        shape.params.head_dim = channels[k][0];
        shape.params.n_rot = channels[k][1];
        failures += posenc_rope_create(&shape.params, &shape.rope) != POSENC_OK;
        for (posenc_dtype type = POSENC_F32; type <= POSENC_BF16; type++)
            failures += check(&shape, type);
        posenc_rope_free(shape.rope);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
