/* SPDX-License-Identifier: MIT */
/* Executes AVX-VNNI's instructions on a CPU without them. */
#ifndef POSENC_TESTS_EMULATED_VNNI_H
#define POSENC_TESTS_EMULATED_VNNI_H

/* From now on. */
void emulated_trap_vnni(void);

/* Instructions executed so far. */
long emulated_vnni_count(void);

#endif
