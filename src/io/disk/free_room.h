// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>

namespace riesz {

/// The room of a file that grows: which of its intervals are free.
class FreeRoom {
 public:
  /// The begin of `count` bytes, from now on taken: the first that are free, else more at the end.
  std::int64_t take(std::int64_t count);
  /// They are free again.
  void give(std::int64_t begin, std::int64_t count);
  /// Where the room ends.
  std::int64_t end() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;  // begins and ends; no two touch
  std::int64_t end_ = 0;
};

}  // namespace riesz
