/* SPDX-License-Identifier: MIT */
/* RoPE on tensors: apply, tables, tasks. Views have rows of their own in truth_errors_views.c. */
#include "truth_errors.h"

#include <math.h>

#include "kernels/formats.h"

/* ---- Apply ---- */

void test_rope_apply(void **state) {
    (void)state;
    posenc_view x = dense(in), y = dense(out);
    posenc_range all = posenc_range_all(), none = {0, 0};
    posenc_direction forward = POSENC_FORWARD;
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply, NULL, &x, positions, &y, forward, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply, rope, &x, NULL, &y, forward, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply, rope, &x, shifted(positions, 1), &y, forward, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply, rope, &x, positions, &y, (posenc_direction)(POSENC_SHIFT + 1), all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply, rope, &x, positions, &y, (posenc_direction)-1, all);

    posenc_rope_params params = good_params();
    params.layout = POSENC_ROPE_DEINTERLEAVE;
    posenc_rope *deinterleave, *xpos, *still;
    truth_ok(posenc_rope_create(&params, &deinterleave));
    RETURNS(POSENC_ERR_OVERLAP, posenc_rope_apply, deinterleave, &x, positions, &x, forward, all);
    params.layout = POSENC_ROPE_HALF;
    params.xpos.role = POSENC_XPOS_QUERY;
    truth_ok(posenc_rope_create(&params, &xpos));
    for (int direction = POSENC_INVERSE; direction <= POSENC_SHIFT; direction++) {
        posenc_direction d = (posenc_direction)direction;
        RETURNS(POSENC_ERR_ENUM, posenc_rope_apply, deinterleave, &x, positions, &y, d, all);
        RETURNS(d == POSENC_INVERSE ? POSENC_ERR_ENUM : POSENC_OK, posenc_rope_apply, xpos, &x, positions, &y, d, none);
    }
    params = good_params();
    params.n_rot = 0; /* no positions are needed where nothing turns */
    params.rot_fraction = 0.0;
    truth_ok(posenc_rope_create(&params, &still));
    RETURNS(POSENC_OK, posenc_rope_apply, still, &x, NULL, &x, forward, all);
    posenc_rope_free(deinterleave);
    posenc_rope_free(xpos);
    posenc_rope_free(still);
}

/* Positions of other types: of what is wrong with them, and of values that are none. */
void test_rope_coords(void **state) {
    (void)state;
    posenc_view x = dense(in), y = dense(out);
    posenc_range all = posenc_range_all();
    posenc_direction forward = POSENC_FORWARD;
    posenc_rope_table table = {rows_a, rows_b, PAIRS, 1, 0};
    _Alignas(8) static double reals[TOKENS + 1];
    static float singles[TOKENS];
    static int64_t wholes[TOKENS];
    posenc_coords good = posenc_coords_of(reals, POSENC_COORD_F64), at = good;
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_at, NULL, &x, &good, &y, forward, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_at, rope, NULL, &good, &y, forward, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_at, rope, &x, &good, NULL, forward, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply_at, rope, &x, &good, &y, (posenc_direction)7, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_table_fill_at, NULL, &good, TOKENS, forward, &table);
    RETURNS(POSENC_ERR_NULL, posenc_rope_table_fill_at, rope, &good, TOKENS, forward, NULL);
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_table_fill_at, rope, &good, -1, forward, &table);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_table_fill_at, rope, &good, TOKENS, (posenc_direction)-1, &table);
    const struct {
        const posenc_coords *at;
        posenc_status want;
    } refused[] = {
        {NULL, POSENC_ERR_NULL},
        {&(posenc_coords){NULL, POSENC_COORD_F32, 0, 0}, POSENC_ERR_NULL},
        {&(posenc_coords){reals, (posenc_coord_type)(POSENC_COORD_F64 + 1), 0, 0}, POSENC_ERR_ENUM},
        {&(posenc_coords){reals, (posenc_coord_type)-1, 0, 0}, POSENC_ERR_ENUM},
        {&(posenc_coords){shifted(reals, HALF_OF_8), POSENC_COORD_F64, 0, 0}, POSENC_ERR_STRIDE},
        {&(posenc_coords){shifted(singles, 2), POSENC_COORD_F32, 0, 0}, POSENC_ERR_STRIDE},
        {&(posenc_coords){shifted(wholes, HALF_OF_8), POSENC_COORD_I64, 0, 0}, POSENC_ERR_STRIDE},
        {&(posenc_coords){reals, POSENC_COORD_F64, 0, INT64_MIN}, POSENC_ERR_STRIDE},
    };
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        RETURNS(refused[k].want, posenc_rope_apply_at, rope, &x, refused[k].at, &y, forward, all);
        RETURNS(refused[k].want, posenc_rope_table_fill_at, rope, refused[k].at, TOKENS, forward, &table);
    }
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0x1.0000000000001p31, -0x1.8p31};
    static const int64_t outside[] = {(int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1, INT64_MAX, INT64_MIN};
    for (int t = 0; t < TOKENS; t++) {
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
            reals[t] = bad[k];
            singles[t] = bad[k] == 0x1.0000000000001p31 ? 0x1.000002p31f : (float)bad[k];
            RETURNS(POSENC_ERR_POSITION, posenc_rope_apply_at, rope, &x, &good, &y, forward, ((posenc_range){0, 1}));
            RETURNS(POSENC_ERR_POSITION, posenc_rope_table_fill_at, rope, &good, TOKENS, forward, &table);
            at = posenc_coords_of(singles, POSENC_COORD_F32);
            RETURNS(POSENC_ERR_POSITION, posenc_rope_apply_at, rope, &x, &at, &y, forward, all);
        }
        reals[t] = -0x1p31;
        singles[t] = 0x1p31f;
        for (size_t k = 0; k < sizeof outside / sizeof outside[0]; k++) {
            wholes[t] = outside[k];
            at = posenc_coords_of(wholes, POSENC_COORD_I64);
            RETURNS(POSENC_ERR_POSITION, posenc_rope_apply_at, rope, &x, &at, &y, forward, all);
            RETURNS(POSENC_ERR_POSITION, posenc_rope_table_fill_at, rope, &at, TOKENS, forward, &table);
        }
        wholes[t] = INT32_MIN;
    }
    RETURNS(POSENC_OK, posenc_rope_apply_at, rope, &x, &good, &y, forward, ((posenc_range){0, 0}));
    RETURNS(POSENC_OK, posenc_rope_table_fill_at, rope, &good, 0, forward, &table);
}

/* Positions [BATCH][axes][TOKENS] of which one is bad: of each axis and sequence. */
static void refuse_each_position(const posenc_rope *of_axes, int n_axes) {
    posenc_view x = dense(in), y = dense(out);
    _Alignas(8) static int64_t wholes[BATCH * POSENC_MAX_AXES * TOKENS];
    _Alignas(8) static double reals[BATCH * POSENC_MAX_AXES * TOKENS];
    const posenc_coords at[] = {{wholes, POSENC_COORD_I64, TOKENS, (int64_t)n_axes * TOKENS},
                                {reals, POSENC_COORD_F64, TOKENS, (int64_t)n_axes * TOKENS}};
    for (int i = 0; i < BATCH * n_axes * TOKENS; i++) {
        wholes[i] = (int64_t)INT32_MAX + 1;
        reals[i] = (double)NAN;
        for (int type = 0; type < 2; type++)
            RETURNS(POSENC_ERR_POSITION, posenc_rope_apply_at, of_axes, &x, &at[type], &y, POSENC_FORWARD,
                    ((posenc_range){0, 1}));
        wholes[i] = 0;
        reals[i] = 0.0;
    }
}

void test_rope_coords_of_all(void **state) {
    (void)state;
    refuse_each_position(rope, 1);
    posenc_rope_params params = good_params();
    params.axes = (posenc_rope_axes){POSENC_AXES_MROPE, 3, {2, 1, 1, 0}};
    posenc_rope *of_axes;
    truth_ok(posenc_rope_create(&params, &of_axes));
    refuse_each_position(of_axes, 3);
    posenc_rope_free(of_axes);
}

/* Bad tables, for the call that fills and the one that reads. */
static void refuse_table(posenc_rope_table table, posenc_status want) {
    posenc_view x = dense(in), y = dense(out);
    RETURNS(want, posenc_rope_table_fill, rope, positions, TOKENS, POSENC_FORWARD, &table);
    RETURNS(want, posenc_rope_apply_table, rope, &x, &table, &y, POSENC_FORWARD, posenc_range_all());
    posenc_rope_tensor task = {posenc_view_dense(in, POSENC_F32, DIM, HEADS, TOKENS, 1),
                               posenc_view_dense(out, POSENC_F32, DIM, HEADS, TOKENS, 1),
                               1,
                               1.0f,
                               NULL,
                               0.0f,
                               NULL,
                               NULL,
                               0,
                               0};
    RETURNS(want, posenc_rope_apply_tensors, rope, &task, 1, NULL, &table, POSENC_FORWARD, posenc_range_all());
}

/* A table with a value for each channel: what goes with it, and rows that are too short for it. */
static void refuse_channels(posenc_rope_table table, int64_t too_short) {
    posenc_view x = dense(in), y = dense(out);
    posenc_range none = {0, 0}, all = posenc_range_all();
    posenc_rope_params params = good_params();
    posenc_rope *crossing;
    RETURNS(POSENC_OK, posenc_rope_apply_table, rope, &x, &table, &y, POSENC_BACKWARD, none);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply_table, rope, &x, &table, &y, POSENC_INVERSE, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply_table, rope, &x, &table, &y, POSENC_SHIFT, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_table_fill, rope, positions, TOKENS, POSENC_FORWARD, &table);
    params.layout = POSENC_ROPE_DEINTERLEAVE;
    truth_ok(posenc_rope_create(&params, &crossing));
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply_table, crossing, &x, &table, &y, POSENC_FORWARD, all);
    posenc_rope_free(crossing);
    table.sin = table.cos + 2 * PAIRS - 1;
    RETURNS(POSENC_ERR_OVERLAP, posenc_rope_apply_table, rope, &x, &table, &y, POSENC_FORWARD, all);
    table.row_stride = too_short;
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_table, rope, &x, &table, &y, POSENC_FORWARD, all);
    table = (posenc_rope_table){table.cos, table.cos + 1, 8 * PAIRS, 2, 1};
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_table, rope, &x, &table, &y, POSENC_FORWARD, all);
}

void test_rope_tables(void **state) {
    (void)state;
    static const int64_t bad_steps[] = {0, 3, -1, -2, INT64_MIN, INT64_MAX};
    static const int64_t bad_strides[] = {PAIRS - 1, 0, -PAIRS, INT64_MIN, INT64_MAX, (int64_t)INT32_MAX + 1};
    posenc_view x = dense(in), y = dense(out);
    posenc_rope_table good = {rows_a, rows_b, PAIRS, 1, 0}, pairs = {rows_a, rows_a + 1, 2 * PAIRS, 2, 0}, t;
    for (size_t k = 0; k < sizeof bad_steps / sizeof bad_steps[0]; k++) {
        t = good;
        t.step = bad_steps[k];
        refuse_table(t, POSENC_ERR_STRIDE);
    }
    for (size_t k = 0; k < sizeof bad_strides / sizeof bad_strides[0]; k++) {
        t = good;
        t.row_stride = bad_strides[k];
        refuse_table(t, POSENC_ERR_STRIDE);
    }
    pairs.row_stride = 2 * PAIRS - 1; /* too narrow for pairs */
    refuse_table(pairs, POSENC_ERR_STRIDE);
    pairs.row_stride = 2 * PAIRS;
    for (int distance = -3; distance <= 3; distance++) { /* not one float apart */
        pairs.cos = rows_a;
        pairs.sin = rows_a + distance;
        if (distance != 1 && distance != -1)
            refuse_table(pairs, POSENC_ERR_STRIDE);
    }
    refuse_table((posenc_rope_table){NULL, rows_b, PAIRS, 1, 0}, POSENC_ERR_NULL);
    refuse_table((posenc_rope_table){rows_a, NULL, PAIRS, 1, 0}, POSENC_ERR_NULL);
    refuse_table((posenc_rope_table){shifted(rows_a, 2), rows_b, PAIRS, 1, 0}, POSENC_ERR_STRIDE);
    refuse_table((posenc_rope_table){rows_a, shifted(rows_b, 1), PAIRS, 1, 0}, POSENC_ERR_STRIDE);
    refuse_table((posenc_rope_table){rows_a, rows_a + PAIRS / 2, PAIRS, 1, 0}, POSENC_ERR_OVERLAP); /* of PAIRS / 2 */
    refuse_table((posenc_rope_table){rows_a, rows_a + 2 * PAIRS - 1, 2 * PAIRS, 1, 0}, POSENC_ERR_OVERLAP);

    t = (posenc_rope_table){rows_a, rows_b, 2 * PAIRS, 1, 1};
    refuse_channels(t, 2 * PAIRS - 1);
    posenc_direction forward = POSENC_FORWARD;
    posenc_view many_x = posenc_view_dense(in, POSENC_F32, DIM, 1, (int64_t)1 << 42, 1), many_y = many_x;
    t = (posenc_rope_table){rows_a, rows_b, INT32_MAX, 1, 0}; /* 2^42 rows of 2^31 floats leave int64 */
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_table, rope, &many_x, &t, &many_y, forward, ((posenc_range){0, 0}));
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_table, NULL, &x, &good, &y, forward, posenc_range_all());
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_table, rope, &x, NULL, &y, forward, posenc_range_all());
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply_table, rope, &x, &good, &y, (posenc_direction)7, posenc_range_all());
    RETURNS(POSENC_ERR_NULL, posenc_rope_table_fill, NULL, positions, TOKENS, forward, &good);
    RETURNS(POSENC_ERR_NULL, posenc_rope_table_fill, rope, positions, TOKENS, forward, NULL);
    RETURNS(POSENC_ERR_NULL, posenc_rope_table_fill, rope, NULL, TOKENS, forward, &good);
    RETURNS(POSENC_OK, posenc_rope_table_fill, rope, NULL, 0, forward, &good);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_table_fill, rope, shifted(positions, 2), 1, forward, &good);
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_table_fill, rope, positions, -1, forward, &good);
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_table_fill, rope, positions, INT64_MAX, forward, &good);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_table_fill, rope, positions, TOKENS, (posenc_direction)4, &good);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_table_fill, rope, positions, TOKENS, (posenc_direction)-1, &good);
    t = (posenc_rope_table){rows_a, rows_a + PAIRS - 1, 4 * PAIRS, 1, 0};
    RETURNS(POSENC_ERR_OVERLAP, posenc_rope_table_fill, rope, positions, TOKENS, forward, &t);
    t = (posenc_rope_table){rows_a, rows_a, PAIRS, 1, 0};
    RETURNS(POSENC_ERR_OVERLAP, posenc_rope_table_fill, rope, positions, TOKENS, forward, &t);
    t = (posenc_rope_table){rows_a, rows_b, INT32_MAX, 1, 0};
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_table_fill, rope, positions, INT32_MAX, forward, &t);
}

/* ---- Tasks ---- */

static posenc_rope_tensor good_task(float *x, float *y) {
    return (posenc_rope_tensor){posenc_view_dense(x, POSENC_F32, DIM, HEADS, TOKENS, 1),
                                posenc_view_dense(y, POSENC_F32, DIM, HEADS, TOKENS, 1),
                                1,
                                1.0f,
                                NULL,
                                0.0f,
                                NULL,
                                NULL,
                                0,
                                0};
}

/* Alone, and as the second of two, the first being good: nothing of the first is written either. */
static void refuse_task(posenc_rope_tensor bad, posenc_status want) {
    posenc_rope_tensor tasks[] = {good_task(rows_a, rows_b), bad};
    RETURNS(want, posenc_rope_apply_tensors, rope, &tasks[1], 1, positions, NULL, POSENC_FORWARD, posenc_range_all());
    RETURNS(want, posenc_rope_apply_tensors, rope, tasks, 2, positions, NULL, POSENC_FORWARD, posenc_range_all());
}

static void refuse_tasks_of(const posenc_rope *other, const posenc_rope_tensor *task, posenc_status want) {
    RETURNS(want, posenc_rope_apply_tensors, other, task, 1, positions, NULL, POSENC_FORWARD, posenc_range_all());
}

static void refuse_scatter(void) {
    static const int64_t outside[] = {-1, TOKENS, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    int32_t rows32[TOKENS + 1] = {0, 1, 2, 3};
    int64_t rows64[TOKENS + 1] = {0, 1, 2, 3};
    for (size_t k = 0; k < sizeof outside / sizeof outside[0]; k++)
        for (int t = 0; t < TOKENS; t++) {
            posenc_rope_tensor task = good_task(in, out);
            rows64[t] = outside[k];
            task.rows64 = rows64;
            refuse_task(task, POSENC_ERR_ROWS);
            rows64[t] = t;
            if (outside[k] != (int32_t)outside[k])
                continue;
            rows32[t] = (int32_t)outside[k];
            task.rows64 = NULL;
            task.rows32 = rows32;
            refuse_task(task, POSENC_ERR_ROWS);
            rows32[t] = t;
        }
    posenc_rope_tensor task = good_task(in, out);
    task.rows32 = rows32;
    task.rows64 = rows64;
    refuse_task(task, POSENC_ERR_ROWS); /* both */
    task.rows64 = NULL;
    task.rows32 = shifted(rows32, 2);
    refuse_task(task, POSENC_ERR_STRIDE);
    task.rows32 = NULL;
    task.rows64 = shifted(rows64, HALF_OF_8);
    refuse_task(task, POSENC_ERR_STRIDE);
    task = good_task(in, in); /* into itself */
    task.rows32 = rows32;
    refuse_task(task, POSENC_ERR_OVERLAP);
    task = good_task(in, out);
    task.rows32 = rows32;
    task.y.ne[2] = 0; /* no rows */
    refuse_task(task, POSENC_ERR_ROWS);
}

static void refuse_wide_norm(posenc_rope_tensor task, int64_t head_dim, int64_t n_rot, posenc_status want) {
    posenc_rope_params params = good_params();
    posenc_rope *wide;
    params.head_dim = head_dim;
    params.n_rot = n_rot;
    truth_ok(posenc_rope_create(&params, &wide));
    task.x = posenc_view_dense(NULL, POSENC_F32, head_dim, HEADS, 0, 1);
    task.y = task.x;
    refuse_tasks_of(wide, &task, want);
    posenc_rope_free(wide);
}

static void refuse_norm(void) {
    static const float bad_eps[] = {-1e-6f, NAN, INFINITY, -INFINITY}, weight[DIM + 1] = {1.0f};
    posenc_rope_tensor task = good_task(in, out);
    task.weight = weight;
    for (size_t k = 0; k < sizeof bad_eps / sizeof bad_eps[0]; k++) {
        task.eps = bad_eps[k];
        refuse_task(task, POSENC_ERR_SCALE);
    }
    task.eps = 0.0f;
    task.weight = shifted(weight, 2);
    refuse_task(task, POSENC_ERR_STRIDE);
    task.weight = NULL; /* what goes with weights goes without */
    task.norms = 1;
    for (size_t k = 0; k < sizeof bad_eps / sizeof bad_eps[0]; k++) {
        task.eps = bad_eps[k];
        refuse_task(task, POSENC_ERR_SCALE);
    }
    task.eps = 0.0f;
    refuse_wide_norm(task, 258, 258, POSENC_ERR_N_ROT); /* more pairs than go with the norm */
    refuse_wide_norm(task, POSENC_MAX_HEAD_DIM + 1, 2, POSENC_ERR_HEAD_DIM);
    task.weight = weight;
    refuse_wide_norm(task, 258, 258, POSENC_ERR_N_ROT);
}

/* ---- Blocks, and the Hadamard transform ---- */

/* A rope of heads that have blocks, half of whose channels are rotated, and a task that writes them. */
enum { BLOCK_DIM = 64, BLOCK_HEADS = 2, BLOCK_TOKENS = 3 };

static posenc_rope *block_rope(int64_t head_dim, int64_t n_rot) {
    posenc_rope_params params = good_params();
    posenc_rope *made;
    params.head_dim = head_dim;
    params.n_rot = n_rot;
    truth_ok(posenc_rope_create(&params, &made));
    return made;
}

static posenc_rope_tensor block_task(posenc_dtype type) {
    return (posenc_rope_tensor){
        .x = posenc_view_dense(in, POSENC_F32, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1),
        .y = posenc_view_dense(out, type, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1),
        .rotates = 1,
        .scale = 1.0f,
    };
}

static void refuse_blocks(posenc_dtype type) {
    static const int64_t bad_strides[] = {0, 2, 33, -1, INT64_MIN, INT64_MAX};
    posenc_rope *made = block_rope(BLOCK_DIM, BLOCK_DIM / 2);
    const posenc_rope_tensor good = block_task(type);
    posenc_rope_tensor bad = good;
    refuse_tasks_of(rope, &bad, POSENC_ERR_SHAPE); /* whose heads have no blocks */
    for (size_t k = 0; k < sizeof bad_strides / sizeof bad_strides[0]; k++) {
        bad.y.nb[0] = bad_strides[k];
        refuse_tasks_of(made, &bad, POSENC_ERR_STRIDE);
        bad = good;
        bad.y.nb[1] = good.y.nb[1] == bad_strides[k] ? 1 : bad_strides[k];
        refuse_tasks_of(made, &bad, POSENC_ERR_STRIDE);
        bad = good;
    }
    bad.y.data = shifted(bad.y.data, 1);
    refuse_tasks_of(made, &bad, POSENC_ERR_STRIDE);
    bad = good;
    bad.y.data = bad.x.data; /* in place */
    refuse_tasks_of(made, &bad, POSENC_ERR_OVERLAP);
    bad.y.data = shifted(bad.x.data, (int)sizeof(float) * BLOCK_DIM * BLOCK_HEADS * BLOCK_TOKENS - 2);
    refuse_tasks_of(made, &bad, POSENC_ERR_OVERLAP);
    int32_t rows32[BLOCK_TOKENS] = {2, 1, 0};
    bad.rows32 = rows32;
    refuse_tasks_of(made, &bad, POSENC_ERR_OVERLAP);
    bad = good;
    rows32[1] = BLOCK_TOKENS;
    bad.rows32 = rows32;
    refuse_tasks_of(made, &bad, POSENC_ERR_ROWS);
    bad = good;
    bad.y.ne[2]++;
    refuse_tasks_of(made, &bad, POSENC_ERR_SHAPE);
    posenc_rope_free(made);
}

/* Blocks that are read: in place of the same type alone. */
static void refuse_read_blocks(posenc_dtype type) {
    posenc_rope *made = block_rope(BLOCK_DIM, BLOCK_DIM / 2);
    posenc_rope_tensor good = block_task(type), bad;
    good.x = posenc_view_dense(in, type, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1);
    bad = good;
    bad.x.nb[0] = 2;
    refuse_tasks_of(made, &bad, POSENC_ERR_STRIDE);
    bad = good;
    bad.x.data = shifted(good.x.data, 1);
    refuse_tasks_of(made, &bad, POSENC_ERR_STRIDE);
    bad = good;
    bad.y.data = shifted(good.x.data, 2);
    refuse_tasks_of(made, &bad, POSENC_ERR_OVERLAP);
    posenc_dtype other = (posenc_dtype)((int)type == POSENC_FLOAT_TYPES ? type + 1 : POSENC_FLOAT_TYPES);
    bad.y = posenc_view_dense(in, other, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1);
    refuse_tasks_of(made, &bad, POSENC_ERR_OVERLAP);
    bad.y = posenc_view_dense(in, POSENC_F32, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1);
    refuse_tasks_of(made, &bad, POSENC_ERR_OVERLAP);
    const int32_t rows32[BLOCK_TOKENS] = {2, 1, 0};
    bad.y = good.x;
    bad.rows32 = rows32; /* into itself */
    refuse_tasks_of(made, &bad, POSENC_ERR_OVERLAP);
    posenc_rope_free(made);
    posenc_rope *wide = block_rope(POSENC_MAX_HEAD_DIM + 32, BLOCK_DIM), *full = block_rope(320, 258);
    bad = block_task(POSENC_F32);
    bad.x = posenc_view_dense(NULL, type, POSENC_MAX_HEAD_DIM + 32, BLOCK_HEADS, 0, 1);
    bad.y = posenc_view_dense(NULL, POSENC_F32, POSENC_MAX_HEAD_DIM + 32, BLOCK_HEADS, 0, 1);
    refuse_tasks_of(wide, &bad, POSENC_ERR_HEAD_DIM);
    bad.x = posenc_view_dense(NULL, type, 320, BLOCK_HEADS, 0, 1);
    bad.y = posenc_view_dense(NULL, POSENC_F32, 320, BLOCK_HEADS, 0, 1);
    refuse_tasks_of(full, &bad, POSENC_ERR_N_ROT);
    posenc_rope_free(wide);
    posenc_rope_free(full);
}

static void refuse_dequantise(posenc_dtype type) {
    const posenc_view good = posenc_view_dense(in, type, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1),
                      good_y = posenc_view_dense(out, POSENC_F32, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1);
    posenc_view x = good, y = good_y;
    posenc_range all = posenc_range_all();
    RETURNS(POSENC_ERR_NULL, posenc_dequantise, NULL, &y, all);
    RETURNS(POSENC_ERR_NULL, posenc_dequantise, &x, NULL, all);
    RETURNS(POSENC_ERR_ROWS, posenc_dequantise, &x, &y, ((posenc_range){0, BLOCK_HEADS * BLOCK_TOKENS + 1}));
#define BAD_DEQUANTISE(status, change)                                                                                 \
    change;                                                                                                            \
    RETURNS(status, posenc_dequantise, &x, &y, all);                                                                   \
    x = good;                                                                                                          \
    y = good_y
    BAD_DEQUANTISE(POSENC_ERR_NULL, x.data = NULL);
    BAD_DEQUANTISE(POSENC_ERR_NULL, y.data = NULL);
    BAD_DEQUANTISE(POSENC_ERR_DTYPE, x = posenc_view_dense(in, POSENC_F16, BLOCK_DIM, BLOCK_HEADS, BLOCK_TOKENS, 1));
    BAD_DEQUANTISE(POSENC_ERR_DTYPE, y.dtype = type);
    BAD_DEQUANTISE(POSENC_ERR_SHAPE, x.ne[0] = y.ne[0] = BLOCK_DIM - 1);
    BAD_DEQUANTISE(POSENC_ERR_SHAPE, y.ne[0] = BLOCK_DIM / 2);
    BAD_DEQUANTISE(POSENC_ERR_SHAPE, x.ne[2]--);
    BAD_DEQUANTISE(POSENC_ERR_STRIDE, x.nb[0] = 1);
    BAD_DEQUANTISE(POSENC_ERR_STRIDE, y.nb[1] = 4);
    BAD_DEQUANTISE(POSENC_ERR_STRIDE, x.data = shifted(in, 1));
    BAD_DEQUANTISE(POSENC_ERR_OVERLAP, x.data = out);
}

/* More channels than a head that is finished in float32 may have, or more that are rotated. */
static void refuse_large_heads(posenc_dtype type, int64_t hadamard) {
    posenc_rope_tensor task = block_task(type);
    posenc_rope *wide = block_rope(POSENC_MAX_HEAD_DIM + 32, BLOCK_DIM), *full = block_rope(320, 258);
    task.hadamard = hadamard;
    task.x = posenc_view_dense(NULL, POSENC_F32, POSENC_MAX_HEAD_DIM + 32, BLOCK_HEADS, 0, 1);
    task.y = posenc_view_dense(NULL, type, POSENC_MAX_HEAD_DIM + 32, BLOCK_HEADS, 0, 1);
    refuse_tasks_of(wide, &task, POSENC_ERR_HEAD_DIM);
    task.x = posenc_view_dense(NULL, POSENC_F32, 320, BLOCK_HEADS, 0, 1);
    task.y = posenc_view_dense(NULL, type, 320, BLOCK_HEADS, 0, 1);
    refuse_tasks_of(full, &task, POSENC_ERR_N_ROT);
    task.rotates = 0;
    refuse_tasks_of(full, &task, POSENC_OK);
    posenc_rope_free(wide);
    posenc_rope_free(full);
}

void test_blocks(void **state) {
    (void)state;
    for (int type = POSENC_FLOAT_TYPES; type < POSENC_FORMATS_END; type++) {
        refuse_blocks((posenc_dtype)type);
        refuse_read_blocks((posenc_dtype)type);
        refuse_dequantise((posenc_dtype)type);
        refuse_large_heads((posenc_dtype)type, 0);
    }
}

void test_hadamard(void **state) {
    (void)state;
    static const int64_t bad_sizes[] = {1,  3,  5,  6,         2 * DIM,   7 * DIM, -1,
                                        -2, -4, 12, INT64_MIN, INT64_MAX, 1024,    (int64_t)1 << 32};
    posenc_view x = dense(in), y = dense(out), wide_x = posenc_view_dense(NULL, POSENC_F32, 1040, 2, 0, 1),
                wide_y = wide_x;
    posenc_range all = posenc_range_all();
    for (size_t k = 0; k < sizeof bad_sizes / sizeof bad_sizes[0]; k++) {
        RETURNS(POSENC_ERR_SHAPE, posenc_hadamard, &x, &y, bad_sizes[k], all);
        posenc_rope_tensor task = good_task(in, out);
        task.hadamard = bad_sizes[k];
        refuse_task(task, POSENC_ERR_SHAPE);
    }
    RETURNS(POSENC_ERR_SHAPE, posenc_hadamard, &x, &y, (int64_t)0, all);
    RETURNS(POSENC_ERR_HEAD_DIM, posenc_hadamard, &wide_x, &wide_y, (int64_t)16, all);
    RETURNS(POSENC_ERR_ROWS, posenc_hadamard, &x, &y, (int64_t)DIM, ((posenc_range){0, HEADS * TOKENS * BATCH + 1}));
    refuse_large_heads(POSENC_F32, 32);
    refuse_large_heads(POSENC_F16, 32);
}

void test_rope_tasks(void **state) {
    (void)state;
    static const float bad_scales[] = {NAN, INFINITY, -INFINITY};
    posenc_rope_tensor good = good_task(in, out), bad = good;
    posenc_range all = posenc_range_all(), none = {0, 0};
    posenc_direction forward = POSENC_FORWARD;
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_tensors, NULL, &good, 1, positions, NULL, forward, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_tensors, rope, NULL, 1, positions, NULL, forward, all);
    RETURNS(POSENC_ERR_NULL, posenc_rope_apply_tensors, rope, &good, 1, NULL, NULL, forward, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_apply_tensors, rope, &good, -1, positions, NULL, forward, all);
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_apply_tensors, rope, &good, INT64_MIN, positions, NULL, forward, all);
    RETURNS(POSENC_OK, posenc_rope_apply_tensors, rope, NULL, 0, NULL, NULL, forward, all);
    RETURNS(POSENC_ERR_STRIDE, posenc_rope_apply_tensors, rope, &good, 1, shifted(positions, 3), NULL, forward, all);
    RETURNS(POSENC_ERR_ENUM, posenc_rope_apply_tensors, rope, &good, 1, positions, NULL, (posenc_direction)4, all);
    RETURNS(POSENC_ERR_ROWS, posenc_rope_apply_tensors, rope, &good, 1, positions, NULL, forward,
            ((posenc_range){0, HEADS * TOKENS + 1}));
    good.rotates = 0; /* nothing turns: no positions */
    RETURNS(POSENC_OK, posenc_rope_apply_tensors, rope, &good, 1, NULL, NULL, forward, none);
    for (size_t k = 0; k < sizeof bad_scales / sizeof bad_scales[0]; k++) {
        bad.scale = bad_scales[k];
        refuse_task(bad, POSENC_ERR_SCALE);
    }
    bad = good_task(in, out);
    bad.x.ne[2] = bad.y.ne[2] = TOKENS - 1; /* fewer tokens than the first */
    posenc_rope_tensor uneven[] = {good_task(rows_a, rows_b), bad};
    RETURNS(POSENC_ERR_SHAPE, posenc_rope_apply_tensors, rope, uneven, 2, positions, NULL, forward, all);
    bad = good_task(in, out);
    bad.x.ne[2] = bad.y.ne[2] = bad.x.ne[3] = bad.y.ne[3] = 2; /* a batch */
    refuse_task(bad, POSENC_ERR_SHAPE);
    refuse_scatter();
    refuse_norm();

    posenc_rope_params params = good_params();
    params.layout = POSENC_ROPE_DEINTERLEAVE;
    posenc_rope *deinterleave;
    truth_ok(posenc_rope_create(&params, &deinterleave));
    bad = good_task(in, in);
    refuse_tasks_of(deinterleave, &bad, POSENC_ERR_OVERLAP);
    bad.rotates = 0; /* nothing crosses, and nothing is to do */
    refuse_tasks_of(deinterleave, &bad, POSENC_OK);
    posenc_rope_free(deinterleave);
}
