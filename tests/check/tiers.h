/* SPDX-License-Identifier: MIT */
/* Tiers by name, and the tiers that a run insists on. */
#ifndef POSENC_CHECK_TIERS_H
#define POSENC_CHECK_TIERS_H

#include <posenc/isa.h>

/* Exit status that Meson reports as skipped. */
#define TEST_EXIT_SKIPPED 77

/* The tier called `name`, or POSENC_ISA_COUNT. */
posenc_isa_tier test_tier_by_name(const char *name);

/* 1 if POSENC_TEST_REQUIRE, a comma-separated list, names the tier: then it must be able to run. */
int test_tier_required(posenc_isa_tier tier);

#endif
