// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// A pending call: what `Operator::start` returns while y = A x is computed. Messages travel in the
/// background; `wait` gives y. Nobody may write x before that, for it is being sent. If a pending call is
/// dropped, its messages still go to their end, and y is dropped. If they fail, another wait of this worker
/// throws, or the job ends. Several calls may be pending; all workers wait for them, or drop them, in one
/// order.
///
/// Both halves are differentiable: the backward of `wait` starts A* ȳ, and the backward of `start` waits for
/// it. So what the program computes between the halves overlaps with the messages of forward, and the
/// backward of that overlaps with the messages of backward. A recorded call that is dropped gives x no
/// gradient.
class Pending {
 public:
  struct Impl;

  explicit Pending(std::unique_ptr<Impl> impl);
  ~Pending();
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;

  /// Makes what progress it can without waiting; true if `wait` would return immediately.
  bool arrived();
  /// World ranks of the workers whose messages have not arrived.
  std::vector<int> waits_for() const;
  /// Waits for y, in the operator's range. It notices a write to x in between if no other tensor shares x's
  /// memory. With RIESZ_CHECK=1 in the environment it notices every change of x's values.
  /// A call that was started without gradient gives a y without gradient. @throws Error if the call was
  /// waited for before, or if x was written in between. @throws Error if the start was recorded, and now
  /// gradients are not recorded, or the chain is another or has started anew.
  /// @throws the failure of a message.
  Vector wait();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
