/* SPDX-License-Identifier: MIT */
/* Settings of the plugin, which the environment gives when it is loaded. */
#ifndef POSENC_GGML_OPTIONS_H
#define POSENC_GGML_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Arithmetic of FLASH_ATTN_EXT where K or V is quantised. */
typedef enum attention_choice {
    ATTENTION_AUTO, /* by the number of queries: attention_math_of in flash.c */
    ATTENTION_F32,
    ATTENTION_INT16
} attention_choice;

typedef struct plugin_options {
    int64_t min_elements;       /* POSENC_GGML_MIN_ELEMENTS: nodes of less work stay with ggml */
    attention_choice attention; /* POSENC_GGML_ATTENTION_MATH */
    bool has_stats;             /* POSENC_GGML_STATS=1 */
} plugin_options;

extern plugin_options options;

/* Reads the environment. A value that is none leaves the default, with a line in the log. */
void read_options(void);

#endif
