/* SPDX-License-Identifier: MIT */
/* The case that runs: its name, its random numbers, and how it fails. Knows no test framework: who runs cases says
 * what a failure does. Reproducible: the numbers of a case follow from the seed and its name alone. */
#ifndef POSENC_CHECK_CASE_H
#define POSENC_CHECK_CASE_H

#include <stddef.h>
#include <stdint.h>

/* Starts a run: which numbers are drawn, and that one case in `scale` is run (1: all). Counts start at 0. */
void test_start(uint64_t seed, uint64_t scale);

/* The seed and the scale of the environment (POSENC_TEST_SEED, POSENC_TEST_SCALE), or the given ones. */
uint64_t test_seed_or(uint64_t otherwise);
uint64_t test_scale_or(uint64_t otherwise);

/* Cases and values compared since test_start(). */
uint64_t test_n_cases(void);
uint64_t test_n_compared(void);

/* Names the case, and starts the random numbers anew. 0: the scale leaves it out. */
int test_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds to the name, replacing what an earlier call added. Random numbers go on. */
void test_case_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Counts values that were compared. */
void test_count(size_t n);

/* Ends the case: the message, with the case's name and how to reproduce it, goes to the handler, which does not return.
 * Without one it is printed and the program aborted, as a fuzzer wants it. */
void test_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void test_on_failure(void (*handler)(const char *message));

/* From now on SIGSEGV, SIGBUS and SIGILL are failures of the case. */
void test_catch_faults(void);

/* For fuzzers: from now on only the case of this number is wanted, and what it draws is taken from these bytes as long
 * as there are any. test_driven_cases() says how many cases came by. */
void test_drive(const unsigned char *bytes, size_t n, uint64_t wanted);
uint64_t test_driven_cases(void);

/* ---- Random numbers ---- */

uint64_t test_random(void);
size_t test_random_below(size_t n);

#endif
