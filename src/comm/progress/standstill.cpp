// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/standstill.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace riesz {
namespace {

/// Where a core is shared by many, what is on its way takes a while.
std::atomic<std::chrono::milliseconds> sure{kStandstill};
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

}  // namespace

bool all_wait_for(int rank, const std::vector<int>& peers, const std::vector<WorkerStatus>& board) {
  const auto alone = [](const WorkerStatus& each) { return each.threads == 1 && each.waiting <= 1; };
  if (std::any_of(board.begin(), board.end(),
                  [&](const WorkerStatus& each) { return each.rank == rank && !alone(each); }))
    return false;
  std::vector<int> stuck{rank};
  const auto is_stuck = [&](int each) { return std::find(stuck.begin(), stuck.end(), each) != stuck.end(); };
  const auto waits_in_vain = [&](const WorkerStatus& each) {
    return alone(each) && each.waiting == 1 && !each.finished && each.process.empty() &&
           !each.waits_for.empty() &&
           each.waits_for.size() < WorkerStatus::kMostPeers &&  // else there may be more
           std::all_of(each.waits_for.begin(), each.waits_for.end(), is_stuck);
  };
  for (bool more = true; more;) {
    more = false;
    for (const WorkerStatus& each : board) {
      if (is_stuck(each.rank) || !waits_in_vain(each)) continue;
      stuck.push_back(each.rank);
      more = true;
    }
  }
  return std::all_of(peers.begin(), peers.end(), is_stuck);
}

bool Standstill::lasts(bool stuck, std::uint64_t moved, std::int64_t bytes, Instant now) {
  const bool moves = std::exchange(moved_, moved) != moved;
  if (!stuck || moves) since_ = now;
  return now - since_ > sure.load() * (1 + bytes / kGiB);
}

void set_standstill(std::chrono::milliseconds time) { sure = time; }

}  // namespace riesz
