/* The loops of the NEON kernels, each in a function of its own, for scripts/mca: one pair of types, one shape. Compiled, and
 * looked at as assembly; never linked. In each function the loop that touches the most memory is the one that is meant. */
#include "neon/rope.c"

#include "neon/angles.c"
#include "neon/convert.c"
#include "neon/norm.c"
#include "neon/softmax.c"

#define ROPE(layout, name, x_type, y_type)                                                                             \
    void loop_rope_##layout##_##name(const posenc_rope_args *args) {                                                   \
        const posenc_rope_args a = *args;                                                                              \
        for (size_t i = 0; i + GROUP * VF <= a.n; i += GROUP * VF)                                                     \
            layout##_group(&a, i, GROUP, VF, x_type, y_type);                                                          \
    }
#define ROPES(layout)                                                                                                  \
    ROPE(layout, f32, POSENC_F32, POSENC_F32)                                                                          \
    ROPE(layout, f16, POSENC_F16, POSENC_F16)                                                                          \
    ROPE(layout, bf16, POSENC_BF16, POSENC_BF16)                                                                       \
    ROPE(layout, f32_to_f16, POSENC_F32, POSENC_F16)
ROPES(half)
ROPES(interleaved)
ROPES(deinterleave)

#define CONVERT(name, x_type, y_type)                                                                                  \
    void loop_convert_rows_##name(const posenc_convert_args *args) {                                                   \
        const posenc_convert_args a = *args;                                                                           \
        convert(&a, x_type, y_type);                                                                                   \
    }
CONVERT(f32_to_f16, POSENC_F32, POSENC_F16)
CONVERT(f32_to_bf16, POSENC_F32, POSENC_BF16)

float loop_rms_norm_squares_f32(const void *x, size_t n) {
    return sum_of_squares(x, n, POSENC_F32);
}

void loop_angle_rows_planes_f32(const posenc_angle_rows_args *args) {
    const posenc_angle_rows_args a = *args;
    column(&a, 0, VF, 1, 0, 0);
}

void loop_angle_rows_added_f32(const posenc_angle_rows_args *args) {
    const posenc_angle_rows_args a = *args;
    column(&a, 0, VF, 1, 0, 1);
}

#define LOGITS(name, kind)                                                                                             \
    void loop_softmax_row_logits_##name##_f32(const row *a, run r, vf *max) {                                          \
        plain_run(a, r, kind, 0.0f, max);                                                                              \
    }
LOGITS(scaled, SCALED)
LOGITS(alibi, WITH_ALIBI)
LOGITS(line, WITH_LINE)

size_t loop_softmax_row_exponentials_f32(const row *a, float max, vd *lanes) {
    return sum_block(a, 0, v_set1(max), 1, lanes);
}

void loop_softmax_row_finish_f32(const row *a, run r, float inverse) {
    finish_stored(a, r, v_set1(inverse), v_set1(0.0f));
}
