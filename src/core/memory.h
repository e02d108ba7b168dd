/* SPDX-License-Identifier: MIT */
/* Memory that begins at a multiple of a power of two. Windows has no aligned_alloc; its replacement needs a free
 * function of its own. */
#ifndef POSENC_MEMORY_H
#define POSENC_MEMORY_H

#include <stdlib.h>

#ifdef _WIN32
#include <malloc.h>
#endif

/* bytes is a multiple of the alignment. NULL if there is not so much. */
static inline void *posenc_aligned_alloc(size_t alignment, size_t bytes) {
#ifdef _WIN32
    return _aligned_malloc(bytes, alignment);
#else
    return aligned_alloc(alignment, bytes);
#endif
}

static inline void posenc_aligned_free(void *memory) {
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

#endif
