// SPDX-License-Identifier: MIT
// Biases by row and column of an image: Swin, MViTv2, SAM.
#include "bias.hpp"

#include "bindings.hpp"

namespace binding {

namespace {

constexpr int64_t longest_window = 1024; // so that products of sizes do not overflow before the call looks at them

int64_t window_size(int64_t height, int64_t width) {
    if (height < 1 || width < 1 || height > longest_window || width > longest_window)
        fail(POSENC_ERR_SHAPE, "swin", "height");
    return height * width;
}

py::object swin_index(int64_t height, int64_t width) {
    int64_t n = window_size(height, width);
    if (n > 1 << 15)
        fail(POSENC_ERR_SHAPE, "swin_index", "height");
    py::array_t<int32_t> index(Shape{n, n});
    check(posenc_swin_index(height, width, index.mutable_data()), "swin_index", "height");
    return std::move(index);
}

py::object swin_bias(py::handle table_, int64_t height, int64_t width) {
    BiasTable table(table_, "table");
    int64_t n = window_size(height, width);
    Output bias = output_of(py::none(), Kind::f32, {table.table.n_heads, n, n}, &table.tensor);
    check(posenc_swin_bias(height, width, &table.table, &bias.view), "swin_bias", "table");
    return bias.object;
}

py::object swin_backward(py::handle ds_, int64_t height, int64_t width) {
    window_size(height, width);
    Tensor ds = tensor_of(ds_, "ds");
    posenc_view view = view_of(ds, "ds", 3, 4);
    py::array_t<float> gradient(Shape{(2 * height - 1) * (2 * width - 1), view.ne[2]});
    BiasTable table(gradient, "table");
    check(posenc_swin_backward(height, width, &view, &table.table), "swin_backward", "ds");
    return std::move(gradient);
}

py::object swin_v2_coords(int64_t height, int64_t width, int64_t trained_height, int64_t trained_width) {
    window_size(height, width);
    py::array_t<float> coords(Shape{2 * height - 1, 2 * width - 1, 2});
    check(posenc_swin_v2_coords(height, width, trained_height ? trained_height : height,
                                trained_width ? trained_width : width, coords.mutable_data()),
          "swin_v2_coords", "trained_height");
    return std::move(coords);
}

py::object swin_v2_scale(py::handle x) {
    Numbers<float> numbers(x, "x");
    py::array_t<float> y(numbers.shape());
    check(posenc_swin_v2_scale(numbers.data(), numbers.size(), y.mutable_data()), "swin_v2_scale", "x");
    return std::move(y);
}

py::object decomposed_rows(py::handle table_, int64_t n_q, int64_t n_k) {
    Tensor table = tensor_of(table_, "table");
    posenc_view view = view_of(table, "table", 2, 2);
    if (n_q < 1 || n_k < 1 || n_q > 1 << 20 || n_k > 1 << 20)
        fail(POSENC_ERR_SHAPE, "decomposed_rows", "n_q");
    Output rows = output_of(py::none(), Kind::f32, {n_q, n_k, view.ne[0]}, &table);
    check(posenc_decomposed_rows(&view, &rows.view), "decomposed_rows", "table");
    return rows.object;
}

py::object decomposed_add(py::handle scores_, py::handle by_row_, py::handle by_column_, int threads) {
    Tensor scores = tensor_of(scores_, "scores"), by_row = tensor_of(by_row_, "by_row"),
           by_column = tensor_of(by_column_, "by_column");
    expect_writable(scores, "scores");
    posenc_view s = view_of(scores, "scores", 2, 4), r = view_of(by_row, "by_row", 2, 4),
                c = view_of(by_column, "by_column", 2, 4);
    check(share(row_count(s), threads, [&](posenc_range rows) { return posenc_decomposed_add(&r, &c, &s, rows); }),
          "decomposed_add");
    return py::reinterpret_borrow<py::object>(scores_);
}

} // namespace

void bind_images(py::module_ &module) {
    using namespace py::literals;
    module.def("swin_index", &swin_index, "height"_a, "width"_a,
               "Row of Swin's table for every query and key, int32 (n, n).");
    module.def("swin_bias", &swin_bias, "table"_a, "height"_a, "width"_a,
               "Swin (arXiv 2103.14030): (n_heads, n, n) from a table ((2 height - 1)(2 width - 1), n_heads).");
    module.def("swin_backward", &swin_backward, "ds"_a, "height"_a, "width"_a,
               "Gradient of Swin's table; ds (n_batch, n_heads, n, n).");
    module.def("swin_v2_coords", &swin_v2_coords, "height"_a, "width"_a, py::kw_only(), "trained_height"_a = 0,
               "trained_width"_a = 0, "Swin v2's log-spaced coordinates, (2 height - 1, 2 width - 1, 2).");
    module.def("swin_v2_scale", &swin_v2_scale, "x"_a, "16 / (1 + exp(-x)).");
    module.def("decomposed_rows", &decomposed_rows, "table"_a, "n_q"_a, "n_k"_a,
               "Rows of one axis (MViTv2, SAM): (n_q, n_k, dim) from a table (n_table, dim).");
    module.def("decomposed_add", &decomposed_add, "scores"_a, "by_row"_a, "by_column"_a, py::kw_only(), "threads"_a = 1,
               R"(Adds biases by row and by column to scores, in place.

scores: (n_batch, n_heads, n_q, height * width); by_row: (..., n_q, height); by_column: (..., n_q, width); float32.)");
}

} // namespace binding
