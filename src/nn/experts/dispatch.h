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

/// The choices of this worker's tokens: which k experts each goes to, and −1 in place of one that is dropped.
/// The same expert is chosen once by a token.
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
/// So combining the experts' results, weighted by the gates g, is D* (g y). The rows of y lie by this
/// worker's parts in turn, and in each by worker of the axis in rank order, then by token and choice.
struct Dispatch {
  Operator tokens;                 ///< D: X → Y
  Operator gates;                  ///< the same of a number a choice, flat: (N·k) → the rows of Y
  std::vector<std::int64_t> rows;  ///< of y: how many each of this worker's parts has, in their order
};

/// The dispatch of these choices. X is (N, …), sharded on dim 0 by `axis` alone. `counts` has the counts of
/// all workers of the axis (`Choices::counts`), where they are known already.
///
/// Collective over the fibres of the axis: each worker sends the others the counts of its experts, in one
/// exchange (`all_row_counts`); nothing where `counts` are given. Then `tokens` moves each row for a part on
/// another worker, in one message to each worker that gets any, whatever k is. Backward moves the same rows
/// without another exchange of counts.
/// @throws Error naming the numbers unless the choices are of X's tokens and of these experts.
Dispatch dispatch(const Space& X, const std::string& axis, const ExpertParts& experts, const Choices& choices,
                  at::Device device = at::kCPU);
Dispatch dispatch(const Space& X, const std::string& axis, const ExpertParts& experts, const Choices& choices,
                  const RowCounts& counts, at::Device device = at::kCPU);

}  // namespace riesz
