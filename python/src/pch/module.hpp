// SPDX-License-Identifier: MIT
// What all files of the module include, compiled once: it is most of the time that each of them takes.
#ifndef POSENC_PYTHON_MODULE_HPP // the compiler warns of #pragma once in the file that it is told to compile
#define POSENC_PYTHON_MODULE_HPP

#include <posenc/posenc.h>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#endif
