/* The walk through the cases, their numbers, and the comparison. */
#include "variants_case.h"

#include <stdio.h>
#include <string.h>

#include "kernels/half.h"

struct variant_room room;

/* ---- Numbers ---- */

static double any_of(random_state *random) {
    return random_between(random, -1.0, 1.0);
}

float hostile_number(random_state *random) {
    static const float traps[] = {0.0f,      -0.0f,           1.0f,       -1.0f,     NAN,        INFINITY,
                                  -INFINITY, 0x1.fffffep127f, 0x1p-126f,  0x1p-149f, -0x1p-140f, 88.0f,
                                  65519.0f,  65520.0f,        0x1.002p0f, /* half way between neighbours in f16 */
                                  0x1p-25f,  0x1.01p0f};                  /* ... and in bf16 */
    if (random_below(random, 8) == 0)
        return traps[random_below(random, sizeof traps / sizeof traps[0])];
    return (float)(any_of(random) * exp2(random_between(random, -20.0, 8.0)));
}

void fill_floats(float *p, size_t n, random_state *random, int is_hostile) {
    for (size_t i = 0; i < n; i++)
        p[i] = is_hostile ? hostile_number(random) : (float)(4.0 * any_of(random));
}

void fill_typed(void *p, size_t n, posenc_dtype type, random_state *random, int is_hostile) {
    for (size_t i = 0; i < n; i++)
        posenc_store(p, i, is_hostile ? hostile_number(random) : (float)(4.0 * any_of(random)), type);
}

void fill_doubles(double *p, size_t n, random_state *random) {
    for (size_t i = 0; i < n; i++)
        p[i] = any_of(random);
}

static size_t size_of(posenc_dtype type) {
    return type == POSENC_F32 ? sizeof(float) : sizeof(uint16_t);
}

void fill_outputs(size_t n, posenc_dtype type, random_state *random) {
    fill_typed(room.expected, n, type, random, 0);
    memcpy(room.actual, room.expected, n * size_of(type));
}

/* ---- Comparison ---- */

static void note_difference(variant_check *check, double actual, double expected, int digits, const variant_case *at) {
    if (check->wrong++ > 0)
        return;
    snprintf(check->first, sizeof check->first, "%.*g instead of %.*g; n = %zu, offset %zu, case %u, choices %#llx",
             digits, actual, digits, expected, at->n, at->offset, at->number, (unsigned long long)at->choices);
}

void compare_outputs(variant_check *check, size_t n, posenc_dtype type, const variant_case *at) {
    check->values += n;
    if (memcmp(room.expected, room.actual, n * size_of(type)) == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        float expected = posenc_load(room.expected, i, type), actual = posenc_load(room.actual, i, type);
        int same = posenc_bits(expected) == posenc_bits(actual) || (isnan(expected) && isnan(actual));
        if (!same)
            note_difference(check, (double)actual, (double)expected, 9, at);
    }
}

void compare_wide_outputs(variant_check *check, size_t n, const variant_case *at) {
    check->values += n;
    for (size_t i = 0; i < n; i++) {
        double expected = room.expected_wide[i], actual = room.actual_wide[i];
        int same = memcmp(&expected, &actual, sizeof expected) == 0 || (isnan(expected) && isnan(actual));
        if (!same)
            note_difference(check, actual, expected, 17, at);
    }
}

/* ---- The walk ---- */

typedef void case_body(variant_check *check, const variant_case *at);

static void run_case(variant_check *check, case_body *body, size_t n, size_t offset, unsigned *number) {
    variant_case at = {n, offset, (int)random_below(check->random, 2), (*number)++, random_bits(check->random)};
    body(check, &at);
}

static void walk(variant_check *check, case_body *body) {
    static const size_t large[] = {100, 127, 128, 129, 511, 513, 1024, LARGEST};
    size_t n_large = sizeof large / sizeof large[0];
    unsigned number = 0;
    for (size_t k = 0; k <= LAST_SMALL + n_large; k++) {
        size_t n = k <= LAST_SMALL ? k : large[k - LAST_SMALL - 1];
        for (size_t offset = 0; !check->quick && offset < MAX_OFFSET; offset++)
            run_case(check, body, n, offset, &number);
        run_case(check, body, n, random_below(check->random, MAX_OFFSET), &number);
    }
}

/* ---- The list: a kernel without a case does not link ---- */

#define KERNEL(name, args)                                                                                             \
    static void check_##name(variant_check *check) {                                                                   \
        walk(check, name##_case);                                                                                      \
    }
#include "kernels/kernels.def"
#undef KERNEL

const variant_kernel variant_kernels[] = {
#define KERNEL(name, args) {#name, check_##name},
#include "kernels/kernels.def"
#undef KERNEL
};
const size_t n_variant_kernels = sizeof variant_kernels / sizeof variant_kernels[0];
