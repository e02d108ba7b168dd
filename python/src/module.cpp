#include "bindings.hpp"
#include "call.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "The C API of posenc. Import posenc instead.";
    module.attr("__version__") = posenc_version();
    binding::bind_errors(module);
    binding::bind_rope(module);
    binding::bind_hadamard(module);
    binding::bind_published(module);
    binding::bind_isa(module);
}
