/* SPDX-License-Identifier: MIT */
/* The parts of posenc model's report. */
#ifndef POSENC_TOOLS_MODEL_REPORT_H
#define POSENC_TOOLS_MODEL_REPORT_H

#include "model.h"

typedef struct model_options {
    char *path;
    int64_t n_tokens;
    double context;
    unsigned tiers; /* bit t: tier t is wanted */
    double seconds; /* to time each thing */
} model_options;

/* Wanted, and runs here. */
int model_wants(const model_options *o, int tier);

/* Tokens before the one that is decoded: the context, as far as it is short enough to be worth the memory. */
int64_t model_cached_tokens(const model_options *o, const model_config *m);

/* Layers that rotate. */
int64_t model_rotated_layers(const model_config *m);

/* 1 if heads of Q and K are alike in both. */
int model_same_heads(const model_table *a, const model_table *b);

/* The table whose layers are timed: that of most layers, for their heads may differ. */
const model_table *model_timed_table(const model_config *m);

/* What the model is. */
void model_print(const model_config *m, const char *path);

/* Verify and time; checks that fail are counted. A status other than OK: they could not. */
posenc_status model_report_rope(const model_options *o, const model_config *m, int *failures);
posenc_status model_report_alibi(const model_options *o, const model_config *m, int *failures);

#endif
