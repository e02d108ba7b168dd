// SPDX-License-Identifier: MIT
#include "rope.hpp"

#include "bindings.hpp"

#include <limits>

namespace binding {

int32_t position_of(int64_t position) {
    if (position < std::numeric_limits<int32_t>::min() || position > std::numeric_limits<int32_t>::max())
        refuse("positions", "a position is beyond int32");
    return (int32_t)position;
}

Positions::Positions(py::handle given, int n_axes, int64_t n_tokens, int64_t n_batch, int64_t n_heads) {
    if (PyLong_Check(given.ptr())) {
        int64_t start = position_of(integer_of(given, "positions"));
        position_of(start + std::max<int64_t>(n_tokens - 1, 0));
        counted_.resize((size_t)(n_axes * n_tokens));
        for (int64_t i = 0; i < n_axes * n_tokens; i++)
            counted_[(size_t)i] = (int32_t)(start + i % n_tokens);
        at_ = posenc_coords_of(counted_.data(), POSENC_COORD_I32);
        return;
    }
    given_.emplace(given, n_axes, "positions", AxesCome::before_batch);
    if (given_->n_tokens != n_tokens || (given_->has_batch && given_->n_batch != n_batch)) {
        Shape of_one = {n_tokens}, of_each = {n_batch, n_tokens};
        if (n_axes > 1) {
            of_one.insert(of_one.begin(), n_axes);
            of_each.insert(of_each.begin(), n_axes);
        }
        refuse("positions",
               "the shape has to be " + text_of(of_one) + " or " + text_of(of_each) + ", not " +
                   text_of(given_->tensor.extents()) +
                   (given_->n_tokens == n_heads ? ": x is taken for (n_batch, n_tokens, n_heads, head_dim); "
                                                  "heads_first=True is torch's order"
                                                : ""));
    }
    at_ = given_->at;
}

posenc_direction direction_of(const std::string &text) {
    return enumerator<posenc_direction>(text,
                                        {{"forward", POSENC_FORWARD},
                                         {"inverse", POSENC_INVERSE},
                                         {"backward", POSENC_BACKWARD},
                                         {"shift", POSENC_SHIFT}},
                                        "direction");
}

TableOfPython::TableOfPython(py::handle cos_, py::handle sin_, int64_t n_pairs, const char *cos_argument,
                             const char *sin_argument)
    : cos(tensor_of(cos_, cos_argument)), sin(tensor_of(sin_, sin_argument)) {
    if (cos.kind != Kind::f32 || sin.kind != Kind::f32)
        refuse(cos.kind != Kind::f32 ? cos_argument : sin_argument, "float32 is expected");
    if (cos.ndim != 2 || (cos.shape[1] != n_pairs && cos.shape[1] != 2 * n_pairs))
        refuse(cos_argument, "the shape has to be (n_tokens, " + std::to_string(n_pairs) +
                                 "), or twice as many values, not " + text_of(cos.extents()));
    expect_shape(sin, sin_argument, cos.extents());
    if (cos.strides != sin.strides)
        refuse(sin_argument, "its strides have to be those of cos");
    n_rows = cos.shape[0];
    int64_t width = cos.shape[1], step = width > 1 ? cos.strides[1] / 4 : 1;
    table = {(float *)cos.data, (float *)sin.data, n_rows > 1 ? cos.strides[0] / 4 : width * step, step,
             width != n_pairs};
}

Rope::Rope(RopeParams params) : params_(std::move(params)) {
    posenc_rope *rope = nullptr;
    check(posenc_rope_create(params_.get(), &rope), "Rope");
    rope_.reset(rope);
}

namespace {

// Heads of a type of caches, in `out` or a new array of bytes.
Output cache_of(const Tensor &x, int64_t head_dim, py::handle out, posenc_dtype type) {
    Shape shape = x.extents();
    shape.back() = head_dim; // x may be of a type of caches
    auto [channels, bytes_of_step] = cache_step_of(type);
    if (shape.back() % channels != 0)
        refuse("dtype", "blocks need a head_dim that is a multiple of 32");
    shape.back() = shape.back() / channels * bytes_of_step;
    py::object bytes = out.is_none() ? allocate(Kind::u8, shape, &x) : py::reinterpret_borrow<py::object>(out);
    Tensor tensor = tensor_of(bytes, "out");
    expect_shape(tensor, "out", shape);
    expect_writable(tensor, "out");
    posenc_view view = cache_view_of(tensor, "out", type);
    return {std::move(bytes), std::move(tensor), view};
}

// Output of a rotation: x itself, `out`, or a new array of x's type or another.
Output result_of(const Tensor &x, const posenc_view &view, py::handle x_object, py::handle out, bool in_place,
                 py::handle dtype, const std::string &stored) {
    if (in_place && !dtype.is_none())
        refuse("dtype", "not together with inplace");
    if (in_place)
        return output_in_place(x_object, x, view, out);
    std::string name = dtype.is_none() ? stored : converted<std::string>(dtype, "dtype", "a string");
    if (is_cache_type(name))
        return cache_of(x, view.ne[0], out, cache_type_named(name, "dtype"));
    Shape shape = x.extents();
    shape.back() = view.ne[0]; // x may be of a type of caches
    return output_of(out, dtype.is_none() ? x.kind : kind_of_result(dtype, x.kind, out), shape, &x);
}

} // namespace

py::object Rope::apply(py::handle x, py::handle positions, py::handle out, bool in_place, const std::string &direction,
                       py::handle dtype, py::handle x_type, bool heads_first, int threads) const {
    Tensor tensor = tensor_of(x, "x");
    std::string stored = x_type.is_none() ? "" : converted<std::string>(x_type, "x_type", "a string");
    posenc_view given = stored.empty() ? view_of(tensor, "x", 3, 4)
                                       : cache_view_of(tensor, "x", cache_type_named(stored, "x_type")),
                view = given;
    if (heads_first)
        exchange_heads_and_tokens(view);
    posenc_direction way = direction_of(direction);
    Positions at(positions, posenc_rope_axis_count(get()), view.ne[2], view.ne[3], heads_first ? -1 : view.ne[1]);
    Output y = result_of(tensor, given, x, out, in_place, dtype, stored);
    y.expect_apart(at.memory(), "positions");
    if (heads_first)
        exchange_heads_and_tokens(y.view);
    check(share(row_count(view), threads,
                [&](posenc_range rows) { return posenc_rope_apply_at(get(), &view, at.get(), &y.view, way, rows); }),
          "Rope");
    return y.object;
}

py::object Rope::apply_table(py::handle x, py::handle cos, py::handle sin, py::handle out, bool in_place,
                             const std::string &direction, int threads) const {
    Tensor tensor = tensor_of(x, "x");
    posenc_view view = view_of(tensor, "x", 3, 4);
    TableOfPython table(cos, sin, posenc_rope_pair_count(get()), "cos", "sin");
    if (table.n_rows != view.ne[2])
        refuse("cos", "a row for each of " + std::to_string(view.ne[2]) + " tokens is expected, not " +
                          std::to_string(table.n_rows));
    Output y = result_of(tensor, view, x, out, in_place, py::none(), "");
    y.expect_apart(table.cos.memory(), "cos");
    y.expect_apart(table.sin.memory(), "sin");
    posenc_direction way = direction_of(direction);
    check(share(row_count(view), threads,
                [&](posenc_range rows) {
                    return posenc_rope_apply_table(get(), &view, &table.table, &y.view, way, rows);
                }),
          "Rope.apply_table");
    return y.object;
}

py::tuple Rope::table(py::handle positions, const std::string &direction) const {
    Coordinates given(positions, posenc_rope_axis_count(get()), "positions", AxesCome::before_batch);
    if (given.n_batch != 1)
        refuse("positions", "those of one sequence are expected, not the shape " + text_of(given.tensor.extents()));
    Shape shape = {given.n_tokens, posenc_rope_pair_count(get())};
    Output cos = output_of(py::none(), Kind::f32, shape), sin = output_of(py::none(), Kind::f32, shape);
    posenc_rope_table table = {(float *)cos.view.data, (float *)sin.view.data, shape[1], 1, 0};
    check(posenc_rope_table_fill_at(get(), &given.at, given.n_tokens, direction_of(direction), &table), "Rope.table");
    return py::make_tuple(cos.object, sin.object);
}

py::array_t<double> Rope::theta() const {
    py::array_t<double> theta(posenc_rope_pair_count(get()));
    for (int64_t i = 0; i < (int64_t)theta.size(); i++)
        theta.mutable_at(i) = posenc_rope_theta(get(), i);
    return theta;
}

py::array_t<int64_t> Rope::axis() const {
    py::array_t<int64_t> axis(posenc_rope_pair_count(get()));
    for (int64_t i = 0; i < (int64_t)axis.size(); i++)
        axis.mutable_at(i) = posenc_rope_axis(get(), i);
    return axis;
}

std::unique_ptr<Rope> Rope::local() const {
    return std::make_unique<Rope>(params_.local());
}

double Rope::query_temperature(int32_t position) const {
    return posenc_rope_query_temperature(&params_.get()->scaling, position);
}

namespace {

std::unique_ptr<Rope> create(int64_t head_dim, const py::kwargs &given) {
    Options options("Rope", given);
    RopeParams params(head_dim, options);
    options.finish();
    return std::make_unique<Rope>(std::move(params));
}

} // namespace

void bind_rope(py::module_ &module) {
    using namespace py::literals;
    py::class_<Rope> rope(module, "Rope", R"(Rotary position embedding, compiled once (posenc/rope.h).

Rope(head_dim, *, layout='half', base=10000.0, n_rot=0, n_offs=0, rot_fraction=1.0, scaling=None, axes='single',
     n_axes=0, sections=(), theta=None, bases=(), local_base=0.0, xpos_role='off', xpos_gamma=0.4,
     xpos_scale_base=512.0, xpos_centre=0)

layout: 'half' (Hugging Face, GPT-NeoX), 'interleaved' (GPT-J, Llama as published), 'deinterleave' or 'half_by_axis'
(Gemma 4's vision tower).
scaling: a dict with the fields of posenc_rope_scaling ('type', 'factor', 'original_context' ...), or as models
publish them ('rope_type', 'original_max_position_embeddings', 'short_factor' ...). 'alpha' is alpha of 'ntk_length',
and ntk_alpha of 'ntk' and 'dynamic', as models have it.
axes: 'mrope', 'imrope', 'imrope_ggml', 'vision', 'axial', 'ernie', with the pairs of each axis in sections; 'pixtral',
'alternate' with n_axes; or a list (n_rot / 2,) with the axis of each pair, for which n_axes is 1 + the largest if it
is not given.
theta: (n_rot / 2,) radians per position, in place of the powers of base. bases: a base for each axis, 0 for base.
local_base: base of the layers with local attention, for local().

rope(q, positions) rotates q.)");
    rope.def(py::init(&create), "head_dim"_a)
        .def("__call__", &Rope::apply, "x"_a, "positions"_a, py::kw_only(), "out"_a = py::none(), "inplace"_a = false,
             "direction"_a = "forward", "dtype"_a = py::none(), "x_type"_a = py::none(), "heads_first"_a = false,
             "threads"_a = 1,
             R"(Rotates heads by their positions.

x: (n_tokens, n_heads, head_dim) or (n_batch, n_tokens, n_heads, head_dim); float32, float16 or bfloat16, any strides
but that of the last axis. positions: int32, int64, float32 or float64, (n_tokens,) or (n_batch, n_tokens), with
several axes (n_axes, n_tokens) or (n_axes, n_batch, n_tokens), not copied where tokens lie side by side; an int p
stands for p, p + 1, ... Integers have to be in the range of int32, real numbers within 2^31.
direction: 'forward', 'inverse', 'backward' (gradient) or 'shift' (moves rotated keys).
dtype: type of the result, also a format of bytes: 'q8_0', 'q4_0', 'q5_0', 'q4_1', 'q5_1', 'iq4_nl'.
inplace: x is written to, and returned.
x_type: the format where x is bytes of blocks; then that is dtype's default too.
heads_first: x and the result are (n_heads, n_tokens, head_dim) or (n_batch, n_heads, n_tokens, head_dim), as in
torch.)")
        .def("apply_table", &Rope::apply_table, "x"_a, "cos"_a, "sin"_a, py::kw_only(), "out"_a = py::none(),
             "inplace"_a = false, "direction"_a = "forward", "threads"_a = 1,
             R"(Rotates x by rows of cosines and sines, (n_tokens, n_pairs) each, that table() or the caller made.

Rows twice as wide have a value for each rotated channel (directions 'forward' and 'backward').)")
        .def("table", &Rope::table, "positions"_a, py::kw_only(), "direction"_a = "forward",
             R"(Cosines and sines of these positions: two float32 arrays (n_tokens, n_pairs).

positions: as for a rotation, of one sequence: (n_tokens,), with several axes (n_axes, n_tokens).)")
        .def("local", &Rope::local,
             R"(The Rope of layers with local attention: local_base and no scaling (Gemma 3, ModernBERT).

Where local_base is 0 it is the same as this one.)")
        .def("query_temperature", &Rope::query_temperature, "position"_a,
             R"(What Ministral 3 multiplies the query at this position by, of scaling's temperature_beta.

temperature_beta * ln(1 + floor(position / original_context)) + 1; 1 where temperature_beta is 0, NaN where
original_context is not given. (Llama 4's is posenc.query_temperature.))")
        .def_property_readonly("head_dim", &Rope::head_dim)
        .def_property_readonly("theta", &Rope::theta, "Frequency of each pair in radians per position.")
        .def_property_readonly("axis", &Rope::axis, "Axis of each pair.")
        .def_property_readonly("n_axes", [](const Rope &rope) { return posenc_rope_axis_count(rope.get()); })
        .def_property_readonly(
            "magnitude", [](const Rope &rope) { return posenc_rope_magnitude(rope.get()); },
            "The factor on cosine and sine that the scaling asks for.");
    bind_rope_fused(rope);
}

} // namespace binding
