// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/held_back.h"

#include <algorithm>

namespace riesz {

bool all_wait_for(int rank, const std::vector<int>& peers, const std::vector<WorkerStatus>& board) {
  std::vector<int> stuck{rank};
  const auto is_stuck = [&](int each) { return std::find(stuck.begin(), stuck.end(), each) != stuck.end(); };
  const auto waits_in_vain = [&](const WorkerStatus& each) {
    return each.waiting == 1 && !each.finished && each.process.empty() && !each.waits_for.empty() &&
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

}  // namespace riesz
