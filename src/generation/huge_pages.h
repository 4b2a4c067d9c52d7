// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace riesz {

/// Moves the memory of tensors into the system's huge pages, a few at a time while they are used. Memory that
/// is read repeatedly, such as weights in generation, is read 1.1 to 1.2 times as fast there. Values and
/// addresses stay. It needs Linux 6.1 or newer (madvise(2), MADV_COLLAPSE). Elsewhere, or where the system's
/// setting is "never" or no huge pages are left, memory stays as it is, without an error.
class HugePages {
 public:
  /// For the tensors that are in a CPU's memory, if they have 64 MB together: less fits a cache. Moves
  /// nothing yet. Keeps no tensor: call `move` only while they live.
  explicit HugePages(const std::vector<at::Tensor>& tensors);

  /// Moves more pages, for at most this number of seconds; a later call may use unused seconds. Cost: 0.6 ms
  /// a page of 2 MB where huge pages are free; 5 ms where a virtual machine's host must give the memory
  /// first.
  void move(double seconds);
  /// Pages that are still to be moved.
  std::size_t left() const { return pages_.size(); }

 private:
  std::vector<std::uintptr_t> pages_;  // numbers of those left, the last first
  double allowed_ = 0;                 // seconds
  double cost_ = 0;                    // of the page moved last, in seconds
};

}  // namespace riesz
