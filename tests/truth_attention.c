/* SPDX-License-Identifier: MIT */
#include "truth_attention.h"

#include <math.h>
#include <stdlib.h>

scene s;
truth_tensor q, k, v, out;
void *scratch;

static truth_tensor random_tensor(int64_t ne0, int64_t ne1, int64_t ne2, double size) {
    truth_tensor t = truth_tensor_random_of((posenc_dtype)truth_below(3), (int64_t[4]){ne0, ne1, ne2, s.n_batch});
    truth_tensor source = truth_tensor_random(t.view.ne);
    TRUTH_EACH(&source.view, i0, i1, i2, i3)
    *truth_at(&source.view, i0, i1, i2, i3) = (float)truth_uniform(-size, size);
    truth_convert(&source.view, &t.view);
    truth_tensor_free(&source);
    truth_mark(&t);
    return t;
}

void open_attention_of(int64_t n_k, int64_t head_dim, int64_t v_dim) {
    scene_open(&s, n_k);
    if (s.params.fully_masked == POSENC_FULLY_MASKED_UNIFORM)
        s.params.fully_masked = POSENC_FULLY_MASKED_ZEROS;
    int64_t n_kv_heads = 1 + truth_below(s.n_heads); /* a divisor */
    while (s.n_heads % n_kv_heads != 0)
        n_kv_heads--;
    double size = sqrt(6.0 / sqrt((double)head_dim)); /* scores of a few units */
    q = random_tensor(head_dim, s.n_heads, s.n_q, size);
    k = random_tensor(head_dim, n_kv_heads, n_k, size);
    v = random_tensor(v_dim, n_kv_heads, n_k, LARGEST_V);
    out = random_tensor(v_dim, s.n_heads, s.n_q, 1.0);
    scratch = malloc(posenc_attention_workspace_bytes(head_dim, v_dim));
    assert_true(scratch != NULL);
}

void open_attention(int64_t n_k) {
    int64_t head_dim = 1 + truth_below(truth_below(3) ? 40 : 200);
    open_attention_of(n_k, head_dim, truth_below(2) ? head_dim : 1 + truth_below(150));
}

void close_attention(void) {
    truth_tensor_free(&q);
    truth_tensor_free(&k);
    truth_tensor_free(&v);
    truth_tensor_free(&out);
    scene_close(&s);
    free(scratch);
}

void attend(const posenc_view *to) {
    truth_ok(posenc_attention(&s.params, &q.view, &k.view, &v.view, to, scratch,
                              posenc_attention_workspace_bytes(q.view.ne[0], v.view.ne[0]), posenc_range_all()));
}
