// SPDX-License-Identifier: MIT
// A rotary embedding as an object of Python.
#pragma once

#include "rope_scaling.hpp"

#include <memory>

namespace binding {

/** Positions as planes of int32, [n_axes][n_tokens], for one sequence or for each. */
class Positions {
  public:
    /** An int (consecutive positions from it), (n_tokens,), (n_batch, n_tokens), or with several axes
     * (n_axes, n_tokens) or (n_axes, n_batch, n_tokens). */
    Positions(py::handle given, int n_axes, int64_t n_tokens, int64_t n_batch);
    bool differ_by_batch() const {
        return differ_;
    }
    const int32_t *of(int64_t batch) const {
        return differ_ ? data_ + batch * n_per_batch_ : data_;
    }

  private:
    std::vector<int32_t> copy_;
    py::object owner_;
    const int32_t *data_ = nullptr;
    int64_t n_per_batch_ = 0;
    bool differ_ = false;
};

posenc_direction direction_of(const std::string &text);

class Rope {
  public:
    Rope(int64_t head_dim, const py::kwargs &options);

    const posenc_rope *get() const {
        return rope_.get();
    }
    int64_t head_dim() const {
        return head_dim_;
    }
    py::object apply(py::handle x, py::handle positions, py::handle out, bool in_place, const std::string &direction,
                     py::handle dtype, int threads) const;
    py::object apply_table(py::handle x, py::handle cos, py::handle sin, py::handle out, bool in_place,
                           const std::string &direction, int threads) const;
    py::tuple table(py::handle positions, const std::string &direction) const;
    py::array_t<double> theta() const;
    py::array_t<int64_t> axis() const;

  private:
    struct Free {
        void operator()(posenc_rope *rope) const {
            posenc_rope_free(rope);
        }
    };
    std::unique_ptr<posenc_rope, Free> rope_;
    int64_t head_dim_;
};

void bind_rope_fused(py::class_<Rope> &rope);

/** A table (cos, sin), float32 (n_tokens, n_pairs) each. */
struct TableOfPython {
    posenc_rope_table table;
    int64_t n_rows;
    Tensor cos, sin;
    TableOfPython(py::handle cos, py::handle sin, int64_t n_pairs);
};

} // namespace binding
