// SPDX-License-Identifier: MIT
#include "score.hpp"

namespace binding {

namespace {

constexpr int64_t no_limit = -1;

bool is_pair_of_sides(py::handle window) {
    return py::isinstance<py::tuple>(window) || py::isinstance<py::list>(window);
}

// window: keys before the query, its own among them; or (before, after) as FlashAttention has them.
void set_window(posenc_mask &mask, py::handle window, bool is_causal) {
    if (is_pair_of_sides(window)) {
        auto sides = py::reinterpret_borrow<py::sequence>(window);
        if (sides.size() != 2)
            refuse("window", "(before, after) is expected");
        mask.before = integer_of(sides[0], "window");
        int64_t after = integer_of(sides[1], "window");
        mask.after = is_causal ? 0 : after; // both hold
        if (mask.before < no_limit || after < no_limit)
            refuse("window", "(before, after) are at least -1, which is all");
        return;
    }
    if (!is_causal)
        refuse("window", "an int is for causal=True; (before, after) says both sides");
    mask.before = posenc_mask_window(integer_of(window, "window")).before;
}

[[noreturn]] void refuse_bool_mask(const char *argument, bool is_of_keys, const ScoreExtents &extents,
                                   const Tensor &mask) {
    Shape of_keys = {extents.n_batch, extents.n_k},
          of_scores = {extents.n_batch, extents.n_heads, extents.n_q, extents.n_k};
    std::string wanted = is_of_keys ? "(n_batch, n_k), here " + text_of(of_keys)
                                    : "(n_batch, n_heads, n_q, n_k), here " + text_of(of_scores) + ", or less in front";
    const char *other = is_of_keys ? "" : "; key_mask is for (n_batch, n_k)";
    refuse(argument, "the shape has to be " + wanted + ", not " + text_of(mask.extents()) + other);
}

} // namespace

posenc_mask mask_of(Options &options) {
    static const Key causal("causal"), window("window"), chunk("chunk"), n_first("n_first");
    py::handle is_causal = options.take(causal), width = options.take(window);
    int64_t chunk_size = options.integer(chunk, 0), first = options.integer(n_first, 0);
    posenc_mask mask = POSENC_MASK_UNSET;
    bool has_sides = width && is_pair_of_sides(width);
    if (!is_causal && !has_sides)
        return mask; // refused by the call: there is no default
    bool is_true = is_causal && flag_of(is_causal, causal.text);
    mask = {no_limit, is_true ? 0 : no_limit, chunk_size, first};
    if (width)
        set_window(mask, width, is_true);
    return mask;
}

int64_t query_start_of(Options &options) {
    static const Key query_start("query_start");
    return options.integer(query_start, POSENC_ALIGN_LAST_KEY);
}

Score::Score(Options &options, const ScoreExtents &extents, double scale) {
    static const Key scale_key("scale"), cap("cap"), sinks("sinks");
    params_.scale = (float)options.number(scale_key, scale);
    params_.cap = (float)options.number(cap, 0.0);
    sinks_ = Numbers<float>(options.take(sinks), sinks.text, {extents.n_heads});
    params_.sinks = sinks_.data();
    params_.n_heads = extents.n_heads;
    params_.n_batch = extents.n_batch;
    params_.mask = mask_of(options);
    set_biases(options, extents);
    set_block_mask(options, extents);
    set_bool_mask(options, extents);
    set_tree(options, extents);
    set_positions(options, extents);
    set_sequences(options, extents);
    set_output(options);
}

void Score::expect_apart_from(const Output &output) const {
    output.expect_apart(sinks_.memory(), "sinks");
    output.expect_apart(alibi_slopes_.memory(), "alibi_slopes");
    output.expect_apart(tensor_slopes_.memory(), "tensor_slopes");
    output.expect_apart(rel_bias_, "bias");
    output.expect_apart(bool_mask_data_.memory(), bool_mask_name_);
    for (const Numbers<int32_t> &array : block_arrays_)
        output.expect_apart(array.memory(), "block_mask");
    output.expect_apart(parents_.memory(), "tree");
    output.expect_apart(query_starts_.memory(), "query_starts");
    output.expect_apart(queries_.memory(), "query_positions");
    output.expect_apart(keys_.memory(), "key_positions");
    output.expect_apart(k_begin_.memory(), "k_begin");
    output.expect_apart(k_end_.memory(), "k_end");
    output.expect_apart(origins_.memory(), "origins");
    output.expect_apart(cu_seqlens_.memory(), "cu_seqlens");
}

void Score::set_bias(py::handle given) {
    keeps_.push_back(py::reinterpret_borrow<py::object>(given));
    bool is_relative = py::isinstance<RelBias>(given);
    if (is_relative ? params_.bias.relative != nullptr : params_.bias.tensor != nullptr)
        refuse("bias", "there are two of a kind");
    if (is_relative) {
        const auto &bias = given.cast<const RelBias &>();
        params_.bias.relative = bias.get();
        rel_bias_ = bias.memory();
        return;
    }
    bias_.tensor = tensor_of(given, "bias");
    bias_.view = view_of(bias_.tensor, "bias", 1, 4);
    params_.bias.tensor = &bias_.view;
}

void Score::set_relative(py::handle given, const char *argument, Term &term, posenc_relative &relative) {
    if (!py::isinstance<py::tuple>(given) || py::len(given) != 2)
        refuse(argument, "(products, index) is expected");
    auto pair = py::reinterpret_borrow<py::tuple>(given);
    if (!py::isinstance<RelIndex>(pair[1]))
        throw py::type_error(std::string(argument) + ": the index has to be a RelIndex");
    term.tensor = tensor_of(pair[0], argument);
    term.view = view_of(term.tensor, argument, 2, 4);
    keeps_.push_back(pair);
    relative = {&term.view, pair[1].cast<const RelIndex &>().get()};
}

void Score::set_biases(Options &options, const ScoreExtents &extents) {
    static const Key bias("bias"), alibi_slopes("alibi_slopes"), tensor_slopes("tensor_slopes"), by_query("by_query"),
        by_key("by_key");
    alibi_slopes_ = Numbers<float>(options.take(alibi_slopes), alibi_slopes.text);
    if (alibi_slopes_ && alibi_slopes_.shape() != Shape{extents.n_heads} &&
        alibi_slopes_.shape() != Shape{extents.n_batch, extents.n_heads})
        refuse(alibi_slopes.text,
               "the shape has to be (n_heads,) or (n_batch, n_heads), not " + text_of(alibi_slopes_.shape()));
    params_.bias.alibi_slopes = alibi_slopes_.data();
    params_.bias.alibi_batch_stride = alibi_slopes_ && alibi_slopes_.shape().size() == 2 ? extents.n_heads : 0;
    tensor_slopes_ = Numbers<float>(options.take(tensor_slopes), tensor_slopes.text, {extents.n_heads});
    params_.bias.tensor_slopes = tensor_slopes_.data();
    py::handle given = options.take(bias);
    if (given && py::isinstance<py::tuple>(given)) {
        for (py::handle each : given)
            set_bias(each);
    } else if (given) {
        set_bias(given);
    }
    if (py::handle terms = options.take(by_query))
        set_relative(terms, by_query.text, by_query_, params_.bias.by_query);
    if (py::handle terms = options.take(by_key))
        set_relative(terms, by_key.text, by_key_, params_.bias.by_key);
}

// keep and drop have the axes of scores, of which those in front may be missing; key_mask is (n_batch, n_k).
void Score::set_bool_mask(Options &options, const ScoreExtents &extents) {
    static const Key keep("keep"), drop("drop"), key_mask("key_mask");
    py::handle given;
    for (const Key *name : {&keep, &drop, &key_mask}) {
        py::handle mask = options.take(*name);
        if (mask && given)
            refuse(name->text, std::string("not together with ") + bool_mask_name_);
        if (mask) {
            given = mask;
            bool_mask_name_ = name->text;
        }
    }
    if (!given)
        return;
    const char *argument = bool_mask_name_;
    bool is_of_keys = argument == key_mask.text;
    bool_mask_data_ = tensor_of(given, argument);
    const Tensor &mask = bool_mask_data_;
    if (mask.kind != Kind::boolean && mask.kind != Kind::u8)
        refuse(argument, std::string("bool or uint8 is expected, not ") + name_of(mask.kind));
    int64_t wanted[4] = {extents.n_k, extents.n_q, extents.n_heads, extents.n_batch};
    bool fits = is_of_keys ? mask.ndim == 2 : mask.ndim >= 1 && mask.ndim <= 4;
    for (int i = 0; i < 4 && fits; i++) {
        int from_the_end = is_of_keys ? (i == 0 ? 1 : i == 3 ? 2 : max_ndim + 1) : i + 1;
        int64_t extent = mask.extent(from_the_end);
        fits = extent == wanted[i] || (extent == 1 && i > 0);
        bool_mask_.nb[i] = extent == 1 ? 0 : mask.strides[mask.ndim - from_the_end];
    }
    if (!fits)
        refuse_bool_mask(argument, is_of_keys, extents, mask);
    if (wanted[0] > 1 && bool_mask_.nb[0] != 1)
        refuse(argument, "the elements of the last axis have to lie side by side");
    bool_mask_.nb[0] = 1;
    bool_mask_.data = (const uint8_t *)mask.data;
    bool_mask_.polarity = argument == drop.text ? POSENC_DROP : POSENC_KEEP;
    params_.bool_mask = &bool_mask_;
}

/** Takes FlexAttention's BlockMask, or any object with its attributes. */
void Score::set_block_mask(Options &options, const ScoreExtents &extents) {
    static const Key key("block_mask");
    static const char *const names[4] = {"kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"};
    py::handle given = options.take(key);
    if (!given)
        return;
    for (int i = 0; i < 4; i++)
        block_arrays_[i] = Numbers<int32_t>(given.attr(names[i]), names[i]);
    auto sizes = py::tuple(given.attr("BLOCK_SIZE"));
    py::object lengths = py::getattr(given, "seq_lengths", py::none());
    if (!lengths.is_none() && !lengths.equal(py::make_tuple(extents.n_q, extents.n_k)))
        refuse(key.text, "made for " + std::string(py::str(lengths)) + " queries and keys, but the call has " +
                             text_of(Shape{extents.n_q, extents.n_k}));
    const Shape shape = block_arrays_[1].shape();
    if (shape.size() != 4 || sizes.size() != 2)
        refuse(key.text,
               "kv_indices of shape (n_batch, n_heads, n_query_blocks, n_key_blocks) and two sizes are expected");
    int64_t q_block = integer_of(sizes[0], "BLOCK_SIZE"), n_rows = shape[2];
    for (int i = 0; i < 4; i++)
        if (block_arrays_[i] && block_arrays_[i].shape() != (i % 2 == 0 ? Shape{shape[0], shape[1], n_rows} : shape))
            refuse(names[i], "the shape does not fit that of kv_indices, " + text_of(shape));
    if ((shape[0] != 1 && shape[0] != extents.n_batch) || (shape[1] != 1 && shape[1] != extents.n_heads) ||
        q_block < 1 || n_rows < extents.n_q / q_block + (extents.n_q % q_block > 0))
        refuse(key.text, "kv_indices of shape " + text_of(shape) + " do not fit the queries");
    block_mask_ = {block_arrays_[0].data(),
                   block_arrays_[1].data(),
                   block_arrays_[2].data(),
                   block_arrays_[3].data(),
                   shape[3],
                   shape[1] == 1 ? 0 : n_rows,
                   shape[0] == 1 ? 0 : shape[1] * n_rows,
                   q_block,
                   integer_of(sizes[1], "BLOCK_SIZE")};
    params_.block_mask = &block_mask_;
}

void Score::set_tree(Options &options, const ScoreExtents &extents) {
    static const Key tree("tree");
    parents_ = Numbers<int32_t>(options.take(tree), tree.text);
    if (!parents_)
        return;
    const Shape &shape = parents_.shape();
    if (shape.empty() || shape.size() > 2 || shape.back() != extents.n_q ||
        (shape.size() == 2 && shape[0] != extents.n_batch))
        refuse(tree.text, "the shape has to be (n_q,) or (n_batch, n_q), not " + text_of(shape));
    tree_ = {parents_.data(), shape.size() == 2 ? extents.n_q : 0};
    params_.tree = &tree_;
}

void Score::set_positions(Options &options, const ScoreExtents &extents) {
    static const Key query_starts("query_starts"), queries("query_positions"), keys("key_positions");
    params_.positions.query_start = query_start_of(options);
    query_starts_ = Numbers<int32_t>(options.take(query_starts), query_starts.text, {extents.n_batch});
    queries_ = Numbers<int32_t>(options.take(queries), queries.text, {extents.n_q});
    keys_ = Numbers<int32_t>(options.take(keys), keys.text, {extents.n_k});
    params_.positions.query_starts = query_starts_.data();
    params_.positions.queries = queries_.data();
    params_.positions.keys = keys_.data();
}

void Score::set_sequences(Options &options, const ScoreExtents &extents) {
    static const Key k_begin("k_begin"), k_end("k_end"), cu_seqlens("cu_seqlens"), origins("origins");
    k_begin_ = Numbers<int32_t>(options.take(k_begin), k_begin.text, {extents.n_batch});
    k_end_ = Numbers<int32_t>(options.take(k_end), k_end.text, {extents.n_batch});
    origins_ = Numbers<int32_t>(options.take(origins), origins.text, {extents.n_batch});
    cu_seqlens_ = Numbers<int32_t>(options.take(cu_seqlens), cu_seqlens.text, {any_extent});
    if (cu_seqlens_ && cu_seqlens_.size() == 0)
        refuse(cu_seqlens.text, "at least one number is expected");
    params_.sequences.k_begin = k_begin_.data();
    params_.sequences.k_end = k_end_.data();
    params_.sequences.origins = origins_.data();
    params_.sequences.cu_seqlens = cu_seqlens_.data();
    params_.sequences.n_seqs = cu_seqlens_ ? cu_seqlens_.size() - 1 : 0;
}

void Score::set_output(Options &options) {
    static const Key fully_masked("fully_masked"), masked("masked");
    params_.fully_masked = enumerator<posenc_fully_masked_row>(options.word(fully_masked, "zeros"),
                                                               {{"zeros", POSENC_FULLY_MASKED_ZEROS},
                                                                {"uniform", POSENC_FULLY_MASKED_UNIFORM},
                                                                {"nan", POSENC_FULLY_MASKED_NAN}},
                                                               fully_masked.text);
    params_.masked_output = enumerator<posenc_masked_output>(
        options.word(masked, "written"), {{"written", POSENC_MASKED_WRITTEN}, {"untouched", POSENC_MASKED_UNTOUCHED}},
        masked.text);
}

} // namespace binding
