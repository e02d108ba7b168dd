// SPDX-License-Identifier: MIT
// Sparse attention's indexer: scores, and the keys of the k largest.
#include "bindings.hpp"
#include "call.hpp"

namespace binding {

namespace {

/** begin and end as (n_batch, n_q), whatever has that shape or is broadcast to it. */
class Bounds {
  public:
    Bounds(py::handle begin, py::handle end, int64_t n_q, int64_t n_batch)
        : begin_(broadcast(begin, "begin", n_q, n_batch)),
          end_(broadcast(end, "end", n_q, n_batch)), bounds_{begin_.data(), end_.data(), 1, n_q} {
    }
    const posenc_key_bounds *get() const {
        return &bounds_;
    }
    void expect_apart_from(const Output &output) const {
        output.expect_apart(begin_.memory(), "begin");
        output.expect_apart(end_.memory(), "end");
    }

  private:
    Numbers<int32_t> begin_, end_;
    posenc_key_bounds bounds_;

    static Numbers<int32_t> broadcast(py::handle given, const char *argument, int64_t n_q, int64_t n_batch) {
        if (given.is_none())
            return {};
        py::array array = as_numpy(given, argument);
        try {
            array = py::module_::import("numpy").attr("broadcast_to")(array, py::make_tuple(n_batch, n_q));
        } catch (py::error_already_set &error) {
            if (!error.matches(PyExc_ValueError))
                throw;
            refuse(argument, "the shape has to be (n_batch, n_q), or broadcast to it");
        }
        return Numbers<int32_t>(array, argument);
    }
};

/** (n_batch, n_q, n_k) as scores of one head. */
posenc_view scores_view(const posenc_view &view) {
    return posenc_view_transpose(view, 2, 3);
}

/** (n_batch, n_k, dim) as keys that all heads share. */
posenc_view keys_view(const posenc_view &view) {
    return posenc_view_transpose(posenc_view_transpose(view, 2, 3), 1, 2);
}

/** (n_batch, n_q, n_heads), one number for each head. */
posenc_view weights_view(const posenc_view &view) {
    return posenc_view_transpose(keys_view(view), 0, 1);
}

py::object index_scores(py::handle q_, py::handle k_, py::handle weights_, py::handle begin, py::handle end,
                        py::handle out, int threads) {
    Tensor q = tensor_of(q_, "q"), k = tensor_of(k_, "k"), weights = tensor_of(weights_, "weights");
    posenc_index_args args = {};
    args.q = view_of(q, "q", 3, 4);
    args.k = keys_view(view_of(k, "k", 2, 3));
    args.weights = weights_view(view_of(weights, "weights", 2, 3));
    Shape shape = {args.q.ne[3], args.q.ne[2], args.k.ne[2]};
    if (q.ndim == 3)
        shape.erase(shape.begin());
    Output scores = output_of(out, Kind::f32, shape, &q);
    args.scores = scores_view(scores.view);
    Bounds bounds(begin, end, args.q.ne[2], args.q.ne[3]);
    bounds.expect_apart_from(scores);
    args.bounds = *bounds.get();
    size_t bytes = posenc_index_workspace_bytes(args.q.ne[0]);
    check(share(posenc_index_unit_count(&args), threads,
                [&](posenc_range tiles) { return posenc_index_scores(&args, scratch_of_thread(bytes), bytes, tiles); }),
          "index_scores");
    return scores.object;
}

py::object top_k(py::handle scores_, int64_t k, py::handle begin, py::handle end, int threads) {
    Tensor scores = tensor_of(scores_, "scores");
    posenc_view view = view_of(scores, "scores", 1, 4);
    if (scores.ndim < 4)
        view = scores_view(view);
    size_t bytes = posenc_top_k_workspace_bytes(view.ne[0], k);
    if (bytes == 0)
        check(POSENC_ERR_SHAPE, "top_k", "k");
    Shape shape = scores.extents();
    shape.back() = k;
    py::object keys = allocate(Kind::i32, shape, &scores);
    int32_t *to = (int32_t *)(void *)tensor_of(keys, "keys").data;
    Bounds bounds(begin, end, view.ne[1], view.ne[3]);
    check(share(row_count(view), threads,
                [&](posenc_range rows) {
                    return posenc_top_k(&view, bounds.get(), k, to, scratch_of_thread(bytes), bytes, rows);
                }),
          "top_k");
    return keys;
}

} // namespace

void bind_sparse(py::module_ &module) {
    using namespace py::literals;
    module.def("index_scores", &index_scores, "q"_a, "k"_a, "weights"_a, py::kw_only(), "begin"_a = py::none(),
               "end"_a = py::none(), "out"_a = py::none(), "threads"_a = 1,
               R"(Scores of an indexer, sum over heads of weights * relu(q . k): DeepSeek-V3.2 and V4, GLM-5.

q: (n_batch, n_q, n_heads, dim); k: (n_batch, n_k, dim), float32, float16 or bfloat16; weights: float32
(n_batch, n_q, n_heads). begin, end: the keys that a query sees, begin <= j < end, integers (n_batch, n_q) or broadcast
to it; scores of others are not written. Returns float32 (n_batch, n_q, n_k). n_batch may be missing.)");
    module.def("top_k", &top_k, "scores"_a, "k"_a, py::kw_only(), "begin"_a = py::none(), "end"_a = py::none(),
               "threads"_a = 1,
               R"(The keys of the k largest scores of each row, in descending order, as lists for attention.

scores: float32 (n_batch, n_q, n_k), axes in front may be missing, or (n_batch, n_heads, n_q, n_k); begin and end as in
index_scores. Of equal scores the lower number comes first, NaN is last. Returns int32 (..., n_q, k), -1 where there are
fewer keys.)");
}

} // namespace binding
