/* SPDX-License-Identifier: MIT */
/* Texts of refused calls, for posenc_last_error(): one buffer a thread, written only where a call fails. Every place
 * that makes a status other than POSENC_OK goes through here, so that no text of an earlier call remains
 * (tests/check-interface). */
#ifndef POSENC_REFUSE_H
#define POSENC_REFUSE_H

#include <posenc/types.h>

/* Notes the status with its general text, and returns it. */
posenc_status posenc_refused(posenc_status status);

/* Notes the status with a text: value, and what was wanted. */
#if defined(__GNUC__) && !defined(_WIN32)
__attribute__((format(printf, 2, 3)))
#endif
posenc_status
posenc_refuse(posenc_status status, const char *format, ...);

/* Puts "name: " before the text of a failure; passes POSENC_OK on. */
posenc_status posenc_argument(const char *name, posenc_status status);

#endif
