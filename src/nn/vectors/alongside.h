// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/primitives/operator.h"

namespace riesz {

/// How w, with some of y's indices, is read to stand beside y element by element: as in the contraction of w with ones
/// over y's other indices, so that w's gradient sums over what it was spread over, wherever that lies. For "btc" and
/// "c": Sharded where y shards c, Copied where y shards b or t, Replicated elsewhere.
/// W's space → its computing space, whose local part broadcasts against y's.
/// @throws Error naming both spaces if y is Copied or Partial on an axis.
Operator alongside(const std::string& y_indices, const Space& Y, const std::string& w_indices, const Space& W);

/// The same, kept for the last space of y: what a layer holds for its bias.
class Alongside {
 public:
  Alongside(std::string y_indices, std::string w_indices);

  /// The local part of w as read beside a vector of Y, shaped to broadcast against y's. Differentiable; collective over
  /// Y's partition.
  at::Tensor operator()(const Space& Y, const Vector& w);

 private:
  std::string y_indices_;
  std::string w_indices_;
  std::optional<Space> beside_;
  std::optional<Operator> read_;
};

}  // namespace riesz
