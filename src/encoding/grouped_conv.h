/* SPDX-License-Identifier: MIT */
/* Inside of the grouped convolution. */
#ifndef POSENC_SRC_GROUPED_CONV_H
#define POSENC_SRC_GROUPED_CONV_H

#include <posenc/learned.h>

struct posenc_grouped_conv {
    posenc_grouped_conv_params params;
    int64_t width, pad; /* channels of a group; taps before a token: the rest lie on it and behind */
    float *bias;        /* NULL: none */
    /* [kernel][group], each a table in panels (kernels/panels.h): rows are output channels, their channels are input
     * channels. backward is NULL without has_backward. */
    float *forward, *backward;
};

/* Tokens begin .. end - 1 that tap u reads for: token t reads token t + by, inside 0 .. n_tokens - 1. */
typedef struct posenc_tap_span {
    int64_t begin, end, by;
} posenc_tap_span;

posenc_tap_span posenc_grouped_conv_span(const posenc_grouped_conv *conv, int64_t u, int64_t begin, int64_t end,
                                         int64_t n_tokens, int is_backward);

/* Whether both have the convolution's channels and the same extents. */
posenc_status posenc_grouped_conv_check_tokens(const posenc_grouped_conv *conv, const posenc_view *x,
                                               const posenc_view *y);

#endif
