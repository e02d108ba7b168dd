/* Loads and stores of n <= VF elements of a storage type, from element i on. In the bodies type and, mostly, n are
 * constants, so that one instruction remains. Needs: vec.h. */
#include <posenc/types.h>

V_INLINE vf load_typed(const void *p, size_t i, size_t n, const posenc_dtype type) {
    const uint16_t *half = (const uint16_t *)p + i;
    const float *single = (const float *)p + i;
    switch (type) {
    case POSENC_F16: return n == VF ? v_load_f16(half) : v_load_f16_n(half, n);
    case POSENC_BF16: return n == VF ? v_load_bf16(half) : v_load_bf16_n(half, n);
    default: return n == VF ? v_load(single) : v_load_n(single, n);
    }
}

V_INLINE void store_typed(void *p, size_t i, vf a, size_t n, const posenc_dtype type) {
    uint16_t *half = (uint16_t *)p + i;
    float *single = (float *)p + i;
    switch (type) {
    case POSENC_F16: n == VF ? v_store_f16(half, a) : v_store_f16_n(half, a, n); break;
    case POSENC_BF16: n == VF ? v_store_bf16(half, a) : v_store_bf16_n(half, a, n); break;
    default: n == VF ? v_store(single, a) : v_store_n(single, a, n);
    }
}

/* Address of element i. Bodies hoist it, so that what is left inside their loops is a constant offset. */
V_INLINE const void *typed_at(const void *p, size_t i, const posenc_dtype type) {
    return (const char *)p + i * (type == POSENC_F32 ? 4 : 2);
}

V_INLINE void *typed_out(void *p, size_t i, const posenc_dtype type) {
    return (char *)p + i * (type == POSENC_F32 ? 4 : 2);
}

/* Fetches n elements from i on for later use; the place may lie beyond the end of the memory. */
V_INLINE void prefetch_typed(const void *x, size_t i, size_t n, const posenc_dtype type) {
    size_t size = type == POSENC_F32 ? 4 : 2;
    uintptr_t at = (uintptr_t)x + i * size;
    for (size_t k = 0; k < n * size; k += 64)
        __builtin_prefetch((const void *)(at + k));
}
