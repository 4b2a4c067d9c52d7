// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace riesz {

/// A cancellation: a request to a thread, and to the threads that it has started, to give up their waits for
/// other workers. A `Wait` throws if it still goes on a second after the request. Private to src/comm.
class Cancellation {
 public:
  /// `outer`: of the thread that starts this one, or nullptr.
  explicit Cancellation(std::shared_ptr<const Cancellation> outer) : outer_(std::move(outer)) {}

  void ask() { asked_ = true; }
  bool asked() const { return asked_ || (outer_ != nullptr && outer_->asked()); }

  /// This thread's cancellation, or nullptr.
  static std::shared_ptr<const Cancellation> current();

 private:
  std::atomic<bool> asked_ = false;
  std::shared_ptr<const Cancellation> outer_;
};

/// A scope in which `inner` is this thread's cancellation.
class CancellationScope {
 public:
  explicit CancellationScope(std::shared_ptr<const Cancellation> inner);
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  std::shared_ptr<const Cancellation> outer_;
};

}  // namespace riesz
