/* SPDX-License-Identifier: MIT */
/* Trims keys masked by a bias of -inf at either end of a query's visible keys. */
#include "softmax/visible.h"

#include <string.h>

#include "kernels/formats.h"

/* Masked keys come in long runs, so masks are compared several words at a time. */
enum { WORDS = 4 };

/* -inf in every place of a word. */
static uint64_t masked_word(posenc_dtype type) {
    switch (type) {
        POSENC_TAKES_NO_CACHE_TYPES;
    case POSENC_F16: return UINT64_C(0xFC00FC00FC00FC00);
    case POSENC_BF16: return UINT64_C(0xFF80FF80FF80FF80);
    case POSENC_F32: break;
    }
    return UINT64_C(0xFF800000FF800000);
}

static int all_masked(const char *bias, uint64_t masked) {
    uint64_t words[WORDS], difference = 0;
    memcpy(words, bias, sizeof words);
    for (int i = 0; i < WORDS; i++)
        difference |= words[i] ^ masked;
    return difference == 0;
}

void posenc_skip_masked(const posenc_softmax_row_args *args, size_t *begin, size_t *end) {
    if (args->bias == NULL || !(args->bias_slope > 0.0f))
        return;
    uint64_t masked = masked_word(args->bias_type);
    size_t size = args->bias_type == POSENC_F32 ? 4 : 2, step = WORDS * sizeof masked / size;
    const char *bias = args->bias;
    while (*begin + step <= *end && all_masked(bias + *begin * size, masked))
        *begin += step;
    while (*begin < *end && memcmp(bias + *begin * size, &masked, size) == 0)
        (*begin)++;
    while (*begin + step <= *end && all_masked(bias + (*end - step) * size, masked))
        *end -= step;
    while (*begin < *end && memcmp(bias + (*end - 1) * size, &masked, size) == 0)
        (*end)--;
}
