// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/communicator.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

/// To the next rank on the ring, from the one before.
int next() { return (Runtime::rank() + 1) % Runtime::size(); }
int before() { return (Runtime::rank() + Runtime::size() - 1) % Runtime::size(); }

at::Tensor message(int rank, std::int64_t count) { return at::arange(count, at::kFloat).add(100 * rank); }

TEST(Communicator, MovesAndCountsWhatLeavesByOperation) {
  if (Runtime::size() == 1) return;
  Counters::instance().reset();
  const std::int64_t mine = 5 + Runtime::rank();
  const at::Tensor received = at::empty({5 + before()}, at::kFloat);

  Communicator::world().exchange("ring", {{next(), message(Runtime::rank(), mine)}}, {{before(), received}});

  EXPECT_SAME_BITS(received, message(before(), 5 + before()));
  EXPECT_EQ(Counters::instance().by_operation().at("ring"), (Traffic{mine, 4 * mine, 1}));
}

TEST(Communicator, KeepsTheOrderOfMessagesToOnePeer) {
  if (Runtime::size() == 1) return;
  const at::Tensor first = at::empty({3}, at::kFloat);
  const at::Tensor second = at::empty({3}, at::kFloat);
  const int me = Runtime::rank();

  Communicator::world().exchange("ring", {{next(), message(me, 3)}, {next(), message(me + 50, 3)}},
                                 {{before(), first}, {before(), second}});

  EXPECT_SAME_BITS(first, message(before(), 3));
  EXPECT_SAME_BITS(second, message(before() + 50, 3));
}

TEST(Communicator, DropsEmptyTransfersOnBothSides) {
  Counters::instance().reset();

  Communicator::world().exchange("empty", {{next(), at::empty({0, 3})}}, {{before(), at::empty({2, 0})}});

  EXPECT_EQ(Counters::instance().total(), Traffic{});
}

TEST(Communicator, RefusesATransferThatIsNotContiguousBeforeItSends) {
  Counters::instance().reset();
  const at::Tensor turned = at::full({2, 3}, 1.).t();

  EXPECT_ERROR(Communicator::world().exchange("turned", {{next(), turned}}, {}),
               "turned: a transfer to or from rank", "not contiguous");
  EXPECT_EQ(Counters::instance().total(), Traffic{});
}

TEST(Communicator, IsGoneOutsideTheRuntimesLife) {
  std::unique_ptr<Communicator> kept = set_world_communicator(nullptr);

  EXPECT_ERROR(Communicator::world(), "no Runtime is alive", "make one in main");

  set_world_communicator(std::move(kept));
  EXPECT_NO_THROW(Communicator::world());
}

struct Nothing final : Requests {
  bool done() override { return true; }
  std::vector<int> unfinished() const override { return {}; }
};

/// Writes down what it is asked for and moves nothing.
class Recorder final : public Transport {
 public:
  explicit Recorder(std::vector<Message>& messages) : messages_(messages) {}
  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override {
    for (Message& message : sends) messages_.push_back(std::move(message));
    for (Message& message : receives) messages_.push_back({-1 - message.peer, message.key, message.span});
    return std::make_unique<Nothing>();
  }
  int channels() const override { return channels_apart; }

  int channels_apart = kMaxChannels;

 private:
  std::vector<Message>& messages_;
};

TEST(Communicator, LeavesOutTheTransportWhenNothingIsToMove) {
  std::vector<Message> messages;
  Communicator communicator(std::make_unique<Recorder>(messages));

  communicator.exchange("nothing", {{3, at::empty({0})}}, {});
  EXPECT_TRUE(messages.empty());

  communicator.exchange("something", {{3, at::empty({0})}, {4, at::empty({1})}}, {{5, at::empty({1})}});
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].peer, 4);
  EXPECT_EQ(messages[1].peer, -6);
}

TEST(Communicator, NumbersAreTheOrderOfTheProgramPeerByPeer) {
  std::vector<Message> messages;
  Communicator communicator(std::make_unique<Recorder>(messages));
  const Reservation late = communicator.reserve({1, 2, 1}, {2});
  const Reservation soon = communicator.reserve({1}, {2, 3});

  EXPECT_EQ(late.sends().vec(), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(late.receives().vec(), (std::vector<int>{0}));
  EXPECT_EQ(soon.sends().vec(), (std::vector<int>{2}));
  EXPECT_EQ(soon.receives().vec(), (std::vector<int>{1, 0}));
}

TEST(Communicator, EachChannelHasNumbersOfItsOwn) {
  std::vector<Message> messages;
  auto recorder = std::make_unique<Recorder>(messages);
  recorder->channels_apart = 17;  // eight are the program's
  Communicator communicator(std::move(recorder));
  const auto reserve_in = [&](int channel) {
    const ChannelScope in(channel);
    return communicator.reserve({1}, {1, 1});
  };
  const TeamChannel of_a_team = std::make_shared<const int>(4);

  communicator.reserve({1}, {1});
  const Reservation first = reserve_in(7);
  communicator.reserve(of_a_team, {1}, {1});
  const Reservation second = reserve_in(7);
  const Reservation other = communicator.reserve({1}, {1});

  EXPECT_EQ(first.sends().vec(), (std::vector<int>{0}));
  EXPECT_EQ(second.sends().vec(), (std::vector<int>{1}));
  EXPECT_EQ(second.receives().vec(), (std::vector<int>{2, 3}));
  EXPECT_EQ(other.sends().vec(), (std::vector<int>{1}));
  EXPECT_NE(first.channel(), other.channel());
  first.post("", {{1, at::empty({1})}}, {});  // in the channel that it was reserved in
  communicator.reserve(of_a_team, {1}, {1}).post("", {{1, at::empty({1})}}, {});
  EXPECT_EQ(messages[0].key, MatchKey(first.channel(), 0));
  EXPECT_EQ(messages[1].key, MatchKey(4, 1));
  EXPECT_ERROR(reserve_in(8), "messages in channel 8", "8 channels apart", "number the channels lower");
  EXPECT_ERROR(reserve_in(kChannels), "a channel's number is from 0 to");
}

/// The even ranks make two calls of one size in another order than the odd ones.
TEST(Communicator, TwoOperatorsInAnotherOrderAreBothNamed) {
  if (Runtime::size() % 2 == 1) return;  // a ring of even and odd in turns
  const Operation one("Sum", "sum of the first");
  const Operation two("Sum", "sum of the second");
  const bool even = Runtime::rank() % 2 == 0;
  for (const std::int64_t count : {1, 3000, 100000}) {
    const at::Tensor received = at::empty({count}, at::kFloat);
    const auto call = [&](const Operation& operation) {
      Communicator::world().exchange(operation, {{next(), message(Runtime::rank(), count)}},
                                     {{before(), received}});
    };
    EXPECT_ERROR(call(even ? one : two), "the workers' programs differ: rank " + std::to_string(before()),
                 "bytes of Float in sum of the first", "bytes of Float in sum of the second");
    EXPECT_ERROR(call(even ? two : one), "the workers' programs differ", "in sum of the second");
    call(one);
    EXPECT_SAME_BITS(received, message(before(), count));
  }
}

TEST(Communicator, OperatorsOfOneTextMayDifferInDetailsOrType) {
  if (Runtime::size() % 2 == 1) return;
  const bool even = Runtime::rank() % 2 == 0;
  const Operation rows("Sum", "sum", " of (2, 3)", DigestBuilder().mix(2).mix(3));
  const Operation columns("Sum", "sum", " of (3, 2)", DigestBuilder().mix(3).mix(2));
  const Operation pieces("Sum", "sum", " of (2, 3)", DigestBuilder().mix(2).mix(3).mix(1));
  const at::Tensor floats = at::full({6}, 1.F);
  const at::Tensor integers = at::full({6}, 1, at::kInt);
  const auto call = [&](const Operation& operation, const at::Tensor& sent) {
    Communicator::world().exchange(operation, {{next(), sent}}, {{before(), at::empty_like(sent)}});
  };

  EXPECT_ERROR(call(even ? rows : columns, floats), "sum of (2, 3)", "sum of (3, 2)");
  EXPECT_ERROR(call(even ? rows : pieces, floats), "in sum of (2, 3), with other splits, pieces or workers");
  EXPECT_ERROR(call(rows, even ? floats : integers), "24 bytes of Float", "24 bytes of Int");
  EXPECT_NO_THROW(call(rows, floats));
}

TEST(Communicator, MessagesMayBePostedInAnotherOrderThanTheProgramsOwn) {
  if (Runtime::size() == 1) return;
  Communicator& world = Communicator::world();
  const int me = Runtime::rank();
  const at::Tensor first = at::empty({3}, at::kFloat);
  const at::Tensor second = at::empty({4}, at::kFloat);
  const Reservation one = world.reserve({next()}, {before()});
  const Reservation two = world.reserve({next()}, {before()});

  const auto a = [&] { return one.post("ring", {{next(), message(me, 3)}}, {{before(), first}}); };
  const auto b = [&] { return two.post("ring", {{next(), message(me + 50, 4)}}, {{before(), second}}); };
  std::unique_ptr<Requests> early = me % 2 == 0 ? a() : b();
  std::unique_ptr<Requests> later = me % 2 == 0 ? b() : a();
  bool all = false;
  while (!all) {  // both are asked, whichever is done: that is what moves them
    const bool one_done = early->done();
    all = later->done() && one_done;
  }

  EXPECT_SAME_BITS(first, message(before(), 3));
  EXPECT_SAME_BITS(second, message(before() + 50, 4));
}

}  // namespace
}  // namespace riesz
