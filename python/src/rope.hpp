// SPDX-License-Identifier: MIT
// A rotary embedding as an object of Python.
#pragma once

#include "coordinates.hpp"
#include "rope_scaling.hpp"

#include <memory>
#include <optional>

namespace binding {

/** A position as int32, or ValueError. */
int32_t position_of(int64_t position);

/** Positions of a rotation: an int (consecutive positions from it), or Coordinates, (n_axes, n_batch, n_tokens) where
 * there are several axes and a batch. */
class Positions {
  public:
    /** n_heads: for a hint if positions are as many, in case of an array of another order; negative: without */
    Positions(py::handle given, int n_axes, int64_t n_tokens, int64_t n_batch, int64_t n_heads = -1);
    const posenc_coords *get() const {
        return &at_;
    }
    Memory memory() const {
        return given_ ? given_->tensor.memory() : Memory{};
    }
    bool are_real() const {
        return at_.type == POSENC_COORD_F32 || at_.type == POSENC_COORD_F64;
    }

  private:
    std::vector<int32_t> counted_; // from an int
    std::optional<Coordinates> given_;
    posenc_coords at_;
};

posenc_direction direction_of(const std::string &text);

class Rope {
  public:
    explicit Rope(RopeParams params);

    const posenc_rope *get() const {
        return rope_.get();
    }
    int64_t head_dim() const {
        return params_.get()->head_dim;
    }
    py::object apply(py::handle x, py::handle positions, py::handle out, bool in_place, const std::string &direction,
                     py::handle dtype, py::handle x_type, bool heads_first, int threads) const;
    py::object apply_table(py::handle x, py::handle cos, py::handle sin, py::handle out, bool in_place,
                           const std::string &direction, int threads) const;
    py::tuple table(py::handle positions, const std::string &direction) const;
    py::array_t<double> theta() const;
    py::array_t<int64_t> axis() const;
    std::unique_ptr<Rope> local() const;
    double query_temperature(int32_t position) const;

  private:
    struct Free {
        void operator()(posenc_rope *rope) const {
            posenc_rope_free(rope);
        }
    };
    RopeParams params_;
    std::unique_ptr<posenc_rope, Free> rope_;
};

void bind_rope_fused(py::class_<Rope> &rope);

/** A table (cos, sin), float32 (n_tokens, n_pairs) each. */
struct TableOfPython {
    posenc_rope_table table;
    int64_t n_rows;
    Tensor cos, sin;
    TableOfPython(py::handle cos, py::handle sin, int64_t n_pairs, const char *cos_argument, const char *sin_argument);
};

} // namespace binding
