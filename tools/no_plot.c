/* SPDX-License-Identifier: MIT */
/* A build without Cairo draws nothing. */
#include "plot.h"

const char *plot_absence(void) {
    return "this posenc was built without Cairo, which draws: install libcairo2-dev (Debian, Ubuntu), then "
           "'meson setup --reconfigure build && ninja -C build'";
}

const char *plot_write_png(const plot_figure *figure, FILE *f) {
    (void)figure;
    (void)f;
    return plot_absence();
}
