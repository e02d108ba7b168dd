/* The loops of the NEON kernels, each in a function of its own, for scripts/mca: one pair of types, one shape. Compiled
 * once for each family, LOOPS_ROPE and so on, and looked at as assembly; never linked. In each function the loop that
 * touches the most memory is the one that is meant. */

#ifdef LOOPS_ROPE
#include "neon/rope.c"

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
#endif

#ifdef LOOPS_CONVERT
#include "neon/convert.c"

#define CONVERT(name, x_type, y_type)                                                                                  \
    void loop_convert_rows_##name(const posenc_convert_args *args) {                                                   \
        const posenc_convert_args a = *args;                                                                           \
        convert(&a, x_type, y_type);                                                                                   \
    }
CONVERT(f32_to_f16, POSENC_F32, POSENC_F16)
CONVERT(f32_to_bf16, POSENC_F32, POSENC_BF16)
#endif

#ifdef LOOPS_NORM
#include "neon/norm.c"

float loop_rms_norm_squares_f32(const void *x, size_t n) {
    return sum_of_squares(x, n, POSENC_F32);
}
#endif

#ifdef LOOPS_ANGLES
#include "neon/angles.c"

void loop_angle_rows_planes_f32(const posenc_angle_rows_args *args) {
    const posenc_angle_rows_args a = *args;
    column(&a, 0, VF, 1, 0, 0);
}

void loop_angle_rows_added_f32(const posenc_angle_rows_args *args) {
    const posenc_angle_rows_args a = *args;
    column(&a, 0, VF, 1, 0, 1);
}
#endif

#ifdef LOOPS_ROWS
#include "neon/rows.c"

#define PLACE(name, source_type, type)                                                                                 \
    void loop_place_rows_added_##name(const posenc_place_rows_args *args) {                                            \
        const posenc_place_rows_args a = *args;                                                                        \
        place_all(&a, ONE_GATE, 1, source_type, type);                                                                 \
    }
PLACE(f32, POSENC_F32, POSENC_F32)
PLACE(bf16, POSENC_BF16, POSENC_BF16)

void loop_mix_row_terms_f32(const posenc_mix_row_args *args) {
    const posenc_mix_row_args a = *args;
    mix_lanes(&a, 0, MIX_STEP, VF, 0, POSENC_F32, POSENC_F32);
}

void loop_rbf_rows_bumps_f32(const posenc_rbf_rows_args *args) {
    const posenc_rbf_rows_args a = *args;
    rbf(&a, 0);
}
#endif

#ifdef LOOPS_SOFTMAX
#include "neon/softmax.c"

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
#endif
