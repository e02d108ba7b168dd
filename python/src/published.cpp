// SPDX-License-Identifier: MIT
// RopeParams: posenc_rope_params, filled by the names that models publish (rope_config.h). The reader of models works
// with it; callers use Rope. Statuses are returned and not thrown: the reader knows which key of its file is to blame.
#include "bindings.hpp"
#include "rope_words.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <posenc/rope_config.h>

namespace py = pybind11;

namespace binding {

namespace {

const char *word_of(std::initializer_list<Word> words, int value) {
    for (const Word &word : words)
        if (word.value == value)
            return word.text;
    return "";
}

// The lists that params points to live as long as any copy of it.
struct Published {
    posenc_rope_params params = POSENC_ROPE_DEFAULTS;
    std::vector<std::shared_ptr<std::vector<double>>> lists;

    posenc_status set_list(const std::string &name, std::vector<double> values) {
        values.reserve(1); // an empty list has an address too
        lists.push_back(std::make_shared<std::vector<double>>(std::move(values)));
        const auto &list = *lists.back();
        return posenc_rope_set_list(&params, name.c_str(), list.data(), static_cast<int64_t>(list.size()));
    }

    Published unscaled() const {
        Published plain = *this;
        plain.params.scaling = POSENC_ROPE_SCALING_DEFAULTS;
        return plain;
    }

    void set_sections(const std::vector<int64_t> &sections) {
        if (sections.size() > POSENC_MAX_AXES)
            throw py::value_error("sections: at most " + std::to_string(POSENC_MAX_AXES) + " are possible");
        params.axes.n_axes = static_cast<int>(sections.size());
        for (size_t a = 0; a < POSENC_MAX_AXES; a++)
            params.axes.sections[a] = a < sections.size() ? sections[a] : 0;
    }

    std::vector<int64_t> sections() const {
        return {params.axes.sections, params.axes.sections + params.axes.n_axes};
    }

    // Status of posenc_rope_create and, with POSENC_OK, the frequencies and the magnitude that it computed.
    py::tuple frequencies() const {
        posenc_rope *rope = nullptr;
        posenc_status status = posenc_rope_create(&params, &rope);
        py::array_t<double> thetas(posenc_rope_pair_count(rope));
        for (py::ssize_t i = 0; i < thetas.size(); i++)
            thetas.mutable_at(i) = posenc_rope_theta(rope, i);
        double magnitude = posenc_rope_magnitude(rope);
        posenc_rope_free(rope);
        return py::make_tuple(status, thetas, magnitude);
    }
};

std::optional<std::vector<double>> list_of(const double *list, int64_t n) {
    if (list == nullptr)
        return std::nullopt;
    return std::vector<double>(list, list + n);
}

// An attribute for a member of posenc_rope_params, or of its scaling.
template <typename value>
void add_member(py::class_<Published> &type, const char *name, value posenc_rope_params::*member) {
    type.def_property(
        name, [member](const Published &p) { return p.params.*member; },
        [member](Published &p, value x) { p.params.*member = x; });
}

template <typename value>
void add_member(py::class_<Published> &type, const char *name, value posenc_rope_scaling::*member) {
    type.def_property(
        name, [member](const Published &p) { return p.params.scaling.*member; },
        [member](Published &p, value x) { p.params.scaling.*member = x; });
}

void add_members(py::class_<Published> &type) {
#define MEMBER(of, name) add_member(type, #name, &of::name)
    MEMBER(posenc_rope_params, head_dim);
    MEMBER(posenc_rope_params, n_rot);
    MEMBER(posenc_rope_params, n_offs);
    MEMBER(posenc_rope_params, base);
    MEMBER(posenc_rope_params, rot_fraction);
    MEMBER(posenc_rope_scaling, factor);
    MEMBER(posenc_rope_scaling, original_context);
    MEMBER(posenc_rope_scaling, max_context);
    MEMBER(posenc_rope_scaling, context);
    MEMBER(posenc_rope_scaling, beta_fast);
    MEMBER(posenc_rope_scaling, beta_slow);
    MEMBER(posenc_rope_scaling, ext_factor);
    MEMBER(posenc_rope_scaling, truncate);
    MEMBER(posenc_rope_scaling, low_freq_factor);
    MEMBER(posenc_rope_scaling, high_freq_factor);
    MEMBER(posenc_rope_scaling, proportion);
    MEMBER(posenc_rope_scaling, attention_factor);
    MEMBER(posenc_rope_scaling, mscale);
    MEMBER(posenc_rope_scaling, mscale_all_dim);
    MEMBER(posenc_rope_scaling, short_mscale);
    MEMBER(posenc_rope_scaling, long_mscale);
    MEMBER(posenc_rope_scaling, attn_factor);
    MEMBER(posenc_rope_scaling, ntk_alpha);
    MEMBER(posenc_rope_scaling, temperature_beta);
#undef MEMBER
    type.def_property(
        "layout", [](const Published &p) { return word_of(layout_words, p.params.layout); },
        [](Published &p, const std::string &word) {
            p.params.layout = enumerator<posenc_rope_layout>(word, layout_words, "layout");
        });
    type.def_property(
        "scaling", [](const Published &p) { return word_of(scaling_words, p.params.scaling.type); },
        [](Published &p, const std::string &word) {
            p.params.scaling.type = enumerator<posenc_scaling_type>(word, scaling_words, "scaling");
        });
    type.def_property(
        "axes", [](const Published &p) { return word_of(axes_words, p.params.axes.kind); },
        [](Published &p, const std::string &word) {
            p.params.axes.kind = enumerator<posenc_axes_kind>(word, axes_words, "axes");
        });
    type.def_property("sections", &Published::sections, &Published::set_sections);
}

void add_lists(py::class_<Published> &type) {
#define LIST(name)                                                                                                     \
    type.def_property_readonly(                                                                                        \
        #name, [](const Published &p) { return list_of(p.params.scaling.name, p.params.scaling.n_factors); })
    LIST(freq_factors);
    LIST(short_factors);
    LIST(long_factors);
#undef LIST
    type.def_property_readonly("n_factors", [](const Published &p) { return p.params.scaling.n_factors; });
}

void bind_statuses(py::module_ &module) {
    py::enum_<posenc_status>(module, "RopeStatus")
        .value("OK", POSENC_OK)
        .value("SHAPE", POSENC_ERR_SHAPE)
        .value("ENUM", POSENC_ERR_ENUM)
        .value("N_ROT", POSENC_ERR_N_ROT)
        .value("SECTIONS", POSENC_ERR_SECTIONS)
        .value("BASE", POSENC_ERR_BASE)
        .value("FREQUENCY", POSENC_ERR_FREQUENCY)
        .value("CONTEXT", POSENC_ERR_CONTEXT)
        .value("FACTORS", POSENC_ERR_FACTORS)
        .def_property_readonly("text", [](posenc_status status) { return posenc_status_string(status); });
}

} // namespace

void bind_published(py::module_ &core) {
    py::module_ module = core.def_submodule("_published", "For the reader of models.");
    bind_statuses(module);
    module.attr("MAX_AXES") = POSENC_MAX_AXES;
    module.attr("MAX_AXES_ROT") = POSENC_MAX_AXES_ROT;
    module.attr("MAX_FREQUENCY") = POSENC_MAX_FREQUENCY;
    py::class_<Published> type(module, "RopeParams", "Parameters of RoPE by the names that models publish.");
    type.def(py::init<>())
        .def("copy", [](const Published &p) { return p; })
        .def("unscaled", &Published::unscaled, "The same without a scaling.")
        .def("set_number", [](Published &p, const std::string &name,
                              double value) { return posenc_rope_set_number(&p.params, name.c_str(), value); })
        .def("set_string",
             [](Published &p, const std::string &name, const std::string &value) {
                 return posenc_rope_set_string(&p.params, name.c_str(), value.c_str());
             })
        .def("set_list", &Published::set_list)
        .def("frequencies", &Published::frequencies, "(status, theta of each pair, magnitude)")
        .def("softmax_multiplier",
             [](const Published &p) { return posenc_rope_softmax_multiplier(&p.params.scaling); });
    add_members(type);
    add_lists(type);
}

} // namespace binding
