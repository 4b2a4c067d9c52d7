// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/models/parts.h"

namespace riesz::models {

/// GPT-J's sizes; the defaults are those of GPT-J 6B.
struct GptJConfig {
  std::int64_t layers = 28;
  std::int64_t heads = 16;
  std::int64_t width = 4096;  ///< C; a multiple of heads
  std::int64_t hidden = 0;    ///< of the MLP; 0: 4C
  std::int64_t vocabulary = 50400;
  std::int64_t context = 2048;    ///< the longest sequence
  std::int64_t rotary_dims = 64;  ///< of each head's, the first so many turn
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double residual_dropout = 0;
  std::string activation = "gelu";      ///< of the MLP, as `activate` names it
  double epsilon = 1e-5;                ///< of the layer norms
  ContractionOptions contraction = {};  ///< of all linear layers

  /// Its letters: b batch, t sequence, c width, h heads of d, f the MLP's width, v the vocabulary.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles() const {
    check_sizes("GPT-J", {{"layers", layers},
                          {"heads", heads},
                          {"width", width},
                          {"vocabulary", vocabulary},
                          {"context", context}});
    const std::int64_t d = width_of_heads("GPT-J", width, heads), f = hidden > 0 ? hidden : 4 * width;
    RIESZ_CHECK(rotary_dims >= 0 && rotary_dims % 2 == 0 && rotary_dims <= d, "GPT-J: ", rotary_dims,
                " dims turn, of ", d, " a head has; they are even, and no more");
    return {{'b', {Role::batch}},
            {'t', {Role::sequence}},
            {'c', {Role::width, width}},
            {'h', {Role::heads, heads}},
            {'d', {Role::whole, d}},
            {'f', {Role::inner, f}},
            {'v', {Role::vocabulary, vocabulary}}};
  }
  LinearOptions linear(bool bias, bool terms = false) const {
    return {.bias = bias, .terms = terms, .contraction = contraction};
  }
};

}  // namespace riesz::models
