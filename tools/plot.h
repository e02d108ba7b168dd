/* SPDX-License-Identifier: MIT */
/* Figures for `posenc plot`: what is drawn (plot_views.c makes it from a table) and what draws it. */
#ifndef POSENC_TOOLS_PLOT_H
#define POSENC_TOOLS_PLOT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PLOT_LINES = 8, PLOT_PANELS = 2 };

/* From the value at the left or top edge to that at the right or bottom edge; for curves y goes from bottom to top. */
typedef struct plot_axis {
    const char *label;
    double first, last;
    int is_log;   /* both positive */
    int is_whole; /* ticks at whole numbers only */
} plot_axis;

/* One diagram: a heat map if it has values, else curves. */
typedef struct plot_panel {
    char title[80];
    plot_axis x, y;

    const float *values; /* [n_rows][n_columns]; what is not finite is drawn grey */
    int64_t n_rows, n_columns;
    const char *unit; /* of the colour bar */
    int is_square;
    int is_capped; /* from 0 to the largest value of the row an eighth down; what is above is as bright */

    const float *lines[PLOT_LINES]; /* [n_points] each, from x.first to x.last */
    char names[PLOT_LINES][40];
    int n_lines;
    int64_t n_points;
} plot_panel;

typedef struct plot_figure {
    char title[160], subtitle[300];
    plot_panel panels[PLOT_PANELS];
    int n_panels;
    int has_common_scale; /* the heat maps have one range of colours: that of the values of all */
    double scale;         /* 1: some 800 pixels wide */
} plot_figure;

/* NULL if this program can draw; else what to do about it. */
const char *plot_absence(void);

/* NULL, or why the file could not be written. */
const char *plot_write_png(const plot_figure *figure, FILE *f);

#endif
