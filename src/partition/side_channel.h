// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// A channel between the workers of a partition beside all else that they send each other, for one thread of
/// each, such as one that writes files: these meet here whatever their workers do meanwhile, also where one
/// of them has met an error. Not counted. Who waits here sleeps, for it may wait for another's disk.
class SideChannel {
 public:
  /// Collective over P. @throws Error if the transport cannot tell so many streams apart.
  explicit SideChannel(const Partition& P);

  /// Every worker's text, by rank, on every worker. Called by one thread of each at a time. Collective over
  /// P. @throws Error naming those who have not come, where this worker waits no longer.
  std::vector<std::string> collect_texts(const std::string& mine) const;

  /// From now on this worker waits so long at most; 0 means for ever, as from the beginning. From any thread.
  void wait_at_most(std::chrono::duration<double> time);

 private:
  using Clock = std::chrono::steady_clock;
  class Sleep;

  std::vector<at::Tensor> exchange(const at::Tensor& mine) const;

  int rank_;
  std::vector<int> peers_;  // the others' world ranks, by rank
  MoveStream stream_;       // of those that are several
  std::atomic<Clock::time_point> end_ = Clock::time_point::max();
};

}  // namespace riesz
