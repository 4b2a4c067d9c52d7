// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/experts/expert_parts.h"
#include "riesz/primitives/operator.h"
#include "riesz/primitives/routed_rows.h"

namespace riesz {

/// The choices of this worker's tokens: the k experts of each, all different. A dropped choice is −1.
struct Choices {
  std::vector<std::int64_t> experts;  ///< token by token
  std::int64_t k = 1;                 ///< choices of a token

  std::int64_t tokens() const { return static_cast<std::int64_t>(experts.size()) / k; }
  /// By expert: how many choices are of it.
  std::vector<std::int64_t> counts(std::int64_t experts) const;
};

/// Choices of a tensor (…, k) of integers, which is read to the host. In a `Simulation` they are spread
/// evenly over this number of experts, and so are those of the other workers.
Choices choices_of(const at::Tensor& chosen, std::int64_t experts);

/// Dispatch: tokens to their experts, and back. One operator does both:
///
///     y = D x       by part of an expert: a copy of each token that chose the expert
///     x = D* y      by token: the sum of its copies
///
/// So a mixture with gate values g and experts F is D* (g F(D x)). Rows of y are sorted by part, then by
/// sending worker in rank order, then by token and choice.
struct Dispatch {
  Operator tokens;                 ///< D: X → Y
  Operator gate_values;            ///< the same map for one number per choice: (N·k) → rows of Y
  std::vector<std::int64_t> rows;  ///< of y: how many each of this worker's parts has, in their order
};

/// The dispatch of these choices. X is (N, …), sharded on dim 0 by `axis` alone. `counts` has the counts of
/// all workers of the axis (`Choices::counts`), where they are known already.
///
/// Collective over the fibres of the axis. Each worker sends every other one the counts of its choices, in
/// one exchange (`all_row_counts`). With `counts` given it sends nothing. Then `tokens` moves each row for a
/// part on another worker, in one message to each worker that gets any, whatever k is. Backward moves the
/// same rows, and exchanges no counts.
/// @throws Error naming the numbers unless the choices are of X's tokens and of these experts.
Dispatch dispatch(const Space& X, const std::string& axis, const ExpertParts& experts, const Choices& choices,
                  at::Device device = at::kCPU);
Dispatch dispatch(const Space& X, const std::string& axis, const ExpertParts& experts, const Choices& choices,
                  const RowCounts& counts, at::Device device = at::kCPU);

}  // namespace riesz
