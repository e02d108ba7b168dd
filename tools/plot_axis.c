/* SPDX-License-Identifier: MIT */
/* Text, and round values along an axis. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot_draw.h"

/* ---- Text ---- */

static const struct {
    double size;
    cairo_font_weight_t weight;
    double grey;
} styles[] = {
    [TEXT_TICK] = {TEXT_HEIGHT, CAIRO_FONT_WEIGHT_NORMAL, 0.2}, [TEXT_LABEL] = {12.0, CAIRO_FONT_WEIGHT_NORMAL, 0.1},
    [TEXT_PANEL_TITLE] = {12.5, CAIRO_FONT_WEIGHT_BOLD, 0.1},   [TEXT_TITLE] = {15.0, CAIRO_FONT_WEIGHT_BOLD, 0.0},
    [TEXT_SUBTITLE] = {11.0, CAIRO_FONT_WEIGHT_NORMAL, 0.35},
};

static void use(cairo_t *c, text_style style) {
    double grey = styles[style].grey;
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL, styles[style].weight);
    cairo_set_font_size(c, styles[style].size);
    cairo_set_source_rgb(c, grey, grey, grey);
}

double text_width(cairo_t *c, text_style style, const char *text) {
    cairo_text_extents_t extents;
    use(c, style);
    cairo_text_extents(c, text, &extents);
    return extents.x_advance;
}

/* Lines of one style stand level: the middle is that of a digit, not of each text. */
static double half_digit(cairo_t *c) {
    cairo_text_extents_t extents;
    cairo_text_extents(c, "0", &extents);
    return extents.height / 2.0;
}

void text_draw(cairo_t *c, text_style style, double x, double y, double align, const char *text) {
    double width = text_width(c, style, text);
    cairo_move_to(c, x - align * width, y + half_digit(c));
    cairo_show_text(c, text);
}

void text_draw_upwards(cairo_t *c, text_style style, double x, double y, const char *text) {
    cairo_save(c);
    cairo_translate(c, x, y);
    cairo_rotate(c, -M_PI / 2.0);
    text_draw(c, style, 0.0, 0.0, 0.5, text);
    cairo_restore(c);
}

/* ---- Ticks ---- */

/* With a minus sign as typeset, and no more decimals than the step between ticks has. Positions stand in full; other
 * large and small numbers with digits enough to tell neighbours apart. */
static void write_number(double value, double step, int is_whole, char text[24]) {
    int decimals = 0;
    while (decimals < 9 && fabs(rint(step * pow(10.0, decimals)) - step * pow(10.0, decimals)) > 1e-6)
        decimals++;
    double size = fabs(value);
    if (size < 1e-6 * step)
        value = size = 0.0;
    const char *sign = value < 0.0 ? "\xe2\x88\x92" : "";
    if (!is_whole && (size >= 1e6 || (step < 1e-4 && size > 0.0)))
        snprintf(text, 24, "%s%.*g", sign, (int)fmin(fmax(ceil(log10(size / step)) + 1.0, 3.0), 15.0), size);
    else
        snprintf(text, 24, "%s%.*f", sign, decimals, size);
}

/* The smallest of 1, 2, 5, 10, 20 ... (and of 0.5, 0.2 ...) that leaves at most n steps. */
static double round_step(double range, int n, int is_whole) {
    static const double factors[] = {1.0, 2.0, 5.0, 10.0};
    double power = pow(10.0, floor(log10(range / n)));
    for (int i = 0; i < 4; i++)
        if (factors[i] * power >= range / n * (1.0 - 1e-9))
            return is_whole ? fmax(factors[i] * power, 1.0) : factors[i] * power;
    return 10.0 * power;
}

static int linear_ticks(const plot_axis *axis, int n, plot_tick *ticks) {
    double low = fmin(axis->first, axis->last), high = fmax(axis->first, axis->last);
    double step = round_step(high - low, n, axis->is_whole);
    int count = 0;
    for (double k = ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && count < MAX_TICKS; k++, count++) {
        ticks[count].at = (k * step - axis->first) / (axis->last - axis->first);
        write_number(k * step, step, axis->is_whole, ticks[count].text);
    }
    return count;
}

/* Powers of ten; with fewer than three of them, also their double and fivefold. */
static int log_ticks(const plot_axis *axis, plot_tick *ticks) {
    double low = fmin(axis->first, axis->last), high = fmax(axis->first, axis->last);
    int has_few = log10(high / low) < 3.0, count = 0;
    for (double power = pow(10.0, floor(log10(low))); power <= high; power *= 10.0)
        for (int i = 0; i < (has_few ? 3 : 1); i++) {
            double value = power * (const double[]){1.0, 2.0, 5.0}[i];
            if (value < low * (1.0 - 1e-9) || value > high * (1.0 + 1e-9) || count == MAX_TICKS)
                continue;
            ticks[count].at = log(value / axis->first) / log(axis->last / axis->first);
            write_number(value, fmin(value, 1.0), 0, ticks[count++].text);
        }
    return count;
}

int axis_ticks(const plot_axis *axis, int n, plot_tick ticks[MAX_TICKS]) {
    return axis->is_log ? log_ticks(axis, ticks) : linear_ticks(axis, n, ticks);
}

double ticks_width(cairo_t *c, const plot_tick *ticks, int n) {
    double width = 0.0;
    for (int i = 0; i < n; i++)
        width = fmax(width, text_width(c, TEXT_TICK, ticks[i].text));
    return width;
}
