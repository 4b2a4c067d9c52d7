// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// What `Operator::start` returns: y = A x on its way, while the program computes. Messages move in the
/// background. `wait` gives y. Nobody writes x before: it is being sent. Dropped without a `wait`, its
/// messages still go on to their end, and y is let go; if something goes wrong with them, another wait of
/// this worker throws it, or the job ends. Several may be under way; all workers wait for them, or drop them,
/// alike and in one order.
///
/// Both halves are differentiable: the backward of `wait` starts A* ȳ, the backward of `start` waits for it,
/// so what is computed between them in forward hides the messages of forward, and its backward those of
/// backward. A recorded `Pending` that is dropped gives x no gradient.
class Pending {
 public:
  struct Impl;

  explicit Pending(std::unique_ptr<Impl> impl);
  ~Pending();
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;

  /// Goes on as far as it can without waiting: would `wait` return at once?
  bool arrived();
  /// World ranks of those whose messages have not arrived.
  std::vector<int> waits_for() const;
  /// y, in the operator's range. @throws Error if it was waited for before; if gradients are recorded now and
  /// were not at the start, or the reverse, or in another chain than then; if x was written meanwhile, which
  /// is seen where x has its memory alone, and with RIESZ_CHECK=1 wherever its values changed; or what went
  /// wrong on the way.
  Vector wait();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
