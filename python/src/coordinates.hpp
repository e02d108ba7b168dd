// SPDX-License-Identifier: MIT
// Positions of tokens as posenc_coords, where they lie.
#pragma once

#include "tensor.hpp"

namespace binding {

/** Place of n_axes when each sequence of a batch has positions of its own: an encoding takes
 * (n_batch, n_axes, n_tokens), a rotation (n_axes, n_batch, n_tokens), as position_ids of several axes are. */
enum class AxesCome { behind_batch, before_batch };

/** Coordinates of tokens: int32, int64, float32 or float64, (n_tokens,) or (n_batch, n_tokens), with several axes
 * (n_axes, n_tokens) or as above. Copied only where posenc_coords has no stride for it. */
struct Coordinates {
    Tensor tensor;
    posenc_coords at;
    int64_t n_tokens, n_batch;
    bool has_batch;
    Coordinates(py::handle given, int n_axes, const char *argument, AxesCome order = AxesCome::behind_batch);
};

} // namespace binding
