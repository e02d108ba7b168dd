/* SPDX-License-Identifier: MIT */
/* SIMD body of RoPE; src/scalar/rope.c is the specification.
 * Needs: vec.h. Produces: rope_half, rope_deinterleave, rope_channels and, unless POSENC_OWN_ROPE_INTERLEAVED is
 * defined, rope_interleaved: avx2 has its own.
 * A group of up to GROUP vectors of cosines, and as many of sines, stays in registers while the heads go by. */
#include "vec.h"

#include "simd/typed.h"
#include "kernels/variant.h"

/* Vectors of a group. Where two eights are more than the registers hold (AVX2), the rest comes from the stack: still
 * 20 % faster over 8 MB than two walks of four. */
enum { GROUP = 8 };

/* Vectors of a half that are stored in a row, before the vectors of the other half: as many as registers hold. A store
 * that spans two cache lines costs less right after its neighbour. One at a time, heads of 226 channels take 1.2 times
 * as long with AVX2, 1.15 with AVX-512 (AMD Zen 4). */
enum { BESIDE = VF == 8 ? 2 : 4 };

/* A group of n lanes is `vectors` vectors. One alone may be partial. The last of several ends where the group ends,
 * over lanes of the one before it if need be: it is read before any is written, and these lanes get the same bits
 * twice. */
V_INLINE size_t lane_of(int k, const int vectors, size_t n) {
    return k > 0 && k == vectors - 1 ? n - VF : (size_t)k * VF;
}

V_INLINE size_t lanes_each(const int vectors, size_t n) {
    return vectors == 1 ? n : VF;
}

/* n pairs of a head: the second halves at `second`, or, where they are interleaved, right beside the first. */
V_INLINE void load_pairs(const void *first, const void *second, size_t i, size_t n, const posenc_dtype type,
                         const int interleaved, vf *x0, vf *x1) {
    if (interleaved && type == POSENC_BF16) {
        v_load_bf16_pairs((const uint16_t *)first + 2 * i, n, x0, x1);
    } else if (interleaved) {
        size_t lanes = 2 * n, low = lanes < VF ? lanes : VF;
        vf a = load_typed(first, 2 * i, low, type);
        vf b = lanes > VF ? load_typed(first, 2 * i + VF, lanes - VF, type) : v_set1(0.0f);
        v_unzip(a, b, x0, x1);
    } else {
        *x0 = v_keep(load_typed(first, i, n, type));
        *x1 = v_keep(load_typed(second, i, n, type));
    }
}

V_INLINE void store_pairs(void *first, void *second, size_t i, vf y0, vf y1, size_t n, const posenc_dtype type,
                          const int interleaved) {
    if (interleaved && type == POSENC_BF16) {
        v_store_bf16_pairs((uint16_t *)first + 2 * i, y0, y1, n);
    } else if (interleaved) {
        size_t lanes = 2 * n, low = lanes < VF ? lanes : VF;
        v_zip(y0, y1, &y0, &y1);
        store_typed(first, 2 * i, y0, low, type);
        if (lanes > VF)
            store_typed(first, 2 * i + VF, y1, lanes - VF, type);
    } else {
        store_typed(first, i, y0, n, type);
        store_typed(second, i, y1, n, type);
    }
}

/* Factors on the channels of heads: cosines and sines for the first channels of pairs; with weights, others for the
 * second. */
typedef struct factors {
    vf c0[GROUP], s0[GROUP], c1[GROUP], s1[GROUP];
} factors;

/* Factors k, of n pairs from i on. */
V_INLINE void load_factors(const posenc_rope_args *a, size_t i, size_t n, const int is_normed,
                           const int reads_interleaved, factors *f, int k) {
    vf c = v_mul(load_typed(a->cos_row, i, n, POSENC_F32), v_set1(a->cos_factor)), w0, w1;
    vf s = v_mul(load_typed(a->sin_row, i, n, POSENC_F32), v_set1(a->sin_factor));
    f->c0[k] = f->c1[k] = c;
    f->s0[k] = f->s1[k] = s;
    if (!is_normed)
        return;
    load_pairs(a->weight, a->weight + a->half, i, n, POSENC_F32, reads_interleaved, &w0, &w1);
    f->c0[k] = v_mul(c, w0);
    f->s0[k] = v_mul(s, w0);
    f->c1[k] = v_mul(c, w1);
    f->s1[k] = v_mul(s, w1);
}

/* Two vectors' worth of factors, those of even pairs first. */
V_INLINE void unzip_factors(factors *f, int k, const int is_normed) {
    v_unzip(f->c0[k], f->c0[k + 1], &f->c0[k], &f->c0[k + 1]);
    v_unzip(f->s0[k], f->s0[k + 1], &f->s0[k], &f->s0[k + 1]);
    if (is_normed) {
        v_unzip(f->c1[k], f->c1[k + 1], &f->c1[k], &f->c1[k + 1]);
        v_unzip(f->s1[k], f->s1[k + 1], &f->s1[k], &f->s1[k + 1]);
        return;
    }
    for (int j = k; j < k + 2; j++) {
        f->c1[j] = f->c0[j];
        f->s1[j] = f->s0[j];
    }
}

V_INLINE void turn(const factors *f, int k, const int is_normed, vf head_factor, vf *x0, vf *x1) {
    vf z0 = is_normed ? v_mul(*x0, head_factor) : *x0, z1 = is_normed ? v_mul(*x1, head_factor) : *x1;
    *x0 = v_fms(z0, f->c0[k], v_mul(z1, f->s1[k]));
    *x1 = v_fma(z1, f->c1[k], v_mul(z0, f->s0[k]));
}

/* Constants of reading and writing pairs whose halves are vectors of their own. */
typedef struct split {
    posenc_dtype x_type, y_type;
    int is_normed, reads_interleaved, writes_interleaved;
} split;

/* Addresses of the pairs of a head. */
typedef struct head {
    const char *x_first, *x_second;
    char *y_first, *y_second;
} head;

V_INLINE head first_head(const posenc_rope_args *a, size_t i, const split s) {
    return (head){typed_at(a->x, s.reads_interleaved ? 2 * i : i, s.x_type), typed_at(a->x, i + a->half, s.x_type),
                  typed_out(a->y, s.writes_interleaved ? 2 * i : i, s.y_type), typed_out(a->y, i + a->half, s.y_type)};
}

V_INLINE head next_head(const posenc_rope_args *a, head at) {
    return (head){at.x_first + a->x_stride, at.x_second + a->x_stride, at.y_first + a->y_stride,
                  at.y_second + a->y_stride};
}

V_INLINE void fetch_head(const posenc_rope_args *a, head at, const int vectors, const split s) {
    if (RARELY(a->y_ahead != 0)) {
        fetch_typed(at.y_first + a->y_ahead, 0, (s.writes_interleaved ? 2 : 1) * vectors * VF, s.y_type);
        if (!s.writes_interleaved)
            fetch_typed(at.y_second + a->y_ahead, 0, vectors * VF, s.y_type);
    }
}

V_INLINE vf factor_of_head(const posenc_rope_args *a, size_t h, const split s) {
    return v_set1(s.is_normed ? a->head_factors[h] : 1.0f);
}

/* Rotates less than a vector of each head. A load of the next head would wait for a masked store whose unwritten lanes
 * are in it, so it comes first: 0.3 times as long in cache. */
V_INLINE void turn_parts(const posenc_rope_args *a, head at, size_t n, const factors *f, const split s) {
    vf next0 = v_set1(0.0f), next1 = next0;
    for (size_t h = 0; h < a->n_heads; h++) {
        head next = next_head(a, at);
        fetch_head(a, at, 1, s);
        if (!V_MASKED_STORES || h == 0)
            load_pairs(at.x_first, at.x_second, 0, n, s.x_type, s.reads_interleaved, &next0, &next1);
        vf x0 = next0, x1 = next1;
        if (V_MASKED_STORES && h + 1 < a->n_heads)
            load_pairs(next.x_first, next.x_second, 0, n, s.x_type, s.reads_interleaved, &next0, &next1);
        turn(f, 0, s.is_normed, factor_of_head(a, h, s), &x0, &x1);
        store_pairs(at.y_first, at.y_second, 0, x0, x1, n, s.y_type, s.writes_interleaved);
        at = next;
    }
}

/* A vector of pairs, and where in its half it lies. */
typedef struct placed_pairs {
    size_t lane;
    vf first, second;
} placed_pairs;

V_INLINE void store_beside(head at, const placed_pairs *y, const int count, const split s) {
    for (int j = 0; j < count; j++)
        if (s.writes_interleaved)
            store_pairs(at.y_first, NULL, y[j].lane, y[j].first, y[j].second, VF, s.y_type, 1);
        else
            store_typed(at.y_first, y[j].lane, y[j].first, VF, s.y_type);
    for (int j = 0; j < count && !s.writes_interleaved; j++)
        store_typed(at.y_second, y[j].lane, y[j].second, VF, s.y_type);
}

/* n pairs of one head, as whole vectors. The last one is read before any is written. */
V_INLINE void turn_vectors(head at, const int vectors, size_t n, const factors *f, vf head_factor, const split s) {
    placed_pairs last = {.lane = lane_of(vectors - 1, vectors, n)};
    load_pairs(at.x_first, at.x_second, last.lane, VF, s.x_type, s.reads_interleaved, &last.first, &last.second);
#pragma GCC unroll 8 /* or gcc 12 keeps x in memory */
    for (int k = 0; k < vectors; k += BESIDE) {
        const int count = vectors - k < BESIDE ? vectors - k : BESIDE;
        placed_pairs x[BESIDE];
        for (int j = 0; j < count; j++) {
            x[j] = last;
            if (k + j < vectors - 1) {
                x[j].lane = lane_of(k + j, vectors, n);
                load_pairs(at.x_first, at.x_second, x[j].lane, VF, s.x_type, s.reads_interleaved, &x[j].first,
                           &x[j].second);
            }
            turn(f, k + j, s.is_normed, head_factor, &x[j].first, &x[j].second);
        }
        store_beside(at, x, count, s);
    }
}

/* Two whole vectors of bf16 of each half together: one has the even, the other the odd channels, which a lane of 32
 * bits holds beside each other. */
V_INLINE void turn_by_twos(head at, const int vectors, const factors *f, vf head_factor, const split s) {
    for (int k = 0; k < vectors; k += 2) {
        vf x0, x1, x2, x3;
        load_pairs(at.x_first, NULL, k / 2 * VF, VF, POSENC_BF16, 1, &x0, &x2);
        load_pairs(at.x_second, NULL, k / 2 * VF, VF, POSENC_BF16, 1, &x1, &x3);
        turn(f, k, s.is_normed, head_factor, &x0, &x1);
        turn(f, k + 1, s.is_normed, head_factor, &x2, &x3);
        store_pairs(at.y_first, NULL, k / 2 * VF, x0, x2, VF, POSENC_BF16, 1);
        store_pairs(at.y_second, NULL, k / 2 * VF, x1, x3, VF, POSENC_BF16, 1);
    }
}

/* Pairs i .. i + n - 1. */
V_INLINE void split_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n, const split s) {
    const int by_twos = s.x_type == POSENC_BF16 && s.y_type == POSENC_BF16 && !s.reads_interleaved && vectors % 2 == 0;
    factors f;
    for (int k = 0; k < vectors; k++)
        load_factors(a, i + lane_of(k, vectors, n), lanes_each(vectors, n), s.is_normed, s.reads_interleaved, &f, k);
    for (int k = 0; by_twos && k < vectors; k += 2)
        unzip_factors(&f, k, s.is_normed);
    head at = first_head(a, i, s);
    if (lanes_each(vectors, n) != VF) {
        turn_parts(a, at, n, &f, s);
        return;
    }
    for (size_t h = 0; h < a->n_heads; h++, at = next_head(a, at)) {
        fetch_head(a, at, vectors, s);
        if (by_twos)
            turn_by_twos(at, vectors, &f, factor_of_head(a, h, s), s);
        else
            turn_vectors(at, vectors, n, &f, factor_of_head(a, h, s), s);
    }
}

V_INLINE void half_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n, const posenc_dtype x_type,
                         const posenc_dtype y_type, const int is_normed) {
    split_group(a, i, vectors, n, (split){x_type, y_type, is_normed, 0, 0});
}

V_INLINE void deinterleave_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n,
                                 const posenc_dtype x_type, const posenc_dtype y_type, const int is_normed) {
    split_group(a, i, vectors, n, (split){x_type, y_type, is_normed, 1, 0});
}

/* bf16, whose pairs come apart and together again within a lane. */
V_INLINE void bf16_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n, const posenc_dtype x_type,
                         const posenc_dtype y_type, const int is_normed) {
    split_group(a, i, vectors, n, (split){x_type, y_type, is_normed, 1, 1});
}

/* Channels i .. i + n - 1, x0 x1 x0 x1 ... The factors beside them are cos cos ... and -sin sin ..., so that y = x *
 * cos + swapped x * sin, the same two roundings as in the specification. */
V_INLINE void interleaved_group(const posenc_rope_args *a, size_t i, const int vectors, size_t n,
                                const posenc_dtype x_type, const posenc_dtype y_type, const int is_normed) {
    const size_t each = lanes_each(vectors, n);
    vf c[GROUP], s[GROUP];
    for (int k = 0; k < vectors; k++) {
        size_t lane = lane_of(k, vectors, n);
        const float *cos_row = a->cos_row + (i + lane) / 2, *sin_row = a->sin_row + (i + lane) / 2;
        c[k] = each == VF ? v_load_twice(cos_row) : v_load_twice_n(cos_row, each);
        s[k] = each == VF ? v_load_twice(sin_row) : v_load_twice_n(sin_row, each);
        c[k] = v_mul(c[k], v_set1(a->cos_factor));
        s[k] = v_mul(s[k], v_set1(a->sin_factor));
        if (is_normed) {
            vf weights = load_typed(a->weight + i, lane, each, POSENC_F32);
            c[k] = v_mul(c[k], weights);
            s[k] = v_mul(s[k], v_swap_pairs(weights));
        }
        s[k] = v_neg_even(s[k]);
    }
    const char *x = typed_at(a->x, i, x_type);
    char *y = typed_out(a->y, i, y_type);
    for (size_t h = 0; h < a->n_heads; h++) {
        if (RARELY(a->y_ahead != 0))
            fetch_typed(y + a->y_ahead, 0, vectors * VF, y_type);
        vf last = v_keep(load_typed(x, lane_of(vectors - 1, vectors, n), each, x_type));
        for (int k = 0; k < vectors; k++) {
            size_t lane = lane_of(k, vectors, n);
            vf pairs = k < vectors - 1 ? v_keep(load_typed(x, lane, each, x_type)) : last;
            if (is_normed)
                pairs = v_mul(pairs, v_set1(a->head_factors[h]));
            store_typed(y, lane, v_fma(pairs, c[k], v_mul(v_swap_pairs(pairs), s[k])), each, y_type);
        }
        x += a->x_stride;
        y += a->y_stride;
    }
}

typedef void group_body(const posenc_rope_args *a, size_t i, const int vectors, size_t n, const posenc_dtype x_type,
                        const posenc_dtype y_type, const int is_normed);

/* Tail of a head: `vectors` vectors, from lane i on. */
typedef struct head_rest {
    size_t i, vectors, end;
} head_rest;

/* Runs all groups of `vectors` vectors. A last vector that overlaps has another one before it in its group. */
V_INLINE void walk_groups(const posenc_rope_args *a, head_rest *at, const int vectors, const int overlaps,
                          group_body *group, const posenc_dtype x_type, const posenc_dtype y_type,
                          const int is_normed) {
    for (; at->vectors >= (size_t)vectors && !(overlaps && at->vectors == (size_t)vectors + 1);
         at->vectors -= vectors) {
        size_t end = overlaps && at->vectors == (size_t)vectors ? at->end : at->i + (size_t)vectors * VF;
        group(a, at->i, vectors, vectors == 1 ? VF : end - at->i, x_type, y_type, is_normed);
        at->i = end;
    }
}

/* Walks `lanes` lanes in groups. Vectors, types and whether there is a norm are constants in every call, so that they
 * become registers and instructions. A head is walked at once where that can be: over 38 MB, walking 48 pairs as 2
 * vectors and then 1 took 1.4 times as long as all 3. Each size of group is code of its own, so heads that change their
 * type, or are normed, have fewer sizes; a norm's factors take registers, so its largest group is 4 vectors, not 8.
 *
 * Where all kinds are there, the tail goes into the last of several vectors: masked, beside whole ones, it
 * would wait in cache for what was just stored next to it (docs/performance.md). Elsewhere it is a walk of its
 * own. */
V_INLINE void walk(const posenc_rope_args *a, size_t lanes, group_body *group, const posenc_dtype x_type,
                   const posenc_dtype y_type, const int is_normed) {
    const int all_kinds = x_type == y_type && !is_normed;
    const int overlaps = all_kinds && x_type != POSENC_BF16 && lanes > VF && lanes % VF != 0;
    head_rest at = {0, lanes / VF + (size_t)overlaps, lanes};
    if (!is_normed)
        walk_groups(a, &at, 8, overlaps, group, x_type, y_type, is_normed);
    if (all_kinds)
        walk_groups(a, &at, 6, overlaps, group, x_type, y_type, is_normed);
    walk_groups(a, &at, 4, overlaps, group, x_type, y_type, is_normed);
    if (all_kinds)
        walk_groups(a, &at, 3, overlaps, group, x_type, y_type, is_normed);
    if (!is_normed)
        walk_groups(a, &at, 2, overlaps, group, x_type, y_type, is_normed);
    walk_groups(a, &at, 1, overlaps, group, x_type, y_type, is_normed);
    if (at.i < lanes)
        group(a, at.i, 1, lanes - at.i, x_type, y_type, is_normed);
}

typedef void walk_body(const posenc_rope_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                       const int is_normed);

V_INLINE void walk_half(const posenc_rope_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                        const int is_normed) {
    walk(a, a->n, half_group, x_type, y_type, is_normed);
}

V_INLINE void walk_deinterleave(const posenc_rope_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                                const int is_normed) {
    walk(a, a->n, deinterleave_group, x_type, y_type, is_normed);
}

V_INLINE void walk_interleaved(const posenc_rope_args *a, const posenc_dtype x_type, const posenc_dtype y_type,
                               const int is_normed) {
    if (x_type == POSENC_BF16 && y_type == POSENC_BF16)
        walk(a, a->n, bf16_group, x_type, y_type, is_normed);
    else
        walk(a, 2 * a->n, interleaved_group, x_type, y_type, is_normed);
}

/* ---- Types, layouts and norms without groups of their own: heads in blocks of float32 ---- */

/* The first and the second channels of n pairs; the last vector may be partial. */
typedef struct block {
    size_t n;
    vf first[GROUP], second[GROUP];
} block;

V_INLINE void load_typed_block(block *b, head at, const posenc_dtype type, const int interleaved) {
    size_t i = 0, k = 0;
    for (; i + VF <= b->n; i += VF, k++)
        load_pairs(at.x_first, at.x_second, i, VF, type, interleaved, &b->first[k], &b->second[k]);
    if (i < b->n)
        load_pairs(at.x_first, at.x_second, i, b->n - i, type, interleaved, &b->first[k], &b->second[k]);
}

/* v_keep: copied by memmove, whose loads span two of the stores before, a head takes 5 times as long. */
V_INLINE void store_typed_block(const block *b, head at, const posenc_dtype type, const int interleaved) {
    size_t i = 0, k = 0;
    for (; i + VF <= b->n; i += VF, k++)
        store_pairs(at.y_first, at.y_second, i, v_keep(b->first[k]), v_keep(b->second[k]), VF, type, interleaved);
    if (i < b->n)
        store_pairs(at.y_first, at.y_second, i, b->first[k], b->second[k], b->n - i, type, interleaved);
}

V_INLINE void load_block(block *b, head at, const posenc_dtype type, const int interleaved) {
    switch (type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: load_typed_block(b, at, POSENC_F32, interleaved); break;
    case POSENC_F16: load_typed_block(b, at, POSENC_F16, interleaved); break;
    case POSENC_BF16: load_typed_block(b, at, POSENC_BF16, interleaved); break;
    }
}

V_INLINE void store_block(const block *b, head at, const posenc_dtype type, const int interleaved) {
    switch (type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F32: store_typed_block(b, at, POSENC_F32, interleaved); break;
    case POSENC_F16: store_typed_block(b, at, POSENC_F16, interleaved); break;
    case POSENC_BF16: store_typed_block(b, at, POSENC_BF16, interleaved); break;
    }
}

/* Pairs i .. i + n - 1, at most GROUP vectors, of every head. */
V_INLINE void turn_blocks(const posenc_rope_args *a, size_t i, size_t n, const factors *f, const split s) {
    const int vectors = (int)((n + VF - 1) / VF);
    block b = {.n = n};
    head at = first_head(a, i, s);
    for (size_t h = 0; h < a->n_heads; h++, at = next_head(a, at)) {
        fetch_head(a, at, vectors, s);
        s.reads_interleaved ? load_block(&b, at, s.x_type, 1) : load_block(&b, at, s.x_type, 0);
        for (int k = 0; k < vectors; k++)
            turn(f, k, 1, factor_of_head(a, h, s), &b.first[k], &b.second[k]);
        s.writes_interleaved ? store_block(&b, at, s.y_type, 1) : store_block(&b, at, s.y_type, 0);
    }
}

static __attribute__((noinline)) void walk_blocks(const posenc_rope_args *a, const int reads_interleaved,
                                                  const int writes_interleaved) {
    const split s = {a->x_type, a->y_type, a->head_factors != NULL, reads_interleaved, writes_interleaved};
    for (size_t i = 0, n; i < a->n; i += n) {
        factors f;
        n = a->n - i < GROUP * VF ? a->n - i : GROUP * VF;
        for (size_t k = 0; k * VF < n; k++)
            load_factors(a, i + k * VF, lanes_from(k * VF, n), s.is_normed, s.reads_interleaved, &f, (int)k);
        turn_blocks(a, i, n, &f, s);
    }
}

/* Walks heads of the types that have groups; others go in blocks. */
V_INLINE void walk_types(const posenc_rope_args *args, walk_body *body, const int is_normed,
                         const int reads_interleaved, const int writes_interleaved) {
    const posenc_rope_args a = *args; /* a copy: no store through y changes it */
    switch (POSENC_TYPE_PAIR(a.x_type, a.y_type)) {
#define CASE(x_type, y_type)                                                                                           \
    case POSENC_TYPE_PAIR(x_type, y_type): body(&a, x_type, y_type, is_normed); break;
        CASE(POSENC_F32, POSENC_F32)
        CASE(POSENC_F32, POSENC_F16)
        CASE(POSENC_F32, POSENC_BF16)
        CASE(POSENC_F16, POSENC_F16)
        CASE(POSENC_BF16, POSENC_BF16)
#undef CASE
    default: walk_blocks(args, reads_interleaved, writes_interleaved);
    }
}

/* Normed heads have functions of their own: beside them, single tokens took up to 1.06 times as long. */
static __attribute__((noinline)) void half_normed(const posenc_rope_args *a) {
    walk_types(a, walk_half, 1, 0, 0);
}

void VARIANT(rope_half)(const posenc_rope_args *a) {
    a->head_factors != NULL ? half_normed(a) : walk_types(a, walk_half, 0, 0, 0);
}

/* DeepSeek's layout. By blocks one token took 1.7 times as long; norms are not worth the code. */
void VARIANT(rope_deinterleave)(const posenc_rope_args *a) {
    if (a->head_factors != NULL)
        walk_blocks(a, 1, 0);
    else
        walk_types(a, walk_deinterleave, 0, 1, 0);
}

/* Factors of n pairs from i on, where each channel has its own. */
V_INLINE void load_channel_factors(const posenc_rope_channels_args *args, size_t i, const size_t n, factors *f) {
    const posenc_rope_args *a = &args->rope;
    for (size_t k = 0; k * VF < n; k++) {
        size_t at = i + k * VF, lanes = lanes_from(k * VF, n);
        vf c0, c1, s0, s1, w0 = v_set1(1.0f), w1 = w0;
        load_pairs(a->cos_row, a->cos_row + a->half, at, lanes, POSENC_F32, args->is_interleaved, &c0, &c1);
        load_pairs(a->sin_row, a->sin_row + a->half, at, lanes, POSENC_F32, args->is_interleaved, &s0, &s1);
        if (a->weight != NULL)
            load_pairs(a->weight, a->weight + a->half, at, lanes, POSENC_F32, args->is_interleaved, &w0, &w1);
        f->c0[k] = v_mul(v_mul(c0, v_set1(a->cos_factor)), w0);
        f->c1[k] = v_mul(v_mul(c1, v_set1(a->cos_factor)), w1);
        f->s0[k] = v_mul(v_mul(args->is_transposed ? s0 : s1, v_set1(a->sin_factor)), w0);
        f->s1[k] = v_mul(v_mul(args->is_transposed ? s1 : s0, v_set1(a->sin_factor)), w1);
    }
}

/* Four vectors of float32 without a norm: by blocks 8 heads of 128 take 1.7 times as long (Zen 4). */
V_INLINE void channels_group(const posenc_rope_channels_args *args, size_t i, const int interleaved) {
    const split s = {POSENC_F32, POSENC_F32, 0, interleaved, interleaved};
    factors f;
    load_channel_factors(args, i, 4 * VF, &f);
    head at = first_head(&args->rope, i, s);
    for (size_t h = 0; h < args->rope.n_heads; h++, at = next_head(&args->rope, at)) {
        fetch_head(&args->rope, at, 4, s);
        turn_vectors(at, 4, 4 * VF, &f, v_set1(1.0f), s);
    }
}

void VARIANT(rope_channels)(const posenc_rope_channels_args *args) {
    const posenc_rope_args *a = &args->rope;
    const split s = {a->x_type, a->y_type, a->head_factors != NULL, args->is_interleaved, args->is_interleaved};
    size_t i = 0, n;
    for (; a->x_type == POSENC_F32 && a->y_type == POSENC_F32 && !s.is_normed && a->n - i >= 4 * VF; i += 4 * VF)
        args->is_interleaved ? channels_group(args, i, 1) : channels_group(args, i, 0);
    for (; i < a->n; i += n) {
        factors f;
        n = a->n - i < GROUP * VF ? a->n - i : GROUP * VF;
        load_channel_factors(args, i, n, &f);
        turn_blocks(a, i, n, &f, s);
    }
}

#ifndef POSENC_OWN_ROPE_INTERLEAVED
static __attribute__((noinline)) void interleaved_normed(const posenc_rope_args *a) {
    walk_types(a, walk_interleaved, 1, 1, 1);
}

void VARIANT(rope_interleaved)(const posenc_rope_args *a) {
    a->head_factors != NULL ? interleaved_normed(a) : walk_types(a, walk_interleaved, 0, 1, 1);
}
#endif
