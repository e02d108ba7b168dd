/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include <stdatomic.h>

/* MOST_QUERIES: of a probe, which has one for each sequence; prompts have more. MOST_QUESTIONS: about the first layer's
 * node, some for each graph. A program that computes one token after the other, and nothing else here, gets flash
 * attention after so many. */
enum { MOST_QUERIES = 64, MOST_QUESTIONS = 12 };

static atomic_bool is_expected;
static _Atomic(const struct ggml_tensor *) first_cache; /* keys of the first layer that was asked about */
static atomic_llong n_queries, n_questions;

void probe_expect(void) {
    first_cache = NULL;
    n_questions = 0;
    is_expected = true;
}

void probe_end(void) {
    is_expected = false;
}

/* llama.cpp's keys are a view of its cache, which has memory before the first graph. */
static const struct ggml_tensor *cache_of(const struct ggml_tensor *node) {
    const struct ggml_tensor *cache = node->src[1]->view_src;
    return cache != NULL && cache->buffer != NULL ? cache : NULL;
}

bool probe_asks(const struct ggml_tensor *node) {
    const struct ggml_tensor *cache = cache_of(node), *none = NULL;
    long long queries = node->src[0]->ne[1] * node->src[0]->ne[3];
    if (!is_expected || cache == NULL)
        return false;
    if (atomic_compare_exchange_strong(&first_cache, &none, cache))
        n_queries = queries;
    if (cache == first_cache)
        n_questions++;
    if (queries > n_queries || queries > MOST_QUERIES || n_questions > MOST_QUESTIONS)
        probe_end();
    return is_expected;
}
