/* SPDX-License-Identifier: MIT */
/* Inside of the absolute encodings: generators of rows, and how encodings are combined. */
#ifndef POSENC_SRC_ENCODING_H
#define POSENC_SRC_ENCODING_H

#include <stdatomic.h>

#include <posenc/encoding.h>

#include "kernels/kernels.h"

/* Tokens whose coordinates are held at a time. */
#define POSENC_CHUNK 128

/* Coordinates of some tokens, as a generator sees them. */
typedef struct posenc_tokens {
    int64_t n;
    int is_real;                                  /* they were given as real numbers: `whole` is not set */
    int64_t whole[POSENC_CHUNK];                  /* the first axis */
    double real[POSENC_MAX_COORDS][POSENC_CHUNK]; /* every axis; only where the generator takes real numbers */
} posenc_tokens;

/* Output of rows: row t, column first + c to out[t * stride + c], c < n. With a twin, columns first + twin + c of the
 * same rows go to twin[t * stride + c]. */
typedef struct posenc_row_span {
    int64_t first, n;
    float *out, *twin;
    ptrdiff_t stride; /* in floats */
    int add;
    int64_t n_far; /* these two as posenc_row_target has them */
    int is_vast;
} posenc_row_span;

/* Generator of rows. It has either rows() or, for tables, sources(). It is the first member of the struct of each
 * family. */
typedef struct posenc_generator posenc_generator;
struct posenc_generator {
    atomic_int users;
    int64_t dim;
    int n_axes;
    int64_t lowest, highest; /* integers that it takes */
    int takes_reals;
    int64_t twin; /* column i and column i + twin are made together, i < twin = dim / 2; 0: no such thing */
    void (*rows)(const posenc_generator *g, const posenc_kernels *kernels, const posenc_tokens *tokens,
                 const posenc_row_span *span);
    /* Addresses of column `first` of each token's row; NULL for a row that is 0 by definition. */
    void (*sources)(const posenc_generator *g, const posenc_tokens *tokens, int64_t first, const void **sources);
    posenc_dtype source_type;
    float factor; /* on what sources() points to */
    void (*destroy)(posenc_generator *g);
};

/* A generator's columns from `first` on, at coordinates floor(p / divide) mod modulo of axis `axis` on. */
typedef struct posenc_term {
    posenc_generator *generator;
    int64_t first;
    int axis;
    int64_t divide, modulo; /* 1 and 0: as it is */
} posenc_term;

/* Columns whose terms are added up; none: 0 by definition. */
typedef struct posenc_field {
    int64_t column, width;
    int n_terms;
    posenc_term terms[POSENC_MAX_PARTS];
} posenc_field;

#define POSENC_MAX_FIELDS 32

struct posenc_encoding {
    int64_t dim;
    int n_axes, n_fields;
    posenc_field fields[]; /* side by side, in order */
};

/* Widest row of any encoding. */
#define POSENC_MAX_DIM ((int64_t)1 << 21)

/* Allocates the object of a family, `bytes` bytes of zeros after a generator with one axis that takes every int32 and
 * every real number and owns this memory only. NULL if there is no memory. */
void *posenc_generator_new(size_t bytes, int64_t dim);

/* An encoding of one generator, whose only user it is (destroyed if there is no memory), and n_zeros columns behind. */
posenc_status posenc_encoding_of(posenc_generator *generator, int64_t n_zeros, posenc_encoding **e);

/* ---- Coordinates (coords.c) ---- */

/* The strides, the type and, in O(n), the values that e, or one term, would see. *row, -1 before, becomes the first
 * row that is out of range. */
posenc_status posenc_check_coords(const posenc_encoding *e, const posenc_coords *at, int64_t n_tokens, int64_t n_batch,
                                  int64_t *row);
posenc_status posenc_check_term(const posenc_term *term, const posenc_coords *at, int64_t n_tokens, int64_t n_batch,
                                int64_t *row);

/* Coordinates of n tokens from token `first` of a batch on, for a term; all have been checked. */
void posenc_load_tokens(const posenc_term *term, const posenc_coords *at, int64_t n_tokens, int64_t batch,
                        int64_t first, int64_t n, posenc_tokens *tokens);

#endif
