// SPDX-License-Identifier: MIT
// What RoPE's enumerators are called in Python.
#pragma once

#include "call.hpp"

namespace binding {

inline constexpr std::initializer_list<Word> layout_words = {{"half", POSENC_ROPE_HALF},
                                                             {"interleaved", POSENC_ROPE_INTERLEAVED},
                                                             {"deinterleave", POSENC_ROPE_DEINTERLEAVE},
                                                             {"half_by_axis", POSENC_ROPE_HALF_BY_AXIS}};
inline constexpr std::initializer_list<Word> scaling_words = {{"none", POSENC_SCALING_NONE},
                                                              {"linear", POSENC_SCALING_LINEAR},
                                                              {"ntk", POSENC_SCALING_NTK},
                                                              {"ntk_length", POSENC_SCALING_NTK_LENGTH},
                                                              {"dynamic", POSENC_SCALING_DYNAMIC},
                                                              {"yarn", POSENC_SCALING_YARN},
                                                              {"longrope", POSENC_SCALING_LONGROPE},
                                                              {"llama3", POSENC_SCALING_LLAMA3},
                                                              {"proportional", POSENC_SCALING_PROPORTIONAL},
                                                              {"ggml", POSENC_SCALING_GGML}};
inline constexpr std::initializer_list<Word> axes_words = {
    {"single", POSENC_AXES_SINGLE}, {"mrope", POSENC_AXES_MROPE},
    {"imrope", POSENC_AXES_IMROPE}, {"imrope_ggml", POSENC_AXES_IMROPE_GGML},
    {"vision", POSENC_AXES_VISION}, {"pixtral", POSENC_AXES_PIXTRAL},
    {"axial", POSENC_AXES_AXIAL},   {"alternate", POSENC_AXES_ALTERNATE},
    {"ernie", POSENC_AXES_ERNIE}};

} // namespace binding
