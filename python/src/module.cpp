// SPDX-License-Identifier: MIT
#include "bindings.hpp"
#include "call.hpp"

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
}
