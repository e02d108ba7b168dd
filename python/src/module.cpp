// SPDX-License-Identifier: MIT
#include "bindings.hpp"
#include "call.hpp"
#include "signatures.hpp"

#include <cstring>

namespace py = pybind11;

namespace {

// Python reads a signature from the first line of a docstring, if "--" follows. pybind11's own line has types of C++.
void write_signature(py::handle function, const std::string &signature) {
    if (PyInstanceMethod_Check(function.ptr()))
        function = PyInstanceMethod_GET_FUNCTION(function.ptr());
    if (!PyCFunction_Check(function.ptr()))
        return;
    PyMethodDef *method = ((PyCFunctionObject *)function.ptr())->m_ml;
    const char *text = method->ml_doc != nullptr ? std::strstr(method->ml_doc, "\n\n") : nullptr;
    std::string doc = std::string(method->ml_name) + signature + "\n--\n" + (text != nullptr ? text + 1 : "\n");
    std::free((void *)method->ml_doc); // which pybind11 frees likewise
    method->ml_doc = strdup(doc.c_str());
}

void write_signatures(py::module_ &module) {
    for (const binding::Signature *entry = binding::signatures; entry->name != nullptr; entry++) {
        std::string name = entry->name;
        size_t dot = name.find('.');
        if (dot == std::string::npos) {
            write_signature(module.attr(name.c_str()), entry->text);
            continue;
        }
        py::object type = module.attr(name.substr(0, dot).c_str());
        py::handle member = PyDict_GetItemString(((PyTypeObject *)type.ptr())->tp_dict, name.substr(dot + 1).c_str());
        if (member && Py_IS_TYPE(member.ptr(), &PyStaticMethod_Type))
            write_signature(member.attr("__func__"), entry->text);
        else if (member)
            write_signature(member, entry->text);
    }
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
