/* Checks shared by attention and its reference. */
#ifndef POSENC_SRC_ATTENTION_H
#define POSENC_SRC_ATTENTION_H

#include <posenc/attention.h>

/* The tensors, each alone and with each other. */
posenc_status posenc_check_attention(const posenc_view *q, const posenc_view *k, const posenc_view *v,
                                     const posenc_view *out);

#endif
