/* SPDX-License-Identifier: MIT */
/* Curves and their legend. */
#include <math.h>

#include "plot_draw.h"

#define SWATCH 18.0 /* length of a legend's line */
#define DISTANCE 14.0
#define LEADING 19.0

double lines_margin(cairo_t *c, const plot_panel *p) {
    double width = 0.0;
    for (int i = 0; i < p->n_lines; i++)
        width = fmax(width, text_width(c, TEXT_TICK, p->names[i]));
    return DISTANCE + SWATCH + TEXT_GAP + width;
}

static double place(const plot_axis *axis, double value) {
    if (axis->is_log)
        return log(value / axis->first) / log(axis->last / axis->first);
    return (value - axis->first) / (axis->last - axis->first);
}

static void use_colour(cairo_t *c, int i, int n) {
    plot_colour colour = line_colour(i, n);
    cairo_set_source_rgb(c, colour.red, colour.green, colour.blue);
    cairo_set_line_width(c, 1.7);
}

/* Broken where a value is not finite. */
static void draw_line(cairo_t *c, const plot_panel *p, const plot_box *frame, int i) {
    int pen_is_down = 0;
    for (int64_t k = 0; k < p->n_points; k++) {
        double value = (double)p->lines[i][k];
        double x = frame->x + frame->width * (p->n_points > 1 ? (double)k / (double)(p->n_points - 1) : 0.5);
        double y = frame->y + frame->height * (1.0 - place(&p->y, value));
        if (!isfinite(value)) {
            pen_is_down = 0;
            continue;
        }
        if (pen_is_down)
            cairo_line_to(c, x, y);
        else
            cairo_move_to(c, x, y);
        pen_is_down = 1;
    }
    cairo_stroke(c);
}

void lines_draw(cairo_t *c, const plot_panel *p, const plot_box *frame) {
    cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
    for (int i = 0; i < p->n_lines; i++) {
        cairo_save(c);
        cairo_rectangle(c, frame->x, frame->y - 1.0, frame->width, frame->height + 2.0);
        cairo_clip(c);
        use_colour(c, i, p->n_lines);
        draw_line(c, p, frame, i);
        cairo_restore(c);

        double x = frame->x + frame->width + DISTANCE, y = frame->y + (i + 0.5) * LEADING;
        use_colour(c, i, p->n_lines);
        cairo_move_to(c, x, y);
        cairo_rel_line_to(c, SWATCH, 0.0);
        cairo_stroke(c);
        text_draw(c, TEXT_TICK, x + SWATCH + TEXT_GAP, y, 0.0, p->names[i]);
    }
}
