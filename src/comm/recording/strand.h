// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace riesz {

/// A strand: the sequence of one background task's events in a `Recording`. It begins when the task first
/// makes progress. Without a recorder it does nothing.
class Strand {
 public:
  /// A scope: the events of this thread belong to the strand while it lives.
  class Scope {
   public:
    /// `let_go`: sends that nobody waits for.
    explicit Scope(Strand& strand, bool let_go = false);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::size_t outer_;
    bool outer_let_go_;
  };

  /// Records that this thread goes on after the strand's end.
  void join() const;

 private:
  std::size_t number_ = 0;  // 0: not begun
};

}  // namespace riesz
