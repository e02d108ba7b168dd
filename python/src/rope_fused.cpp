// SPDX-License-Identifier: MIT
// Several tensors of the same tokens in one call: normalisation, rotation, scale, Hadamard, quantisation, scatter.
#include "rope.hpp"

#include "bindings.hpp"

#include <deque>

namespace binding {

namespace {

/** One tensor, and what it refers to. */
struct FusedTensor {
    posenc_rope_tensor c = {};
    Numbers<float> weight;
    Numbers<int64_t> rows;
    Tensor from;
    Output y;

    FusedTensor(const py::dict &fields, int64_t head_dim);
    void expect_apart_from(const Output &output) const {
        output.expect_apart(weight.memory(), "weight");
        output.expect_apart(rows.memory(), "rows");
    }
};

posenc_view output_view(const Tensor &y, const std::string &type) {
    return type.empty() ? view_of(y, "y", 3, 3) : cache_view_of(y, "y", cache_type_named(type, "y_type"));
}

FusedTensor::FusedTensor(const py::dict &fields, int64_t head_dim) {
    static const Key x_key("x"), y_key("y"), y_type("y_type"), rotates("rotates"), scale("scale"), weight_key("weight"),
        eps("eps"), norm("norm"), rows_key("rows"), hadamard("hadamard");
    Options options("Rope.apply_tensors", fields);
    py::handle x = options.take(x_key), other = options.take(y_key);
    if (!x)
        refuse("x", "each tensor has to have one");
    from = tensor_of(x, "x");
    c.x = view_of(from, "x", 3, 3);
    Tensor to = tensor_of(other ? other : x, "y");
    expect_writable(to, "y");
    c.y = output_view(to, options.word(y_type, ""));
    y = Output(py::reinterpret_borrow<py::object>(other ? other : x), std::move(to), c.y);
    c.rotates = options.flag(rotates, true);
    c.scale = (float)options.number(scale, 1.0);
    weight = Numbers<float>(options.take(weight_key), weight_key.text, {head_dim});
    c.weight = weight.data();
    c.eps = (float)options.number(eps, 0.0);
    c.norms = options.flag(norm, false);
    rows = Numbers<int64_t>(options.take(rows_key), rows_key.text, {c.x.ne[2]});
    c.rows64 = rows.data();
    c.hadamard = options.integer(hadamard, 0);
    options.finish();
}

// Positions for posenc_rope_apply_tensors: dense planes of int32, or a table. Integers do not become a table: a shift
// skips no token there.
class FusedPositions {
  public:
    FusedPositions(const Rope &rope, py::handle given, int64_t n_tokens, posenc_direction way) {
        int n_axes = posenc_rope_axis_count(rope.get());
        Positions at(given, n_axes, n_tokens, 1);
        if (!at.are_real()) {
            narrow(*at.get(), n_axes, n_tokens);
            return;
        }
        memory_.resize((size_t)(posenc_rope_table_bytes(rope.get(), n_tokens) / (int64_t)sizeof(float)) + 1);
        table_ = posenc_rope_table_dense(rope.get(), memory_.data());
        check(posenc_rope_table_fill_at(rope.get(), at.get(), n_tokens, way, &table_), "Rope.apply_tensors");
    }
    const int32_t *planes() const {
        return memory_.empty() ? planes_.data() : nullptr;
    }
    const posenc_rope_table *table() const {
        return memory_.empty() ? nullptr : &table_;
    }

  private:
    std::vector<int32_t> planes_;
    std::vector<float> memory_; // not empty where there is a table
    posenc_rope_table table_ = {};

    void narrow(const posenc_coords &at, int n_axes, int64_t n_tokens) {
        int64_t axis_stride = at.axis_stride != 0 ? at.axis_stride : n_tokens;
        planes_.reserve((size_t)(n_axes * n_tokens));
        for (int64_t i = 0; i < n_axes * n_tokens; i++) {
            int64_t from = i / n_tokens * axis_stride + i % n_tokens;
            planes_.push_back(at.type == POSENC_COORD_I32 ? ((const int32_t *)at.data)[from]
                                                          : position_of(((const int64_t *)at.data)[from]));
        }
    }
};

py::list apply_tensors(const Rope &rope, const py::iterable &given, py::handle positions, const std::string &direction,
                       int threads) {
    std::deque<FusedTensor> fused;
    std::vector<posenc_rope_tensor> tensors;
    int64_t n_heads = 0;
    for (py::handle fields : given) {
        if (!py::isinstance<py::dict>(fields))
            throw py::type_error("tensors: a dict of fields is expected for each");
        fused.emplace_back(py::reinterpret_borrow<py::dict>(fields), rope.head_dim());
        tensors.push_back(fused.back().c);
        n_heads += fused.back().c.x.ne[1];
    }
    int64_t n_tokens = tensors.empty() ? 0 : tensors[0].x.ne[2];
    posenc_direction way = direction_of(direction);
    FusedPositions at(rope, positions, n_tokens, way);
    for (const FusedTensor &writes : fused)
        for (const FusedTensor &reads : fused)
            reads.expect_apart_from(writes.y);
    check(share(n_tokens * n_heads, threads,
                [&](posenc_range rows) {
                    return posenc_rope_apply_tensors(rope.get(), tensors.data(), (int64_t)tensors.size(), at.planes(),
                                                     at.table(), way, rows);
                }),
          "Rope.apply_tensors");
    py::list results;
    for (const FusedTensor &tensor : fused)
        results.append(tensor.y.object);
    return results;
}

py::object dequantise(py::handle blocks, const std::string &type, const std::string &dtype, py::handle out,
                      int threads) {
    Tensor tensor = tensor_of(blocks, "blocks");
    posenc_view from = cache_view_of(tensor, "blocks", cache_type_named(type, "type"));
    Shape shape = tensor.extents();
    shape.back() = from.ne[0];
    Output y = output_of(out, kind_named(dtype, "dtype"), shape, &tensor);
    check(share(row_count(from), threads, [&](posenc_range rows) { return posenc_dequantise(&from, &y.view, rows); }),
          "dequantise");
    return y.object;
}

py::object hadamard(py::handle x, int64_t n, py::handle out, bool in_place, int threads) {
    Tensor tensor = tensor_of(x, "x");
    posenc_view from = view_of(tensor, "x", 3, 4);
    Output y =
        in_place ? output_in_place(x, tensor, from, out) : output_of(out, tensor.kind, tensor.extents(), &tensor);
    check(share(row_count(from), threads, [&](posenc_range rows) { return posenc_hadamard(&from, &y.view, n, rows); }),
          "hadamard");
    return y.object;
}

} // namespace

void bind_rope_fused(py::class_<Rope> &rope) {
    using namespace py::literals;
    rope.def("apply_tensors", &apply_tensors, "tensors"_a, "positions"_a, py::kw_only(), "direction"_a = "forward",
             "threads"_a = 1, R"(Rotates several tensors of the same tokens in one pass; returns their outputs.

tensors: dicts with x (n_tokens, n_heads, head_dim); y, where it goes (default: x itself), of y_type 'q8_0' or
another format if it holds blocks; rotates (True), scale (1.0), weight and eps (RMS norm before), norm (True: one
without weight), rows (row of y for each token, scatter into a cache), hadamard (0). Two tokens that name one row of a
cache need threads=1.
positions: as for a rotation, of one sequence: (n_tokens,), with several axes (n_axes, n_tokens).)");
}

void bind_hadamard(py::module_ &module) {
    using namespace py::literals;
    module.def("hadamard", &hadamard, "x"_a, "n"_a, py::kw_only(), "out"_a = py::none(), "inplace"_a = false,
               "threads"_a = 1, R"(Multiplies each n channels of every head by H_n / sqrt(n); its own inverse.

x: (n_tokens, n_heads, head_dim), or with n_batch in front. n: a power of two up to 512.)");
    module.def("dequantise", &dequantise, "blocks"_a, "type"_a, py::kw_only(), "dtype"_a = "float32",
               "out"_a = py::none(), "threads"_a = 1, R"(The numbers that quantised heads hold.

blocks: bytes (n_tokens, n_heads, n_bytes), or with n_batch in front, of a format such as 'q8_0', as a Rope with
that dtype writes them. The result has head_dim channels in place of the bytes.)");
}

} // namespace binding
