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

/// A side channel: a channel for one thread of each worker of a partition, such as threads that write files.
/// It is independent of all other messages, so the threads reach each other whatever their workers do, also
/// after an error. Not counted. A waiting thread sleeps, for it may wait for another's disk.
class SideChannel {
 public:
  /// Collective over P. @throws Error if the transport has no channel left for it.
  explicit SideChannel(const Partition& P);

  /// Every worker's text, by rank, on every worker. Called by one thread of each worker at a time. Collective
  /// over P. @throws Error naming the workers that have not come when the time of `wait_at_most` is over.
  /// @throws Error naming workers of this host whose processes have been gone for two seconds.
  std::vector<std::string> collect_texts(const std::string& mine) const;

  /// All waits of this worker in this side channel end with an Error when `time` from now is over. 0, as at
  /// first: no limit. May be called from any thread.
  void wait_at_most(std::chrono::duration<double> time);

 private:
  using Clock = std::chrono::steady_clock;
  class Sleep;

  std::vector<at::Tensor> exchange(const at::Tensor& mine) const;

  int rank_;
  std::vector<int> peers_;  // the others' world ranks, by rank
  TeamChannel channel_;     // none where this worker is alone
  std::atomic<Clock::time_point> end_ = Clock::time_point::max();
};

}  // namespace riesz
