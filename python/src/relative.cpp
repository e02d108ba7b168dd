// SPDX-License-Identifier: MIT
// Query-dependent relative terms: Shaw, Transformer-XL, DeBERTa, FIRE, CoPE.
#include "bias.hpp"
#include "score.hpp"

#include "bindings.hpp"

#include <memory>

namespace binding {

namespace {

RelIndex index_of_rule(const char *function, posenc_rel_index_rule rule, py::handle offsets, bool is_reversed) {
    if (is_reversed)
        rule.sign = -rule.sign;
    RelIndex index{Offsets(offsets)};
    check(posenc_rel_index_fill(&rule, index.get()), function);
    return index;
}

template <typename T, void (*Free)(T *)> struct Deleter {
    void operator()(T *object) const {
        Free(object);
    }
};

/** Heads' shift, (n_heads, head_dim), or nothing. */
Numbers<float> shift_of(py::handle given, const posenc_view &q) {
    Numbers<float> shift(given, "shift", {q.ne[1], q.ne[0]});
    return shift;
}

class RelativeTable {
  public:
    explicit RelativeTable(py::handle rows_) {
        Tensor rows = tensor_of(rows_, "rows");
        posenc_view view = view_of(rows, "rows", 2, 3);
        if (rows.ndim == 2) { // (n_rows, head_dim) that all heads share
            view = posenc_view_transpose(view, 1, 2);
        }
        n_rows_ = view.ne[2];
        posenc_relative_table *table = nullptr;
        check(posenc_relative_table_create(&view, &table), "RelativeTable", "rows");
        table_.reset(table);
    }
    py::object products(py::handle q_, py::handle shift_, py::handle out, int threads) const {
        Tensor q = tensor_of(q_, "q");
        posenc_view view = view_of(q, "q", 3, 4);
        Numbers<float> shift = shift_of(shift_, view);
        Output y = output_of(out, Kind::f32, {view.ne[3], view.ne[1], view.ne[2], n_rows_}, &q);
        y.expect_apart(shift.memory(), "shift");
        check(share(row_count(y.view), threads,
                    [&](posenc_range rows) {
                        return posenc_relative_products(table_.get(), &view, shift.data(), &y.view, rows);
                    }),
              "RelativeTable.products", "q");
        return y.object;
    }

  private:
    std::unique_ptr<posenc_relative_table, Deleter<posenc_relative_table, posenc_relative_table_free>> table_;
    int64_t n_rows_;
};

py::object relative_values(py::handle p_, const RelIndex &index, py::handle table_, py::handle z_, int threads,
                           const py::kwargs &given) {
    Options options("relative_values", given);
    posenc_mask mask = mask_of(options);
    int64_t start = query_start_of(options);
    options.finish();
    Tensor p = tensor_of(p_, "p"), table = tensor_of(table_, "table"), z = tensor_of(z_, "z");
    expect_writable(z, "z");
    posenc_view from = view_of(p, "p", 2, 4), rows_of_table = view_of(table, "table", 2, 4), to = view_of(z, "z", 3, 4);
    if (table.ndim == 2)
        rows_of_table = posenc_view_transpose(rows_of_table, 1, 2);
    check(share(row_count(from), threads,
                [&](posenc_range rows) {
                    return posenc_relative_values(index.get(), mask, start, &from, &rows_of_table, &to, rows);
                }),
          "relative_values");
    return py::reinterpret_borrow<py::object>(z_);
}

py::object relative_shift(py::handle x_) {
    Tensor x = tensor_of(x_, "x");
    posenc_view from = view_of(x, "x", 2, 4);
    Output y = output_of(py::none(), x.kind, x.extents(), &x);
    check(posenc_relative_shift(&from, &y.view), "relative_shift", "x");
    return y.object;
}

py::object relative_skew(py::handle x_) {
    Tensor x = tensor_of(x_, "x");
    posenc_view from = view_of(x, "x", 2, 4);
    Shape shape = x.extents();
    shape.back() = from.ne[1];
    Output y = output_of(py::none(), x.kind, shape, &x);
    check(posenc_relative_skew(&from, &y.view), "relative_skew", "x");
    return y.object;
}

class Fire {
  public:
    Fire(py::handle w1_, py::handle b1_, py::handle w2_, py::handle b2_, int64_t max_distance, double c,
         double threshold, double eps) {
        Numbers<float> w1(w1_, "w1", {any_extent}), b1(b1_, "b1", {w1.size()}), b2(b2_, "b2", {any_extent}),
            w2(w2_, "w2", {b2.size(), w1.size()});
        posenc_fire_params params = {b2.size(), w1.size(), w1.data(), b1.data(), w2.data(),
                                     b2.data(), c,         threshold, eps,       max_distance};
        posenc_fire *fire = nullptr;
        check(posenc_fire_create(&params, &fire), "Fire");
        fire_.reset(fire);
        n_heads_ = b2.size();
    }
    py::object write(int64_t n_q, int64_t n_k, py::handle query_start, int64_t n_batch, int threads) const {
        if (n_q < 0 || n_k < 0 || n_batch < 0)
            refuse("n_q", "an extent is negative");
        Output y = output_of(py::none(), Kind::f32, {n_batch, n_heads_, n_q, n_k});
        run(posenc_fire_write, y.view, query_start, threads);
        return y.object;
    }
    py::object add(py::handle y_, py::handle query_start, int threads) const {
        Tensor y = tensor_of(y_, "y");
        expect_writable(y, "y");
        run(posenc_fire_add, view_of(y, "y", 2, 4), query_start, threads);
        return py::reinterpret_borrow<py::object>(y_);
    }

  private:
    std::unique_ptr<posenc_fire, Deleter<posenc_fire, posenc_fire_free>> fire_;
    int64_t n_heads_;

    void run(decltype(posenc_fire_write) how, posenc_view y, py::handle query_start, int threads) const {
        int64_t start = query_start.is_none() ? POSENC_ALIGN_LAST_KEY : integer_of(query_start, "query_start");
        check(share(row_count(y), threads, [&](posenc_range rows) { return how(fire_.get(), start, &y, rows); }),
              "Fire", "query_start");
    }
};

py::object cope_logits(py::handle x_, py::handle z_, py::handle gates_, float scale, const std::string &form,
                       py::handle query_start, py::handle out, int threads) {
    Tensor x = tensor_of(x_, "x"), z = tensor_of(z_, "z"), gates;
    posenc_view from = view_of(x, "x", 2, 4), products = view_of(z, "z", 2, 4), gate_view = {};
    if (!gates_.is_none()) {
        gates = tensor_of(gates_, "gates");
        gate_view = view_of(gates, "gates", 2, 4);
    }
    posenc_cope_params params = POSENC_COPE_DEFAULTS;
    params.scale = scale;
    params.form =
        enumerator<posenc_cope_form>(form, {{"listing", POSENC_COPE_LISTING}, {"scaled", POSENC_COPE_SCALED}}, "form");
    if (!query_start.is_none())
        params.query_start = integer_of(query_start, "query_start");
    Output y = output_of(out, Kind::f32, x.extents(), &x);
    check(share(row_count(from), threads,
                [&](posenc_range rows) {
                    return posenc_cope_logits(&params, &from, gates_.is_none() ? nullptr : &gate_view, &products,
                                              &y.view, rows);
                }),
          "cope_logits");
    return y.object;
}

} // namespace

void bind_relative(py::module_ &module) {
    using namespace py::literals;
    py::object rel_index = module.attr("RelIndex"); // made by bind_biases
    auto rule = [&](const char *name, auto function, auto... rest) {
        rel_index.attr(name) = py::staticmethod(py::cpp_function(function, py::name(name), rest...));
    };
    rule(
        "shaw",
        [](int64_t k, py::handle offsets, bool is_reversed) {
            return index_of_rule("RelIndex.shaw", posenc_rel_index_rule_of(POSENC_REL_SHAW, k, 0), offsets,
                                 is_reversed);
        },
        "k"_a, "offsets"_a, "reversed"_a = false, "Shaw (arXiv 1803.02155): clip(offset, -k, k) + k, 2k + 1 rows.");
    rule(
        "relative_key",
        [](int64_t n, py::handle offsets) {
            return index_of_rule("RelIndex.relative_key", posenc_rel_index_rule_of(POSENC_REL_RELATIVE_KEY, n, 0),
                                 offsets, false);
        },
        "n"_a, "offsets"_a, "BERT's relative_key: n - 1 - offset, 2n - 1 rows; greater offsets are an error.");
    rule(
        "transformer_xl",
        [](int64_t n, py::handle offsets) {
            return index_of_rule("RelIndex.transformer_xl", posenc_rel_index_rule_of(POSENC_REL_TRANSFORMER_XL, n, 0),
                                 offsets, false);
        },
        "n"_a, "offsets"_a, "Transformer-XL (arXiv 1901.02860): rows stand for distances n - 1, .., 0.");
    rule(
        "xlnet",
        [](int64_t n_q, int64_t n_k, py::handle offsets) {
            return index_of_rule("RelIndex.xlnet", posenc_rel_index_rule_of(POSENC_REL_XLNET, n_q, n_k), offsets,
                                 false);
        },
        "n_q"_a, "n_k"_a, "offsets"_a, "XLNet: rows stand for distances n_k, .., 0, .., 1 - n_q.");
    rule(
        "deberta",
        [](int64_t k, py::handle offsets, bool is_reversed) {
            return index_of_rule("RelIndex.deberta", posenc_rel_index_rule_of(POSENC_REL_DEBERTA, k, 0), offsets,
                                 is_reversed);
        },
        "k"_a, "offsets"_a, "reversed"_a = false, "DeBERTa (arXiv 2006.03654): clip(k - offset, 0, 2k - 1).");
    rule(
        "deberta_log",
        [](int64_t buckets, int64_t max_position, py::handle offsets, bool is_reversed, bool is_clipped) {
            posenc_rel_index_rule rule =
                is_clipped ? posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG, buckets, max_position)
                           : posenc_rel_index_rule_of(POSENC_REL_DEBERTA_LOG_UNCLIPPED, buckets, max_position);
            return index_of_rule("RelIndex.deberta_log", rule, offsets, is_reversed);
        },
        "buckets"_a, "max_position"_a, "offsets"_a, "reversed"_a = false, "clipped"_a = true,
        "DeBERTa v2 and v3: logarithmic buckets. clipped=False: beyond max_position as Hugging Face's code.");
    py::class_<RelativeTable>(module, "RelativeTable",
                              "Relative rows (n_rows, head_dim) or (n_rows, n_heads, head_dim), packed for products.")
        .def(py::init<py::handle>(), "rows"_a)
        .def("products", &RelativeTable::products, "q"_a, py::kw_only(), "shift"_a = py::none(), "out"_a = py::none(),
             "threads"_a = 1,
             R"((q + shift) . rows, float32 (n_batch, n_heads, n_q, n_rows), for by_query or by_key of softmax.

q: (n_batch, n_q, n_heads, head_dim); shift: (n_heads, head_dim).)");
    module.def("relative_values", &relative_values, "p"_a, "index"_a, "table"_a, "z"_a, py::kw_only(), "threads"_a = 1,
               R"(Adds p . table[index] to z (Shaw's values), and returns z.

p: float32 (n_batch, n_heads, n_q, n_k), table: (n_rows, head_dim) or (n_rows, n_heads, head_dim),
z: float32 (n_batch, n_q, n_heads, head_dim). Mask and query_start as for softmax.)");
    module.def("relative_shift", &relative_shift, "x"_a, "Transformer-XL's relative shift of a whole matrix.");
    module.def("relative_skew", &relative_skew, "x"_a, "The unmasked skew, (..., n, 2n - 1) to (..., n, n).");
    py::class_<Fire>(module, "Fire", R"(FIRE (arXiv 2310.04418): a learned function of distance over position.

w1, b1: (n_hidden,); w2: (n_heads, n_hidden); b2: (n_heads,); max_distance: the largest of a query and a key.)")
        .def(py::init<py::handle, py::handle, py::handle, py::handle, int64_t, double, double, double>(), "w1"_a,
             "b1"_a, "w2"_a, "b2"_a, py::kw_only(), "max_distance"_a, "c"_a = 0.1, "threshold"_a = 512.0,
             "eps"_a = 1e-6)
        .def("__call__", &Fire::write, "n_q"_a, "n_k"_a, py::kw_only(), "query_start"_a = py::none(), "n_batch"_a = 1,
             "threads"_a = 1, "The bias, float32 (n_batch, n_heads, n_q, n_k).")
        .def("add", &Fire::add, "y"_a, py::kw_only(), "query_start"_a = py::none(), "threads"_a = 1,
             "Adds the bias to y (n_batch, n_heads, n_q, n_k).");
    module.def("cope_logits", &cope_logits, "x"_a, "z"_a, py::kw_only(), "gates"_a = py::none(), "scale"_a = 1.0f,
               "form"_a = "listing", "query_start"_a = py::none(), "out"_a = py::none(), "threads"_a = 1,
               R"(Contextual positions (arXiv 2405.18719): logits of scores x, -inf for later keys.

x, gates: float32 (n_batch, n_heads, n_q, n_k); z: (n_batch, n_heads, n_q, n_positions).
form: 'listing' or 'scaled'.)");
}

} // namespace binding
