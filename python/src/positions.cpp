// SPDX-License-Identifier: MIT
// Frequency tables, arrays of positions, and the instruction set.
#include "call.hpp"

#include "bindings.hpp"
#include "core/for_python.h"

#include <memory>

namespace binding {

namespace {

/** A frequency table. */
class Freq {
  public:
    Freq(double base, int64_t dim) {
        posenc_freq *freq = nullptr;
        check(posenc_freq_create(base, dim, &freq), "Freq", nullptr);
        freq_.reset(freq);
    }
    explicit Freq(py::handle theta_) {
        Numbers<double> theta(theta_, "theta", {any_extent});
        posenc_freq *freq = nullptr;
        check(posenc_freq_create_values(theta.data(), theta.size(), &freq), "Freq.of");
        freq_.reset(freq);
    }
    int64_t count() const {
        return posenc_freq_count(freq_.get());
    }
    py::object theta() const {
        py::array_t<double> theta(count());
        for (int64_t i = 0; i < count(); i++)
            theta.mutable_at(i) = posenc_freq_theta(freq_.get(), i);
        return std::move(theta);
    }
    py::tuple rows(py::handle positions_) const {
        Numbers<int32_t> positions(positions_, "positions", {any_extent});
        py::array_t<float> cos(Shape{positions.size(), count()}), sin(Shape{positions.size(), count()});
        float *c = cos.mutable_data(), *s = sin.mutable_data();
        posenc_status status;
        {
            py::gil_scoped_release released;
            status = posenc_angle_rows(freq_.get(), positions.data(), positions.size(), c, s, count());
        }
        check(status, "Freq");
        return py::make_tuple(cos, sin);
    }
    py::object by_offset(decltype(posenc_dot_by_offset) how, const char *name, py::handle offsets_) const {
        Numbers<int32_t> offsets(offsets_, "offsets", {any_extent});
        py::array_t<double> values(offsets.size());
        check(how(freq_.get(), offsets.data(), offsets.size(), values.mutable_data()), name);
        return std::move(values);
    }

  private:
    struct Free {
        void operator()(posenc_freq *freq) const {
            posenc_freq_free(freq);
        }
    };
    std::unique_ptr<posenc_freq, Free> freq_;
};

int64_t count_of(int64_t n, const char *argument) {
    if (n < 0 || n > INT32_MAX)
        refuse(argument, "it is negative or beyond int32");
    return n;
}

py::object positions_range(int32_t start, int64_t n) {
    py::array_t<int32_t> positions(count_of(n, "n"));
    check(posenc_positions_range(start, n, positions.mutable_data()), "positions_range", "start");
    return std::move(positions);
}

py::object positions_packed(py::handle cu_seqlens_, py::handle starts_) {
    Numbers<int32_t> cu_seqlens(cu_seqlens_, "cu_seqlens", {any_extent});
    if (cu_seqlens.size() < 1)
        refuse("cu_seqlens", "at least one number is expected");
    int64_t n_sequences = cu_seqlens.size() - 1;
    Numbers<int32_t> starts(starts_, "starts", {n_sequences});
    py::array_t<int32_t> positions(count_of(cu_seqlens.data()[n_sequences], "cu_seqlens"));
    check(posenc_positions_packed(cu_seqlens.data(), starts.data(), n_sequences, positions.mutable_data()),
          "positions_packed", "cu_seqlens");
    return std::move(positions);
}

py::object positions_masked(py::handle mask_, int32_t start, int32_t pad_value) {
    Numbers<uint8_t> mask(mask_, "mask");
    if (mask.shape().size() != 2)
        refuse("mask", "the shape has to be (n_batch, n_tokens)");
    py::array_t<int32_t> positions(mask.shape());
    check(posenc_positions_masked(mask.data(), mask.shape()[1], mask.shape()[0], start, pad_value,
                                  positions.mutable_data()),
          "positions_masked", "start");
    return std::move(positions);
}

py::object tree_positions(py::handle parents_, int32_t start) {
    Numbers<int32_t> parents(parents_, "parents", {any_extent});
    py::array_t<int32_t> positions(parents.size());
    check(posenc_tree_positions(parents.data(), parents.size(), start, positions.mutable_data()), "tree_positions",
          "parents");
    return std::move(positions);
}

py::object positions_documents(py::handle document_) {
    Numbers<int32_t> document(document_, "document", {any_extent});
    py::array_t<int32_t> positions(document.size());
    check(posenc_positions_documents(document.data(), document.size(), positions.mutable_data()), "positions_documents",
          "document");
    return std::move(positions);
}

py::object positions_grid(py::handle sizes_) {
    Numbers<int64_t> sizes(sizes_, "sizes", {any_extent});
    int64_t n = 1;
    for (int64_t i = 0; i < sizes.size(); i++) {
        if (sizes.data()[i] < 0 || (n > 0 && sizes.data()[i] > INT32_MAX / n))
            fail(POSENC_ERR_SHAPE, "positions_grid", "sizes");
        n *= sizes.data()[i];
    }
    if (sizes.size() < 1 || sizes.size() > 4)
        fail(POSENC_ERR_SECTIONS, "positions_grid", "sizes");
    py::array_t<int32_t> planes(Shape{sizes.size(), n});
    check(posenc_positions_grid(sizes.data(), (int)sizes.size(), planes.mutable_data()), "positions_grid", "sizes");
    return std::move(planes);
}

posenc_isa_tier tier_named(const std::string &name) {
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++) {
        if (name == posenc_isa_name((posenc_isa_tier)tier))
            return (posenc_isa_tier)tier;
    }
    fail(POSENC_ERR_ENUM, "isa_select", "tier");
    return POSENC_ISA_SCALAR;
}

py::list tiers_that(int (*holds)(posenc_isa_tier)) {
    py::list tiers;
    for (int tier = 0; tier < POSENC_ISA_COUNT; tier++) {
        if (holds((posenc_isa_tier)tier))
            tiers.append(posenc_isa_name((posenc_isa_tier)tier));
    }
    return tiers;
}

} // namespace

void bind_positions(py::module_ &module) {
    using namespace py::literals;
    py::class_<Freq>(module, "Freq", "A frequency table: base^(-2i/dim), i < dim/2.")
        .def(py::init<double, int64_t>(), "base"_a, "dim"_a)
        .def_static(
            "of", [](py::handle theta) { return std::make_unique<Freq>(theta); }, "theta"_a,
            "A table of given frequencies, radians per position.")
        .def("__call__", &Freq::rows, "positions"_a, "Cosines and sines, float32 (n_positions, n_pairs) each.")
        .def(
            "dot_by_offset",
            [](const Freq &freq, py::handle offsets) {
                return freq.by_offset(posenc_dot_by_offset, "Freq.dot_by_offset", offsets);
            },
            "offsets"_a, "Dot products of sinusoidal rows at these distances.")
        .def(
            "alias_distance",
            [](const Freq &freq, py::handle offsets) {
                return freq.by_offset(posenc_alias_distance, "Freq.alias_distance", offsets);
            },
            "offsets"_a, "Distances |PE(t) - PE(t + offset)|.")
        .def_property_readonly("theta", &Freq::theta)
        .def("__len__", &Freq::count);
    module.def("positions_range", &positions_range, "start"_a, "n"_a, "start, start + 1, ..., int32 (n,).");
    module.def("positions_packed", &positions_packed, "cu_seqlens"_a, "starts"_a = py::none(),
               "Positions of packed sequences, int32 (n_tokens,).");
    module.def("positions_masked", &positions_masked, "mask"_a, py::kw_only(), "start"_a = 0, "pad_value"_a = 0,
               "Positions of the real tokens of a padding mask (n_batch, n_tokens).");
    module.def("tree_positions", &tree_positions, "parents"_a, "start"_a,
               "Positions of a tree's tokens, int32 (n,): start for a root (parent -1), else the parent's + 1.");
    module.def("positions_documents", &positions_documents, "document"_a,
               "Positions that restart where the document changes.");
    module.def("positions_grid", &positions_grid, "sizes"_a, "Coordinates of a grid, int32 (n_axes, n_tokens).");
    module.def(
        "isa", [] { return posenc_isa_name(posenc_isa()); }, "The instruction set in use.");
    module.def(
        "isa_select", [](const std::string &tier) { check(posenc_isa_select(tier_named(tier)), "isa_select", "tier"); },
        "tier"_a, "Uses 'scalar' or a tier of isa_supported() from now on; results are the same.");
    module.def(
        "isa_supported", [] { return tiers_that(posenc_isa_supported); }, "Tiers that can run here.");
    module.def(
        "isa_built", [] { return tiers_that(posenc_isa_built); }, "Tiers that are built in.");
}

} // namespace binding
