/* Loads and stores of n lanes, n <= VF, for bodies whose n is mostly a constant VF. Needs: vec.h. */
V_INLINE vf load_part(const float *p, size_t n) {
    return n == VF ? v_load(p) : v_load_n(p, n);
}

V_INLINE void store_part(float *p, vf a, size_t n) {
    if (n == VF)
        v_store(p, a);
    else
        v_store_n(p, a, n);
}
