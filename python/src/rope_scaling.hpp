// SPDX-License-Identifier: MIT
// posenc_rope_params from keyword arguments.
#pragma once

#include "call.hpp"

#include <list>

namespace binding {

/** Parameters, and the lists that they point to. */
class RopeParams {
  public:
    /** Keyword arguments with the names of the fields; xpos_role ... for those of xpos, axes for the kind of axes. */
    RopeParams(int64_t head_dim, Options &options);
    const posenc_rope_params *get() const {
        return &params_;
    }

  private:
    posenc_rope_params params_ = POSENC_ROPE_DEFAULTS;
    std::list<Numbers<double>> lists_;

    void set_scaling(const py::dict &scaling);
    void set_scaling_field(const std::string &name, py::handle value);
    void set_axes(Options &options);
    void set_xpos(Options &options);
    const Numbers<double> &list(py::handle value, const char *argument);
};

} // namespace binding
