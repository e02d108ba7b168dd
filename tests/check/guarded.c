/* SPDX-License-Identifier: MIT */
#include "guarded.h"

#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "case.h"

enum { MARGIN = 256 }; /* bytes of canaries on either side, where the guard page leaves room */

/* ---- Pages of the system ---- */

#ifdef _WIN32
static size_t page_size(void) {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
}

/* So many bytes that nobody may touch, or NULL. */
static unsigned char *reserve(size_t bytes) {
    return VirtualAlloc(NULL, bytes, MEM_RESERVE, PAGE_NOACCESS);
}

static int open_up(unsigned char *first, size_t bytes) {
    return VirtualAlloc(first, bytes, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

static void give_back(unsigned char *whole, size_t bytes) {
    (void)bytes;
    VirtualFree(whole, 0, MEM_RELEASE);
}
#else
static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* So many bytes that nobody may touch, or NULL. */
static unsigned char *reserve(size_t bytes) {
    void *whole = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return whole == MAP_FAILED ? NULL : whole;
}

static int open_up(unsigned char *first, size_t bytes) {
    return mprotect(first, bytes, PROT_READ | PROT_WRITE) == 0;
}

static void give_back(unsigned char *whole, size_t bytes) {
    munmap(whole, bytes);
}
#endif

/* ---- Buffers ---- */

static void map(test_guarded *memory, size_t bytes) {
    size_t page = page_size();
    size_t size = (bytes / page + 1) * page;
    unsigned char *whole = reserve(size + 2 * page);
    if (whole == NULL)
        test_fail("no memory for a guarded buffer");
    if (!open_up(whole + page, size))
        test_fail("no guard pages");
    memory->first = whole + page;
    memory->size = size;
}

void test_guarded_free(test_guarded *memory) {
    if (memory->first != NULL)
        give_back(memory->first - page_size(), memory->size + 2 * page_size());
    *memory = (test_guarded){0};
}

/* The margins around the data, cut at the guard pages. */
static size_t bytes_before(const test_guarded *memory) {
    size_t room = (size_t)(memory->data - memory->first);
    return room < MARGIN ? room : MARGIN;
}

static size_t bytes_after(const test_guarded *memory) {
    size_t room = memory->size - (size_t)(memory->data - memory->first) - memory->bytes;
    return room < MARGIN ? room : MARGIN;
}

void *test_guarded_place(test_guarded *memory, size_t bytes, test_placement placement) {
    size_t needed = bytes + placement.distance;
    if (memory->first == NULL || needed > memory->size) {
        test_guarded_free(memory);
        map(memory, needed);
    }
    memory->data = memory->first + (placement.at_end ? memory->size - needed : placement.distance);
    memory->bytes = bytes;
    memset(memory->data - bytes_before(memory), TEST_CANARY, bytes_before(memory) + bytes + bytes_after(memory));
    return memory->data;
}

static int all_canaries(const unsigned char *p, size_t n) {
    return n == 0 || (p[0] == TEST_CANARY && memcmp(p, p + 1, n - 1) == 0);
}

int test_guarded_intact(const test_guarded *memory) {
    size_t before = bytes_before(memory);
    return all_canaries(memory->data - before, before) &&
           all_canaries(memory->data + memory->bytes, bytes_after(memory));
}
