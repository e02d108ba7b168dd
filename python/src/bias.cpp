// SPDX-License-Identifier: MIT
// Biases by relative position: ALiBi, T5, KERPLE, Sandwich and others, and what they are gathered by.
#include "bias.hpp"

#include "bindings.hpp"
#include "score.hpp"
#include "core/for_python.h"

namespace binding {

Offsets::Offsets(py::handle range) {
    if (!PyRange_Check(range.ptr()))
        throw py::type_error("offsets: a range is expected, such as posenc.offsets(n_q, n_k, causal=True)");
    if (integer_of(range.attr("step"), "offsets") != 1)
        refuse("offsets", "a range with a step of 1 is expected");
    first = integer_of(range.attr("start"), "offsets");
    count = (int64_t)py::len(range);
}

py::object range_of(int64_t first, int64_t count) {
    static const py::handle range = py::object(py::module_::import("builtins").attr("range")).release();
    return range(first, first + count);
}

RelBias::RelBias(int64_t n_heads, Offsets offsets, bool is_clamped) {
    if (n_heads < 1)
        refuse("n_heads", "at least 1 is expected");
    py::array_t<float> array(Shape{n_heads, offsets.count});
    bias_ = {array.mutable_data(), offsets.first, offsets.count, n_heads, offsets.count, is_clamped};
    tensor_ = tensor_of(array, "data");
    data_ = std::move(array);
}

RelBias::RelBias(py::handle data, int64_t first, bool is_clamped, bool is_shared)
    : data_(py::reinterpret_borrow<py::object>(data)), tensor_(tensor_of(data, "data")) {
    posenc_view view = view_of(tensor_, "data", 2, 2);
    if (view.dtype != POSENC_F32)
        refuse("data", std::string("float32 is expected, not ") + name_of(tensor_.kind));
    if (is_shared && view.ne[1] != 1)
        refuse("data", "what all heads share has one row");
    bias_ = {(float *)view.data, first, view.ne[0], view.ne[1], is_shared ? 0 : view.nb[1] / 4, is_clamped};
}

RelIndex::RelIndex(Offsets offsets) : data_(offsets.count) {
    index_ = {data_.mutable_data(), offsets.first, offsets.count, 0};
}

BiasTable::BiasTable(py::handle given, const char *argument) : tensor(tensor_of(given, argument)) {
    if (tensor.kind != Kind::f32)
        refuse(argument, std::string("float32 is expected, not ") + name_of(tensor.kind));
    if (tensor.ndim != 2)
        refuse(argument, "the shape has to be (n_rows, n_heads)");
    table = {(float *)tensor.data, tensor.shape[0], tensor.shape[1], tensor.strides[0] / 4, tensor.strides[1] / 4};
}

namespace {

py::object offsets(int64_t n_q, int64_t n_k, const py::kwargs &given) {
    Options options("offsets", given);
    posenc_mask mask = mask_of(options);
    int64_t first, count, start = query_start_of(options);
    options.finish();
    check(posenc_rel_bias_range(mask, start, n_q, n_k, &first, &count), "offsets");
    return range_of(first, count);
}

template <typename Write>
RelBias make_bias(const char *function, int64_t n_heads, py::handle range, bool is_clamped, Write write) {
    RelBias bias(n_heads, Offsets(range), is_clamped);
    check(write(bias.get()), function);
    return bias;
}

py::array_t<float> slopes(int64_t n_heads, double max_bias, bool plain) {
    if (n_heads < 1 || n_heads > (1 << 20))
        fail(POSENC_ERR_N_HEADS, "alibi_slopes");
    py::array_t<float> result(n_heads);
    check((plain ? posenc_alibi_slopes_plain : posenc_alibi_slopes)(n_heads, max_bias, result.mutable_data()),
          "alibi_slopes", "max_bias");
    return result;
}

RelBias alibi(py::handle slopes_, py::handle range) {
    Numbers<float> slope(slopes_, "slopes", {any_extent});
    return make_bias("RelBias.alibi", slope.size(), range, false,
                     [&](const posenc_rel_bias *bias) { return posenc_rel_bias_alibi(slope.data(), bias); });
}

posenc_kerple kerple_of(const std::string &kind, const Numbers<float> &p, const Numbers<float> &a, float min) {
    if (p.size() != a.size())
        refuse("a", "it has to be as long as p");
    auto value =
        enumerator<posenc_kerple_kind>(kind, {{"log", POSENC_KERPLE_LOG}, {"power", POSENC_KERPLE_POWER}}, "kind");
    return {value, p.data(), a.data(), min};
}

RelBias kerple(py::handle p_, py::handle a_, py::handle range, const std::string &kind, float min) {
    Numbers<float> p(p_, "p", {any_extent}), a(a_, "a", {any_extent});
    posenc_kerple params = kerple_of(kind, p, a, min);
    return make_bias("RelBias.kerple", p.size(), range, false,
                     [&](const posenc_rel_bias *bias) { return posenc_rel_bias_kerple(&params, bias); });
}

RelBias rbf(py::handle sigma_, py::handle range) {
    Numbers<float> sigma(sigma_, "sigma", {any_extent});
    return make_bias("RelBias.rbf", sigma.size(), range, false,
                     [&](const posenc_rel_bias *bias) { return posenc_rel_bias_rbf(sigma.data(), bias); });
}

RelBias sandwich(int64_t n_heads, py::handle range, int64_t dim, double base, int64_t first, bool centred) {
    posenc_sandwich params = {dim, base, first, centred};
    return make_bias("RelBias.sandwich", n_heads, range, false,
                     [&](const posenc_rel_bias *bias) { return posenc_rel_bias_sandwich(&params, bias); });
}

RelBias cosine(py::handle omega_, py::handle range, py::handle phi_, py::handle amplitude_) {
    Numbers<double> omega(omega_, "omega", {any_extent}), phi(phi_, "phi", {omega.size()});
    Numbers<float> amplitude(amplitude_, "amplitude", {omega.size()});
    return make_bias("RelBias.cosine", omega.size(), range, false, [&](const posenc_rel_bias *bias) {
        return posenc_rel_bias_cosine(omega.data(), phi.data(), amplitude.data(), bias);
    });
}

RelBias gather(const RelIndex &index, py::handle table_, float scale, bool is_clamped) {
    BiasTable table(table_, "table");
    return make_bias(
        "RelBias.gather", table.table.n_heads, range_of(index.get()->first, index.get()->n_offsets), is_clamped,
        [&](const posenc_rel_bias *bias) { return posenc_rel_bias_gather(index.get(), &table.table, scale, bias); });
}

RelIndex t5_index(py::handle range, int64_t num_buckets, int64_t max_distance, bool bidirectional) {
    posenc_t5_params params = {num_buckets, max_distance, bidirectional};
    RelIndex index{range.is_none() ? Offsets(range_of(-max_distance, max_distance + 1 + bidirectional * max_distance))
                                   : Offsets(range)};
    index.get()->n_rows = num_buckets;
    check(posenc_rel_index_t5(&params, index.get()), "RelIndex.t5");
    return index;
}

RelBias t5(py::handle table, py::handle range, int64_t max_distance, bool bidirectional, float scale) {
    int64_t num_buckets = tensor_of(table, "table").extent(2);
    return gather(t5_index(range, num_buckets, max_distance, bidirectional), table, scale, true);
}

RelIndex clipped(int64_t k, py::handle range) {
    RelIndex index{Offsets(range)};
    posenc_rel_index_rule rule = posenc_rel_index_rule_of(POSENC_REL_SHAW, k, 0);
    check(posenc_rel_index_fill(&rule, index.get()), "RelIndex.clipped", "k");
    return index;
}

int32_t t5_bucket(int32_t offset, int64_t num_buckets, int64_t max_distance, bool bidirectional) {
    posenc_t5_params params = {num_buckets, max_distance, bidirectional};
    int32_t bucket = 0;
    check(posenc_t5_bucket(&params, offset, &bucket), "t5_bucket");
    return bucket;
}

py::object mask_bias(py::object self, const py::kwargs &given) {
    Options options("RelBias.mask", given);
    posenc_mask mask = mask_of(options);
    options.finish();
    const auto &bias = self.cast<const RelBias &>();
    expect_writable(tensor_of(bias.data(), "data"), "data");
    check(posenc_rel_bias_mask(mask, bias.get()), "RelBias.mask");
    return self;
}

py::object alibi_row(py::handle slopes_, const std::string &form, int64_t n_k, py::handle key_mask) {
    Numbers<float> slope(slopes_, "slopes", {any_extent});
    Numbers<uint8_t> keep(key_mask, "key_mask");
    auto value = enumerator<posenc_alibi_row_form>(form,
                                                   {{"from_first", POSENC_ALIBI_ROW_FROM_FIRST},
                                                    {"from_last", POSENC_ALIBI_ROW_FROM_LAST},
                                                    {"counted", POSENC_ALIBI_ROW_COUNTED},
                                                    {"counted_bf16", POSENC_ALIBI_ROW_COUNTED_BF16}},
                                                   "form");
    if (keep && keep.shape().size() != 2)
        refuse("key_mask", "the shape has to be (n_batch, n_k)");
    int64_t n_batch = keep ? keep.shape()[0] : 1;
    Output bias = output_of(py::none(), Kind::f32, {n_batch, slope.size(), 1, keep ? keep.shape()[1] : n_k});
    check(posenc_alibi_row(slope.data(), value, keep.data(), &bias.view), "alibi_row", keep ? nullptr : "key_mask");
    return bias.object;
}

// ---- Gradients of what a relative bias was made of ----

py::array_t<float> zeros(const Shape &shape) {
    py::array_t<float> array(shape);
    std::fill_n(array.mutable_data(), array.size(), 0.0f);
    return array;
}

py::object table_backward(const RelIndex &index, const RelBias &gradient, float scale) {
    py::array_t<float> table = zeros({index.get()->n_rows, gradient.get()->n_heads});
    BiasTable view(table, "table");
    check(posenc_bias_table_backward(index.get(), gradient.get(), scale, &view.table), "bias_table_backward");
    return std::move(table);
}

py::object alibi_backward(const RelBias &gradient) {
    py::array_t<float> slope(gradient.get()->n_heads);
    check(posenc_alibi_backward(gradient.get(), slope.mutable_data()), "alibi_backward");
    return std::move(slope);
}

py::tuple kerple_backward(const RelBias &gradient, py::handle p_, py::handle a_, const std::string &kind, float min,
                          bool clamped_stops) {
    int64_t n_heads = gradient.get()->n_heads;
    Numbers<float> p(p_, "p", {n_heads}), a(a_, "a", {n_heads});
    posenc_kerple params = kerple_of(kind, p, a, min);
    py::array_t<float> dp(n_heads), da(n_heads);
    check(posenc_kerple_backward(&params, clamped_stops ? POSENC_CLAMPED_STOPS : POSENC_CLAMPED_PASSES, gradient.get(),
                                 dp.mutable_data(), da.mutable_data()),
          "kerple_backward");
    return py::make_tuple(dp, da);
}

void bind_rel_bias(py::module_ &module) {
    using namespace py::literals;
    py::class_<RelBias>(module, "RelBias", R"(A bias that depends on the offset, key minus query, alone.

RelBias(data, first): data float32 (n_heads, n_offsets), used where it lies, first the offset of column 0. clamped:
offsets beyond either end have the value of that end. shared: data is (1, n_offsets) for all heads.
offsets is a range, of posenc.offsets() for example.)")
        .def(py::init<py::handle, int64_t, bool, bool>(), "data"_a, "first"_a, py::kw_only(), "clamped"_a = false,
             "shared"_a = false)
        .def_static("alibi", &alibi, "slopes"_a, "offsets"_a, "-(slope * |offset|) (arXiv 2108.12409).")
        .def_static("kerple", &kerple, "p"_a, "a"_a, "offsets"_a, py::kw_only(), "kind"_a, "min"_a = 0.01f,
                    "KERPLE (arXiv 2205.09921); kind: 'log' or 'power'.")
        .def_static("rbf", &rbf, "sigma"_a, "offsets"_a, "exp(-offset^2 / (2 sigma^2)).")
        .def_static("sandwich", &sandwich, "n_heads"_a, "offsets"_a, py::kw_only(), "dim"_a = 128, "base"_a = 10000.0,
                    "first"_a = 0, "centred"_a = false, "Sandwich (arXiv 2212.10356).")
        .def_static("cosine", &cosine, "omega"_a, "offsets"_a, py::kw_only(), "phi"_a = py::none(),
                    "amplitude"_a = py::none(), "amplitude * cos(omega * offset + phi), each (n_heads,).")
        .def_static("gather", &gather, "index"_a, "table"_a, py::kw_only(), "scale"_a = 1.0f, "clamped"_a = false,
                    "scale * table[index], of a table (n_rows, n_heads).")
        .def_static("t5", &t5, "table"_a, "offsets"_a = py::none(), py::kw_only(), "max_distance"_a = 128,
                    "bidirectional"_a, "scale"_a = 1.0f,
                    "T5 (arXiv 1910.10683) from its table (num_buckets, n_heads); for any length.")
        .def("mask", &mask_bias, "Writes -inf where a mask forbids the offset: causal, window.")
        .def_property_readonly("data",
                               [](const py::object &self) {
                                   const auto &bias = self.cast<const RelBias &>();
                                   return bias.data();
                               })
        .def_property_readonly("offsets",
                               [](const RelBias &bias) { return range_of(bias.get()->first, bias.get()->n_offsets); })
        .def_property_readonly("n_heads", [](const RelBias &bias) { return bias.get()->n_heads; })
        .def_property_readonly("is_clamped", [](const RelBias &bias) { return (bool)bias.get()->is_clamped; });
}

} // namespace

void bind_biases(py::module_ &module) {
    using namespace py::literals;
    py::class_<RelIndex>(module, "RelIndex", "Which row of a table an offset, key minus query, stands for.")
        .def_static("t5", &t5_index, "offsets"_a = py::none(), py::kw_only(), "num_buckets"_a = 32,
                    "max_distance"_a = 128, "bidirectional"_a, "T5's buckets; without offsets, all that differ.")
        .def_static("clipped", &clipped, "k"_a, "offsets"_a, "Row clip(offset, -k, k) + k.")
        .def_property_readonly("data", &RelIndex::data)
        .def_property_readonly(
            "offsets", [](const RelIndex &index) { return range_of(index.get()->first, index.get()->n_offsets); })
        .def_property_readonly("n_rows", [](const RelIndex &index) { return index.get()->n_rows; });
    bind_rel_bias(module);
    module.def(
        "offsets", &offsets, "n_q"_a, "n_k"_a,
        "The range of offsets that queries and keys meet under a mask: causal, window, chunk, n_first, query_start.");
    module.def(
        "alibi_slopes", &slopes, "n_heads"_a, "max_bias"_a = 8.0, py::kw_only(), "plain"_a = false,
        "ALiBi's published slopes for any number of heads, float32 (n_heads,); plain: 2^(-max_bias (h+1)/n_heads).");
    module.def("alibi_row", &alibi_row, "slopes"_a, "form"_a, py::kw_only(), "n_k"_a = 0, "key_mask"_a = py::none(),
               R"(ALiBi as one row for all queries, float32 (n_batch, n_heads, 1, n_k).

form: 'from_first' (the official code), 'from_last' (MPT), or 'counted' (BLOOM) and 'counted_bf16' (Falcon), which
read key_mask (n_batch, n_k).)");
    module.def("t5_bucket", &t5_bucket, "offset"_a, py::kw_only(), "num_buckets"_a = 32, "max_distance"_a = 128,
               "bidirectional"_a, "The bucket of one offset, key minus query.");
    module.def("bias_table_backward", &table_backward, "index"_a, "gradient"_a, py::kw_only(), "scale"_a = 1.0f,
               "Gradient of a table (n_rows, n_heads) from that of the relative bias gathered from it.");
    module.def("alibi_backward", &alibi_backward, "gradient"_a, "Gradient of learned ALiBi slopes.");
    module.def("kerple_backward", &kerple_backward, "gradient"_a, "p"_a, "a"_a, py::kw_only(), "kind"_a,
               "min"_a = 0.01f, "clamped_stops"_a = false, "Gradients of KERPLE's p and a.");
}

} // namespace binding
