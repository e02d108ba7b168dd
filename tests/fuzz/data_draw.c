/* SPDX-License-Identifier: MIT */
#include "data.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../harness.h"
#include "random.h"

#include "input.h"

static input bytes;
static random_state state;
static int adversarial;

void data_fail(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    fprintf(stderr, "%s: ", posenc_isa_name(posenc_isa()));
    vfprintf(stderr, format, rest);
    fprintf(stderr, "\n");
    va_end(rest);
    abort();
}

void data_seed(const uint8_t *data, size_t n) {
    bytes = (input){data, n};
    uint16_t seed;
    input_bytes(&bytes, &seed, sizeof seed);
    state.state = seed;
    adversarial = draw_rarely(4);
}

int64_t draw(int64_t n) {
    uint16_t drawn = 0;
    if (n > 1)
        input_bytes(&bytes, &drawn, n > 256 ? 2 : 1);
    return n > 1 ? drawn % n : 0;
}

int64_t draw_between(int64_t low, int64_t high) {
    return low + draw(high - low + 1);
}

int64_t draw_size(int64_t most) {
    switch (draw(3)) {
    case 0: return 1 + draw(most < 8 ? most : 8);
    case 1: return 1 + draw(most);
    default: {
        int64_t n = 16 * (1 + draw(most / 16 + 1)) + (draw_rarely(2) ? draw(3) - 1 : 0);
        return n < most ? n : most;
    }
    }
}

int draw_rarely(int64_t n) {
    return draw(n) == n - 1;
}

posenc_dtype draw_type(void) {
    return (posenc_dtype)draw(3);
}

uint64_t data_random(void) {
    return random_bits(&state);
}

double data_uniform(double low, double high) {
    return random_between(&state, low, high);
}

float data_number(double size) {
    if (adversarial && data_random() % 16 == 0)
        return test_special_floats[data_random() % test_n_special_floats];
    return (float)data_uniform(-size, size);
}

int data_is_adversarial(void) {
    return adversarial;
}

/* ---- Comparison with plain double ---- */

double data_rounding(posenc_dtype type, double value) {
    static const double unit[] = {0x1p-24, 0x1p-11, 0x1p-8}, least[] = {0x1p-126, 0x1p-25, 0x1p-126};
    return fabs(value) * unit[type] + least[type];
}

void data_close(const posenc_view *view, double got, double want, double bound, const char *what, int64_t i0,
                int64_t i1, int64_t i2, int64_t i3) {
    bound += data_rounding(view->dtype, want);
    double largest = view->dtype == POSENC_F16 ? 65504.0 : 3e38;
    if (fabs(want) + bound > largest)
        return;
    if (!(fabs(got - want) <= bound))
        data_fail("%s: (%lld, %lld, %lld, %lld) of type %d is %a, wanted %a within %g", what, (long long)i0,
                  (long long)i1, (long long)i2, (long long)i3, (int)view->dtype, got, want, bound);
}
