// SPDX-License-Identifier: MIT
#include "tensor.hpp"

#include "call.hpp"
#include "dlpack.hpp"

#include <algorithm>
#include <cstring>

namespace binding {

namespace {

struct KindName {
    Kind kind;
    const char *name;
    int64_t bytes;
};

constexpr KindName kinds[] = {
    {Kind::f32, "float32", 4}, {Kind::f16, "float16", 2}, {Kind::bf16, "bfloat16", 2}, {Kind::f64, "float64", 8},
    {Kind::i32, "int32", 4},   {Kind::i64, "int64", 8},   {Kind::u8, "uint8", 1},      {Kind::boolean, "bool", 1},
};

Kind kind_of_letter(char letter, int64_t bytes) {
    switch (letter) {
    case 'f': return bytes == 4 ? Kind::f32 : bytes == 2 ? Kind::f16 : bytes == 8 ? Kind::f64 : Kind::other;
    case 'i': return bytes == 4 ? Kind::i32 : bytes == 8 ? Kind::i64 : Kind::other;
    case 'u': return bytes == 1 ? Kind::u8 : Kind::other;
    case 'b': return Kind::boolean;
    default: return Kind::other;
    }
}

// Signs of NumPy and of the module struct: '=' and '@' native, '|' of single bytes, '<' little-endian, '>' big-endian.
bool is_native_order(char sign) {
    const uint16_t one = 1;
    bool is_little_endian = *(const char *)&one == 1;
    return std::strchr("=@|", sign) != nullptr || sign == (is_little_endian ? '<' : '>');
}

// ml_dtypes registers bfloat16 with NumPy, as a type of two bytes that is none of NumPy's own.
Kind kind_of_numpy(const py::dtype &type) {
    if (!is_native_order(type.byteorder()))
        return Kind::other;
    if (type.itemsize() == 2 && type.char_() != 'e' && type.kind() != 'i' && type.kind() != 'u')
        return py::str(type.attr("name")).cast<std::string>() == "bfloat16" ? Kind::bf16 : Kind::other;
    return kind_of_letter(type.kind(), type.itemsize());
}

void set_ndim(Tensor &tensor, int64_t ndim, const char *argument) {
    if (ndim < 0 || ndim > max_ndim)
        refuse(argument, "an array has at most " + std::to_string(max_ndim) + " axes here");
    tensor.ndim = (int)ndim;
}

Tensor from_numpy(py::handle object, const char *argument) {
    auto array = py::reinterpret_borrow<py::array>(object);
    Tensor tensor;
    set_ndim(tensor, array.ndim(), argument);
    tensor.data = (char *)array.data();
    tensor.kind = kind_of_numpy(array.dtype());
    tensor.is_readonly = !array.writeable();
    for (int i = 0; i < tensor.ndim; i++) {
        tensor.shape[i] = array.shape(i);
        tensor.strides[i] = array.strides(i);
    }
    tensor.owner = std::move(array);
    return tensor;
}

Kind kind_of_dlpack(const DataType &type) {
    if (type.lanes != 1)
        return Kind::other;
    switch (type.code) {
    case dl_float: return kind_of_letter('f', type.bits / 8);
    case dl_int: return kind_of_letter('i', type.bits / 8);
    case dl_uint: return kind_of_letter('u', type.bits / 8);
    case dl_bfloat: return type.bits == 16 ? Kind::bf16 : Kind::other;
    case dl_bool: return Kind::boolean;
    default: return Kind::other;
    }
}

constexpr int64_t most_bytes = (int64_t)1 << 61;
constexpr const char *too_large = "its extents or strides are too large";

// Sizes and distances in bytes are within int64. Another library's tensor may say anything.
void expect_possible(const Tensor &tensor, const char *argument) {
    int64_t most = most_bytes / 8; // elements of 8 bytes
    for (int i = 0; i < tensor.ndim; i++) {
        int64_t extent = tensor.shape[i], stride = tensor.strides[i];
        if (extent < 0)
            refuse(argument, "an extent is negative: " + std::to_string(extent));
        if (extent <= 1) // the stride means nothing
            continue;
        if (extent > most || stride > most_bytes / extent || stride < -most_bytes / extent)
            refuse(argument, too_large);
        most /= extent;
    }
}

// The capsule keeps the memory and is never renamed: whoever made it frees it when it goes.
Tensor from_capsule(py::object capsule, const char *argument) {
    auto *managed = (ManagedTensor *)PyCapsule_GetPointer(capsule.ptr(), "dltensor");
    if (managed == nullptr)
        throw py::error_already_set();
    const DlTensor &source = managed->tensor;
    if (source.device_type != dl_cpu)
        refuse(argument, "it is not on the CPU");
    Tensor tensor;
    set_ndim(tensor, source.ndim, argument);
    tensor.data = (char *)source.data + source.byte_offset;
    tensor.kind = kind_of_dlpack(source.type);
    std::copy_n(source.shape, tensor.ndim, tensor.shape.begin());
    expect_possible(tensor, argument);
    int64_t bytes = std::max<int64_t>(bytes_of(tensor.kind), 1), dense = 1; // in elements
    for (int i = tensor.ndim - 1; i >= 0; i--) {
        int64_t stride = source.strides != nullptr && tensor.shape[i] > 1 ? source.strides[i] : dense;
        if (stride > most_bytes / bytes || stride < -most_bytes / bytes)
            refuse(argument, too_large);
        tensor.strides[i] = stride * bytes;
        dense *= tensor.shape[i];
    }
    tensor.owner = std::move(capsule);
    return tensor;
}

// Letters of the module struct.
Kind kind_of_format(const std::string &format, int64_t bytes) {
    char letter = format.size() == 1 ? format[0] : format.size() == 2 && is_native_order(format[0]) ? format[1] : 0;
    for (const char *letters : {"iilq", "uBc", "b?", "fefd"}) { // a letter of NumPy, then letters that mean the same
        if (letter != 0 && std::strchr(letters + 1, letter) != nullptr)
            return kind_of_letter(letters[0], bytes);
    }
    return Kind::other;
}

Tensor from_buffer(py::handle object, const char *argument) {
    py::buffer_info info = py::reinterpret_borrow<py::buffer>(object).request();
    Tensor tensor;
    set_ndim(tensor, info.ndim, argument);
    tensor.data = (char *)info.ptr;
    tensor.kind = kind_of_format(info.format, info.itemsize);
    tensor.is_readonly = info.readonly;
    for (int i = 0; i < tensor.ndim; i++) {
        tensor.shape[i] = info.shape[i];
        tensor.strides[i] = info.strides[i];
    }
    // A view of our own, even of a memoryview, keeps the buffer exported: the caller's may be released.
    tensor.owner = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(object.ptr()));
    if (!tensor.owner)
        throw py::error_already_set();
    return tensor;
}

bool is_of_torch(py::handle object) {
    static PyTypeObject *tensor_type; // torch.Tensor, once there was one: it lives as long as Python
    if (Py_TYPE(object.ptr()) == tensor_type)
        return true;
    const char *name = Py_TYPE(object.ptr())->tp_name;
    if (std::strcmp(name, "Tensor") != 0 && std::strcmp(name, "Parameter") != 0)
        return false;
    static const py::handle module_name = PyUnicode_InternFromString("__module__"); // others have a Tensor too
    std::string module = py::str(py::getattr(py::type::of(object), module_name)).cast<std::string>();
    if (module == "torch" && std::strcmp(name, "Tensor") == 0)
        tensor_type = Py_TYPE(object.ptr());
    return module.rfind("torch", 0) == 0;
}

py::handle torch_function(const char *module, const char *name) {
    return py::object(py::module_::import(module).attr(name)).release(); // lives as long as Python
}

// torch negates imaginary parts of conjugates lazily, and DLPack hands out what lies in memory, with the other sign.
void refuse_negated(py::handle object, const char *argument) {
    static const py::handle is_neg = PyUnicode_InternFromString("is_neg");
    if (py::getattr(object, is_neg)().is(py::handle(Py_True)))
        refuse(argument, "its negation is not computed yet: pass x.resolve_neg()");
}

// torch 1.13 has no booleans in DLPack: the bytes that it keeps them in are uint8 then.
Tensor from_torch_dlpack(py::handle object, const char *argument) {
    static const py::handle to_dlpack = torch_function("torch.utils.dlpack", "to_dlpack");
    try {
        return from_capsule(to_dlpack(object), argument);
    } catch (const py::error_already_set &) {
        py::module_ torch = py::module_::import("torch");
        if (!object.attr("dtype").is(torch.attr("bool")))
            throw;
        return from_capsule(to_dlpack(object.attr("view")(torch.attr("uint8"))), argument);
    }
}

Tensor from_torch(py::handle object, const char *argument) {
    static const py::handle requires_grad = PyUnicode_InternFromString("requires_grad");
    if (py::getattr(object, requires_grad).is(py::handle(Py_True)))
        refuse(argument, "it requires a gradient: use posenc.torch, or detach() it");
    refuse_negated(object, argument);
    Tensor tensor = from_torch_dlpack(object, argument);
    tensor.is_torch = true;
    return tensor;
}

// Strides of axes that hold one element, or of a tensor that holds none, mean nothing, and may be anything in Python.
void set_axes(posenc_view &view, const Tensor &tensor) {
    int64_t dense = view.nb[0];
    bool is_empty = tensor.size() == 0;
    for (int i = 0; i < 4; i++) {
        bool is_there = i < tensor.ndim;
        view.ne[i] = is_there ? tensor.shape[tensor.ndim - 1 - i] : 1;
        view.nb[i] = is_there && view.ne[i] > 1 && !is_empty ? tensor.strides[tensor.ndim - 1 - i] : dense;
        dense = view.nb[i] * (view.ne[i] > 0 ? view.ne[i] : 1);
    }
}

void expect_ndim(const Tensor &tensor, const char *argument, int least, int most) {
    if (tensor.ndim >= least && tensor.ndim <= most)
        return;
    std::string range = std::to_string(least) + (least < most ? " to " + std::to_string(most) : "");
    refuse(argument, range + " axes are expected, not " + std::to_string(tensor.ndim));
}

} // namespace

void refuse(const std::string &argument, const std::string &message) {
    throw py::value_error(argument + ": " + message);
}

int64_t bytes_of(Kind kind) {
    for (const KindName &entry : kinds) {
        if (entry.kind == kind)
            return entry.bytes;
    }
    return 0;
}

const char *name_of(Kind kind) {
    for (const KindName &entry : kinds) {
        if (entry.kind == kind)
            return entry.name;
    }
    return "another type";
}

Kind kind_named(const std::string &name, const char *argument) {
    if (name == "f32" || name == "float32")
        return Kind::f32;
    if (name == "f16" || name == "float16")
        return Kind::f16;
    if (name == "bf16" || name == "bfloat16")
        return Kind::bf16;
    refuse(argument, "'" + name + "' is unknown; there are float32, float16, bfloat16");
}

std::string text_of(const Shape &shape) {
    std::string text = "(";
    for (size_t i = 0; i < shape.size(); i++)
        text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

int64_t Tensor::size() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    return n;
}

Memory Tensor::memory() const {
    if (size() == 0)
        return {};
    Memory memory = {(uintptr_t)data, (uintptr_t)data + (uintptr_t)bytes_of(kind)};
    for (int i = 0; i < ndim; i++) {
        int64_t reach = (shape[i] - 1) * strides[i];
        (reach < 0 ? memory.begin : memory.end) += (uintptr_t)reach;
    }
    return memory;
}

bool Tensor::is_dense() const {
    int64_t dense = bytes_of(kind);
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] > 1 && strides[i] != dense)
            return false;
        dense *= shape[i];
    }
    return true;
}

namespace {

Tensor any_tensor(py::handle object, const char *argument) {
    if (py::isinstance<py::array>(object))
        return from_numpy(object, argument);
    if (is_of_torch(object))
        return from_torch(object, argument);
    if (py::hasattr(object, "is_neg")) // of a subclass of torch's
        refuse_negated(object, argument);
    if (py::hasattr(object, "__dlpack__"))
        return from_capsule(object.attr("__dlpack__")(), argument);
    if (PyObject_CheckBuffer(object.ptr()))
        return from_buffer(object, argument);
    throw py::type_error(std::string(argument) + ": an array is expected (NumPy, DLPack or a buffer), not " +
                         Py_TYPE(object.ptr())->tp_name);
}

// C counts some strides in elements.
bool is_aligned(const Tensor &tensor, int64_t bytes) {
    bool is_aligned = (intptr_t)tensor.data % bytes == 0;
    for (int i = 0; i < tensor.ndim; i++)
        is_aligned = is_aligned && (tensor.shape[i] <= 1 || tensor.strides[i] % bytes == 0);
    return is_aligned;
}

} // namespace

Tensor tensor_of(py::handle object, const char *argument) {
    Tensor tensor = any_tensor(object, argument);
    expect_possible(tensor, argument);
    int64_t bytes = bytes_of(tensor.kind);
    if (bytes > 1 && tensor.size() > 0 && !is_aligned(tensor, bytes))
        refuse(argument, "its address or a stride is no multiple of an element");
    return tensor;
}

posenc_view view_of(const Tensor &tensor, const char *argument, int least, int most) {
    posenc_view view = {};
    switch (tensor.kind) {
    case Kind::f32: view.dtype = POSENC_F32; break;
    case Kind::f16: view.dtype = POSENC_F16; break;
    case Kind::bf16: view.dtype = POSENC_BF16; break;
    default:
        refuse(argument, std::string("float32, float16 or bfloat16 is expected, not ") + name_of(tensor.kind) +
                             (tensor.kind != Kind::f64 ? ""
                              : tensor.is_torch        ? ": pass " + std::string(argument) + ".float()"
                                                       : ": pass " + std::string(argument) + ".astype(np.float32)"));
    }
    expect_ndim(tensor, argument, least, most);
    view.data = tensor.data;
    view.nb[0] = bytes_of(tensor.kind);
    if (tensor.extent(1) > 1 && tensor.size() > 0 && tensor.strides[tensor.ndim - 1] != view.nb[0])
        refuse(argument, "the elements of the last axis have to lie side by side");
    set_axes(view, tensor);
    return view;
}

bool is_cache_type(const std::string &name) {
#define IS_NAME(type, text, ...) || name == #text
    return false POSENC_EACH_FORMAT(IS_NAME) POSENC_EACH_FLOAT8_TYPE(IS_NAME);
#undef IS_NAME
}

posenc_dtype cache_type_named(const std::string &name, const char *argument) {
#define WORD(type, name, ...) {#name, type},
    return enumerator<posenc_dtype>(name, {POSENC_EACH_FORMAT(WORD) POSENC_EACH_FLOAT8_TYPE(WORD)}, argument);
#undef WORD
}

CacheStep cache_step_of(posenc_dtype type) {
    return posenc_has_blocks(type) ? CacheStep{POSENC_QUANT_BLOCK, posenc_block_bytes(type)}
                                   : CacheStep{1, posenc_element_bytes(type)};
}

void exchange_heads_and_tokens(posenc_view &view) {
    std::swap(view.ne[1], view.ne[2]);
    std::swap(view.nb[1], view.nb[2]);
}

posenc_view cache_view_of(const Tensor &tensor, const char *argument, posenc_dtype type) {
    auto [channels, bytes] = cache_step_of(type);
    if (tensor.kind != Kind::u8)
        refuse(argument, std::string("blocks and 8-bit floats are bytes (uint8), not ") + name_of(tensor.kind));
    expect_ndim(tensor, argument, 3, 4);
    if (tensor.extent(1) % bytes != 0)
        refuse(argument, "the last axis is no multiple of " + std::to_string(bytes) + " bytes, the size of a block");
    if (tensor.size() > 1 && tensor.strides[tensor.ndim - 1] != 1)
        refuse(argument, "the bytes of the last axis have to lie side by side");
    posenc_view view = {};
    view.data = tensor.data;
    view.dtype = type;
    view.nb[0] = 1;
    set_axes(view, tensor);
    view.nb[0] = bytes;
    view.ne[0] = view.ne[0] / bytes * channels;
    return view;
}

py::array as_numpy(py::handle object, const char *argument) {
    if (py::isinstance<py::str>(object) || py::isinstance<py::dict>(object))
        throw py::type_error(std::string(argument) + ": numbers are expected");
    py::module_ numpy = py::module_::import("numpy");
    bool is_foreign = !py::hasattr(object, "__array__") && py::hasattr(object, "__dlpack__");
    try {
        return numpy.attr(is_foreign ? "from_dlpack" : "asarray")(object);
    } catch (const py::error_already_set &error) { // rows of different lengths, or a tensor with a gradient
        if (!error.matches(PyExc_Exception) || error.matches(PyExc_MemoryError))
            throw;
        refuse(argument, py::str(error.value()).cast<std::string>());
    }
}

void expect_numbers(const py::array &array, NumberKind kind, const char *argument) {
    py::dtype type = array.dtype();
    char letter = type.kind();
    bool is_integer = letter == 'i' || (letter == 'u' && type.itemsize() < 8);
    bool is_real = kind == NumberKind::real && (letter == 'f' || letter == 'u' || kind_of_numpy(type) == Kind::bf16);
    bool is_bool = kind == NumberKind::integer_or_bool && letter == 'b';
    if (is_integer || is_real || is_bool || array.size() == 0)
        return;
    throw py::type_error(std::string(argument) + ": " + (kind == NumberKind::real ? "numbers are" : "integers are") +
                         " expected, not " + py::str(type).cast<std::string>());
}

void expect_extents(const Shape &shape, const Shape &wanted, const char *argument) {
    bool fits = shape.size() == wanted.size();
    for (size_t i = 0; i < wanted.size() && fits; i++)
        fits = shape[i] == wanted[i] || wanted[i] == any_extent;
    if (fits)
        return;
    bool is_list = wanted.size() == 1 && shape.size() <= 1;
    if (is_list && wanted[0] != any_extent)
        refuse(argument, std::to_string(wanted[0]) + " numbers are expected, not " +
                             (shape.empty() ? "one alone" : std::to_string(shape[0])));
    std::string text = text_of(wanted);
    for (size_t at; (at = text.find("-1")) != std::string::npos;)
        text.replace(at, 2, "n");
    refuse(argument, "the shape has to be " + text + ", not " + text_of(shape));
}

void expect_shape(const Tensor &tensor, const char *argument, const Shape &shape) {
    if (tensor.extents() != shape)
        refuse(argument, "the shape has to be " + text_of(shape) + ", not " + text_of(tensor.extents()));
}

void expect_writable(const Tensor &tensor, const char *argument) {
    if (tensor.is_readonly)
        refuse(argument, "it is read-only");
}

namespace {

py::object allocate_torch(Kind kind, const Shape &shape) {
    static const py::handle empty = torch_function("torch", "empty");
    static const py::handle torch = py::module_::import("torch").release();
    py::tuple extents(shape.size());
    for (size_t i = 0; i < shape.size(); i++)
        extents[i] = shape[i];
    return empty(extents, py::arg("dtype") = torch.attr(name_of(kind)));
}

py::dtype numpy_type(Kind kind, const Tensor *like) {
    switch (kind) {
    case Kind::f32: return py::dtype::of<float>();
    case Kind::f64: return py::dtype::of<double>();
    case Kind::i32: return py::dtype::of<int32_t>();
    case Kind::u8: return py::dtype::of<uint8_t>();
    case Kind::bf16:
        if (like != nullptr && like->kind == Kind::bf16 && py::isinstance<py::array>(like->owner))
            return like->owner.attr("dtype");
        try {
            return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
        } catch (const py::error_already_set &) {
            refuse("out", "NumPy has no bfloat16 without ml_dtypes: pass a tensor as out");
        }
    default: return py::dtype(name_of(kind));
    }
}

} // namespace

py::object allocate(Kind kind, const Shape &shape, const Tensor *like) {
    if (like != nullptr && like->is_torch)
        return allocate_torch(kind, shape);
    return py::array(numpy_type(kind, like), shape);
}

Output output_of(py::handle out, Kind kind, const Shape &shape, const Tensor *like, const char *argument) {
    bool is_given = out && !out.is_none();
    py::object object = is_given ? py::reinterpret_borrow<py::object>(out) : allocate(kind, shape, like);
    Tensor tensor = tensor_of(object, argument);
    if (is_given) {
        expect_shape(tensor, argument, shape);
        expect_writable(tensor, argument);
    }
    posenc_view view = view_of(tensor, argument, 0, 4);
    return {std::move(object), std::move(tensor), view};
}

Output output_in_place(py::handle object, const Tensor &input, const posenc_view &view, py::handle out) {
    if (!out.is_none())
        refuse("out", "not together with inplace");
    expect_writable(input, "x");
    return {py::reinterpret_borrow<py::object>(object), input, view};
}

void Output::expect_apart(const Memory &input, const char *argument) const {
    Memory output = tensor_.memory();
    if (input.begin < output.end && output.begin < input.end)
        refuse(argument, "it overlaps the output");
}

} // namespace binding
