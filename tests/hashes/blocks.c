/* SPDX-License-Identifier: MIT */
/* Hashes of heads in blocks or 8-bit floats, and of the Hadamard transform. */
#include "public.h"

enum { TOKENS = 5, HEADS = 3, BATCH = 2, ROWS = 9 };

static posenc_view blocks(posenc_dtype type, int64_t head_dim, int64_t n_rows, int64_t n_batch) {
    posenc_view view = posenc_view_dense(NULL, type, head_dim, HEADS, n_rows, n_batch);
    view.data = take((size_t)(view.nb[3] * n_batch));
    return view;
}

/* Scales as numbers and not as bytes: so that big-endian CPUs have the same. */
static void hash_blocks(sweep *s, const posenc_view *view) {
    const unsigned char *end = (const unsigned char *)view->data + view->nb[3] * view->ne[3];
    for (const unsigned char *byte = view->data; byte < end && !posenc_has_blocks(view->dtype); byte++)
        hash_bytes(&s->hash, *byte, 1);
    if (!posenc_has_blocks(view->dtype))
        return;
    for (const unsigned char *block = view->data; block < end; block += view->nb[0]) {
        hash_bytes(&s->hash, *(const uint16_t *)(const void *)block, 2);
        for (int64_t i = 2; i < view->nb[0]; i++)
            hash_bytes(&s->hash, block[i], 1);
    }
}

static posenc_rope *rope_of(posenc_rope_layout layout, int64_t head_dim, int64_t n_rot, int64_t n_offs) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    posenc_rope *rope;
    params.layout = layout;
    params.head_dim = head_dim;
    params.n_rot = n_rot;
    params.n_offs = n_offs;
    CALL(posenc_rope_create, &params, &rope);
    return rope;
}

/* A batch of keys; then keys with a norm and values as they are, into rows of a cache. */
static void hash_caches(sweep *s, const posenc_rope *rope, int64_t head_dim, posenc_dtype x_type, posenc_dtype y_type,
                        int64_t hadamard) {
    int32_t *positions = integers(s, TOKENS, -1000, 100000), rows[TOKENS] = {3, 8, 0, 1, 5};
    posenc_view batch = tensor(s, x_type, head_dim, HEADS, TOKENS, BATCH);
    posenc_view keys = adversarial(s, x_type, head_dim, HEADS, TOKENS, 1);
    posenc_view values = tensor(s, x_type, head_dim, HEADS, TOKENS, 1);
    posenc_view to[] = {blocks(y_type, head_dim, TOKENS, BATCH), blocks(y_type, head_dim, ROWS, 1),
                        blocks(y_type, head_dim, ROWS, 1)};
    float *weight = floats(s, (size_t)head_dim, 2.0);
    CALL(posenc_rope_apply, rope, &batch, positions, &to[0], POSENC_FORWARD, posenc_range_all());
    posenc_rope_tensor tensors[] = {
        {keys, to[1], 1, 1.0f, weight, 1e-6f, rows, NULL, hadamard, 0},
        {values, to[2], 0, 1.0f, NULL, 0.0f, rows, NULL, hadamard, 0},
    };
    CALL(posenc_rope_apply_tensors, rope, tensors, 2, positions, NULL, POSENC_FORWARD, posenc_range_all());
    for (size_t k = 0; k < COUNT(to); k++)
        hash_blocks(s, &to[k]);
}

static void hash_to_blocks(sweep *s, posenc_dtype first, posenc_dtype last) {
    static const int64_t shapes[][4] = {
        {32, 32, 0, 0}, {128, 128, 0, 128}, {96, 50, 13, 32}, {576, 64, 512, 64}, {64, 0, 0, 2}};
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int layout = POSENC_ROPE_HALF; layout <= POSENC_ROPE_DEINTERLEAVE; layout++)
            EACH_TYPE(x_type)
    for (int y_type = (int)first; y_type <= (int)last; y_type++) {
        fresh();
        posenc_rope *rope = rope_of((posenc_rope_layout)layout, shapes[k][0], shapes[k][1], shapes[k][2]);
        hash_caches(s, rope, shapes[k][0], x_type, (posenc_dtype)y_type, shapes[k][3]);
        posenc_rope_free(rope);
    }
}

/* Random blocks to each type, and shifted in place. */
static void hash_from_blocks(sweep *s, posenc_dtype first, posenc_dtype last) {
    static const int64_t shapes[][3] = {{32, 32, 0}, {128, 128, 0}, {96, 50, 13}, {576, 64, 512}};
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int layout = POSENC_ROPE_HALF; layout <= POSENC_ROPE_INTERLEAVED; layout++)
            for (int type = (int)first; type <= (int)last; type++)
                EACH_TYPE(y_type) {
                    fresh();
                    posenc_rope *rope = rope_of((posenc_rope_layout)layout, shapes[k][0], shapes[k][1], shapes[k][2]);
                    int32_t *positions = integers(s, TOKENS, -1000, 100000);
                    posenc_view x = tensor(s, y_type, shapes[k][0], HEADS, TOKENS, BATCH),
                                stored = blocks((posenc_dtype)type, shapes[k][0], TOKENS, BATCH),
                                y = zeros(y_type, shapes[k][0], HEADS, TOKENS, BATCH);
                    CALL(posenc_rope_apply, rope, &x, positions, &stored, POSENC_FORWARD, posenc_range_all());
                    CALL(posenc_rope_apply, rope, &stored, positions, &stored, POSENC_SHIFT, posenc_range_all());
                    hash_blocks(s, &stored);
                    CALL(posenc_rope_apply, rope, &stored, positions, &y, POSENC_INVERSE, posenc_range_all());
                    hash_view(s, &y);
                    CALL(posenc_dequantise, &stored, &y, posenc_range_all());
                    hash_view(s, &y);
                    posenc_rope_free(rope);
                }
}

/* The first formats that there were, whose hashes stay, and the others. */
void hash_rope_blocks(sweep *s) {
    hash_to_blocks(s, POSENC_Q8_0, POSENC_Q4_0);
}

void hash_rope_from_blocks(sweep *s) {
    hash_from_blocks(s, POSENC_Q8_0, POSENC_Q4_0);
}

void hash_rope_formats(sweep *s) {
    hash_to_blocks(s, POSENC_Q5_0, POSENC_IQ4_NL);
    hash_from_blocks(s, POSENC_Q5_0, POSENC_IQ4_NL);
}

void hash_rope_f8(sweep *s) {
    hash_to_blocks(s, POSENC_F8_E4M3, POSENC_F8_E4M3);
    hash_from_blocks(s, POSENC_F8_E4M3, POSENC_F8_E4M3);
}

/* Out of place, and in place. */
void hash_hadamard(sweep *s) {
    for (int64_t n = 2; n <= POSENC_MAX_HADAMARD; n *= 2)
        EACH_TYPE(x_type)
    EACH_TYPE(y_type) {
        fresh();
        int64_t head_dim = n <= 256 ? 3 * n : n;
        posenc_view x = adversarial(s, x_type, head_dim, HEADS, TOKENS, BATCH),
                    z = tensor(s, x_type, head_dim, HEADS, TOKENS, BATCH),
                    y = zeros(y_type, head_dim, HEADS, TOKENS, BATCH);
        CALL(posenc_hadamard, &x, &y, n, posenc_range_all());
        hash_view(s, &y);
        CALL(posenc_hadamard, &z, &z, n, posenc_range_all());
        hash_view(s, &z);
    }
}
