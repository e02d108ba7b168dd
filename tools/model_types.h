/* What a file does not say because its model_type (Hugging Face) or architecture (GGUF) implies it. */
#ifndef POSENC_TOOLS_MODEL_TYPES_H
#define POSENC_TOOLS_MODEL_TYPES_H

#include "model.h"

typedef struct model_type {
    const char *names; /* with spaces between them */
    position_kind kind;
    posenc_rope_layout layout;
    double rotated_part;   /* of head_dim, where the file is silent; 0: all of it */
    int has_qk_norm;       /* JSON: RMS-norm of each head of Q and K; a GGUF file has its weights */
    posenc_axes_kind axes; /* GGUF: of a model with rope.dimension_sections */
    double local_base;     /* GGUF: of the layers with a sliding window; 0: that of the others */
} model_type;

/* NULL for an unknown name. */
const model_type *model_type_of_json(const char *name);
const model_type *model_type_of_gguf(const char *name);

#endif
