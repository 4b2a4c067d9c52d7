// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

#include "riesz/nn/experts/expert_rows.h"
#include "riesz/nn/experts/top_k_gate.h"

namespace riesz::app {

// The rows of a worker's experts in training, where the gate drops choices: no expert takes more than its
// capacity. `tokens` are those of a micro-batch on all workers. Both are local, and pure.

/// The `expected` rows that the capacity lets through. Where it drops choices of a gate that chooses all
/// experts equally often, this is the mean over the workers, for the gate keeps earlier tokens.
ExpertRows kept_rows(const ExpertRows& expected, const GateOptions& gate, std::int64_t experts,
                     double tokens);

/// The most rows. `most(k)` has them where each token has k choices and none is dropped, as `most_rows`.
/// Choices fill one expert after another, those with the most rows first; each takes as many as the tokens,
/// and as its capacity.
ExpertRows most_kept_rows(const std::function<ExpertRows(std::int64_t k)>& most, const GateOptions& gate,
                          std::int64_t experts, double tokens);

}  // namespace riesz::app
