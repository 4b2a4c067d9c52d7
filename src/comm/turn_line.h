// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace riesz {

/// A line: threads that take turns, so that one of them runs at a time. Each thread is a line of its own, but
/// in a scope that joins the line of another. Only who hands the turns on, such as a `Routine`, may open one.
class TurnLine {
 public:
  /// The number of this thread's line, the same as long as the thread is in it; never 0.
  static std::uint64_t here() {
    static std::atomic<std::uint64_t> last(0);
    if (number() == 0) number() = ++last;
    return number();
  }

  class Scope {
   public:
    explicit Scope(std::uint64_t line) : own_(number()) { number() = line; }
    ~Scope() { number() = own_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::uint64_t own_;
  };

 private:
  static std::uint64_t& number() {
    thread_local std::uint64_t line = 0;
    return line;
  }
};

}  // namespace riesz
