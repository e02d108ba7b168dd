/* SPDX-License-Identifier: MIT */
/* Results of attention over different keys, joined; into one of them or apart. */
#include "data.h"

#include <math.h>

typedef struct merge_call {
    posenc_attention_state a, b, joined;
} merge_call;

static posenc_status merge(const void *arguments, posenc_range rows) {
    const merge_call *c = arguments;
    return posenc_attention_combine(&c->a, &c->b, &c->joined, rows);
}

/* Some see nothing. */
static void draw_lse(const posenc_view *lse) {
    for (int64_t b = 0; b < lse->ne[3]; b++)
        for (int64_t h = 0; h < lse->ne[1]; h++)
            for (int64_t i = 0; i < lse->ne[2]; i++)
                data_set(lse, 0, h, i, b, data_random() % 4 == 0 ? -INFINITY : data_number(20.0));
}

static double weighted(double weight, double value) {
    return weight > 0.0 ? weight * value : 0.0;
}

static void compare_row(const merge_call *c, int64_t i, int64_t h, int64_t b) {
    double lse_a = data_was(&c->a.lse, 0, h, i, b), lse_b = data_was(&c->b.lse, 0, h, i, b);
    double max = fmax(lse_a, lse_b), a = exp(lse_a - max), z = exp(lse_b - max), lse = max + log(a + z);
    int is_empty = max == -INFINITY;
    double got = data_get(&c->joined.lse, 0, h, i, b);
    if (is_empty ? got != -INFINITY : !(fabs(got - lse) <= 4e-6))
        data_fail("lse of query %lld, head %lld, batch %lld is %a, wanted %a", (long long)i, (long long)h, (long long)b,
                  got, lse);
    for (int64_t k = 0; k < c->joined.out.ne[0]; k++) {
        double x = data_was(&c->a.out, k, h, i, b), y = data_was(&c->b.out, k, h, i, b);
        double want = is_empty ? 0.0 : weighted(a / (a + z), x) + weighted(z / (a + z), y);
        data_close(&c->joined.out, data_get(&c->joined.out, k, h, i, b), want, 4e-6 * (fabs(x) + fabs(y)), "merge", k,
                   h, i, b);
    }
}

void data_merge(void) {
    merge_call c;
    posenc_dtype type = draw_type(), to = draw_type();
    int64_t dim = draw_size(160), n_q = draw_size(80), n_heads = draw_between(1, 4), n_batch = draw_between(1, 3);
    int in_place = draw_rarely(2) && type == to;
    c.joined.out = data_output(to, 2.0, dim, n_heads, n_q, n_batch);
    c.joined.lse = data_output(POSENC_F32, 2.0, 1, n_heads, n_q, n_batch);
    c.a = c.joined;
    if (!in_place) {
        c.a.out = data_input(type, 2.0, dim, n_heads, n_q, n_batch);
        c.a.lse = data_input(POSENC_F32, 2.0, 1, n_heads, n_q, n_batch);
        draw_lse(&c.a.lse);
    }
    c.b.out = data_input(type, 2.0, dim, n_heads, n_q, n_batch);
    c.b.lse = data_input(POSENC_F32, 2.0, 1, n_heads, n_q, n_batch);
    draw_lse(&c.b.lse);
    data_ok(merge, &c, n_q * n_heads * n_batch);
    for (int64_t b = 0; b < n_batch && !data_is_adversarial(); b++)
        for (int64_t h = 0; h < n_heads; h++)
            for (int64_t i = 0; i < n_q; i++)
                compare_row(&c, i, h, b);
}
