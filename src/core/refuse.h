/* SPDX-License-Identifier: MIT */
/* Texts of refused calls, for posenc_last_error(): one buffer a thread, written only where a call fails. Every place
 * that makes a status other than POSENC_OK goes through here, so that no text of an earlier call remains
 * (tests/check-interface). */
#ifndef POSENC_REFUSE_H
#define POSENC_REFUSE_H

#include <posenc/types.h>

/* Write the text of the calling thread: a status's general one, a value and what was wanted, or "name: " before what is
 * there. The functions below call them, inline so that a compiler sees which status they return. Cold, so that the
 * checks of a right call come without the registers and branches of texts. */
__attribute__((cold)) void posenc_note_status(posenc_status status);
#if defined(__GNUC__) && !defined(_WIN32)
__attribute__((format(printf, 1, 2)))
#endif
__attribute__((cold)) void
posenc_note_text(const char *format, ...);
__attribute__((cold)) void posenc_note_argument(const char *name);

/* Notes the status with its general text, and returns it. */
static inline posenc_status posenc_refused(posenc_status status) {
    posenc_note_status(status);
    return status;
}

/* Notes the status with a text, a format and its values, and returns it. */
#define posenc_refuse(status, ...) (posenc_note_text(__VA_ARGS__), (status))

/* Puts "name: " before the text of a failure; passes POSENC_OK on. */
static inline posenc_status posenc_argument(const char *name, posenc_status status) {
    if (status != POSENC_OK)
        posenc_note_argument(name);
    return status;
}

#endif
