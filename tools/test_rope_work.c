/* SPDX-License-Identifier: MIT */
/* The buffers that `posenc model` times RoPE on: in place, each run takes what the last has left. After more runs than
 * a timing has they must still hold ordinary numbers, for subnormal ones take a hundred times as long. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "kernels/half.h"
#include "rope_work.h"

enum { RUNS = 20000, N_TOKENS = 3 };

static model_table layer_of(int64_t head_dim, int64_t n_rot) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = head_dim;
    params.n_rot = n_rot;
    return (model_table){.q = {2, head_dim, 0}, .k = {1, head_dim, 0}, .params = params};
}

/* Numbers that are infinite or NaN, or smaller than the smallest normal one of the type. */
static int64_t count_strange(const rope_work *work, int64_t n) {
    double smallest = work->type == POSENC_F16 ? 0x1p-14 : (double)FLT_MIN;
    int64_t strange = 0;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs((double)posenc_load(work->x, (size_t)i, work->type));
        strange += !(size >= smallest && isfinite(size));
    }
    return strange;
}

static int check(const model_table *layer, posenc_dtype type, rope_way way) {
    random_state random = {1};
    rope_work work;
    posenc_status status = rope_work_create(&work, layer, type, N_TOKENS, 1000, &random);
    for (int i = 0; i < RUNS && status == POSENC_OK; i++)
        status = rope_work_run(&work, way);
    int64_t n = (layer->q.n_heads + layer->k.n_heads) * layer->q.head_dim * N_TOKENS;
    int64_t strange = status == POSENC_OK ? count_strange(&work, n) : n;
    rope_work_free(&work);
    int ok = strange <= (type == POSENC_F16 ? n / 100 : 0); /* f16: a turn may pass as near to 0 as that */
    if (!ok)
        printf("FAILED: type %d, way %d, %d of %d channels: %d of %d numbers are not ordinary after %d runs\n", type,
               way, (int)layer->params.n_rot, (int)layer->q.head_dim, (int)strange, (int)n, RUNS);
    return !ok;
}

int main(void) {
    const model_table layers[] = {layer_of(128, 128), layer_of(80, 32)};
    int failures = 0;
    for (int k = 0; k < 2; k++)
        for (posenc_dtype type = POSENC_F32; type <= POSENC_BF16; type++)
            for (rope_way way = ROPE_ROWS_READY; way < ROPE_WAYS; way++)
                failures += check(&layers[k], type, way);
    printf("%d failures\n", failures);
    return failures != 0;
}
