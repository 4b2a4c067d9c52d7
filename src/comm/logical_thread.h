// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace riesz {

/// A logical thread: one thread, or several of which only one runs at a time. A Scope makes this thread part
/// of another's logical thread. Only code that passes control between threads, such as `Routine`, opens one.
class LogicalThread {
 public:
  /// The number of this thread's logical thread, the same as long as it is part of it; never 0.
  static std::uint64_t here() {
    static std::atomic<std::uint64_t> last(0);
    if (number() == 0) number() = ++last;
    return number();
  }

  class Scope {
   public:
    explicit Scope(std::uint64_t logical_thread) : own_(number()) { number() = logical_thread; }
    ~Scope() { number() = own_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::uint64_t own_;
  };

 private:
  static std::uint64_t& number() {
    thread_local std::uint64_t mine = 0;
    return mine;
  }
};

}  // namespace riesz
