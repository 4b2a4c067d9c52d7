// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/experts/expert_rows.h"
#include "riesz/nn/module.h"

namespace riesz::app {

/// The rows of tokens of a layer with experts, on this worker, in a micro-batch.
struct RowsOfExperts {
  std::string layer;
  ExpertRows expected;  ///< where the gate chooses all experts equally often
  ExpertRows most;
};

/// Of all layers of the model that this worker computes. `tokens`: the shape of a micro-batch's tokens.
/// Local.
std::vector<RowsOfExperts> rows_of_experts(const Module& model, const std::vector<std::int64_t>& tokens);

/// A heading, and a line for each layer; empty where there is none.
std::string to_string(const std::vector<RowsOfExperts>& layers);

}  // namespace riesz::app
