/* What ALiBi takes off a score: slope * |offset|, offset = j - query. Needs: vec.h. */
V_INLINE vf alibi_penalty(vi offsets, vf slope) {
    return v_mul(slope, v_from_int(vi_abs(offsets)));
}
