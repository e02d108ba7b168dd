#include "guarded.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "case.h"

enum { MARGIN = 256 }; /* bytes of canaries on either side, where the guard page leaves room */

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *checked(void *p) {
    if (p == MAP_FAILED)
        test_fail("no memory for a guarded buffer");
    return p;
}

static void map(test_guarded *memory, size_t bytes) {
    size_t page = page_size();
    size_t size = (bytes / page + 1) * page;
    unsigned char *whole = checked(mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mprotect(whole + page, size, PROT_READ | PROT_WRITE) != 0)
        test_fail("no guard pages");
    memory->first = whole + page;
    memory->size = size;
}

void test_guarded_free(test_guarded *memory) {
    if (memory->first != NULL)
        munmap(memory->first - page_size(), memory->size + 2 * page_size());
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
