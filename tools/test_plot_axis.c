/* SPDX-License-Identifier: MIT */
/* What stands beside a diagram: the numbers along an axis, and the range of its colours. */
#include <stdio.h>
#include <string.h>

#include "plot_draw.h"

static int failures;

static void check(int ok, const char *what) {
    if (!ok)
        printf("FAILED: %s\n", what);
    failures += !ok;
}

/* From 4 to 9 ticks, no two of them with the same text, of which `expected` is one. */
static void test_ticks(double first, double last, int is_whole, const char *expected) {
    const plot_axis axis = {.first = first, .last = last, .is_whole = is_whole};
    plot_tick ticks[MAX_TICKS];
    int n = axis_ticks(&axis, 8, ticks), differ = 1, found = 0;
    for (int i = 0; i < n; i++) {
        differ = differ && (i == 0 || strcmp(ticks[i].text, ticks[i - 1].text) != 0);
        found = found || strcmp(ticks[i].text, expected) == 0;
    }
    check(n >= 4 && n <= 9, "the number of ticks");
    check(differ, "neighbours differ");
    check(found, expected);
}

/* Cosines may reach 1 and not -1, sines the other way round: one figure, one range. */
static void test_common_scale(void) {
    const float cosines[] = {1.0f, -0.5f}, sines[] = {0.25f, -2.0f};
    plot_figure f = {.n_panels = 2, .has_common_scale = 1};
    f.panels[0] = (plot_panel){.values = cosines, .n_rows = 1, .n_columns = 2};
    f.panels[1] = (plot_panel){.values = sines, .n_rows = 1, .n_columns = 2};
    plot_scale of_cosines = scale_of(&f, 0), of_sines = scale_of(&f, 1);
    check(of_cosines.low == -2.0 && of_cosines.high == 2.0, "the range of both panels");
    check(of_sines.low == -2.0 && of_sines.high == 2.0, "the range of both panels, in the second");
    f.has_common_scale = 0;
    of_cosines = scale_of(&f, 0);
    check(of_cosines.high == 1.0, "a range of its own");
}

int main(void) {
    test_ticks(-0.5, 127.5, 1, "60");
    test_ticks(999999.5, 1000099.5, 1, "1000020");
    test_ticks(2147483000.0, 2147483647.0, 1, "2147483600");
    test_ticks(-2147483648.0, -2147483000.0, 1,
               "\xe2\x88\x92"
               "2147483600");
    test_ticks(0.0, 16777216.0, 1, "10000000");
    test_ticks(5000000.0, 5000001.0, 0, "5000000.2");
    test_ticks(0.0, 1.0, 0, "0.4");
    test_ticks(0.0, 1e-6, 0, "4e-07");
    test_common_scale();
    printf("%d failures\n", failures);
    return failures != 0;
}
