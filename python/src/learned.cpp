// SPDX-License-Identifier: MIT
// Learned tables: look-up, gradient, resizing, initial values; conditional encoding by a convolution.
#include "encoding.hpp"

#include "bindings.hpp"
#include "coordinates.hpp"
#include "core/for_python.h"

namespace binding {

namespace {

posenc_lookup lookup_of(int64_t offset, float scale, const std::string &out_of_range) {
    posenc_lookup lookup = POSENC_LOOKUP_DEFAULTS;
    lookup.offset = offset;
    lookup.scale = scale;
    lookup.policy = enumerator<posenc_out_of_range>(out_of_range,
                                                    {{"error", POSENC_OUT_OF_RANGE_ERROR},
                                                     {"clamp", POSENC_OUT_OF_RANGE_CLAMP},
                                                     {"zero", POSENC_OUT_OF_RANGE_ZERO}},
                                                    "out_of_range");
    return lookup;
}

std::unique_ptr<Encoding> learned(py::handle table, int64_t offset, float scale, const std::string &out_of_range) {
    posenc_lookup lookup = lookup_of(offset, scale, out_of_range);
    Tensor rows = tensor_of(table, "table");
    posenc_view view = view_of(rows, "table", 2, 2);
    return make_encoding(
        "learned", [&](posenc_encoding **e) { return posenc_learned_create(&view, &lookup, e); },
        py::make_tuple(rows.owner, py::reinterpret_borrow<py::object>(table)));
}

py::object learned_backward(py::handle ids, py::handle dy, py::handle out, int64_t n_rows, int64_t offset, float scale,
                            const std::string &out_of_range, int threads) {
    posenc_lookup lookup = lookup_of(offset, scale, out_of_range);
    Coordinates at(ids, 1, "ids");
    Tensor gradient = tensor_of(dy, "dy");
    posenc_view view = view_of(gradient, "dy", 2, 3);
    if (view.ne[1] != at.n_tokens || (at.has_batch && view.ne[2] != at.n_batch))
        refuse("dy", "it has other tokens than ids: " + text_of(gradient.extents()));
    if (out.is_none() && n_rows <= 0)
        refuse("n_rows", "the rows of the table have to be said, or out to be given");
    Shape shape = out.is_none() ? Shape{n_rows, view.ne[0]} : tensor_of(out, "out").extents();
    expect_extents(shape, {any_extent, view.ne[0]}, "out");
    Output table = output_of(out, Kind::f32, shape, &gradient);
    table.expect_apart(at.tensor.memory(), "ids");
    if (out.is_none())
        table.object.attr(gradient.is_torch ? "fill_" : "fill")(0);
    check(share(table.view.ne[1], threads,
                [&](posenc_range rows) { return posenc_learned_backward(&lookup, &at.at, &view, &table.view, rows); }),
          "learned_backward", "ids");
    return table.object;
}

posenc_resize_params resize_params(Options &options) {
    static const Key method("method"), align_corners("align_corners"), h_in("h_in"), w_in("w_in"), h_out("h_out"),
        w_out("w_out"), n_prefix("n_prefix"), h_ratio("h_ratio"), w_ratio("w_ratio"), cubic_a("cubic_a"),
        antialias("antialias");
    posenc_resize_params params = POSENC_RESIZE_DEFAULTS;
    params.method = enumerator<posenc_resize_method>(
        options.word(method, "linear"), {{"linear", POSENC_RESIZE_LINEAR}, {"cubic", POSENC_RESIZE_CUBIC}}, "method");
    params.align_corners = options.flag(align_corners, false);
    params.h_in = options.integer(h_in, params.h_in);
    params.w_in = options.integer(w_in, params.w_in);
    params.h_out = options.integer(h_out, params.h_out);
    params.w_out = options.integer(w_out, params.w_out);
    params.n_prefix = options.integer(n_prefix, params.n_prefix);
    params.h_ratio = options.number(h_ratio, params.h_ratio);
    params.w_ratio = options.number(w_ratio, params.w_ratio);
    params.cubic_a = options.number(cubic_a, params.cubic_a);
    params.antialias = options.flag(antialias, false);
    options.finish();
    return params;
}

py::object resize(py::handle x, py::handle out, int threads, const py::kwargs &given) {
    Options options("table_resize", given);
    posenc_resize_params params = resize_params(options);
    Tensor table = tensor_of(x, "x");
    posenc_view from = view_of(table, "x", 2, 2);
    Output y = output_of(out, table.kind, {params.n_prefix + params.h_out * params.w_out, from.ne[0]}, &table);
    check(share(y.view.ne[1], threads,
                [&](posenc_range rows) { return posenc_table_resize(&params, &from, &y.view, rows); }),
          "table_resize");
    return y.object;
}

py::object resize_backward(py::handle dy, const py::kwargs &given) {
    Options options("table_resize_backward", given);
    posenc_resize_params params = resize_params(options);
    Tensor gradient = tensor_of(dy, "dy");
    posenc_view from = view_of(gradient, "dy", 2, 2);
    Output dx = output_of(py::none(), Kind::f32, {params.n_prefix + params.h_in * params.w_in, from.ne[0]}, &gradient);
    dx.object.attr(gradient.is_torch ? "fill_" : "fill")(0);
    check(posenc_table_resize_backward(&params, &from, &dx.view), "table_resize_backward");
    return dx.object;
}

py::object fill(py::handle y, decltype(posenc_fill_normal) how, uint64_t seed, double a, double b, int threads) {
    Tensor tensor = tensor_of(y, "y");
    expect_writable(tensor, "y");
    posenc_view view = view_of(tensor, "y", 1, 4);
    check(share(row_count(view), threads, [&](posenc_range rows) { return how(seed, a, b, &view, rows); }), "fill");
    return py::reinterpret_borrow<py::object>(y);
}

/** A depth-wise convolution over tokens. */
class Conv {
  public:
    Conv(py::handle weights, py::handle bias, bool is_causal, bool has_residual) {
        Numbers<float> w(weights, "weights");
        if (w.shape().size() != 2 && w.shape().size() != 3)
            refuse("weights", "the shape has to be (n_channels, kernel) or (n_channels, kernel, kernel)");
        if (w.shape().size() == 3 && w.shape()[1] != w.shape()[2])
            refuse("weights", "the kernel has to be a square, not " + text_of(w.shape()));
        shape_ = w.shape();
        Numbers<float> b(bias, "bias", {shape_[0]});
        posenc_conv_params params = {shape_[0], (int)shape_.size() - 1, shape_[1], is_causal, has_residual};
        posenc_conv *conv = nullptr;
        check(posenc_conv_create(&params, w.data(), b.data(), &conv), "Conv", "weights");
        conv_.reset(conv);
        has_bias_ = (bool)b;
    }

    py::object apply(py::handle x, int64_t height, int64_t width, int64_t n_prefix, py::handle out, int threads) const {
        return run("Conv", posenc_conv_apply, x, {n_prefix, height, width}, out, threads);
    }
    py::object backward_input(py::handle dy, int64_t height, int64_t width, int64_t n_prefix, int threads) const {
        return run("Conv.backward_input", posenc_conv_backward_input, dy, {n_prefix, height, width}, py::none(),
                   threads, "dy");
    }
    py::tuple backward_weights(py::handle x, py::handle dy, int64_t height, int64_t width, int64_t n_prefix,
                               int threads) const {
        Tensor tokens = tensor_of(x, "x"), gradient = tensor_of(dy, "dy");
        posenc_view from = view_of(tokens, "x", 2, 3), of = view_of(gradient, "dy", 2, 3);
        py::array_t<float> dw(shape_), db(shape_[0]);
        std::fill_n(dw.mutable_data(), dw.size(), 0.0f);
        std::fill_n(db.mutable_data(), db.size(), 0.0f);
        int64_t n_taps = shape_.size() == 3 ? shape_[1] * shape_[2] : shape_[1];
        float *w = dw.mutable_data(), *b = has_bias_ ? db.mutable_data() : nullptr;
        check(
            share(
                n_taps, threads,
                [&](posenc_range taps) {
                    return posenc_conv_backward_weights(conv_.get(), {n_prefix, height, width}, &from, &of, w, b, taps);
                }),
            "Conv.backward_weights");
        return py::make_tuple(dw, has_bias_ ? py::object(db) : py::none());
    }

  private:
    struct Free {
        void operator()(posenc_conv *conv) const {
            posenc_conv_free(conv);
        }
    };
    std::unique_ptr<posenc_conv, Free> conv_;
    Shape shape_;
    bool has_bias_ = false;

    py::object run(const char *name, decltype(posenc_conv_apply) how, py::handle x, posenc_conv_grid grid,
                   py::handle out, int threads, const char *argument = "x") const {
        Tensor tensor = tensor_of(x, argument);
        posenc_view from = view_of(tensor, argument, 2, 3);
        Output y = output_of(out, tensor.kind, tensor.extents(), &tensor);
        check(share(from.ne[1] * from.ne[2], threads,
                    [&](posenc_range rows) { return how(conv_.get(), grid, &from, &y.view, rows); }),
              name, "height");
        return y.object;
    }
};

/** A grouped convolution over tokens. */
class GroupedConv {
  public:
    GroupedConv(py::handle weights, py::handle bias, bool has_backward) {
        Numbers<float> w(weights, "weights");
        shape_ = w.shape();
        if (shape_.size() != 3 || shape_[1] < 1 || shape_[2] % shape_[1] != 0)
            refuse("weights", "the shape has to be (kernel, channels of a group, n_channels)");
        Numbers<float> b(bias, "bias", {shape_[2]});
        posenc_grouped_conv_params params = {shape_[2], std::max<int64_t>(shape_[2] / shape_[1], 1), shape_[0],
                                             has_backward};
        posenc_grouped_conv *conv = nullptr;
        check(posenc_grouped_conv_create(&params, w.data(), b.data(), &conv), "GroupedConv", "weights");
        conv_.reset(conv);
        has_bias_ = (bool)b;
    }

    py::object apply(py::handle x, py::handle out, int threads) const {
        return run("GroupedConv", posenc_grouped_conv_apply, x, out, threads);
    }
    py::object backward_input(py::handle dy, int threads) const {
        return run("GroupedConv.backward_input", posenc_grouped_conv_backward_input, dy, py::none(), threads, "dy");
    }
    py::tuple backward_weights(py::handle x, py::handle dy, int threads) const {
        Tensor tokens = tensor_of(x, "x"), gradient = tensor_of(dy, "dy");
        posenc_view from = view_of(tokens, "x", 2, 3), of = view_of(gradient, "dy", 2, 3);
        py::array_t<float> dw(shape_), db(shape_[2]);
        std::fill_n(dw.mutable_data(), dw.size(), 0.0f);
        std::fill_n(db.mutable_data(), db.size(), 0.0f);
        float *w = dw.mutable_data(), *b = has_bias_ ? db.mutable_data() : nullptr;
        check(share(shape_[0], threads,
                    [&](posenc_range taps) {
                        return posenc_grouped_conv_backward_weights(conv_.get(), &from, &of, w, b, taps);
                    }),
              "GroupedConv.backward_weights");
        return py::make_tuple(dw, has_bias_ ? py::object(db) : py::none());
    }

  private:
    struct Free {
        void operator()(posenc_grouped_conv *conv) const {
            posenc_grouped_conv_free(conv);
        }
    };
    std::unique_ptr<posenc_grouped_conv, Free> conv_;
    Shape shape_;
    bool has_bias_ = false;

    py::object run(const char *name, decltype(posenc_grouped_conv_apply) how, py::handle x, py::handle out, int threads,
                   const char *argument = "x") const {
        Tensor tensor = tensor_of(x, argument);
        posenc_view from = view_of(tensor, argument, 2, 3);
        Output y = output_of(out, tensor.kind, tensor.extents(), &tensor);
        check(share(from.ne[1] * from.ne[2], threads,
                    [&](posenc_range rows) { return how(conv_.get(), &from, &y.view, rows); }),
              name, argument);
        return y.object;
    }
};

} // namespace

void bind_learned(py::module_ &module) {
    using namespace py::literals;
    module.def("learned", &learned, "table"_a, py::kw_only(), "offset"_a = 0, "scale"_a = 1.0f,
               "out_of_range"_a = "error",
               R"(Rows of a learned table, which is not copied: its values may change between calls.

table: (n_rows, dim), float32, float16 or bfloat16. Row id + offset (BART, OPT: 2), times scale.
out_of_range: 'error', 'clamp' or 'zero'.)");
    module.def("learned_backward", &learned_backward, "ids"_a, "dy"_a, py::kw_only(), "out"_a = py::none(),
               "n_rows"_a = 0, "offset"_a = 0, "scale"_a = 1.0f, "out_of_range"_a = "error", "threads"_a = 1,
               "Gradient of a learned table: scale * dy added to row id + offset of out, or of zeros (n_rows, dim).");
    module.def("table_resize", &resize, "x"_a, py::kw_only(), "out"_a = py::none(), "threads"_a = 1,
               R"(Resizes the table of a grid, as PyTorch's interpolate does.

x: (n_prefix + h_in * w_in, dim). Keyword arguments: method ('linear', 'cubic'), align_corners, h_in, w_in, h_out,
w_out, n_prefix, h_ratio, w_ratio, cubic_a, antialias.)");
    module.def("table_resize_backward", &resize_backward, "dy"_a, "Gradient of table_resize, with its arguments.");
    module.def(
        "fill_normal",
        [](py::handle y, uint64_t seed, double mean, double deviation, int threads) {
            return fill(y, posenc_fill_normal, seed, mean, deviation, threads);
        },
        "y"_a, "seed"_a, py::kw_only(), "mean"_a = 0.0, "deviation"_a = 1.0, "threads"_a = 1,
        "Fills y with normal numbers, the same on every machine.");
    module.def(
        "fill_uniform",
        [](py::handle y, uint64_t seed, double low, double high, int threads) {
            return fill(y, posenc_fill_uniform, seed, low, high, threads);
        },
        "y"_a, "seed"_a, py::kw_only(), "low"_a = 0.0, "high"_a = 1.0, "threads"_a = 1,
        "Fills y with numbers even over [low, high), the same on every machine.");
    module.def("xavier_uniform", &posenc_xavier_uniform, "fan_in"_a, "fan_out"_a);
    module.def("xavier_normal", &posenc_xavier_normal, "fan_in"_a, "fan_out"_a);
    py::class_<Conv>(module, "Conv", R"(Conditional positional encoding: a depth-wise convolution over the tokens.

weights: (n_channels, kernel), or (n_channels, kernel, kernel) over a grid; bias: (n_channels,).)")
        .def(py::init<py::handle, py::handle, bool, bool>(), "weights"_a, "bias"_a = py::none(), py::kw_only(),
             "is_causal"_a = false, "has_residual"_a = true)
        .def("__call__", &Conv::apply, "x"_a, py::kw_only(), "height"_a = 1, "width"_a, "n_prefix"_a = 0,
             "out"_a = py::none(), "threads"_a = 1, "x: (n_prefix + height * width, n_channels), or with n_batch.")
        .def("backward_input", &Conv::backward_input, "dy"_a, py::kw_only(), "height"_a = 1, "width"_a,
             "n_prefix"_a = 0, "threads"_a = 1, "Gradient of x.")
        .def("backward_weights", &Conv::backward_weights, "x"_a, "dy"_a, py::kw_only(), "height"_a = 1, "width"_a,
             "n_prefix"_a = 0, "threads"_a = 1, "Gradients of weights and bias.");
    py::class_<GroupedConv>(module, "GroupedConv",
                            R"(Convolutional positional embedding of Wav2Vec2, HuBERT, WavLM, data2vec.

weights: (kernel, channels of a group, n_channels), PyTorch's with its first and last dimension exchanged; bias:
(n_channels,). has_backward: keep the weights in the other order too, for backward_input.)")
        .def(py::init<py::handle, py::handle, bool>(), "weights"_a, "bias"_a = py::none(), py::kw_only(),
             "has_backward"_a = false)
        .def("__call__", &GroupedConv::apply, "x"_a, py::kw_only(), "out"_a = py::none(), "threads"_a = 1,
             "x: (n_tokens, n_channels), or with n_batch.")
        .def("backward_input", &GroupedConv::backward_input, "dy"_a, py::kw_only(), "threads"_a = 1, "Gradient of x.")
        .def("backward_weights", &GroupedConv::backward_weights, "x"_a, "dy"_a, py::kw_only(), "threads"_a = 1,
             "Gradients of weights and bias.");
}

} // namespace binding
