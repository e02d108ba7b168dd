// SPDX-License-Identifier: MIT
// Looking at an encoding.
#include "call.hpp"

#include "bindings.hpp"
#include "rope_scaling.hpp"
#include "core/for_python.h"

namespace binding {

namespace {

py::object cosine_similarity(py::handle e_, double eps, int threads) {
    Tensor e = tensor_of(e_, "e");
    posenc_view rows = view_of(e, "e", 2, 2);
    Output similarity = output_of(py::none(), Kind::f32, {rows.ne[1], rows.ne[1]}, &e);
    check(share(rows.ne[1], threads,
                [&](posenc_range range) { return posenc_cosine_similarity(&rows, eps, &similarity.view, range); }),
          "cosine_similarity", "e");
    return similarity.object;
}

py::object similarity_profile(py::handle e_, int64_t query, int64_t n_offsets, double eps) {
    Tensor e = tensor_of(e_, "e");
    posenc_view rows = view_of(e, "e", 2, 2);
    if (n_offsets < 0)
        refuse("n_offsets", "it is negative");
    py::array_t<float> profile(n_offsets);
    check(posenc_similarity_profile(&rows, query, eps, n_offsets, profile.mutable_data()), "similarity_profile",
          "query");
    return std::move(profile);
}

py::tuple check_progression(py::handle e_, int64_t start, int64_t step, double atol, double rtol) {
    Tensor e = tensor_of(e_, "e");
    posenc_view rows = view_of(e, "e", 2, 2);
    posenc_progression result;
    check(posenc_check_progression(&rows, start, step, atol, rtol, &result), "check_progression", "start");
    return py::make_tuple((bool)result.holds, result.largest);
}

py::dict frequency_report(py::handle theta_, double context) {
    Numbers<double> theta(theta_, "theta", {any_extent});
    std::vector<posenc_frequency> report((size_t)theta.size());
    check(posenc_frequency_report(theta.data(), theta.size(), context, report.data()), "frequency_report");
    py::array_t<double> radians(theta.size()), wavelength(theta.size()), turns(theta.size());
    for (int64_t i = 0; i < theta.size(); i++) {
        radians.mutable_at(i) = report[(size_t)i].theta;
        wavelength.mutable_at(i) = report[(size_t)i].wavelength;
        turns.mutable_at(i) = report[(size_t)i].turns;
    }
    py::dict result;
    result["theta"] = radians;
    result["wavelength"] = wavelength;
    result["turns"] = turns;
    return result;
}

struct SizeField {
    const char *name;
    int64_t posenc_sizes::*field;
};

constexpr SizeField size_fields[] = {
    {"length", &posenc_sizes::length},
    {"dim", &posenc_sizes::dim},
    {"head_dim", &posenc_sizes::head_dim},
    {"n_heads", &posenc_sizes::n_heads},
    {"max_distance", &posenc_sizes::max_distance},
    {"n_buckets", &posenc_sizes::n_buckets},
    {"hidden", &posenc_sizes::hidden},
    {"n_positions", &posenc_sizes::n_positions},
    {"window_h", &posenc_sizes::window_h},
    {"window_w", &posenc_sizes::window_w},
    {"kernel", &posenc_sizes::kernel},
};

posenc_scheme scheme_named(const std::string &name) {
    return enumerator<posenc_scheme>(name,
                                     {{"sinusoidal", POSENC_SCHEME_SINUSOIDAL},
                                      {"rope", POSENC_SCHEME_ROPE},
                                      {"alibi", POSENC_SCHEME_ALIBI},
                                      {"sandwich", POSENC_SCHEME_SANDWICH},
                                      {"learned", POSENC_SCHEME_LEARNED},
                                      {"shaw", POSENC_SCHEME_SHAW},
                                      {"t5", POSENC_SCHEME_T5},
                                      {"transformer_xl", POSENC_SCHEME_TRANSFORMER_XL},
                                      {"deberta", POSENC_SCHEME_DEBERTA},
                                      {"kerple", POSENC_SCHEME_KERPLE},
                                      {"fire", POSENC_SCHEME_FIRE},
                                      {"cope", POSENC_SCHEME_COPE},
                                      {"swin", POSENC_SCHEME_SWIN},
                                      {"cpe", POSENC_SCHEME_CPE}},
                                     "scheme");
}

int64_t count(const char *function, decltype(posenc_flops) how, const std::string &scheme, const py::kwargs &given) {
    posenc_sizes sizes = {};
    Options options(function, given);
    for (const SizeField &entry : size_fields)
        sizes.*entry.field = options.integer(Key(entry.name), 0);
    options.finish();
    int64_t result = 0;
    check(how(scheme_named(scheme), &sizes, &result), function, "scheme");
    return result;
}

int64_t parameter_count(const std::string &scheme, const py::kwargs &sizes) {
    return count("parameter_count", posenc_parameter_count, scheme, sizes);
}

int64_t flops(const std::string &scheme, bool rule_of_thumb, const py::kwargs &sizes) {
    return count("flops", rule_of_thumb ? posenc_flops_rule_of_thumb : posenc_flops, scheme, sizes);
}

double softmax_multiplier(const py::dict &scaling) {
    py::dict given;
    given["scaling"] = scaling;
    Options options("softmax_multiplier", given);
    RopeParams params(2, options);
    return posenc_rope_softmax_multiplier(&params.get()->scaling);
}

} // namespace

void bind_analysis(py::module_ &module) {
    using namespace py::literals;
    module.def("cosine_similarity", &cosine_similarity, "e"_a, py::kw_only(), "eps"_a = 0.0, "threads"_a = 1,
               "Cosine similarities of the rows of an encoding, float32 (n, n), of e (n, dim).");
    module.def("similarity_profile", &similarity_profile, "e"_a, "query"_a, "n_offsets"_a, py::kw_only(), "eps"_a = 0.0,
               "Similarity of row query with those behind it; NaN where there is none.");
    module.def("check_progression", &check_progression, "e"_a, "start"_a, "step"_a, py::kw_only(), "atol"_a = 0.0,
               "rtol"_a = 0.0, "Whether rows go in equal steps: (holds, largest difference).");
    module.def("frequency_report", &frequency_report, "theta"_a, "context"_a,
               "A dict of theta, wavelength and turns within the context.");
    module.def("hamming_binary", &posenc_hamming_binary, "p"_a, "q"_a, "In how many bits two positions differ.");
    module.def("hamming_gray", &posenc_hamming_gray, "p"_a, "q"_a, "The same of their Gray codes.");
    module.def(
        "parameter_count", &parameter_count, "scheme"_a,
        "Trained numbers of a scheme; sizes by keyword: length, dim, head_dim, n_heads, max_distance, n_buckets, "
        "hidden, n_positions, window_h, window_w, kernel.");
    module.def("flops", &flops, "scheme"_a, py::kw_only(), "rule_of_thumb"_a = false,
               "Operations for one token over all heads; sizes as for parameter_count.");
    module.def("softmax_multiplier", &softmax_multiplier, "scaling"_a,
               "What DeepSeek multiplies the softmax scale by, from a dict of scaling's fields.");
    module.def("query_temperature", &posenc_query_temperature, "position"_a, "attn_scale"_a, "floor_scale"_a,
               "Llama 4's query temperature (arXiv 2501.19399).");
}

} // namespace binding
