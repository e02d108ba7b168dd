/* Cases of the kernels that multiply with tables of rows. */
#include "variants_case.h"

/* Up to seven rows of x, which may share their channels, with a table of n rows. */
void dot_rows_case(variant_check *check, const variant_case *at) {
    size_t n_x = 1 + at->choices % 7, dim = 1 + (at->choices >> 3) % 32;
    if (n_x * at->n > ROOM / 2)
        n_x = 1;
    posenc_dtype type = (posenc_dtype)((at->choices >> 8) % 3);
    size_t n_panels = (at->n + POSENC_PANEL - 1) / POSENC_PANEL, n_outputs = 2 * MARGIN + at->offset + n_x * at->n;
    static float panels[(LARGEST + POSENC_PANEL) * 32];
    fill_typed(room.x, at->offset + n_x + dim, type, check->random, at->is_hostile);
    fill_floats(room.weight, dim, check->random, at->is_hostile);
    fill_floats(panels, n_panels * POSENC_PANEL * dim, check->random, at->is_hostile);
    fill_outputs(n_outputs, POSENC_F32, check->random);
    posenc_dot_rows_args args = {
        .x = (const char *)room.x + at->offset * (type == POSENC_F32 ? 4 : 2),
        .x_type = type,
        .x_stride = type == POSENC_F32 ? 4 : 2,
        .shift = at->choices >> 12 & 1 ? room.weight : NULL,
        .panels = panels,
        .y = room.expected + MARGIN + at->offset,
        .y_stride = (ptrdiff_t)(at->n * sizeof(float)),
        .dim = dim,
        .n_x = n_x,
        .n_rows = at->n,
    };
    check->scalar->dot_rows(&args);
    args.y = room.actual + MARGIN + at->offset;
    check->tier->dot_rows(&args);
    compare_outputs(check, n_outputs, POSENC_F32, at);
}
