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
// Where a token's gates sum to 1, the new model computes what the dense one does, up to rounding.

/// Sizes of the new model that the dense one lacks.
struct UpcycledSizes : RoutedSizes {
  std::int64_t experts_every = 1;  ///< of a GPT-2: which blocks have experts
  double capacity_factor = 0, z_weight = 0;
};

/// The sizes of the model with experts. A Llama becomes a Mixtral, and a GPT-2 a GPT-2 with experts.
/// @throws Error naming the kind that has no model with experts here; or as the new sizes' `roles`.
CausalConfig upcycled(const CausalConfig& dense, const UpcycledSizes& sizes);

/// The part of an upcycled model that a parameter is of, by its name: an expert, by its number; a router,
/// which no dense weight is; or the rest.
struct UpcycledPart {
  enum class Kind { rest, router, expert } kind;
  std::int64_t expert = 0;
};
UpcycledPart part_of_upcycled(const std::string& parameter);

/// The name that a weight of the dense model has in the upcycled model of these sizes. With a number it is
/// that expert's; without one it is of the rest. "" where the weight has no place there. Within an expert,
/// and within the rest, no two weights have one name.
std::string upcycled_name(const CausalConfig& sizes, const std::string& dense,
                          std::optional<std::int64_t> expert);

}  // namespace riesz::models
