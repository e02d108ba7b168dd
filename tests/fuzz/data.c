/* SPDX-License-Identifier: MIT */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../harness.h"
#include "../truth_half.h"

/* ---- Memory ---- */

enum { MOST_BLOCKS = 64 };

typedef enum block_role { BLOCK_INPUT, BLOCK_OUTPUT, BLOCK_SCRATCH } block_role;

/* A block of memory; of an output also what it held, the bytes that belong to elements, what the first call left, and
 * the bytes that a part has written. */
typedef struct block {
    test_guarded memory;
    block_role role;
    int has_result;
    posenc_view view;
    unsigned char *before, *elements, *result, *claimed;
    size_t kept; /* bytes that there are of each of the four */
} block;

static block blocks[MOST_BLOCKS];
static int n_blocks;

static void protect(const block *b, int access) {
    if (mprotect(b->memory.first, b->memory.size, access) != 0)
        data_fail("mprotect");
}

void data_open(const uint8_t *data, size_t n) {
    for (int i = 0; i < n_blocks; i++)
        protect(&blocks[i], PROT_READ | PROT_WRITE);
    n_blocks = 0;
    data_seed(data, n);
}

static block *new_block(int64_t n, size_t size) {
    if (n_blocks == MOST_BLOCKS)
        data_fail("more than %d blocks", MOST_BLOCKS);
    block *b = &blocks[n_blocks++];
    size_t drawn = (size_t)draw(16);
    test_placement place = {drawn < 12, drawn < 12 ? 0 : (drawn - 12) * size}; /* few behind the guard page before */
    test_guarded_place(&b->memory, (size_t)n * size, place);
    b->role = BLOCK_INPUT;
    b->has_result = 0;
    return b;
}

void *data_block(int64_t n, size_t size) {
    return new_block(n, size)->memory.data;
}

void *data_scratch(size_t n) {
    block *b = new_block((int64_t)(n / sizeof(float)), sizeof(float));
    b->role = BLOCK_SCRATCH;
    return b->memory.data;
}

float *data_floats(int64_t n, double size) {
    float *x = data_block(n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)data_uniform(-size, size);
    return x;
}

int32_t *data_int32s(int64_t n, int64_t low, int64_t high) {
    int32_t *x = data_block(n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int32_t)(low + (int64_t)(data_random() % (uint64_t)(high - low + 1)));
    return x;
}

static void *element(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (char *)view->data + i0 * view->nb[0] + i1 * view->nb[1] + i2 * view->nb[2] + i3 * view->nb[3];
}

#define EACH(view, i0, i1, i2, i3)                                                                                     \
    for (int64_t i3 = 0; i3 < (view)->ne[3]; i3++)                                                                     \
        for (int64_t i2 = 0; i2 < (view)->ne[2]; i2++)                                                                 \
            for (int64_t i1 = 0; i1 < (view)->ne[1]; i1++)                                                             \
                for (int64_t i0 = 0; i0 < (view)->ne[0]; i0++)

/* Strides drawn, then memory of just the elements from the first to the last. */
static block *new_tensor(posenc_view *view, double size, int may_share) {
    static const int orders[6][3] = {{1, 2, 3}, {2, 1, 3}, {1, 3, 2}, {3, 2, 1}, {2, 3, 1}, {3, 1, 2}};
    const int *order = orders[draw_rarely(2) ? draw(6) : 0];
    int is_plain = draw(2) == 0;
    int64_t covered = view->ne[0], begin = 0, bytes_each = (int64_t)truth_size(view->dtype);
    view->nb[0] = bytes_each;
    for (int i = 0; i < 3; i++) {
        int dim = order[i];
        int64_t n = view->ne[dim], stride = covered + (is_plain ? 0 : draw(9));
        if (may_share && !is_plain && draw_rarely(8))
            stride = 0;
        int64_t reach = n > 0 ? (n - 1) * stride : 0;
        int is_reversed = !is_plain && draw_rarely(4);
        covered += reach;
        begin += is_reversed ? reach : 0;
        view->nb[dim] = (is_reversed ? -stride : stride) * bytes_each;
    }
    int64_t count = view->ne[0] * view->ne[1] * view->ne[2] * view->ne[3];
    block *b = new_block(count > 0 ? covered : 0, (size_t)bytes_each);
    view->data = b->memory.data + (count > 0 ? begin * bytes_each : 0);
    EACH(view, i0, i1, i2, i3)
    truth_store(element(view, i0, i1, i2, i3), data_number(size), view->dtype);
    return b;
}

posenc_view data_input(posenc_dtype type, double size, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    posenc_view view = {.dtype = type, .ne = {ne0, ne1, ne2, ne3}};
    new_tensor(&view, size, 1);
    return view;
}

/* One NaN for all, so that bytes can be compared. */
static void unify_nans(const posenc_view *view) {
    EACH(view, i0, i1, i2, i3)
    if (isnan(truth_load(element(view, i0, i1, i2, i3), view->dtype)))
        truth_store(element(view, i0, i1, i2, i3), NAN, view->dtype);
}

static void keep_bytes(block *b) {
    unsigned char **kept[] = {&b->before, &b->elements, &b->result, &b->claimed};
    for (int i = 0; i < 4 && b->memory.bytes > b->kept; i++) {
        free(*kept[i]);
        *kept[i] = malloc(b->memory.bytes);
        if (*kept[i] == NULL)
            data_fail("no memory");
    }
    b->kept = b->memory.bytes > b->kept ? b->memory.bytes : b->kept;
}

posenc_view data_output(posenc_dtype type, double size, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    posenc_view view = {.dtype = type, .ne = {ne0, ne1, ne2, ne3}};
    block *b = new_tensor(&view, size, 0);
    keep_bytes(b);
    b->role = BLOCK_OUTPUT;
    b->view = view;
    unify_nans(&view);
    if (b->memory.bytes > 0) {
        memcpy(b->before, b->memory.data, b->memory.bytes);
        memset(b->elements, 0, b->memory.bytes);
    }
    EACH(&view, i0, i1, i2, i3)
    memset(b->elements + ((unsigned char *)element(&view, i0, i1, i2, i3) - b->memory.data), 1, truth_size(type));
    return view;
}

double data_get(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (double)truth_load(element(view, i0, i1, i2, i3), view->dtype);
}

void data_set(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3, float value) {
    truth_store(element(view, i0, i1, i2, i3), value, view->dtype);
}

double data_was(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const unsigned char *at = element(view, i0, i1, i2, i3);
    for (int i = 0; i < n_blocks; i++) {
        const block *b = &blocks[i];
        if (b->role == BLOCK_OUTPUT && at >= b->memory.data && at < b->memory.data + b->memory.bytes)
            at = b->before + (at - b->memory.data);
    }
    return (double)truth_load(at, view->dtype);
}

void data_next(void) {
    for (int i = 0; i < n_blocks; i++)
        if (blocks[i].role == BLOCK_OUTPUT)
            blocks[i].role = BLOCK_INPUT;
}

/* ---- Calls ---- */

static void restore(void) {
    for (int i = 0; i < n_blocks; i++)
        if (blocks[i].role == BLOCK_OUTPUT && blocks[i].memory.bytes > 0)
            memcpy(blocks[i].memory.data, blocks[i].before, blocks[i].memory.bytes);
}

static void compare_whole(block *b, posenc_status status, int is_first) {
    const unsigned char *now = b->memory.data;
    if (!test_guarded_intact(&b->memory))
        data_fail("written outside of an output");
    for (size_t i = 0; i < b->memory.bytes; i++) {
        if ((status != POSENC_OK || !b->elements[i]) && now[i] != b->before[i])
            data_fail("written between the elements, or by a refused call: byte %zu", i);
        if (!is_first && now[i] != b->result[i])
            data_fail("another result, in byte %zu of %zu (type %d)", i, b->memory.bytes, (int)b->view.dtype);
    }
    if (is_first && b->memory.bytes > 0)
        memcpy(b->result, now, b->memory.bytes);
}

static void compare_part(block *b) {
    const unsigned char *now = b->memory.data;
    for (size_t i = 0; i < b->memory.bytes; i++) {
        if (now[i] == b->before[i])
            continue;
        if (now[i] != b->result[i])
            data_fail("a part has another result, in byte %zu of %zu", i, b->memory.bytes);
        if (b->claimed[i]++)
            data_fail("two parts write byte %zu", i);
    }
}

static posenc_isa_tier draw_tier(void) {
    posenc_isa_tier tier = (posenc_isa_tier)draw(POSENC_ISA_COUNT);
    while (!posenc_isa_supported(tier))
        tier--;
    return tier;
}

static posenc_status call_once(data_call call, const void *arguments, posenc_isa_tier tier, posenc_range rows) {
    restore();
    if (posenc_isa_select(tier) != POSENC_OK)
        data_fail("tier");
    posenc_status status = call(arguments, rows);
    for (int i = 0; i < n_blocks; i++)
        if (blocks[i].role == BLOCK_OUTPUT)
            unify_nans(&blocks[i].view);
    return status;
}

/* Up to three parts, each from what was there before; together they are the whole. */
static void run_parts(data_call call, const void *arguments, int64_t n_rows) {
    for (int i = 0; i < n_blocks; i++)
        if (blocks[i].role == BLOCK_OUTPUT && blocks[i].memory.bytes > 0)
            memset(blocks[i].claimed, 0, blocks[i].memory.bytes);
    int64_t begin = 0;
    for (int part = 0; part < 3; part++) {
        int64_t end = part == 2 ? n_rows : draw_between(begin, n_rows);
        if (call_once(call, arguments, draw_tier(), (posenc_range){begin, end}) != POSENC_OK)
            data_fail("a part is refused");
        for (int i = 0; i < n_blocks; i++)
            if (blocks[i].role == BLOCK_OUTPUT)
                compare_part(&blocks[i]);
        begin = end;
    }
    for (int k = 0; k < n_blocks; k++)
        for (size_t i = 0; blocks[k].role == BLOCK_OUTPUT && i < blocks[k].memory.bytes; i++) {
            blocks[k].memory.data[i] = blocks[k].result[i];
            if (blocks[k].result[i] != blocks[k].before[i] && !blocks[k].claimed[i])
                data_fail("no part writes byte %zu", i);
        }
}

posenc_status data_run(data_call call, const void *arguments, int64_t n_rows) {
    for (int i = 0; i < n_blocks; i++)
        if (blocks[i].role == BLOCK_INPUT)
            protect(&blocks[i], PROT_READ);
    posenc_status first = POSENC_OK;
    int is_first = 1;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++) {
        if (!posenc_isa_supported((posenc_isa_tier)tier))
            continue;
        posenc_status status = call_once(call, arguments, (posenc_isa_tier)tier, posenc_range_all());
        first = is_first ? status : first;
        if (status != first)
            data_fail("'%s', but '%s' before", posenc_status_string(status), posenc_status_string(first));
        for (int i = 0; i < n_blocks; i++)
            if (blocks[i].role == BLOCK_OUTPUT) {
                compare_whole(&blocks[i], status, !blocks[i].has_result);
                blocks[i].has_result = 1;
            }
        is_first = 0;
    }
    if (first == POSENC_OK && n_rows > 0)
        run_parts(call, arguments, n_rows);
    return first;
}

void data_ok(data_call call, const void *arguments, int64_t n_rows) {
    posenc_status status = data_run(call, arguments, n_rows);
    if (status != POSENC_OK)
        data_fail("refused: %s", posenc_status_string(status));
}
