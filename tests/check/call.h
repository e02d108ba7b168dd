/* SPDX-License-Identifier: MIT */
/* One call of a kernel, described so that any tier can make it, with its buffers anywhere.
 *
 * A family's file has a sweep for each kernel: it walks the cases, describes the buffers of each (call_operand,
 * operand_row), has them filled (call_fill) and hands the call to call_check, whose mode decides what becomes of it:
 * comparison with scalar, a hash, times. check.h has the list of kernels, docs/adding-a-kernel.md the walk.
 */
#ifndef POSENC_CHECK_CALL_H
#define POSENC_CHECK_CALL_H

#include "case.h"
#include "guarded.h"
#include "values.h"

#include "kernels/kernels.h"

/* The kernels by number, and what any of them takes. */
typedef enum kernel_id {
#define KERNEL(name, type) KERNEL_##name,
#include "kernels/kernels.def"
#undef KERNEL
    KERNEL_COUNT
} kernel_id;

typedef union kernel_args {
#define KERNEL(name, type) type name;
#include "kernels/kernels.def"
#undef KERNEL
} kernel_args;

typedef enum operand_role { OPERAND_IN = 1, OPERAND_OUT = 2, OPERAND_IN_OUT = 3 } operand_role;

/* Types of a buffer's elements. Floats and 8-bit floats have the values of posenc_dtype. Integers are 0 until they are
 * set. Blocks that a kernel writes are U16: unlike an f16, each of their bits counts. */
typedef enum element_type {
    ELEMENT_F32 = POSENC_F32,
    ELEMENT_F16 = POSENC_F16,
    ELEMENT_BF16 = POSENC_BF16,
    ELEMENT_F8_E4M3 = POSENC_F8_E4M3,
    ELEMENT_F64 = POSENC_TYPES,
    ELEMENT_I32,
    ELEMENT_U16,
    ELEMENT_U8
} element_type;

size_t element_size(element_type type);

/* How a row of n elements of a storage type lies in a buffer, and how many there are; blocks lie there as halves. */
element_type element_of(posenc_dtype type);
size_t element_count(size_t n, posenc_dtype type);

/* A stride of such elements in bytes, and the name of a storage type. */
ptrdiff_t element_bytes(ptrdiff_t elements, posenc_dtype type);
const char *element_name(posenc_dtype type);

/* A buffer. Its elements belong to lanes of the kernel, or lie between the rows and are nobody's. */
typedef struct operand {
    const char *name;
    operand_role role;
    element_type type;
    size_t element; /* bytes */
    size_t count;
    size_t lane_room, room; /* bytes that the arrays below have room for */
    size_t n_outputs;       /* elements that the kernel writes */
    int32_t *lane;          /* [count]: the lane, or NO_LANE */
    unsigned char *before;  /* [count * element]: contents before the call */
    unsigned char *scalar;  /* [count * element]: contents after the scalar kernel */
    test_guarded memory;    /* where a kernel works on it */
} operand;

#define NO_LANE (-1)
#define MAX_OPERANDS 12

typedef struct kernel_call {
    kernel_id kernel;
    /* Writes the kernel's arguments: the buffers where they now are, and what `shape` says. */
    void (*arguments)(const struct kernel_call *call, kernel_args *to);
    const void *shape;
    operand operands[MAX_OPERANDS];
    int n_operands;
} kernel_call;

typedef void call_arguments(const kernel_call *call, kernel_args *to);

/* Starts describing a call. */
void call_begin(kernel_call *call, kernel_id kernel, call_arguments *arguments, const void *shape);

/* Frees what the operands of any number of descriptions have taken. */
void call_free(kernel_call *call);

/* Makes it. */
void call_kernel(const posenc_kernels *kernels, kernel_id kernel, const kernel_args *args);

/* Adds a buffer of count elements, none of which belongs to a lane yet. Its index is the number of those before it. */
operand *call_operand(kernel_call *call, const char *name, operand_role role, element_type type, size_t count);

/* Elements at, at + step, ... (n of them) belong to lanes 0, 1, ... */
void operand_row(operand *o, size_t at, size_t n, size_t step);

/* Sets the lanes as above in each of n_rows rows, `stride` elements apart. `at` counts from the row's start. */
void operand_rows(operand *o, size_t n_rows, ptrdiff_t stride, size_t at, size_t n, size_t step);

/* A buffer whose n elements belong to lanes 0, 1, ..., and one of rows of n, `stride` elements apart, each like that;
 * the result is the buffer's index. */
int call_row(kernel_call *call, const char *name, operand_role role, element_type type, size_t n);
int call_rows(kernel_call *call, const char *name, operand_role role, element_type type, size_t n_rows,
              ptrdiff_t stride, size_t n);

/* Adds rows of a storage type, Q8_0 and Q4_0 included; the stride is in elements of the buffer. */
int call_stored_rows(kernel_call *call, const char *name, operand_role role, posenc_dtype type, size_t n_rows,
                     ptrdiff_t stride, size_t n);

/* Elements that rows of `width`, `stride` apart, take. */
size_t rows_extent(size_t n_rows, ptrdiff_t stride, size_t width);

/* Adds a factor for each head. vary: factors belong to the lanes in turn; otherwise all are equal, whatever is
 * filled. */
void call_head_factors(kernel_call *call, size_t n_heads, int vary);

/* Offset of row 0 of rows with this stride: behind the other rows if it is negative. */
size_t rows_origin(size_t n_rows, ptrdiff_t stride);

/* Element `at` of an operand, by index; for `arguments`. */
void *call_data(const kernel_call *call, int index, size_t at);

/* Row r of a buffer of call_rows(). */
void *call_row_at(const kernel_call *call, int index, size_t n_rows, ptrdiff_t stride, size_t r);

/* Addresses of all of them, for kernels that take each row where it is; good until the next call. MIXED: in an order of
 * their own, some of them twice if 5 divides their number. */
typedef enum row_order { IN_ORDER, MIXED } row_order;
const void *const *call_row_addresses(const kernel_call *call, int index, size_t n_rows, ptrdiff_t stride,
                                      row_order order);

/* Fills what the kernel reads. */
void call_fill(kernel_call *call, test_fill fill);

/* Sets an element of what the kernel reads, to the nearest value that its type has. */
void operand_set(operand *o, size_t at, double value);

/* Places in which the buffers are tried: all, a few for large calls, or one. */
typedef enum call_places { EVERY_PLACE, FEW_PLACES, ONE_PLACE } call_places;

/* Treatment of the calls of a sweep. */
typedef struct check_mode {
    void (*call)(kernel_call *call, const posenc_kernels *variant, call_places places);
    void (*lane)(kernel_call *call, const posenc_kernels *variant, int32_t lane); /* NULL: left out */
} check_mode;

/* Both tables make the call, and the results are compared; the mode at the start. */
extern const check_mode check_compare;
void check_set_mode(const check_mode *mode);

/* Hands the call to the mode. */
void call_check(kernel_call *call, const posenc_kernels *variant, call_places places);

/* Lane independence: fills all lanes but one with adversarial values and holds that one to the result of ordinary
 * neighbours. The call is filled and belongs to a kernel that is elementwise. */
void call_check_lane(kernel_call *call, const posenc_kernels *variant, int32_t lane);

/* For modes: puts every buffer into place 0, flush against the guard page behind it, and makes the call there. */
void call_place(kernel_call *call);
void call_make(kernel_call *call, const posenc_kernels *kernels);

/* For modes: whether the kernel writes element i. */
int operand_is_output(const operand *o, size_t i);

/* Sizes worth a test: 0 .. 67, and around powers of two and blocks. The second list is for one dimension of several. */
extern const size_t test_sizes[], test_counts[];
extern const size_t test_n_sizes, test_n_counts;
int test_size_is_large(size_t n);

/* Number `which` of the storage types of rows of n. Round 0: floats, and formats where their blocks are whole. Round 1:
 * 8-bit floats. */
enum { TEST_TYPE_ROUNDS = 2 };
posenc_dtype test_type(int round, size_t which, size_t n);

/* Number `which` of the strides of rows of n: dense, padded, backwards, the same row for all. */
ptrdiff_t test_stride(size_t which, size_t n);

/* Visible keys of n. Number `which`: all; the last masked; the first masked, too; and a hole. */
posenc_visible test_visible(size_t n, size_t which);

#endif
