/* SPDX-License-Identifier: MIT */
/* What a file does not say because its model_type (Hugging Face) or architecture (GGUF) implies it. */
#ifndef POSENC_TOOLS_MODEL_TYPES_H
#define POSENC_TOOLS_MODEL_TYPES_H

#include "model.h"

/* Which layers see all keys, and which rotate. All 0: all layers do both. */
typedef struct layer_pattern {
    int64_t full_every;      /* one of so many layers sees all keys, the others have a sliding window */
    int full_comes_first;    /* of those so many, and not last */
    int64_t unrotated_every; /* the last of so many layers does not rotate */
    int64_t attention_every; /* the last of so many layers is attention, the others have no Q and K */
    int only_windows_rotate;
    int only_if_windows;  /* without an attention.sliding_window of GGUF, or with a sliding_window of JSON that is null,
                           * there is no pattern: all 0 */
    int windows_unscaled; /* GGUF: layers with a window turn by the same base, but are not scaled */
} layer_pattern;

/* Numbers are those of a file that is silent; 0: there is no such, the file has to say it. */
typedef struct model_type {
    const char *names; /* with spaces between them */
    position_kind kind;
    posenc_rope_layout layout;
    double base, local_base; /* local: of the layers with a sliding window; 0: that of the others */
    double rotated_part;     /* of head_dim; 0: all of it */
    int64_t hidden_size, n_heads, n_kv_heads, head_dim, n_layers, max_position;
    int64_t full_head_dim;  /* of the layers that see all keys; 0: that of the others */
    double full_proportion; /* of their pairs that turn; 0: all */
    layer_pattern layers;
    int bias_is_scaled;    /* JSON, ALiBi: the bias too is multiplied by 1/sqrt(head_dim) */
    int has_qk_norm;       /* JSON: RMS-norm of each head of Q and K; a GGUF file has its weights */
    int states_qk_norm;    /* JSON: it has that norm if use_qk_norm is true */
    posenc_axes_kind axes; /* of a model with sections, where these are not one after the other */
    double sections[3];    /* JSON: with such axes; a GGUF file has its own */
    int64_t alibi_layers;  /* GGUF: with so many layers it is ALiBi, of which the file says nothing; 0: none */
    int finetuned_tells;   /* GGUF: a rope.scaling.finetuned that is false says that nothing rotates */
} model_type;

/* NULL for an unknown name. */
const model_type *model_type_of_json(const char *name);
const model_type *model_type_of_gguf(const char *name);

/* Layer i by the names of config.json's layer_types; "" where no layer has a window. */
const char *layer_kind(const layer_pattern *pattern, int64_t i);

/* kind: as above, or as the file has it. */
int layer_rotates(const layer_pattern *pattern, int64_t i, const char *kind);

/* Of n layers those that rotate and are of that kind; "": of any. */
int64_t layers_of_kind(const layer_pattern *pattern, int64_t n, const char *kind);

#endif
