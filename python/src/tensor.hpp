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
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/formats.h"

namespace binding {

namespace py = pybind11;

enum class Kind { f32, f16, bf16, f64, i32, i64, u8, boolean, other };

constexpr int max_ndim = 6;

using Shape = std::vector<int64_t>;

/** The addresses from an array's first byte to the one behind its last; empty: both 0. */
struct Memory {
    uintptr_t begin = 0, end = 0;
};

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
    Memory memory() const;
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

/** A type of caches by its name ('q8_0', 'f8_e4m3'), and whether it is one. */
bool is_cache_type(const std::string &name);
posenc_dtype cache_type_named(const std::string &name, const char *argument);

/** Makes the view of (n_batch, n_heads, n_tokens, head_dim) one of (n_batch, n_tokens, n_heads, head_dim), and back. */
void exchange_heads_and_tokens(posenc_view &view);

/** Channels of a block and its bytes; 1 and the size of an element for a type without blocks. */
struct CacheStep {
    int64_t channels, bytes;
};
CacheStep cache_step_of(posenc_dtype type);

/** The view of bytes that hold a type of caches: the last axis is so many blocks, or elements, long. */
posenc_view cache_view_of(const Tensor &tensor, const char *argument, posenc_dtype type);

/** A result: the object for Python, and where it lies. */
struct Output {
    py::object object;
    posenc_view view = {};

    Output() = default;
    Output(py::object object_, Tensor tensor, const posenc_view &view_)
        : object(std::move(object_)), view(view_), tensor_(std::move(tensor)) {
    }
    /** Refuses an input that the call would overwrite. C compares views alone: this is for positions, masks and lists
     * of numbers. */
    void expect_apart(const Memory &input, const char *argument) const;

  private:
    Tensor tensor_; // holds the memory while the GIL is released: another thread could shrink a bytearray
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

/** Converts a list, a tensor or another array to a NumPy array. */
py::array as_numpy(py::handle object, const char *argument);

/** Which arrays are taken for a list of numbers. NumPy would make numbers of texts, booleans and complex ones. */
enum class NumberKind { real, integer, integer_or_bool };

/** TypeError unless an array is of this kind, or empty: an empty list is of real numbers to NumPy. */
void expect_numbers(const py::array &array, NumberKind kind, const char *argument);

/** A dense NumPy array of numbers, or an error; integers are not made of real numbers. Bytes may be booleans. */
template <typename T> py::array_t<T> dense_array(const py::array &source, const char *argument) {
    NumberKind kind = std::is_floating_point_v<T> ? NumberKind::real
                      : sizeof(T) == 1            ? NumberKind::integer_or_bool
                                                  : NumberKind::integer;
    expect_numbers(source, kind, argument);
    auto array = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(source);
    if (!array)
        throw py::error_already_set();
    return array;
}

constexpr int64_t any_extent = -1;

void expect_extents(const Shape &shape, const Shape &wanted, const char *argument);

/** Numbers that C takes as a dense array of T, without a copy where they already are one. Absent if None. */
template <typename T> class Numbers {
  public:
    Numbers() = default;

    /** Takes any shape, which the caller checks. */
    Numbers(py::handle object, const char *argument) {
        if (!object || object.is_none())
            return;
        py::array source = as_numpy(object, argument);
        bool is_narrow = std::is_integral_v<T> && sizeof(T) < 8 && !py::isinstance<py::array_t<T>>(source);
        py::array_t<T> array = is_narrow ? narrowed(source, argument) : dense_array<T>(source, argument);
        data_ = array.data();
        shape_.assign(array.shape(), array.shape() + array.ndim());
        size_ = array.size();
        owner_ = std::move(array);
    }
    /** Takes the wanted shape; any_extent stands for any extent. */
    Numbers(py::handle object, const char *argument, std::initializer_list<int64_t> wanted)
        : Numbers(object, argument) {
        if (owner_)
            expect_extents(shape_, wanted, argument);
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
    Memory memory() const {
        return size_ > 0 ? Memory{(uintptr_t)data_, (uintptr_t)(data_ + size_)} : Memory{};
    }
    explicit operator bool() const {
        return (bool)owner_;
    }

  private:
    py::object owner_;
    const T *data_ = nullptr;
    int64_t size_ = 0;
    Shape shape_;

    static py::array_t<T> narrowed(const py::array &source, const char *argument) {
        if (sizeof(T) == 1 && source.dtype().kind() == 'b')
            return dense_array<T>(source, argument);
        py::array_t<int64_t> wide = dense_array<int64_t>(source, argument);
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
