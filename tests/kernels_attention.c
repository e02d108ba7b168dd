/* Sweeps of the kernels behind fused attention: packing rows into panels, weighting rows. */
#include "kernel_call.h"

/* Rows of any storage type; the stride is in elements of the buffer. */
static void describe_rows(kernel_call *call, posenc_dtype type, size_t n_rows, ptrdiff_t stride, size_t dim) {
    size_t width = element_count(dim, type);
    operand *rows = call_operand(call, "rows", OPERAND_IN, element_of(type), rows_extent(n_rows, stride, width));
    operand_rows(rows, n_rows, stride, 0, width, 1);
}

/* One type after the other; Q8_0 for whole blocks. */
static posenc_dtype type_of(size_t which, size_t dim) {
    return dim % POSENC_Q8_BLOCK == 0 && dim > 0 ? (posenc_dtype)(which % 4) : (posenc_dtype)(which % 3);
}

/* ---- pack_rows ---- */

typedef struct pack_shape {
    posenc_dtype type;
    size_t dim, n_rows;
    ptrdiff_t stride; /* in elements */
} pack_shape;

static size_t panels_size(const pack_shape *s) {
    return (s->n_rows + POSENC_PANEL - 1) / POSENC_PANEL * POSENC_PANEL * s->dim;
}

static void run_pack(const posenc_kernels *kernels, const kernel_call *call) {
    const pack_shape *s = call->shape;
    posenc_pack_rows_args args = {
        .rows = call_data(call, 0, rows_origin(s->n_rows, s->stride)),
        .rows_type = s->type,
        .row_stride = element_bytes(s->stride, s->type),
        .panels = call_data(call, 1, 0),
        .dim = s->dim,
        .n_rows = s->n_rows,
    };
    args.ahead[s->dim % 2] = (posenc_rows_ahead){args.rows, args.row_stride, 2 * s->dim, s->n_rows / 2};
    kernels->pack_rows(&args);
}

static void check_pack(kernel_call *call, const posenc_kernels *variant, const pack_shape *s, test_fill fill) {
    if (!test_case("pack_rows %s dim=%zu n_rows=%zu stride=%td %s", element_name(s->type), s->dim, s->n_rows, s->stride,
                   test_fill_name(fill)))
        return;
    call_begin(call, run_pack, s);
    describe_rows(call, s->type, s->n_rows, s->stride, s->dim);
    operand_row(call_operand(call, "panels", OPERAND_OUT, ELEMENT_F32, panels_size(s)), 0, panels_size(s), 1);
    call_fill(call, fill);
    call_check(call, variant, FEW_PLACES);
}

void sweep_pack_rows(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 0, 48, 65, 7};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes && test_sizes[i] <= 600; i++)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++, which++) {
            pack_shape s = {.type = type_of(which, test_sizes[i]), .dim = test_sizes[i], .n_rows = counts[k]};
            ptrdiff_t width = (ptrdiff_t)element_count(s.dim, s.type);
            s.stride = which / 3 % 3 == 0 ? width : which / 3 % 3 == 1 ? width + 3 : -width - 1;
            check_pack(&call, variant, &s, (test_fill)(which % FILL_COUNT));
        }
}

/* ---- attend_rows ---- */

enum { MAX_SUMS = 14 };

typedef struct attend_shape {
    posenc_dtype type;
    size_t dim, n, n_rows;
    ptrdiff_t stride;
    int32_t begin[MAX_SUMS], end[MAX_SUMS];
    enum { FROM_NOTHING, FROM_OTHERS, FROM_Y } from;
    int keeps;
} attend_shape;

enum { WEIGHTS, KEEP, ROWS, Y, FROM };

static void run_attend(const posenc_kernels *kernels, const kernel_call *call) {
    const attend_shape *s = call->shape;
    posenc_attend_rows_args args = {
        .weights = call_data(call, WEIGHTS, 0),
        .weight_stride = s->n_rows,
        .from = s->from == FROM_NOTHING ? NULL : call_data(call, s->from == FROM_Y ? Y : FROM, 0),
        .keep = s->keeps ? call_data(call, KEEP, 0) : NULL,
        .begin = s->begin,
        .end = s->end,
        .rows = call_data(call, ROWS, rows_origin(s->n_rows, s->stride)),
        .rows_type = s->type,
        .row_stride = element_bytes(s->stride, s->type),
        .y = call_data(call, Y, 0),
        .y_stride = s->dim + 2,
        .dim = s->dim,
        .n = s->n,
    };
    kernels->attend_rows(&args);
}

static void check_attend(kernel_call *call, const posenc_kernels *variant, const attend_shape *s, test_fill fill) {
    if (!test_case("attend_rows %s dim=%zu n=%zu n_rows=%zu stride=%td from %d%s %s", element_name(s->type), s->dim,
                   s->n, s->n_rows, s->stride, s->from, s->keeps ? " keeps" : "", test_fill_name(fill)))
        return;
    call_begin(call, run_attend, s);
    operand_row(call_operand(call, "weights", OPERAND_IN, ELEMENT_F32, s->n * s->n_rows), 0, s->n * s->n_rows, 1);
    operand_row(call_operand(call, "keep", OPERAND_IN, ELEMENT_F32, s->n), 0, s->n, 1);
    describe_rows(call, s->type, s->n_rows, s->stride, s->dim);
    ptrdiff_t y_stride = (ptrdiff_t)s->dim + 2;
    operand *y = call_operand(call, "y", OPERAND_IN_OUT, ELEMENT_F32, rows_extent(s->n, y_stride, s->dim));
    operand_rows(y, s->n, y_stride, 0, s->dim, 1);
    operand *from = call_operand(call, "from", OPERAND_IN, ELEMENT_F32, rows_extent(s->n, y_stride, s->dim));
    operand_rows(from, s->n, y_stride, 0, s->dim, 1);
    call_fill(call, fill);
    call_check(call, variant, FEW_PLACES);
}

/* Sums that see the same rows, rows that begin or end one apart as causal ones do, and any. */
static void set_ranges(attend_shape *s, size_t which) {
    for (size_t i = 0; i < s->n; i++) {
        size_t n = s->n_rows;
        s->begin[i] = which % 3 == 2 ? (int32_t)(test_random() % (n + 1)) : 0;
        s->end[i] = (int32_t)n;
        if (which % 3 == 1)
            s->end[i] = n > s->n - i ? (int32_t)(n - (s->n - i)) : 0;
        if (which % 3 == 2)
            s->end[i] = s->begin[i] + (int32_t)(test_random() % (n - (size_t)s->begin[i] + 1));
    }
}

void sweep_attend_rows(const posenc_kernels *variant) {
    static kernel_call call;
    static const size_t sums[] = {1, 6, 7, 2, 13, 0, 5, 12}, rows[] = {1, 2, 9, 33, 0, 64};
    size_t which = 0;
    for (size_t i = 0; i < test_n_sizes && test_sizes[i] <= 600; i++)
        for (size_t k = 0; k < 8; k++, which++) {
            attend_shape s = {.type = type_of(which, test_sizes[i]), .dim = test_sizes[i], .n = sums[(which / 3) % 8]};
            ptrdiff_t width = (ptrdiff_t)element_count(s.dim, s.type);
            s.n_rows = rows[(which / 2) % 6];
            s.stride = which / 5 % 2 ? width + 3 : -width - 1;
            s.from = which % 5 == 0 ? FROM_Y : which % 5 < 3 ? FROM_OTHERS : FROM_NOTHING;
            s.keeps = which % 7 > 2;
            set_ranges(&s, which / 4);
            check_attend(&call, variant, &s, (test_fill)(which % FILL_COUNT));
        }
}
