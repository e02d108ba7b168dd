/* SPDX-License-Identifier: MIT */
/* All that differs between the versions of ggml that the plugin can be built for: 0.9.1 and later, whose interface
 * versions are 2 and 3, and newer ones that still compile.
 *
 * The layout of a backend belongs to an interface version. Built from a checkout, it is the checkout's own. ggml's
 * installed headers do not have it, so layout.h does. A plugin of another version than the host's is refused when it is
 * loaded, so a wrong guess is a message and nothing worse. */
#ifndef POSENC_GGML_INTERFACE_H
#define POSENC_GGML_INTERFACE_H

#include <stdio.h>

#ifdef POSENC_GGML_CHECKOUT
#include <ggml-backend-impl.h>
#define POSENC_GGML_INTERFACE_VERSION GGML_BACKEND_API_VERSION
#else
#include "layout.h"
#ifndef POSENC_GGML_INTERFACE_VERSION
#define POSENC_GGML_INTERFACE_VERSION 3 /* ggml 0.27 */
#endif
#endif

#include <ggml.h>

/* From 0.9.6 on a graph says which of its nodes are to be computed. */
static inline bool is_wanted(const struct ggml_tensor *node) {
#ifdef POSENC_HAVE_GGML_TENSOR_FLAG_COMPUTE
    return node->flags & GGML_TENSOR_FLAG_COMPUTE;
#else
    (void)node;
    return true;
#endif
}

/* A line to ggml's own log, which a host may have turned elsewhere; before 0.9.5 ggml does not say where. */
static inline void log_line(const char *line) {
#ifdef POSENC_HAVE_GGML_LOG_GET
    ggml_log_callback log = NULL;
    void *user_data = NULL;
    ggml_log_get(&log, &user_data);
    if (log != NULL)
        log(GGML_LOG_LEVEL_ERROR, line, user_data);
#else
    fputs(line, stderr);
#endif
}

#endif
