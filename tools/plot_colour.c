/* SPDX-License-Identifier: MIT */
/* Colours that say how large a value is: perceptually even, and fit for the colour-blind. */
#include <math.h>

#include "plot_draw.h"

/* matplotlib's viridis, and ColorBrewer's RdBu turned round; between these, straight lines. */
static const unsigned viridis[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21908c,
                                   0x27ad81, 0x5dc863, 0xaadc32, 0xfde725};
static const unsigned blue_red[] = {0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                                    0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b, 0x67001f};

const plot_colour colour_of_masked = {0.85, 0.85, 0.85};

static plot_colour colour_of(unsigned rgb) {
    return (plot_colour){(rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0};
}

static plot_colour between(const unsigned *colours, int n, double at) {
    double place = fmin(fmax(at, 0.0), 1.0) * (n - 1);
    int i = place >= n - 1 ? n - 2 : (int)place;
    double t = place - i;
    plot_colour a = colour_of(colours[i]), b = colour_of(colours[i + 1]);
    return (plot_colour){a.red + t * (b.red - a.red), a.green + t * (b.green - a.green),
                         a.blue + t * (b.blue - a.blue)};
}

static plot_scale range_of(const float *values, int64_t n) {
    plot_scale s = {INFINITY, -INFINITY, 0, 0};
    for (int64_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            s.low = fmin(s.low, (double)values[i]);
            s.high = fmax(s.high, (double)values[i]);
        }
    return s.low <= s.high ? s : (plot_scale){0.0, 1.0, 0, 0};
}

static plot_scale range_of_map(const plot_panel *map) {
    return range_of(map->values, map->n_rows * map->n_columns);
}

plot_scale scale_of(const plot_figure *f, int i) {
    const plot_panel *map = &f->panels[i];
    plot_scale s = range_of_map(map);
    for (int k = 0; k < f->n_panels && f->has_common_scale; k++) {
        plot_scale other = range_of_map(&f->panels[k]);
        s.low = fmin(s.low, other.low);
        s.high = fmax(s.high, other.high);
    }
    if (map->is_capped) {
        double cap = range_of(map->values + map->n_rows / 8 * map->n_columns, map->n_columns).high;
        s.has_more = cap < s.high;
        s.high = cap;
        s.low = fmin(s.low, 0.0);
    }
    s.is_diverging = s.low < 0.0 && s.high > 0.0;
    if (s.is_diverging) {
        s.high = fmax(-s.low, s.high);
        s.low = -s.high;
    } else if (s.low == s.high) { /* one value alone: from 0 to it */
        s.low = fmin(s.low, 0.0);
        s.high = s.low < 0.0 ? 0.0 : s.high > 0.0 ? s.high : 1.0;
    }
    return s;
}

plot_colour scale_colour(const plot_scale *s, double value) {
    if (!isfinite(value))
        return colour_of_masked;
    double at = (value - s->low) / (s->high - s->low);
    return s->is_diverging ? between(blue_red, sizeof blue_red / sizeof blue_red[0], at)
                           : between(viridis, sizeof viridis / sizeof viridis[0], at);
}

plot_colour line_colour(int i, int n) {
    return between(viridis, sizeof viridis / sizeof viridis[0],
                   n > 1 ? 0.9 * i / (n - 1) : 0.3); /* the end is too pale */
}
