/* SPDX-License-Identifier: MIT */
/* In place of what SLEEF's own build writes: nothing is exported, and long double is not used. */
#define SLEEF_STATIC_LIBS
