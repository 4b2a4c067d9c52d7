// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// The values of parameters that stages lend each other (tied weights), brought once for all micro-batches of
/// a run. Where they are used they are leaves, which collect the micro-batches' gradients. Half types are
/// added in fp32, and rounded once a run.
class Borrowed {
 public:
  /// Collective over the workers of all stages.
  explicit Borrowed(const std::vector<LentParameter>& lent);
  /// From then on they are brought at each use again.
  ~Borrowed();
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  /// After each action that goes backward: what it has left at the leaves is not added to in a half type.
  /// Local.
  void take();
  /// Adds what has come at the leaves to the owners' gradients. As collective as the making.
  void give_back();

 private:
  struct One {
    LentParameter lent;
    Operator A;  ///< from the value as the owner's modules use it
    Vector leaf;
    at::Tensor taken = {};  ///< of its gradients, in fp32
  };
  std::vector<One> all_;
};

}  // namespace riesz
