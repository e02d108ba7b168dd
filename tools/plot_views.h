/* SPDX-License-Identifier: MIT */
/* From a table to a figure: the ways in which `posenc plot` looks at one. */
#ifndef POSENC_TOOLS_PLOT_VIEWS_H
#define POSENC_TOOLS_PLOT_VIEWS_H

#include "method.h"
#include "plot.h"

typedef enum plot_view {
    VIEW_MAP, /* the values; of a bias one head, and the attention weights that it gives */
    VIEW_SIMILARITY,
    VIEW_CURVES,
    VIEW_SPECTRUM
} plot_view;

typedef struct plot_request {
    plot_view view;
    int64_t head;              /* VIEW_MAP of a bias */
    int64_t lines[PLOT_LINES]; /* VIEW_CURVES: channels, or heads of a bias */
    int n_lines;               /* 0: some, evenly spaced */
} plot_request;

/* A figure and the numbers that it shows. */
typedef struct plot_made {
    plot_figure figure;
    float *values[PLOT_PANELS];
} plot_made;

/* NULL, or what is wrong in words that follow "METHOD: ". The figure is to be freed in either case. */
const char *plot_make(const table *t, const plot_request *request, plot_made *made);
void plot_free(plot_made *made);

#endif
