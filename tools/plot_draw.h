/* SPDX-License-Identifier: MIT */
/* What the files that draw with Cairo share. Lengths are in points; the figure's scale makes pixels of them. */
#ifndef POSENC_TOOLS_PLOT_DRAW_H
#define POSENC_TOOLS_PLOT_DRAW_H

#include <cairo.h>

#include "plot.h"

/* A rectangle: the frame of a diagram. */
typedef struct plot_box {
    double x, y, width, height;
} plot_box;

/* ---- Text: plot_axis.c ---- */

typedef enum text_style { TEXT_TICK, TEXT_LABEL, TEXT_PANEL_TITLE, TEXT_TITLE, TEXT_SUBTITLE } text_style;

#define TEXT_HEIGHT 11.0 /* of ticks; of labels and legends a little more */
#define TEXT_GAP 7.0     /* between text and what it belongs to */

double text_width(cairo_t *c, text_style style, const char *text);

/* align: 0 the text begins at x, 0.5 is centred there, 1 ends there. y is the middle of its height. */
void text_draw(cairo_t *c, text_style style, double x, double y, double align, const char *text);

/* The same, turned to read upwards. */
void text_draw_upwards(cairo_t *c, text_style style, double x, double y, const char *text);

/* ---- Axes: plot_axis.c ---- */

typedef struct plot_tick {
    double at; /* 0 .. 1 along the axis */
    char text[24];
} plot_tick;

enum { MAX_TICKS = 16 };

/* About n ticks at round values; returns how many. */
int axis_ticks(const plot_axis *axis, int n, plot_tick ticks[MAX_TICKS]);

/* Width of the widest. */
double ticks_width(cairo_t *c, const plot_tick *ticks, int n);

/* ---- Colours: plot_colour.c ---- */

typedef struct plot_colour {
    double red, green, blue; /* 0 .. 1 */
} plot_colour;

/* Which colours stand for low .. high: viridis; or, with values on both sides of 0, blue, white and red around it. */
typedef struct plot_scale {
    double low, high;
    int is_diverging;
    int has_more; /* some values are above high */
} plot_scale;

/* Of panel i, which is a heat map. */
plot_scale scale_of(const plot_figure *figure, int i);
plot_colour scale_colour(const plot_scale *scale, double value);
extern const plot_colour colour_of_masked;

/* Colour of line i of n. */
plot_colour line_colour(int i, int n);

/* ---- Diagrams: plot_map.c, plot_lines.c ---- */

/* The frame's size, in points of so many pixels: heat maps like whole pixels for a cell. */
void map_size(const plot_panel *panel, double scale, double *width, double *height);

/* What stands to the right of the frame: colour bar or legend. */
double map_margin(cairo_t *c, const plot_panel *panel, const plot_scale *colours);
double lines_margin(cairo_t *c, const plot_panel *panel);

void map_draw(cairo_t *c, const plot_panel *panel, const plot_box *frame, const plot_scale *colours, double scale);
void lines_draw(cairo_t *c, const plot_panel *panel, const plot_box *frame);

#endif
