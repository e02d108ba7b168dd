// Each file binds one family of the C API.
#pragma once

#include <pybind11/pybind11.h>

namespace binding {

void bind_rope(pybind11::module_ &module);
void bind_hadamard(pybind11::module_ &module);
void bind_published(pybind11::module_ &module);
void bind_isa(pybind11::module_ &module);

} // namespace binding
