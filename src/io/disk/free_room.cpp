// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/free_room.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace riesz {

std::int64_t FreeRoom::take(std::int64_t count) {
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& each) {
    return each.second - each.first >= count || each.second == end_;
  });
  if (found == free_.end()) return std::exchange(end_, end_ + count);
  const auto [begin, end] = *found;
  free_.erase(found);
  if (begin + count < end) free_.emplace(begin + count, end);
  end_ = std::max(end_, begin + count);
  return begin;
}

void FreeRoom::give(std::int64_t begin, std::int64_t count) {
  std::int64_t end = begin + count;
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->second == begin)
    std::prev(next)->second = end;
  else
    free_.emplace(begin, end);
}

}  // namespace riesz
