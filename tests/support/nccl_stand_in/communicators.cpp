// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// How the stand-in makes communicators: whoever made the id hears all ranks, compares them, and answers.
#include <ATen/ops/empty.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/nccl_stand_in/state.h"

namespace riesz::testing::stand_in {
namespace {

constexpr int kMostRanks = 64;
constexpr int kChannelsEach = 3;

struct Id {
  char name[8];
  int root;  // world rank
  int channel;
};

struct Arrival {
  int ranks, rank;
  char identity[64];
};

struct Answer {
  Result result;
  int world[kMostRanks];
  char text[200];
};

template <typename Struct>
at::Tensor bytes_of_struct(const Struct& x) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(sizeof x)}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), &x, sizeof x);
  return bytes;
}

template <typename Struct>
Struct struct_of(const at::Tensor& bytes) {
  Struct x;
  std::memcpy(&x, bytes.const_data_ptr(), sizeof x);
  return x;
}

Id read(const nccl::UniqueId& id) {
  Id read;
  std::memcpy(&read, &id, sizeof read);
  return read;
}

using Arrivals = std::map<int, Arrival>;  // by world rank

/// What is wrong with those who came; empty: nothing.
std::string judged(const Arrivals& all) {
  std::map<int, int> by_rank;
  std::map<std::string, int> by_identity;
  const int ranks = all.begin()->second.ranks;
  for (const auto& [world, each] : all) {
    if (each.ranks != ranks)
      return concat("ncclCommInitRank: one rank says that there are ", ranks, ", another ", each.ranks);
    if (!by_rank.emplace(each.rank, world).second)
      return concat("ncclCommInitRank: rank ", each.rank, " comes twice");
    const auto [other, is_new] = by_identity.emplace(each.identity, each.rank);
    if (!is_new)
      return concat("Duplicate GPU detected: rank ", other->second, " and rank ", each.rank,
                    " both on device ", each.identity);
  }
  if (static_cast<int>(all.size()) < ranks)
    return concat("ncclCommInitRank: ", all.size(), " of ", ranks, " ranks came");
  return "";
}

/// Runs in a thread of who made the id.
void hear_all(int channel) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  std::vector<at::Tensor> heard;
  std::vector<std::unique_ptr<Requests>> arriving;
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    heard.push_back(bytes_of_struct(Arrival{}));
    arriving.push_back(state.transport.post({}, {{rank, {channel + kMaking, 0}, heard.back()}}));
  }
  Arrivals all;
  const auto came = [&] {
    for (std::size_t i = 0; i < heard.size(); ++i) {
      const int rank = static_cast<int>(i);
      if (all.count(rank) == 0 && arriving[i]->done()) all.emplace(rank, struct_of<Arrival>(heard[i]));
    }
    return !all.empty() && static_cast<int>(all.size()) >= all.begin()->second.ranks;
  };
  comes(came, [&] { return state.stops.load(); });
  if (all.empty()) return;
  Answer answer{};
  const std::string wrong = judged(all);
  wrong.copy(answer.text, sizeof answer.text - 1);
  answer.result = wrong.empty() ? Result::success : Result::invalid_usage;
  for (const auto& [world, each] : all) answer.world[each.rank % kMostRanks] = world;
  std::vector<Message> answers;
  for (const auto& each : all)
    answers.push_back({each.first, {channel + kMaking, 1}, bytes_of_struct(answer)});
  const std::unique_ptr<Requests> sent = state.transport.post(answers, {});
  comes([&] { return sent->done(); }, [&] { return state.stops.load(); });
}

/// Runs in a thread of each rank, unless it blocks.
void join(nccl::Comm comm, const Id& id, const Arrival& me) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const at::Tensor heard = bytes_of_struct(Answer{});
  const MatchKey to{id.channel + kMaking, 0}, from{id.channel + kMaking, 1};
  const std::unique_ptr<Requests> requests =
      state.transport.post({{id.root, to, bytes_of_struct(me)}}, {{id.root, from, heard}});
  const bool came = comes([&] { return requests->done(); }, [&] { return stopped(*comm); });
  if (!came)
    return failed(comm, concat("ncclCommInitRank: rank ", me.rank, " of ", me.ranks,
                               " waits for the others, who do not come"));
  const auto answer = struct_of<Answer>(heard);
  if (answer.result != Result::success) return failed(comm, answer.text);
  comm->world.assign(answer.world, answer.world + me.ranks);
  comm->sent.resize(comm->world.size());
  comm->received.resize(comm->world.size());
  comm->status = Result::success;
}

}  // namespace

void run_beside(std::function<void()> body) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const std::lock_guard lock(state.mutex);
  state.threads.emplace_back(std::move(body));
}

Result get_unique_id(nccl::UniqueId* id) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  int channel = 0;
  {
    const std::lock_guard lock(state.mutex);
    const int number = static_cast<int>(state.ids_made.size());
    channel = kChannelsEach * (number * Runtime::size() + Runtime::rank());
    if (channel + kChannelsEach > state.transport.channels())
      return refused(Result::internal_error, "the stand-in makes no more communicators");
    state.ids_made.insert(channel);
  }
  const Id made{"riesz", Runtime::rank(), channel};
  *id = {};
  std::memcpy(id, &made, sizeof made);
  run_beside([channel] { hear_all(channel); });
  return Result::success;
}

Result comm_init_rank(nccl::Comm* comm, int ranks, nccl::UniqueId unique, int rank, int blocking) {
  NcclStandIn::State& state = NcclStandIn::State::now();
  const Id id = read(unique);
  if (std::string(id.name) != "riesz")
    return refused(Result::invalid_argument, "ncclCommInitRank: an id that ncclGetUniqueId has not made");
  if (rank < 0 || rank >= ranks || ranks > kMostRanks)
    return refused(Result::invalid_argument, concat("ncclCommInitRank: rank ", rank, " of ", ranks));
  Arrival me{ranks, rank, {}};
  {
    const std::lock_guard lock(state.mutex);
    state.identity.copy(me.identity, sizeof me.identity - 1);
  }
  bool is_new = false;
  {
    const std::lock_guard lock(state.mutex);
    is_new = state.ids_used.insert(id.channel).second;
  }
  if (!is_new)
    return refused(Result::invalid_usage,
                   "ncclCommInitRank: this id has made a communicator; each needs an id of its own");
  auto* made = new nccl::OpaqueComm;  // as long as the process
  made->ranks = ranks;
  made->rank = rank;
  made->channel = id.channel;
  made->blocks = blocking != 0;
  const char* const at_once = std::getenv("NCCL_RUNTIME_CONNECT");
  made->connects_collectives = at_once != nullptr && std::string(at_once) == "0";
  *comm = made;
  if (blocking == 0) {
    run_beside([made, id, me] { join(made, id, me); });
    return Result::in_progress;
  }
  join(made, id, me);
  return made->status;
}

}  // namespace riesz::testing::stand_in
