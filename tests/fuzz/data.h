/* SPDX-License-Identifier: MIT */
/* Shared by the calls on data: numbers drawn from the fuzzer's bytes, memory between guard pages, and each call on
 * every tier, whole and in parts. A fault is printed, and aborts. */
#ifndef POSENC_FUZZ_DATA_H
#define POSENC_FUZZ_DATA_H

#include <stddef.h>
#include <stdint.h>

#include <posenc/posenc.h>

/* The families, each a random call. */
void data_rope(void);
void data_rope_tasks(void);
void data_softmax(void);
void data_attention(void);
void data_merge(void);
void data_encoding(void);
void data_relative(void);
void data_sparse(void);
void data_ragged(void);

/* Begins anew with these bytes: memory and, as a part of that, numbers. */
void data_open(const uint8_t *bytes, size_t n);
void data_seed(const uint8_t *bytes, size_t n);

void data_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- Numbers ---- */

/* Numbers from the bytes, 0 behind their end: for shapes of calls. */
int64_t draw(int64_t n);                         /* 0 .. n-1 */
int64_t draw_between(int64_t low, int64_t high); /* low .. high */
int64_t draw_size(int64_t most);                 /* 1 .. most: few, any, or next to a multiple of 16 */
int draw_rarely(int64_t n);                      /* once in n; never when there are no more bytes */
posenc_dtype draw_type(void);                    /* f32, f16, bf16 */

/* From a generator that the bytes seed: what fills tensors. */
uint64_t data_random(void);
double data_uniform(double low, double high);
float data_number(
    double size); /* even over [-size, size); in adversarial calls one in 16 is NaN, infinite, denormal ... */

/* 1 if numbers may be adversarial: then nothing but the tiers can be compared. */
int data_is_adversarial(void);

/* ---- Memory ---- */

/* n elements against a guard page, mostly flush with the one behind. A call may read them, and no more. */
void *data_block(int64_t n, size_t size);
/* n bytes that a call may use as it likes. */
void *data_scratch(size_t n);
float *data_floats(int64_t n, double size);
int32_t *data_int32s(int64_t n, int64_t low, int64_t high);

/* Tensors with dimensions in any order, padded and reversed, filled with numbers. An input may have strides of 0. */
posenc_view data_input(posenc_dtype type, double size, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);
posenc_view data_output(posenc_dtype type, double size, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);

/* Value of an element: of an input, or of an output before the first call. */
double data_was(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3);
double data_get(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3);
void data_set(const posenc_view *view, int64_t i0, int64_t i1, int64_t i2, int64_t i3, float value);

/* ---- Calls ---- */

typedef posenc_status (*data_call)(const void *arguments, posenc_range rows);

/* Makes the call on each tier, and by parts of its n_rows rows on a tier drawn for each. Fails unless they say the same
 * and leave the same outputs, parts write disjoint bytes, refused calls none, and no call writes what is not its
 * outputs'. Another call for the same outputs must give what the first gave. */
posenc_status data_run(data_call call, const void *arguments, int64_t n_rows);

/* data_run, and fails unless the status is POSENC_OK. */
void data_ok(data_call call, const void *arguments, int64_t n_rows);

/* The outputs so far are inputs from now on. */
void data_next(void);

/* ---- Comparison with plain double ---- */

/* Half a unit of the type in its last place at this value, or what its denormals round. */
double data_rounding(posenc_dtype type, double value);

/* Fails unless |got - want| <= bound; what is beyond f16 may be infinite. */
void data_close(const posenc_view *view, double got, double want, double bound, const char *what, int64_t i0,
                int64_t i1, int64_t i2, int64_t i3);

#endif
