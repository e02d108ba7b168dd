// SPDX-License-Identifier: MIT
#include "rope_scaling.hpp"

#include "rope_words.hpp"

namespace binding {

namespace {

struct NumberField {
    const char *name;
    double posenc_rope_scaling::*field;
};

constexpr NumberField number_fields[] = {
    {"factor", &posenc_rope_scaling::factor},
    {"freq_scale", &posenc_rope_scaling::freq_scale},
    {"original_context", &posenc_rope_scaling::original_context},
    {"max_context", &posenc_rope_scaling::max_context},
    {"context", &posenc_rope_scaling::context},
    {"alpha", &posenc_rope_scaling::alpha},
    {"beta_fast", &posenc_rope_scaling::beta_fast},
    {"beta_slow", &posenc_rope_scaling::beta_slow},
    {"ext_factor", &posenc_rope_scaling::ext_factor},
    {"low_freq_factor", &posenc_rope_scaling::low_freq_factor},
    {"high_freq_factor", &posenc_rope_scaling::high_freq_factor},
    {"proportion", &posenc_rope_scaling::proportion},
    {"attention_factor", &posenc_rope_scaling::attention_factor},
    {"mscale", &posenc_rope_scaling::mscale},
    {"mscale_all_dim", &posenc_rope_scaling::mscale_all_dim},
    {"short_mscale", &posenc_rope_scaling::short_mscale},
    {"long_mscale", &posenc_rope_scaling::long_mscale},
    {"attn_factor", &posenc_rope_scaling::attn_factor},
    {"ntk_alpha", &posenc_rope_scaling::ntk_alpha},
    {"temperature_beta", &posenc_rope_scaling::temperature_beta},
};

struct ListField {
    const char *name;
    const double *posenc_rope_scaling::*field;
};

constexpr ListField list_fields[] = {
    {"freq_factors", &posenc_rope_scaling::freq_factors},
    {"short_factors", &posenc_rope_scaling::short_factors},
    {"long_factors", &posenc_rope_scaling::long_factors},
};

double number_of(py::handle value, const std::string &argument) {
    double number = PyFloat_AsDouble(value.ptr());
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        throw py::type_error(argument + ": a number is expected, not " + Py_TYPE(value.ptr())->tp_name);
    }
    return number;
}

} // namespace

const Numbers<double> &RopeParams::list(py::handle value, const char *argument, int64_t n) {
    lists_.push_back(Numbers<double>(value, argument, {n}));
    return lists_.back();
}

// By the field's name, or as models publish it (rope_config.h).
void RopeParams::set_scaling_field(const std::string &name, py::handle value) {
    std::string argument = "scaling: " + name;
    for (const ListField &entry : list_fields) {
        if (name == entry.name) {
            const Numbers<double> &factors = list(value, argument.c_str());
            if (params_.scaling.n_factors != 0 && params_.scaling.n_factors != factors.size())
                refuse(argument, "lists of factors differ in length");
            params_.scaling.*entry.field = factors.data();
            params_.scaling.n_factors = factors.size();
            return;
        }
    }
    for (const NumberField &entry : number_fields) {
        if (name == entry.name) {
            params_.scaling.*entry.field = number_of(value, argument);
            // Models publish ntk_alpha by the name of another field; no type reads both.
            if (name == "alpha" && params_.scaling.ntk_alpha == 0.0)
                params_.scaling.ntk_alpha = params_.scaling.alpha;
            return;
        }
    }
    posenc_status status = POSENC_ERR_ENUM;
    if (name == "type" && py::isinstance<py::str>(value)) {
        params_.scaling.type =
            enumerator<posenc_scaling_type>(value.cast<std::string>(), scaling_words, "scaling: type");
        return;
    } else if (py::isinstance<py::str>(value)) {
        status = posenc_rope_set_string(&params_, name.c_str(), value.cast<std::string>().c_str());
    } else if (py::isinstance<py::sequence>(value)) {
        const Numbers<double> &factors = list(value, argument.c_str());
        status = posenc_rope_set_list(&params_, name.c_str(), factors.data(), factors.size());
    } else {
        status = posenc_rope_set_number(&params_, name.c_str(), number_of(value, argument));
    }
    check(status, "Rope", argument.c_str());
}

void RopeParams::set_scaling(const py::dict &scaling) {
    for (auto item : scaling) {
        if (!item.second.is_none())
            set_scaling_field(py::str(item.first).cast<std::string>(), item.second);
    }
}

// As posenc_rope_create resolves it, which does not know how long a list is.
int64_t RopeParams::n_pairs() const {
    if (params_.n_rot != 0)
        return params_.n_rot / 2;
    if (!(params_.rot_fraction > 0.0 && params_.rot_fraction <= 1.0))
        return 0;
    bool are_all = params_.scaling.type == POSENC_SCALING_PROPORTIONAL;
    return (are_all ? params_.head_dim : (int64_t)((double)params_.head_dim * params_.rot_fraction)) / 2;
}

void RopeParams::set_axes_by_list(py::handle axes) {
    axis_of_pair_ = Numbers<int32_t>(axes, "axes", {n_pairs()});
    params_.axes.kind = POSENC_AXES_LIST;
    params_.lists.axes = axis_of_pair_.data();
}

// Number of planes of positions if n_axes does not say it.
int64_t RopeParams::implied_n_axes(int64_t n_sections) const {
    if (params_.axes.kind == POSENC_AXES_PIXTRAL)
        return 2;
    if (params_.axes.kind != POSENC_AXES_LIST)
        return n_sections;
    const int32_t *first = axis_of_pair_.data(), *end = first + axis_of_pair_.size();
    return first == end ? 1 : (int64_t)*std::max_element(first, end) + 1;
}

void RopeParams::set_axes(Options &options) {
    static const Key axes("axes"), n_axes("n_axes"), sections("sections");
    py::handle kind = options.take(axes);
    if (kind && !py::isinstance<py::str>(kind))
        set_axes_by_list(kind);
    else if (kind)
        params_.axes.kind = enumerator<posenc_axes_kind>(kind.cast<std::string>(), axes_words, "axes");
    Numbers<int64_t> given(options.take(sections), sections.text, {any_extent});
    if (given.size() > POSENC_MAX_AXES)
        refuse(sections.text, "at most " + std::to_string(POSENC_MAX_AXES) + " are expected");
    std::copy(given.data(), given.data() + given.size(), params_.axes.sections);
    params_.axes.n_axes = options.integer32(n_axes, (int32_t)implied_n_axes(given.size()));
}

void RopeParams::set_lists(Options &options) {
    static const Key theta("theta"), bases("bases");
    py::handle frequencies = options.take(theta);
    if (frequencies)
        params_.lists.theta = list(frequencies, theta.text, n_pairs()).data();
    Numbers<double> given(options.take(bases), bases.text, {any_extent});
    if (given.size() > POSENC_MAX_AXES)
        refuse(bases.text, "at most " + std::to_string(POSENC_MAX_AXES) + " are expected");
    std::copy(given.data(), given.data() + given.size(), params_.lists.bases);
}

void RopeParams::set_xpos(Options &options) {
    static const Key role("xpos_role"), gamma("xpos_gamma"), scale_base("xpos_scale_base"), centre("xpos_centre");
    posenc_xpos &xpos = params_.xpos;
    xpos.role = enumerator<posenc_xpos_role>(
        options.word(role, "off"), {{"off", POSENC_XPOS_OFF}, {"query", POSENC_XPOS_QUERY}, {"key", POSENC_XPOS_KEY}},
        role.text);
    xpos.gamma = options.number(gamma, xpos.gamma);
    xpos.scale_base = options.number(scale_base, xpos.scale_base);
    xpos.centre = options.integer32(centre, xpos.centre);
}

RopeParams::RopeParams(int64_t head_dim, Options &options) {
    static const Key layout("layout"), n_rot("n_rot"), n_offs("n_offs"), base("base"), rot_fraction("rot_fraction"),
        scaling("scaling"), local_base("local_base");
    params_.head_dim = head_dim;
    params_.layout = enumerator<posenc_rope_layout>(options.word(layout, "half"), layout_words, "layout");
    params_.base = options.number(base, params_.base);
    params_.n_offs = options.integer(n_offs, 0);
    params_.rot_fraction = options.number(rot_fraction, params_.rot_fraction);
    params_.n_rot = options.integer(n_rot, 0);
    params_.local_base = options.number(local_base, 0.0);
    py::handle fields = options.take(scaling);
    if (fields) {
        if (!py::isinstance<py::dict>(fields))
            throw py::type_error("scaling: a dict of fields is expected");
        set_scaling(py::reinterpret_borrow<py::dict>(fields));
    }
    set_axes(options);
    set_lists(options);
    set_xpos(options);
}

RopeParams RopeParams::local() const {
    RopeParams local = *this;
    local.params_ = posenc_rope_local_params(&params_);
    return local;
}

} // namespace binding
