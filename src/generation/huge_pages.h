// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace riesz {

/// Moves the memory of tensors into the system's huge pages, bit by bit while they are used: what is read
/// again and again, such as weights when text is written, is read 1.1 to 1.2 times as fast there. Values and
/// addresses stay. Linux from 6.1 on (madvise(2), MADV_COLLAPSE); elsewhere, where the system's setting is
/// "never", or where there are no huge pages left, memory stays as it is, which is no error.
class HugePages {
 public:
  /// Of the tensors that lie in a processor's memory, if they have 64 MB together: less is in a cache. Moves
  /// nothing yet. Keeps no tensor: call `move` only while they live.
  explicit HugePages(const std::vector<at::Tensor>& tensors);

  /// Goes on for so many seconds more, of which a later call uses what this one leaves. Cost: 0.6 ms for each
  /// page of 2 MB where huge pages are free; where a virtual machine's host must give it the memory first, 5.
  void move(double seconds);
  /// Pages that have not had their turn.
  std::size_t left() const { return pages_.size(); }

 private:
  std::vector<std::uintptr_t> pages_;  // their numbers, the last first
  double allowed_ = 0;
  double cost_ = 0;  // of the last one
};

}  // namespace riesz
