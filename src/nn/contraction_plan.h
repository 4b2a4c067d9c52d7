// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <map>
#include <string>

#include "riesz/nn/indices.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// Where each operand of a contraction is computed with.
struct ContractionPlan {
  std::map<std::string, char> parallel;  ///< by axis; '-' for none
  std::array<Operator, 3> read;          ///< of x, w, ȳ: stored space → computing space
};

/// The rule of `Contraction`, from placements alone; Y has no dim of any extent.
ContractionPlan plan_contraction(const Indices& indices, const Space& X, const Space& W, const Space& Y);

}  // namespace riesz
