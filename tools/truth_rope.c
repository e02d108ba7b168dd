/* RoPE against the reference: any parameters, types, direction and call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"
#include "reference_rope.h"
#include "truth.h"

/* What the fused call is given beside the rotation. */
static const float scale = 0.08838835f, eps = 1e-6f;

/* Everything one comparison needs. */
typedef struct comparison {
    const truth_rope_case *at;
    const int32_t *positions;
    int64_t n_tokens, n_values;
    reference_rope *reference;
    posenc_rope *rope;
    void *x, *y, *table_memory;
    float *weight;
    int64_t *rows; /* where each token goes */
    double *head;  /* one head, as it enters the rotation */
} comparison;

static int64_t element_size(posenc_dtype type) {
    return type == POSENC_F32 ? 4 : 2;
}

/* Half a unit in the last place of the storage type next to x: 11 digits down to 2^-14 in f16, 8 in bf16. float32
 * counts its own in the limit. */
static double store_rounding(double x, posenc_dtype type) {
    int exponent;
    frexp(x, &exponent);
    if (type == POSENC_F16)
        return ldexp(1.0, (exponent < -13 ? -13 : exponent) - 12);
    return type == POSENC_BF16 ? ldexp(1.0, (exponent < -125 ? -125 : exponent) - 9) : 0.0;
}

/* ---- Set-up ---- */

static posenc_status prepare(comparison *c, random_state *random) {
    const posenc_rope_params *p = &c->at->params;
    c->n_values = p->head_dim * c->at->n_heads * c->n_tokens;
    c->reference = reference_rope_create(p);
    posenc_status status = posenc_rope_create(p, &c->rope);
    if (status != POSENC_OK)
        return status;
    c->x = malloc((size_t)(c->n_values * element_size(c->at->x_type)));
    c->y = malloc((size_t)(c->n_values * element_size(c->at->y_type)));
    c->table_memory = malloc((size_t)posenc_rope_table_bytes(c->rope, c->n_tokens) + 1);
    c->weight = malloc((size_t)p->head_dim * sizeof *c->weight);
    c->rows = malloc((size_t)c->n_tokens * sizeof *c->rows);
    c->head = malloc((size_t)p->head_dim * sizeof *c->head);
    if (c->reference == NULL || c->x == NULL || c->y == NULL || c->table_memory == NULL || c->weight == NULL ||
        c->rows == NULL || c->head == NULL)
        return POSENC_ERR_MEMORY;
    for (int64_t i = 0; i < c->n_values; i++)
        posenc_store(c->x, (size_t)i, (float)random_between(random, -4.0, 4.0), c->at->x_type);
    for (int64_t i = 0; i < p->head_dim; i++)
        c->weight[i] = (float)random_between(random, 0.5, 1.5);
    for (int64_t t = 0; t < c->n_tokens; t++)
        c->rows[t] = c->at->call == TRUTH_FUSED ? c->n_tokens - 1 - t : t;
    return POSENC_OK;
}

static void release(comparison *c) {
    reference_rope_free(c->reference);
    posenc_rope_free(c->rope);
    free(c->x);
    free(c->y);
    free(c->table_memory);
    free(c->weight);
    free(c->rows);
    free(c->head);
}

static posenc_status call(const comparison *c) {
    const truth_rope_case *at = c->at;
    posenc_view x = posenc_view_dense(c->x, at->x_type, at->params.head_dim, at->n_heads, c->n_tokens, 1);
    posenc_view y = posenc_view_dense(c->y, at->y_type, at->params.head_dim, at->n_heads, c->n_tokens, 1);
    posenc_rope_task task = {.x = x, .y = y, .rotates = 1, .scale = scale, .weight = c->weight, .eps = eps};
    task.rows64 = c->rows;
    posenc_rope_table table = posenc_rope_table_dense(c->rope, c->table_memory);
    posenc_status status;
    switch (at->call) {
    case TRUTH_FUSED:
        return posenc_rope_apply_tasks(c->rope, &task, 1, c->positions, NULL, at->direction, posenc_all_rows());
    case TRUTH_TABLE:
        status = posenc_rope_fill_table(c->rope, c->positions, c->n_tokens, at->direction, &table);
        if (status != POSENC_OK)
            return status;
        return posenc_rope_apply_table(c->rope, &x, &table, &y, at->direction, posenc_all_rows());
    default: return posenc_rope_apply(c->rope, &x, c->positions, &y, at->direction, posenc_all_rows());
    }
}

/* ---- Comparison ---- */

static void note(truth *t, const comparison *c, double actual, double expected, double unit) {
    double beyond = fabs(actual - expected) - store_rounding(expected, c->at->y_type);
    truth_note(t, beyond <= 0.0 ? 0.0 : beyond / fmax(unit * 0x1p-24, 0x1p-149));
}

/* Reads a head, and normalises it where the call does. */
static void read_head(const comparison *c, int64_t first) {
    int64_t n = c->at->params.head_dim;
    double squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        c->head[i] = (double)posenc_load(c->x, (size_t)(first + i), c->at->x_type);
        squares += c->head[i] * c->head[i];
    }
    for (int64_t i = 0; i < n && c->at->call == TRUTH_FUSED; i++)
        c->head[i] *= (double)c->weight[i] / sqrt(squares / (double)n + (double)eps) * (double)scale;
}

/* Cosine and sine as the direction has them, and what it multiplies them by. */
static double turn_of(const comparison *c, int64_t i, const int32_t *positions, double *cosine, double *sine) {
    posenc_direction direction = c->at->direction;
    reference_rope_cos_sin(c->reference, i, positions, cosine, sine);
    if (direction == POSENC_INVERSE || direction == POSENC_BACKWARD)
        *sine = -*sine;
    double m = reference_rope_magnitude(c->reference), growth = reference_rope_growth(c->reference, i, positions);
    if (direction == POSENC_SHIFT)
        return growth;
    return direction == POSENC_INVERSE ? growth / m : growth * m;
}

static void compare_head(truth *t, const comparison *c, const int32_t *positions, int64_t first) {
    const posenc_rope_params *p = &c->at->params;
    int64_t n_pairs = p->n_rot / 2;
    int reads_pairs = p->layout != POSENC_ROPE_HALF, writes_pairs = p->layout == POSENC_ROPE_INTERLEAVED;
#define Y(channel) ((double)posenc_load(c->y, (size_t)(first + (channel)), c->at->y_type))
    for (int64_t i = 0; i < n_pairs; i++) {
        int64_t x0 = p->n_offs + (reads_pairs ? 2 * i : i), x1 = x0 + (reads_pairs ? 1 : n_pairs);
        int64_t y0 = p->n_offs + (writes_pairs ? 2 * i : i), y1 = y0 + (writes_pairs ? 1 : n_pairs);
        double cosine, sine, m = turn_of(c, i, positions, &cosine, &sine), a = c->head[x0], b = c->head[x1];
        double unit = (fabs(a) + fabs(b)) * m;
        note(t, c, Y(y0), (a * cosine - b * sine) * m, unit);
        note(t, c, Y(y1), (b * cosine + a * sine) * m, unit);
    }
    for (int64_t i = 0; i < p->head_dim; i++)
        if (i < p->n_offs || i >= p->n_offs + p->n_rot)
            note(t, c, Y(i), c->head[i],
                 c->at->call == TRUTH_FUSED || c->at->x_type != c->at->y_type ? fabs(c->head[i]) : 0.0);
#undef Y
}

static void compare_all(truth *t, const comparison *c) {
    int64_t n_heads = c->at->n_heads, head_dim = c->at->params.head_dim;
    int n_axes = posenc_rope_n_axes(c->rope);
    for (int64_t token = 0; token < c->n_tokens; token++) {
        int32_t positions[POSENC_MAX_AXES];
        for (int axis = 0; axis < n_axes; axis++)
            positions[axis] = c->positions[axis * c->n_tokens + token];
        for (int64_t h = 0; h < n_heads; h++) {
            read_head(c, (token * n_heads + h) * head_dim);
            compare_head(t, c, positions, (c->rows[token] * n_heads + h) * head_dim);
        }
    }
}

truth truth_rope(const truth_rope_case *at, const int32_t *positions, int64_t n_tokens, random_state *random) {
    truth t = truth_none();
    comparison c = {.at = at, .positions = positions, .n_tokens = n_tokens};
    t.status = prepare(&c, random);
    if (t.status == POSENC_OK)
        t.status = call(&c);
    if (t.status == POSENC_OK)
        compare_all(&t, &c);
    release(&c);
    return t.status == POSENC_OK ? t : truth_failed(t.status);
}
