// SPDX-License-Identifier: MIT
// Each file binds one family of the C API.
#pragma once

#include <pybind11/pybind11.h>

namespace binding {

void bind_analysis(pybind11::module_ &module);
void bind_attention(pybind11::module_ &module);
void bind_backward(pybind11::module_ &module);
void bind_biases(pybind11::module_ &module);
void bind_encodings(pybind11::module_ &module);
void bind_hadamard(pybind11::module_ &module);
void bind_images(pybind11::module_ &module);
void bind_learned(pybind11::module_ &module);
void bind_positions(pybind11::module_ &module);
void bind_published(pybind11::module_ &module);
void bind_relative(pybind11::module_ &module);
void bind_rope(pybind11::module_ &module);
void bind_softmax(pybind11::module_ &module);
void bind_sparse(pybind11::module_ &module);

} // namespace binding
