// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace riesz {

/// Something under way in the background: what it does is a strand of its own in a recording, which begins
/// where it is first gone on with. Without a recorder it is nothing.
class Strand {
 public:
  /// While it lives, what this thread does is of that strand.
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

  /// This thread goes on after its end.
  void join() const;

 private:
  std::size_t number_ = 0;  // 0: not begun
};

}  // namespace riesz
