/* Binds RopeParams. */
#ifndef POSENC_PYTHON_ROPE_PARAMS_HPP
#define POSENC_PYTHON_ROPE_PARAMS_HPP

#include <pybind11/pybind11.h>

void bind_rope_params(pybind11::module_ &m);

#endif
