/* SPDX-License-Identifier: MIT */
/* Heat maps and their colour bars. */
#include <math.h>
#include <stdio.h>

#include "plot_draw.h"

enum { WIDTH = 600, HEIGHT = 400, SQUARE = 400, BAR_TICKS = 6 };

#define BAR_WIDTH 14.0
#define BAR_DISTANCE 16.0
#define TICK_LENGTH 4.0
#define MASKED_SIZE 14.0 /* of the swatch that explains grey */

/* Near `points`, with whole pixels for each of n cells if there is at least one. */
static double whole_cells(double points, int64_t n, double scale) {
    double pixels = rint(points * scale);
    if ((double)n <= pixels)
        pixels = rint(pixels / (double)n) * (double)n;
    return pixels / scale;
}

void map_size(const plot_panel *p, double scale, double *width, double *height) {
    *width = whole_cells(p->is_square ? SQUARE : WIDTH, p->n_columns, scale);
    *height = whole_cells(p->is_square ? SQUARE : HEIGHT, p->n_rows, scale);
}

/* ---- Cells ---- */

/* Mean of the finite values in a range of cells, NaN if there is none. */
static double mean(const plot_panel *p, int64_t top, int64_t bottom, int64_t left, int64_t right) {
    double sum = 0.0;
    int64_t n = 0;
    for (int64_t row = top; row < bottom; row++)
        for (int64_t column = left; column < right; column++) {
            double value = (double)p->values[row * p->n_columns + column];
            if (isfinite(value)) {
                sum += value;
                n++;
            }
        }
    return n > 0 ? sum / (double)n : NAN;
}

/* Cells that pixel i of n shows, of n_cells: at least one, none twice where there are more cells than pixels. */
static void cells_of(int i, int n, int64_t n_cells, int64_t *begin, int64_t *end) {
    *begin = i * n_cells / n;
    *end = (i + 1) * n_cells / n;
    if (*end == *begin)
        *end = *begin + 1;
}

static uint32_t pixel(plot_colour colour) {
    uint32_t red = (uint32_t)rint(255.0 * colour.red), green = (uint32_t)rint(255.0 * colour.green);
    return 0xff000000u | red << 16 | green << 8 | (uint32_t)rint(255.0 * colour.blue);
}

static void draw_cells(cairo_t *c, const plot_panel *p, const plot_box *frame, const plot_scale *colours,
                       double scale) {
    int width = (int)rint(frame->width * scale), height = (int)rint(frame->height * scale);
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    unsigned char *data = cairo_image_surface_get_data(image);
    int stride = cairo_image_surface_get_stride(image);
    for (int y = 0; data != NULL && y < height; y++) {
        uint32_t *line = (uint32_t *)(void *)(data + (ptrdiff_t)y * stride);
        int64_t top, bottom, left, right;
        cells_of(y, height, p->n_rows, &top, &bottom);
        for (int x = 0; x < width; x++) {
            cells_of(x, width, p->n_columns, &left, &right);
            line[x] = pixel(scale_colour(colours, mean(p, top, bottom, left, right)));
        }
    }
    cairo_surface_mark_dirty(image);
    cairo_save(c);
    cairo_identity_matrix(c);
    cairo_set_source_surface(c, image, rint(frame->x * scale), rint(frame->y * scale));
    cairo_paint(c);
    cairo_restore(c);
    cairo_surface_destroy(image);
}

/* ---- Colour bar ---- */

static int has_masked(const plot_panel *p) {
    for (int64_t i = 0; i < p->n_rows * p->n_columns; i++)
        if (!isfinite(p->values[i]))
            return 1;
    return 0;
}

#define CLOSE 0.06 /* of the bar's height: ticks nearer than this would touch */

/* The bar's scale, high values at the top. If values go on above, the top says so. */
static int bar_ticks(const plot_scale *colours, plot_tick ticks[MAX_TICKS]) {
    plot_axis axis = {NULL, colours->high, colours->low, 0, 0};
    int n = axis_ticks(&axis, BAR_TICKS, ticks);
    if (!colours->has_more)
        return n;
    if (n == MAX_TICKS || (n > 0 && ticks[n - 1].at < CLOSE))
        n--;
    ticks[n].at = 0.0;
    snprintf(ticks[n].text, sizeof ticks[n].text, "\xe2\x89\xa5 %.2g", colours->high);
    return n + 1;
}

static double label_place(cairo_t *c, const plot_scale *colours) {
    plot_tick ticks[MAX_TICKS];
    return BAR_DISTANCE + BAR_WIDTH + TEXT_GAP + ticks_width(c, ticks, bar_ticks(colours, ticks)) + TEXT_GAP +
           TEXT_HEIGHT / 2.0;
}

double map_margin(cairo_t *c, const plot_panel *p, const plot_scale *colours) {
    double margin = label_place(c, colours) + TEXT_HEIGHT / 2.0;
    if (has_masked(p))
        margin = fmax(margin, BAR_DISTANCE + BAR_WIDTH + TEXT_GAP + text_width(c, TEXT_TICK, "masked"));
    return margin;
}

static void draw_frame(cairo_t *c, double x, double y, double width, double height) {
    cairo_rectangle(c, x, y, width, height);
    cairo_set_source_rgb(c, 0.3, 0.3, 0.3);
    cairo_set_line_width(c, 0.8);
    cairo_stroke(c);
}

/* What colours stand for: the mean of several cells where there are more of them than pixels. */
static void write_unit(const plot_panel *p, const plot_box *frame, double scale, char *text, size_t size) {
    double rows = (double)p->n_rows / fmax(1.0, rint(frame->height * scale));
    double columns = (double)p->n_columns / fmax(1.0, rint(frame->width * scale));
    if (rows <= 1.0 && columns <= 1.0)
        snprintf(text, size, "%s", p->unit);
    else
        snprintf(text, size, "%s, each pixel a mean of %.3g \xc3\x97 %.3g cells", p->unit, fmax(rows, 1.0),
                 fmax(columns, 1.0));
}

static void draw_bar(cairo_t *c, const plot_panel *p, const plot_box *frame, const plot_scale *colours, double scale) {
    double x = frame->x + frame->width + BAR_DISTANCE, height = frame->height;
    if (has_masked(p)) {
        height -= 2.0 * MASKED_SIZE;
        double y = frame->y + frame->height - MASKED_SIZE;
        cairo_rectangle(c, x, y, BAR_WIDTH, MASKED_SIZE);
        cairo_set_source_rgb(c, colour_of_masked.red, colour_of_masked.green, colour_of_masked.blue);
        cairo_fill(c);
        draw_frame(c, x, y, BAR_WIDTH, MASKED_SIZE);
        text_draw(c, TEXT_TICK, x + BAR_WIDTH + TEXT_GAP, y + MASKED_SIZE / 2.0, 0.0, "masked");
    }
    cairo_pattern_t *gradient = cairo_pattern_create_linear(0.0, frame->y, 0.0, frame->y + height);
    for (int i = 0; i <= 64; i++) {
        double at = i / 64.0;
        plot_colour colour = scale_colour(colours, colours->high + at * (colours->low - colours->high));
        cairo_pattern_add_color_stop_rgb(gradient, at, colour.red, colour.green, colour.blue);
    }
    cairo_rectangle(c, x, frame->y, BAR_WIDTH, height);
    cairo_set_source(c, gradient);
    cairo_fill(c);
    cairo_pattern_destroy(gradient);
    draw_frame(c, x, frame->y, BAR_WIDTH, height);

    plot_tick ticks[MAX_TICKS];
    int n = bar_ticks(colours, ticks);
    for (int i = 0; i < n; i++) {
        double y = frame->y + ticks[i].at * height;
        cairo_move_to(c, x + BAR_WIDTH, y);
        cairo_rel_line_to(c, TICK_LENGTH, 0.0);
        cairo_set_source_rgb(c, 0.3, 0.3, 0.3);
        cairo_stroke(c);
        text_draw(c, TEXT_TICK, x + BAR_WIDTH + TEXT_GAP, y, 0.0, ticks[i].text);
    }
    double label_x = frame->x + frame->width + label_place(c, colours);
    char unit[120];
    write_unit(p, frame, scale, unit, sizeof unit);
    text_draw_upwards(c, TEXT_LABEL, label_x, frame->y + height / 2.0, unit);
}

void map_draw(cairo_t *c, const plot_panel *p, const plot_box *frame, const plot_scale *colours, double scale) {
    draw_cells(c, p, frame, colours, scale);
    draw_bar(c, p, frame, colours, scale);
}
