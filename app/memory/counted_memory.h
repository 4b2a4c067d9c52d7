// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace c10 {
struct Allocator;
}

namespace riesz::app {

/// Counts the bytes of CPU tensors that are allocated while it lives, as asked for. In a scope without values
/// (`WithoutValues`) these are the bytes that the program would take. One at a time; outlived by no scope
/// that was open when it was made.
class CountedMemory {
 public:
  /// @throws Error where LibTorch has an allocator of a higher priority.
  CountedMemory();
  ~CountedMemory();
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  /// The most bytes that tensors had at once.
  static std::int64_t peak();

 private:
  c10::Allocator* before_;
};

}  // namespace riesz::app
