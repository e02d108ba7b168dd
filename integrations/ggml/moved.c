/* SPDX-License-Identifier: MIT */
/* Preloaded by a test: SOFT_MAX as another ggml might make it, with its arguments in the next words. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ggml.h>
#include <string.h>

typedef struct ggml_tensor *maker(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *, float, float);

struct ggml_tensor *ggml_soft_max_ext(struct ggml_context *ctx, struct ggml_tensor *a, struct ggml_tensor *mask,
                                      float scale, float max_bias) {
    static maker *make;
    if (make == NULL)
        *(void **)&make = dlsym(RTLD_NEXT, "ggml_soft_max_ext");
    struct ggml_tensor *node = make(ctx, a, mask, scale, max_bias);
    memmove(node->op_params + 1, node->op_params, sizeof(float[2]));
    return node;
}
