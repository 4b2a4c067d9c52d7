// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "riesz/models/parts.h"

namespace riesz::models {

/// minGPT's sizes.
struct MinGptConfig {
  std::int64_t layers = 3;
  std::int64_t heads = 3;
  std::int64_t width = 48;  ///< C; a multiple of heads
  std::int64_t hidden = 0;  ///< of the MLP; 0: 4C
  std::int64_t vocabulary = 10;
  std::int64_t context = 6;  ///< the longest sequence
  double dropout = 0.1;      ///< the default of the three below
  std::optional<double> embedding_dropout = {};
  std::optional<double> attention_dropout = {};
  std::optional<double> residual_dropout = {};
  std::string activation = "gelu";      ///< of the MLP, as `activate` names it
  double epsilon = 1e-5;                ///< of the layer norms
  bool tied = false;                    ///< is the output layer's weight the token table?
  ContractionOptions contraction = {};  ///< of all linear layers

  /// Its letters: b batch, t sequence, p positions, c width, h heads of d, f the MLP's width, v the
  /// vocabulary, and q for queries, keys and values.
  /// @throws Error unless the width is a multiple of the heads and all sizes are at least 1.
  Roles roles() const {
    check_sizes("minGPT", {{"layers", layers},
                           {"heads", heads},
                           {"width", width},
                           {"vocabulary", vocabulary},
                           {"context", context}});
    const std::int64_t d = width_of_heads("minGPT", width, heads), f = hidden > 0 ? hidden : 4 * width;
    return {{'b', {Role::batch}},        {'t', {Role::sequence}}, {'p', {Role::position, context}},
            {'c', {Role::width, width}}, {'q', {Role::whole, 3}}, {'h', {Role::heads, heads}},
            {'d', {Role::whole, d}},     {'f', {Role::inner, f}}, {'v', {Role::vocabulary, vocabulary}}};
  }
  LinearOptions linear() const { return {.contraction = contraction}; }
  /// Of the output layer: its weight is this table if they are tied.
  LinearOptions output(const Parameter& table) const {
    return {.bias = false, .weight = tied ? &table : nullptr, .contraction = contraction};
  }
  /// Options of layers whose output is added to the stream. Their deviation is GPT-2's, 0.02/sqrt(2*layers).
  LinearOptions back_to_stream() const {
    const double projections = 2.0 * static_cast<double>(layers);
    return {.initial = Initial::normal(0.02 / std::sqrt(projections)), .contraction = contraction};
  }
};

}  // namespace riesz::models
