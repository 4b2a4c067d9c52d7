// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/transports/mpi.h"
#include "riesz/testing/nccl_stand_in.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::nccl {

/// A communicator of the stand-in. It lives as long as the process, so that a call after its end is found.
struct OpaqueComm {
  int ranks = 0, rank = 0;
  bool blocks = true, connects_collectives = false;
  int channel = 0;         // of its messages; two more follow, of acknowledgements and of its making
  std::vector<int> world;  // the world rank of each of its ranks
  std::atomic<Result> status = Result::in_progress;
  std::atomic<bool> ended = false;  // destroyed or aborted
  std::mutex calls;                 // held by the thread that calls it
  // By rank: how many messages were issued to it and from it.
  std::vector<int> sent, received;
  std::set<std::pair<int, int>> met;  // ranks, and in which of the meetings
};

}  // namespace riesz::nccl

namespace riesz::testing {

struct NcclStandIn::State {
  MpiTransport transport;
  std::atomic<bool> stops = false;
  std::atomic<bool> hangs = false;  // so would NCCL, for ever: nothing runs after it
  std::atomic<bool> abandoned = false;
  std::atomic<std::chrono::milliseconds> standstill{std::chrono::seconds(60)};
  std::mutex mutex;
  std::string identity;
  std::string last_error;
  std::vector<std::string> faults;
  std::map<std::string, int> calls;
  std::set<int> ids_made, ids_used;
  /// The room for one kernel on this device: its groups run one after another, of whatever communicator.
  struct Room {
    pretend::Stream* last_stream = nullptr;  // of the group before; under `issuing`
    pretend::Number last_number = 0;
    std::deque<std::string> waiting;  // the texts of groups that are issued and not done, oldest first
  };
  std::mutex issuing;
  Room room, room_for_bytes;
  struct OpenGroup {
    std::chrono::steady_clock::time_point begin;
    std::string first = "no call yet";
  };
  std::map<std::thread::id, OpenGroup> open;  // begun, and not ended
  std::vector<std::thread> threads;           // that make communicators

  static State& now();
};

namespace stand_in {

using nccl::Result;

/// Keeps the text for ncclGetLastError; the result.
Result refused(Result result, const std::string& text);
/// Something went wrong in queued work.
void failed(nccl::Comm comm, const std::string& text);
/// True once it is time to stop: the communicator's end, the stand-in's, or an error.
bool stopped(const nccl::OpaqueComm& comm);
void count(const char* function);

/// Polls `done()`; false if it was stopped, or has waited as long as the standstill.
template <typename Done, typename Stopped>
bool comes(const Done& done, const Stopped& stops) {
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    if (stops() || std::chrono::steady_clock::now() - begin > NcclStandIn::State::now().standstill.load())
      return false;
    std::this_thread::yield();
  }
  return true;
}

/// One call of a communicator, such as ncclSend.
struct Call {
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  nccl::Type type;
  int peer;  // of a send or receive
  nccl::Comm comm;
  pretend::Stream* stream;
};

std::size_t bytes_of(nccl::Type type);
std::string text_of(const Call& call);
/// Queues the calls of one group on one communicator.
Result issue(const std::vector<Call>& calls);
/// The same for a communicator that does not block, once all ranks have met that the calls are the first of.
Result issue_when_met(const std::vector<Call>& calls);
/// In a thread of the stand-in's.
void run_beside(std::function<void()> body);

constexpr int kMaking = 2;  // of a communicator's channels, the one in which it is made and ranks meet

// communicators.cpp
Result get_unique_id(nccl::UniqueId* id);
Result comm_init_rank(nccl::Comm* comm, int ranks, nccl::UniqueId id, int rank, int blocking);

}  // namespace stand_in
}  // namespace riesz::testing
