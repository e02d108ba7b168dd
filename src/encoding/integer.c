/* SPDX-License-Identifier: MIT */
/* Encodings by integers, bits and Gaussian bumps. */
#include <posenc/encoding.h>

#include <math.h>

#include "core/dd.h"
#include "core/for_python.h"
#include "core/minmax.h"
#include "core/view.h"
#include "encoding/encoding.h"

#define MAX_LENGTH ((int64_t)1 << 31)
#define MAX_ALPHA 1000.0
#define MAX_CENTRE 0x1p40
#define LARGEST_SIGMA 0x1p60

static int is_dim(int64_t dim) {
    return dim >= 1 && dim <= POSENC_MAX_DIM;
}

/* ---- Integers: a row of factors, times p / (length - 1) ---- */

typedef struct integer {
    posenc_generator base;
    double last; /* length - 1 */
    float factors[];
} integer;

static void integer_rows(const posenc_generator *g, const posenc_kernels *kernels, const posenc_tokens *tokens,
                         const posenc_row_span *span) {
    const integer *in = (const integer *)g;
    const void *sources[POSENC_CHUNK];
    float quotients[POSENC_CHUNK];
    for (int64_t t = 0; t < tokens->n; t++) {
        sources[t] = in->factors + span->first;
        quotients[t] = in->last > 0.0 ? (float)((tokens->real[0][t] + 0.0) / in->last) : 0.0f; /* -0 is 0 */
    }
    posenc_place_rows_args args = {
        .sources = sources,
        .source_type = POSENC_F32,
        .factor = 1.0f,
        .gate = quotients,
        .gate_stride = sizeof(float),
        .x = span->add ? span->out : NULL,
        .y = span->out,
        .type = POSENC_F32,
        .x_stride = span->stride * (ptrdiff_t)sizeof(float),
        .y_stride = span->stride * (ptrdiff_t)sizeof(float),
        .n = (size_t)span->n,
        .n_rows = (size_t)tokens->n,
    };
    kernels->place_rows(&args);
}

/* (i / (dim - 1))^alpha, with 0^0 = 1, and 1 for a dim of 1. log_last: of dim - 1. */
static float factor_of(int64_t i, int64_t dim, posenc_dd log_last, double alpha) {
    if (dim == 1 || alpha == 0.0 || i == dim - 1)
        return 1.0f;
    if (i == 0)
        return 0.0f;
    posenc_dd log_ratio = posenc_dd_sub(posenc_dd_log((double)i), log_last);
    posenc_dd exponent = posenc_dd_mul(log_ratio, posenc_dd_from(alpha));
    return exponent.hi < -POSENC_DD_MAX_EXP ? 0.0f : posenc_dd_to_float(posenc_dd_exp(exponent));
}

posenc_status posenc_integer_create(int64_t dim, int64_t length, double alpha, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (!is_dim(dim))
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    if (length < 1 || length > MAX_LENGTH)
        return posenc_refused(POSENC_ERR_CONTEXT);
    if (!(alpha >= 0.0 && alpha <= MAX_ALPHA))
        return posenc_refused(POSENC_ERR_SCALING);
    integer *in = posenc_generator_new(sizeof *in + (size_t)dim * sizeof(float), dim);
    if (in == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    in->base.rows = integer_rows;
    in->last = (double)(length - 1);
    posenc_dd log_last = posenc_dd_log((double)posenc_max(dim - 1, 1));
    for (int64_t i = 0; i < dim; i++)
        in->factors[i] = factor_of(i, dim, log_last, alpha);
    return posenc_encoding_of(&in->base, 0, out);
}

/* ---- Bits ---- */

typedef struct bit_code {
    posenc_generator base;
    posenc_bit_code code;
    float zero, one;
} bit_code;

static void bit_rows(const posenc_generator *g, const posenc_kernels *kernels, const posenc_tokens *tokens,
                     const posenc_row_span *span) {
    const bit_code *b = (const bit_code *)g;
    uint64_t codes[POSENC_CHUNK];
    for (int64_t t = 0; t < tokens->n; t++) {
        uint64_t p = (uint64_t)tokens->whole[t];
        uint64_t code = b->code == POSENC_BITS_GRAY ? posenc_gray_encode(p) : p;
        codes[t] = span->first < 64 ? code >> span->first : 0;
    }
    posenc_bit_rows_args args = {
        .codes = codes,
        .zero = b->zero,
        .one = b->one,
        .y = span->out,
        .stride = span->stride,
        .n = (size_t)span->n,
        .n_rows = (size_t)tokens->n,
        .add = span->add,
    };
    kernels->bit_rows(&args);
}

posenc_status posenc_bits_create(int64_t dim, posenc_bit_code code, float zero, float one, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (!is_dim(dim))
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    if ((unsigned)code > POSENC_BITS_GRAY)
        return posenc_refused(POSENC_ERR_ENUM);
    if (!isfinite(zero) || !isfinite(one))
        return posenc_refused(POSENC_ERR_SCALE);
    bit_code *b = posenc_generator_new(sizeof *b, dim);
    if (b == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    b->base.rows = bit_rows;
    b->base.lowest = 0;
    b->base.highest = INT64_MAX;
    b->base.takes_reals = 0;
    b->code = code;
    b->zero = zero;
    b->one = one;
    return posenc_encoding_of(&b->base, 0, out);
}

uint64_t posenc_gray_encode(uint64_t p) {
    return p ^ p >> 1;
}

uint64_t posenc_gray_decode(uint64_t gray) {
    for (int shift = 1; shift < 64; shift *= 2)
        gray ^= gray >> shift;
    return gray;
}

/* ---- Gaussian bumps ---- */

typedef struct rbf {
    posenc_generator base;
    double minus_k; /* -1 / (2 sigma^2) */
    double minus_centres[];
} rbf;

static void rbf_rows(const posenc_generator *g, const posenc_kernels *kernels, const posenc_tokens *tokens,
                     const posenc_row_span *span) {
    const rbf *bumps = (const rbf *)g;
    posenc_rbf_rows_args args = {
        .positions = tokens->real[0],
        .minus_centres = bumps->minus_centres + span->first,
        .minus_k = bumps->minus_k,
        .y = span->out,
        .stride = span->stride,
        .n = (size_t)span->n,
        .n_rows = (size_t)tokens->n,
        .add = span->add,
    };
    kernels->rbf_rows(&args);
}

posenc_status posenc_rbf_create(const double *centres, int64_t n, double sigma, posenc_encoding **out) {
    if (out == NULL)
        return posenc_refused(POSENC_ERR_NULL);
    *out = NULL;
    if (!is_dim(n))
        return posenc_refused(POSENC_ERR_HEAD_DIM);
    posenc_status status = posenc_check_array(centres, sizeof(double));
    if (status != POSENC_OK)
        return status;
    if (!(sigma >= 1.0 / LARGEST_SIGMA && sigma <= LARGEST_SIGMA))
        return posenc_refused(POSENC_ERR_SCALE);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(centres[i]) <= MAX_CENTRE))
            return posenc_refused(POSENC_ERR_SCALE);
    rbf *bumps = posenc_generator_new(sizeof *bumps + ((size_t)n + POSENC_COLUMN) * sizeof(double), n);
    if (bumps == NULL)
        return posenc_refused(POSENC_ERR_MEMORY);
    bumps->base.rows = rbf_rows;
    bumps->minus_k = -0.5 / (sigma * sigma);
    for (int64_t i = 0; i < n; i++)
        bumps->minus_centres[i] = -centres[i];
    return posenc_encoding_of(&bumps->base, 0, out);
}
