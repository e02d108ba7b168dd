// SPDX-License-Identifier: MIT
// posenc_rope_params from keyword arguments.
#pragma once

#include "call.hpp"

#include <list>

namespace binding {

/** Parameters, and the lists that they point to. */
class RopeParams {
  public:
    /** Keyword arguments with the names of the fields; xpos_role ... for those of xpos; axes for the kind of axes, or
     * for the list of them. */
    RopeParams(int64_t head_dim, Options &options);

    /** Parameters of layers with local attention. */
    RopeParams local() const;
    const posenc_rope_params *get() const {
        return &params_;
    }

  private:
    posenc_rope_params params_ = POSENC_ROPE_DEFAULTS;
    std::list<Numbers<double>> lists_;
    Numbers<int32_t> axis_of_pair_;

    int64_t n_pairs() const;
    int64_t implied_n_axes(int64_t n_sections) const;
    void set_lists(Options &options);
    void set_axes_by_list(py::handle axes);
    void set_scaling(const py::dict &scaling);
    void set_scaling_field(const std::string &name, py::handle value);
    void set_axes(Options &options);
    void set_xpos(Options &options);
    const Numbers<double> &list(py::handle value, const char *argument, int64_t n = any_extent);
};

} // namespace binding
