// SPDX-License-Identifier: MIT
#include "bindings.hpp"
#include "call.hpp"
#include "signatures.hpp"

#include <cstdlib>
#include <cstring>

namespace py = pybind11;

namespace {

// Python reads a signature from the first line of a docstring, if "--" follows. pybind11's own line, with the types of
// C++, is returned.
std::string write_signature(py::handle function, const std::string &signature) {
    if (PyInstanceMethod_Check(function.ptr()))
        function = PyInstanceMethod_GET_FUNCTION(function.ptr());
    if (!PyCFunction_Check(function.ptr()))
        return "";
    PyMethodDef *method = ((PyCFunctionObject *)function.ptr())->m_ml;
    std::string doc = method->ml_doc != nullptr ? method->ml_doc : "";
    size_t end = doc.find('\n');
    std::string written = method->ml_name + signature + "\n--\n" + (end == doc.npos ? "\n" : doc.substr(end));
    std::free((void *)method->ml_doc); // which pybind11 frees likewise
    method->ml_doc = strdup(written.c_str());
    return doc.substr(0, end);
}

py::object member_of(py::module_ &module, const std::string &name) {
    size_t dot = name.find('.');
    if (dot == std::string::npos)
        return module.attr(name.c_str());
    auto *type = (PyTypeObject *)py::object(module.attr(name.substr(0, dot).c_str())).ptr();
    auto member = py::reinterpret_borrow<py::object>(PyDict_GetItemString(type->tp_dict, name.c_str() + dot + 1));
    bool is_static = member && Py_TYPE(member.ptr()) == &PyStaticMethod_Type;
    return is_static ? py::object(member.attr("__func__")) : member;
}

/** Gives functions and methods the signatures of the stubs; _bound keeps pybind11's own, for a test to compare. */
void write_signatures(py::module_ &module) {
    py::dict bound;
    for (const binding::Signature *entry = binding::signatures; entry->name != nullptr; entry++) {
        py::object member = member_of(module, entry->name);
        if (member)
            bound[entry->name] = write_signature(member, entry->text);
    }
    module.attr("_bound") = bound;
}

} // namespace

PYBIND11_MODULE(_core, module) {
    module.doc() = "The C API of posenc. Import posenc instead.";
    module.attr("__version__") = posenc_version();
    binding::bind_errors(module);
    binding::bind_rope(module);
    binding::bind_hadamard(module);
    binding::bind_published(module);
    binding::bind_encodings(module);
    binding::bind_learned(module);
    binding::bind_biases(module);
    binding::bind_images(module);
    binding::bind_relative(module);
    binding::bind_softmax(module);
    binding::bind_attention(module);
    binding::bind_sparse(module);
    binding::bind_backward(module);
    binding::bind_positions(module);
    binding::bind_analysis(module);
    write_signatures(module);
}
