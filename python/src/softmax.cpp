// SPDX-License-Identifier: MIT
// Softmax and logits with scale, bias and masks.
#include "score.hpp"

#include "bindings.hpp"
#include "core/for_python.h"

namespace binding {

namespace {

using RowsCall = posenc_status(const posenc_score_params *, const posenc_view *, const posenc_view *, posenc_range);

// Keys that are left as they are need an output that holds something.
Output output_of_scores(const Score &score, const Tensor &x, py::handle given, py::handle out, bool in_place) {
    if (in_place)
        return output_in_place(given, x, view_of(x, "x", 2, 4), out);
    if (score.get()->masked_output == POSENC_MASKED_UNTOUCHED && out.is_none())
        refuse("masked", "'untouched' needs out or inplace");
    return output_of(out, x.kind, x.extents(), &x);
}

py::object on_scores(const char *function, RowsCall call, py::handle x, py::handle out, bool in_place, int threads,
                     const py::kwargs &given) {
    Options options(function, given);
    Tensor tensor = tensor_of(x, "x");
    posenc_view from = view_of(tensor, "x", 2, 4);
    Score score(options, ScoreExtents::of(from), 1.0);
    options.finish();
    Output y = output_of_scores(score, tensor, x, out, in_place);
    score.expect_apart_from(y);
    check(share(row_count(from), threads, [&](posenc_range rows) { return call(score.get(), &from, &y.view, rows); }),
          function);
    return y.object;
}

py::object softmax(py::handle x, py::handle out, bool in_place, int threads, const py::kwargs &given) {
    return on_scores("softmax", posenc_softmax, x, out, in_place, threads, given);
}

py::object logits(py::handle x, py::handle out, bool in_place, int threads, const py::kwargs &given) {
    return on_scores("logits", posenc_logits, x, out, in_place, threads, given);
}

py::object bias_matrix(int64_t n_q, int64_t n_k, int64_t n_heads, int64_t n_batch, py::handle out, int threads,
                       const py::kwargs &given) {
    Options options("bias_matrix", given);
    if (n_q < 0 || n_k < 0 || n_heads < 0 || n_batch < 0)
        refuse("n_q", "an extent is negative");
    Score score(options, {n_k, n_q, n_heads, n_batch}, 1.0);
    options.finish();
    Output y = output_of(out, Kind::f32, {n_batch, n_heads, n_q, n_k});
    score.expect_apart_from(y);
    check(share(row_count(y.view), threads,
                [&](posenc_range rows) { return posenc_logits(score.get(), nullptr, &y.view, rows); }),
          "bias_matrix");
    return y.object;
}

py::object block_mask(int64_t n_q, int64_t n_k, int64_t n_heads, int64_t n_batch, int64_t q_block, int64_t k_block,
                      const py::kwargs &given) {
    Options options("block_mask", given);
    if (n_q < 0 || n_k < 0 || n_heads < 0 || n_batch < 0)
        refuse("n_q", "an extent is negative");
    if (q_block < 1 || k_block < 1)
        refuse(q_block < 1 ? "q_block" : "k_block", "a positive number is expected");
    Score score(options, {n_k, n_q, n_heads, n_batch}, 1.0);
    options.finish();
    int64_t n_rows = n_q / q_block + (n_q % q_block > 0), n_columns = n_k / k_block + (n_k % k_block > 0);
    Shape of_counts = {n_batch, n_heads, n_rows}, of_blocks = {n_batch, n_heads, n_rows, n_columns};
    py::array_t<int32_t> counts[2] = {py::array_t<int32_t>(of_counts), py::array_t<int32_t>(of_counts)};
    py::array_t<int32_t> blocks[2] = {py::array_t<int32_t>(of_blocks), py::array_t<int32_t>(of_blocks)};
    for (auto &array : blocks)
        std::fill_n(array.mutable_data(), array.size(), 0);
    posenc_block_mask mask = {counts[0].mutable_data(),
                              blocks[0].mutable_data(),
                              counts[1].mutable_data(),
                              blocks[1].mutable_data(),
                              n_columns,
                              n_heads == 1 ? 0 : n_rows,
                              n_batch == 1 ? 0 : n_heads * n_rows,
                              q_block,
                              k_block};
    const int64_t extents[4] = {n_k, n_q, n_heads, n_batch};
    check(posenc_block_mask_build(score.get(), extents, &mask), "block_mask");
    using namespace py::literals;
    return py::module_::import("types").attr("SimpleNamespace")(
        "kv_num_blocks"_a = counts[0], "kv_indices"_a = blocks[0], "full_kv_num_blocks"_a = counts[1],
        "full_kv_indices"_a = blocks[1], "BLOCK_SIZE"_a = py::make_tuple(q_block, k_block),
        "seq_lengths"_a = py::make_tuple(n_q, n_k));
}

py::tuple softmax_partial(py::handle x, py::handle out, int threads, const py::kwargs &given) {
    static_assert(sizeof(posenc_softmax_sum) == 2 * sizeof(float), "an array (..., 2) holds them");
    Options options("softmax_partial", given);
    Tensor tensor = tensor_of(x, "x");
    posenc_view from = view_of(tensor, "x", 2, 4);
    Score score(options, ScoreExtents::of(from), 1.0);
    options.finish();
    Output y = output_of_scores(score, tensor, x, out, false);
    score.expect_apart_from(y);
    Shape shape = tensor.extents();
    shape.back() = 2;
    py::array_t<float> sums(shape);
    auto *at = (posenc_softmax_sum *)sums.mutable_data();
    check(share(row_count(from), threads,
                [&](posenc_range rows) { return posenc_softmax_partial(score.get(), &from, &y.view, at, rows); }),
          "softmax_partial");
    return py::make_tuple(y.object, sums);
}

py::tuple softmax_combine(std::array<float, 2> a, std::array<float, 2> b) {
    posenc_softmax_sum first = {a[0], a[1]}, second = {b[0], b[1]}, joined;
    float factor_a, factor_b;
    check(posenc_softmax_combine(&first, &second, &joined, &factor_a, &factor_b), "softmax_combine");
    return py::make_tuple(py::make_tuple(joined.max, joined.sum), factor_a, factor_b);
}

py::tuple softmax_combine_tuples(const py::sequence &a, const py::sequence &b) {
    if (a.size() != 2 || b.size() != 2)
        refuse("a", "(max, sum) is expected");
    auto sum_of = [](const py::sequence &pair, const char *argument) {
        return std::array<float, 2>{converted<float>(pair[0], argument, "a number"),
                                    converted<float>(pair[1], argument, "a number")};
    };
    return softmax_combine(sum_of(a, "a"), sum_of(b, "b"));
}

py::object zero_padded(py::handle y, py::handle keep) {
    Tensor tensor = tensor_of(y, "y");
    expect_writable(tensor, "y");
    posenc_view view = view_of(tensor, "y", 3, 4);
    Numbers<uint8_t> kept(keep, "keep");
    bool is_one_sequence = tensor.ndim == 3;
    expect_extents(kept.shape(), is_one_sequence ? Shape{view.ne[2]} : Shape{view.ne[3], view.ne[2]}, "keep");
    output_in_place(y, tensor, view, py::none()).expect_apart(kept.memory(), "keep");
    check(posenc_zero_padded(kept.data(), &view), "zero_padded");
    return py::reinterpret_borrow<py::object>(y);
}

double masked_mean(py::handle losses, py::handle keep) {
    Numbers<float> numbers(losses, "losses");
    Numbers<uint8_t> kept(keep, "keep");
    expect_extents(kept.shape(), numbers.shape(), "keep");
    double mean = 0.0;
    check(posenc_masked_mean(numbers.data(), kept.data(), numbers.size(), &mean), "masked_mean");
    return mean;
}

constexpr const char *softmax_doc = R"(Softmax over scores, with scale, soft cap, bias, mask and sinks, in one pass.

x: (n_batch, n_heads, n_q, n_k), leading axes may be missing; float32, float16 or bfloat16.

Mask, which has no default: causal=True or False; window=w, the query's own key and the w - 1 before it (causal), or
window=(before, after), -1 for all; chunk; n_first; keep (True: seen) or drop (True: masked), bool with the axes of x,
those in front may be missing or 1, (n_q, n_k) for example; or key_mask (n_batch, n_k), True for keys that are seen;
block_mask, FlexAttention's BlockMask, or an object with its kv_num_blocks, kv_indices, full_kv_num_blocks,
full_kv_indices and BLOCK_SIZE: keep or drop is read in partial blocks alone, and is its mask_mod there;
tree (n_q,) or (n_batch, n_q), the parent of each query, a draft token, or -1.
Bias: alibi_slopes (n_heads,) or (n_batch, n_heads); bias, a RelBias, an array (n_batch, n_heads, n_q, n_k) with
extents of 1 shared, or a tuple of both; tensor_slopes (n_heads,); by_query and by_key, (products, RelIndex).
Positions: by default the last query stands at the last key; query_start, query_starts (n_batch,), or query_positions
(n_q,) with key_positions (n_k,). Sequences: k_begin, k_end (n_batch,), cu_seqlens (n_seqs + 1,); origins (n_batch,),
from which chunk and n_first count: k_begin, for sequences that are padded on the left.
Further: scale, cap, sinks (n_heads,), fully_masked 'zeros', 'uniform' or 'nan', masked 'written' or 'untouched'.)";

} // namespace

void bind_softmax(py::module_ &module) {
    using namespace py::literals;
    module.def("softmax", &softmax, "x"_a, py::kw_only(), "out"_a = py::none(), "inplace"_a = false, "threads"_a = 1,
               softmax_doc);
    module.def("logits", &logits, "x"_a, py::kw_only(), "out"_a = py::none(), "inplace"_a = false, "threads"_a = 1,
               "What softmax takes the exponentials of: its arguments; -inf for masked keys.");
    module.def("bias_matrix", &bias_matrix, "n_q"_a, "n_k"_a, "n_heads"_a = 1, "n_batch"_a = 1, py::kw_only(),
               "out"_a = py::none(), "threads"_a = 1,
               "Bias and mask written out, float32 (n_batch, n_heads, n_q, n_k); arguments of softmax.");
    module.def("block_mask", &block_mask, "n_q"_a, "n_k"_a, "n_heads"_a = 1, "n_batch"_a = 1, py::kw_only(),
               "q_block"_a = 128, "k_block"_a = 128,
               "The mask in blocks of q_block queries and k_block keys, for block_mask=; masks of softmax, which hold "
               "beside it. Has the "
               "attributes of FlexAttention's BlockMask, with lists for each of n_batch and n_heads.");
    module.def("softmax_partial", &softmax_partial, "x"_a, py::kw_only(), "out"_a = py::none(), "threads"_a = 1,
               "Exponentials, and the (max, sum) of each row, (n_batch, n_heads, n_q, 2); arguments of softmax.");
    module.def("softmax_combine", &softmax_combine_tuples, "a"_a, "b"_a,
               "Joins the (max, sum) of two parts of a row: ((max, sum), factor of a, factor of b).");
    module.def("zero_padded", &zero_padded, "y"_a, "keep"_a,
               "Writes 0 to rows of padded queries: y (n_batch, n_q, n_heads, dim), keep (n_batch, n_q); n_batch may "
               "be missing.");
    module.def("masked_mean", &masked_mean, "losses"_a, "keep"_a, "Mean of the losses of kept tokens.");
}

} // namespace binding
