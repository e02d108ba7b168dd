/* SPDX-License-Identifier: MIT */
/* A reader of GGUF files, versions 2 and 3: the metadata, the list of tensors, and small float32 tensors. Every count
 * and offset in the file is checked against its size before it is used, and none decides how much memory is taken.
 * Weights may be missing from the end: only what is read must be there. */
#ifndef POSENC_TOOLS_GGUF_H
#define POSENC_TOOLS_GGUF_H

#include <stddef.h>
#include <stdint.h>

typedef enum gguf_type {
    GGUF_U8 = 0,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64
} gguf_type;

/* Longer names and texts are cut off; nothing that is looked for is as long. */
enum { GGUF_MOST_TEXT = 128, GGUF_MOST_FIRST = 8, GGUF_MOST_DIMS = 4 };

/* One key and its value. */
typedef struct gguf_value {
    char key[GGUF_MOST_TEXT];
    gguf_type type; /* of an array: of its elements */
    int is_array;
    char text[GGUF_MOST_TEXT];     /* of a string */
    uint64_t n;                    /* numbers: 1, or those of the array */
    double first[GGUF_MOST_FIRST]; /* of them, the first */
    double largest;                /* and the largest */
    uint64_t n_zeros;              /* and how many are 0 */
} gguf_value;

typedef struct gguf_tensor {
    char name[GGUF_MOST_TEXT];
    uint32_t n_dims, type; /* type 0 is float32 */
    uint64_t dims[GGUF_MOST_DIMS];
    uint64_t offset; /* from where the data begins */
} gguf_tensor;

/* A file in memory. Places are offsets from its beginning. */
typedef struct gguf_file {
    const unsigned char *data;
    size_t size;
    uint64_t n_keys, n_tensors;
    size_t keys, tensors, tensor_data;
} gguf_file;

/* Reads through all keys and tensors once, so that what follows cannot fail. 1; or 0 and, in error, what is wrong
 * and how to put it right. */
int gguf_open(const char *path, gguf_file *file, char *error, size_t error_size);
void gguf_close(gguf_file *file);

/* The value, or tensor, at a place; returns the place of the next. */
size_t gguf_value_at(const gguf_file *file, size_t place, gguf_value *value);
size_t gguf_tensor_at(const gguf_file *file, size_t place, gguf_tensor *tensor);

/* 1 if there is a tensor of that name. */
int gguf_find_tensor(const gguf_file *file, const char *name, gguf_tensor *tensor);

/* The n numbers of a float32 tensor of one dimension n. 0 if it is none, or if its data lie outside the file. */
int gguf_read_floats(const gguf_file *file, const gguf_tensor *tensor, double *numbers, size_t n);

#endif
