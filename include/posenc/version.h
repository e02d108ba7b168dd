/* posenc/version.h - the version, at compile time and at run time. */
#ifndef POSENC_VERSION_H
#define POSENC_VERSION_H

#include <posenc/types.h>

#define POSENC_VERSION_MAJOR 0
#define POSENC_VERSION_MINOR 1
#define POSENC_VERSION_PATCH 0
#define POSENC_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library that is linked, for example "0.1.0". */
POSENC_API const char *posenc_version(void);

#ifdef __cplusplus
}
#endif
#endif
