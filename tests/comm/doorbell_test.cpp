// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A doorbell by itself; and that all that moves through shared memory is rung for, so that the background
// moves it though it hardly ever looks of itself.
#include "riesz/comm/progress/doorbell.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/team/buffer.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Does it sleep for as long as that?
bool sleeps(Doorbell& doorbell, milliseconds most) {
  const auto begin = Clock::now();
  doorbell.wait(most);
  return Clock::now() - begin >= most;
}

TEST(Doorbell, WakesWhoListens) {
  Doorbell doorbell{};
  doorbell.listen();
  EXPECT_TRUE(sleeps(doorbell, milliseconds(2)));
  doorbell.listen();
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(5));
    doorbell.ring();
  });
  EXPECT_FALSE(sleeps(doorbell, seconds(20)));
  other.join();
}

TEST(Doorbell, WhatRangBeforeTheWaitIsNotMissed) {
  Doorbell doorbell{};
  doorbell.listen();
  doorbell.ring();
  EXPECT_FALSE(sleeps(doorbell, seconds(20)));
}

TEST(Doorbell, IsNotHeardByWhoHasNotListened) {
  Doorbell doorbell{};
  doorbell.ring();
  doorbell.listen();
  EXPECT_TRUE(sleeps(doorbell, milliseconds(2)));
}

/// The background sleeps for longer than a test takes, unless it is rung.
class Rung : public ::testing::Test {
 protected:
  void SetUp() override { set_longest_sleep(seconds(60)); }
  void TearDown() override { set_longest_sleep(kLongestSleep); }

  /// Nobody holds it but the background: has that let go of it, while this worker computes, as it were?
  template <typename Begun>
  static bool ends(const std::weak_ptr<Begun>& task) {
    const auto begin = Clock::now();
    while (!task.expired() && Clock::now() - begin < seconds(20))
      std::this_thread::sleep_for(milliseconds(1));
    return task.expired();
  }

  /// One after another, so that those who began before sleep by then.
  static void begin_late() { std::this_thread::sleep_for(milliseconds(8 * Runtime::rank())); }
};

class Round final : public BackgroundTask {
 public:
  explicit Round(std::unique_ptr<Requests> requests) : requests_(std::move(requests)) {}

 private:
  bool progress() override { return requests_->done(); }
  const std::string& operation() const override { return text_; }
  std::vector<int> waits_for() const override { return requests_->unfinished(); }

  std::unique_ptr<Requests> requests_;
  std::string text_ = "a round";
};

std::vector<int> others() {
  std::vector<int> ranks;
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    if (rank != Runtime::rank()) ranks.push_back(rank);
  }
  return ranks;
}

void meet() {
  if (Runtime::size() > 1) Communicator::world().host_allgather("meet", others(), at::full({1}, 0.));
}

/// Something of `count` elements goes to each other worker, and comes from it.
std::shared_ptr<Round> begin_round(std::int64_t count, std::vector<at::Tensor>& arrived) {
  arrived.clear();
  std::vector<Transfer> sends, receives;
  for (const int rank : others()) {
    arrived.push_back(at::empty({count}));
    sends.push_back({rank, at::full({count}, 1. + Runtime::rank())});
    receives.push_back({rank, arrived.back()});
  }
  const Reservation reserved = Communicator::world().reserve(others(), others());
  auto round = std::make_shared<Round>(
      reserved.post(Operation("round", "a round"), std::move(sends), std::move(receives)));
  run_in_background(round);
  return round;
}

void expect_all(const std::vector<at::Tensor>& arrived) {
  for (std::size_t i = 0; i < arrived.size(); ++i)
    EXPECT_TRUE(arrived[i].eq(1. + others()[i]).all().item<bool>());
}

TEST_F(Rung, MessagesOfAnySizeMoveWhileAllCompute) {
  for (const std::int64_t count : {1, 40'000, 500'000}) {  // whole; in parts; in more than a ring holds
    SCOPED_TRACE(count);
    begin_late();
    std::vector<at::Tensor> arrived;
    const std::weak_ptr<Round> round = begin_round(count, arrived);
    EXPECT_TRUE(ends(round));
    expect_all(arrived);
    meet();
  }
}

/// What it slept for was taken by who waited for it, so it sleeps on, and for nothing.
TEST_F(Rung, WhatBeginsWhileItSleepsMovesToo) {
  std::vector<at::Tensor> arrived;
  begin_late();
  const std::shared_ptr<Round> first = begin_round(40'000, arrived);
  if (Runtime::rank() + 1 < Runtime::size()) std::this_thread::sleep_for(milliseconds(4));
  first->wait();
  expect_all(arrived);
  begin_late();
  const std::weak_ptr<Round> next = begin_round(40'000, arrived);
  EXPECT_TRUE(ends(next));
  expect_all(arrived);
  meet();
}

/// A worker that waits for something else looks itself meanwhile, and is not rung for; afterwards it is.
TEST_F(Rung, WhatIsUnderWayMovesAfterAWaitForSomethingElse) {
  const bool last = Runtime::rank() + 1 == Runtime::size();
  std::vector<at::Tensor> arrived;
  std::shared_ptr<Round> round;
  if (!last) round = begin_round(40'000, arrived);
  std::this_thread::sleep_for(milliseconds(last ? 12 : 4));
  meet();
  std::this_thread::sleep_for(milliseconds(last ? 4 : 0));
  if (last) round = begin_round(40'000, arrived);
  const std::weak_ptr<Round> begun = std::exchange(round, nullptr);
  EXPECT_TRUE(ends(begun));
  expect_all(arrived);
  meet();
}

std::vector<int> all_workers() {
  std::vector<int> team(static_cast<std::size_t>(Runtime::size()));
  std::iota(team.begin(), team.end(), 0);
  return team;
}

/// What a worker waits for may need what it has under way: rank 0 waits for what the others send once they
/// have a sum, which its background is to make with them.
TEST_F(Rung, WhatIsUnderWayMovesDuringAWaitForSomethingElse) {
  const std::int64_t each = 30'000;
  PieceOffsets pieces{0};
  for (int i = 0; i < Runtime::size(); ++i) pieces.push_back(pieces.back() + each);
  TeamBuffer buffer(all_workers(), pieces.back(), at::kFloat);
  buffer.local().fill_(1. + Runtime::rank());
  const bool first = Runtime::rank() == 0;
  std::this_thread::sleep_for(milliseconds(first ? 0 : 24));
  const std::shared_ptr<TeamCollective> sum = buffer.all_reduce(Operation("sum", "a sum"), pieces);
  const auto begin = Clock::now();
  std::this_thread::sleep_for(milliseconds(first ? 12 : 0));
  if (!first) sum->wait();
  meet();
  EXPECT_LT(Clock::now() - begin, seconds(20));
  sum->wait();
  EXPECT_TRUE(buffer.local().eq(Runtime::size() * (Runtime::size() + 1) / 2.).all().item<bool>());
  meet();
}

TEST_F(Rung, CollectivesOfATeamGoOnWhileAllCompute) {
  const std::vector<int> team = all_workers();
  const std::int64_t each = 30'000, all = each * Runtime::size();
  PieceOffsets pieces{0};
  for (int i = 0; i < Runtime::size(); ++i) pieces.push_back(pieces.back() + each);
  TeamBuffer buffer(team, all, at::kFloat);
  buffer.local().fill_(1. + Runtime::rank());
  begin_late();
  const std::weak_ptr<TeamCollective> summed = buffer.all_reduce(Operation("sum", "a sum"), pieces);
  EXPECT_TRUE(ends(summed));
  const double sum = Runtime::size() * (Runtime::size() + 1) / 2.;
  EXPECT_TRUE(buffer.local().eq(sum).all().item<bool>());
  meet();
  at::Tensor out = at::empty({all});
  buffer.local().fill_(1. + Runtime::rank());
  begin_late();
  const std::weak_ptr<TeamCollective> gathered =
      buffer.all_gather(Operation("gather", "a gathering"), pieces, TeamBuffer::Contents::whole, out);
  EXPECT_TRUE(ends(gathered));
  for (int i = 0; i < Runtime::size(); ++i)
    EXPECT_TRUE(out.narrow(0, i * each, each).eq(1. + i).all().item<bool>());
  meet();
}

}  // namespace
}  // namespace riesz
