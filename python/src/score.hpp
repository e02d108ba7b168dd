// SPDX-License-Identifier: MIT
// posenc_score_params from keyword arguments: what softmax, logits, attention and their gradients share.
#pragma once

#include "bias.hpp"

#include <optional>

namespace binding {

struct ScoreExtents {
    int64_t n_k, n_q, n_heads, n_batch;
    static ScoreExtents of(const posenc_view &scores) {
        return {scores.ne[0], scores.ne[1], scores.ne[2], scores.ne[3]};
    }
};

/** The mask of the arguments causal, window, chunk and n_first. */
posenc_mask mask_of(Options &options);

/** Position of query 0 by the argument query_start: an int, or None: the last query stands at the last key. */
int64_t query_start_of(Options &options);

class Score {
  public:
    /** options: causal, window, chunk, n_first, keep, drop, key_mask, block_mask, scale, cap, sinks, alibi_slopes,
     * bias, tensor_slopes, by_query, by_key, query_start, query_starts, query_positions, key_positions, k_begin, k_end,
     * origins, cu_seqlens, fully_masked, masked. */
    Score(Options &options, const ScoreExtents &extents, double scale);
    const posenc_score_params *get() const {
        return &params_;
    }
    void expect_apart_from(const Output &output) const;

  private:
    struct Term {
        Tensor tensor;
        posenc_view view;
    };

    posenc_score_params params_ = POSENC_SCORE_DEFAULTS;
    Numbers<float> sinks_, alibi_slopes_, tensor_slopes_;
    Numbers<int32_t> query_starts_, queries_, keys_, k_begin_, k_end_, origins_, cu_seqlens_;
    Term bias_, by_query_, by_key_;
    Memory rel_bias_;
    const char *bool_mask_name_ = nullptr;
    Tensor bool_mask_data_;
    posenc_bool_mask bool_mask_;
    Numbers<int32_t> block_arrays_[4]; // counts and numbers of partial blocks, and of full ones
    posenc_block_mask block_mask_;
    Numbers<int32_t> parents_;
    posenc_tree tree_;
    std::vector<py::object> keeps_;

    void set_biases(Options &options, const ScoreExtents &extents);
    void set_bias(py::handle given);
    void set_relative(py::handle given, const char *argument, Term &term, posenc_relative &relative);
    void set_bool_mask(Options &options, const ScoreExtents &extents);
    void set_block_mask(Options &options, const ScoreExtents &extents);
    void set_tree(Options &options, const ScoreExtents &extents);
    void set_positions(Options &options, const ScoreExtents &extents);
    void set_sequences(Options &options, const ScoreExtents &extents);
    void set_output(Options &options);
};

} // namespace binding
