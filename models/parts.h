// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What the models here share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/model_cache.h"
#include "riesz/nn/module.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz::models {

/// A model, or a part of one, that is made by the model's sizes.
template <typename Self, typename Sizes>
class Part : public Layer<Self> {
 public:
  Part(OwnerAndName place, const Sizes& sizes) : Layer<Self>(std::move(place)), config(sizes) {}
  /// The model.
  Part(const Layout& layout, const Sizes& sizes) : Part(ModelSpaces(layout, sizes.roles()), sizes) {}
  /// The model, with some vectors or weights elsewhere. @throws Error unless the letters have the sizes'
  /// roles.
  Part(const ModelSpaces& spaces, const Sizes& sizes) : Layer<Self>("", spaces), config(sizes) {}

 protected:
  const Sizes config;
};

/// A size of a model, and its name in messages.
using Size = std::pair<const char*, std::int64_t>;

/// @throws Error naming all of them unless each is at least 1.
void check_sizes(const std::string& model, const std::vector<Size>& sizes);

/// The width of each of so many heads. @throws Error naming both, and the remedy, unless the width is a
/// multiple of them.
std::int64_t width_of_heads(const std::string& model, std::int64_t width, std::int64_t heads,
                            const std::string& remedy = "");

/// @throws Error naming the context, and the number of tokens of a call's ids, (B, T), with those before it
/// (`first_position`), where that is greater.
void check_context(const std::string& model, const Vector& ids, std::int64_t context);

/// The positions of a call's ids, (B, T), in their sequences: (T) in X.
Vector positions_of(const Vector& ids, const Space& X);

/// A causal model in a line, such as "GPT-J: 28 layers, 16 heads, width 4096, …".
template <typename Sizes>
std::string in_a_line(const std::string& model, const Sizes& of) {
  return concat(model, ": ", of.layers, " layers, ", of.heads, " heads, width ", of.width, ", vocabulary ",
                of.vocabulary, ", context ", of.context);
}

/// The last position alone: x in (B, T, C) → (B, 1, C) in Y, whose dims of any extent are those of x.
/// Generation needs only this part of a prompt before the output layer. Nothing is done where T is 1. Where
/// axes shard T, the worker that has the position sends it on. Collective over x's partition.
Vector last_position(const Vector& x, const Space& Y);

}  // namespace riesz::models
