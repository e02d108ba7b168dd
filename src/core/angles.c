/* SPDX-License-Identifier: MIT */
/* The angle engine: frequency tables, anchors, and rows of cosines and sines. */
#include "core/angles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/minmax.h"
#include "core/view.h"

/* ---- Frequency tables ---- */

int posenc_base_is_valid(double base) {
    return base >= 1.0 && base <= 1e30;
}

/* Tables begin with a cache line, so that no vector of them spans two: with AVX-512 rows take 1.07 times as long
 * otherwise. */
#define LINE 64

static size_t whole_lines(size_t bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
}

static posenc_freq *allocate(int64_t n) {
    size_t n_columns = (size_t)posenc_columns_of(n), padded = n_columns * POSENC_COLUMN;
    size_t before = whole_lines(sizeof(posenc_freq));
    size_t bytes = whole_lines(before + 2 * n_columns * sizeof(posenc_turn_column) + 3 * padded * sizeof(double));
    posenc_freq *freq = posenc_aligned_alloc(LINE, bytes);
    if (freq == NULL)
        return NULL;
    memset(freq, 0, bytes);
    freq->n = n;
    freq->offsets = (posenc_turn_column *)((char *)freq + before);
    freq->blocks = freq->offsets + n_columns;
    freq->hi = (double *)(freq->blocks + n_columns);
    freq->lo = freq->hi + padded;
    freq->theta = freq->lo + padded;
    return freq;
}

/* Turns of 0 .. POSENC_ANCHOR_REACH times `step` positions. */
static void fill_turns(const posenc_freq *freq, posenc_turn_column *turns, int step) {
    for (int64_t column = 0; column < posenc_columns_of(freq->n); column++)
        for (int k = 0; k <= POSENC_ANCHOR_REACH; k++) {
            posenc_angle_anchors_args args = {
                .hi = freq->hi + column * POSENC_COLUMN,
                .lo = freq->lo + column * POSENC_COLUMN,
                .magnitude = 1.0,
                .position = k * step,
                .cos_out = turns[column].cos_sin[k][0],
                .sin_out = turns[column].cos_sin[k][1],
                .n = POSENC_COLUMN,
            };
            posenc_active_kernels()->angle_anchors(&args);
        }
}

posenc_status posenc_freq_build(posenc_theta theta, const void *context, int64_t n, posenc_freq **out) {
    posenc_freq *freq = allocate(n);
    if (freq == NULL)
        return POSENC_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        posenc_dd radians = theta(context, i);
        if (!(fabs(radians.hi) <= POSENC_MAX_FREQUENCY)) {
            posenc_aligned_free(freq);
            return POSENC_ERR_FREQUENCY;
        }
        posenc_dd half_turns = posenc_dd_mul(radians, posenc_dd_inv_pi());
        freq->theta[i] = radians.hi;
        freq->hi[i] = half_turns.hi;
        freq->lo[i] = half_turns.lo;
    }
    fill_turns(freq, freq->offsets, 1);
    fill_turns(freq, freq->blocks, POSENC_ANCHOR_BLOCK);
    *out = freq;
    return POSENC_OK;
}

typedef struct power {
    double base, dim;
} power;

static posenc_dd theta_of_power(const void *context, int64_t i) {
    const power *p = context;
    return posenc_dd_pow(p->base, -2.0 * (double)i, p->dim);
}

posenc_status posenc_freq_create(double base, int64_t dim, posenc_freq **freq) {
    if (freq == NULL)
        return POSENC_ERR_NULL;
    *freq = NULL;
    if (dim < 0 || dim % 2 != 0 || dim / 2 > POSENC_MAX_PAIRS)
        return POSENC_ERR_HEAD_DIM;
    if (!posenc_base_is_valid(base))
        return POSENC_ERR_BASE;
    power context = {base, (double)dim};
    return posenc_freq_build(theta_of_power, &context, dim / 2, freq);
}

static posenc_dd theta_of_value(const void *context, int64_t i) {
    return posenc_dd_from(((const double *)context)[i]);
}

posenc_status posenc_freq_create_values(const double *theta, int64_t n, posenc_freq **freq) {
    if (freq == NULL)
        return POSENC_ERR_NULL;
    *freq = NULL;
    if (n < 0 || n > POSENC_MAX_PAIRS)
        return POSENC_ERR_SHAPE;
    if (theta == NULL && n > 0)
        return POSENC_ERR_NULL;
    if (!posenc_is_aligned(theta, 8))
        return POSENC_ERR_STRIDE;
    return posenc_freq_build(theta_of_value, theta, n, freq);
}

/* The growth over k positions is the cosine of no angle, grown. */
static void fill_offset_growth(posenc_freq *freq) {
    static const double zeros[POSENC_COLUMN];
    double sines[POSENC_COLUMN];
    for (int64_t column = 0; column < posenc_columns_of(freq->n); column++)
        for (int k = 0; k < POSENC_ANCHOR_BLOCK; k++) {
            posenc_angle_anchors_args args = {
                .hi = zeros,
                .lo = zeros,
                .growth = freq->growth + column * POSENC_COLUMN,
                .magnitude = 1.0,
                .position = k - POSENC_ANCHOR_REACH,
                .cos_out = freq->offset_growth[column].factor[k],
                .sin_out = sines,
                .n = POSENC_COLUMN,
            };
            posenc_active_kernels()->angle_anchors(&args);
        }
}

posenc_status posenc_freq_set_growth(posenc_freq *freq, const double *growth, double centre) {
    size_t n_columns = (size_t)posenc_columns_of(freq->n), padded = n_columns * POSENC_COLUMN;
    freq->growth = calloc(1, padded * sizeof(double) + n_columns * sizeof(posenc_growth_column) + 1);
    if (freq->growth == NULL)
        return POSENC_ERR_MEMORY;
    freq->offset_growth = (posenc_growth_column *)(freq->growth + padded);
    for (int64_t i = 0; i < freq->n; i++)
        freq->growth[i] = growth[i];
    freq->centre = centre;
    fill_offset_growth(freq);
    return POSENC_OK;
}

void posenc_freq_free(posenc_freq *freq) {
    if (freq == NULL)
        return;
    free(freq->growth);
    posenc_aligned_free(freq);
}

int64_t posenc_freq_count(const posenc_freq *freq) {
    return freq == NULL ? 0 : freq->n;
}

double posenc_freq_theta(const posenc_freq *freq, int64_t i) {
    return freq == NULL || i < 0 || i >= freq->n ? 0.0 : freq->theta[i];
}

/* ---- Rows ---- */

void posenc_row_maker_init(posenc_row_maker *maker, const posenc_kernels *kernels, const posenc_freq *freq,
                           int64_t first, int64_t n) {
    maker->kernels = kernels;
    maker->freq = freq;
    maker->first = first;
    maker->n = n;
    maker->magnitude = 1.0;
    maker->centre = freq->centre;
    maker->anchored_at = (double)NAN;
}

static void move_anchor(posenc_row_maker *maker, double position) {
    if (maker->anchored_at == position)
        return;
    maker->anchored_at = position;
    posenc_angle_anchors_args args = {
        .hi = maker->freq->hi + maker->first,
        .lo = maker->freq->lo + maker->first,
        .growth = maker->freq->growth != NULL ? maker->freq->growth + maker->first : NULL,
        .centre = maker->centre,
        .magnitude = maker->magnitude,
        .position = position,
        .cos_out = maker->anchor_cos,
        .sin_out = maker->anchor_sin,
        .n = (size_t)posenc_columns_of(maker->n) * POSENC_COLUMN,
    };
    maker->kernels->angle_anchors(&args);
}

/* 1 if a block's worth of positions count up from `first`; a loop that compilers turn into vectors. */
static int count_up(const int32_t *positions, int64_t first) {
    uint32_t differs = 0;
    for (uint32_t i = 0; i < POSENC_ANCHOR_BLOCK; i++)
        differs |= (uint32_t)positions[i] ^ ((uint32_t)first + i);
    return differs == 0;
}

/* Number of positions from the first on that count up by one and are below `end`. It stops at INT32_MAX, where an
 * unsigned count would go on. */
static int64_t run_length(const int32_t *positions, int64_t n_positions, int64_t end) {
    int64_t first = positions[0], longest = posenc_min(posenc_min(end, (int64_t)INT32_MAX + 1) - first, n_positions);
    int64_t run = 1;
    if (longest == 1 || positions[1] != first + 1)
        return 1;
    while (run + POSENC_ANCHOR_BLOCK <= longest && count_up(positions + run, first + run))
        run += POSENC_ANCHOR_BLOCK;
    while (run < longest && positions[run] == first + run)
        run++;
    return run;
}

/* The multiple of `step`, a power of two, that is nearest to the position; half way, the next. */
static int64_t nearest(int64_t position, int64_t step) {
    return (position + step / 2) & -step;
}

/* The anchor of a position where nothing grows. */
static int64_t anchor_of(int64_t position) {
    return nearest(nearest(position, POSENC_ANCHOR_BLOCK), POSENC_ANCHOR_SPAN);
}

/* Makes a run in one call: with a call for each block, 512 rows of 64 pairs took 1.04 times as long. With growth every
 * block has its own anchor, so that one table of growths is enough. */
void posenc_make_columns(posenc_row_maker *maker, int64_t first, int64_t n, const int32_t *positions,
                         int64_t n_positions, const posenc_row_target *target) {
    const posenc_freq *freq = maker->freq;
    int64_t column = first / POSENC_COLUMN;
    for (int64_t t = 0; t < n_positions;) {
        int64_t block = nearest(positions[t], POSENC_ANCHOR_BLOCK);
        int64_t anchor = freq->growth != NULL ? block : anchor_of(positions[t]);
        int64_t last_block = freq->growth != NULL ? block : anchor + POSENC_ANCHOR_SPAN / 2 - POSENC_ANCHOR_BLOCK;
        int64_t run = run_length(positions + t, n_positions - t, last_block + POSENC_ANCHOR_REACH);
        int64_t n_fetch = target->n_far - t - POSENC_ANCHOR_BLOCK;
        move_anchor(maker, (double)anchor);
        posenc_angle_rows_args args = {
            .anchor_cos = maker->anchor_cos + (first - maker->first),
            .anchor_sin = maker->anchor_sin + (first - maker->first),
            .blocks = freq->blocks + column,
            .offsets = freq->offsets + column,
            .growth = freq->growth != NULL ? freq->offset_growth + column : NULL,
            .block = (int)((block - anchor) / POSENC_ANCHOR_BLOCK),
            .first_offset = (int)(positions[t] - block),
            .cos_out = target->cos_out + t * target->cos_stride,
            .sin_out = target->sin_out + t * target->sin_stride,
            .cos_stride = target->cos_stride,
            .sin_stride = target->sin_stride,
            .n = (size_t)n,
            .n_rows = (size_t)run,
            .n_fetch = (size_t)posenc_max(posenc_min(n_fetch, run), 0),
            .step = target->step,
            .drop_last = target->drop_last,
            .add = target->add,
            .is_vast = target->is_vast,
        };
        maker->kernels->angle_rows(&args);
        t += run;
    }
}

static int is_int32(double p) {
    return p == rint(p) && p >= INT32_MIN && p <= INT32_MAX;
}

int posenc_have_one_anchor(const double *positions, int n) {
    for (int k = 0; k < n; k++)
        if (!is_int32(positions[k]) || anchor_of((int64_t)positions[k]) != anchor_of((int64_t)positions[0]))
            return 0;
    return 1;
}

/* Copies integers at the front, a block of them at most; returns how many. */
static int64_t leading_integers(const double *positions, int64_t n_positions, int32_t *integers) {
    int64_t n = 0;
    for (; n < n_positions && n < POSENC_ANCHOR_BLOCK && is_int32(positions[n]); n++)
        integers[n] = (int32_t)positions[n];
    return n;
}

/* Row 0 of the target, at a position that is the anchor itself: there are no offsets to share. */
static void make_anchored_row(posenc_row_maker *maker, int64_t first, int64_t n, double position,
                              const posenc_row_target *target) {
    int64_t column = first / POSENC_COLUMN;
    move_anchor(maker, position);
    posenc_angle_rows_args args = {
        .anchor_cos = maker->anchor_cos + (first - maker->first),
        .anchor_sin = maker->anchor_sin + (first - maker->first),
        .blocks = maker->freq->blocks + column,
        .offsets = maker->freq->offsets + column,
        .cos_out = target->cos_out,
        .sin_out = target->sin_out,
        .cos_stride = target->cos_stride,
        .sin_stride = target->sin_stride,
        .n = (size_t)n,
        .n_rows = 1,
        .step = target->step,
        .drop_last = target->drop_last,
        .add = target->add,
    };
    maker->kernels->angle_rows(&args);
}

void posenc_make_real_columns(posenc_row_maker *maker, int64_t first, int64_t n, const double *positions,
                              int64_t n_positions, const posenc_row_target *target) {
    for (int64_t t = 0; t < n_positions;) {
        int32_t integers[POSENC_ANCHOR_BLOCK];
        int64_t n_integers = leading_integers(positions + t, n_positions - t, integers);
        posenc_row_target rest = posenc_target_from(target, t);
        if (n_integers > 0)
            posenc_make_columns(maker, first, n, integers, n_integers, &rest);
        else
            make_anchored_row(maker, first, n, positions[t], &rest);
        t += n_integers > 0 ? n_integers : 1;
    }
}

void posenc_make_rows(posenc_row_maker *maker, const int32_t *positions, int64_t n_positions,
                      const posenc_row_target *target) {
    posenc_make_columns(maker, maker->first, maker->n, positions, n_positions, target);
}

int posenc_row_sets_overlap(const float *a, const float *b, int64_t n, int64_t n_rows, int64_t stride) {
    int64_t reach = ((n_rows - 1) * stride + n) * (int64_t)sizeof(float);
    if (!posenc_ranges_overlap(a, reach, b, reach))
        return 0;
    int64_t distance = posenc_distance(a, b) / (int64_t)sizeof(float);
    int64_t shift = ((distance % stride) + stride) % stride;
    return shift < n || stride - shift < n;
}

posenc_status posenc_angle_rows(const posenc_freq *freq, const int32_t *positions, int64_t n_positions, float *cos_rows,
                                float *sin_rows, int64_t row_stride) {
    if (freq == NULL)
        return POSENC_ERR_NULL;
    if (n_positions < 0 || n_positions > INT32_MAX)
        return POSENC_ERR_SHAPE;
    if (row_stride < freq->n || row_stride > INT32_MAX)
        return POSENC_ERR_STRIDE;
    if (n_positions == 0 || freq->n == 0)
        return POSENC_OK;
    if (positions == NULL || cos_rows == NULL || sin_rows == NULL)
        return POSENC_ERR_NULL;
    if (n_positions * row_stride > POSENC_LIMIT || !posenc_is_aligned(positions, 4) ||
        !posenc_is_aligned(cos_rows, 4) || !posenc_is_aligned(sin_rows, 4))
        return POSENC_ERR_STRIDE;
    if (posenc_row_sets_overlap(cos_rows, sin_rows, freq->n, n_positions, row_stride))
        return POSENC_ERR_OVERLAP;

    posenc_row_maker maker;
    for (int64_t first = 0; first < freq->n; first += POSENC_SLICE) {
        int64_t n = posenc_min(freq->n - first, POSENC_SLICE);
        posenc_row_maker_init(&maker, posenc_active_kernels(), freq, first, n);
        posenc_row_target target = {
            .cos_out = cos_rows + first,
            .sin_out = sin_rows + first,
            .cos_stride = (ptrdiff_t)row_stride,
            .sin_stride = (ptrdiff_t)row_stride,
            .step = 1,
            .n_far = posenc_is_far(2 * n_positions * freq->n) ? n_positions : 0,
            .is_vast = posenc_is_vast(2 * n_positions * freq->n),
        };
        posenc_make_rows(&maker, positions, n_positions, &target);
    }
    return POSENC_OK;
}
