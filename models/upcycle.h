// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "riesz/models/causal_model.h"

namespace riesz::models {

// Sparse upcycling (Komatsuzaki et al., 2212.05055): a dense model becomes one with experts. Each expert
// begins as a copy of the dense MLP in its place, the routers are drawn, and all else is the dense model's.
// Where a token's gate values sum to 1, the new model computes what the dense one does, up to rounding.

/// Sizes of the new model that the dense one lacks.
struct UpcycledSizes : RoutedSizes {
  std::int64_t experts_every = 2;  ///< of a GPT-2: which blocks have experts
  double capacity_factor = 0, z_weight = 0;
};

/// The sizes of the model with experts. A Llama becomes a Mixtral, and a GPT-2 a GPT-2 with experts.
/// @throws Error naming the kind that has no model with experts here; or as the new sizes' `roles`.
CausalConfig upcycled(const CausalConfig& dense, const UpcycledSizes& sizes);

/// What a parameter of an upcycled model belongs to: the expert of a number, a router, or the rest. A router
/// is made of no dense weight. Each other parameter is made of exactly one.
struct UpcycledPart {
  enum class Kind { rest, router, expert } kind;
  std::int64_t expert = 0;
};
/// By the parameter's name.
UpcycledPart part_of_upcycled(const std::string& parameter);

/// The name that a weight of the dense model gets in the upcycled model of these sizes. With a number it is
/// in that expert, without one in the rest. "" where the weight has no place there. Within an expert, and
/// within the rest, no two weights get the same name.
std::string upcycled_name(const CausalConfig& sizes, const std::string& dense,
                          std::optional<std::int64_t> expert);

}  // namespace riesz::models
