/* SPDX-License-Identifier: MIT */
/* Preloaded into the programs of the tests, whose library is compiled with -finstrument-functions: for each call from
 * outside into the library it counts what a guest should not do. At the end it writes to $QUIET_PROBE, for every
 * function that was called, its address and
 *
 *     calls, allocations and frees, locks, threads, changes of rounding or flush mode, changes of errno
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <xmmintrin.h>

enum { ALLOCATIONS, LOCKS, THREADS, MODES, ERRNO, N_KINDS, MAX_FUNCTIONS = 8192 };

typedef struct record {
    void *function;
    long long calls, seen[N_KINDS];
} record;

static record records[MAX_FUNCTIONS]; /* by hash of the address */
static __thread int depth;
static __thread record *outermost;
static __thread unsigned mode_before;
static __thread int errno_before;

static record *record_of(void *function) {
    size_t at = (uintptr_t)function / 16 % MAX_FUNCTIONS;
    while (records[at].function != NULL && records[at].function != function)
        at = (at + 1) % MAX_FUNCTIONS;
    records[at].function = function;
    return &records[at];
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site) {
    (void)site;
    if (depth++ > 0)
        return;
    outermost = record_of(function);
    outermost->calls++;
    mode_before = _mm_getcsr() & ~0x3fu; /* all but the flags that say what has happened */
    errno_before = errno;
}

void __cyg_profile_func_exit(void *function, void *site) {
    (void)function;
    (void)site;
    if (--depth > 0)
        return;
    outermost->seen[MODES] += (_mm_getcsr() & ~0x3fu) != mode_before;
    outermost->seen[ERRNO] += errno != errno_before;
    outermost = NULL;
}

static void count(int kind) {
    if (outermost != NULL)
        outermost->seen[kind]++;
}

/* ---- Counted events ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

void *malloc(size_t size) {
    count(ALLOCATIONS);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    count(ALLOCATIONS);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size) {
    count(ALLOCATIONS);
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(ALLOCATIONS);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size) {
    count(ALLOCATIONS);
    *p = __libc_memalign(alignment, size);
    return *p == NULL ? ENOMEM : 0;
}

void free(void *p) {
    count(ALLOCATIONS);
    __libc_free(p);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    count(LOCKS);
    return NEXT(pthread_mutex_lock)(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    count(LOCKS);
    return NEXT(pthread_rwlock_rdlock)(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    count(LOCKS);
    return NEXT(pthread_rwlock_wrlock)(lock);
}

int pthread_once(pthread_once_t *once, void (*function)(void)) {
    count(LOCKS);
    return NEXT(pthread_once)(once, function);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    count(THREADS);
    return NEXT(pthread_create)(thread, attributes, start, argument);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("QUIET_PROBE");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    outermost = NULL;
    for (size_t i = 0; i < MAX_FUNCTIONS; i++)
        if (records[i].function != NULL) {
            Dl_info info;
            uintptr_t base = dladdr(records[i].function, &info) ? (uintptr_t)info.dli_fbase : 0;
            fprintf(file, "%zx %zx %lld", (size_t)(uintptr_t)records[i].function, (size_t)base, records[i].calls);
            for (int k = 0; k < N_KINDS; k++)
                fprintf(file, " %lld", records[i].seen[k]);
            fprintf(file, "\n");
        }
    fclose(file);
}
