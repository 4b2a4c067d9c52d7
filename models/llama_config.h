// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/models/parts.h"

namespace riesz::models {

/// A Llama's sizes; the defaults are those of SmolLM2 135M.
struct LlamaConfig {
  std::int64_t layers = 30;
  std::int64_t heads = 9;
  std::int64_t key_value_heads = 3;  ///< heads is a multiple
  std::int64_t width = 576;          ///< C
  std::int64_t head_width = 0;       ///< of each head; 0: C / heads
  std::int64_t hidden = 1536;        ///< of the MLP
  std::int64_t vocabulary = 49152;
  std::int64_t context = 8192;  ///< the longest sequence
  double rotary_base = 100000;
  std::optional<RotaryScaling> rotary_scaling = {};
  double attention_dropout = 0;
  std::string activation = "silu";      ///< of the MLP's gate, as `activate` names it
  double epsilon = 1e-5;                ///< of the norms
  bool attention_bias = false;          ///< have attention's linear layers a bias?
  bool output_bias = true;              ///< if so, has the last of them one too?
  bool mlp_bias = false;                ///< have the MLP's?
  bool tied = true;                     ///< is the output layer's weight the token table?
  ContractionOptions contraction = {};  ///< of all linear layers

  LinearOptions linear(bool bias) const { return {.bias = bias, .contraction = contraction}; }
  /// Of the output layer: its weight is this table if they are tied.
  LinearOptions output(const Parameter& table) const {
    return {.bias = false, .weight = tied ? &table : nullptr, .contraction = contraction};
  }
  /// Its letters: b batch, t sequence, c width, h query heads and g key and value heads of d, f the MLP's
  /// width, v the vocabulary. `model`: its name in messages.
  /// @throws Error unless all sizes are at least 1 and fit one another.
  Roles roles(const std::string& model = "Llama") const {
    check_sizes(model, {{"layers", layers},
                        {"heads", heads},
                        {"key_value_heads", key_value_heads},
                        {"width", width},
                        {"hidden", hidden},
                        {"vocabulary", vocabulary},
                        {"context", context}});
    RIESZ_CHECK(heads % key_value_heads == 0, model, ": ", heads, " query heads are no multiple of ",
                key_value_heads, " key and value heads");
    const std::int64_t d =
        head_width > 0 ? head_width : width_of_heads(model, width, heads, "; give head_width");
    RIESZ_CHECK(d % 2 == 0, model, ": heads of a width of ", d, "; it must be even, for they turn in pairs");
    return {{'b', {Role::batch}},
            {'t', {Role::sequence}},
            {'c', {Role::width, width}},
            {'h', {Role::heads, heads}},
            {'g', {Role::key_value_heads, key_value_heads}},
            {'d', {Role::whole, d}},
            {'f', {Role::inner, hidden}},
            {'v', {Role::vocabulary, vocabulary}}};
  }
};

}  // namespace riesz::models
