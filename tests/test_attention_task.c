/* SPDX-License-Identifier: MIT */
/* Attention in parts, with its log-sum-exp, with RoPE applied to K on load, in pages; results merged: the same bits as
 * the plain call, and sums in double. */
#include "truth_attention.h"
#include "truth_half.h"
#include "truth_rope.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static posenc_attention_args task;
static truth_tensor lse;

static void make_task(void) {
    lse = truth_tensor_random((int64_t[4]){1, s.n_heads, s.n_q, s.n_batch});
    task = (posenc_attention_args){
        .params = &s.params, .q = q.view, .k = k.view, .v = v.view, .out = out.view, .lse = &lse.view};
}

static void open_task(int64_t n_k) {
    open_attention(n_k);
    make_task();
}

static void close_task(void) {
    truth_tensor_free(&lse);
    close_attention();
}

static void run_task(void) {
    truth_ok(posenc_attention_run(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]),
                                  posenc_range_all()));
}

/* Now and then more than one segment. */
static int64_t random_n_k(int round) {
    return 1 + truth_below(round % 10 ? 150 : SCENE_K - 1);
}

/* ---- Parts ---- */

enum { CANARY = 0x5a };

/* Part by part from the last to the first, and joined unit by unit likewise. */
static void run_parts(void) {
    size_t bytes = posenc_attention_split_bytes(&task);
    unsigned char *parts = malloc(bytes + 16);
    assert_true(parts != NULL);
    memset(parts, CANARY, bytes + 16);
    for (int64_t i = posenc_attention_split_count(&task) - 1; i >= 0; i--)
        truth_ok(posenc_attention_split(&task, scratch, posenc_attention_workspace_bytes(task.q.ne[0], task.v.ne[0]),
                                        parts, posenc_attention_split_bytes(&task), (posenc_range){i, i + 1}));
    for (int64_t i = posenc_attention_unit_count(&q.view, &k.view) - 1; i >= 0; i--)
        truth_ok(posenc_attention_combine_splits(&task, parts, posenc_attention_split_bytes(&task),
                                                 (posenc_range){i, i + 1}));
    for (int i = 0; i < 16; i++)
        assert_int_equal(parts[bytes + (size_t)i], CANARY);
    free(parts);
}

static void test_parts(void **state) {
    (void)state;
    int64_t most = 0;
    for (int round = 0; round < 60; round++) {
        open_task(random_n_k(round));
        most = posenc_attention_split_count(&task) > most ? posenc_attention_split_count(&task) : most;
        truth_tensor first = truth_tensor_random_of(out.view.dtype, out.view.ne);
        truth_tensor first_lse = truth_tensor_random(lse.view.ne);
        attend(&first.view);
        task.lse = &first_lse.view;
        run_task();
        task.lse = &lse.view;
        for (int tier = -1; truth_next_tier(&tier);)
            for (int in_parts = 0; in_parts < 2; in_parts++) {
                truth_reset(&out);
                truth_reset(&lse);
                in_parts ? run_parts() : run_task();
                truth_same_views(&out.view, &first.view, in_parts ? "parts" : "with lse");
                truth_same_views(&lse.view, &first_lse.view, in_parts ? "lse of parts" : "lse of tiers");
                truth_nothing_else_changed(&out, 0, out.view.ne[0], "out");
                truth_nothing_else_changed(&lse, 0, 1, "lse");
            }
        truth_tensor_free(&first_lse);
        truth_tensor_free(&first);
        close_task();
    }
    assert_true(most > 4);
    assert_int_equal(posenc_attention_split_count(NULL), 0);
}

/* ---- Log-sum-exp ---- */

static double exact_dot(int64_t i, int64_t j, int64_t h, int64_t b) {
    double sum = 0.0;
    for (int64_t c = 0; c < q.view.ne[0]; c++)
        sum += (double)truth_get(&q.view, c, h, i, b) *
               (double)truth_get(&k.view, c, h / (s.n_heads / k.view.ne[1]), j, b);
    return sum;
}

static double exact_lse(const posenc_view *logits, int64_t i, int64_t h, int64_t b) {
    double sink = s.params.sinks != NULL ? (double)s.params.sinks[h] : -INFINITY, max = sink;
    for (int64_t j = 0; j < s.n_k; j++)
        max = fmax(max, (double)*truth_at(logits, j, i, h, b));
    if (max == -INFINITY)
        return max;
    double sum = exp(sink - max);
    for (int64_t j = 0; j < s.n_k; j++)
        sum += exp((double)*truth_at(logits, j, i, h, b) - max);
    return max + log(sum);
}

static void test_lse(void **state) {
    (void)state;
    double worst = 0.0;
    for (int round = 0; round < 60; round++) {
        open_task(random_n_k(round));
        truth_tensor logits = truth_tensor_dense(s.n_k, s.n_q, s.n_heads, s.n_batch);
        TRUTH_EACH(&logits.view, j, i, h, b)
        *truth_at(&logits.view, j, i, h, b) = (float)exact_dot(i, j, h, b);
        truth_ok(posenc_logits(&s.params, &logits.view, &logits.view, posenc_range_all()));
        run_task();
        TRUTH_EACH(&lse.view, one, h, i, b) {
            double got = (double)*truth_at(&lse.view, one, h, i, b), want = exact_lse(&logits.view, i, h, b);
            double bound = 4e-6 + 0x1p-24 * fabs(want);
            if (want == -INFINITY) {
                assert_true(got == want);
                continue;
            }
            truth_close(got, want, bound, "lse of query %lld, head %lld", (long long)i, (long long)h);
            worst = fmax(worst, fabs(got - want) / bound);
        }
        truth_tensor_free(&logits);
        close_task();
    }
    print_message("worst error of lse %.3f of the allowed\n", worst);
}

/* ---- Results merged ---- */

/* Attention over keys first .. first + n - 1 only, by what every part has: scale, cap, causal or not. */
static void attend_some(int64_t first, int64_t n, const float *sinks, posenc_attention_state *r) {
    posenc_score_params params = s.params;
    params.positions.query_start -= first;
    params.sinks = sinks;
    posenc_attention_args part = {
        .params = &params, .q = q.view, .k = k.view, .v = v.view, .out = r->out, .lse = &r->lse};
    part.k.ne[2] = part.v.ne[2] = n;
    part.k.data = (char *)part.k.data + first * part.k.nb[2];
    part.v.data = (char *)part.v.data + first * part.v.nb[2];
    truth_ok(posenc_attention_run(&part, scratch, posenc_attention_workspace_bytes(part.q.ne[0], part.v.ne[0]),
                                  posenc_range_all()));
}

static posenc_attention_state new_result(posenc_dtype type, truth_tensor *to, truth_tensor *to_lse) {
    *to = truth_tensor_random_of(type, out.view.ne);
    *to_lse = truth_tensor_random(lse.view.ne);
    return (posenc_attention_state){to->view, to_lse->view};
}

/* Draws parameters that all partial calls share. Returns the sinks, which are for one of them. */
static const float *draw_common(void) {
    posenc_score_params plain = POSENC_SCORE_DEFAULTS;
    plain.scale = s.params.scale;
    plain.n_heads = s.n_heads;
    plain.n_batch = s.n_batch;
    plain.cap = s.params.cap;
    plain.positions.query_start = scene_query(&s, 0, 0);
    plain.mask = truth_below(2) ? posenc_mask_causal() : posenc_mask_none();
    plain.fully_masked = truth_below(2) ? POSENC_FULLY_MASKED_NAN : POSENC_FULLY_MASKED_ZEROS;
    s.params = plain;
    return truth_below(2) ? s.sinks : NULL;
}

/* Half an ulp of the type below LARGEST_V: by how much storing a state may change it. float32's is in the 8e-6. */
static double rounding_of(posenc_dtype type) {
    static const double of[] = {[POSENC_F32] = 0.0, [POSENC_F16] = 0x1p-11, [POSENC_BF16] = 0x1p-8};
    return of[type];
}

/* The parts A and B, the whole at once, and the parts joined; that all in float32, and in another type. */
enum { PART_A, PART_B, WHOLE, JOINED, JOINED_TYPED, N_RESULTS };

/* One element of the joined result, in float32. */
static void check_merged(const posenc_attention_state *r, int64_t c, int64_t h, int64_t i, int64_t b) {
    float lses[N_RESULTS], values[N_RESULTS];
    for (int n = 0; n < N_RESULTS; n++) {
        lses[n] = *truth_at(&r[n].lse, 0, h, i, b);
        values[n] = truth_get(&r[n].out, c, h, i, b);
    }
    float want_lse = lses[WHOLE], got_lse = lses[JOINED], got = values[JOINED];
    if (want_lse == -INFINITY) {
        assert_true(got_lse == want_lse && got == 0.0f);
        return;
    }
    truth_close((double)got_lse, (double)want_lse, 8e-6 + 0x1p-23 * fabs((double)want_lse), "merged lse");
    truth_close((double)got, (double)values[WHOLE], 8e-6 * LARGEST_V + rounding_of(r[PART_A].out.dtype),
                "merged from type %d", r[PART_A].out.dtype);
    for (int n = PART_A; n <= PART_B; n++)
        if (lses[PART_A + PART_B - n] == -INFINITY) { /* the other has no keys */
            assert_true(got_lse == lses[n] && got == values[n]);
            return;
        }
    /* Computed from the stored states. exp and the difference before it leave at most 2.6 of 2^-24 to the result, the
     * sum, the division, the product and the fma one each. */
    double value_a = (double)values[PART_A], value_b = (double)values[PART_B];
    double max = (double)fmaxf(lses[PART_A], lses[PART_B]);
    double weight_a = exp((double)lses[PART_A] - max), weight_b = exp((double)lses[PART_B] - max);
    truth_close((double)got, (weight_a * value_a + weight_b * value_b) / (weight_a + weight_b),
                0x1p-21 * fmax(fabs(value_a), fabs(value_b)) + (double)FLT_MIN, "parts of type %d, joined",
                r[PART_A].out.dtype);
}

/* In place, either way: what the merge gives in float32, rounded once. */
static void check_merged_in_place(const posenc_attention_state *r) {
    truth_tensor here, here_lse;
    posenc_attention_state to = new_result(r[PART_A].out.dtype, &here, &here_lse);
    int which = (int)truth_below(2);
    truth_copy(&r[which].out, &to.out);
    truth_copy(&r[which].lse, &to.lse);
    truth_ok(posenc_attention_combine(which ? &r[PART_A] : &to, which ? &to : &r[PART_B], &to, posenc_range_all()));
    truth_rounded_views(&to.out, &r[JOINED].out, "merged in place");
    truth_same_views(&to.lse, &r[JOINED].lse, "lse merged in place");
    truth_tensor_free(&here);
    truth_tensor_free(&here_lse);
}

static void test_merge(void **state) {
    (void)state;
    for (int round = 0; round < 90; round++) { /* all pairs of types in turn */
        open_task(random_n_k(round));
        const float *sinks = draw_common();
        posenc_dtype part = (posenc_dtype)(round % 3), joined = (posenc_dtype)(round / 3 % 3);
        const posenc_dtype types[N_RESULTS] = {part, part, POSENC_F32, POSENC_F32, joined};
        truth_tensor tensors[N_RESULTS], lses[N_RESULTS];
        posenc_attention_state r[N_RESULTS];
        for (int i = 0; i < N_RESULTS; i++)
            r[i] = new_result(types[i], &tensors[i], &lses[i]);
        int64_t cut = truth_below(4) ? truth_below(s.n_k + 1) : 0;
        attend_some(0, cut, sinks, &r[PART_A]);
        attend_some(cut, s.n_k - cut, NULL, &r[PART_B]);
        attend_some(0, s.n_k, sinks, &r[WHOLE]);
        for (int tier = -1; truth_next_tier(&tier);) {
            int64_t n = s.n_q * s.n_heads * s.n_batch, middle = truth_below(n + 1);
            truth_ok(posenc_attention_combine(&r[PART_A], &r[PART_B], &r[JOINED], posenc_range_all()));
            truth_ok(posenc_attention_combine(&r[PART_A], &r[PART_B], &r[JOINED_TYPED], (posenc_range){middle, n}));
            truth_ok(posenc_attention_combine(&r[PART_A], &r[PART_B], &r[JOINED_TYPED], (posenc_range){0, middle}));
            TRUTH_EACH(&r[JOINED].out, c, h, i, b)
            check_merged(r, c, h, i, b);
            truth_rounded_views(&r[JOINED_TYPED].out, &r[JOINED].out, "merged into another type");
            truth_same_views(&r[JOINED_TYPED].lse, &r[JOINED].lse, "lse beside another type");
            truth_nothing_else_changed(&tensors[JOINED_TYPED], 0, out.view.ne[0], "merge");
            truth_nothing_else_changed(&lses[JOINED_TYPED], 0, 1, "merge, lse");
            check_merged_in_place(r);
        }
        for (int i = 0; i < N_RESULTS; i++) {
            truth_tensor_free(&tensors[i]);
            truth_tensor_free(&lses[i]);
        }
        close_task();
    }
}

/* More rows than are worked on together, all at once and one by one; of some there are no keys. */
static void test_merge_rows(void **state) {
    (void)state;
    enum { A, B, AT_ONCE, ONE_BY_ONE, N };
    const int64_t ne[4] = {3, 3, 50, 1}, lse_ne[4] = {1, 3, 50, 1};
    truth_tensor tensors[N], lses[N];
    posenc_attention_state r[N];
    for (int i = 0; i < N; i++) {
        tensors[i] = truth_tensor_random(ne);
        lses[i] = truth_tensor_random(lse_ne);
        r[i] = (posenc_attention_state){tensors[i].view, lses[i].view};
    }
    for (int n = A; n <= B; n++)
        TRUTH_EACH(&r[n].lse, c, h, i, b)
    if (truth_below(4) == 0)
        *truth_at(&r[n].lse, c, h, i, b) = -INFINITY;
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_attention_combine(&r[A], &r[B], &r[AT_ONCE], posenc_range_all()));
        for (int64_t row = 0; row < ne[1] * ne[2]; row++)
            truth_ok(posenc_attention_combine(&r[A], &r[B], &r[ONE_BY_ONE], (posenc_range){row, row + 1}));
        truth_same_views(&r[AT_ONCE].out, &r[ONE_BY_ONE].out, "rows merged at once");
        truth_same_views(&r[AT_ONCE].lse, &r[ONE_BY_ONE].lse, "lse of rows merged at once");
    }
    for (int i = 0; i < N; i++) {
        truth_tensor_free(&tensors[i]);
        truth_tensor_free(&lses[i]);
    }
}

/* ---- RoPE applied to K on load, pages ---- */

/* Additions to a call: a rotation, pages, or both. */
typedef struct variant {
    posenc_rope *rope;
    posenc_rope_table table;
    float *rows;
    int32_t *numbers;
    posenc_attention_pages pages;
    truth_tensor k_pages, v_pages;
} variant;

/* A random rope for the head_dim of the call, and its table for keys at any positions. */
static void add_rotation(variant *x) {
    posenc_rope_params params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_AXES | TRUTH_DEINTERLEAVE);
    while (params.head_dim > q.view.ne[0] || params.n_offs + params.n_rot > q.view.ne[0])
        params = truth_rope_random(TRUTH_MAGNITUDE | TRUTH_DEINTERLEAVE | (truth_below(2) ? TRUTH_AXES : 0));
    params.head_dim = q.view.ne[0];
    x->rope = truth_rope_new(&params);
    int n_axes = posenc_rope_axis_count(x->rope);
    int32_t *positions = malloc((size_t)(n_axes * s.n_k) * sizeof *positions);
    x->rows = malloc((size_t)posenc_rope_table_bytes(x->rope, s.n_k) + sizeof *x->rows);
    assert_true(positions != NULL && x->rows != NULL);
    truth_random_positions(positions, n_axes, s.n_k);
    x->table = posenc_rope_table_dense(x->rope, x->rows);
    truth_ok(posenc_rope_table_fill(x->rope, positions, s.n_k, POSENC_FORWARD, &x->table));
    free(positions);
    task.k_rope = x->rope;
    task.k_table = &x->table;
}

/* k after its rotation, in float32: what the call is to see. */
static truth_tensor rotated_keys(const variant *x) {
    truth_tensor turned = truth_tensor_dense(k.view.ne[0], k.view.ne[1], k.view.ne[2], k.view.ne[3]);
    truth_ok(posenc_rope_apply_table(x->rope, &k.view, &x->table, &turned.view, POSENC_FORWARD, posenc_range_all()));
    return turned;
}

static void copy_page(const posenc_view *from, int64_t first, int64_t n, int64_t b, const posenc_view *pages,
                      int64_t page) {
    posenc_view x = *from, y = *pages;
    x.ne[2] = y.ne[2] = n;
    x.ne[3] = y.ne[3] = 1;
    x.data = (char *)x.data + first * x.nb[2] + b * x.nb[3];
    y.data = (char *)y.data + page * y.nb[3];
    truth_copy(&x, &y);
}

/* Keys and values in pages at random places; the table's entries beyond a sequence's end are nonsense. */
static void add_pages(variant *x) {
    static const int64_t sizes[] = {32, 64, 16, 1, 512};
    int64_t size = truth_below(2) ? sizes[truth_below(5)] : 1 + truth_below(100), per = (s.n_k + size - 1) / size;
    int64_t n = per * s.n_batch, stride = per + truth_below(3);
    x->k_pages = truth_tensor_random_of(k.view.dtype, (int64_t[4]){k.view.ne[0], k.view.ne[1], size, n});
    x->v_pages = truth_tensor_random_of(v.view.dtype, (int64_t[4]){v.view.ne[0], v.view.ne[1], size, n});
    x->numbers = malloc((size_t)(stride * s.n_batch) * sizeof *x->numbers);
    assert_true(x->numbers != NULL);
    int64_t step = 1 + truth_below(n), at = 0;
    while (step > 1 && n % step == 0) /* enough to spread them */
        step--;
    for (int64_t b = 0; b < s.n_batch; b++)
        for (int64_t i = 0; i < stride; i++) {
            int64_t end = s.params.sequences.k_end != NULL ? s.params.sequences.k_end[b] : s.n_k, first = i * size;
            int32_t *number = &x->numbers[b * stride + i];
            *number = (int32_t)(truth_below(2) ? -1 - truth_below(9) : n + truth_below(9));
            if (first >= end)
                continue;
            *number = (int32_t)(n - 1 - at++);
            copy_page(&k.view, first, s.n_k - first < size ? s.n_k - first : size, b, &x->k_pages.view, *number);
            copy_page(&v.view, first, s.n_k - first < size ? s.n_k - first : size, b, &x->v_pages.view, *number);
        }
    x->pages = (posenc_attention_pages){x->numbers, stride, s.n_k};
    task.pages = &x->pages;
    task.k = x->k_pages.view;
    task.v = x->v_pages.view;
}

static void free_variant(variant *x) {
    posenc_rope_free(x->rope);
    free(x->rows);
    if (task.pages != NULL) {
        truth_tensor_free(&x->k_pages);
        truth_tensor_free(&x->v_pages);
        free(x->numbers);
    }
}

static void test_variants(void **state) {
    (void)state;
    for (int round = 0; round < 120; round++) {
        open_task(random_n_k(round));
        variant x = {.rope = NULL};
        truth_tensor want = truth_tensor_random_of(out.view.dtype, out.view.ne), turned = {.buffer = NULL};
        posenc_view keys = k.view;
        int rotates = round % 3 != 1, pages = round % 3 != 0;
        if (rotates) {
            add_rotation(&x);
            turned = rotated_keys(&x);
            keys = turned.view;
        }
        truth_ok(posenc_attention(&s.params, &q.view, &keys, &v.view, &want.view, scratch,
                                  posenc_attention_workspace_bytes(q.view.ne[0], v.view.ne[0]), posenc_range_all()));
        if (pages)
            add_pages(&x);
        for (int tier = -1; truth_next_tier(&tier);) {
            run_task();
            truth_same_views(&out.view, &want.view, rotates ? pages ? "rotated, in pages" : "rotated" : "in pages");
            truth_nothing_else_changed(&out, 0, out.view.ne[0], "attention");
            truth_reset(&out);
            run_parts();
            truth_same_views(&out.view, &want.view, "in parts");
            truth_reset(&out);
        }
        free_variant(&x);
        truth_tensor_free(&want);
        if (rotates)
            truth_tensor_free(&turned);
        close_task();
    }
}

/* ---- Blocks of eight bits ---- */

/* Random blocks for keys or values, dense, and the numbers that they mean as float32. */
static void new_blocks(truth_tensor *t, posenc_view *blocks) {
    posenc_view old = t->view;
    truth_tensor_free(t);
    *t = truth_tensor_dense(old.ne[0], old.ne[1], old.ne[2], old.ne[3]);
    size_t n = t->n_elements / POSENC_QUANT_BLOCK;
    unsigned char *memory = malloc(n * POSENC_Q8_BYTES);
    assert_true(memory != NULL);
    for (size_t i = 0; i < n; i++) {
        unsigned char *block = memory + i * POSENC_Q8_BYTES;
        uint16_t scale = truth_narrow((float)truth_uniform(0.0, LARGEST_V / 128.0), POSENC_F16);
        memcpy(block, &scale, sizeof scale);
        for (int c = 0; c < POSENC_QUANT_BLOCK; c++) {
            int64_t number = truth_below(256) - 128;
            block[2 + c] = (unsigned char)number;
            ((float *)t->view.data)[i * POSENC_QUANT_BLOCK + (size_t)c] =
                truth_widen(scale, POSENC_F16) * (float)number;
        }
    }
    *blocks = posenc_view_dense(memory, POSENC_Q8_0, old.ne[0], old.ne[1], old.ne[2], old.ne[3]);
}

/* The same memory as pages of some rows; n_k is a multiple of that. */
static posenc_view as_pages(const posenc_view *x, int64_t size) {
    posenc_view pages = *x;
    pages.ne[2] = size;
    pages.ne[3] = x->ne[3] * (x->ne[2] / size);
    pages.nb[3] = size * x->nb[2];
    return pages;
}

static void test_blocks(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t size = 1 + truth_below(70), per = 1 + truth_below(round % 10 ? 300 : SCENE_K - 80) / size;
        int64_t head_dim = POSENC_QUANT_BLOCK * (1 + truth_below(5)), v_dim = POSENC_QUANT_BLOCK * (1 + truth_below(5));
        open_attention_of(size * per, head_dim, v_dim);
        posenc_view k_blocks, v_blocks;
        new_blocks(&k, &k_blocks);
        new_blocks(&v, &v_blocks);
        make_task();
        variant x = {.rope = NULL};
        truth_tensor want = truth_tensor_random_of(out.view.dtype, out.view.ne), turned = {.buffer = NULL};
        posenc_view keys = k.view;
        if (round % 2) {
            add_rotation(&x);
            turned = rotated_keys(&x);
            keys = turned.view;
        }
        truth_ok(posenc_attention(&s.params, &q.view, &keys, &v.view, &want.view, scratch,
                                  posenc_attention_workspace_bytes(q.view.ne[0], v.view.ne[0]), posenc_range_all()));
        task.k = k_blocks;
        task.v = v_blocks;
        int32_t numbers[SCENE_BATCH * SCENE_K];
        posenc_attention_pages pages = {numbers, per, s.n_k};
        for (int64_t i = 0; i < s.n_batch * per; i++)
            numbers[i] = (int32_t)i;
        for (int tier = -1; truth_next_tier(&tier);)
            for (int in_pages = 0; in_pages < 2; in_pages++) {
                task.k = in_pages ? as_pages(&k_blocks, size) : k_blocks;
                task.v = in_pages ? as_pages(&v_blocks, size) : v_blocks;
                task.pages = in_pages ? &pages : NULL;
                truth_reset(&out);
                run_task();
                truth_same_views(&out.view, &want.view, in_pages ? "blocks in pages" : "blocks");
            }
        task.pages = NULL;
        free_variant(&x);
        free(k_blocks.data);
        free(v_blocks.data);
        truth_tensor_free(&want);
        if (round % 2)
            truth_tensor_free(&turned);
        close_task();
    }
}

/* ---- Extremes ---- */

/* n_k times the same key and value: the result is that value, whole and in parts, of the same bits on every tier. */
static void check_equal_keys(int64_t dim, int64_t n_k) {
    float *query = malloc((size_t)dim * sizeof *query * 5), *key = query + dim, *value = key + dim;
    float *result = value + dim, *first = result + dim, one_lse;
    assert_true(query != NULL);
    truth_fill(query, (size_t)(5 * dim));
    double score = 0.0;
    for (int64_t c = 0; c < dim; c++)
        score += (double)query[c] * (double)key[c];
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
    posenc_view lse_view = posenc_view_dense(&one_lse, POSENC_F32, 1, 1, 1, 1);
    posenc_attention_args t = {
        .params = &params,
        .q = posenc_view_dense(query, POSENC_F32, dim, 1, 1, 1),
        .k = {key, POSENC_F32, {dim, 1, n_k, 1}, {4, 0, 0, 0}},
        .v = {value, POSENC_F32, {dim, 1, n_k, 1}, {4, 0, 0, 0}},
        .out = posenc_view_dense(result, POSENC_F32, dim, 1, 1, 1),
        .lse = &lse_view,
    };
    void *memory = malloc(posenc_attention_workspace_bytes(dim, dim)),
         *parts = malloc(posenc_attention_split_bytes(&t));
    assert_true(memory != NULL && parts != NULL);
    assert_int_equal(posenc_attention_split_count(&t), (n_k + POSENC_ATTENTION_SEGMENT - 1) / POSENC_ATTENTION_SEGMENT);
    for (int tier = -1; truth_next_tier(&tier);) {
        truth_ok(posenc_attention_run(&t, memory, posenc_attention_workspace_bytes(t.q.ne[0], t.v.ne[0]),
                                      posenc_range_all()));
        for (int64_t c = 0; c < dim; c++)
            truth_close((double)result[c], (double)value[c], 1e-5 * LARGEST_V, "mean");
        truth_close((double)one_lse, score + log((double)n_k), 1e-5 + 1e-6 * fabs(score), "lse");
        if (tier == 0)
            memcpy(first, result, (size_t)dim * sizeof *first);
        truth_same_bits(result, first, dim, "tiers");
        memset(result, 0, (size_t)dim * sizeof *result);
        truth_ok(posenc_attention_split(&t, memory, posenc_attention_workspace_bytes(t.q.ne[0], t.v.ne[0]), parts,
                                        posenc_attention_split_bytes(&t), posenc_range_all()));
        truth_ok(posenc_attention_combine_splits(&t, parts, posenc_attention_split_bytes(&t), posenc_range_all()));
        truth_same_bits(result, first, dim, "parts");
    }
    free(memory);
    free(parts);
    free(query);
}

/* In no more scratch than a few keys need. */
static void test_million_keys(void **state) {
    (void)state;
    check_equal_keys(8, 1 << 20);
}

/* Heads as wide as they may be: what holds their sums was tested with narrower ones only. */
static void test_widest_parts(void **state) {
    (void)state;
    check_equal_keys(POSENC_MAX_HEAD_DIM, POSENC_ATTENTION_SEGMENT + 5);
}

/* A query of NaN has a result of NaN, as in softmax.h, and its neighbours do not. */
static void test_nan(void **state) {
    (void)state;
    for (int tier = -1; truth_next_tier(&tier);)
        for (int round = 0; round < 12; round++) {
            open_task(random_n_k(round));
            s.params = posenc_score_params_of(1.0f, posenc_mask_none());
            s.params.positions.query_start = POSENC_ALIGN_FIRST_KEY;
            posenc_view nan = posenc_view_dense(&(float){NAN}, POSENC_F32, 1, 1, 1, 1), first = q.view;
            first.ne[0] = first.ne[1] = first.ne[2] = first.ne[3] = 1;
            truth_convert(&nan, &first);
            run_task();
            TRUTH_EACH(&out.view, c, h, i, b)
            assert_int_equal(isnan(truth_get(&out.view, c, h, i, b)) != 0, i + h + b == 0);
            TRUTH_EACH(&lse.view, c, h, i, b)
            assert_int_equal(isnan(*truth_at(&lse.view, c, h, i, b)) != 0, i + h + b == 0);
            close_task();
        }
}

/* Values of -0 behind a key block that no longer counts: their sum is -0, and the result +0, as in parts. */
static void test_zeros(void **state) {
    (void)state;
    enum { N = 2 * 512 };
    static float keys[N], values[N];
    float query = 1.0f, result;
    for (int j = 0; j < N; j++) {
        keys[j] = j < N / 2 ? 0.0f : 300.0f;
        values[j] = j < N / 2 ? -1.0f : -0.0f;
    }
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    q.view = posenc_view_dense(&query, POSENC_F32, 1, 1, 1, 1);
    k.view = posenc_view_dense(keys, POSENC_F32, 1, 1, N, 1);
    v.view = posenc_view_dense(values, POSENC_F32, 1, 1, N, 1);
    task = (posenc_attention_args){.params = &params, .q = q.view, .k = k.view, .v = v.view, .out = q.view};
    task.out.data = &result;
    scratch = malloc(posenc_attention_workspace_bytes(1, 1));
    for (int tier = -1; truth_next_tier(&tier);)
        for (int in_parts = 0; in_parts < 2; in_parts++) {
            result = 1.0f;
            in_parts ? run_parts() : run_task();
            assert_true(result == 0.0f && !signbit(result));
        }
    free(scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        truth_test(test_parts),        truth_test(test_lse),    truth_test(test_merge),
        truth_test(test_variants),     truth_test(test_blocks), truth_test(test_million_keys),
        truth_test(test_widest_parts), truth_test(test_nan),    truth_test(test_merge_rows),
        truth_test(test_zeros),
    };
    return truth_run(tests);
}
