/* SPDX-License-Identifier: MIT */
/* `posenc table` from the outside: the files it writes hold what the library gives, bit for bit. Usage: test_table
 * POSENC */
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <posenc/posenc.h>

extern char **environ;

static char path[] = "/tmp/posenc-table-XXXXXX";
static const char *posenc;
static int failures;

static void check(int ok, const char *what) {
    if (!ok)
        printf("FAILED: %s\n", what);
    failures += !ok;
}

/* ---- The command, and the file that it writes ---- */

enum { MAX_FLOATS = 1 << 16 };

static float got[MAX_FLOATS], want[MAX_FLOATS];

/* Runs "posenc table ARGUMENTS -o path"; the arguments are separated by single spaces. */
static void run(const char *arguments) {
    char text[256], *argv[32] = {(char *)(uintptr_t)posenc, "table"};
    int n = 2, status = -1;
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok(text, " "); word != NULL && n < 28; word = strtok(NULL, " "))
        argv[n++] = word;
    argv[n++] = "-o";
    argv[n++] = path;
    pid_t child;
    if (posix_spawn(&child, posenc, NULL, NULL, argv, environ) == 0)
        waitpid(child, &status, 0);
    check(status == 0, arguments);
}

/* Reads the file: the header must be that of this shape, and n floats follow it. */
static void read_file(const char *what, const char *shape, size_t n) {
    static unsigned char bytes[sizeof got + 256];
    char header[160];
    FILE *f = fopen(path, "rb");
    size_t size = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0, start = 10;
    if (f != NULL)
        fclose(f);
    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': %s}", shape);
    int ok = size > start && memcmp(bytes, "\x93NUMPY\x01\x00", 8) == 0;
    start += ok ? bytes[8] + 256u * bytes[9] : 0;
    ok = ok && start % 64 == 0 && size == start + n * sizeof(float) && bytes[start - 1] == '\n';
    ok = ok && memcmp(bytes + 10, header, strlen(header)) == 0;
    for (size_t i = 10 + strlen(header); ok && i + 1 < start; i++)
        ok = bytes[i] == ' ';
    check(ok, what);
    if (ok)
        memcpy(got, bytes + start, n * sizeof(float));
}

static void compare(const char *what, size_t n) {
    check(memcmp(got, want, n * sizeof(float)) == 0, what);
}

/* ---- What the library gives ---- */

static void encode(posenc_encoding *e, int32_t start, int64_t n) {
    int32_t positions[1024];
    posenc_view y = posenc_view_dense(want, POSENC_F32, posenc_encoding_dim(e), n, 1, 1);
    posenc_positions_range(start, n, positions);
    check(posenc_encoding_write(e, positions, &y) == POSENC_OK, "the library");
    posenc_encoding_free(e);
}

static void test_sinusoidal(void) {
    static const char *const arguments[] = {
        "sinusoidal --length 130 --start -5 --dim 33",
        "sinusoidal --length 130 --start 2147483518 --dim 33 --odd zero --base 500",
        "sinusoidal --length 130 --dim 33 --layout concat --schedule half-minus-1",
    };
    const posenc_sinusoidal_params params[] = {
        {POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_HALF, POSENC_ODD_SIN, 33, 10000.0, 1.0, 1.0, 1.0},
        {POSENC_SINUSOIDAL_INTERLEAVED, POSENC_SCHEDULE_HALF, POSENC_ODD_ZERO, 33, 500.0, 1.0, 1.0, 1.0},
        {POSENC_SINUSOIDAL_CONCAT, POSENC_SCHEDULE_HALF_MINUS_1, POSENC_ODD_SIN, 33, 10000.0, 1.0, 1.0, 1.0},
    };
    static const int32_t starts[] = {-5, 2147483518, 0};
    for (int i = 0; i < 3; i++) {
        posenc_encoding *e = NULL;
        run(arguments[i]);
        read_file(arguments[i], "(130, 33)", 130 * 33);
        check(posenc_sinusoidal_create(&params[i], &e) == POSENC_OK, "the library");
        encode(e, starts[i], 130);
        compare(arguments[i], 130 * 33);
    }
}

static void test_rope(void) {
    static const char arguments[] = "rope --length 70 --dim 64 --scaling yarn --factor 8 --context 2048";
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    params.layout = POSENC_ROPE_HALF;
    params.head_dim = params.n_rot = 64;
    params.scaling.type = POSENC_SCALING_YARN;
    params.scaling.factor = 8.0;
    params.scaling.original_context = 2048.0;
    posenc_rope *rope = NULL;
    int32_t positions[70];
    run(arguments);
    read_file(arguments, "(2, 70, 32)", 2 * 70 * 32);
    posenc_positions_range(0, 70, positions);
    posenc_rope_table table = {want, want + 70 * 32, 32, 1, 0};
    check(posenc_rope_create(&params, &rope) == POSENC_OK &&
              posenc_rope_table_fill(rope, positions, 70, POSENC_FORWARD, &table) == POSENC_OK,
          "the library");
    posenc_rope_free(rope);
    compare(arguments, 2 * 70 * 32);
}

static void test_codes(void) {
    for (int is_gray = 0; is_gray < 2; is_gray++) {
        const char *arguments = is_gray ? "gray --length 300 --dim 9" : "binary --length 300 --dim 9";
        run(arguments);
        read_file(arguments, "(300, 9)", 300 * 9);
        for (uint64_t p = 0; p < 300; p++)
            for (uint64_t i = 0; i < 9; i++)
                want[p * 9 + i] = (float)((is_gray ? posenc_gray_encode(p) : p) >> i & 1);
        compare(arguments, 300 * 9);
    }
}

/* Tokens row by row: the grid of 3 x 70 is that of its planes. */
static void test_grid(void) {
    static const char arguments[] = "grid --height 3 --width 70 --dim 16";
    int32_t planes[2 * 210];
    posenc_encoding *e = NULL;
    posenc_view y = posenc_view_dense(want, POSENC_F32, 16, 210, 1, 1);
    run(arguments);
    read_file(arguments, "(210, 16)", 210 * 16);
    check(posenc_positions_grid((int64_t[]){3, 70}, 2, planes) == POSENC_OK &&
              posenc_grid_create(POSENC_GRID_W_FIRST, 16, 0, 10000.0, &e) == POSENC_OK &&
              posenc_encoding_write(e, planes, &y) == POSENC_OK,
          "the library");
    posenc_encoding_free(e);
    compare(arguments, 210 * 16);
}

static void test_alibi(void) {
    static const char arguments[] = "alibi --length 70 --heads 6 --window 9";
    float slopes[6];
    run(arguments);
    read_file(arguments, "(6, 70, 70)", 6 * 70 * 70);
    check(posenc_alibi_slopes(6, 8.0, slopes) == POSENC_OK, "the library");
    for (int i = 0; i < 6 * 70 * 70; i++) {
        int distance = i / 70 % 70 - i % 70;
        want[i] = distance < 0 || distance >= 9 ? -INFINITY : -(slopes[i / 4900] * (float)distance);
    }
    for (int i = 0; i < 6 * 70 * 70; i++) /* -0 is 0 */
        got[i] += 0.0f, want[i] += 0.0f;
    compare(arguments, 6 * 70 * 70);
}

/* One number for each bucket and head: the same for offsets of one bucket, another for those of another. */
static void test_t5(void) {
    static const char arguments[] = "t5 --length 120 --heads 2 --mask full --max-distance 50";
    posenc_t5_params params = {32, 50, 1};
    run(arguments);
    read_file(arguments, "(2, 120, 120)", 2 * 120 * 120);
    float by_bucket[2][32] = {{0}};
    int seen[2][32] = {{0}}, ok = 1;
    for (int i = 0; i < 2 * 120 * 120; i++) {
        int32_t bucket, head = i / 14400;
        posenc_t5_bucket(&params, i % 120 - i / 120 % 120, &bucket);
        if (!seen[head][bucket])
            by_bucket[head][bucket] = got[i];
        seen[head][bucket] = 1;
        ok = ok && by_bucket[head][bucket] == got[i];
    }
    for (int i = 0; i < 63; i++)
        ok = ok && by_bucket[i / 32][i % 32] != by_bucket[(i + 1) / 32][(i + 1) % 32];
    check(ok, arguments);
}

int main(int argc, char **argv) {
    int file = argc == 2 ? mkstemp(path) : -1;
    if (file < 0) {
        fprintf(stderr, "usage: test_table POSENC\n");
        return 2;
    }
    close(file);
    posenc = argv[1];
    test_sinusoidal();
    test_rope();
    test_codes();
    test_grid();
    test_alibi();
    test_t5();
    unlink(path);
    printf("%d failures\n", failures);
    return failures != 0;
}
