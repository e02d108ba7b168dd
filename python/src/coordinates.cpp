// SPDX-License-Identifier: MIT
#include "coordinates.hpp"

namespace binding {

namespace {

posenc_coord_type coord_type(Kind kind, const char *argument) {
    switch (kind) {
    case Kind::i32: return POSENC_COORD_I32;
    case Kind::i64: return POSENC_COORD_I64;
    case Kind::f32: return POSENC_COORD_F32;
    case Kind::f64: return POSENC_COORD_F64;
    default: refuse(argument, std::string("int32, int64, float32 or float64 is expected, not ") + name_of(kind));
    }
}

py::object as_array(py::handle given, const char *argument) {
    bool is_list = py::isinstance<py::list>(given) || py::isinstance<py::tuple>(given) || PyRange_Check(given.ptr());
    return is_list ? py::object(as_numpy(given, argument)) : py::reinterpret_borrow<py::object>(given);
}

const char *shapes_of(int n_axes, AxesCome order) {
    if (n_axes <= 1)
        return "(n_tokens,) or (n_batch, n_tokens)";
    return order == AxesCome::behind_batch ? "(n_axes, n_tokens) or (n_batch, n_axes, n_tokens)"
                                           : "(n_axes, n_tokens) or (n_axes, n_batch, n_tokens)";
}

// The stride of an axis in elements; 0 where it has one element, or none.
int64_t stride_of(const Tensor &tensor, int axis) {
    bool is_there = tensor.shape[axis] > 1 && tensor.size() > 0;
    return is_there ? tensor.strides[axis] / bytes_of(tensor.kind) : 0;
}

// Tokens lie side by side in posenc_coords, and an axis stride of 0 means another thing there.
bool has_strides(const Tensor &tensor, bool has_axes, int axes_at) {
    bool is_side_by_side = tensor.extent(1) <= 1 || stride_of(tensor, tensor.ndim - 1) == 1;
    bool repeats_axes = has_axes && tensor.shape[axes_at] > 1 && stride_of(tensor, axes_at) == 0;
    return tensor.size() == 0 || (is_side_by_side && !repeats_axes);
}

// Results are torch's if the original is.
Tensor dense_copy(const Tensor &tensor, const py::object &given, const char *argument) {
    py::object ascontiguousarray = py::module_::import("numpy").attr("ascontiguousarray");
    Tensor copy = tensor_of(ascontiguousarray(as_numpy(given, argument)), argument);
    copy.is_torch = tensor.is_torch;
    return copy;
}

} // namespace

Coordinates::Coordinates(py::handle given, int n_axes, const char *argument, AxesCome order) {
    py::object array = as_array(given, argument);
    tensor = tensor_of(array, argument);
    bool has_axes = n_axes > 1;
    int ndim_of_one = has_axes ? 2 : 1;
    has_batch = tensor.ndim > ndim_of_one;
    if (tensor.ndim != ndim_of_one && tensor.ndim != ndim_of_one + 1)
        refuse(argument,
               std::string("the shape has to be ") + shapes_of(n_axes, order) + ", not " + text_of(tensor.extents()));
    int axes_at = order == AxesCome::before_batch ? 0 : tensor.ndim - 2;
    int batch_at = has_axes && order == AxesCome::before_batch ? 1 : 0;
    if (has_axes && tensor.shape[axes_at] != n_axes)
        refuse(argument, std::to_string(n_axes) + " axes are expected, not " + std::to_string(tensor.shape[axes_at]));
    posenc_coord_type type = coord_type(tensor.kind, argument);
    if (!has_strides(tensor, has_axes, axes_at))
        tensor = dense_copy(tensor, array, argument);
    n_tokens = tensor.extent(1);
    n_batch = has_batch ? tensor.shape[batch_at] : 1;
    at = posenc_coords_of(tensor.data, type);
    if (has_axes)
        at.axis_stride = stride_of(tensor, axes_at);
    if (has_batch)
        at.batch_stride = stride_of(tensor, batch_at);
}

} // namespace binding
