/* SPDX-License-Identifier: MIT */
#include "gguf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char too_short[] = "ends too early; fetch it again";

/* ---- Bytes: the first complaint stays, and everything read after it is 0 ---- */

typedef struct cursor {
    const gguf_file *file;
    size_t at;
    const char *complaint; /* NULL: all is well */
} cursor;

static void complain(cursor *c, const char *complaint) {
    if (c->complaint == NULL)
        c->complaint = complaint;
}

static size_t left(const cursor *c) {
    return c->file->size - c->at;
}

static void take(cursor *c, void *to, size_t size) {
    memset(to, 0, size);
    if (c->complaint == NULL && size > left(c))
        complain(c, too_short);
    if (c->complaint != NULL)
        return;
    memcpy(to, c->file->data + c->at, size);
    c->at += size;
}

static uint32_t take_u32(cursor *c) {
    unsigned char b[4];
    take(c, b, sizeof b);
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint64_t take_u64(cursor *c) {
    uint64_t low = take_u32(c);
    return low | (uint64_t)take_u32(c) << 32;
}

static void skip(cursor *c, uint64_t n_bytes) {
    if (c->complaint == NULL && n_bytes > left(c))
        complain(c, too_short);
    if (c->complaint == NULL)
        c->at += (size_t)n_bytes;
}

static void take_text(cursor *c, char text[GGUF_MOST_TEXT]) {
    uint64_t n = take_u64(c);
    size_t start = c->at;
    skip(c, n);
    size_t kept = c->complaint != NULL ? 0 : n < GGUF_MOST_TEXT - 1 ? (size_t)n : GGUF_MOST_TEXT - 1;
    memcpy(text, c->file->data + start, kept);
    text[kept] = '\0';
}

/* ---- Values ---- */

/* Bytes of a number; 0 for what is none. */
static size_t size_of(gguf_type type) {
    static const size_t sizes[] = {
        [GGUF_U8] = 1,  [GGUF_I8] = 1,  [GGUF_U16] = 2,  [GGUF_I16] = 2,    [GGUF_U32] = 4,
        [GGUF_I32] = 4, [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_STRING] = 0, [GGUF_ARRAY] = 0,
        [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
    };
    return (unsigned)type <= GGUF_F64 ? sizes[type] : 0;
}

static double take_number(cursor *c, gguf_type type) {
    unsigned char byte;
    uint64_t bits;
    float single;
    double number;
    switch (type) {
    case GGUF_U8: take(c, &byte, 1); return byte;
    case GGUF_I8: take(c, &byte, 1); return (int8_t)byte;
    case GGUF_BOOL: take(c, &byte, 1); return byte != 0;
    case GGUF_U16:
    case GGUF_I16:
        take(c, &byte, 1);
        bits = byte;
        take(c, &byte, 1);
        bits |= (uint64_t)byte << 8;
        return type == GGUF_U16 ? (double)bits : (double)(int16_t)bits;
    case GGUF_U32: return take_u32(c);
    case GGUF_I32: return (int32_t)take_u32(c);
    case GGUF_F32:
        bits = take_u32(c);
        memcpy(&single, &(uint32_t){(uint32_t)bits}, sizeof single);
        return (double)single;
    case GGUF_U64: return (double)take_u64(c);
    case GGUF_I64: return (double)(int64_t)take_u64(c);
    default:
        bits = take_u64(c);
        memcpy(&number, &bits, sizeof number);
        return number;
    }
}

static void take_numbers(cursor *c, gguf_value *v) {
    if (v->n > left(c) / size_of(v->type)) { /* before the loop, which a wrong count would make long */
        complain(c, too_short);
        return;
    }
    for (uint64_t i = 0; i < v->n; i++) {
        double number = take_number(c, v->type);
        if (i < GGUF_MOST_FIRST)
            v->first[i] = number;
        if (i == 0 || number > v->largest)
            v->largest = number;
        v->n_zeros += number == 0.0;
    }
}

static void take_value(cursor *c, gguf_value *v) {
    memset(v, 0, sizeof *v);
    take_text(c, v->key);
    v->type = (gguf_type)take_u32(c);
    v->n = 1;
    v->is_array = v->type == GGUF_ARRAY;
    if (v->is_array) {
        v->type = (gguf_type)take_u32(c);
        v->n = take_u64(c);
    }
    if (c->complaint != NULL)
        return;
    if (v->type == GGUF_STRING) {
        for (uint64_t i = 0; i < v->n && c->complaint == NULL; i++)
            take_text(c, v->text);
    } else if (size_of(v->type) > 0) {
        take_numbers(c, v);
    } else {
        complain(c, "holds a value of an unknown type; fetch it again");
    }
}

static void take_tensor(cursor *c, gguf_tensor *t) {
    memset(t, 0, sizeof *t);
    take_text(c, t->name);
    t->n_dims = take_u32(c);
    if (t->n_dims > GGUF_MOST_DIMS)
        complain(c, "has a tensor of more than four dimensions; fetch it again");
    for (uint32_t i = 0; i < t->n_dims && c->complaint == NULL; i++)
        t->dims[i] = take_u64(c);
    t->type = take_u32(c);
    t->offset = take_u64(c);
}

size_t gguf_value_at(const gguf_file *file, size_t place, gguf_value *value) {
    cursor c = {file, place, NULL};
    take_value(&c, value);
    return c.at;
}

size_t gguf_tensor_at(const gguf_file *file, size_t place, gguf_tensor *tensor) {
    cursor c = {file, place, NULL};
    take_tensor(&c, tensor);
    return c.at;
}

/* ---- The file ---- */

/* Reads through it. Every key and tensor takes some bytes, so wrong counts end with the file. */
static const char *read_through(gguf_file *file) {
    cursor c = {file, 4, NULL};
    gguf_value value;
    gguf_tensor tensor;
    uint32_t alignment = 32, version = take_u32(&c);
    if (c.complaint == NULL && version != 2 && version != 3)
        return "is of another version than 2 and 3, which posenc reads; convert the model anew with a current tool";
    file->n_tensors = take_u64(&c);
    file->n_keys = take_u64(&c);
    file->keys = c.at;
    for (uint64_t k = 0; k < file->n_keys && c.complaint == NULL; k++) {
        take_value(&c, &value);
        if (strcmp(value.key, "general.alignment") == 0)
            alignment = value.type == GGUF_U32 ? (uint32_t)value.first[0] : 0;
    }
    if (alignment == 0 || alignment > 1 << 20 || (alignment & (alignment - 1)) != 0)
        complain(&c, "has a general.alignment that is no power of two up to 2^20; fetch it again");
    if (c.complaint != NULL)
        return c.complaint;
    file->tensors = c.at;
    for (uint64_t k = 0; k < file->n_tensors && c.complaint == NULL; k++)
        take_tensor(&c, &tensor);
    file->tensor_data = (c.at + alignment - 1) / alignment * alignment;
    return c.complaint;
}

int gguf_open(const char *path, gguf_file *file, char *error, size_t error_size) {
    struct stat status;
    void *data = MAP_FAILED;
    const char *complaint = "cannot be read";
    memset(file, 0, sizeof *file);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > 0)
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (descriptor >= 0)
        close(descriptor);
    if (data != MAP_FAILED) {
        file->data = data;
        file->size = (size_t)status.st_size;
        complaint = file->size < 4 || memcmp(data, "GGUF", 4) != 0 ? "is no GGUF file" : read_through(file);
    }
    if (complaint == NULL)
        return 1;
    snprintf(error, error_size, "%s", complaint);
    gguf_close(file);
    return 0;
}

void gguf_close(gguf_file *file) {
    if (file->data != NULL)
        munmap((void *)(uintptr_t)file->data, file->size);
    file->data = NULL;
}

/* ---- Tensors ---- */

int gguf_find_tensor(const gguf_file *file, const char *name, gguf_tensor *tensor) {
    size_t place = file->tensors;
    for (uint64_t k = 0; k < file->n_tensors; k++) {
        place = gguf_tensor_at(file, place, tensor);
        if (strcmp(tensor->name, name) == 0)
            return 1;
    }
    return 0;
}

int gguf_read_floats(const gguf_file *file, const gguf_tensor *tensor, double *numbers, size_t n) {
    if (tensor->type != 0 || tensor->n_dims != 1 || tensor->dims[0] != n || file->tensor_data > file->size)
        return 0;
    cursor c = {file, file->tensor_data, NULL};
    skip(&c, tensor->offset);
    for (size_t i = 0; i < n && c.complaint == NULL; i++)
        numbers[i] = take_number(&c, GGUF_F32);
    return c.complaint == NULL;
}
