// SPDX-License-Identifier: MIT
#include "encoding.hpp"

#include "bindings.hpp"
#include "coordinates.hpp"
#include "core/for_python.h"

namespace binding {

py::object Encoding::apply(py::handle positions, py::handle x, py::handle gate, py::handle out, bool in_place,
                           py::handle dtype, int threads) const {
    Coordinates at(positions, posenc_encoding_axis_count(get()), "positions");
    Tensor input;
    posenc_view x_view, gate_view;
    bool has_x = !x.is_none(), has_gate = !gate.is_none();
    Shape shape = {at.n_tokens, posenc_encoding_dim(get())};
    if (at.has_batch)
        shape.insert(shape.begin(), at.n_batch);
    if (has_x) {
        input = tensor_of(x, "x");
        x_view = view_of(input, "x", 2, 3);
        if (x_view.ne[1] != at.n_tokens || (at.has_batch && x_view.ne[2] != at.n_batch))
            refuse("x", "it has other tokens than positions: " + text_of(input.extents()));
        shape = input.extents();
    }
    Tensor factors;
    if (has_gate) {
        factors = tensor_of(gate, "gate");
        gate_view = view_of(factors, "gate", 2, 3);
    }
    if (in_place && !has_x)
        refuse("inplace", "there is no x");
    Kind kind = kind_of_result(dtype, has_x ? input.kind : Kind::f32, out);
    if (has_x && kind != input.kind)
        refuse("dtype", std::string("it has to be x's, ") + name_of(input.kind));
    Output y =
        in_place ? output_in_place(x, input, x_view, out) : output_of(out, kind, shape, has_x ? &input : &at.tensor);
    y.expect_apart(at.tensor.memory(), "positions");
    posenc_status status = share(y.view.ne[1] * y.view.ne[2], threads, [&](posenc_range rows) {
        return posenc_encoding_apply(get(), &at.at, has_x ? &x_view : nullptr, has_gate ? &gate_view : nullptr, &y.view,
                                     rows);
    });
    int64_t row = -1;
    if (status == POSENC_ERR_POSITION &&
        posenc_encoding_check(get(), &at.at, y.view.ne[1], y.view.ne[2], &row) == POSENC_ERR_POSITION)
        refuse("positions", "row " + std::to_string(row) + ": a position or id is out of its range");
    check(status, "Encoding");
    return y.object;
}

namespace {

std::unique_ptr<Encoding> sinusoidal(int64_t dim, const std::string &layout, const std::string &schedule,
                                     const std::string &odd, double base, double min_timescale, double shift,
                                     double scale) {
    posenc_sinusoidal_params params = POSENC_SINUSOIDAL_DEFAULTS;
    params.dim = dim;
    params.layout = enumerator<posenc_sinusoidal_layout>(layout,
                                                         {{"interleaved", POSENC_SINUSOIDAL_INTERLEAVED},
                                                          {"concat", POSENC_SINUSOIDAL_CONCAT},
                                                          {"complex", POSENC_SINUSOIDAL_COMPLEX},
                                                          {"concat_cos", POSENC_SINUSOIDAL_CONCAT_COS}},
                                                         "layout");
    params.schedule = enumerator<posenc_schedule>(schedule,
                                                  {{"", POSENC_SCHEDULE_UNSET},
                                                   {"half", POSENC_SCHEDULE_HALF},
                                                   {"half_minus_1", POSENC_SCHEDULE_HALF_MINUS_1},
                                                   {"shift", POSENC_SCHEDULE_SHIFT}},
                                                  "schedule");
    params.odd = enumerator<posenc_odd>(odd, {{"sin", POSENC_ODD_SIN}, {"zero", POSENC_ODD_ZERO}}, "odd");
    params.base = base;
    params.min_timescale = min_timescale;
    params.shift = shift;
    params.scale = scale;
    return make_encoding("sinusoidal", [&](posenc_encoding **e) { return posenc_sinusoidal_create(&params, e); });
}

std::unique_ptr<Encoding> timestep(int64_t dim, bool flip_sin_to_cos, double downscale_freq_shift, double scale,
                                   double max_period) {
    return make_encoding("timestep", [&](posenc_encoding **e) {
        return posenc_timestep_create(dim, flip_sin_to_cos, downscale_freq_shift, scale, max_period, e);
    });
}

std::unique_ptr<Encoding> grid(int64_t dim, const std::string &form, int n_axes, double base) {
    auto value = enumerator<posenc_grid>(form,
                                         {{"w_first", POSENC_GRID_W_FIRST},
                                          {"h_first", POSENC_GRID_H_FIRST},
                                          {"timm", POSENC_GRID_TIMM},
                                          {"volume", POSENC_GRID_VOLUME},
                                          {"tensor2tensor", POSENC_GRID_TENSOR2TENSOR}},
                                         "grid");
    return make_encoding("grid", [&](posenc_encoding **e) { return posenc_grid_create(value, dim, n_axes, base, e); });
}

std::unique_ptr<Encoding> fourier(int64_t n_features, int n_coords, const std::string &order, py::handle matrix,
                                  double sigma, uint64_t seed) {
    Numbers<double> entries(matrix, "matrix", {n_features, n_coords});
    posenc_fourier_params params = POSENC_FOURIER_DEFAULTS;
    params.n_features = n_features;
    params.n_coords = n_coords;
    params.order = enumerator<posenc_fourier_order>(
        order, {{"cos_sin", POSENC_FOURIER_COS_SIN}, {"sin_cos", POSENC_FOURIER_SIN_COS}}, "order");
    params.matrix_f64 = entries.data();
    params.sigma = sigma;
    params.seed = seed;
    return make_encoding("fourier", [&](posenc_encoding **e) { return posenc_fourier_create(&params, e); });
}

std::unique_ptr<Encoding> integer(int64_t dim, int64_t length, double alpha) {
    return make_encoding("integer", [&](posenc_encoding **e) { return posenc_integer_create(dim, length, alpha, e); });
}

std::unique_ptr<Encoding> bits(int64_t dim, const std::string &code, float zero, float one) {
    auto value =
        enumerator<posenc_bit_code>(code, {{"binary", POSENC_BITS_BINARY}, {"gray", POSENC_BITS_GRAY}}, "code");
    return make_encoding("bits", [&](posenc_encoding **e) { return posenc_bits_create(dim, value, zero, one, e); });
}

std::unique_ptr<Encoding> rbf(py::handle centres, double sigma) {
    Numbers<double> given(centres, "centres", {any_extent});
    return make_encoding("rbf",
                         [&](posenc_encoding **e) { return posenc_rbf_create(given.data(), given.size(), sigma, e); });
}

// An encoding, or a dict with the fields of posenc_part.
posenc_part part_of(py::handle given, py::list &keeps) {
    static const Key encoding("encoding"), first("first"), width("width"), axis("axis"), divide("divide"),
        modulo("modulo");
    posenc_part part = {};
    py::handle object = given;
    if (py::isinstance<py::dict>(given)) {
        Options options("part", py::reinterpret_borrow<py::dict>(given));
        object = options.take(encoding);
        part.first = options.integer(first, 0);
        part.width = options.integer(width, 0);
        part.axis = options.integer32(axis, 0);
        part.divide = options.integer(divide, 0);
        part.modulo = options.integer(modulo, 0);
        options.finish();
    }
    if (object) {
        part.encoding = converted<const Encoding &>(object, "parts", "an Encoding or a dict with one").get();
        keeps.append(object);
    }
    return part;
}

std::unique_ptr<Encoding> compose(const char *name, const py::iterable &given, decltype(posenc_encoding_sum) create) {
    py::list keeps;
    std::vector<posenc_part> parts;
    for (py::handle part : given)
        parts.push_back(part_of(part, keeps));
    return make_encoding(
        name, [&](posenc_encoding **e) { return create(parts.data(), (int64_t)parts.size(), e); }, keeps);
}

py::object shift_matrix(const Encoding &encoding, int32_t k) {
    int64_t dim = posenc_encoding_dim(encoding.get());
    Output m = output_of(py::none(), Kind::f32, {dim, dim});
    check(posenc_sinusoidal_shift(encoding.get(), k, &m.view), "Encoding.shift_matrix");
    return m.object;
}

} // namespace

void bind_encodings(py::module_ &module) {
    using namespace py::literals;
    py::class_<Encoding>(module, "Encoding",
                         "An absolute encoding: positions to rows. Made by sinusoidal(), learned() ...")
        .def("__call__", &Encoding::apply, "positions"_a, "x"_a = py::none(), py::kw_only(), "gate"_a = py::none(),
             "out"_a = py::none(), "inplace"_a = false, "dtype"_a = py::none(), "threads"_a = 1,
             R"(Rows of the encoding: E, or x + E, gate * E, x + gate * E.

positions: integers, or real numbers where the encoding takes them, (n_tokens,) or (n_batch, n_tokens); with several
axes (n_axes, n_tokens) or (n_batch, n_axes, n_tokens). x: (n_tokens, dim) or (n_batch, n_tokens, dim), float32,
float16 or bfloat16. gate: float32, of x's shape or with a last axis of 1. inplace: x is written to, and returned.
dtype: type of the result without x and out, 'float32' unless given.)")
        .def("shift_matrix", &shift_matrix, "k"_a, "The matrix M with E[p + k] = M E[p], of a sinusoidal encoding.")
        .def_property_readonly("dim", [](const Encoding &e) { return posenc_encoding_dim(e.get()); })
        .def_property_readonly("n_axes", [](const Encoding &e) { return posenc_encoding_axis_count(e.get()); });
    module.def("sinusoidal", &sinusoidal, "dim"_a, "layout"_a, py::kw_only(), "schedule"_a = "", "odd"_a = "sin",
               "base"_a = 10000.0, "min_timescale"_a = 1.0, "shift"_a = 1.0, "scale"_a = 1.0,
               R"(Sinusoidal encoding (arXiv 1706.03762).

layout: 'interleaved' (the paper), 'concat' (Transformer-XL, fairseq), 'complex' or 'concat_cos' (diffusion).
schedule: 'half', 'half_minus_1' (Tensor2Tensor, fairseq, Whisper) or 'shift' (diffusers); interleaved layouts have
one only, the others no default.)");
    module.def("timestep", &timestep, "dim"_a, py::kw_only(), "flip_sin_to_cos"_a = false,
               "downscale_freq_shift"_a = 1.0, "scale"_a = 1.0, "max_period"_a = 10000.0,
               "Timestep embedding of diffusion models, with the arguments of diffusers.");
    module.def("grid", &grid, "dim"_a, "grid"_a, py::kw_only(), "n_axes"_a = 0, "base"_a = 10000.0,
               "Sinusoids of several coordinates; grid: 'w_first', 'h_first', 'timm', 'volume' or 'tensor2tensor'.");
    module.def("fourier", &fourier, "n_features"_a, "n_coords"_a = 1, py::kw_only(), "order"_a = "cos_sin",
               "matrix"_a = py::none(), "sigma"_a = 1.0, "seed"_a = 0,
               "Random Fourier features (arXiv 2006.10739); matrix: (n_features, n_coords), else drawn from seed.");
    module.def("integer", &integer, "dim"_a, "length"_a, py::kw_only(), "alpha"_a = 0.0,
               "Position over length - 1, scaled by (i / (dim - 1))^alpha.");
    module.def("bits", &bits, "dim"_a, "code"_a = "binary", py::kw_only(), "zero"_a = 0.0f, "one"_a = 1.0f,
               "Bits of the position, lowest first; code: 'binary' or 'gray'.");
    module.def("rbf", &rbf, "centres"_a, "sigma"_a, "Gaussian bumps around centres.");
    module.def(
        "concat", [](const py::iterable &parts) { return compose("concat", parts, posenc_encoding_concat); }, "parts"_a,
        "Encodings side by side: each an Encoding, or a dict with encoding, first, width, axis, divide, modulo.");
    module.def(
        "sum", [](const py::iterable &parts) { return compose("sum", parts, posenc_encoding_sum); }, "parts"_a,
        "Encodings added up: parts as for concat.");
    module.def("gray_encode", &posenc_gray_encode, "p"_a, "Gray code of a number.");
    module.def("gray_decode", &posenc_gray_decode, "gray"_a, "Number of a Gray code.");
}

} // namespace binding
