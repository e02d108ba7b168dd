/* SPDX-License-Identifier: MIT */
/* Absolute encodings: sinusoids, tables and bits, side by side or added up, taken to their place with x and gate; and
 * the gradient of a table. */
#include "data.h"

#include <math.h>

typedef enum node_kind { NODE_SINUSOIDAL, NODE_LEARNED, NODE_BITS, NODE_CONCAT, NODE_SUM } node_kind;

typedef struct node {
    node_kind kind;
    posenc_encoding *e;
    int64_t dim;
    posenc_sinusoidal_params sinusoidal;
    posenc_view table;
    posenc_lookup lookup;
    posenc_bit_code code;
    posenc_part parts[2];
    const struct node *of[2];
} node;

enum { MOST_POSITION = 200, MOST_TOKENS = 20, MOST_BATCH = 3, MOST_NODES = 7 };

typedef struct encoding_call {
    node nodes[MOST_NODES];
    int n_nodes;
    const node *root;
    posenc_coords at;
    int64_t n_tokens, n_batch;
    int has_x, has_gate;
    posenc_view x, gate, y, dy, dtable;
} encoding_call;

/* ---- Drawn calls ---- */

static posenc_status draw_sinusoidal(node *n) {
    n->sinusoidal = (posenc_sinusoidal_params)POSENC_SINUSOIDAL_DEFAULTS;
    n->sinusoidal.layout = (posenc_sinusoidal_layout)draw_between(1, 4);
    n->sinusoidal.schedule = POSENC_SCHEDULE_HALF;
    n->sinusoidal.odd = (posenc_odd)draw(2);
    n->sinusoidal.dim = n->dim;
    n->sinusoidal.scale = draw_rarely(3) ? 3.0 : 1.0;
    return posenc_sinusoidal_create(&n->sinusoidal, &n->e);
}

static posenc_status draw_learned(node *n) {
    n->lookup = (posenc_lookup){draw(5), draw_rarely(2) ? 0.5f : 1.0f, (posenc_out_of_range)draw(3)};
    int64_t n_rows = n->lookup.policy == POSENC_OUT_OF_RANGE_ERROR ? MOST_POSITION + 5 : 1 + draw(MOST_POSITION);
    n->table = data_input(draw_type(), 2.0, n->dim, n_rows, 1, 1);
    return posenc_learned_create(&n->table, &n->lookup, &n->e);
}

static const node *draw_node(encoding_call *c, int64_t dim, int depth);

static posenc_status draw_parts(encoding_call *c, node *n, int depth) {
    int64_t split = n->kind == NODE_SUM ? n->dim : 1 + draw(n->dim - 1);
    for (int i = 0; i < 2; i++) {
        int64_t width = n->kind == NODE_SUM ? n->dim : i == 0 ? split : n->dim - split;
        n->of[i] = draw_node(c, width + draw(5), depth + 1);
        int64_t first = draw(posenc_encoding_dim(n->of[i]->e) - width + 1);
        n->parts[i] = (posenc_part){.encoding = n->of[i]->e, .first = first, .width = width};
        if (draw_rarely(3))
            n->parts[i].divide = 1 + draw(20);
        else if (draw_rarely(3))
            n->parts[i].modulo = 1 + draw(20);
    }
    return n->kind == NODE_SUM ? posenc_encoding_sum(n->parts, 2, &n->e) : posenc_encoding_concat(n->parts, 2, &n->e);
}

static const node *draw_node(encoding_call *c, int64_t dim, int depth) {
    node *n = &c->nodes[c->n_nodes++];
    n->kind = (node_kind)draw(depth < 2 && dim > 1 ? 5 : 3);
    n->dim = dim;
    n->sinusoidal.layout = POSENC_SINUSOIDAL_LAYOUT_UNSET;
    posenc_status status = POSENC_OK;
    switch (n->kind) {
    case NODE_SINUSOIDAL: status = draw_sinusoidal(n); break;
    case NODE_LEARNED: status = draw_learned(n); break;
    case NODE_BITS:
        n->code = (posenc_bit_code)draw(2);
        status = posenc_bits_create(dim, n->code, -1.0f, 1.0f, &n->e);
        break;
    default: status = draw_parts(c, n, depth);
    }
    if (n->e == NULL || status != POSENC_OK) { /* complex and odd */
        n->kind = NODE_BITS;
        if (posenc_bits_create(dim, n->code, -1.0f, 1.0f, &n->e) != POSENC_OK)
            data_fail("no encoding");
    }
    return n;
}

static void draw_coords(encoding_call *c) {
    int64_t axis = c->n_tokens + draw(3), batch = draw_rarely(2) ? 0 : axis + draw(3);
    int64_t n = c->n_tokens > 0 ? (c->n_batch - 1) * batch + c->n_tokens : 0;
    int is_wide = (int)draw(2);
    int32_t *narrow = data_int32s(n, 0, MOST_POSITION);
    int64_t *wide = data_block(n, sizeof *wide);
    for (int64_t i = 0; i < n; i++)
        wide[i] = narrow[i];
    c->at =
        (posenc_coords){is_wide ? (void *)wide : narrow, is_wide ? POSENC_COORD_I64 : POSENC_COORD_I32, axis, batch};
}

static int64_t coord(const encoding_call *c, int64_t t, int64_t b) {
    int64_t i = b * c->at.batch_stride + t;
    return c->at.type == POSENC_COORD_I64 ? ((const int64_t *)c->at.data)[i] : ((const int32_t *)c->at.data)[i];
}

/* ---- Plain double ---- */

static double sinusoid(const posenc_sinusoidal_params *s, int64_t p, int64_t c) {
    int is_interleaved = s->layout == POSENC_SINUSOIDAL_INTERLEAVED || s->layout == POSENC_SINUSOIDAL_COMPLEX;
    int cos_first = s->layout == POSENC_SINUSOIDAL_COMPLEX || s->layout == POSENC_SINUSOIDAL_CONCAT_COS;
    int64_t half = s->dim / 2, i = is_interleaved ? c / 2 : c % (half > 0 ? half : 1);
    if (c == 2 * half && (!is_interleaved || s->odd == POSENC_ODD_ZERO))
        return 0.0;
    double exponent = is_interleaved ? 2.0 * (double)i / (double)s->dim : (double)i / (double)half;
    double angle = (double)p * s->scale * pow(s->base, -exponent);
    return (is_interleaved ? c % 2 : c >= half) == cos_first ? sin(angle) : cos(angle);
}

static double looked_up(const node *n, int64_t p, int64_t c) {
    int64_t row = p + n->lookup.offset, last = n->table.ne[1] - 1;
    if (row > last && n->lookup.policy == POSENC_OUT_OF_RANGE_ZERO)
        return 0.0;
    return (double)n->lookup.scale * data_get(&n->table, c, row > last ? last : row, 0, 0);
}

static double value(const node *n, int64_t p, int64_t c) {
    if (n->kind == NODE_SINUSOIDAL)
        return sinusoid(&n->sinusoidal, p, c);
    if (n->kind == NODE_LEARNED)
        return looked_up(n, p, c);
    if (n->kind == NODE_BITS)
        return c < 63 && (n->code == POSENC_BITS_GRAY ? p ^ p >> 1 : p) >> c & 1 ? 1.0 : -1.0;
    double sum = 0.0;
    for (int i = 0; i < 2; i++) {
        const posenc_part *part = &n->parts[i];
        int64_t at = part->divide > 1 ? p / part->divide : p;
        at = part->modulo > 0 ? at % part->modulo : at;
        if (n->kind == NODE_SUM)
            sum += value(n->of[i], at, part->first + c);
        else if (c < part->width)
            return value(n->of[i], at, part->first + c);
        else
            c -= part->width;
    }
    return sum;
}

static void compare(const encoding_call *c) {
    const posenc_view *y = &c->y;
    for (int64_t b = 0; b < c->n_batch; b++)
        for (int64_t t = 0; t < c->n_tokens; t++)
            for (int64_t i = 0; i < y->ne[0]; i++) {
                double e = value(c->root, coord(c, t, b), i), x = c->has_x ? data_was(&c->x, i, t, b, 0) : 0.0;
                double gate = c->has_gate ? data_get(&c->gate, c->gate.ne[0] == 1 ? 0 : i, t, b, 0) : 1.0;
                double bound = 1e-6 * (fabs(x) + fabs(gate) * (1.0 + fabs(e)));
                data_close(y, data_get(y, i, t, b, 0), x + gate * e, bound, "encoding", i, t, b, 0);
            }
}

/* ---- Calls ---- */

static posenc_status apply(const void *arguments, posenc_range rows) {
    const encoding_call *c = arguments;
    return posenc_encoding_apply(c->root->e, &c->at, c->has_x ? &c->x : NULL, c->has_gate ? &c->gate : NULL, &c->y,
                                 rows);
}

static posenc_status gradient(const void *arguments, posenc_range rows) {
    const encoding_call *c = arguments;
    return posenc_learned_backward(&c->root->lookup, &c->at, &c->dy, &c->dtable, rows);
}

static void check_gradient(encoding_call *c) {
    const node *n = c->root;
    c->dy = data_input(draw_type(), 2.0, n->dim, c->n_tokens, c->n_batch, 1);
    data_next();
    c->dtable = data_output(POSENC_F32, 2.0, n->dim, n->table.ne[1], 1, 1);
    data_ok(gradient, c, n->table.ne[1]);
    for (int64_t r = 0; r < c->dtable.ne[1] && !data_is_adversarial(); r++)
        for (int64_t i = 0; i < n->dim; i++) {
            double want = data_was(&c->dtable, i, r, 0, 0), size = fabs(want);
            for (int64_t k = 0; k < c->n_tokens * c->n_batch; k++) {
                int64_t t = k % c->n_tokens, b = k / c->n_tokens, row = coord(c, t, b) + n->lookup.offset;
                row =
                    row >= c->dtable.ne[1] && n->lookup.policy == POSENC_OUT_OF_RANGE_CLAMP ? c->dtable.ne[1] - 1 : row;
                double term = row == r ? (double)n->lookup.scale * data_get(&c->dy, i, t, b, 0) : 0.0;
                want += term;
                size += fabs(term);
            }
            data_close(&c->dtable, data_get(&c->dtable, i, r, 0, 0), want, 4e-6 * size, "gradient", i, r, 0, 0);
        }
}

void data_encoding(void) {
    encoding_call c = {0};
    c.root = draw_node(&c, draw_size(100), 0);
    c.n_tokens = draw(MOST_TOKENS);
    c.n_batch = draw_between(1, MOST_BATCH);
    draw_coords(&c);
    int64_t dim = posenc_encoding_dim(c.root->e);
    c.has_gate = draw_rarely(2);
    c.gate = data_input(POSENC_F32, 2.0, draw_rarely(2) ? dim : 1, c.n_tokens, c.n_batch, 1);
    c.has_x = draw_rarely(2);
    c.y = data_output(draw_type(), 2.0, dim, c.n_tokens, c.n_batch, 1);
    c.x = draw_rarely(2) ? c.y : data_input(c.y.dtype, 2.0, dim, c.n_tokens, c.n_batch, 1);
    data_ok(apply, &c, c.n_tokens * c.n_batch);
    if (!data_is_adversarial())
        compare(&c);
    if (c.root->kind == NODE_LEARNED)
        check_gradient(&c);
    for (int i = 0; i < c.n_nodes; i++)
        posenc_encoding_free(c.nodes[i].e);
}
