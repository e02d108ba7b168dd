#include "harness.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- The case being run ---- */

static struct {
    uint64_t seed;   /* of the run */
    uint64_t random; /* state of the generator */
    uint64_t scale;
    uint64_t cases, compared;
    char name[256], detail[128];
} now = {.scale = 1};

/* A fuzzer's input: the case that it wants, and what that case is to draw. */
static struct {
    int active, begun;
    const unsigned char *bytes;
    size_t left;
    uint64_t wanted, cases;
} driven;

void test_drive(const unsigned char *bytes, size_t n, uint64_t wanted) {
    driven.active = 1;
    driven.bytes = bytes;
    driven.left = n;
    driven.wanted = wanted;
    driven.cases = 0;
}

uint64_t test_driven_cases(void) {
    return driven.cases;
}

static uint64_t driven_random(void) {
    uint64_t bits = 0;
    size_t n = driven.left < sizeof bits ? driven.left : sizeof bits;
    memcpy(&bits, driven.bytes, n);
    driven.bytes += n;
    driven.left -= n;
    return bits;
}

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t hash_of(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

int test_case(const char *format, ...) {
    if (driven.active) {
        driven.begun = driven.cases++ == driven.wanted;
        if (!driven.begun)
            return 0;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(now.name, sizeof now.name, format, args);
    va_end(args);
    now.detail[0] = '\0';
    now.random = mix(now.seed ^ hash_of(now.name));
    int wanted = driven.active || test_random() % now.scale == 0;
    now.cases += (uint64_t)wanted;
    return wanted;
}

void test_case_detail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(now.detail, sizeof now.detail, format, args);
    va_end(args);
}

void test_fail(const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    fail_msg("%s %s: %s (POSENC_TEST_SEED=%llu)", now.name, now.detail, what, (unsigned long long)now.seed);
    abort(); /* fail_msg does not return, but does not say so */
}

void test_count(size_t n) {
    now.compared += n;
}

void test_report_exact(const char *what, size_t n) {
    printf("measured | %s | %zu | 0 ulp | every value\n", what, n);
}

/* cmocka turns signals into failures too, but cannot say which case it was; and it leaves the signal blocked, so that
 * a second one would end the program. */
static void on_fault(int number) {
    test_fail("%s", strsignal(number));
}

void test_catch_faults(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

/* ---- Runs ---- */

posenc_isa_tier test_tier_by_name(const char *name) {
    int tier = 0;
    while (tier < POSENC_ISA_COUNT && strcmp(name, posenc_isa_name((posenc_isa_tier)tier)) != 0)
        tier++;
    return (posenc_isa_tier)tier;
}

/* 1 if the comma-separated list has the name. */
static int list_has(const char *list, const char *name) {
    size_t length = strlen(name);
    while (list != NULL) {
        if (strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return 1;
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    return 0;
}

int test_tier_ready(posenc_isa_tier tier) {
    if (posenc_isa_supported(tier))
        return 1;
    if (list_has(getenv("POSENC_TEST_REQUIRE"), posenc_isa_name(tier)))
        fail_msg("%s is required by POSENC_TEST_REQUIRE, but is not built in or cannot run here",
                 posenc_isa_name(tier));
    return 0;
}

static uint64_t number_from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text == NULL || text[0] == '\0' ? otherwise : strtoull(text, NULL, 0);
}

int test_run_tier(const char *group, posenc_isa_tier tier, const struct CMUnitTest *tests, size_t n) {
    now.seed = number_from_environment("POSENC_TEST_SEED", (uint64_t)time(NULL));
    now.scale = number_from_environment("POSENC_TEST_SCALE", 1);
    if (now.scale == 0)
        now.scale = 1;
    printf("%s: POSENC_TEST_SEED=%llu POSENC_TEST_SCALE=%llu\n", group, (unsigned long long)now.seed,
           (unsigned long long)now.scale);
    int failed = _cmocka_run_group_tests(group, tests, n, NULL, NULL);
    int supported = posenc_isa_supported(tier);
    printf("%s: %llu cases, %llu values compared%s\n", group, (unsigned long long)now.cases,
           (unsigned long long)now.compared, supported ? "" : ", SKIPPED: the tier cannot run here");
    if (failed != 0)
        return failed;
    return supported ? 0 : TEST_EXIT_SKIPPED;
}

/* ---- Numbers ---- */

const float test_special_floats[] = {
    0.0f,
    -0.0f,
    1.0f,
    -1.0f,
    0.5f,
    -0.5f,
    1.5f,
    2.5f,
    -2.5f,
    0x1p-149f,
    -0x1p-149f,
    0x1p-127f,
    0x1.fffffcp-127f,
    FLT_MIN,
    -FLT_MIN,
    FLT_MAX,
    -FLT_MAX,
    0x1.fffffep126f,
    0x1p23f,
    0x1.000002p23f,
    0x1p24f,
    -0x1p24f,
    0x1p31f,
    -0x1p31f,
    0x1p63f,
    1e-30f,
    1e30f,
    3.14159265f,
    87.3f,
    -87.33654f,
    -87.33655f,
    -88.0f,
    -104.0f,
    88.8f,
    0x1.fffffep-1f,
    0x1.000002p0f,
    65504.0f, /* the largest f16; below, what rounds to it and what no longer does */
    0x1.ffdffep15f,
    -65520.0f,
    0x1.ffcp-15f, /* f16's denormals */
    0x1.ffep-15f,
    -0x1.8p-24f,
    0x1p-25f,
    0x1.000002p-25f,
    0x1.002p0f, /* ties of f16 */
    -0x1.006p0f,
    0x1.01p0f, /* ties of bf16 */
    -0x1.03p0f,
    0x1.fefffep127f,
    0x1.ffp127f,
    0x1p-134f,
    INFINITY,
    -INFINITY,
    NAN,
    -NAN,
};
const size_t test_n_special_floats = sizeof test_special_floats / sizeof test_special_floats[0];

const double test_special_doubles[] = {
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    0.25,
    -0.75,
    1.5,
    2.5,
    -3.5,
    0x1p-1074,
    -0x1p-1074,
    DBL_MIN,
    -DBL_MIN,
    DBL_MAX,
    -DBL_MAX,
    0x1p-149,
    0x1.8p-150,
    0x1p-150,
    0x1.fffffefp127,
    0x1.ffffffp127,
    0x1p52,
    0x1.00000010p0,
    0x1.00000030p0,
    0x1.fffffffffffffp-2,
    1e-300,
    1e300,
    INFINITY,
    -INFINITY,
    NAN,
    -NAN,
};
const size_t test_n_special_doubles = sizeof test_special_doubles / sizeof test_special_doubles[0];

const char *test_fill_name(test_fill fill) {
    static const char *const names[FILL_COUNT] = {"ordinary", "wide", "masked", "finite", "sparse", "hostile", "ties"};
    return names[fill];
}

uint64_t test_random(void) {
    if (driven.begun && driven.left > 0)
        return driven_random();
    return mix(now.random += 0x9e3779b97f4a7c15u);
}

size_t test_random_below(size_t n) {
    return (size_t)(test_random() % n);
}

uint32_t test_bits_of_float(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

uint64_t test_bits_of_double(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float random_bits_float(void) {
    return float_of_bits((uint32_t)test_random());
}

static double random_bits_double(void) {
    uint64_t bits = test_random();
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Even over [-limit, limit). */
static double even(double limit) {
    return (double)((int64_t)test_random() >> 10) * 0x1p-53 * limit;
}

static float hostile_float(void) {
    return test_random() % 2 ? random_bits_float() : test_special_floats[test_random_below(test_n_special_floats)];
}

static double hostile_double(void) {
    return test_random() % 2 ? random_bits_double() : test_special_doubles[test_random_below(test_n_special_doubles)];
}

static float finite_float(void) {
    float value = random_bits_float();
    return isfinite(value) ? value : 1.0f;
}

static double finite_double(void) {
    double value = random_bits_double();
    return isfinite(value) ? value : 1.0;
}

/* Half way between two neighbours: in the denormals of f16 odd multiples of 2^-25; else the first fraction bit that
 * f16, or bf16, lacks is set, and those behind it are clear. Every third value is one unit off, in either direction. */
static float tie(void) {
    uint32_t random = (uint32_t)test_random(), bits = random & 0x80000000u;
    if (random % 4 == 0) {
        bits |= test_bits_of_float((float)(2 * test_random_below(1024) + 1) * 0x1p-25f);
    } else {
        uint32_t first_lost = random % 4 == 1 ? 1u << 15 : 1u << 12;
        uint32_t exponent = 127 - 15 + (uint32_t)test_random_below(31);
        bits |= exponent << 23 | (random & 0x7fffff & ~(first_lost - 1)) | first_lost;
    }
    return float_of_bits(test_random() % 3 ? bits : bits + 1 - 2 * (uint32_t)test_random_below(2));
}

/* Of the given exponent and fraction, of either sign. */
static uint16_t half(size_t exponent, size_t fraction, int fraction_bits) {
    return (uint16_t)(test_random_below(2) << 15 | exponent << fraction_bits | fraction);
}

/* Zeros, denormals, the smallest and the largest values, infinities, quiet and signalling NaN, random bits. */
static uint16_t hostile_half(int fraction_bits) {
    size_t top = ((size_t)1 << (15 - fraction_bits)) - 1, ones = ((size_t)1 << fraction_bits) - 1;
    const size_t exponents[] = {0, 1, top / 2, top - 1, top}, fractions[] = {0, 1, ones / 2 + 1, ones};
    if (test_random() % 2)
        return (uint16_t)test_random();
    return half(exponents[test_random_below(5)], fractions[test_random_below(4)], fraction_bits);
}

/* Below 2^limit and not below 2^-4, exponents evenly. */
static uint16_t ordinary_half(size_t limit, int fraction_bits) {
    size_t bias = ((size_t)1 << (14 - fraction_bits)) - 1;
    size_t exponent = bias - 4 + test_random_below(limit + 4);
    return half(exponent, test_random_below((size_t)1 << fraction_bits), fraction_bits);
}

uint16_t test_random_half(test_fill fill, int fraction_bits) {
    switch (fill) {
    case FILL_WIDE: return ordinary_half(8, fraction_bits);
    case FILL_SPARSE: return test_random() % 16 ? ordinary_half(2, fraction_bits) : hostile_half(fraction_bits);
    case FILL_HOSTILE: return hostile_half(fraction_bits);
    default: return ordinary_half(2, fraction_bits);
    }
}

double test_random_double(test_fill fill) {
    switch (fill) {
    case FILL_WIDE: return even(256.0);
    case FILL_MASKED: return test_random() % 2 ? even(4.0) : -INFINITY;
    case FILL_FINITE: return finite_double();
    case FILL_SPARSE: return test_random() % 16 ? even(4.0) : hostile_double();
    case FILL_HOSTILE: return hostile_double();
    default: return even(4.0);
    }
}

float test_random_float(test_fill fill) {
    switch (fill) {
    case FILL_WIDE: return (float)even(256.0);
    case FILL_MASKED: return test_random() % 2 ? (float)even(4.0) : -INFINITY;
    case FILL_FINITE: return finite_float();
    case FILL_SPARSE: return test_random() % 16 ? (float)even(4.0) : hostile_float();
    case FILL_HOSTILE: return hostile_float();
    case FILL_TIES: return test_random() % 4 ? tie() : (float)even(4.0);
    default: return (float)even(4.0);
    }
}

int test_same_float(float a, float b) {
    return test_bits_of_float(a) == test_bits_of_float(b) || (isnan(a) && isnan(b));
}

int test_same_double(double a, double b) {
    return test_bits_of_double(a) == test_bits_of_double(b) || (isnan(a) && isnan(b));
}

/* ---- Guarded memory ---- */

enum { MARGIN = 256 }; /* bytes of canaries on either side, where the guard page leaves room */

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *checked(void *p) {
    if (p == MAP_FAILED)
        fail_msg("no memory for a guarded buffer");
    return p;
}

static void map(test_guarded *memory, size_t bytes) {
    size_t page = page_size();
    size_t size = (bytes / page + 1) * page;
    unsigned char *whole = checked(mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mprotect(whole + page, size, PROT_READ | PROT_WRITE) != 0)
        fail_msg("no guard pages");
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
