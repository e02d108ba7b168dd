/* SPDX-License-Identifier: MIT */
/* Refusals of calls on relative terms, FIRE, CoPE and whole attention. */
#include "truth_errors.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REL_K = 5, REL_Q = 3, REL_HEADS = 2, REL_BATCH = 2, REL_ROWS = 7, MAX_SLOTS = 6, SLOT = 512 };

static const int64_t limit = (int64_t)1 << 30;

static posenc_relative_table *table;
static posenc_fire *fire;
static int32_t index_data[64];
static posenc_rel_index wide;
static posenc_mask none;
static float weights[64];

/* ---- Views: the same bad ones in every place of every call ---- */

typedef posenc_status view_call(const posenc_view *const *v, posenc_range rows);

static posenc_status products(const posenc_view *const *v, posenc_range rows) {
    return posenc_relative_products(table, v[0], NULL, v[1], rows);
}
static posenc_status values(const posenc_view *const *v, posenc_range rows) {
    return posenc_relative_values(&wide, none, 0, v[0], v[1], v[2], rows);
}
static posenc_status shift(const posenc_view *const *v, posenc_range rows) {
    (void)rows;
    return posenc_relative_shift(v[0], v[1]);
}
static posenc_status skew(const posenc_view *const *v, posenc_range rows) {
    (void)rows;
    return posenc_relative_skew(v[0], v[1]);
}
static posenc_status sums_by_query(const posenc_view *const *v, posenc_range rows) {
    return posenc_relative_sums_by_query(&wide, none, 0, v[0], v[1], rows);
}
static posenc_status sums_by_key(const posenc_view *const *v, posenc_range rows) {
    return posenc_relative_sums_by_key(&wide, none, 0, v[0], v[1], rows);
}
static posenc_status combine(const posenc_view *const *v, posenc_range rows) {
    return posenc_relative_combine(v[0], v[1], 1.0f, v[2], rows);
}
static posenc_status collect(const posenc_view *const *v, posenc_range rows) {
    return posenc_relative_collect(v[0], v[1], NULL, 1.0f, v[2], rows);
}
static posenc_status fire_write(const posenc_view *const *v, posenc_range rows) {
    return posenc_fire_write(fire, 0, v[0], rows);
}
static posenc_status fire_add(const posenc_view *const *v, posenc_range rows) {
    return posenc_fire_add(fire, 0, v[0], rows);
}
static posenc_status cope(const posenc_view *const *v, posenc_range rows) {
    posenc_cope_params params = POSENC_COPE_DEFAULTS;
    return posenc_cope_logits(&params, v[0], v[1], v[2], v[3], rows);
}
static posenc_status attention(const posenc_view *const *v, posenc_range rows) {
    (void)rows;
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return posenc_attention_reference(&params, v[0], v[1], v[2], v[3], v[4]);
}

static posenc_status fused(const posenc_view *const *v, posenc_range rows) {
    static float scratch[1 << 18];
    assert_true(sizeof scratch >= posenc_attention_workspace_bytes(8, 8));
    posenc_score_params params = posenc_score_params_of(1.0f, posenc_mask_none());
    return posenc_attention(&params, v[0], v[1], v[2], v[3], scratch, sizeof scratch, rows);
}

/* A task of these views; one that must be there and is not spoils the whole. */
static const posenc_attention_args *task_of(const posenc_view *const *v) {
    static posenc_score_params params;
    params = posenc_score_params_of(1.0f, posenc_mask_none());
    static posenc_attention_args task;
    for (int i = 0; i < 4; i++)
        if (v[i] == NULL)
            return NULL;
    task = (posenc_attention_args){.params = &params, .q = *v[0], .k = *v[1], .v = *v[2], .out = *v[3], .lse = v[4]};
    return &task;
}

static float attention_scratch[1 << 18], attention_parts[4096];

static posenc_status attention_run(const posenc_view *const *v, posenc_range rows) {
    assert_true(sizeof attention_scratch >= posenc_attention_workspace_bytes(8, 8));
    return posenc_attention_run(task_of(v), attention_scratch, sizeof attention_scratch, rows);
}
static posenc_status attention_run_parts(const posenc_view *const *v, posenc_range rows) {
    return posenc_attention_split(task_of(v), attention_scratch, sizeof attention_scratch, attention_parts,
                                  sizeof attention_parts, rows);
}
static posenc_status attention_join_parts(const posenc_view *const *v, posenc_range rows) {
    return posenc_attention_combine_splits(task_of(v), attention_parts, sizeof attention_parts, rows);
}

static posenc_status attention_merge(const posenc_view *const *v, posenc_range rows) {
    posenc_attention_state r[3], *at[3];
    for (int i = 0; i < 3; i++) {
        at[i] = v[2 * i] != NULL && v[2 * i + 1] != NULL ? &r[i] : NULL;
        if (at[i] != NULL)
            r[i] = (posenc_attention_state){*v[2 * i], *v[2 * i + 1]};
    }
    return posenc_attention_combine(at[0], at[1], at[2], rows);
}

/* A place of a call: an input (b: of blocks too) or output, whether it is float32 only, may be NULL; and for each
 * extent what is made of one too many: 's' the wrong shape, 'h' the wrong number of heads, '-' nothing. An extent of 1
 * is shared, and 3 instead. */
typedef struct slot {
    char role;
    int is_f32, is_optional;
    int64_t ne[4];
    const char *extents;
} slot;

#define ATTENTION_SLOTS                                                                                                \
    {                                                                                                                  \
        {'i', 0, 0, {8, 2, 3, 2}, "ssss"}, {'b', 0, 0, {8, 2, 5, 2}, "ssss"}, {'b', 0, 0, {6, 2, 5, 2}, "ssss"},       \
            {'o', 0, 0, {6, 2, 3, 2}, "ssss"}, {'o', 1, 1, {1, 2, 3, 2}, "ssss"},                                      \
    }

static const struct {
    const char *name;
    view_call *call;
    int has_rows;
    int64_t n_rows;
    slot slots[MAX_SLOTS];
} calls[] = {
    {"posenc_relative_products",
     products,
     1,
     12,
     {{'i', 0, 0, {8, 2, 3, 2}, "ssss"}, {'o', 1, 0, {7, 3, 2, 2}, "ssss"}}},
    {"posenc_relative_values",
     values,
     1,
     12,
     {{'i', 1, 0, {5, 3, 2, 2}, "-sss"}, {'i', 0, 0, {8, 1, 7, 1}, "ssss"}, {'o', 1, 0, {8, 2, 3, 2}, "ssss"}}},
    {"posenc_relative_shift", shift, 0, 0, {{'i', 1, 0, {5, 3, 2, 2}, "ssss"}, {'o', 1, 0, {5, 3, 2, 2}, "ssss"}}},
    {"posenc_relative_skew", skew, 0, 0, {{'i', 1, 0, {5, 3, 2, 2}, "ssss"}, {'o', 1, 0, {3, 3, 2, 2}, "ssss"}}},
    {"posenc_relative_sums_by_query",
     sums_by_query,
     1,
     12,
     {{'i', 1, 0, {5, 3, 2, 2}, "-sss"}, {'o', 1, 0, {7, 3, 2, 2}, "ssss"}}},
    {"posenc_relative_sums_by_key",
     sums_by_key,
     1,
     20,
     {{'i', 1, 0, {5, 3, 2, 2}, "s-ss"}, {'o', 1, 0, {7, 5, 2, 2}, "ssss"}}},
    {"posenc_relative_combine",
     combine,
     1,
     12,
     {{'i', 1, 0, {7, 3, 2, 2}, "ssss"}, {'i', 0, 0, {8, 1, 7, 1}, "ssss"}, {'o', 1, 0, {8, 2, 3, 2}, "ssss"}}},
    {"posenc_relative_collect",
     collect,
     1,
     7,
     {{'i', 1, 0, {7, 3, 2, 2}, "ssss"}, {'i', 0, 0, {8, 2, 3, 2}, "ssss"}, {'o', 1, 0, {8, 1, 7, 1}, "ssss"}}},
    {"posenc_fire_write", fire_write, 1, 12, {{'o', 1, 0, {5, 3, 2, 2}, "--h-"}}},
    {"posenc_fire_add", fire_add, 1, 12, {{'o', 1, 0, {5, 3, 2, 2}, "--h-"}}},
    {"posenc_cope_logits",
     cope,
     1,
     12,
     {{'i', 1, 0, {5, 3, 2, 2}, "ssss"},
      {'i', 1, 1, {5, 3, 2, 2}, "ssss"},
      {'i', 1, 0, {4, 3, 2, 2}, "-sss"},
      {'o', 1, 0, {5, 3, 2, 2}, "ssss"}}},
    {"posenc_attention_reference",
     attention,
     0,
     0,
     {{'i', 0, 0, {8, 2, 3, 2}, "ssss"},
      {'b', 0, 0, {8, 2, 5, 2}, "ssss"},
      {'b', 0, 0, {6, 2, 5, 2}, "ssss"},
      {'o', 0, 0, {6, 2, 3, 2}, "ssss"},
      {'o', 1, 1, {5, 3, 2, 2}, "ssss"}}},
    {"posenc_attention",
     fused,
     1,
     4, /* a unit for each KV head */
     {{'i', 0, 0, {8, 2, 3, 2}, "ssss"},
      {'b', 0, 0, {8, 2, 5, 2}, "ssss"},
      {'b', 0, 0, {6, 2, 5, 2}, "ssss"},
      {'o', 0, 0, {6, 2, 3, 2}, "ssss"}}},
    {"posenc_attention_run", attention_run, 1, 4, ATTENTION_SLOTS},
    {"posenc_attention_split", attention_run_parts, 1, 4, ATTENTION_SLOTS},
    {"posenc_attention_combine_splits", attention_join_parts, 1, 4, ATTENTION_SLOTS},
    {"posenc_attention_combine",
     attention_merge,
     1,
     12,
     {{'i', 0, 0, {6, 2, 3, 2}, "ssss"},
      {'i', 1, 0, {1, 2, 3, 2}, "ssss"},
      {'i', 0, 0, {6, 2, 3, 2}, "ssss"},
      {'i', 1, 0, {1, 2, 3, 2}, "ssss"},
      {'o', 0, 0, {6, 2, 3, 2}, "ssss"},
      {'o', 1, 0, {1, 2, 3, 2}, "ssss"}}},
};
enum { N_CALLS = sizeof calls / sizeof calls[0] };

/* Good views of a call, each in a place of its own, to be spoilt. */
static posenc_view views[MAX_SLOTS];
static const posenc_view *places[MAX_SLOTS];
static int n_slots;

static posenc_view view_of(const slot *s, int place, posenc_dtype type) {
    return posenc_view_dense(arena + 256 + place * SLOT, type, s->ne[0], s->ne[1], s->ne[2], s->ne[3]);
}

static void good(int k) {
    for (n_slots = 0; n_slots < MAX_SLOTS && calls[k].slots[n_slots].role != 0; n_slots++) {
        views[n_slots] = view_of(&calls[k].slots[n_slots], n_slots, POSENC_F32);
        places[n_slots] = &views[n_slots];
    }
}

static void refuse(int k, posenc_status want, posenc_range rows, const char *what, int place) {
    char text[160];
    snprintf(text, sizeof text, "%s, view %d: %s", calls[k].name, place, what);
    check(calls[k].call(places, rows), want, text);
    good(k);
}

static void refuse_view(int k, int place) {
    const slot *s = &calls[k].slots[place];
    posenc_range all = posenc_range_all();
    posenc_view *v = &views[place];
    if (!s->is_optional) {
        places[place] = NULL;
        refuse(k, POSENC_ERR_NULL, all, "NULL", place);
    }
    v->data = NULL;
    refuse(k, POSENC_ERR_NULL, all, "no data", place);
    v->dtype = (posenc_dtype)99;
    refuse(k, POSENC_ERR_DTYPE, all, "unknown type", place);
    v->dtype = POSENC_Q8_0;
    refuse(k, s->role == 'b' ? POSENC_ERR_SHAPE : POSENC_ERR_DTYPE, all, "blocks", place);
    if (s->is_f32) {
        *v = view_of(s, place, POSENC_F16);
        refuse(k, POSENC_ERR_DTYPE, all, "f16", place);
    }
    v->data = shifted(v->data, 2);
    refuse(k, POSENC_ERR_STRIDE, all, "misaligned", place);
    v->nb[0] = 8;
    if (v->ne[0] != 1) /* no stride is looked at there */
        refuse(k, POSENC_ERR_STRIDE, all, "nb[0]", place);
    v->nb[1] = 6;
    refuse(k, POSENC_ERR_STRIDE, all, "nb[1]", place);
    if (s->role == 'o' && s->ne[0] > 1) {
        v->nb[s->ne[1] > 1 ? 1 : 2] = 4;
        refuse(k, POSENC_ERR_STRIDE, all, "rows that overlap", place);
    }
    for (int dim = 0; dim < 4; dim++) {
        v->ne[dim] = -1;
        refuse(k, POSENC_ERR_SHAPE, all, "negative extent", place);
        v->ne[dim] = INT64_MAX;
        refuse(k, POSENC_ERR_SHAPE, all, "huge extent", place);
        slot larger = *s;
        larger.ne[dim] += s->ne[dim] == 1 ? 2 : 1;
        *v = view_of(&larger, place, POSENC_F32);
        if (s->extents[dim] != '-')
            refuse(k, s->extents[dim] == 'h' ? POSENC_ERR_N_HEADS : POSENC_ERR_SHAPE, all, "extent", place);
        good(k);
    }
}

/* Every output on every other view, an element apart. */
static void refuse_overlaps(int k) {
    for (int out_place = 0; out_place < n_slots; out_place++)
        for (int place = 0; place < n_slots && calls[k].slots[out_place].role == 'o'; place++)
            if (place != out_place) {
                views[place].data = (float *)views[out_place].data + 1;
                refuse(k, POSENC_ERR_OVERLAP, posenc_range_all(), "overlap", place);
            }
}

void test_relative_views(void **state) {
    (void)state;
    none = posenc_mask_none();
    wide = (posenc_rel_index){index_data, -32, 64, REL_ROWS};
    posenc_view rows = posenc_view_dense(in, POSENC_F32, 8, REL_HEADS, REL_ROWS, 1);
    truth_ok(posenc_relative_table_create(&rows, &table));
    posenc_fire_params params = POSENC_FIRE_DEFAULTS;
    params.n_heads = REL_HEADS;
    params.n_hidden = 4;
    params.w1 = params.b1 = params.w2 = params.b2 = weights;
    params.max_distance = 8;
    truth_ok(posenc_fire_create(&params, &fire));
    for (int k = 0; k < N_CALLS; k++) {
        name(calls[k].name);
        good(k);
        for (int place = 0; place < n_slots; place++)
            refuse_view(k, place);
        refuse_overlaps(k);
        const posenc_range bad[] = {{0, calls[k].n_rows + 1}, {2, 1},        {-1, 1}, {0, -2},
                                    {INT64_MAX, INT64_MAX},   {INT64_MIN, 0}};
        for (int i = 0; calls[k].has_rows && i < 6; i++)
            refuse(k, POSENC_ERR_ROWS, bad[i], "rows", 0);
    }
    posenc_relative_table_free(table);
    posenc_fire_free(fire);
}

/* ---- Numbers ---- */

void test_relative_rules(void **state) {
    (void)state;
    const posenc_rel_index_rule shaw = posenc_rel_index_rule_of(POSENC_REL_SHAW, 2, 0),
                                log_rule = posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, 8, 16);
    int32_t *data = (int32_t *)(void *)out;
    const posenc_rel_index good_index = {data, -4, 9, 0};
    static const struct {
        posenc_rel_index_rule rule;
        posenc_status want;
    } bad[] = {
        {{0, 0, 1, 0, 0, 0, 0}, POSENC_ERR_SHAPE},         {{-1, 0, 1, 0, 0, 0, 0}, POSENC_ERR_SHAPE},
        {{INT64_MAX, 0, 1, 0, 0, 0, 0}, POSENC_ERR_SHAPE}, {{5, 5, 1, 0, 0, 0, 0}, POSENC_ERR_SHAPE},
        {{5, -1, 1, 0, 0, 0, 0}, POSENC_ERR_SHAPE},        {{5, 2, 0, 0, 0, 0, 0}, POSENC_ERR_ENUM},
        {{5, 2, 2, 0, 0, 0, 0}, POSENC_ERR_ENUM},          {{5, 2, -2, 0, 0, 0, 0}, POSENC_ERR_ENUM},
        {{16, 8, -1, 0, 7, 16, 0}, POSENC_ERR_BUCKETS},    {{16, 8, -1, 0, 2, 16, 0}, POSENC_ERR_BUCKETS},
        {{16, 8, -1, 0, -8, 16, 0}, POSENC_ERR_BUCKETS},   {{16, 8, -1, 0, 8, 5, 0}, POSENC_ERR_BUCKETS},
        {{16, 8, -1, 0, 8, 65537, 0}, POSENC_ERR_BUCKETS}, {{16, 8, -1, 0, 65538, 65540, 0}, POSENC_ERR_BUCKETS},
        {{7, 3, -1, 1, 0, 0, 0}, POSENC_ERR_OFFSETS}, /* relative_key of 4 positions, and offsets -4 .. 4 */
        {{9, 3, 1, 1, 0, 0, 0}, POSENC_ERR_OFFSETS},  /* the first has no row, */
        {{9, 5, 1, 1, 0, 0, 0}, POSENC_ERR_OFFSETS},  /* and the last */
    };
    posenc_rel_index index = good_index;
    const posenc_rel_index_rule most_buckets = {16, 8, -1, 0, 65536, 65536, 0};
    posenc_rel_index no_index = {NULL, 0, 0, 0};
    RETURNS(POSENC_OK, posenc_rel_index_fill, &most_buckets, &no_index);
    RETURNS(POSENC_ERR_NULL, posenc_rel_index_fill, NULL, &index);
    RETURNS(POSENC_ERR_NULL, posenc_rel_index_fill, &shaw, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        RETURNS(bad[i].want, posenc_rel_index_fill, &bad[i].rule, &index);
    static const int64_t bad_sizes[] = {-1, ((int64_t)1 << 30) + 1, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        int64_t n = bad_sizes[i];
        const posenc_rel_index_rule made[] = {posenc_rel_index_rule_of(POSENC_REL_SHAW, n, 0),
                                              posenc_rel_index_rule_of(POSENC_REL_RELATIVE_KEY, n, 0),
                                              posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, n, 0),
                                              posenc_rel_index_rule_of(POSENC_REL_XLNET, n, 4),
                                              posenc_rel_index_rule_of(POSENC_REL_XLNET, 4, n),
                                              posenc_rel_index_rule_of(POSENC_REL_DEBERTA, n, 0),
                                              posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, n, 512)};
        for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
            RETURNS(POSENC_ERR_SHAPE, posenc_rel_index_fill, &made[k], &index);
    }
    const posenc_rel_scheme unknown = (posenc_rel_scheme)(POSENC_REL_DEBERTA_LOG_UNCLIPPED + 1);
    ANSWERS(.sign == 0, posenc_rel_index_rule_of, POSENC_REL_UNSET, 8, 8);
    ANSWERS(.sign == 0, posenc_rel_index_rule_of, unknown, 8, 8);
    posenc_rel_index_rule turned = shaw;
    turned.sign = INT_MIN;
    RETURNS(POSENC_ERR_ENUM, posenc_rel_index_fill, &turned, &index);
    index.data = NULL;
    RETURNS(POSENC_ERR_NULL, posenc_rel_index_fill, &shaw, &index);
    index.data = shifted(data, 2);
    RETURNS(POSENC_ERR_STRIDE, posenc_rel_index_fill, &log_rule, &index);
    index = good_index;
    index.n_offsets = -1;
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_index_fill, &shaw, &index);
    index.n_offsets = INT64_MAX;
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_index_fill, &shaw, &index);
    index = good_index;
    index.first = INT64_MIN;
    RETURNS(POSENC_ERR_OFFSETS, posenc_rel_index_fill, &shaw, &index);
}

void test_relative_tables(void **state) {
    (void)state;
    posenc_view rows = posenc_view_dense(in, POSENC_F32, 8, 2, 5, 1), bad = rows;
    RETURNS(POSENC_ERR_NULL, posenc_relative_table_create, &rows, NULL);
    CREATES_NOTHING(posenc_relative_table, POSENC_ERR_NULL, posenc_relative_table_create, NULL);
#define BAD_TABLE(status, setting)                                                                                     \
    bad = rows;                                                                                                        \
    bad.setting;                                                                                                       \
    CREATES_NOTHING(posenc_relative_table, status, posenc_relative_table_create, &bad)
    BAD_TABLE(POSENC_ERR_NULL, data = NULL);
    BAD_TABLE(POSENC_ERR_DTYPE, dtype = (posenc_dtype)-1);
    BAD_TABLE(POSENC_ERR_STRIDE, nb[0] = 8);
    BAD_TABLE(POSENC_ERR_HEAD_DIM, ne[0] = 0);
    BAD_TABLE(POSENC_ERR_HEAD_DIM, ne[0] = 65537; bad.nb[1] = bad.nb[2] = 0);
    BAD_TABLE(POSENC_ERR_SHAPE, ne[2] = 0);
    BAD_TABLE(POSENC_ERR_SHAPE, ne[2] = -1);
    BAD_TABLE(POSENC_ERR_SHAPE, ne[2] = ((int64_t)1 << 30) + 1);
    BAD_TABLE(POSENC_ERR_N_HEADS, ne[1] = 0);
    BAD_TABLE(POSENC_ERR_SHAPE, ne[3] = 2);
#undef BAD_TABLE
#if SIZE_MAX < UINT64_MAX
    bad = posenc_view_dense(in, POSENC_F32, 65536, 1, 16384, 1); /* elsewhere there may be memory for it */
    bad.nb[2] = 0;
    CREATES_NOTHING(posenc_relative_table, POSENC_ERR_MEMORY, posenc_relative_table_create, &bad);
#endif
    name("posenc_relative_table_free");
    posenc_relative_table_free(NULL);

    posenc_relative_table *made;
    truth_ok(posenc_relative_table_create(&rows, &made));
    posenc_view q = posenc_view_dense(in, POSENC_F32, 8, 2, 3, 1), y = posenc_view_dense(out, POSENC_F32, 5, 3, 2, 1);
    posenc_view q3 = posenc_view_dense(in, POSENC_F32, 8, 3, 3, 1), y3 = posenc_view_dense(out, POSENC_F32, 5, 3, 3, 1);
    posenc_range all = posenc_range_all();
    RETURNS(POSENC_ERR_NULL, posenc_relative_products, NULL, &q, NULL, &y, all);
    RETURNS(POSENC_ERR_N_HEADS, posenc_relative_products, made, &q3, NULL, &y3, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_relative_products, made, &q, shifted(weights, 1), &y, all);
    posenc_relative_table_free(made);
}

/* The calls that walk a relative index. */
void test_rel_index_use(void **state) {
    (void)state;
    posenc_view p = posenc_view_dense(in, POSENC_F32, REL_K, REL_Q, 1, 1),
                z = posenc_view_dense(out, POSENC_F32, 8, 1, REL_Q, 1);
    posenc_view values_of = posenc_view_dense(weights, POSENC_F32, 8, 1, REL_ROWS, 1);
    posenc_view by_query = posenc_view_dense(out, POSENC_F32, REL_ROWS, REL_Q, 1, 1);
    posenc_view by_key = posenc_view_dense(out, POSENC_F32, REL_ROWS, REL_K, 1, 1);
    posenc_range all = posenc_range_all();
    const posenc_mask bad_mask = {-1, -1, -1, 0}, open = posenc_mask_none();
    const posenc_range nothing = {0, 0};
    const posenc_mask ahead = {0, -1, 0, 0}, behind = {-1, 0, 0, 0};
    const posenc_rel_index exact = {index_data, 1 - REL_Q, REL_Q + REL_K - 1, REL_ROWS};
    posenc_rel_index index = exact;
#define WALKS(status, mask, query_start)                                                                               \
    do {                                                                                                               \
        RETURNS(status, posenc_relative_values, &index, mask, query_start, &p, &values_of, &z, all);                   \
        RETURNS(status, posenc_relative_sums_by_query, &index, mask, query_start, &p, &by_query, all);                 \
        RETURNS(status, posenc_relative_sums_by_key, &index, mask, query_start, &p, &by_key, all);                     \
        index = exact;                                                                                                 \
    } while (0)
    RETURNS(POSENC_ERR_NULL, posenc_relative_values, NULL, open, 0, &p, &values_of, &z, all);
    RETURNS(POSENC_ERR_NULL, posenc_relative_sums_by_query, NULL, open, 0, &p, &by_query, all);
    RETURNS(POSENC_ERR_NULL, posenc_relative_sums_by_key, NULL, open, 0, &p, &by_key, all);
    WALKS(POSENC_ERR_MASK, bad_mask, 0);
    WALKS(POSENC_ERR_POSITION, open, limit);
    WALKS(POSENC_ERR_POSITION, open, -limit - 1);
    WALKS(POSENC_ERR_POSITION, open, INT64_MIN + 1);
    WALKS(POSENC_ERR_OFFSETS, open, 1);
    WALKS(POSENC_ERR_OFFSETS, open, -1);
    index.n_offsets--;
    WALKS(POSENC_ERR_OFFSETS, open, 0);
    index.first++;
    WALKS(POSENC_ERR_OFFSETS, open, 0);
    index.data = NULL;
    WALKS(POSENC_ERR_NULL, open, 0);
    index.data = shifted(index_data, 2);
    WALKS(POSENC_ERR_STRIDE, open, 0);
    /* An entry that names no row: the first and the last that are met. Entries that only masked keys meet may hold
     * anything. */
    const int64_t met[] = {0, exact.n_offsets - 1};
    for (int i = 0; i < 2; i++)
        for (int is_below = 0; is_below < 2; is_below++) {
            index_data[met[i]] = is_below ? -1 : REL_ROWS;
            WALKS(POSENC_ERR_ROWS, open, 0);
            RETURNS(POSENC_OK, posenc_relative_sums_by_query, &exact, i == 0 ? ahead : behind, 0, &p, &by_query,
                    nothing);
            index_data[met[i]] = 0;
        }
    index.n_rows = REL_ROWS + 1;
    WALKS(POSENC_ERR_SHAPE, open, 0);
    for (int is_batch = 0; is_batch < 2; is_batch++) { /* two tables for three heads, or batches: only one is shared */
        posenc_view three_p = p, three_z = z, two_tables = values_of;
        int dim = is_batch ? 3 : 1;
        three_p.ne[is_batch ? 3 : 2] = three_z.ne[dim] = 3;
        three_z.nb[dim] = 4 * 8 * REL_Q;
        two_tables.ne[dim] = 2;
        RETURNS(POSENC_ERR_SHAPE, posenc_relative_values, &exact, open, 0, &three_p, &two_tables, &three_z, all);
    }

    static const float bad_factors[] = {INFINITY, -INFINITY, NAN};
    posenc_view x = posenc_view_dense(in, POSENC_F32, 8, 1, REL_Q, 1),
                da = posenc_view_dense(out, POSENC_F32, 8, 1, REL_ROWS, 1);
    posenc_view w = posenc_view_dense(rows_a, POSENC_F32, REL_ROWS, REL_Q, 1, 1);
    for (int i = 0; i < 3; i++) {
        RETURNS(POSENC_ERR_SCALE, posenc_relative_combine, &w, &values_of, bad_factors[i], &z, all);
        RETURNS(POSENC_ERR_SCALE, posenc_relative_collect, &w, &x, NULL, bad_factors[i], &da, all);
    }
    RETURNS(POSENC_ERR_STRIDE, posenc_relative_collect, &w, &x, shifted(weights, 3), 1.0f, &da, all);

    /* Without channels, no stride is looked at. */
    values_of = (posenc_view){NULL, POSENC_F32, {0, 1, REL_ROWS, 1}, {4, INT64_MAX, INT64_MIN, 1}};
    x = z = da = values_of;
    x.ne[2] = z.ne[2] = REL_Q;
    RETURNS(POSENC_OK, posenc_relative_combine, &w, &values_of, 1.0f, &z, all);
    RETURNS(POSENC_OK, posenc_relative_collect, &w, &x, NULL, 1.0f, &da, all);
}

void test_fire_params(void **state) {
    (void)state;
    static const float not_finite[4] = {0.0f, NAN, 0.0f, INFINITY};
    posenc_fire_params good_fire = POSENC_FIRE_DEFAULTS;
    good_fire.n_heads = 2;
    good_fire.n_hidden = 2;
    good_fire.w1 = good_fire.b1 = good_fire.w2 = good_fire.b2 = weights;
    good_fire.max_distance = 8;
    posenc_fire_params params;
    RETURNS(POSENC_ERR_NULL, posenc_fire_create, &good_fire, NULL);
    CREATES_NOTHING(posenc_fire, POSENC_ERR_NULL, posenc_fire_create, NULL);
#define BAD_FIRE(status, field, value)                                                                                 \
    params = good_fire;                                                                                                \
    params.field = value;                                                                                              \
    CREATES_NOTHING(posenc_fire, status, posenc_fire_create, &params)
    static const int64_t bad_counts[] = {0, -1, 65537, INT64_MAX, INT64_MIN};
    static const double bad_numbers[] = {NAN, INFINITY, -INFINITY, 0x1p31, -1e300};
    for (int i = 0; i < 5; i++) {
        BAD_FIRE(POSENC_ERR_N_HEADS, n_heads, bad_counts[i]);
        BAD_FIRE(POSENC_ERR_SHAPE, n_hidden, bad_counts[i]);
        BAD_FIRE(POSENC_ERR_SCALE, c, bad_numbers[i]);
        BAD_FIRE(POSENC_ERR_SCALE, threshold, bad_numbers[i]);
        BAD_FIRE(POSENC_ERR_SCALE, eps, bad_numbers[i]);
    }
    BAD_FIRE(POSENC_ERR_SHAPE, n_hidden, 1025);
    BAD_FIRE(POSENC_ERR_SHAPE, max_distance, -1);
    BAD_FIRE(POSENC_ERR_SHAPE, max_distance, ((int64_t)1 << 22) + 1);
    BAD_FIRE(POSENC_ERR_SCALE, c, 0.0);
    BAD_FIRE(POSENC_ERR_SCALE, c, 0x0.ffffffp-100);
    BAD_FIRE(POSENC_ERR_SCALE, c, -0x1.000002p20);
    BAD_FIRE(POSENC_ERR_SCALE, eps, 0.0);
    BAD_FIRE(POSENC_ERR_SCALE, threshold, -1.0);
#define BAD_WEIGHTS(field)                                                                                             \
    BAD_FIRE(POSENC_ERR_NULL, field, NULL);                                                                            \
    BAD_FIRE(POSENC_ERR_STRIDE, field, shifted(weights, 2));                                                           \
    BAD_FIRE(POSENC_ERR_SCALE, field, not_finite)
    BAD_WEIGHTS(w1);
    BAD_WEIGHTS(b1);
    BAD_WEIGHTS(w2);
    BAD_WEIGHTS(b2);
    name("posenc_fire_free");
    posenc_fire_free(NULL);

    posenc_fire *made;
    truth_ok(posenc_fire_create(&good_fire, &made));
    posenc_view y = posenc_view_dense(out, POSENC_F32, 9, 3, 2, 1),
                wider = posenc_view_dense(out, POSENC_F32, 10, 3, 2, 1);
    posenc_view taller = posenc_view_dense(out, POSENC_F32, 3, 10, 2, 1);
    posenc_range all = posenc_range_all();
#define FIRE_ROWS(status, ...)                                                                                         \
    RETURNS(status, posenc_fire_write, __VA_ARGS__);                                                                   \
    RETURNS(status, posenc_fire_add, __VA_ARGS__)
    FIRE_ROWS(POSENC_ERR_NULL, NULL, 0, &y, all);
    FIRE_ROWS(POSENC_ERR_POSITION, made, -1, &y, all);
    FIRE_ROWS(POSENC_ERR_POSITION, made, 7, &y, all);
    FIRE_ROWS(POSENC_ERR_POSITION, made, INT64_MAX, &y, all);
    FIRE_ROWS(POSENC_ERR_SHAPE, made, 0, &wider, all);
    FIRE_ROWS(POSENC_ERR_SHAPE, made, 0, &taller, all);
    posenc_fire_free(made);
}

void test_cope_params(void **state) {
    (void)state;
    posenc_view x = posenc_view_dense(in, POSENC_F32, REL_K, REL_Q, 1, 1),
                y = posenc_view_dense(out, POSENC_F32, REL_K, REL_Q, 1, 1);
    posenc_view z = posenc_view_dense(rows_a, POSENC_F32, 4, REL_Q, 1, 1), empty = z;
    posenc_range all = posenc_range_all();
    posenc_cope_params params = POSENC_COPE_DEFAULTS;
    RETURNS(POSENC_ERR_NULL, posenc_cope_logits, NULL, &x, NULL, &z, &y, all);
    empty.ne[0] = 0;
    RETURNS(POSENC_ERR_SHAPE, posenc_cope_logits, &params, &x, NULL, &empty, &y, all);
    empty.ne[0] = ((int64_t)1 << 24) + 1;
    empty.nb[1] = 0;
    RETURNS(POSENC_ERR_SHAPE, posenc_cope_logits, &params, &x, NULL, &empty, &y, all);
    empty.ne[0]--; /* as many positions as there may be; of no row, so that none is read */
    RETURNS(POSENC_OK, posenc_cope_logits, &params, &x, NULL, &empty, &y, (posenc_range){0, 0});
#define BAD_COPE(status, field, value)                                                                                 \
    params.field = value;                                                                                              \
    RETURNS(status, posenc_cope_logits, &params, &x, NULL, &z, &y, all);                                               \
    params = (posenc_cope_params)POSENC_COPE_DEFAULTS
    BAD_COPE(POSENC_ERR_SCALE, scale, NAN);
    BAD_COPE(POSENC_ERR_SCALE, scale, INFINITY);
    BAD_COPE(POSENC_ERR_ENUM, form, (posenc_cope_form)2);
    BAD_COPE(POSENC_ERR_ENUM, form, (posenc_cope_form)-1);
    BAD_COPE(POSENC_ERR_POSITION, query_start, -limit - 1);
    BAD_COPE(POSENC_ERR_POSITION, query_start, limit);
    BAD_COPE(POSENC_ERR_POSITION, query_start, INT64_MAX);
}
