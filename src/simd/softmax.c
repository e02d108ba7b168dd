/* SPDX-License-Identifier: MIT */
/* SIMD body of the softmax of attention logits; src/scalar/softmax.c is the specification.
 * Needs: vec.h. Produces: softmax_row.
 *
 * A float32 result goes through three passes (softmax_passes.h). Float32 scores are read by the first pass; scores of
 * 16 bits are widened into the result before it. A result of 16 bits cannot hold logits between passes: its row goes
 * through float32 on the stack, chunk by chunk (softmax_16bit.h). */
#include "vec.h"

#include "simd/softmax_16bit.h"
#include "simd/softmax_passes.h"
#include "kernels/variant.h"

V_INLINE void softmax(const row *a) {
    float max = store_logits(a), base = base_of(max);
    vd lanes[2 * STEP];
    clear_lanes(lanes);
    make_exponentials(a, base, lanes);
    double sum = sum_of(a, base, lanes);
    if (sum != 0.0)
        finish(a, sum);
    finish_row(a, max, sum);
}

/* Arguments are not copied: they have just been written one by one, and wide loads would wait for these stores. */
void VARIANT(softmax_row)(const row *a) {
    int is_whole = a->y_type == POSENC_F32;
    if (is_whole && a->x != NULL && a->x_type != POSENC_F32) {
        row wide = widened(a);
        VARIANT(softmax_row)(&wide);
    } else if (a->form == POSENC_LOGITS) {
        is_whole ? (void)store_logits(a) : logits_by_chunks(a);
        a->blocks != NULL ? fill_unlisted(a, -INFINITY, 0) : fill_masked(a, -INFINITY);
    } else {
        is_whole ? softmax(a) : softmax_by_chunks(a);
    }
}
