// SPDX-License-Identifier: MIT
#include "call.hpp"

namespace binding {

namespace {

py::handle error_type;

struct StatusName {
    const char *name, *argument; // the argument that is to blame wherever a call does not say better
};

constexpr StatusName names[] = {
    {"OK", nullptr},
    {"ERR_NULL", nullptr},
    {"ERR_DTYPE", nullptr},
    {"ERR_SHAPE", nullptr},
    {"ERR_STRIDE", nullptr},
    {"ERR_OVERLAP", "out"},
    {"ERR_ROWS", nullptr},
    {"ERR_ENUM", nullptr},
    {"ERR_LAYOUT_UNSET", "layout"},
    {"ERR_UNSET", nullptr},
    {"ERR_HEAD_DIM", "head_dim"},
    {"ERR_N_ROT", "n_rot"},
    {"ERR_SECTIONS", "sections"},
    {"ERR_BASE", "base"},
    {"ERR_FREQUENCY", "theta"},
    {"ERR_SCALING", "scaling"},
    {"ERR_CONTEXT", "context"},
    {"ERR_FACTORS", "factors"},
    {"ERR_N_HEADS", "n_heads"},
    {"ERR_SCALE", "scale"},
    {"ERR_POSITION", "positions"},
    {"ERR_MASK_UNSET", "causal"},
    {"ERR_MASK", "mask"},
    {"ERR_OFFSETS", "offsets"},
    {"ERR_BUCKETS", "num_buckets"},
    {"ERR_WORKSPACE", nullptr},
    {"ERR_ISA", "tier"},
};

} // namespace

void bind_errors(py::module_ &module) {
    error_type = py::exception<void>(module, "Error", PyExc_ValueError).release();
    error_type.attr("__doc__") = "What the library refuses: a ValueError with the status of C as .status.";
}

// The text behind the argument, which it may begin with.
static std::string named(const char *argument, const std::string &text) {
    if (argument == nullptr || text.rfind(std::string(argument) + ": ", 0) == 0)
        return text;
    std::string repeated = std::string(argument) + " ";
    return std::string(argument) + ": " + (text.rfind(repeated, 0) == 0 ? text.substr(repeated.size()) : text);
}

[[noreturn]] static void raise(posenc_status status, const char *function, const char *argument, const char *text) {
    if (status == POSENC_ERR_MEMORY) {
        PyErr_NoMemory();
        throw py::error_already_set();
    }
    const StatusName &name = names[status];
    argument = argument != nullptr ? argument : name.argument;
    py::object error = error_type(std::string(function) + ": " + named(argument, text));
    error.attr("status") = name.name;
    error.attr("argument") = argument;
    PyErr_SetObject(error_type.ptr(), error.ptr());
    throw py::error_already_set();
}

void check(posenc_status status, const char *function, const char *argument) {
    if (status != POSENC_OK)
        raise(status, function, argument, posenc_last_error());
}

void fail(posenc_status status, const char *function, const char *argument) {
    raise(status, function, argument, posenc_status_string(status));
}

py::type_error unexpected(py::handle value, const char *argument, const char *kind) {
    return py::type_error(std::string(argument) + ": " + kind + " is expected, not " + Py_TYPE(value.ptr())->tp_name);
}

int value_of(const std::string &text, std::initializer_list<Word> words, const char *argument) {
    std::string known;
    for (const Word &word : words) {
        if (text == word.text)
            return word.value;
        known += (known.empty() ? "" : ", ") + std::string(word.text);
    }
    refuse(argument, "'" + text + "' is unknown; there are " + known);
}

py::handle Options::take(const Key &key) {
    PyObject *value = PyDict_GetItemWithError(given_.ptr(), key.name);
    if (value == nullptr)
        return py::handle();
    taken_.push_back(key.name);
    return value == Py_None ? py::handle() : py::handle(value);
}

int64_t integer_of(py::handle value, const char *argument) {
    if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) // NumPy's 1.5 would become 1
        throw unexpected(value, argument, "an integer");
    auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!index) {
        PyErr_Clear();
        throw unexpected(value, argument, "an integer");
    }
    int is_beyond = 0;
    int64_t integer = PyLong_AsLongLongAndOverflow(index.ptr(), &is_beyond);
    if (is_beyond != 0)
        refuse(argument, "it is out of range");
    return integer;
}

bool flag_of(py::handle value, const char *argument) {
    py::detail::make_caster<bool> caster;
    if (!caster.load(value, false)) // True, False and NumPy's, not what Python takes for true
        throw unexpected(value, argument, "True or False");
    return caster;
}

Kind kind_of_result(py::handle dtype, Kind otherwise, py::handle out) {
    if (dtype.is_none())
        return otherwise;
    Kind kind = kind_named(converted<std::string>(dtype, "dtype", "a string"), "dtype");
    if (!out.is_none() && tensor_of(out, "out").kind != kind)
        refuse("out", std::string("its type has to be dtype, ") + name_of(kind));
    return kind;
}

bool Options::flag(const Key &key, bool otherwise) {
    py::handle value = take(key);
    return value ? flag_of(value, key.text) : otherwise;
}

double Options::number(const Key &key, double otherwise) {
    py::handle value = take(key);
    if (value && PyBool_Check(value.ptr()))
        throw unexpected(value, key.text, "a number");
    return value ? converted<double>(value, key.text, "a number") : otherwise;
}

int64_t Options::integer(const Key &key, int64_t otherwise) {
    py::handle value = take(key);
    return value ? integer_of(value, key.text) : otherwise;
}

int32_t Options::integer32(const Key &key, int32_t otherwise) {
    int64_t value = integer(key, otherwise);
    if (value < INT32_MIN || value > INT32_MAX)
        refuse(key.text, std::to_string(value) + " is out of range");
    return (int32_t)value;
}

std::string Options::word(const Key &key, const char *otherwise) {
    py::handle value = take(key);
    return value ? converted<std::string>(value, key.text, "a string") : otherwise;
}

void Options::finish() const {
    if (taken_.size() == given_.size())
        return;
    for (auto item : given_) {
        bool is_known = false;
        for (PyObject *name : taken_)
            is_known = is_known || PyUnicode_Compare(name, item.first.ptr()) == 0;
        if (!is_known)
            throw py::type_error(std::string(function_) + "() got an unexpected keyword argument '" +
                                 py::str(item.first).cast<std::string>() + "'");
    }
}

void *scratch_of_thread(size_t bytes) {
    static thread_local std::vector<float> memory;
    size_t n = bytes / sizeof(float) + 1;
    if (memory.size() < n)
        memory.resize(n);
    return memory.data();
}

} // namespace binding
