/* SPDX-License-Identifier: MIT */
/* One hash per family of public functions over a fixed sweep, equal on every tier, compiler and architecture: what set-
 * up, plain C and dispatch make beside and around the kernels. Families share numbers, memory and counted calls.
 *
 * A hash changes when results do, or when the family's sweep does; a commit that records a new one says which. */
#ifndef POSENC_HASHES_PUBLIC_H
#define POSENC_HASHES_PUBLIC_H

#include <math.h>

#include <posenc/posenc.h>

#include "case.h"
#include "core/dd.h"
#include "hash.h"
#include "kernels/formats.h"
#include "random.h"

/* A line of public.def each, made by hash_<family> of the file of that name. */
#define PUBLIC_FAMILIES(FAMILY)                                                                                        \
    FAMILY(fused)                                                                                                      \
    FAMILY(double_double)                                                                                              \
    FAMILY(elementary)                                                                                                 \
    FAMILY(zeros_of_cosines)                                                                                           \
    FAMILY(frequencies)                                                                                                \
    FAMILY(angle_rows)                                                                                                 \
    FAMILY(rope_scalings)                                                                                              \
    FAMILY(rope_factors)                                                                                               \
    FAMILY(rope_axes)                                                                                                  \
    FAMILY(rope_lists)                                                                                                 \
    FAMILY(rope_config)                                                                                                \
    FAMILY(rope_ggml)                                                                                                  \
    FAMILY(rope_tables)                                                                                                \
    FAMILY(rope_apply)                                                                                                 \
    FAMILY(rope_apply_table)                                                                                           \
    FAMILY(rope_halves)                                                                                                \
    FAMILY(rope_reals)                                                                                                 \
    FAMILY(rope_tasks)                                                                                                 \
    FAMILY(rope_blocks)                                                                                                \
    FAMILY(rope_from_blocks)                                                                                           \
    FAMILY(rope_formats)                                                                                               \
    FAMILY(rope_f8)                                                                                                    \
    FAMILY(hadamard)                                                                                                   \
    FAMILY(positions)                                                                                                  \
    FAMILY(sinusoidal)                                                                                                 \
    FAMILY(grids)                                                                                                      \
    FAMILY(fourier)                                                                                                    \
    FAMILY(learned)                                                                                                    \
    FAMILY(resize)                                                                                                     \
    FAMILY(resize_antialias)                                                                                           \
    FAMILY(integer_rows)                                                                                               \
    FAMILY(parts)                                                                                                      \
    FAMILY(gates)                                                                                                      \
    FAMILY(random)                                                                                                     \
    FAMILY(conv)                                                                                                       \
    FAMILY(grouped_conv)                                                                                               \
    FAMILY(masks)                                                                                                      \
    FAMILY(trees)                                                                                                      \
    FAMILY(alibi)                                                                                                      \
    FAMILY(t5)                                                                                                         \
    FAMILY(kerple)                                                                                                     \
    FAMILY(rbf_rel_bias)                                                                                               \
    FAMILY(sandwich)                                                                                                   \
    FAMILY(cosine_rel_bias)                                                                                            \
    FAMILY(swin)                                                                                                       \
    FAMILY(decomposed)                                                                                                 \
    FAMILY(relative_index)                                                                                             \
    FAMILY(published_code)                                                                                             \
    FAMILY(relative)                                                                                                   \
    FAMILY(relative_gradients)                                                                                         \
    FAMILY(fire)                                                                                                       \
    FAMILY(cope)                                                                                                       \
    FAMILY(softmax)                                                                                                    \
    FAMILY(block_masks)                                                                                                \
    FAMILY(softmax_backward)                                                                                           \
    FAMILY(rel_bias_gradients)                                                                                         \
    FAMILY(attention)                                                                                                  \
    FAMILY(attention_task)                                                                                             \
    FAMILY(attention_lists)                                                                                            \
    FAMILY(attention_integers)                                                                                         \
    FAMILY(attention_formats)                                                                                          \
    FAMILY(attention_f8)                                                                                               \
    FAMILY(attention_bf16)                                                                                             \
    FAMILY(attention_bf16x2)                                                                                           \
    FAMILY(attention_bf16x3)                                                                                           \
    FAMILY(attention_merge)                                                                                            \
    FAMILY(sparse)                                                                                                     \
    FAMILY(similarity)                                                                                                 \
    FAMILY(offsets)                                                                                                    \
    FAMILY(costs)

/* ---- Numbers ---- */

typedef struct sweep {
    random_state random;
    uint64_t hash;
} sweep;

uint64_t next(sweep *s);

/* Uniform over [-limit, limit). */
double even(sweep *s, double limit);

size_t size_of(posenc_dtype type);

void fill_doubles(sweep *s, double *a, size_t n, double limit);

/* Floats below 8, one in 32 of any bits whatever; or halves below 4, one in 32 likewise. */
void fill_rows(sweep *s, void *a, size_t n, posenc_dtype type);

/* A half of the sign and fraction in these bits, with an exponent between 2^-2 and 2. */
uint16_t small_half(uint64_t bits, posenc_dtype type);

#define DECLARE(family) void hash_##family(sweep *s);
PUBLIC_FAMILIES(DECLARE)
#undef DECLARE

/* ---- The families ---- */

typedef struct public_family {
    const char *name;
    void (*run)(sweep *s);
} public_family;

extern const public_family public_families[];
extern const size_t n_public_families;

/* The hash of a family, on the tier that is selected. */
uint64_t public_hash(const public_family *family);

/* 1 if every function that the file lists, one a line, is called by a family or excused; else says which are not. */
int public_is_complete(const char *symbols);

/* ---- Calls ---- */

/* Remembers that the function was called. */
void called(const char *function);
void must(const char *function, posenc_status status);

/* A call that must succeed, and one that answers something else than a status. */
#define CALL(function, ...) must(#function, function(__VA_ARGS__))
#define ASK(function, ...) (called(#function), function(__VA_ARGS__))

/* ---- Memory and tensors ---- */

/* Zeros, good until the next fresh(). */
void *take(size_t bytes);
void fresh(void);

/* Memory with numbers in it: finite, even over [-limit, limit), or (adversarial) as fill_rows has them. */
float *floats(sweep *s, size_t n, double limit);
double *doubles(sweep *s, size_t n, double limit);
int32_t *integers(sweep *s, size_t n, int32_t low, int32_t high);
posenc_view tensor(sweep *s, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);
posenc_view adversarial(sweep *s, posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);
posenc_view zeros(posenc_dtype type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);

/* low .. high */
int64_t between(sweep *s, int64_t low, int64_t high);
int32_t any_position(sweep *s);

void hash_view(sweep *s, const posenc_view *view); /* in the order of memory */
/* The tokens of a head side by side in memory: [dim, n_tokens, n_heads, n_batch] there. */
static inline posenc_view by_head(posenc_view memory) {
    return posenc_view_transpose(memory, 1, 2);
}

void hash_integers(sweep *s, const int32_t *a, size_t n);
void hash_dd(sweep *s, posenc_dd a);

/* Line of so many heads over a range of offsets, of zeros. */
posenc_rel_bias rel_bias_of(int64_t first, int64_t n_offsets, int64_t n_heads);
void hash_rel_bias(sweep *s, const posenc_rel_bias *rel_bias);

/* A relative index over a range of offsets, filled by a rule. */
posenc_rel_index index_of(posenc_rel_index_rule rule, int64_t first, int64_t n_offsets);

#define EACH_TYPE(type) for (posenc_dtype type = POSENC_F32; type <= POSENC_BF16; type = (posenc_dtype)(type + 1))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
