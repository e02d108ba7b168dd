/* SPDX-License-Identifier: MIT */
#include "case.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static struct {
    uint64_t seed, scale;
    random_state random;
    uint64_t cases, compared;
    char name[256], detail[128];
} now = {.scale = 1};

/* A fuzzer's input: the case that it wants, and what that case is to draw. */
static struct {
    int active, begun;
    const unsigned char *bytes;
    size_t left;
    uint64_t wanted, cases;
} driven;

/* ---- Runs ---- */

void test_start(uint64_t seed, uint64_t scale) {
    now.seed = seed;
    now.scale = scale > 0 ? scale : 1;
    now.cases = now.compared = 0;
}

static uint64_t number_from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text == NULL || text[0] == '\0' ? otherwise : strtoull(text, NULL, 0);
}

uint64_t test_seed_or(uint64_t otherwise) {
    return number_from_environment("POSENC_TEST_SEED", otherwise);
}

uint64_t test_scale_or(uint64_t otherwise) {
    return number_from_environment("POSENC_TEST_SCALE", otherwise);
}

uint64_t test_n_cases(void) {
    return now.cases;
}

uint64_t test_n_compared(void) {
    return now.compared;
}

/* ---- The case ---- */

static uint64_t hash_of(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

int test_case(const char *format, ...) {
    if (driven.active) {
        driven.begun = driven.cases++ == driven.wanted;
        if (!driven.begun)
            return 0;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(now.name, sizeof now.name, format, args);
    va_end(args);
    now.detail[0] = '\0';
    now.random.state = random_mix(now.seed ^ hash_of(now.name));
    int wanted = driven.active || random_bits(&now.random) % now.scale == 0;
    now.cases += (uint64_t)wanted;
    return wanted;
}

void test_case_detail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(now.detail, sizeof now.detail, format, args);
    va_end(args);
}

void test_count(size_t n) {
    now.compared += n;
}

/* ---- Failure ---- */

static void print_and_abort(const char *message) {
    fprintf(stderr, "%s\n", message);
    abort();
}

static void (*on_failure)(const char *message) = print_and_abort;

void test_on_failure(void (*handler)(const char *message)) {
    on_failure = handler;
}

void test_fail(const char *format, ...) {
    char what[256], message[768];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(message, sizeof message, "%s %s: %s (seed %llu)", now.name, now.detail, what,
             (unsigned long long)now.seed);
    on_failure(message);
    abort(); /* the handler does not return, but its type does not say so */
}

static void on_fault(int number) {
    test_fail("%s", number == SIGILL ? "illegal instruction" : "access to a wrong address");
}

#ifdef _WIN32
void test_catch_faults(void) {
    signal(SIGSEGV, on_fault);
    signal(SIGILL, on_fault);
}
#else
void test_catch_faults(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER}; /* the next fault is one as well */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}
#endif

/* ---- Random numbers ---- */

void test_drive(const unsigned char *bytes, size_t n, uint64_t wanted) {
    driven.active = 1;
    driven.bytes = bytes;
    driven.left = n;
    driven.wanted = wanted;
    driven.cases = 0;
}

uint64_t test_driven_cases(void) {
    return driven.cases;
}

static uint64_t driven_random(void) {
    uint64_t bits = 0;
    size_t n = driven.left < sizeof bits ? driven.left : sizeof bits;
    memcpy(&bits, driven.bytes, n);
    driven.bytes += n;
    driven.left -= n;
    return bits;
}

uint64_t test_random(void) {
    return driven.begun && driven.left > 0 ? driven_random() : random_bits(&now.random);
}

size_t test_random_below(size_t n) {
    return (size_t)(test_random() % n);
}
