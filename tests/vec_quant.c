/* Conformance of the vector layer's bytes, nibbles and pairs of 16 bits, against plain C. Part of test_vec.c's program.
 * */
#include "vec_lanes.h"

#include <math.h>

#include "half_statement.h"

static int8_t byte_of(ints a, int k, int which) {
    return (int8_t)((uint32_t)a.at[k] >> (8 * which));
}

static int16_t short_of(ints a, int k, int which) {
    return (int16_t)((uint32_t)a.at[k] >> (16 * which));
}

/* Two numbers of 16 bits, or four of 8, as the lane that holds them. */
static int32_t lane_of_shorts(int low, int high) {
    return (int32_t)((uint32_t)low & 0xffff) | (int32_t)((uint32_t)high << 16);
}

static int32_t lane_of_nibbles(ints a, int k, int shift) {
    uint32_t lane = 0;
    for (int which = 0; which < 4; which++)
        lane |= (uint32_t)(uint8_t)((((uint32_t)a.at[k] >> (8 * which + shift)) & 15) - 8) << (8 * which);
    return (int32_t)lane;
}

void test_bits(void **state) {
    (void)state;
    static test_guarded memory;
    begin("bits, bytes and nibbles");
    for (int p = 0; p < N_PLACES; p++) {
        ints a = random_ints();
        floats f = random_floats();
        EXPECT_INTS(vi_from_bits(v_from_bits(vi_of(a))), a.at[k]);
        EXPECT_FLOATS(v_abs(vf_of(f)), fabsf(f.at[k]));
        void *at = test_guarded_place(&memory, sizeof a, place(p, 1));
        vi_store(at, vi_of(a));
        EXPECT_INTS(vi_load(at), a.at[k]);
        EXPECT_INTS(vi_even_bytes(vi_of(a)), lane_of_shorts(byte_of(a, k, 0), byte_of(a, k, 2)));
        EXPECT_INTS(vi_odd_bytes(vi_of(a)), lane_of_shorts(byte_of(a, k, 1), byte_of(a, k, 3)));
        EXPECT_INTS(vi_low_nibbles(vi_of(a)), lane_of_nibbles(a, k, 0));
        EXPECT_INTS(vi_high_nibbles(vi_of(a)), lane_of_nibbles(a, k, 4));
        int32_t most = INT32_MIN;
        for (int k = 0; k < VF; k++)
            most = a.at[k] > most ? a.at[k] : most;
        expect_int("vi_max_lanes", 0, vi_max_lanes(vi_of(a)), most);
    }
}

/* Sums of two products do not leave int32 but where all four factors are -2^15, which bodies do not have. */
void test_pairs(void **state) {
    (void)state;
    begin("vi_madd, vi_round, vi_store_16");
    for (int round = 0; round < 1000; round++) {
        ints a = random_ints(), b = random_ints(), c = random_ints();
        for (int k = 0; k < VF; k++)
            b.at[k] = lane_of_shorts(short_of(b, k, 0) | 1, short_of(b, k, 1) | 1);
        EXPECT_INTS(vi_madd(vi_of(a), vi_of(b), vi_of(c)),
                    (int32_t)((uint32_t)(short_of(a, k, 0) * short_of(b, k, 0)) +
                              (uint32_t)(short_of(a, k, 1) * short_of(b, k, 1)) + (uint32_t)c.at[k]));
        floats x;
        for (int k = 0; k < VF; k++)
            x.at[k] = (float)(int32_t)(test_random() % 131070) * 0.5f - 32767.5f;
        EXPECT_INTS(vi_round(vf_of(x)), (int32_t)nearbyintf(x.at[k]));
        int16_t shorts[VF];
        vi_store_16(shorts, vi_round(vf_of(x)));
        for (int k = 0; k < VF; k++)
            expect_int("vi_store_16", k, shorts[k], (int32_t)nearbyintf(x.at[k]));
    }
}

/* Between two integers, next to that on either side, and anything else up to 2^23. */
void test_rounding(void **state) {
    (void)state;
    begin("vi_round_away, vi_trunc, v_lane_bits");
    for (int round = 0; round < 4000; round++) {
        floats x;
        for (int k = 0; k < VF; k++) {
            float half = (float)(int32_t)(test_random() % 1024) - 511.5f;
            float large = (float)((double)(int64_t)test_random() * 0x1p-40);
            x.at[k] = round % 4 == 3 ? large : round % 4 == 0 ? half : nextafterf(half, round % 4 == 1 ? 1e9f : -1e9f);
        }
        EXPECT_INTS(vi_round_away(vf_of(x)), (int32_t)roundf(x.at[k]));
        EXPECT_INTS(vi_trunc(vf_of(x)), (int32_t)x.at[k]);
        ints a = random_ints(), b = random_ints();
        uint32_t bits = 0;
        for (int k = 0; k < VF; k++)
            bits |= (uint32_t)(a.at[k] < b.at[k]) << k;
        expect_int("v_lane_bits", 0, (int32_t)v_lane_bits(vi_lt(vi_of(a), vi_of(b))), (int32_t)bits);
    }
}

void test_byte_stores(void **state) {
    (void)state;
    static test_guarded memory;
    begin("vi_store_8");
    for (int p = 0; p < N_PLACES; p++)
        for (int n = 16; n <= 32; n += 16) {
            ints lanes[32 / VF];
            vi vectors[32 / VF];
            for (int v = 0; v < n / VF; v++) {
                lanes[v] = random_ints();
                vectors[v] = vi_of(lanes[v]);
            }
            int8_t *bytes = test_guarded_place(&memory, (size_t)n, place(p, 1));
            vi_store_8(bytes, vectors, (size_t)n);
            for (int k = 0; k < n; k++)
                expect_int("vi_store_8", k, bytes[k], (int8_t)((uint32_t)lanes[k / VF].at[k % VF] & 255));
            if (!test_guarded_intact(&memory))
                test_fail("vi_store_8 writes beyond its bytes");
        }
}

static void fill_bytes(uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)test_random();
}

static int32_t word_at(const uint8_t *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Parts of blocks: 32 bytes each, 16 where a vector has no more; of 16 bytes each. */
void test_block_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("loads of blocks");
    enum { BLOCK = VF < 8 ? 16 : 32, N_BLOCKS = 4 * VF / BLOCK, HALF = 16, N_HALVES = 4 * VF / HALF };
    for (int p = 0; p < N_PLACES; p++)
        for (size_t step = 0; step < 40; step += 13) {
            size_t n = (N_BLOCKS - 1) * step + BLOCK;
            uint8_t *bytes = test_guarded_place(&memory, n, place(p, 1));
            fill_bytes(bytes, n);
            EXPECT_INTS(vi_load_blocks(bytes, step), word_at(bytes + k * 4 / BLOCK * (int)step + k * 4 % BLOCK));
            n = (N_HALVES - 1) * step + HALF;
            bytes = test_guarded_place(&memory, n, place(p, 1));
            fill_bytes(bytes, n);
            EXPECT_INTS(vi_load_halves(bytes, step), word_at(bytes + k * 4 / HALF * (int)step + k * 4 % HALF));
        }
}

/* Addresses of any order, some of them the same. */
void test_half_gathers(void **state) {
    (void)state;
    static test_guarded memory;
    begin("v_gather_f16");
    for (int p = 0; p < N_PLACES; p++) {
        uint16_t *halves = test_guarded_place(&memory, 2 * VF, place(p, 2));
        const void *rows[VF];
        for (int k = 0; k < VF; k++) {
            halves[k] = test_random_half(FILL_ADVERSARIAL, half_f16.fraction_bits);
            rows[k] = halves + (k * 5 + p) % VF - 3;
        }
        EXPECT_FLOATS(v_gather_f16(rows, 6), (float)half_value(halves[(k * 5 + p) % VF], half_f16));
    }
}

void test_nibble_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("v_load_u4");
    for (int p = 0; p < N_PLACES; p++) {
        uint8_t *bytes = test_guarded_place(&memory, VF, place(p, 1));
        fill_bytes(bytes, VF);
        EXPECT_FLOATS(v_load_u4(bytes, 0), (float)((bytes[k] & 15) - 8));
        EXPECT_FLOATS(v_load_u4(bytes, 1), (float)((bytes[k] >> 4) - 8));
    }
}

/* What stands where in lo and hi is the tier's own: v_unpair tells. */
static void expect_pairs(const char *operation, vi lo, vi hi, const int32_t expected[2 * VF]) {
    vf first, second;
    v_unpair(v_from_bits(lo), v_from_bits(hi), &first, &second);
    ints got[2] = {ints_of(vi_from_bits(first)), ints_of(vi_from_bits(second))};
    for (int k = 0; k < 2 * VF; k++)
        expect_int(operation, k, got[k / VF].at[k % VF], expected[k]);
    test_count(2 * VF);
}

void test_row_pairs(void **state) {
    (void)state;
    static test_guarded memory, other;
    begin("vi_pair_bytes, vi_pair_nibbles, v_unpair");
    for (int p = 0; p < N_PLACES; p++) {
        uint8_t *a = test_guarded_place(&memory, 2 * VF, place(p, 1));
        uint8_t *b = test_guarded_place(&other, 2 * VF, place(p + 1, 1));
        fill_bytes(a, 2 * VF);
        fill_bytes(b, 2 * VF);
        int32_t expected[2 * VF];
        vi lo, hi;
        for (int k = 0; k < 2 * VF; k++)
            expected[k] = lane_of_shorts((int8_t)a[k], (int8_t)b[k]);
        vi_pair_bytes((const int8_t *)a, (const int8_t *)b, &lo, &hi);
        expect_pairs("vi_pair_bytes", lo, hi, expected);
        a = test_guarded_place(&memory, 16, place(p, 1));
        b = test_guarded_place(&other, 16, place(p + 1, 1));
        fill_bytes(a, 16);
        fill_bytes(b, 16);
        for (size_t first = 0; first < 32; first += 2 * VF) {
            for (size_t k = 0; k < 2 * VF; k++) {
                size_t c = (first + k) % 16, shift = first + k < 16 ? 0 : 4;
                expected[k] = lane_of_shorts(((a[c] >> shift) & 15) - 8, ((b[c] >> shift) & 15) - 8);
            }
            vi_pair_nibbles(a, b, first, &lo, &hi);
            expect_pairs("vi_pair_nibbles", lo, hi, expected);
        }
    }
}
