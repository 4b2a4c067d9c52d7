// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The NCCL transport on the stand-in: which rounds go by it, how communicators are made, what is compared.
#include "riesz/comm/nccl/transport.h"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "on_nccl.h"
#include "riesz/comm/channel.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/device.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/wait.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/pending.h"
#include "riesz/testing/error.h"
#include "riesz/testing/nccl_stand_in.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"
#include "stand.h"

namespace riesz::testing {
namespace {

const at::TensorOptions kThere = at::TensorOptions().device(pretend_device()).dtype(at::kDouble);

int next() { return (me() + 1) % size(); }
int before() { return (me() + size() - 1) % size(); }

CallTeam team_of(std::vector<int> ranks) {
  return std::make_shared<const std::vector<int>>(std::move(ranks));
}
CallTeam all() {
  std::vector<int> ranks(static_cast<std::size_t>(size()));
  std::iota(ranks.rbegin(), ranks.rend(), 0);  // in whatever order
  return team_of(ranks);
}

class Transported : public OnNccl {
 protected:
  /// A ring of messages; what came, and by how many calls of ncclSend.
  std::pair<at::Tensor, int> ring(const CallTeam& team, const Operation& operation = "ring") {
    const int calls = in_.calls("ncclSend");
    const at::Tensor sent = at::arange(6, at::kFloat).add(10 * me()).to(pretend_device());
    const at::Tensor received = at::full({6}, -1., sent.options());
    Communicator::world().exchange(operation, {{next(), {sent, 1, 4}}}, {{before(), {received, 2, 4}}}, team);
    return {received.cpu(), in_.calls("ncclSend") - calls};
  }
  static at::Tensor expected() {
    at::Tensor y = at::full({6}, -1., at::kFloat);
    y.narrow(0, 2, 4).copy_(at::arange(1, 5, at::kFloat).add(10 * before()));
    return y;
  }
};

TEST_F(Transported, ARoundOfATeamIsAGroup) {
  if (size() == 1) return;
  Counters::instance().reset();
  for (int i = 0; i < 3; ++i) {
    const auto [y, calls] = ring(all());
    EXPECT_SAME_BITS(y, expected());
    EXPECT_EQ(calls, 1);
  }
  EXPECT_EQ(Counters::instance().by_operation().at("ring"), (Traffic{12, 48, 3}));
}

TEST_F(Transported, MessagesOfNoTeamAreStaged) {
  if (size() == 1) return;
  const auto [y, calls] = ring(nullptr);
  EXPECT_SAME_BITS(y, expected());
  EXPECT_EQ(calls, 0);
}

TEST_F(Transported, BothRoundsOfAnOperatorAreQueuedAtItsLaunch) {
  if (size() == 1) return;
  const Partition row = Partition::world().grid({{"a", size()}});
  const Space S = Space(row, {3, 7000}).partial("a");
  const Operator A = between(S, dual(S));
  const Vector x = random_vector(S, 1, true);
  const Vector y = A(x);
  const Vector there(S, x.local().to(pretend_device()));
  const int calls = in_.calls("ncclSend");
  at::Tensor result;
  {
    const NoHostReads none;
    Pending pending = A.start(there);
    EXPECT_EQ(in_.calls("ncclSend") - calls, 2 * (size() - 1));
    result = pending.wait().local();
  }
  EXPECT_SAME_BITS(result.cpu(), y.local());
}

/// Each rank waits for the next one, in a ring; the programs meet nowhere else.
TEST_F(Transported, TeamsMayBeUsedFirstInAnyOrder) {
  if (size() == 1) return;
  for (const int other : {next(), before()}) EXPECT_TRUE(transport_->carries(team_of({me(), other}), "pair"));
}

TEST_F(Transported, RanksThatShareADeviceAreStaged) {
  if (size() == 1) return;
  in_.set_identity("one bus");
  set({.max_communicators = 64, .compare = true});
  EXPECT_FALSE(transport_->carries(all(), "ring"));
  const auto [y, calls] = ring(all());
  EXPECT_SAME_BITS(y, expected());
  EXPECT_EQ(calls, 0);
}

/// By the first call of a program on devices. Teams of ranks that share none use NCCL.
TEST_F(Transported, RanksThatShareADeviceAreFoundAtTheStart) {
  if (size() < 3) return;
  in_.set_identity(concat("bus ", me() % 2));
  Communicator::world().set_device_transport(nullptr);
  const at::DeviceType type = pretend_device().type();
  nccl::set_functions_for(type, &NcclStandIn::functions());
  EXPECT_EQ(device_of_this_rank(type), pretend_device());
  const CallTeam ends = team_of({0, 1});
  const DeviceTransport* const made =
      me() < 2 ? Communicator::world().device_transport(pretend_device(), ends, "team") : nullptr;
  EXPECT_TRUE(NcclTransport::is_made(NcclStandIn::functions(), pretend_device()));
  // Nothing is made again, and no rank waits for another: they need not call alike from now on.
  if (me() == 1) {
    EXPECT_EQ(device_of_this_rank(type), pretend_device());
    EXPECT_EQ(Communicator::world().device_transport(pretend_device(), ends, "team"), made);
  }
  nccl::set_functions_for(type, nullptr);
  at::globalContext().setDeterministicAlgorithms(false, false);
  at::globalContext().setDeterministicFillUninitializedMemory(true);
  const auto carried = [](std::vector<int> ranks) {
    return Communicator::world().device_transport(pretend_device(), team_of(std::move(ranks)), "team") !=
           nullptr;
  };
  if (me() % 2 == 0 && me() < 3) {
    EXPECT_FALSE(carried({2, 0}));
  }
  if (me() < 2) {
    EXPECT_TRUE(carried({0, 1}));
  }
  const auto [y, calls] = ring(all());
  EXPECT_SAME_BITS(y, expected());
  EXPECT_EQ(calls, 0);
}

/// One has room for none, so the team has none on any rank.
TEST_F(Transported, CommunicatorsAreBoundedInNumber) {
  if (size() == 1) return;
  set({.max_communicators = me() == size() - 1 ? 0 : 1, .compare = true});
  EXPECT_FALSE(transport_->carries(all(), "ring"));
  EXPECT_SAME_BITS(ring(all()).first, expected());
  set({.max_communicators = 1, .compare = true});
  EXPECT_TRUE(transport_->carries(all(), "ring"));
  EXPECT_FALSE(size() > 2 && me() < 2 && transport_->carries(team_of({0, 1}), "pair"));
  EXPECT_EQ(ring(all()).second, 1);
}

/// A round waits for rank 1's, which first waits for another team's communicator.
TEST_F(Transported, ANewTeamConnectsBesideARoundThatWaits) {
  if (size() < 3) return;
  set({});
  const CallTeam pair = team_of({0, 1});
  const at::Tensor x = at::full({6}, me() * 1., kThere), y = at::full({6}, -1., kThere);
  const auto exchange = [&] {
    if (me() < 2) Communicator::world().exchange("pair", {{1 - me(), x}}, {{1 - me(), y}}, pair);
  };
  if (me() == 0) exchange();
  EXPECT_TRUE(transport_->carries(all(), "all"));
  if (me() == 1) exchange();
  if (me() < 2) {
    EXPECT_SAME_BITS(y.cpu(), at::full({6}, 1. - me(), at::kDouble));
  }
}

/// A worker does not wait for others while its own device computes.
TEST_F(Transported, TheDeadlineCountsFromWhereTheDeviceHasComeToTheRound) {
  if (size() != 2) return;
  set({});
  const at::Tensor x = at::full({6}, me() * 1., kThere), y = at::full({6}, -1., kThere);
  const auto exchange = [&] { Communicator::world().exchange("ring", {{next(), x}}, {{next(), y}}, all()); };
  exchange();
  const auto before = deadline();
  set_deadline(std::chrono::milliseconds(1500));
  sleep_there(2200);
  exchange();  // its tensors are there: to copy them would wait for the device
  EXPECT_SAME_BITS(y.cpu(), at::full({6}, next(), at::kDouble));
  set_deadline(before);
}

/// Says of each communicator that its making goes on, when asked the first times: as often as the worker and
/// the number of communicators before it make of it. So workers have them ready in orders of their own.
nccl::Result ready_in_own_order(nccl::Comm comm, nccl::Result* state) {
  static std::map<nccl::Comm, int> to_ask;
  const int before = static_cast<int>(to_ask.size());
  const auto [found, is_new] = to_ask.try_emplace(comm, me() % 2 == 0 ? before * 5 % 7 : 30 - before % 30);
  if (found->second-- <= 0) return NcclStandIn::functions().comm_get_async_error(comm, state);
  *state = nccl::Result::in_progress;
  return nccl::Result::success;
}

/// Each worker uses its teams first in an order of its own, and has their communicators ready in another, so
/// several teams are to connect at once.
TEST_F(Transported, ManyTeamsConnectInAnyOrder) {
  static nccl::Functions functions = NcclStandIn::functions();
  functions.comm_get_async_error = ready_in_own_order;
  auto made = std::make_unique<NcclTransport>(functions, pretend_device(), NcclSettings{});
  transport_ = made.get();
  Communicator::world().set_device_transport(std::move(made));
  std::vector<int> mine;
  for (int team = 1; team < 1 << size(); ++team)
    if ((team >> me() & 1) != 0) mine.push_back(team);
  std::rotate(mine.begin(), mine.begin() + me(), mine.end());
  for (const int team : mine) {
    std::vector<int> ranks;
    for (int rank = 0; rank < size(); ++rank)
      if ((team >> rank & 1) != 0) ranks.push_back(rank);
    EXPECT_TRUE(transport_->carries(team_of(ranks), "team")) << team;
  }
}

/// A refused call closes its group, or the next would be a part of it. And it leaves the peers one call
/// ahead.
TEST_F(Transported, AfterARefusedCallNothingIsPosted) {
  if (size() == 1) return;
  static bool refuses = false;
  static nccl::Functions functions = NcclStandIn::functions();
  functions.recv = [](void* to, std::size_t n, nccl::Type type, int peer, nccl::Comm comm, nccl::Stream on) {
    return NcclStandIn::functions().recv(to, n, type, refuses ? -1 : peer, comm, on);
  };
  Communicator::world().set_device_transport(
      std::make_unique<NcclTransport>(functions, pretend_device(), NcclSettings{}));
  EXPECT_SAME_BITS(ring(all()).first, expected());
  refuses = true;
  EXPECT_ERROR(ring(all()), "ncclRecv: invalid argument: ncclRecv: rank -1 of a communicator");
  refuses = false;
  EXPECT_THAT(in_.faults(), ::testing::IsEmpty());
  EXPECT_ERROR(ring(all()), "ring: a call of ring failed before, and workers may wait for it");
}

/// All teams that a worker is in, each worker in an order of its own.
TEST_F(Transported, ManyTeamsInAnyOrderShareFewCommunicators) {
  const auto allowed = [](int rank) { return 1 + rank % 3; };
  set({.max_communicators = allowed(me()), .compare = true});
  std::vector<int> mine;
  for (int team = 1; team < 1 << size(); ++team)
    if ((team >> me() & 1) != 0 && (team & (team - 1)) != 0) mine.push_back(team);
  if (me() % 2 == 1) std::reverse(mine.begin(), mine.end());
  const at::Tensor carried = at::full({1 << size()}, 0, at::kByte);
  for (const int team : mine) {
    std::vector<int> ranks;
    for (int rank = 0; rank < size(); ++rank)
      if ((team >> rank & 1) != 0) ranks.push_back(rank);
    if (transport_->carries(team_of(ranks), "team")) carried[team] = 1;
  }
  EXPECT_LE(carried.sum().item<int>(), allowed(me()));
  std::vector<int> others;
  for (int rank = 0; rank < size(); ++rank)
    if (rank != me()) others.push_back(rank);
  const std::vector<at::Tensor> theirs = Communicator::world().host_allgather("carried", others, carried);
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (const int team : mine) {
      if ((team >> others[i] & 1) != 0) {
        EXPECT_EQ(theirs[i][team].item<int>(), carried[team].item<int>()) << team;
      }
    }
  }
  if (size() > 1) {
    EXPECT_TRUE(me() > 0 || carried.sum().item<int>() > 0);  // somebody's first team has room
  }
}

TEST_F(Transported, DescriptionsAreCompared) {
  if (size() == 1) return;
  const std::string mine = concat("Operator ", me());
  EXPECT_ERROR(ring(all(), {"ring", mine}), concat(" in Operator ", before(), ", where this worker expects "),
               concat(" in Operator ", me()));
  const at::Tensor x = at::full({4}, 1., at::device(pretend_device()));
  EXPECT_ERROR(Communicator::world().exchange("sizes", {{next(), {x, 0, 1 + me()}}},
                                              {{before(), {x, 0, 1 + me()}}}, all()),
               concat("sent ", 4 * (1 + before()), " bytes"), concat("expects ", 4 * (1 + me()), " bytes"));
}

/// One operator in two channels, which the ends use in another order.
TEST_F(Transported, ChannelsAreComparedToo) {
  if (size() != 2) return;
  constexpr int kNobodys = 1000;  // channels in which the ends' numbers differ afterwards
  const ChannelScope in(kNobodys + me());
  EXPECT_ERROR(ring(all()), "ring: the workers' programs differ: rank ",
               concat(" of channel ", kNobodys + before(), " where this worker expects message "),
               concat(" of channel ", kNobodys + me(), "; devices know no channels"));
}

}  // namespace
}  // namespace riesz::testing
