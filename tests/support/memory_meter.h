// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz::testing {

/// Counts the bytes of CPU tensors that are allocated while it lives: of all threads, as asked for, without
/// the allocator's own rounding. What was allocated before is not seen. One at a time.
class MemoryMeter {
 public:
  MemoryMeter();
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  /// Of the tensors that live now.
  static std::int64_t alive();
  /// The most that lived at once since the start, or since `restart`, which starts from what lives now.
  static std::int64_t peak();
  static void restart();
  /// The largest tensor since the start.
  static std::int64_t largest();
};

}  // namespace riesz::testing
