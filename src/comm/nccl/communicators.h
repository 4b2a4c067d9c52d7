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
  /// `asked`: the members agree on whether there is room. `making`: the library makes it. `connecting`: its
  /// members meet in pairs. `staged`: there is none, messages go through host memory.
  enum class State { asked, making, connecting, ready, staged };

  std::vector<int> team;  // ascending world ranks
  std::atomic<State> state = State::asked;
  bool has_place = false;                             // it counts among those of this process
  int yes = 0, no = 0;                                // answers, at the team's first member
  bool has_asked_for_turn = false, has_turn = false;  // to connect
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
  std::int64_t number;  // among the communicator's rounds; the first is 1
  // These ask the device, and never wait: has it come to the round, and has it done it?
  std::function<bool()> begun, done;
  /// By peer's world rank: how many messages it must have issued to this worker and from it by then.
  std::map<int, std::pair<std::int64_t, std::int64_t>> needs;
};

/// The communicators of this process, one for each team that was used. A thread of its own makes them: the
/// team's first member asks the others whether they have room, makes the id and sends it. The others' threads
/// answer wherever their programs are. So teams may be used first in any order.
///
/// NCCL connects two ranks in their first group, and that group waits for the other rank's. So the threads
/// connect all pairs of a new communicator by a group of single bytes, in a stream of its own. A process
/// connects one team at a time: a member that has its turn free gives it to the team, and tells the next
/// member, in ascending order. The turn is free again when the bytes have come. So no two teams wait for each
/// other.
///
/// The thread also watches what is queued. It counts the time from when the device has come to a round: past
/// the deadline it ends the job and names the members that have not made their calls. While a round is queued
/// it asks its communicator for errors every 0.2 s, and ends the job if there is one. Private to src/comm.
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
  /// Waits until a call of the round that is still in progress is accepted; at most until the deadline, as
  /// for messages of the round's peers. @throws Error unless it succeeds.
  void settle(const Queued& round, Result result, const char* call) const;

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
  void take_turn(const Key& team);
  void pass_turn();
  void connect(TeamCommunicator& communicator);
  bool is_made(TeamCommunicator& communicator);
  void look_at_made();
  void look_at_queued();
  void end_if_failed(const Queued& round);
  std::vector<int> late(const Queued& round) const;
  [[noreturn]] void end(const std::string& what);

  const Functions& functions_;
  const at::Device device_;
  const int max_communicators_;
  const c10::Stream stream_;  // in which communicators connect
  const at::Tensor bytes_;    // of all ranks, and one to send
  ControlChannel control_;
  std::mutex mutex_;  // guards all_, queued_, places_, turns_, making_ and each communicator
  std::map<Key, std::shared_ptr<TeamCommunicator>> all_;
  std::deque<Queued> queued_;  // oldest first
  int places_ = 0;             // communicators that are made or promised
  std::deque<Key> turns_;      // teams that are to connect; the first has this process's turn
  std::vector<std::shared_ptr<TeamCommunicator>> making_;
  std::mutex comms_mutex_;
  std::vector<Comm> comms_;  // of all_; under comms_mutex_, also where mutex_ is held
  // Used by thread_ alone:
  std::function<bool()> connected_;  // have the bytes of the team that has the turn come?
  std::optional<Wait> wait_;         // for the first that is queued, once the device has come to it
  std::chrono::steady_clock::time_point asked_;
  std::map<std::pair<Key, int>, std::pair<std::int64_t, std::int64_t>> issued_;  // by the others, as they say

  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace riesz::nccl
