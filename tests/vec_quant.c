/* SPDX-License-Identifier: MIT */
/* Conformance of the vector layer's bytes, nibbles and pairs of 16 bits, against plain C. Part of
 * test_vec.c's program. */
#include "vec_lanes.h"

#include <math.h>

#include "half_statement.h"

static int8_t byte_of(ints a, int k, int which) {
    return (int8_t)((uint32_t)a.at[k] >> (8 * which));
}

/* Two numbers of 16 bits, or four of 8, as the lane that holds them. */
static int32_t lane_of_shorts(int low, int high) {
    return (int32_t)((uint32_t)low & 0xffff) | (int32_t)((uint32_t)high << 16);
}

/* Integers by nibble: in no order. */
static int8_t integers[16];

static void draw_integers(void) {
    for (int k = 0; k < 16; k++)
        integers[k] = (int8_t)test_random();
}

static int32_t lane_of_nibbles(ints a, int k, int shift) {
    uint32_t lane = 0;
    for (int which = 0; which < 4; which++)
        lane |= (uint32_t)(uint8_t)integers[((uint32_t)a.at[k] >> (8 * which + shift)) & 15] << (8 * which);
    return (int32_t)lane;
}

/* 16 added to byte i where bit first + i of the lane of bits is set. */
static int32_t lane_with_fifth(ints a, ints bits, int k, int first) {
    uint32_t lane = 0;
    for (int which = 0; which < 4; which++) {
        uint32_t byte = ((uint32_t)a.at[k] >> (8 * which)) + ((uint32_t)bits.at[k] >> (first + which) & 1) * 16;
        lane |= (byte & 255) << (8 * which);
    }
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
        draw_integers();
        EXPECT_INTS(vi_low_nibbles(vi_of(a), integers), lane_of_nibbles(a, k, 0));
        EXPECT_INTS(vi_high_nibbles(vi_of(a), integers), lane_of_nibbles(a, k, 4));
        ints b = random_ints();
        for (int first = 0; first < 32; first += 4)
            EXPECT_INTS(vi_add_fifth(vi_of(a), vi_of(b), (size_t)first), lane_with_fifth(a, b, k, first));
        int32_t most = INT32_MIN;
        for (int k = 0; k < VF; k++)
            most = a.at[k] > most ? a.at[k] : most;
        expect_int("vi_max_lanes", 0, vi_max_lanes(vi_of(a)), most);
    }
}

void test_rounding(void **state) {
    (void)state;
    begin("vi_round, vi_store_16");
    for (int round = 0; round < 1000; round++) {
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

/* Four factors as words: digits, or two pairs. */
enum { MOST = 32639 };
typedef struct factors {
    int n[4];
    int32_t words[2];
} factors;

static int32_t word_of_bytes(int a, int b, int c, int d) {
    return (int32_t)((uint32_t)(uint8_t)a | (uint32_t)(uint8_t)b << 8 | (uint32_t)(uint8_t)c << 16 |
                     (uint32_t)(uint8_t)d << 24);
}

static factors draw_factors(int of_channels) {
    factors f;
    for (int k = 0; k < 4; k++)
        f.n[k] = test_random() % 4 == 0 ? (test_random() % 2 ? MOST : -MOST) : (int)(test_random() % (2 * MOST)) - MOST;
    if (V_DIGITS) {
        int low[4], high[4];
        for (int k = 0; k < 4; k++) {
            low[k] = (int8_t)f.n[k];
            high[k] = (f.n[k] - low[k]) / 256;
        }
        f.words[0] = word_of_bytes(high[0], high[1], high[2], high[3]);
        f.words[1] = word_of_bytes(low[0], low[1], low[2], low[3]);
    } else {
        f.words[0] = lane_of_shorts(f.n[0], f.n[of_channels ? 2 : 1]);
        f.words[1] = lane_of_shorts(f.n[of_channels ? 1 : 2], f.n[3]);
    }
    return f;
}

/* Two of these sums, so that the second finds something to add to. */
static vi product(vq x, const factors f[2]) {
    vp sum = vp_zero();
    for (int i = 0; i < 2; i++)
        sum = vp_add(x, vi_set1(f[i].words[0]), vi_set1(f[i].words[1]), sum);
    return vp_sum(sum);
}

static int32_t dot4(const int x[4], const factors f[2]) {
    int32_t sum = 0;
    for (int k = 0; k < 4; k++)
        sum += x[k] * (f[0].n[k] + f[1].n[k]);
    return sum;
}

void test_products(void **state) {
    (void)state;
    begin("vq_bytes, vp_zero, vp_add, vp_sum");
    for (int round = 0; round < 1000; round++) {
        ints a = random_ints();
        factors f[2] = {draw_factors(1), draw_factors(1)};
        int32_t expected[VF];
        for (int k = 0; k < VF; k++) {
            int x[4] = {byte_of(a, k, 0), byte_of(a, k, 1), byte_of(a, k, 2), byte_of(a, k, 3)};
            expected[k] = dot4(x, f);
        }
        EXPECT_INTS(product(vq_bytes(vi_of(a)), f), expected[k]);
    }
}

/* Between two integers, next to that on either side, and anything else up to 2^23. */
void test_rounding_away(void **state) {
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
    begin("v_gather_f16, vi_load_words");
    for (int p = 0; p < N_PLACES; p++) {
        uint16_t *halves = test_guarded_place(&memory, 2 * VF, place(p, 2));
        const void *rows[VF];
        for (int k = 0; k < VF; k++) {
            halves[k] = test_random_half(FILL_ADVERSARIAL, half_f16.fraction_bits);
            rows[k] = halves + (k * 5 + p) % VF - 3;
        }
        EXPECT_FLOATS(v_gather_f16(rows, 6), (float)half_value(halves[(k * 5 + p) % VF], half_f16));
        uint8_t *bytes = test_guarded_place(&memory, VF + 3, place(p, 1));
        fill_bytes(bytes, VF + 3);
        for (int k = 0; k < VF; k++)
            rows[k] = bytes + (k * 5 + p) % VF - 3;
        EXPECT_INTS(vi_load_words(rows, 3), word_at(bytes + (k * 5 + p) % VF));
    }
}

void test_nibble_loads(void **state) {
    (void)state;
    static test_guarded memory;
    begin("v_load_u4");
    for (int p = 0; p < N_PLACES; p++) {
        uint8_t *bytes = test_guarded_place(&memory, VF, place(p, 1));
        fill_bytes(bytes, VF);
        draw_integers();
        EXPECT_FLOATS(v_load_u4(bytes, 0, integers), (float)integers[bytes[k] & 15]);
        EXPECT_FLOATS(v_load_u4(bytes, 1, integers), (float)integers[bytes[k] >> 4]);
    }
}

/* Order in lo and hi is the tier's own: v_unpair gives channel order. */
static void expect_products(const char *operation, vq lo, vq hi, int numbers[2 * VF][4]) {
    factors f[2] = {draw_factors(0), draw_factors(0)};
    vf first, second;
    v_unpair(v_from_bits(product(lo, f)), v_from_bits(product(hi, f)), &first, &second);
    ints got[2] = {ints_of(vi_from_bits(first)), ints_of(vi_from_bits(second))};
    for (int k = 0; k < 2 * VF; k++)
        expect_int(operation, k, got[k / VF].at[k % VF], dot4(numbers[k], f));
    test_count(2 * VF);
}

/* Bytes of four rows, `at` bytes behind their addresses. */
static void place_rows(const void *rows[4], const uint8_t *bytes[4], size_t n, size_t at, int p) {
    static test_guarded memory[4];
    for (int r = 0; r < 4; r++) {
        uint8_t *row = test_guarded_place(&memory[r], n, place(p + r, 1));
        fill_bytes(row, n);
        rows[r] = row - at;
        bytes[r] = row;
    }
}

/* Nibbles in 16 bytes; with fifth bits in the four bytes before them. */
static void expect_nibbles(size_t at, int has_fifth, int p) {
    const void *rows[4];
    const uint8_t *bytes[4];
    int numbers[2 * VF][4];
    vq lo, hi;
    size_t before = has_fifth ? 4 : 0;
    draw_integers();
    for (int i = 0; i < 16 && has_fifth; i++)
        integers[i] %= 64;
    place_rows(rows, bytes, 16 + before, at, p);
    for (size_t first = 0; first < 32; first += 2 * VF) {
        for (size_t k = 0; k < 2 * VF; k++)
            for (int r = 0; r < 4; r++) {
                size_t c = first + k;
                numbers[k][r] = integers[(bytes[r][before + c % 16] >> (c < 16 ? 0 : 4)) & 15];
                numbers[k][r] += has_fifth && bytes[r][c / 8] >> c % 8 & 1 ? 16 : 0;
            }
        if (has_fifth)
            vq_row_fives(rows, at, first, integers, &lo, &hi);
        else
            vq_row_nibbles(rows, at, first, integers, &lo, &hi);
        expect_products(has_fifth ? "vq_row_fives" : "vq_row_nibbles", lo, hi, numbers);
    }
}

void test_rows_of_bytes(void **state) {
    (void)state;
    begin("vq_rows, vq_row_nibbles, vq_row_fives, v_unpair");
    for (int p = 0; p < N_PLACES; p++)
        for (size_t at = 0; at < 5; at += 3) {
            const void *rows[4];
            const uint8_t *bytes[4];
            int numbers[2 * VF][4];
            vq lo, hi;
            place_rows(rows, bytes, 2 * VF, at, p);
            for (int k = 0; k < 2 * VF; k++)
                for (int r = 0; r < 4; r++)
                    numbers[k][r] = (int8_t)bytes[r][k];
            vq_rows(rows, at, &lo, &hi);
            expect_products("vq_rows", lo, hi, numbers);
            expect_nibbles(at, 0, p);
            expect_nibbles(at, 1, p);
        }
}
