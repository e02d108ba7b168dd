/* SPDX-License-Identifier: MIT */
/* Inside of the convolution. */
#ifndef POSENC_SRC_CONV_H
#define POSENC_SRC_CONV_H

#include <posenc/learned.h>

/* Channels at a time: the weights and rows of these channels that a token needs stay in the first cache. */
enum { POSENC_CONV_SLICE = 256 };

struct posenc_conv {
    posenc_conv_params params;
    int64_t height, width; /* of the kernel */
    int64_t pad_y, pad_x;  /* taps above a token and before it: the rest lie on it and behind */
    float *bias;           /* NULL: none */
    float weights[];       /* [height * width][n_channels] */
};

/* Taps of the kernel. */
static inline int64_t posenc_conv_taps(const posenc_conv *conv) {
    return conv->height * conv->width;
}

/* Checks the weights of n_channels channels, and the bias, if any. */
posenc_status posenc_conv_check_weights(const float *weights, const float *bias, int64_t n_channels);

/* The grid, and whether a view has its tokens and the convolution's channels. */
posenc_status posenc_conv_check_grid(const posenc_conv *conv, posenc_conv_grid grid);
posenc_status posenc_conv_check_tokens(const posenc_conv *conv, posenc_conv_grid grid, const posenc_view *x);

/* Checks that the gradients of weights (n for each channel) and bias are apart from the inputs and from each other. db
 * may be NULL. */
posenc_status posenc_conv_check_results(const posenc_view *x, const posenc_view *dy, const float *dw, int64_t n,
                                        const float *db);

/* Adds the tokens after the prefix to db, in order. */
void posenc_conv_bias_backward(const posenc_view *dy, int64_t n_prefix, float *db);

#endif
