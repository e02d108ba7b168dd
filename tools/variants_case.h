/* One case of posenc verify: a kernel's argument, seen by the scalar tier and by another. Inside of variants*.c.
 *
 * Both sides write into buffers that start out with the same contents, and the whole buffers are compared: a store
 * beyond the output shows as well as a wrong value. Reads beyond the input are what the project's tests look for. */
#ifndef POSENC_TOOLS_VARIANTS_CASE_H
#define POSENC_TOOLS_VARIANTS_CASE_H

#include "variants.h"

/* Sizes: every one up to LAST_SMALL, which covers each tail of each vector length several times, then a few large. */
enum { LAST_SMALL = 67, MARGIN = 32, MAX_OFFSET = 16, LARGEST = 1031, MAX_HEADS = 3, MAX_ROWS = 3 };
enum { ROOM = 2 * MARGIN + MAX_OFFSET + MAX_HEADS * (2 * LARGEST + MAX_OFFSET) };

/* Inputs and outputs of one case; one for the program, for it is large. The floats also hold f16 and bf16. */
extern struct variant_room {
    float x[ROOM], expected[ROOM], actual[ROOM], cos_row[ROOM], sin_row[ROOM], weight[ROOM], head_factors[MAX_HEADS];
    double in[3][ROOM];
    posenc_turn_column blocks[LARGEST / POSENC_COLUMN + 1], offsets[LARGEST / POSENC_COLUMN + 1];
    posenc_growth_column growth[LARGEST / POSENC_COLUMN + 1];
    double expected_wide[ROOM], actual_wide[ROOM];
} room;

/* What varies from case to case. */
typedef struct variant_case {
    size_t n, offset; /* offset: in elements, how far inputs and outputs are moved from their alignment */
    int is_hostile;
    unsigned number;  /* counts the cases of a kernel */
    uint64_t choices; /* random bits for what is left to choose */
} variant_case;

/* Every kernel has one; which sizes it is asked for, variants.c says. */
#define KERNEL(name, args) void name##_case(variant_check *check, const variant_case *at);
#include "kernels/kernels.def"
#undef KERNEL

/* One number: mostly plain, of any size; in one case of eight, what arithmetic is known to stumble over. */
float hostile_number(random_state *random);

/* n elements of random numbers: floats, any storage type, doubles. */
void fill_floats(float *p, size_t n, random_state *random, int is_hostile);
void fill_typed(void *p, size_t n, posenc_dtype type, random_state *random, int is_hostile);
void fill_doubles(double *p, size_t n, random_state *random);

/* The same rubbish on both sides, in n elements. */
void fill_outputs(size_t n, posenc_dtype type, random_state *random);

/* n elements that scalar and tier have written; `at` says what the case was. */
void compare_outputs(variant_check *check, size_t n, posenc_dtype type, const variant_case *at);
void compare_wide_outputs(variant_check *check, size_t n, const variant_case *at);

#endif
