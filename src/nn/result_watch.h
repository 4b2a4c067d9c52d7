// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

class Module;

namespace detail {

/// A watcher that is told the vectors that modules give on this thread. The innermost of a thread is told.
class ResultWatch {
 public:
  ResultWatch();
  virtual ~ResultWatch();
  ResultWatch(const ResultWatch&) = delete;
  ResultWatch& operator=(const ResultWatch&) = delete;

  /// This thread's, or nullptr.
  static ResultWatch* current();

  virtual void gave(const Module& module, const std::vector<Vector>& ys) = 0;

 private:
  ResultWatch* outer_;
};

}  // namespace detail
}  // namespace riesz
