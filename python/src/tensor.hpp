// SPDX-License-Identifier: MIT
// What Python hands in as the views of the C API, without a copy: NumPy arrays, torch tensors and others with DLPack,
// and buffers. Axes are those of C in reverse: a view [head_dim, n_heads, n_tokens, n_batch] is an array
// (n_batch, n_tokens, n_heads, head_dim).
#pragma once

#include <posenc/posenc.h>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace binding {

namespace py = pybind11;

enum class Kind { f32, f16, bf16, f64, i32, i64, u8, boolean, other };

constexpr int max_ndim = 6;

using Shape = std::vector<int64_t>;

/** An array somebody else owns. */
struct Tensor {
    py::object owner; // keeps the memory: the array itself, a DLPack capsule or a buffer
    char *data = nullptr;
    Kind kind = Kind::other;
    int ndim = 0;
    std::array<int64_t, max_ndim> shape{}, strides{}; // outermost first; strides in bytes
    bool is_readonly = false;
    bool is_torch = false;

    int64_t extent(int from_the_end) const {
        return from_the_end <= ndim ? shape[ndim - from_the_end] : 1;
    }
    Shape extents() const {
        return Shape(shape.begin(), shape.begin() + ndim);
    }
    bool is_dense() const;
    int64_t size() const;
};

int64_t bytes_of(Kind kind);
const char *name_of(Kind kind);
Kind kind_named(const std::string &name, const char *argument);

/** Throws ValueError "argument: message". */
[[noreturn]] void refuse(const std::string &argument, const std::string &message);

/** Reads an array; TypeError for what is none, ValueError for one that is not on the CPU or needs a gradient. */
Tensor tensor_of(py::handle object, const char *argument);

/** The view of a tensor of f32, f16 or bf16 with min_ndim to max_ndim axes, missing ones in front being 1. */
posenc_view view_of(const Tensor &tensor, const char *argument, int min_ndim, int max_ndim);

/** Makes the view of (n_batch, n_heads, n_tokens, head_dim) one of (n_batch, n_tokens, n_heads, head_dim), and back. */
void exchange_heads_and_tokens(posenc_view &view);

/** The view of bytes that hold blocks of Q8_0 or Q4_0: the last axis is n_channels / 32 blocks long. */
posenc_view block_view_of(const Tensor &tensor, const char *argument, posenc_dtype type);

/** A result: the object for Python, where it lies, and what keeps that there during a call without the GIL: another
 * thread could otherwise release a memoryview and shrink its bytearray. */
struct Output {
    py::object object;
    posenc_view view;
    Tensor tensor = {};
};

/** A new dense array: torch's if like is, else NumPy's. */
py::object allocate(Kind kind, const Shape &shape, const Tensor *like = nullptr);

/** `out` if it is given, which has to have this shape, else a new array of this kind. */
Output output_of(py::handle out, Kind kind, const Shape &shape, const Tensor *like = nullptr,
                 const char *argument = "out");

/** The input itself as the result, by the argument inplace. It has to be writable, and `out` absent. */
Output output_in_place(py::handle object, const Tensor &input, const posenc_view &view, py::handle out);

/** Checks that a tensor has this shape. */
void expect_shape(const Tensor &tensor, const char *argument, const Shape &shape);
void expect_writable(const Tensor &tensor, const char *argument);

std::string text_of(const Shape &shape);

/** What NumPy makes of a list, a tensor or another array. */
py::array as_numpy(py::handle object, const char *argument);

/** A dense NumPy array of numbers, or an error; integers are not made of real numbers. */
template <typename T> py::array_t<T> dense_array(py::handle object, const char *argument) {
    constexpr bool is_real = std::is_floating_point_v<T>;
    py::array source = as_numpy(object, argument);
    py::object array;
    if (is_real || source.size() == 0) // an empty list is of real numbers to NumPy
        array = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(source);
    else
        array = py::array_t<T, py::array::c_style>::ensure(source);
    if (!array) {
        PyErr_Clear();
        throw py::type_error(std::string(argument) + ": " + (is_real ? "numbers are" : "integers are") + " expected");
    }
    return py::reinterpret_steal<py::array_t<T>>(array.release());
}

/** Numbers that C takes as a dense array of T, without a copy where they already are one. Absent if None. */
template <typename T> class Numbers {
  public:
    Numbers() = default;

    /** n: how many there have to be, or negative: any number */
    Numbers(py::handle object, const char *argument, int64_t n = -1) {
        if (!object || object.is_none())
            return;
        bool is_narrow = std::is_integral_v<T> && sizeof(T) < 8 && !py::isinstance<py::array_t<T>>(object);
        py::array_t<T> array = is_narrow ? narrowed(object, argument) : dense_array<T>(object, argument);
        if (n >= 0 && array.size() != n)
            refuse(argument, std::to_string(n) + " numbers are expected, not " + std::to_string(array.size()));
        data_ = array.data();
        shape_.assign(array.shape(), array.shape() + array.ndim());
        size_ = array.size();
        owner_ = std::move(array);
    }
    const T *data() const {
        return data_;
    }
    int64_t size() const {
        return size_;
    }
    const Shape &shape() const {
        return shape_;
    }
    explicit operator bool() const {
        return (bool)owner_;
    }

  private:
    py::object owner_;
    const T *data_ = nullptr;
    int64_t size_ = 0;
    Shape shape_;

    static py::array_t<T> narrowed(py::handle object, const char *argument) {
        py::array_t<int64_t> wide = dense_array<int64_t>(object, argument);
        py::array_t<T> narrow(Shape(wide.shape(), wide.shape() + wide.ndim()));
        for (int64_t i = 0; i < (int64_t)wide.size(); i++) {
            if ((int64_t)(T)wide.data()[i] != wide.data()[i])
                refuse(argument, std::to_string(wide.data()[i]) + " is out of range");
            narrow.mutable_data()[i] = (T)wide.data()[i];
        }
        return narrow;
    }
};

} // namespace binding
