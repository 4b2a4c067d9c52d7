// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/nccl/control_channel.h"
#include "riesz/comm/nccl/functions.h"
#include "riesz/comm/wait.h"

namespace riesz::nccl {

/// This process's communicator of one team.
struct TeamCommunicator {
  /// `asked`: the hosts of the team agree on whether there is room. `making`: the library makes it. `staged`:
  /// there is none, messages go through host memory.
  enum class State { asked, making, ready, staged };

  std::vector<int> team;  // ascending world ranks
  std::atomic<State> state = State::asked;
  bool has_place = false;  // it counts among those of this process
  int yes = 0, no = 0;     // answers, at the team's first member
  Comm comm = nullptr;
  // By position in the team: messages issued to that member, and from it.
  std::vector<std::atomic<std::int64_t>> sent, received;
  std::atomic<std::int64_t> rounds = 0;  // that were begun to be queued

  int position_of(int rank) const;
};

/// A round that was queued on the device, until it is done.
struct Queued {
  std::shared_ptr<TeamCommunicator> communicator;
  std::string operation;
  std::int64_t number;         // among the communicator's rounds; the first is 1
  std::function<bool()> done;  // asks the device; never waits
  /// By peer's world rank: how many messages it must have issued to this worker and from it by then.
  std::map<int, std::pair<std::int64_t, std::int64_t>> needs;
};

/// The communicators of this process, one for each team that was used. A thread of its own makes them: the
/// team's first member asks the others whether they have room, makes the id and sends it. The others' threads
/// answer wherever their programs are. So teams may be used first in any order. The thread also watches what
/// is queued: past the deadline it ends the job and names the members that have not made their calls. While a
/// round is queued it asks its communicator for errors every 0.2 s, and ends the job if there is one. Private
/// to src/comm.
class Communicators {
 public:
  /// `max_communicators`: maximum number this process ever makes. Collective over the job.
  Communicators(const Functions& functions, at::Device device, int max_communicators);
  /// Waits for what is queued, then ends them.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// The communicator of a team; nullptr if it has none. Waits until it is made.
  std::shared_ptr<TeamCommunicator> of(const std::vector<int>& team, const std::string& operation);
  /// Watches a round.
  void watch(Queued round);
  /// Waits until a call that is still in progress is accepted. @throws Error unless it succeeds.
  void settle(Comm comm, Result result, const char* call) const;

 private:
  using Key = std::vector<int>;

  void run();
  void read(const ControlChannel::Received& received);
  void want(const Key& team);
  void answered(TeamCommunicator& communicator, bool yes);
  void begin(const std::shared_ptr<TeamCommunicator>& communicator, const UniqueId& id);
  std::shared_ptr<TeamCommunicator> communicator_of(const Key& team);
  void to_others(const Key& team, const ControlMessage& message);
  bool take_place(TeamCommunicator& communicator);
  void look_at_made();
  void look_at_queued();
  void end_if_failed(const Queued& round);
  std::vector<int> late(const Queued& round) const;
  [[noreturn]] void end(const std::string& what);

  const Functions& functions_;
  const at::Device device_;
  const int max_communicators_;
  ControlChannel control_;
  std::mutex mutex_;  // guards all_, queued_, places_ and each communicator
  std::map<Key, std::shared_ptr<TeamCommunicator>> all_;
  std::deque<Queued> queued_;  // oldest first
  int places_ = 0;             // communicators that are made or promised
  // Used by thread_ alone:
  std::vector<std::shared_ptr<TeamCommunicator>> making_;
  std::optional<Wait> wait_;  // for the first that is queued
  std::chrono::steady_clock::time_point asked_;
  std::map<std::pair<Key, int>, std::pair<std::int64_t, std::int64_t>> issued_;  // by the others, as they say

  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace riesz::nccl
