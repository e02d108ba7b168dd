/* SPDX-License-Identifier: MIT */
/* posenc model: a model's softmax with ALiBi, verified and timed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alibi_work.h"
#include "model_report.h"
#include "timing.h"

/* ---- Verification ---- */

/* The tier's bits against scalar's, from the same input. */
static int same_as_scalar(const alibi_work *work, posenc_isa_tier tier, float *input, float *expected) {
    float *data = work->scores.data;
    size_t size = (size_t)alibi_work_count(work) * sizeof *data;
    memcpy(input, data, size);
    posenc_isa_select(POSENC_ISA_SCALAR);
    posenc_status status = alibi_work_run(work);
    memcpy(expected, data, size);
    memcpy(data, input, size);
    posenc_isa_select(tier);
    if (status == POSENC_OK)
        status = alibi_work_run(work);
    int same = status == POSENC_OK && memcmp(data, expected, size) == 0;
    memcpy(data, input, size);
    return same;
}

static void compare_tiers(const model_options *o, const alibi_work *work, float *input, float *expected,
                          int *failures) {
    printf("  verified       %lld values", (long long)alibi_work_count(work));
    for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT; tier++)
        if (model_wants(o, tier)) {
            int same = same_as_scalar(work, (posenc_isa_tier)tier, input, expected);
            printf(", %s %s", posenc_isa_name((posenc_isa_tier)tier), same ? "= scalar" : "FAILED");
            *failures += !same;
        }
    printf("\n");
}

static posenc_status verify_tiers(const model_options *o, const alibi_work *work, int *failures) {
    size_t n = (size_t)alibi_work_count(work);
    float *input = malloc(n * sizeof *input), *expected = malloc(n * sizeof *expected);
    int has_memory = input != NULL && expected != NULL;
    if (has_memory)
        compare_tiers(o, work, input, expected, failures);
    free(expected);
    free(input);
    return has_memory ? POSENC_OK : POSENC_ERR_MEMORY;
}

/* ---- Timing ---- */

typedef struct timed_job {
    const alibi_work *work;
    posenc_isa_tier tier;
} timed_job;

static void run_job(void *context) {
    const timed_job *job = context;
    posenc_isa_select(job->tier);
    alibi_work_run(job->work);
}

static void negate_job(void *context) {
    alibi_work_negate(((const timed_job *)context)->work);
}

static void print_row(const char *name, double ns, double scalar_ns, double limit_ns, const alibi_work *work) {
    double bytes = 2.0 * sizeof(float) * (double)alibi_work_elements(work); /* read and written */
    printf("  %-9s%12.0f%11.1fx%10.1f%10.2fx\n", name, ns / (double)work->n_tokens, scalar_ns / ns, bytes / ns,
           ns / limit_ns);
}

/* One line per tier, and the limit. */
static posenc_status time_work(const model_options *o, const alibi_work *work) {
    timed_job jobs[POSENC_ISA_COUNT + 1];
    alternative timed[POSENC_ISA_COUNT + 1];
    int n = 0;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++)
        if (model_wants(o, tier))
            jobs[n++] = (timed_job){work, (posenc_isa_tier)tier};
    jobs[n] = (timed_job){work, POSENC_ISA_SCALAR};
    for (int i = 0; i <= n; i++)
        timed[i] = (alternative){i < n ? run_job : negate_job, &jobs[i], 0.0};
    if (!time_alternatives(timed, n + 1, o->seconds))
        return POSENC_ERR_MEMORY;
    double scalar_ns = timed[0].median_ns, limit_ns = timed[n].median_ns;
    printf("\n  %-9s%12s%12s%10s%11s\n", "tier", "ns/token", "vs scalar", "GB/s", "vs limit");
    for (int i = 0; i < n; i++)
        print_row(posenc_isa_name(jobs[i].tier), timed[i].median_ns, scalar_ns, limit_ns, work);
    print_row("limit", limit_ns, scalar_ns, limit_ns, work);
    printf("\n");
    return POSENC_OK;
}

/* ---- The report ---- */

static posenc_status report_batch(const model_options *o, const model_config *m, const char *title, int64_t n_tokens,
                                  int64_t n_cached, random_state *random, int *failures) {
    alibi_work work;
    posenc_status status = alibi_work_create(&work, m, n_tokens, n_cached, random);
    if (status == POSENC_OK) {
        printf("%s, one layer: scale, ALiBi, causal mask, softmax, in place\n\n", title);
        status = verify_tiers(o, &work, failures);
    }
    if (status == POSENC_OK)
        status = time_work(o, &work);
    alibi_work_free(&work);
    return status;
}

posenc_status model_report_alibi(const model_options *o, const model_config *m, int *failures) {
    random_state random = {1};
    char decode[64], prefill[64];
    int64_t cached = model_cached_tokens(o, m);
    snprintf(decode, sizeof decode, "Decode, 1 token against %lld keys", (long long)cached + 1);
    snprintf(prefill, sizeof prefill, "Prefill, %lld tokens", (long long)o->n_tokens);
    posenc_status status = report_batch(o, m, decode, 1, cached, &random, failures);
    if (status == POSENC_OK)
        status = report_batch(o, m, prefill, o->n_tokens, 0, &random, failures);
    if (status == POSENC_OK)
        printf("Medians, one thread. GB/s: bytes read and written. limit: the same scores negated in place, which is "
               "what memory allows.\n");
    return status;
}
