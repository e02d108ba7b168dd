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
    {"ERR_ISA", "tier"},
};

} // namespace

void bind_errors(py::module_ &module) {
    error_type = py::exception<void>(module, "Error", PyExc_ValueError).release();
    error_type.attr("__doc__") = "What the library refuses: a ValueError with the status of C as .status.";
}

void check(posenc_status status, const char *function, const char *argument) {
    if (status == POSENC_OK)
        return;
    if (status == POSENC_ERR_MEMORY) {
        PyErr_NoMemory();
        throw py::error_already_set();
    }
    const StatusName &name = names[status];
    argument = argument != nullptr ? argument : name.argument;
    std::string text = std::string(function) + ": " + (argument != nullptr ? std::string(argument) + ": " : "") +
                       posenc_status_string(status);
    py::object error = error_type(text);
    error.attr("status") = name.name;
    error.attr("argument") = argument;
    PyErr_SetObject(error_type.ptr(), error.ptr());
    throw py::error_already_set();
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
    int is_beyond = 0;
    if (PyLong_Check(value.ptr()))
        PyLong_AsLongLongAndOverflow(value.ptr(), &is_beyond);
    if (is_beyond != 0)
        refuse(argument, "it is out of range");
    return converted<int64_t>(value, argument, "an integer");
}

bool Options::flag(const Key &key, bool otherwise) {
    py::handle value = take(key);
    return value ? converted<bool>(value, key.text, "True or False") : otherwise;
}

double Options::number(const Key &key, double otherwise) {
    py::handle value = take(key);
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
