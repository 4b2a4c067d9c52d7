// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/descriptions.h"

#include <atomic>

namespace riesz::detail {
namespace {

// Nothing is ordered by them.
std::atomic<std::uint64_t> texts_made = 0, spaces_made = 0, partitions_made = 0;

void count(std::atomic<std::uint64_t>& made) { made.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Descriptions descriptions_made() {
  const auto so_far = [](const std::atomic<std::uint64_t>& count) {
    return count.load(std::memory_order_relaxed);
  };
  return {so_far(texts_made), so_far(spaces_made), so_far(partitions_made)};
}

void count_text() { count(texts_made); }
void count_space() { count(spaces_made); }
void count_partition() { count(partitions_made); }

}  // namespace riesz::detail
