/* posenc model: a model's softmax with ALiBi, verified and timed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alibi_work.h"
#include "model_report.h"
#include "timing.h"
#include "truth.h"

/* ---- Verification ---- */

static int verify_truth(const model_config *m, random_state *random) {
    float *slopes = malloc((size_t)m->n_heads * sizeof *slopes);
    truth t = truth_none();
    posenc_select_isa(POSENC_ISA_SCALAR);
    t.status = slopes == NULL ? POSENC_ERR_MEMORY : posenc_alibi_slopes(m->n_heads, m->max_bias, slopes);
    if (t.status == POSENC_OK)
        truth_merge(&t, truth_softmax(slopes, m->n_heads, 4, 513, posenc_mask_causal(), random));
    truth_merge(&t, truth_alibi_slopes(m->n_heads, m->max_bias));
    free(slopes);
    int ok = t.status == POSENC_OK && t.values > 0 && t.worst <= 1.0;
    printf("  verified       %llu values against the reference: worst error %.2f of the 1 allowed%s\n\n",
           (unsigned long long)t.values, t.worst, ok ? "" : ": FAILED");
    return !ok;
}

/* The tier's bits against scalar's, from the same input. */
static int same_as_scalar(const alibi_work *work, posenc_isa_tier tier, float *input, float *expected) {
    float *data = work->scores.data;
    size_t size = (size_t)alibi_work_count(work) * sizeof *data;
    memcpy(input, data, size);
    posenc_select_isa(POSENC_ISA_SCALAR);
    posenc_status status = alibi_work_run(work);
    memcpy(expected, data, size);
    memcpy(data, input, size);
    posenc_select_isa(tier);
    if (status == POSENC_OK)
        status = alibi_work_run(work);
    int same = status == POSENC_OK && memcmp(data, expected, size) == 0;
    memcpy(data, input, size);
    return same;
}

static int verify_tiers(const model_options *o, const alibi_work *work) {
    int64_t n = alibi_work_count(work);
    int failures = 0;
    float *input = malloc((size_t)n * sizeof *input), *expected = malloc((size_t)n * sizeof *expected);
    printf("  verified       %lld values", (long long)n);
    for (int tier = POSENC_ISA_SCALAR + 1; tier < POSENC_ISA_COUNT; tier++)
        if (model_wants(o, tier)) {
            int same =
                input != NULL && expected != NULL && same_as_scalar(work, (posenc_isa_tier)tier, input, expected);
            printf(", %s %s", posenc_isa_name((posenc_isa_tier)tier), same ? "= scalar" : "FAILED");
            failures += !same;
        }
    printf("\n");
    free(expected);
    free(input);
    return failures;
}

/* ---- Timing ---- */

typedef struct timed_job {
    const alibi_work *work;
    posenc_isa_tier tier;
} timed_job;

static void run_job(void *context) {
    const timed_job *job = context;
    posenc_select_isa(job->tier);
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

/* One line per tier, and the limit. 0 without memory. */
static int time_work(const model_options *o, const alibi_work *work) {
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
        return 0;
    double scalar_ns = timed[0].median_ns, limit_ns = timed[n].median_ns;
    printf("\n  %-9s%12s%12s%10s%11s\n", "tier", "ns/token", "vs scalar", "GB/s", "vs limit");
    for (int i = 0; i < n; i++)
        print_row(posenc_isa_name(jobs[i].tier), timed[i].median_ns, scalar_ns, limit_ns, work);
    print_row("limit", limit_ns, scalar_ns, limit_ns, work);
    printf("\n");
    return 1;
}

/* ---- The report ---- */

static int report_batch(const model_options *o, const model_config *m, const char *title, int64_t n_tokens,
                        int64_t n_cached, random_state *random) {
    alibi_work work;
    posenc_status status = alibi_work_create(&work, m, n_tokens, n_cached, random);
    int failures = 0;
    if (status == POSENC_OK) {
        printf("%s, one layer: scale, ALiBi, causal mask, softmax, in place\n\n", title);
        failures += verify_tiers(o, &work);
        status = time_work(o, &work) ? POSENC_OK : POSENC_ERR_MEMORY;
    }
    if (status != POSENC_OK)
        printf("%s: FAILED: %s\n\n", title, posenc_status_string(status));
    alibi_work_free(&work);
    return failures + (status != POSENC_OK);
}

int model_report_alibi(const model_options *o, const model_config *m) {
    random_state random = {1};
    char decode[64], prefill[64];
    int64_t cached = model_cached_tokens(o, m);
    snprintf(decode, sizeof decode, "Decode, 1 token against %lld keys", (long long)cached + 1);
    snprintf(prefill, sizeof prefill, "Prefill, %lld tokens", (long long)o->n_tokens);
    int failures = verify_truth(m, &random);
    failures += report_batch(o, m, decode, 1, cached, &random);
    failures += report_batch(o, m, prefill, o->n_tokens, 0, &random);
    printf("Medians, one thread. GB/s: bytes read and written. limit: the same scores negated in place, which is what "
           "memory allows.\n");
    return failures;
}
