#include "bindings.hpp"
#include "call.hpp"

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace binding {

namespace {

std::vector<std::string> supported() {
    std::vector<std::string> names;
    for (int tier = POSENC_ISA_SCALAR; tier < POSENC_ISA_COUNT; tier++)
        if (posenc_isa_supported((posenc_isa_tier)tier))
            names.push_back(posenc_isa_name((posenc_isa_tier)tier));
    return names;
}

void select(const std::string &name) {
    int tier = POSENC_ISA_SCALAR;
    while (tier < POSENC_ISA_COUNT && name != posenc_isa_name((posenc_isa_tier)tier))
        tier++;
    check(posenc_isa_select((posenc_isa_tier)tier), "isa_select", "tier");
}

} // namespace

void bind_isa(py::module_ &module) {
    using namespace py::literals;
    module.def(
        "isa", [] { return posenc_isa_name(posenc_isa()); },
        "The instruction set in use: scalar, avx2, avx512 or neon.");
    module.def("isa_supported", &supported, "Those that are built in and that run on this CPU.");
    module.def("isa_select", &select, "tier"_a, "Uses this one from now on, in all threads. No result changes.");
}

} // namespace binding
