// SPDX-License-Identifier: MIT
// Gradients through softmax, relative biases and relative terms.
#include "score.hpp"

#include "bindings.hpp"

namespace binding {

namespace {

py::object zeros_like(const Shape &shape, const Tensor &like) {
    py::object array = allocate(Kind::f32, shape, &like);
    array.attr(like.is_torch ? "fill_" : "fill")(0);
    return array;
}

py::dict softmax_backward(py::handle p_, py::handle dp_, py::handle s_, bool with_bias, int threads,
                          const py::kwargs &given) {
    Options options("softmax_backward", given);
    Tensor p = tensor_of(p_, "p"), dp = tensor_of(dp_, "dp"), s;
    posenc_view probabilities = view_of(p, "p", 2, 4), gradient = view_of(dp, "dp", 2, 4), scores = {};
    Score score(options, ScoreExtents::of(probabilities), 1.0);
    options.finish();
    if (!s_.is_none()) {
        s = tensor_of(s_, "s");
        scores = view_of(s, "s", 2, 4);
    }
    Output dx = output_of(py::none(), Kind::f32, p.extents(), &p), db;
    if (with_bias)
        db = output_of(py::none(), Kind::f32, p.extents(), &p);
    std::vector<float> sink_rows(score.get()->sinks != nullptr ? (size_t)row_count(probabilities) : 0);
    float *rows_of_sinks = sink_rows.empty() ? nullptr : sink_rows.data();
    check(share(row_count(probabilities), threads,
                [&](posenc_range rows) {
                    return posenc_softmax_backward(score.get(), &probabilities, &gradient,
                                                   s_.is_none() ? nullptr : &scores, &dx.view,
                                                   with_bias ? &db.view : nullptr, rows_of_sinks, rows);
                }),
          "softmax_backward");
    py::dict results;
    results["dx"] = dx.object;
    if (with_bias)
        results["db"] = db.object;
    if (score.get()->sinks != nullptr) {
        py::array_t<float> sinks(probabilities.ne[2]);
        check(posenc_sink_backward(rows_of_sinks, probabilities.ne[1], probabilities.ne[2], probabilities.ne[3],
                                   sinks.mutable_data()),
              "softmax_backward");
        results["dsinks"] = sinks;
    }
    return results;
}

std::unique_ptr<RelBias> rel_bias_backward(py::handle ds_, const RelBias &bias, const py::kwargs &given) {
    Options options("rel_bias_backward", given);
    Tensor ds = tensor_of(ds_, "ds");
    posenc_view view = view_of(ds, "ds", 2, 4);
    Score score(options, ScoreExtents::of(view), 1.0);
    options.finish();
    const posenc_rel_bias *like = bias.get();
    bool is_shared = like->stride == 0;
    py::object data = allocate(Kind::f32, {is_shared ? 1 : like->n_heads, like->n_offsets});
    auto gradient = std::make_unique<RelBias>(data, like->first, like->is_clamped, is_shared);
    posenc_rel_bias of_scores = *gradient->get();
    if (is_shared) // C wants the number of heads that share it
        of_scores.n_heads = view.ne[2];
    check(posenc_rel_bias_backward(score.get(), &view, &of_scores), "rel_bias_backward");
    return gradient;
}

using SumsCall = decltype(posenc_relative_sums_by_query);

py::object sums(const char *function, SumsCall call, bool is_by_key, const RelIndex &index, py::handle x_, int threads,
                const py::kwargs &given) {
    Options options(function, given);
    posenc_mask mask = mask_of(options);
    int64_t start = query_start_of(options);
    options.finish();
    Tensor x = tensor_of(x_, "x");
    posenc_view from = view_of(x, "x", 4, 4);
    Shape shape = {from.ne[3], from.ne[2], is_by_key ? from.ne[0] : from.ne[1], index.get()->n_rows};
    Output w = output_of(py::none(), Kind::f32, shape, &x);
    check(share(row_count(w.view), threads,
                [&](posenc_range rows) { return call(index.get(), mask, start, &from, &w.view, rows); }),
          function);
    return w.object;
}

py::object sums_by_query(const RelIndex &index, py::handle x, int threads, const py::kwargs &given) {
    return sums("relative_sums_by_query", posenc_relative_sums_by_query, false, index, x, threads, given);
}

py::object sums_by_key(const RelIndex &index, py::handle x, int threads, const py::kwargs &given) {
    return sums("relative_sums_by_key", posenc_relative_sums_by_key, true, index, x, threads, given);
}

// Rows that all heads share are (n, dim), else (n, n_heads, dim).
posenc_view table_view(const Tensor &table, const char *argument) {
    posenc_view view = view_of(table, argument, 2, 4);
    return table.ndim == 2 ? posenc_view_transpose(view, 1, 2) : view;
}

py::object combine(py::handle w_, py::handle table_, float factor, py::handle out, int threads) {
    Tensor w = tensor_of(w_, "w"), table = tensor_of(table_, "table");
    posenc_view weights = view_of(w, "w", 4, 4), rows_of_table = table_view(table, "table");
    Shape shape = {weights.ne[3], weights.ne[1], weights.ne[2], rows_of_table.ne[0]};
    Output y =
        output_of(out.is_none() ? zeros_like(shape, w) : py::reinterpret_borrow<py::object>(out), Kind::f32, shape, &w);
    // (batch, query, head, dim) of the heads that w has
    check(share(row_count(weights), threads,
                [&](posenc_range rows) {
                    return posenc_relative_combine(&weights, &rows_of_table, factor, &y.view, rows);
                }),
          "relative_combine");
    return y.object;
}

py::object collect(py::handle w_, py::handle x_, py::handle shift_, float factor, bool shared, py::handle out,
                   int threads) {
    Tensor w = tensor_of(w_, "w"), x = tensor_of(x_, "x");
    posenc_view weights = view_of(w, "w", 4, 4), tokens = view_of(x, "x", 3, 4);
    Numbers<float> shift(shift_, "shift", {tokens.ne[1], tokens.ne[0]});
    Shape shape = {weights.ne[0], tokens.ne[0]};
    if (!shared)
        shape.insert(shape.begin() + 1, tokens.ne[1]);
    Output y =
        output_of(out.is_none() ? zeros_like(shape, w) : py::reinterpret_borrow<py::object>(out), Kind::f32, shape, &w);
    y.expect_apart(shift.memory(), "shift");
    posenc_view rows_of_table = shared ? posenc_view_transpose(y.view, 1, 2) : y.view;
    check(share(row_count(rows_of_table), threads,
                [&](posenc_range rows) {
                    return posenc_relative_collect(&weights, &tokens, shift.data(), factor, &rows_of_table, rows);
                }),
          "relative_collect");
    return y.object;
}

py::dict gate_backward(py::handle dy_, py::handle e_, py::handle gate_, int threads) {
    Tensor dy = tensor_of(dy_, "dy"), e = tensor_of(e_, "e"), gate = tensor_of(gate_, "gate");
    posenc_view gradient = view_of(dy, "dy", 2, 3), rows_of_e = view_of(e, "e", 2, 3),
                factors = view_of(gate, "gate", 2, 3);
    Output dgate = output_of(py::none(), Kind::f32, gate.extents(), &dy);
    Output de = output_of(py::none(), Kind::f32, dy.extents(), &dy);
    check(share(gradient.ne[1] * gradient.ne[2], threads,
                [&](posenc_range rows) {
                    return posenc_gate_backward(&rows_of_e, &factors, &gradient, &dgate.view, &de.view, rows);
                }),
          "gate_backward");
    py::dict results;
    results["dgate"] = dgate.object;
    results["de"] = de.object;
    return results;
}

} // namespace

void bind_backward(py::module_ &module) {
    using namespace py::literals;
    module.def("softmax_backward", &softmax_backward, "p"_a, "dp"_a, "s"_a = py::none(), py::kw_only(),
               "with_bias"_a = false, "threads"_a = 1, R"(Gradients through softmax, float32: a dict of dx, db, dsinks.

p: probabilities that softmax gave; dp: their gradient; s: the scores, needed with a cap. with_bias: db, what a bias
gets, too; dsinks is there if sinks are given. Other arguments are those of softmax.)");
    module.def("rel_bias_backward", &rel_bias_backward, "ds"_a, "bias"_a,
               R"(Gradient of a relative bias, of bias's offsets: sums of ds over diagonals; positions of softmax.

Of a bias that heads share (shared=True, or a broadcast array) it has one row, the sum over the heads.)");
    module.def("relative_sums_by_query", &sums_by_query, "index"_a, "x"_a, py::kw_only(), "threads"_a = 1,
               "Sums of x (n_batch, n_heads, n_q, n_k) by query and row: (n_batch, n_heads, n_q, n_rows).");
    module.def("relative_sums_by_key", &sums_by_key, "index"_a, "x"_a, py::kw_only(), "threads"_a = 1,
               "Sums of x by key and row: (n_batch, n_heads, n_k, n_rows).");
    module.def("relative_combine", &combine, "w"_a, "table"_a, py::kw_only(), "factor"_a = 1.0f, "out"_a = py::none(),
               "threads"_a = 1, "Adds factor * w . table to out (n_batch, n_q, n_heads, dim), or to zeros.");
    module.def("relative_collect", &collect, "w"_a, "x"_a, py::kw_only(), "shift"_a = py::none(), "factor"_a = 1.0f,
               "shared"_a = true, "out"_a = py::none(), "threads"_a = 1,
               "Adds factor * w^T . (x + shift) to out: (n_rows, dim) if heads share it, else (n_rows, n_heads, dim).");
    module.def("gate_backward", &gate_backward, "dy"_a, "e"_a, "gate"_a, py::kw_only(), "threads"_a = 1,
               "Gradients of y = x + gate * e: a dict of dgate and de.");
}

} // namespace binding
