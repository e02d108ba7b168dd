/* SPDX-License-Identifier: MIT */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half.h"

const size_t test_sizes[] = {0,  1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,   12,  13, 14, 15, 16,
                             17, 18,  19,  20,  21,  22,  23,  24,  25,  26,  27,  28,   29,  30, 31, 32, 33,
                             34, 35,  36,  37,  38,  39,  40,  41,  42,  43,  44,  45,   46,  47, 48, 49, 50,
                             51, 52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  62,   63,  64, 65, 66, 67,
                             96, 113, 127, 128, 129, 130, 500, 511, 512, 513, 515, 1000, 4099};
const size_t test_n_sizes = sizeof test_sizes / sizeof test_sizes[0];

const size_t test_counts[] = {0, 1, 2, 3, 7};
const size_t test_n_counts = sizeof test_counts / sizeof test_counts[0];

int test_size_is_large(size_t n) {
    return n > 67;
}

ptrdiff_t test_stride(size_t which, size_t n) {
    const ptrdiff_t strides[] = {(ptrdiff_t)n, (ptrdiff_t)n + 3, -(ptrdiff_t)n - 1, 0};
    return strides[which % 4];
}

posenc_dtype test_type(int round, size_t which, size_t n) {
    if (round > 0)
        return (posenc_dtype)(POSENC_FORMATS_END + which % (POSENC_TYPES - POSENC_FORMATS_END));
    return (posenc_dtype)(which % (n % POSENC_QUANT_BLOCK == 0 && n > 0 ? POSENC_FORMATS_END : POSENC_FLOAT_TYPES));
}

posenc_visible test_visible(size_t n, size_t which) {
    posenc_visible visible = {.end = which % 4 == 0 ? n : test_random() % (n + 1)};
    if (which % 4 >= 2)
        visible.begin = test_random() % (visible.end + 1);
    if (visible.begin == visible.end)
        visible.begin = visible.end = 0;
    if (which % 4 == 3 && visible.end - visible.begin >= 3) {
        visible.hole_begin = visible.begin + 1 + test_random() % (visible.end - visible.begin - 2);
        visible.hole_end = visible.hole_begin + 1 + test_random() % (visible.end - visible.hole_begin - 1);
    }
    return visible;
}

/* ---- Describing a call ---- */

void call_begin(kernel_call *call, kernel_id kernel, call_arguments *arguments, const void *shape) {
    call->kernel = kernel;
    call->arguments = arguments;
    call->shape = shape;
    call->n_operands = 0;
}

void call_kernel(const posenc_kernels *kernels, kernel_id kernel, const kernel_args *args) {
    switch (kernel) {
#define KERNEL(name, type)                                                                                             \
    case KERNEL_##name:                                                                                                \
        kernels->name(&args->name);                                                                                    \
        return;
#include "kernels/kernels.def"
#undef KERNEL
    default: test_fail("there is no kernel %d", (int)kernel);
    }
}

void call_free(kernel_call *call) {
    for (int k = 0; k < MAX_OPERANDS; k++) {
        operand *o = &call->operands[k];
        free(o->lane);
        free(o->before);
        free(o->scalar);
        test_guarded_free(&o->memory);
        *o = (operand){0};
    }
}

/* Room for `needed` bytes, and for more to come: a sweep asks for one element more at a time. */
static void *grown(void *old, size_t *room, size_t needed) {
    if (old != NULL && needed <= *room)
        return old;
    *room = needed + needed / 2 + 256;
    void *p = realloc(old, *room);
    if (p == NULL)
        test_fail("no memory");
    return p;
}

size_t element_size(element_type type) {
    static const size_t sizes[] = {
        [ELEMENT_F32] = sizeof(float),  [ELEMENT_F16] = 2, [ELEMENT_BF16] = 2, [ELEMENT_F8_E4M3] = 1,
        [ELEMENT_F64] = sizeof(double), [ELEMENT_I32] = 4, [ELEMENT_U16] = 2,  [ELEMENT_U8] = 1};
    return sizes[type];
}

element_type element_of(posenc_dtype type) {
    return posenc_has_blocks(type) ? ELEMENT_F16 : (element_type)type;
}

size_t element_count(size_t n, posenc_dtype type) {
    return posenc_has_blocks(type) ? n / POSENC_QUANT_BLOCK * ((size_t)posenc_block_bytes(type) / 2) : n;
}

ptrdiff_t element_bytes(ptrdiff_t elements, posenc_dtype type) {
    return elements * (ptrdiff_t)element_size(element_of(type));
}

const char *element_name(posenc_dtype type) {
#define NAME(type, name, ...) [type] = #name,
    static const char *const names[] = {POSENC_EACH_TYPE(NAME)};
#undef NAME
    return names[type];
}

operand *call_operand(kernel_call *call, const char *name, operand_role role, element_type type, size_t count) {
    operand *o = &call->operands[call->n_operands++];
    size_t bytes = count * element_size(type), room = o->room;
    o->lane = grown(o->lane, &o->lane_room, count * sizeof *o->lane);
    o->before = grown(o->before, &room, bytes);
    o->scalar = grown(o->scalar, &o->room, bytes);
    o->name = name;
    o->role = role;
    o->type = type;
    o->element = element_size(type);
    o->count = count;
    for (size_t i = 0; i < count; i++)
        o->lane[i] = NO_LANE;
    return o;
}

void operand_row(operand *o, size_t at, size_t n, size_t step) {
    for (size_t i = 0; i < n; i++)
        o->lane[at + i * step] = (int32_t)i;
}

void operand_rows(operand *o, size_t n_rows, ptrdiff_t stride, size_t at, size_t n, size_t step) {
    size_t origin = rows_origin(n_rows, stride);
    for (size_t r = 0; r < n_rows; r++)
        operand_row(o, origin + (size_t)((ptrdiff_t)r * stride) + at, n, step);
}

void call_head_factors(kernel_call *call, size_t n_heads, int vary) {
    operand *o = call_operand(call, "head_factors", OPERAND_IN, ELEMENT_F32, n_heads);
    operand_row(o, 0, vary ? n_heads : 0, 1);
}

int call_row(kernel_call *call, const char *name, operand_role role, element_type type, size_t n) {
    operand_row(call_operand(call, name, role, type, n), 0, n, 1);
    return call->n_operands - 1;
}

int call_rows(kernel_call *call, const char *name, operand_role role, element_type type, size_t n_rows,
              ptrdiff_t stride, size_t n) {
    operand_rows(call_operand(call, name, role, type, rows_extent(n_rows, stride, n)), n_rows, stride, 0, n, 1);
    return call->n_operands - 1;
}

int call_stored_rows(kernel_call *call, const char *name, operand_role role, posenc_dtype type, size_t n_rows,
                     ptrdiff_t stride, size_t n) {
    return call_rows(call, name, role, element_of(type), n_rows, stride, element_count(n, type));
}

static size_t distance(ptrdiff_t stride) {
    return (size_t)(stride < 0 ? -stride : stride);
}

size_t rows_extent(size_t n_rows, ptrdiff_t stride, size_t width) {
    return n_rows == 0 ? 0 : (n_rows - 1) * distance(stride) + width;
}

size_t rows_origin(size_t n_rows, ptrdiff_t stride) {
    return n_rows == 0 || stride > 0 ? 0 : (n_rows - 1) * distance(stride);
}

void *call_data(const kernel_call *call, int index, size_t at) {
    return call->operands[index].memory.data + at * call->operands[index].element;
}

void *call_row_at(const kernel_call *call, int index, size_t n_rows, ptrdiff_t stride, size_t r) {
    return call_data(call, index, rows_origin(n_rows, stride) + (size_t)((ptrdiff_t)r * stride));
}

const void *const *call_row_addresses(const kernel_call *call, int index, size_t n_rows, ptrdiff_t stride,
                                      row_order order) {
    static const void **rows;
    static size_t room;
    rows = grown((void *)rows, &room, n_rows * sizeof *rows);
    for (size_t t = 0; t < n_rows; t++)
        rows[t] = call_row_at(call, index, n_rows, stride, order == MIXED ? (t * 5 + 3) % n_rows : t);
    return rows;
}

/* ---- Elements of any type ---- */

static double element_at(const operand *o, const unsigned char *data, size_t i) {
    if (o->type == ELEMENT_F64) {
        double value;
        memcpy(&value, data + i * sizeof value, sizeof value);
        return value;
    }
    if (o->type == ELEMENT_I32) {
        int32_t value;
        memcpy(&value, data + i * sizeof value, sizeof value);
        return (double)value;
    }
    if (o->type == ELEMENT_U16)
        return (double)((const uint16_t *)(const void *)data)[i];
    if (o->type == ELEMENT_U8)
        return (double)data[i];
    return (double)posenc_load_stored(data, i, (posenc_dtype)o->type);
}

void operand_set(operand *o, size_t at, double value) {
    if (o->type == ELEMENT_F64) {
        memcpy(o->before + at * sizeof value, &value, sizeof value);
    } else if (o->type == ELEMENT_I32) {
        int32_t integer = (int32_t)value;
        memcpy(o->before + at * sizeof integer, &integer, sizeof integer);
    } else if (o->type == ELEMENT_U16) {
        ((uint16_t *)(void *)o->before)[at] = (uint16_t)value;
    } else if (o->type == ELEMENT_U8) {
        o->before[at] = (unsigned char)value;
    } else {
        posenc_store_plain(o->before, at, (float)value, (posenc_dtype)o->type);
    }
}

/* Bit for bit: what is drawn may be a signalling NaN. */
static void fill_element(operand *o, size_t i, test_fill fill) {
    unsigned char *to = o->before + i * o->element;
    if (o->type == ELEMENT_F64) {
        double value = test_random_double(fill);
        memcpy(to, &value, sizeof value);
    } else if (o->type == ELEMENT_I32 || o->type == ELEMENT_U16 || o->type == ELEMENT_U8) {
        memset(to, 0, o->element);
    } else if (o->type == ELEMENT_F32) {
        float value = test_random_float(fill);
        memcpy(to, &value, sizeof value);
    } else if (o->type == ELEMENT_F8_E4M3) {
        float value = test_random_float(fill);
        *to = fill == FILL_ADVERSARIAL ? (unsigned char)test_random() : posenc_to_f8_e4m3(value);
    } else {
        uint16_t value = test_random_half(fill, o->type == ELEMENT_F16 ? 10 : 7);
        memcpy(to, &value, sizeof value);
    }
}

/* Fills every lane but `kept`. */
static void fill_all_but(kernel_call *call, test_fill fill, int32_t kept) {
    for (int k = 0; k < call->n_operands; k++) {
        operand *o = &call->operands[k];
        for (size_t i = 0; (o->role & OPERAND_IN) && i < o->count; i++)
            if (o->lane[i] != NO_LANE && o->lane[i] != kept)
                fill_element(o, i, fill);
    }
}

void call_fill(kernel_call *call, test_fill fill) {
    for (int k = 0; k < call->n_operands; k++)
        memset(call->operands[k].before, TEST_CANARY, call->operands[k].count * call->operands[k].element);
    fill_all_but(call, fill, NO_LANE);
}

/* ---- Making it ---- */

/* Place 0 is flush against the page behind, 1 against the page before, 2 .. 31 take every element's misalignment from
 * either side; each operand goes through them in an order of its own. */
enum { N_PLACES = 32 };

static test_placement placement_of(const operand *o, int k, int place) {
    size_t steps = (size_t)(place / 2 * (2 * k + 1)) % (N_PLACES / 2);
    return (test_placement){.at_end = place % 2 == 0, .distance = steps * o->element};
}

static void place_call(kernel_call *call, int place) {
    for (int k = 0; k < call->n_operands; k++) {
        operand *o = &call->operands[k];
        void *data = test_guarded_place(&o->memory, o->count * o->element, placement_of(o, k, place));
        memcpy(data, o->before, o->count * o->element);
    }
}

static void make_at(kernel_call *call, const posenc_kernels *kernels, int place) {
    kernel_args args;
    test_case_detail("on %s, place %d", posenc_isa_name(kernels->tier), place);
    place_call(call, place);
    call->arguments(call, &args);
    call_kernel(kernels, call->kernel, &args);
}

void call_place(kernel_call *call) {
    place_call(call, 0);
}

void call_make(kernel_call *call, const posenc_kernels *kernels) {
    make_at(call, kernels, 0);
}

/* ---- Checking it ---- */

static int same_bits(const operand *o, size_t i, const unsigned char *expected) {
    return memcmp(o->memory.data + i * o->element, expected + i * o->element, o->element) == 0;
}

static int both_nan(const operand *o, size_t i, const unsigned char *expected) {
    double a = element_at(o, o->memory.data, i), b = element_at(o, expected, i);
    return a != a && b != b;
}

int operand_is_output(const operand *o, size_t i) {
    return (o->role & OPERAND_OUT) && o->lane[i] != NO_LANE;
}

static void check_surroundings(const operand *o) {
    if (!test_guarded_intact(&o->memory))
        test_fail("wrote outside %s", o->name);
}

/* Nothing but the outputs has changed. */
static void check_untouched(const operand *o) {
    for (size_t i = 0; i < o->count; i++)
        if (!operand_is_output(o, i) && !same_bits(o, i, o->before))
            test_fail("%s[%zu] is not an output and was changed", o->name, i);
}

/* The outputs of a lane, or of all if it is NO_LANE, are those of the scalar kernel. */
static void check_outputs(const operand *o, int32_t lane) {
    size_t n = 0;
    for (size_t i = 0; i < o->count; i++) {
        if (!operand_is_output(o, i) || (lane != NO_LANE && o->lane[i] != lane))
            continue;
        n++;
        if (!same_bits(o, i, o->scalar) && !both_nan(o, i, o->scalar))
            test_fail("%s[%zu], lane %d: %a instead of %a", o->name, i, (int)o->lane[i],
                      element_at(o, o->memory.data, i), element_at(o, o->scalar, i));
    }
    test_count(n);
}

static void call_scalar(kernel_call *call) {
    make_at(call, posenc_tier_kernels(POSENC_ISA_SCALAR), 0);
    for (int k = 0; k < call->n_operands; k++) {
        operand *o = &call->operands[k];
        check_surroundings(o);
        check_untouched(o);
        memcpy(o->scalar, o->memory.data, o->count * o->element);
        o->n_outputs = 0;
        for (size_t i = 0; i < o->count; i++)
            o->n_outputs += (size_t)operand_is_output(o, i);
    }
}

/* Mostly every byte is as scalar left it, outputs and all else, and there is no need to look at the elements. */
static void check_operand(const operand *o, int32_t lane) {
    check_surroundings(o);
    if (lane == NO_LANE && memcmp(o->memory.data, o->scalar, o->count * o->element) == 0) {
        test_count(o->n_outputs);
        return;
    }
    check_untouched(o);
    check_outputs(o, lane);
}

static void check_variant(kernel_call *call, const posenc_kernels *variant, int place, int32_t lane) {
    make_at(call, variant, place);
    for (int k = 0; k < call->n_operands; k++)
        check_operand(&call->operands[k], lane);
}

static void compare_call(kernel_call *call, const posenc_kernels *variant, call_places places) {
    static const int counts[] = {[EVERY_PLACE] = N_PLACES, [FEW_PLACES] = 4, [ONE_PLACE] = 1};
    call_scalar(call);
    for (int place = 0; place < counts[places]; place++)
        check_variant(call, variant, place, NO_LANE);
}

static void compare_lane(kernel_call *call, const posenc_kernels *variant, int32_t lane) {
    call_scalar(call);
    fill_all_but(call, FILL_ADVERSARIAL, lane);
    check_variant(call, variant, 0, lane);
}

/* ---- Modes ---- */

const check_mode check_compare = {compare_call, compare_lane};
static const check_mode *mode = &check_compare;

void check_set_mode(const check_mode *wanted) {
    mode = wanted;
}

void call_check(kernel_call *call, const posenc_kernels *variant, call_places places) {
    mode->call(call, variant, places);
}

void call_check_lane(kernel_call *call, const posenc_kernels *variant, int32_t lane) {
    if (mode->lane != NULL)
        mode->lane(call, variant, lane);
}
