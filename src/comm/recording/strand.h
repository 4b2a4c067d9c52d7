// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace riesz {

/// A strand: the sequence of events of one background task, or of one `Thread`, in a `Recording`. A task's
/// begins when it first makes progress. Without a recorder it does nothing.
class Strand {
 public:
  Strand() = default;
  /// The strand of this thread's events.
  static Strand here();

  /// Begins the strand of a `Thread` here. A thread's sends may wait for the limit of untaken bytes, so
  /// `src/verify` treats it as part of the program. A background task's sends never wait.
  void begin_thread();

  /// A scope: the events of this thread belong to the strand while it lives.
  class Scope {
   public:
    /// `let_go`: what is waited for in the scope is marked as `RecordedRound::let_go`.
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
  explicit Strand(std::size_t number) : begun_(true), number_(number) {}

  bool begun_ = false;
  std::size_t number_ = 0;
};

}  // namespace riesz
