/* SPDX-License-Identifier: MIT */
#ifndef POSENC_TOOLS_PLOT_SPECTRUM_H
#define POSENC_TOOLS_PLOT_SPECTRUM_H

#include "method.h"
#include "plot.h"

/* How strongly each channel of vectors[n][width] swings at each wavelength: a heat map with wavelengths on a
 * logarithmic axis, in *values, which the caller frees. A sine of amplitude 1 gives 1. */
posenc_status plot_spectrum(const float *vectors, int64_t n, int64_t width, plot_panel *panel, float **values);

#endif
