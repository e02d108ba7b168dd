// SPDX-License-Identifier: MIT
// Fused attention.
#include "rope.hpp"
#include "score.hpp"

#include "bindings.hpp"

#include <cmath>

namespace binding {

namespace {

posenc_view view_of_cache(const Tensor &tensor, const char *argument, const std::string &type) {
    if (type.empty())
        return view_of(tensor, argument, 3, 4);
    return cache_view_of(tensor, argument, cache_type_named(type, argument));
}

/** One call, and what its arguments refer to. */
struct Call {
    Tensor q, k, v;
    posenc_attention_args args = {};
    std::optional<Score> score;
    std::optional<TableOfPython> k_table;
    Numbers<int32_t> page_table;
    posenc_attention_pages pages = {};
    Numbers<int32_t> list_keys;
    posenc_attention_lists lists = {};
    Numbers<int32_t> query_ends, key_ends;
    posenc_attention_ragged ragged = {}; // cu_q is nullptr unless the batch is ragged
    Output out, lse;

    Call(py::handle q, py::handle k, py::handle v, py::handle out, bool with_lse, Options &options);

  private:
    void set_ragged(Options &options);
    int64_t n_batch() const {
        return ragged.cu_q != nullptr ? ragged.n_batch : args.q.ne[3];
    }
    void set_pages(Options &options);
    void set_lists(Options &options);
    void set_k_rope(Options &options, int64_t n_k);
    void expect_apart() const;
};

void Call::set_ragged(Options &options) {
    static const Key cu_q("cu_q"), cu_k("cu_k");
    query_ends = Numbers<int32_t>(options.take(cu_q), cu_q.text, {any_extent});
    key_ends = Numbers<int32_t>(options.take(cu_k), cu_k.text, {any_extent});
    if (!query_ends && !key_ends)
        return;
    if (!query_ends || query_ends.size() == 0)
        refuse(cu_q.text, "n_batch + 1 numbers are expected");
    if (key_ends && key_ends.size() != query_ends.size())
        refuse(cu_k.text, "as many numbers as in cu_q are expected");
    ragged = {query_ends.data(), key_ends ? key_ends.data() : nullptr, query_ends.size() - 1};
}

void Call::set_pages(Options &options) {
    static const Key pages_key("pages"), n_k("n_k");
    page_table = Numbers<int32_t>(options.take(pages_key), pages_key.text);
    int64_t n_keys = options.integer(n_k, -1);
    if (!page_table)
        return;
    int64_t n_batch = this->n_batch(), page_size = args.k.ne[2];
    const Shape &shape = page_table.shape();
    if (n_keys < 0)
        refuse(n_k.text, "with pages it has to be said");
    if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[0] != n_batch))
        refuse(pages_key.text, "the shape has to be (n_pages,) or (n_batch, n_pages), not " + text_of(shape));
    if (page_size <= 0 || (n_keys > 0 && (n_keys - 1) / page_size >= shape.back()))
        refuse(pages_key.text, "they are too few for " + std::to_string(n_keys) + " keys");
    pages = {page_table.data(), shape.size() == 2 ? shape[1] : 0, n_keys};
    args.pages = &pages;
}

void Call::set_lists(Options &options) {
    static const Key key("lists");
    list_keys = Numbers<int32_t>(options.take(key), key.text);
    if (!list_keys)
        return;
    const Shape &shape = list_keys.shape();
    int64_t n_q = args.q.ne[2], n_batch = args.q.ne[3], n_heads = shape.size() == 4 ? shape[1] : 1;
    if (shape.empty() || shape.size() > 4 || (shape.size() > 1 && shape[shape.size() - 2] != n_q) ||
        (shape.size() >= 3 && shape[0] != n_batch))
        refuse(key.text, "the shape has to be (n_max,), (n_q, n_max), (n_batch, n_q, n_max) or "
                         "(n_batch, n_list_heads, n_q, n_max), not " +
                             text_of(shape));
    int64_t n_max = shape.back(), of_head = n_q * n_max;
    lists = {list_keys.data(),
             n_max,
             shape.size() > 1 ? n_max : 0,
             shape.size() >= 3 && ragged.cu_q == nullptr ? n_heads * of_head : 0,
             shape.size() == 4 ? of_head : 0,
             n_heads};
    args.lists = &lists;
}

void Call::set_k_rope(Options &options, int64_t n_k) {
    static const Key k_rope("k_rope"), k_table_key("k_table");
    py::handle rope = options.take(k_rope), table = options.take(k_table_key);
    if (!rope && !table)
        return;
    if (!rope || !table)
        refuse(rope ? "k_table" : "k_rope", "k_rope and k_table belong together");
    if (!py::isinstance<py::tuple>(table) || py::len(table) != 2)
        refuse("k_table", "(cos, sin) is expected");
    auto pair = py::reinterpret_borrow<py::tuple>(table);
    args.k_rope = converted<const Rope &>(rope, "k_rope", "a Rope").get();
    k_table.emplace(pair[0], pair[1], posenc_rope_pair_count(args.k_rope), "k_table", "k_table");
    if (k_table->n_rows < n_k)
        refuse("k_table", "a row for each of " + std::to_string(n_k) + " keys is expected");
    args.k_table = &k_table->table;
}

void Call::expect_apart() const {
    score->expect_apart_from(out);
    out.expect_apart(page_table.memory(), "pages");
    out.expect_apart(list_keys.memory(), "lists");
    out.expect_apart(query_ends.memory(), "cu_q");
    out.expect_apart(key_ends.memory(), "cu_k");
    if (k_table) {
        out.expect_apart(k_table->cos.memory(), "k_table");
        out.expect_apart(k_table->sin.memory(), "k_table");
    }
}

Call::Call(py::handle q_, py::handle k_, py::handle v_, py::handle out_, bool with_lse, Options &options)
    : q(tensor_of(q_, "q")), k(tensor_of(k_, "k")), v(tensor_of(v_, "v")) {
    static const Key math("math"), k_type("k_type"), v_type("v_type"), heads_first("heads_first");
    args.q = view_of(q, "q", 3, 4);
    args.k = view_of_cache(k, "k", options.word(k_type, ""));
    args.v = view_of_cache(v, "v", options.word(v_type, ""));
    bool is_heads_first = options.flag(heads_first, false);
    if (is_heads_first) {
        for (posenc_view *view : {&args.q, &args.k, &args.v})
            exchange_heads_and_tokens(*view);
    }
    args.math = enumerator<posenc_attention_math>(options.word(math, "f32"),
                                                  {{"f32", POSENC_MATH_F32},
                                                   {"int16", POSENC_MATH_INT16},
                                                   {"bf16", POSENC_MATH_BF16},
                                                   {"bf16x2", POSENC_MATH_BF16X2},
                                                   {"bf16x3", POSENC_MATH_BF16X3}},
                                                  math.text);
    set_ragged(options);
    set_pages(options);
    set_lists(options);
    int64_t n_k = args.pages != nullptr ? pages.n_k : args.k.ne[2];
    score.emplace(options, ScoreExtents{n_k, args.q.ne[2], args.q.ne[1], n_batch()},
                  1.0 / std::sqrt((double)std::max<int64_t>(args.q.ne[0], 1)));
    args.params = score->get();
    set_k_rope(options, n_k);
    options.finish();
    Shape shape = q.extents();
    shape.back() = args.v.ne[0];
    out = output_of(out_, q.kind, shape, &q);
    args.out = out.view;
    expect_apart();
    if (with_lse) {
        shape.back() = 1;
        lse = output_of(py::none(), Kind::f32, shape, &q);
        args.lse = &lse.view;
    }
    if (is_heads_first) {
        exchange_heads_and_tokens(args.out);
        exchange_heads_and_tokens(lse.view);
    }
}

// Runs work units if there are enough for all threads, as in prefill; otherwise split-KV partitions, as in decode.
posenc_status run(const posenc_attention_args &args, int threads) {
    int64_t units = posenc_attention_unit_count(&args.q, &args.k);
    size_t bytes = posenc_attention_workspace_bytes(args.q.ne[0], args.v.ne[0]);
    int64_t parts = threads > 1 && units < threads ? posenc_attention_split_count(&args) : 0;
    if (parts <= units)
        return share(units, threads, [&](posenc_range range) {
            return posenc_attention_run(&args, scratch_of_thread(bytes), bytes, range);
        });
    std::vector<char> shared(posenc_attention_split_bytes(&args));
    posenc_status status = share(parts, threads, [&](posenc_range range) {
        return posenc_attention_split(&args, scratch_of_thread(bytes), bytes, shared.data(), shared.size(), range);
    });
    if (status != POSENC_OK)
        return status;
    return share(units, threads, [&](posenc_range range) {
        return posenc_attention_combine_splits(&args, shared.data(), shared.size(), range);
    });
}

posenc_status run_ragged(const posenc_attention_args &args, const posenc_attention_ragged &ragged, int threads) {
    size_t bytes = posenc_attention_workspace_bytes(args.q.ne[0], args.v.ne[0]);
    return share(posenc_attention_ragged_unit_count(&args, &ragged), threads, [&](posenc_range range) {
        return posenc_attention_run_ragged(&args, &ragged, scratch_of_thread(bytes), bytes, range);
    });
}

py::object attention(py::handle q, py::handle k, py::handle v, py::handle out, bool return_lse, int threads,
                     const py::kwargs &given) {
    Options options("attention", given);
    Call call(q, k, v, out, return_lse, options);
    int n_threads = threads == 0 ? (int)std::max(1u, std::thread::hardware_concurrency()) : threads;
    check(call.ragged.cu_q != nullptr ? run_ragged(call.args, call.ragged, n_threads) : run(call.args, n_threads),
          "attention");
    if (return_lse)
        return py::make_tuple(call.out.object, call.lse.object);
    return call.out.object;
}

py::tuple reference(py::handle q, py::handle k, py::handle v, const py::kwargs &given) {
    Options options("attention_reference", given);
    Call call(q, k, v, py::none(), false, options);
    if (call.ragged.cu_q != nullptr || call.args.pages != nullptr || call.args.lists != nullptr ||
        call.args.k_rope != nullptr || call.args.math != POSENC_MATH_F32)
        refuse("pages", "the reference takes no cu_q, pages, lists, k_rope or math");
    const posenc_view &queries = call.args.q;
    Output p =
        output_of(py::none(), Kind::f32, {queries.ne[3], queries.ne[1], queries.ne[2], call.args.k.ne[2]}, &call.q);
    posenc_status status;
    {
        py::gil_scoped_release released;
        status = posenc_attention_reference(call.args.params, &call.args.q, &call.args.k, &call.args.v, &call.args.out,
                                            &p.view);
    }
    check(status, "attention_reference");
    return py::make_tuple(call.out.object, p.object);
}

/** (out, lse), as attention gives them. */
struct State {
    Tensor out, lse;
    posenc_attention_state c;

    explicit State(const py::tuple &pair, const char *argument) {
        if (pair.size() != 2)
            refuse(argument, "(out, lse) is expected");
        out = tensor_of(pair[0], argument);
        lse = tensor_of(pair[1], argument);
        c = {view_of(out, argument, 3, 4), view_of(lse, argument, 3, 4)};
    }
};

py::tuple combine(const py::tuple &a, const py::tuple &b, int threads) {
    State first(a, "a"), second(b, "b");
    Output out = output_of(py::none(), first.out.kind, first.out.extents(), &first.out);
    Output lse = output_of(py::none(), Kind::f32, first.lse.extents(), &first.lse);
    posenc_attention_state joined = {out.view, lse.view};
    check(share(row_count(out.view), threads,
                [&](posenc_range rows) { return posenc_attention_combine(&first.c, &second.c, &joined, rows); }),
          "attention_combine");
    return py::make_tuple(out.object, lse.object);
}

} // namespace

void bind_attention(py::module_ &module) {
    using namespace py::literals;
    module.def("attention", &attention, "q"_a, "k"_a, "v"_a, py::kw_only(), "out"_a = py::none(),
               "return_lse"_a = false, "threads"_a = 1, R"(Fused attention, softmax(Q K^T) V without the score matrix.

q: (n_batch, n_q, n_heads, head_dim); k: (n_batch, n_k, n_kv_heads, head_dim); v: (n_batch, n_k, n_kv_heads, v_dim);
n_batch may be missing, n_kv_heads divides n_heads; float32, float16 or bfloat16.
k_type, v_type: format ('q8_0', 'q5_1' ...) where k or v are bytes of blocks. math: 'f32', 'int16', 'bf16', 'bf16x2' or
'bf16x3'.
heads_first: all of them, and the result, are (n_batch, n_heads, n_tokens, dim), as in torch.
scale: 1 / sqrt(head_dim) unless given. Mask, bias, positions, sequences, cap and sinks are those of softmax.
pages: int32 (n_batch, n_pages) or (n_pages,), with n_k; k and v are then (n_pages, page_size, n_kv_heads, dim).
lists: int32 (n_batch, n_list_heads, n_q, n_max), (n_batch, n_q, n_max), (n_q, n_max) or (n_max,): the keys that each
query sees, in any order; -1 ends it. n_list_heads: n_kv_heads, n_heads or between, whose heads share a list evenly.
cu_q: int32 (n_batch + 1,), a ragged batch: q is (n_tokens, n_heads, head_dim), and tokens cu_q[b] .. cu_q[b + 1] - 1
are sequence b's; cu_k: k and v likewise. Without cu_k they are (n_batch, n_k, ...), or pages.
k_rope, k_table: a Rope and its (cos, sin) for the keys, which are rotated on load.
Returns (n_batch, n_q, n_heads, v_dim); with return_lse also the log-sum-exp (n_batch, n_q, n_heads, 1).)");
    module.def("attention_reference", &reference, "q"_a, "k"_a, "v"_a,
               "The same, plain and slow: (out, probabilities (n_batch, n_heads, n_q, n_k)).");
    module.def("attention_combine", &combine, "a"_a, "b"_a, py::kw_only(), "threads"_a = 1,
               "Joins the (out, lse) of two disjoint sets of keys.");
}

} // namespace binding
