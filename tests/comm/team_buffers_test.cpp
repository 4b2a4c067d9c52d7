// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Collectives on several buffers of teams, each with a channel of messages of its own; and on one buffer, one
// after another.
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/transports/router.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

std::unique_ptr<Communicator> swapped(std::unique_ptr<Communicator> next) {
  finish_background();
  return set_world_communicator(std::move(next));
}

/// Each worker begins the collectives on some buffers in an order of its own; others are made and let go
/// meanwhile.
void begin_in_any_order() {
  constexpr std::int64_t kEach = 700;
  const int p = Runtime::size();
  std::vector<int> team(static_cast<std::size_t>(p));
  std::iota(team.begin(), team.end(), 0);
  PieceOffsets pieces;
  for (int i = 0; i <= p; ++i) pieces.push_back(kEach * i);
  std::vector<std::unique_ptr<TeamBuffer>> buffers;
  std::mt19937 mine(static_cast<unsigned>(Runtime::rank()));
  for (int round = 0; round < 6; ++round) {
    if (round == 3) buffers.erase(buffers.begin() + 1);
    if (round == 4) buffers.pop_back();
    buffers.push_back(std::make_unique<TeamBuffer>(team, pieces.back(), at::kFloat));
    std::vector<std::size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), mine);
    const auto value = [&](int rank, std::size_t i) {
      return static_cast<float>(rank + 100 * static_cast<int>(i) + 10 * round);
    };
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i]->local().fill_(value(Runtime::rank(), i));
    std::vector<std::shared_ptr<TeamCollective>> collectives;
    for (const std::size_t i : order) collectives.push_back(buffers[i]->all_reduce("sum", pieces));
    for (const auto& move : collectives) move->wait();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      float sum = 0;
      for (int rank = 0; rank < p; ++rank) sum += value(rank, i);
      EXPECT_SAME_BITS(buffers[i]->local(), at::full({pieces.back()}, sum, at::kFloat)) << round;
    }
  }
}

TEST(TeamBuffers, BeginTheirCollectivesInAnyOrder) {
  using Way = TransportSettings::Way;
  for (const TransportSettings settings :
       {TransportSettings{Way::shared}, TransportSettings{Way::mpi}, TransportSettings{Way::automatic, 2}}) {
    auto before = swapped(std::make_unique<Communicator>(make_transport(settings)));
    begin_in_any_order();
    swapped(std::move(before));
  }
}

/// A buffer keeps what the last collective of each kind was called and how it was cut.
TEST(TeamBuffers, EachSumIsByItsOwnPiecesNameAndText) {
  const int p = Runtime::size();
  std::vector<int> team(static_cast<std::size_t>(p));
  std::iota(team.begin(), team.end(), 0);
  TeamBuffer buffer(team, 3 * p, at::kFloat);
  PieceOffsets narrow, wide;
  for (int i = 0; i <= p; ++i) narrow.push_back(i), wide.push_back(3 * i);
  const auto elements = [](const char* name) { return Counters::instance().by_operation()[name].elements; };
  Counters::instance().reset();

  buffer.local().fill_(1);
  buffer.all_reduce({"Narrow", "sum"}, narrow)->wait();
  EXPECT_SAME_BITS(buffer.local().narrow(0, 0, p), at::full({p}, p, at::kFloat));
  EXPECT_SAME_BITS(buffer.local().narrow(0, p, 2 * p), at::full({2 * p}, 1, at::kFloat));
  buffer.local().fill_(1);
  buffer.all_reduce({"Narrow", "sum"}, wide)->wait();
  EXPECT_SAME_BITS(buffer.local(), at::full({3 * p}, p, at::kFloat));
  EXPECT_EQ(elements("Narrow"), 8 * (p - 1));
  buffer.all_reduce({"Wide", "sum"}, wide)->wait();
  EXPECT_EQ(elements("Narrow"), 8 * (p - 1));
  EXPECT_EQ(elements("Wide"), 6 * (p - 1));
  if (p == 1) return;
  const char* text = Runtime::rank() == 0 ? "sum" : "another sum";
  EXPECT_ERROR(buffer.all_reduce({"Wide", text}, wide)->wait(), "in sum (", "in another sum (");
  finish_background();
}

}  // namespace
}  // namespace riesz
