/* SPDX-License-Identifier: MIT */
/* What the two formats share while a model is read. */
#ifndef POSENC_TOOLS_MODEL_READER_H
#define POSENC_TOOLS_MODEL_READER_H

#include "model.h"
#include "model_types.h"

/* Of ALiBi. With more, slopes are 0 in float32. */
#define MODEL_LARGEST_BIAS 100.0

/* What reading goes through; the first complaint stays. */
typedef struct reader {
    const char *path;
    char *error;
    size_t error_size;
    int failed;
    int is_gguf; /* whose names the complaints are to use */
} reader;

__attribute__((format(printf, 2, 3))) void reader_fail(reader *r, const char *format, ...);

/* Fills what the file says, and one table (or one for each kind of layer) with params that are not yet checked. */
void model_read_json(reader *r, model_config *config);
void model_read_gguf(reader *r, model_config *config);

/* A field by its published name, for the library to understand. 1 if it does; a value that makes no sense is a failure,
 * and so is a scaling that posenc does not have. */
int reader_set_number(reader *r, posenc_rope_params *params, const char *name, double value);
int reader_set_string(reader *r, posenc_rope_params *params, const char *name, const char *value);
int reader_set_list(reader *r, posenc_rope_params *params, const char *name, const double *values, int64_t n);

/* For a value that has not been understood: where posenc knows the name as that of a number, it is a failure. */
void reader_check_no_number(reader *r, const char *name);

/* Notes a name that nobody has understood. */
void reader_not_understood(model_config *config, const char *name);

/* n numbers that live as long as the config; NULL, and a failure, if there are too many lists or no memory. */
double *reader_new_list(reader *r, model_config *config, size_t n);

/* The next table, for the model's heads, with the parameters `like` (NULL: the library's defaults); NULL, and a
 * failure, if there are too many. */
model_table *reader_new_table(reader *r, model_config *config, const char *name, const posenc_rope_params *like);

/* M-RoPE: the sections, perhaps with a last one of 0 pairs. */
void reader_set_sections(reader *r, posenc_rope_params *params, posenc_axes_kind kind, const double *sections,
                         uint64_t n);

/* Of parameters that posenc_rope_create takes: a failure if they make no sense in a model. */
void reader_check_sense(reader *r, const model_config *config, const posenc_rope_params *params);

/* What posenc_rope_create says of parameters, in terms of the file: the key that is to blame, and what to do. */
void reader_fail_refused(reader *r, const model_config *config, const posenc_rope_params *params, posenc_status status);

#endif
