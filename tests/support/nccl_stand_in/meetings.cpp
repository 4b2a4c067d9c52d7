// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// How the stand-in's ranks meet: a pair at its first send and receive, all ranks at the first of a
// collective.
#include <ATen/ops/zeros.h>

#include <string_view>

#include "riesz/comm/error.h"
#include "riesz/testing/nccl_stand_in/state.h"

namespace riesz::testing::stand_in {
namespace {

// Numbers of messages in the channel of the making, which has used two.
constexpr int kFromSender = 2, kFromReceiver = 3, kOfCollectives = 4;

/// With a rank of the communicator: what each sends the other.
struct Meeting {
  int rank, mine, theirs;
};

/// Those of the calls that have not been before. They count as met from now on.
std::vector<Meeting> meetings_of(const std::vector<Call>& calls) {
  nccl::OpaqueComm& comm = *calls.front().comm;
  std::vector<Meeting> all;
  const auto add = [&](const Meeting& each) {
    if (each.rank != comm.rank && comm.met.emplace(each.rank, each.mine).second) all.push_back(each);
  };
  for (const Call& call : calls) {
    const std::string_view function = call.function;
    if (function == "ncclSend") {
      add({call.peer, kFromSender, kFromReceiver});
    } else if (function == "ncclRecv") {
      add({call.peer, kFromReceiver, kFromSender});
    } else if (!comm.connects_collectives) {
      const int number = kOfCollectives + (function == "ncclAllReduce"   ? 0
                                           : function == "ncclAllGather" ? 1
                                                                         : 2);
      for (int rank = 0; rank < comm.ranks; ++rank) add({rank, number, number});
    }
  }
  return all;
}

/// Runs in a thread of the stand-in's.
void meet(const std::vector<Meeting>& meetings, const std::vector<Call>& calls) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  nccl::OpaqueComm& comm = *calls.front().comm;
  std::vector<std::unique_ptr<Requests>> requests;
  for (const Meeting& each : meetings) {
    const int rank = comm.world[static_cast<std::size_t>(each.rank)], channel = comm.channel + kMaking;
    requests.push_back(state.transport.post({{rank, {channel, each.mine}, at::zeros({1}, at::kByte)}},
                                            {{rank, {channel, each.theirs}, at::zeros({1}, at::kByte)}}));
  }
  std::size_t come = 0;
  const auto all = [&] {
    while (come < requests.size() && requests[come]->done()) ++come;
    return come == requests.size();
  };
  const auto stops = [&] { return stopped(comm) || state.abandoned; };
  if (comes(all, stops)) {
    Result before = Result::in_progress;  // unless what was issued has failed already
    const Result result = issue(calls);
    comm.status.compare_exchange_strong(before, result);
  } else if (state.abandoned) {
    comm.status = Result::success;
  } else if (!stops()) {
    failed(&comm, concat("NCCL would hang: ncclGroupEnd of ", text_of(calls.front()),
                         " waits for the first group of rank ", meetings[come].rank));
  }
}

}  // namespace

Result issue_when_met(const std::vector<Call>& calls) {
  const std::vector<Meeting> meetings = meetings_of(calls);
  if (meetings.empty()) return issue(calls);
  calls.front().comm->status = Result::in_progress;
  run_beside([meetings, calls] { meet(meetings, calls); });
  return Result::in_progress;
}

}  // namespace riesz::testing::stand_in
