// SPDX-License-Identifier: MIT
// Relative biases and relative indices as objects of Python. They own their numbers.
#pragma once

#include "call.hpp"

namespace binding {

/** Offsets, key minus query, as Python's range with a step of 1. */
struct Offsets {
    int64_t first, count;
    explicit Offsets(py::handle range);
};

py::object range_of(int64_t first, int64_t count);

/** posenc_rel_bias: data is (n_heads, n_offsets), or (1, n_offsets) for all heads. */
class RelBias {
  public:
    RelBias(int64_t n_heads, Offsets offsets, bool is_clamped);
    /** The caller's own numbers, float32 (n_heads, n_offsets), used where they lie. */
    RelBias(py::handle data, int64_t first, bool is_clamped, bool is_shared);
    const posenc_rel_bias *get() const {
        return &bias_;
    }
    Memory memory() const {
        return tensor_.memory();
    }
    py::object data() const {
        return data_;
    }

  private:
    py::object data_;
    Tensor tensor_;
    posenc_rel_bias bias_;
};

/** posenc_rel_index: data is (n_offsets,). */
class RelIndex {
  public:
    explicit RelIndex(Offsets offsets);
    const posenc_rel_index *get() const {
        return &index_;
    }
    posenc_rel_index *get() {
        return &index_;
    }
    py::array_t<int32_t> data() const {
        return data_;
    }

  private:
    py::array_t<int32_t> data_;
    posenc_rel_index index_;
};

/** posenc_bias_table: (n_rows, n_heads), any strides. */
struct BiasTable {
    Tensor tensor;
    posenc_bias_table table;
    BiasTable(py::handle given, const char *argument);
};

} // namespace binding
