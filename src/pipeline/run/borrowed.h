// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// The values of parameters that stages lend each other (tied weights), brought once for all micro-batches of
/// a run: where they are used they are leaves, in which the micro-batches' gradients come together. All of it
/// is collective over the workers of all stages.
class Borrowed {
 public:
  explicit Borrowed(const std::vector<LentParameter>& lent);
  /// From then on they are brought at each use again.
  ~Borrowed();
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  /// Adds what has come at the leaves to the owners' gradients, by one backward pass more for each.
  void give_back();

 private:
  struct One {
    LentParameter lent;
    Operator A;  ///< from the value as the owner's modules use it
    Vector leaf;
  };
  std::vector<One> all_;
};

}  // namespace riesz
