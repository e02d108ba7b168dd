/* SPDX-License-Identifier: MIT */
/* Fused attention: types, pages, parts by segments, rotation of keys, lists of keys, block masks. */
#include "data_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../truth_blocks.h"
#include "../truth_half.h"

typedef struct attention_call {
    data_scores s;
    posenc_attention_args task;
    posenc_attention_pages pages;
    posenc_attention_lists lists;
    posenc_view lse;
    posenc_rope_table table;
    posenc_rope *rope;
    void *scratch, *parts;
    int64_t cut; /* of the parts: two calls */
} attention_call;

/* ---- Keys and values ---- */

/* Place of key j of sequence b: a row and a page, or the sequence. */
static void place_of(const attention_call *c, int64_t j, int64_t b, int64_t *row, int64_t *page) {
    *row = j;
    *page = b;
    if (c->task.pages != NULL) {
        *row = j % c->task.k.ne[2];
        *page = c->pages.table[b * c->pages.stride + j / c->task.k.ne[2]];
    }
}

static unsigned char *block_at(const posenc_view *view, int64_t c, int64_t row, int64_t head, int64_t page) {
    return (unsigned char *)view->data + c / POSENC_QUANT_BLOCK * view->nb[0] + head * view->nb[1] + row * view->nb[2] +
           page * view->nb[3];
}

static double channel(const posenc_view *view, int64_t c, int64_t row, int64_t head, int64_t page) {
    if (!truth_is_blocks(view->dtype))
        return data_get(view, c, head, row, page);
    return truth_read_block(block_at(view, c, row, head, page), c % POSENC_QUANT_BLOCK, view->dtype);
}

static void fill_row(const posenc_view *view, double size, int64_t row, int64_t head, int64_t page) {
    if (!truth_is_blocks(view->dtype)) {
        for (int64_t c = 0; c < view->ne[0]; c++)
            data_set(view, c, head, row, page, data_number(size));
        return;
    }
    for (int64_t c = 0; c < view->ne[0]; c += POSENC_QUANT_BLOCK) {
        unsigned char *block = block_at(view, c, row, head, page);
        truth_store(block, data_number(size / (truth_block_most(view->dtype) + 1.0)), POSENC_F16);
        if (truth_block_header(view->dtype) > 2)
            truth_store(block + 2, data_number(size), POSENC_F16);
        for (size_t i = truth_block_header(view->dtype); i < truth_block_bytes(view->dtype); i++)
            block[i] = (unsigned char)data_random();
    }
}

/* Every element a NaN, a block's scale too; keys that the lengths leave get their numbers afterwards. */
static posenc_view draw_rows(const attention_call *c, posenc_dtype type, int64_t dim, int64_t n_heads) {
    const posenc_attention_pages *pages = c->task.pages;
    int64_t n_rows = pages != NULL ? c->task.k.ne[2] : c->s.n_k,
            n_pages = pages != NULL ? c->task.k.ne[3] : c->s.n_batch;
    posenc_dtype stored = truth_is_blocks(type) ? POSENC_F16 : type;
    int64_t width = truth_is_blocks(type) ? dim / POSENC_QUANT_BLOCK * ((int64_t)truth_block_bytes(type) / 2) : dim;
    posenc_view view = data_input(stored, NAN, width, n_heads, n_rows, n_pages);
    view.dtype = type;
    view.ne[0] = dim;
    view.nb[0] = truth_is_blocks(type) ? (int64_t)truth_block_bytes(type) : view.nb[0];
    return view;
}

static void fill_keys(const attention_call *c, const posenc_view *view, double size) {
    for (int64_t b = 0; b < c->s.n_batch; b++) {
        int64_t begin = data_first_key(&c->s, b), end = data_end_of_keys(&c->s, b);
        for (int64_t j = begin; j < end; j++)
            for (int64_t head = 0, row, page; head < view->ne[1]; head++) {
                place_of(c, j, b, &row, &page);
                fill_row(view, size, row, head, page);
            }
    }
}

/* More pages than are named; entries for keys beyond the lengths name none. */
static void draw_pages(attention_call *c) {
    static const int64_t sizes[] = {16, 32, 64, 48, 1, 7, 33, 96, 256};
    int64_t size = sizes[draw(9)], per_sequence = (c->s.n_k + size - 1) / size, is_shared = draw_rarely(4);
    int64_t n_pages = per_sequence * c->s.n_batch + draw(3), first = (int64_t)(data_random() % (uint64_t)n_pages);
    int64_t stride = is_shared ? 0 : per_sequence + draw(3);
    int32_t *table = data_block((c->s.n_batch - 1) * stride + per_sequence, sizeof *table);
    for (int64_t b = 0; b < c->s.n_batch; b++)
        for (int64_t page = 0; page < per_sequence; page++) {
            int64_t end = data_end_of_keys(&c->s, b);
            int32_t number = (int32_t)((first + b * per_sequence + (per_sequence - page)) % n_pages);
            table[b * stride + page] = page * size < end || is_shared ? number : -1;
        }
    c->pages = (posenc_attention_pages){table, stride, c->s.n_k};
    c->task.pages = &c->pages;
    c->task.k.ne[2] = size;
    c->task.k.ne[3] = n_pages;
}

static void draw_rotation(attention_call *c, int64_t head_dim) {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = (posenc_rope_layout)draw_between(POSENC_ROPE_HALF, POSENC_ROPE_INTERLEAVED);
    params.head_dim = head_dim;
    params.n_rot = 2 * draw(head_dim / 2 + 1);
    params.rot_fraction = 0.0;
    params.n_offs = draw(head_dim - params.n_rot + 1);
    if (posenc_rope_create(&params, &c->rope) != POSENC_OK)
        data_fail("no rope");
    c->table = posenc_rope_table_dense(c->rope, data_floats(c->s.n_k * params.n_rot, 1.0));
    c->task.k_rope = c->rope;
    c->task.k_table = &c->table;
}

/* ---- Lists of keys ---- */

/* 1 unless a per-key array is given, which is refused with lists. */
static int may_have_lists(const posenc_score_params *p) {
    return p->bias.tensor == NULL && p->bias.by_key.products == NULL && p->bool_mask == NULL &&
           p->sequences.cu_seqlens == NULL && p->mask.n_first == 0 && p->positions.keys == NULL && p->tree == NULL;
}

static const int32_t *list_of(const attention_call *c, int64_t i, int64_t h, int64_t b) {
    int64_t head = c->lists.head_stride == 0 ? 0 : h / (c->s.n_heads / c->lists.n_heads);
    return c->lists.keys + b * c->lists.batch_stride + head * c->lists.head_stride + i * c->lists.query_stride;
}

/* Entries that a query meets, and the key of one of them. */
static int64_t entries_of(const attention_call *c, int64_t i, int64_t h, int64_t b) {
    if (c->task.lists == NULL)
        return c->s.n_k;
    int64_t n = 0;
    while (n < c->lists.n_max && list_of(c, i, h, b)[n] != POSENC_LIST_END)
        n++;
    return n;
}

static int64_t key_at(const attention_call *c, int64_t i, int64_t h, int64_t b, int64_t t) {
    return c->task.lists == NULL ? t : list_of(c, i, h, b)[t];
}

/* Any keys of the sequence, some of them twice; behind the end of a list anything may stand. */
static void fill_list(const attention_call *c, int32_t *list, int64_t b) {
    int64_t begin = data_first_key(&c->s, b), end = data_end_of_keys(&c->s, b);
    int64_t n = begin == end ? 0 : data_random() % 2 ? c->lists.n_max : (int64_t)(data_random() % 40);
    for (int64_t t = 0; t < c->lists.n_max; t++)
        list[t] = t < n    ? (int32_t)(begin + (int64_t)(data_random() % (uint64_t)(end - begin)))
                  : t == n ? POSENC_LIST_END
                           : (int32_t)data_random();
}

static void draw_lists(attention_call *c) {
    posenc_attention_lists *l = &c->lists;
    l->n_max = draw_rarely(16) ? draw(DATA_MOST_KEYS) : draw_size(200) - draw_rarely(8);
    l->query_stride = draw_rarely(3) ? 0 : l->n_max + draw(3);
    int64_t of_head = (c->s.n_q - 1) * l->query_stride + l->n_max, n_kv_heads = c->task.k.ne[1];
    l->n_heads = draw_rarely(2) ? 1 : draw_rarely(2) ? n_kv_heads : c->s.n_heads;
    l->head_stride = l->n_heads == 1 ? 0 : of_head + draw(3);
    l->batch_stride = (l->n_heads - 1) * l->head_stride + of_head + draw(3);
    int32_t *keys =
        data_block((c->s.n_batch - 1) * l->batch_stride + (l->n_heads - 1) * l->head_stride + of_head, sizeof *keys);
    int64_t n_q = l->query_stride == 0 ? 1 : c->s.n_q;
    for (int64_t b = 0; b < c->s.n_batch; b++)
        for (int64_t i = 0; i < n_q * l->n_heads; i++)
            fill_list(c, keys + b * l->batch_stride + i / n_q * l->head_stride + i % n_q * l->query_stride, b);
    l->keys = keys;
    c->task.lists = l;
}

/* ---- Plain double ---- */

enum { MOST_DIM = 256, GROUP = 16, KEYS_EXACT = 128 /* the first ones, which are not in integers */ };

/* Key j as the queries meet it. */
static void read_key(const attention_call *c, int64_t j, int64_t head, int64_t b, double *key) {
    int64_t row, page, dim = c->task.k.ne[0];
    place_of(c, j, b, &row, &page);
    float stored[MOST_DIM], turned[MOST_DIM];
    for (int64_t i = 0; i < dim; i++)
        stored[i] = (float)channel(&c->task.k, i, row, head, page);
    posenc_view from = posenc_view_dense(stored, POSENC_F32, dim, 1, 1, 1), to = from;
    to.data = turned;
    posenc_rope_table at = c->table;
    if (c->rope != NULL) {
        at.cos += j * at.row_stride;
        at.sin += j * at.row_stride;
        posenc_rope_apply_table(c->rope, &from, &at, &to, POSENC_FORWARD, posenc_range_all());
    }
    for (int64_t i = 0; i < dim; i++)
        key[i] = (double)(c->rope != NULL ? turned : stored)[i];
}

static int is_read(const attention_call *c, int64_t j, int64_t b) {
    return j >= data_first_key(&c->s, b) && j < data_end_of_keys(&c->s, b);
}

static int is_integer(const attention_call *c, posenc_dtype type) {
    return c->task.math == POSENC_MATH_INT16 && truth_is_blocks(type);
}

static int is_bf16(const attention_call *c) {
    return c->task.math >= POSENC_MATH_BF16;
}

/* Error of the product of query i with key j by rounding the query to integers, or both to bf16. size: sum of the sizes
 * of their products. */
static double query_error(const attention_call *c, int64_t i, int64_t j, int64_t h, int64_t b, const double *key,
                          double size) {
    if (is_bf16(c))
        return 1.01 * (c->task.math == POSENC_MATH_BF16X3 ? 0x1p-15 : 0x1p-7) * size;
    if (!is_integer(c, c->task.k.dtype) || c->rope != NULL || (c->task.lists == NULL && j < KEYS_EXACT))
        return 0.0;
    double error = 0.0;
    for (int64_t first = 0; first < c->task.k.ne[0]; first += POSENC_QUANT_BLOCK) {
        double largest = 0.0, sum = 0.0;
        for (int64_t k = first; k < first + POSENC_QUANT_BLOCK; k++) {
            largest = fmax(largest, fabs(data_get(&c->task.q, k, h, i, b)));
            sum += fabs(key[k]);
        }
        error += largest * sum / 65278.0;
    }
    return error;
}

/* How often each key is in the list of a query. */
static void count_keys(const attention_call *c, int64_t i, int64_t h, int64_t b, data_row *row) {
    static double counts[DATA_MOST_KEYS];
    memset(counts, 0, sizeof counts);
    for (int64_t t = 0, n = entries_of(c, i, h, b); t < n; t++)
        counts[key_at(c, i, h, b, t)] += 1.0;
    row->counts = counts;
}

static void make_row(const attention_call *c, int64_t i, int64_t h, int64_t b, data_row *row) {
    static double scores[DATA_MOST_KEYS];
    int64_t head = h / (c->s.n_heads / c->task.k.ne[1]), dim = c->task.k.ne[0];
    double key[MOST_DIM];
    count_keys(c, i, h, b, row);
    for (int64_t j = 0; j < c->s.n_k; j++) {
        scores[j] = row->errors[j] = 0.0;
        if (!is_read(c, j, b))
            continue;
        read_key(c, j, head, b, key);
        double size = 0.0;
        for (int64_t k = 0; k < dim; k++) {
            double product = key[k] * data_get(&c->task.q, k, h, i, b);
            scores[j] += product;
            size += fabs(product);
        }
        row->errors[j] =
            (double)c->s.params.scale * ((double)(dim + 8) * 0x1p-23 * size + query_error(c, i, j, h, b, key, size));
    }
    data_make_row(&c->s, scores, i, h, b, row);
}

/* Error of channel k by rounding the weights of a group of entries, from `first` on, to integers. */
static double group_error(const attention_call *c, const data_row *row, int64_t k, int64_t first, int64_t i, int64_t h,
                          int64_t b) {
    int64_t head = h / (c->s.n_heads / c->task.v.ne[1]);
    double m = 0.0, d = 0.0, sum = 0.0;
    for (int64_t t = first, n = entries_of(c, i, h, b), at, page; t < first + GROUP && t < n; t++) {
        int64_t j = key_at(c, i, h, b, t);
        if (row->logits[j] == -INFINITY)
            continue;
        place_of(c, j, b, &at, &page);
        const unsigned char *block = block_at(&c->task.v, k, at, head, page);
        m = fmax(m, exp(row->logits[j] - row->max) / row->sum);
        d = fmax(d, fabs((double)truth_load(block, POSENC_F16)));
        sum += abs(truth_block_number(block, k % POSENC_QUANT_BLOCK, c->task.v.dtype));
    }
    return m * d * sum / 65278.0;
}

/* Error by rounding values and their weights to bf16, relative to each product's size. */
static double value_error(const attention_call *c) {
    switch (c->task.math) {
    case POSENC_MATH_BF16: return 0x1p-7;
    case POSENC_MATH_BF16X2: return 0x1p-8 + 0x1p-16;
    case POSENC_MATH_BF16X3: return 0x1p-15;
    default: return 0.0;
    }
}

/* Compares with the bound of attention.h, with e^d - 1 in place of the error d of a logit. */
static void compare_row(const attention_call *c, const data_row *row, int64_t i, int64_t h, int64_t b) {
    const posenc_view *out = &c->task.out, *v = &c->task.v;
    int64_t head = h / (c->s.n_heads / v->ne[1]), n = entries_of(c, i, h, b);
    double lse = data_get(&c->lse, 0, h, i, b), wrong_logit = 0.0;
    for (int64_t j = 0; is_bf16(c) && j < c->s.n_k; j++) /* the others' do not show */
        wrong_logit = fmax(wrong_logit, row->logits[j] == -INFINITY ? 0.0 : row->errors[j]);
    if (row->max == -INFINITY
            ? lse != -INFINITY
            : !(fabs(lse - row->max - log(row->sum)) <= 4e-6 + 0x1p-22 * fabs(lse) + row->error + wrong_logit))
        data_fail("lse of query %lld, head %lld, batch %lld is %a, wanted %a", (long long)i, (long long)h, (long long)b,
                  lse, row->max + log(row->sum));
    for (int64_t k = 0; k < v->ne[0]; k++) {
        double want = 0.0, wrong = 0.0, rounding = 0.0, largest = 0.0, got = data_get(out, k, h, i, b);
        if (row->max == -INFINITY) {
            if (c->s.params.fully_masked == POSENC_FULLY_MASKED_NAN ? !isnan(got) : got != 0.0)
                data_fail("query %lld, head %lld, batch %lld sees nothing and gets %a", (long long)i, (long long)h,
                          (long long)b, got);
            continue;
        }
        for (int64_t t = KEYS_EXACT; is_integer(c, v->dtype) && t < n; t += GROUP)
            rounding += group_error(c, row, k, t, i, h, b);
        double unit = value_error(c);
        for (int64_t t = 0, at, page; t < n; t++) {
            int64_t j = key_at(c, i, h, b, t);
            if (row->logits[j] == -INFINITY)
                continue;
            place_of(c, j, b, &at, &page);
            double p = exp(row->logits[j] - row->max) / row->sum, value = channel(v, k, at, head, page);
            want += p * value;
            rounding += unit * p * fabs(value);
            wrong += p * fabs(value) * expm1(fmin(row->errors[j] + row->error, 100.0));
            largest = fmax(largest, fabs(value));
        }
        data_close(out, got, want, 2.5e-5 * largest + 2.0 * wrong + 1.01 * rounding, "attention", k, h, i, b);
    }
}

/* Compares as many rows as take a moment. */
static void compare(const attention_call *c) {
    data_row row = data_new_row();
    int64_t n = c->s.n_q * c->s.n_heads * c->s.n_batch;
    int64_t n_keys = c->s.n_k > c->lists.n_max ? c->s.n_k : c->lists.n_max;
    int64_t each = 1 + n_keys * (c->task.k.ne[0] + c->task.v.ne[0]), most = 1 + 60000 / each;
    for (int64_t k = 0; k < n && k < most; k++) {
        int64_t r = n <= most ? k : (int64_t)(data_random() % (uint64_t)n);
        int64_t i = r % c->s.n_q, h = r / c->s.n_q % c->s.n_heads, b = r / c->s.n_q / c->s.n_heads;
        make_row(c, i, h, b, &row);
        compare_row(c, &row, i, h, b);
    }
}

/* ---- Calls ---- */

static posenc_status attend(const void *arguments, posenc_range units) {
    const attention_call *c = arguments;
    return posenc_attention_run(&c->task, c->scratch,
                                posenc_attention_workspace_bytes(c->task.q.ne[0], c->task.v.ne[0]), units);
}

/* All parts, in two calls, then the units. */
static posenc_status attend_parts(const void *arguments, posenc_range units) {
    const attention_call *c = arguments;
    int64_t n = posenc_attention_split_count(&c->task);
    posenc_status status =
        posenc_attention_split(&c->task, c->scratch, posenc_attention_workspace_bytes(c->task.q.ne[0], c->task.v.ne[0]),
                               c->parts, posenc_attention_split_bytes(&c->task), (posenc_range){c->cut, n});
    if (status == POSENC_OK)
        status = posenc_attention_split(&c->task, c->scratch,
                                        posenc_attention_workspace_bytes(c->task.q.ne[0], c->task.v.ne[0]), c->parts,
                                        posenc_attention_split_bytes(&c->task), (posenc_range){0, c->cut});
    return status == POSENC_OK
               ? posenc_attention_combine_splits(&c->task, c->parts, posenc_attention_split_bytes(&c->task), units)
               : status;
}

/* Mostly a few queries, as in decode, over some panels of keys. */
static void draw_extents(data_scores *s) {
    s->n_k = draw_rarely(64) ? 1 + draw(DATA_MOST_KEYS) : draw_rarely(16) ? 1 + draw(1200) : draw_size(200);
    s->n_q = s->n_k <= 200 && draw_rarely(8) ? draw_size(80) : draw_rarely(2) ? 1 + draw(6) : 1;
    int is_large = s->n_k > 200 || s->n_q > 6;
    s->n_heads = draw_between(1, is_large ? 2 : 8);
    s->n_batch = draw_between(1, is_large ? 2 : 3);
}

/* A multiple of 8, as heads have it, or any number. */
static int64_t draw_dim(int64_t most) {
    return draw_rarely(2) ? draw_size(most) : 8 * (1 + draw(most / 8));
}

static posenc_dtype draw_key_type(int64_t *dim) {
    posenc_dtype type = (posenc_dtype)draw(POSENC_F8_E4M3 + 1);
    *dim = truth_is_blocks(type) ? (*dim + POSENC_QUANT_BLOCK - 1) / POSENC_QUANT_BLOCK * POSENC_QUANT_BLOCK : *dim;
    return type;
}

void data_attention(void) {
    attention_call c = {0};
    data_scores *s = &c.s;
    draw_extents(s);
    data_draw_scores(s);
    s->params.fully_masked =
        s->params.fully_masked == POSENC_FULLY_MASKED_UNIFORM ? POSENC_FULLY_MASKED_ZEROS : s->params.fully_masked;
    int64_t most = s->n_k > 1200 ? 24 : 140, dim = draw_dim(most), v_dim = draw_rarely(2) ? draw_dim(most) : dim;
    posenc_dtype k_type = draw_key_type(&dim), v_type = draw_key_type(&v_dim);
    int64_t group = draw_between(1, s->n_heads), n_kv_heads = s->n_heads;
    while (s->n_heads % group != 0)
        group--;
    n_kv_heads /= group;
    posenc_attention_args *t = &c.task;
    t->params = &s->params;
    t->math = (posenc_attention_math)draw(5);
    if (draw_rarely(4))
        draw_pages(&c);
    if (draw_rarely(6))
        draw_rotation(&c, dim);
    double size = sqrt(6.0 / sqrt((double)dim)); /* scores of a few units */
    t->q = data_input(draw_type(), size, dim, s->n_heads, s->n_q, s->n_batch);
    t->v = draw_rows(&c, v_type, v_dim, n_kv_heads); /* before k, whose extents are the pages' */
    t->k = draw_rows(&c, k_type, dim, n_kv_heads);
    fill_keys(&c, &t->k, size);
    fill_keys(&c, &t->v, 2.0);
    t->out = data_output(draw_type(), 1.0, v_dim, s->n_heads, s->n_q, s->n_batch);
    c.lse = data_output(POSENC_F32, 1.0, 1, s->n_heads, s->n_q, s->n_batch);
    t->lse = &c.lse;
    if (s->params.tree == NULL && draw_rarely(4)) {
        data_draw_blocks(s);
    } else if (may_have_lists(&s->params) && draw_rarely(3)) {
        draw_lists(&c);
    }
    c.scratch = data_scratch(posenc_attention_workspace_bytes(dim, v_dim));
    int64_t n_units = posenc_attention_unit_count(&t->q, &t->k);
    data_ok(attend, &c, n_units);
    if (draw_rarely(3)) {
        c.parts = data_scratch(posenc_attention_split_bytes(t));
        c.cut = draw(posenc_attention_split_count(t) + 1);
        data_ok(attend_parts, &c, n_units);
    }
    if (!data_is_adversarial())
        compare(&c);
    posenc_rope_free(c.rope);
}
