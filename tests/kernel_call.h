/* One call of a kernel, described so that it can be made by any tier, with its buffers in any place, and checked.
 *
 * A sweep describes the buffers of a call (call_operand, operand_row), has them filled (call_fill), and hands the call
 * to call_check: the tier's result is held to that of the scalar kernel, bit for bit.
 */
#ifndef POSENC_TESTS_KERNEL_CALL_H
#define POSENC_TESTS_KERNEL_CALL_H

#include "harness.h"

#include "kernels/kernels.h"

typedef enum operand_role { OPERAND_IN = 1, OPERAND_OUT = 2, OPERAND_IN_OUT = 3 } operand_role;

/* What a buffer holds. The first three are the values of posenc_dtype. Integers are 0 until they are set. */
typedef enum element_type {
    ELEMENT_F32 = POSENC_F32,
    ELEMENT_F16 = POSENC_F16,
    ELEMENT_BF16 = POSENC_BF16,
    ELEMENT_F64,
    ELEMENT_I32,
    ELEMENT_U8
} element_type;

size_t element_size(element_type type);

/* How a row of n elements of a storage type lies in a buffer, and how many there are; blocks of Q8_0 lie there as
 * halves. */
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
    size_t count, capacity;
    size_t n_outputs;      /* elements that the kernel writes */
    int32_t *lane;         /* [count]: the lane, or NO_LANE */
    unsigned char *before; /* [count * element]: contents before the call */
    unsigned char *scalar; /* [count * element]: contents after the scalar kernel */
    test_guarded memory;   /* where a kernel works on it */
} operand;

#define NO_LANE (-1)
#define MAX_OPERANDS 12

typedef struct kernel_call {
    void (*run)(const posenc_kernels *kernels, const struct kernel_call *call);
    const void *shape; /* for run */
    operand operands[MAX_OPERANDS];
    int n_operands;
} kernel_call;

/* Starts describing a call. */
void call_begin(kernel_call *call, void (*run)(const posenc_kernels *, const kernel_call *), const void *shape);

/* Adds a buffer of count elements, none of which belongs to a lane yet. Its index is the number of those before it. */
operand *call_operand(kernel_call *call, const char *name, operand_role role, element_type type, size_t count);

/* Elements at, at + step, ... (n of them) belong to lanes 0, 1, ... */
void operand_row(operand *o, size_t at, size_t n, size_t step);

/* The same in each of n_rows rows, `stride` elements apart, `at` being counted from the row's start. */
void operand_rows(operand *o, size_t n_rows, ptrdiff_t stride, size_t at, size_t n, size_t step);

/* Elements that rows of `width`, `stride` apart, take. */
size_t rows_extent(size_t n_rows, ptrdiff_t stride, size_t width);

/* A factor for each head. Those that vary belong to the lanes in turn; otherwise all are alike, whatever is filled. */
void call_head_factors(kernel_call *call, size_t n_heads, int vary);

/* Where row 0 of such rows stands: behind the others if the stride is negative. */
size_t rows_origin(size_t n_rows, ptrdiff_t stride);

/* Element `at` of an operand, by index; for run. */
void *call_data(const kernel_call *call, int index, size_t at);

/* Fills what the kernel reads. */
void call_fill(kernel_call *call, test_fill fill);

/* Sets an element of what the kernel reads, to the nearest value that its type has. */
void operand_set(operand *o, size_t at, double value);

/* How many places the buffers are tried in: all, or a few for large calls. */
typedef enum call_places { EVERY_PLACE, FEW_PLACES } call_places;

/* Makes the call with both tables and compares. */
void call_check(kernel_call *call, const posenc_kernels *variant, call_places places);

/* Lane independence: fills all lanes but one with hostile values and holds that one to the result of ordinary
 * neighbours. The call is filled and belongs to a kernel that is elementwise. */
void call_check_lane(kernel_call *call, const posenc_kernels *variant, int32_t lane);

/* If set, it gets the calls instead: for a program that times them. call_place puts every buffer into place 0. */
extern void (*call_watcher)(kernel_call *call, const posenc_kernels *variant);
void call_place(kernel_call *call);

/* Sizes worth a test: 0 .. 67, and around powers of two and blocks. The second list is for one dimension of several. */
extern const size_t test_sizes[], test_counts[];
extern const size_t test_n_sizes, test_n_counts;
int test_size_is_large(size_t n);

/* Keys that are seen, of n: for number `which` all, a last part hidden, a first part too, and a hole. */
posenc_seen test_seen(size_t n, size_t which);

/* A sweep per kernel: a kernel without one does not link. */
#define KERNEL(name, args) void sweep_##name(const posenc_kernels *variant);
#include "kernels/kernels.def"
#undef KERNEL

#endif
