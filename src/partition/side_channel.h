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

/// Where one thread of each worker of a partition meets those of the others, such as threads that write
/// files. It is independent of all else that the workers send: the threads meet whatever their workers do
/// meanwhile, also where a worker has met an error. Not counted. A thread that waits here sleeps, for it may
/// wait for another's disk.
class SideChannel {
 public:
  /// Collective over P. @throws Error if the transport has no stream left for it.
  explicit SideChannel(const Partition& P);

  /// Every worker's text, by rank, on every worker. Called by one thread of each worker at a time. Collective
  /// over P. @throws Error naming those who have not come, when the time of `wait_at_most` is over, or those
  /// of this host whose processes have been gone for two seconds.
  std::vector<std::string> collect_texts(const std::string& mine) const;

  /// All waits of this worker end so long from now at the latest; 0: they do not end, as at first. From any
  /// thread.
  void wait_at_most(std::chrono::duration<double> time);

 private:
  using Clock = std::chrono::steady_clock;
  class Sleep;

  std::vector<at::Tensor> exchange(const at::Tensor& mine) const;

  int rank_;
  std::vector<int> peers_;  // the others' world ranks, by rank
  MoveStream stream_;       // none where this worker is alone
  std::atomic<Clock::time_point> end_ = Clock::time_point::max();
};

}  // namespace riesz
