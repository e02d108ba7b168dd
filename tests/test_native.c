/* SPDX-License-Identifier: MIT */
/* Inline functions of the public headers in a program that is compiled for this very CPU, as engines are: what they
 * make of constants, passed by value to a function that the compiler does not see into. */
#include <posenc/posenc.h>

#include "truth.h"

static __attribute__((noinline)) void expect(posenc_mask mask, const int64_t *numbers) {
    __asm__("" : : "r"(&mask) : "memory");
    const int64_t got[] = {mask.before, mask.after, mask.chunk, mask.n_first};
    for (int i = 0; i < 4; i++)
        assert_int_equal(got[i], numbers[i]);
}

#define EXPECT(mask, ...) expect(mask, (const int64_t[]){__VA_ARGS__})

static void test_masks(void **state) {
    (void)state;
    EXPECT(posenc_mask_none(), -1, -1, 0, 0);
    EXPECT(posenc_mask_causal(), -1, 0, 0, 0);
    EXPECT(posenc_mask_window(3), 2, 0, 0, 0);
    EXPECT(posenc_mask_window(0), INT64_MAX, 0, 0, 0);
    EXPECT(posenc_mask_sides(0, 0), 0, 0, 0, 0);
    EXPECT(posenc_mask_sides(2, 2), 2, 2, 0, 0);
    EXPECT(posenc_mask_sides(-1, 5), -1, 5, 0, 0);
    EXPECT(posenc_mask_chunked(8), -1, 0, 8, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {truth_test(test_masks)};
    return truth_run(tests);
}
