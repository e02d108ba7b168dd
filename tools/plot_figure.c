/* SPDX-License-Identifier: MIT */
/* Lays out a figure, measuring every text first so that nothing is cut off, draws it with Cairo and writes the PNG. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "plot_draw.h"

enum { X_TICKS = 8, Y_TICKS = 8, LINES_WIDTH = 600, LINES_HEIGHT = 340 };

#define BORDER 16.0         /* around everything */
#define PANEL_DISTANCE 28.0 /* between two diagrams */
#define TICK_LENGTH 4.0
#define TITLE_HEIGHT 24.0
#define SUBTITLE_HEIGHT 18.0
#define PANEL_TITLE_HEIGHT 24.0
#define BELOW (TICK_LENGTH + 4.0 + TEXT_HEIGHT + 8.0 + TEXT_HEIGHT) /* ticks and label of the x axis */

/* Where a panel's parts stand. */
typedef struct layout {
    plot_box frame;
    double left, right; /* margins: the y axis; colour bar or legend */
    plot_scale colours; /* of a heat map */
} layout;

typedef struct page {
    double width, height;
    layout panels[PLOT_PANELS];
} page;

/* ---- Layout ---- */

static double left_margin(cairo_t *c, const plot_panel *p) {
    plot_tick ticks[MAX_TICKS];
    int n = axis_ticks(&p->y, Y_TICKS, ticks);
    return TEXT_HEIGHT + TEXT_GAP + ticks_width(c, ticks, n) + 4.0 + TICK_LENGTH;
}

static page lay_out(cairo_t *c, const plot_figure *f) {
    page result = {0};
    double x = BORDER, top = BORDER + TITLE_HEIGHT, bottom = 0.0;
    if (f->subtitle[0] != '\0')
        top += SUBTITLE_HEIGHT;
    for (int i = 0; i < f->n_panels; i++)
        if (f->panels[i].title[0] != '\0')
            bottom = PANEL_TITLE_HEIGHT; /* all frames begin at one height */
    top += fmax(bottom, 8.0);
    for (int i = 0; i < f->n_panels; i++) {
        const plot_panel *p = &f->panels[i];
        layout *l = &result.panels[i];
        double width = LINES_WIDTH, height = LINES_HEIGHT;
        if (p->values != NULL) {
            map_size(p, f->scale, &width, &height);
            l->colours = scale_of(f, i);
        }
        l->left = left_margin(c, p);
        l->right = p->values != NULL ? map_margin(c, p, &l->colours) : lines_margin(c, p);
        x += (i > 0 ? PANEL_DISTANCE : 0.0) + l->left;
        l->frame = (plot_box){rint(x * f->scale) / f->scale, rint(top * f->scale) / f->scale, width, height};
        x += width + l->right;
        bottom = fmax(bottom, l->frame.y + height + BELOW);
    }
    double titles = fmax(text_width(c, TEXT_TITLE, f->title), text_width(c, TEXT_SUBTITLE, f->subtitle));
    result.width = fmax(x, BORDER + titles) + BORDER;
    result.height = bottom + BORDER;
    return result;
}

/* ---- Drawing ---- */

/* As many as stand side by side with some room between them. */
static int x_ticks(cairo_t *c, const plot_panel *p, double width, plot_tick ticks[MAX_TICKS]) {
    int wanted = X_TICKS, n = axis_ticks(&p->x, wanted, ticks);
    while (wanted > 1 && n * (ticks_width(c, ticks, n) + TEXT_GAP) > width)
        n = axis_ticks(&p->x, --wanted, ticks);
    return n;
}

static void draw_x_axis(cairo_t *c, const plot_panel *p, const plot_box *frame) {
    plot_tick ticks[MAX_TICKS];
    int n = x_ticks(c, p, frame->width, ticks);
    double y = frame->y + frame->height;
    for (int i = 0; i < n; i++) {
        double x = frame->x + ticks[i].at * frame->width;
        cairo_move_to(c, x, y);
        cairo_rel_line_to(c, 0.0, TICK_LENGTH);
        cairo_set_source_rgb(c, 0.3, 0.3, 0.3);
        cairo_stroke(c);
        text_draw(c, TEXT_TICK, x, y + TICK_LENGTH + 4.0 + TEXT_HEIGHT / 2.0, 0.5, ticks[i].text);
    }
    text_draw(c, TEXT_LABEL, frame->x + frame->width / 2.0, y + BELOW - TEXT_HEIGHT / 2.0, 0.5, p->x.label);
}

/* Top to bottom for heat maps, bottom to top for curves. */
static void draw_y_axis(cairo_t *c, const plot_panel *p, const layout *l) {
    plot_tick ticks[MAX_TICKS];
    int n = axis_ticks(&p->y, Y_TICKS, ticks);
    for (int i = 0; i < n; i++) {
        double at = p->values != NULL ? ticks[i].at : 1.0 - ticks[i].at;
        double y = l->frame.y + at * l->frame.height;
        if (p->values == NULL) {
            cairo_move_to(c, l->frame.x, y);
            cairo_rel_line_to(c, l->frame.width, 0.0);
            cairo_set_source_rgb(c, 0.9, 0.9, 0.9);
            cairo_stroke(c);
        }
        cairo_move_to(c, l->frame.x, y);
        cairo_rel_line_to(c, -TICK_LENGTH, 0.0);
        cairo_set_source_rgb(c, 0.3, 0.3, 0.3);
        cairo_stroke(c);
        text_draw(c, TEXT_TICK, l->frame.x - TICK_LENGTH - 4.0, y, 1.0, ticks[i].text);
    }
    text_draw_upwards(c, TEXT_LABEL, l->frame.x - l->left + TEXT_HEIGHT / 2.0, l->frame.y + l->frame.height / 2.0,
                      p->y.label);
}

static void draw_panel(cairo_t *c, const plot_panel *p, const layout *l, double scale) {
    const plot_box *frame = &l->frame;
    cairo_set_line_width(c, 0.8);
    draw_x_axis(c, p, frame);
    draw_y_axis(c, p, l);
    if (p->title[0] != '\0')
        text_draw(c, TEXT_PANEL_TITLE, frame->x, frame->y - PANEL_TITLE_HEIGHT / 2.0, 0.0, p->title);
    if (p->values != NULL)
        map_draw(c, p, frame, &l->colours, scale);
    else
        lines_draw(c, p, frame);
    cairo_rectangle(c, frame->x, frame->y, frame->width, frame->height);
    cairo_set_source_rgb(c, 0.3, 0.3, 0.3);
    cairo_set_line_width(c, 0.8);
    cairo_stroke(c);
}

static void draw(cairo_t *c, const plot_figure *f, const page *p) {
    cairo_set_source_rgb(c, 1.0, 1.0, 1.0);
    cairo_paint(c);
    text_draw(c, TEXT_TITLE, BORDER, BORDER + TITLE_HEIGHT / 2.0 - 4.0, 0.0, f->title);
    text_draw(c, TEXT_SUBTITLE, BORDER, BORDER + TITLE_HEIGHT + SUBTITLE_HEIGHT / 2.0 - 5.0, 0.0, f->subtitle);
    for (int i = 0; i < f->n_panels; i++)
        draw_panel(c, &f->panels[i], &p->panels[i], f->scale);
}

/* ---- The file ---- */

static cairo_t *new_canvas(double width, double height, double scale) {
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * scale), (int)ceil(height * scale));
    cairo_t *c = cairo_create(surface);
    cairo_surface_destroy(surface); /* c holds it */
    cairo_scale(c, scale, scale);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(c, options);
    cairo_font_options_destroy(options);
    return c;
}

const char *plot_absence(void) {
    return NULL;
}

static cairo_status_t write_bytes(void *f, const unsigned char *bytes, unsigned int n) {
    return fwrite(bytes, 1, n, f) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

const char *plot_write_png(const plot_figure *figure, FILE *f) {
    cairo_t *measure = new_canvas(1.0, 1.0, figure->scale);
    page p = lay_out(measure, figure);
    cairo_destroy(measure);
    cairo_t *c = new_canvas(p.width, p.height, figure->scale);
    draw(c, figure, &p);
    cairo_status_t status = cairo_status(c);
    errno = 0;
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(cairo_get_target(c), write_bytes, f);
    cairo_destroy(c);
    if (status == CAIRO_STATUS_SUCCESS)
        return NULL;
    return status == CAIRO_STATUS_WRITE_ERROR && errno != 0 ? strerror(errno) : cairo_status_to_string(status);
}
