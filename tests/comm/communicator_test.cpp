// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/communicator.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <memory>
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

TEST(Communicator, DropsEmptyParcelsOnBothSides) {
  Counters::instance().reset();

  Communicator::world().exchange("empty", {{next(), at::empty({0, 3})}}, {{before(), at::empty({2, 0})}});

  EXPECT_EQ(Counters::instance().total(), Traffic{});
}

TEST(Communicator, RefusesAParcelThatIsNotContiguousBeforeItSends) {
  Counters::instance().reset();
  const at::Tensor turned = at::full({2, 3}, 1.).t();

  EXPECT_ERROR(Communicator::world().exchange("turned", {{next(), turned}}, {}), "a parcel for rank",
               "not contiguous");
  EXPECT_EQ(Counters::instance().total(), Traffic{});
}

TEST(Communicator, IsGoneOutsideTheRuntimesLife) {
  std::unique_ptr<Communicator> kept = set_world_communicator(nullptr);

  EXPECT_ERROR(Communicator::world(), "no Runtime is alive", "make one in main");

  set_world_communicator(std::move(kept));
  EXPECT_NO_THROW(Communicator::world());
}

/// For transports that move nothing: there is nobody to compare with.
struct WithoutFingerprints {
  WithoutFingerprints() { set_fingerprints(false); }
  ~WithoutFingerprints() { set_fingerprints(before); }
  bool before = fingerprints();
};

struct Nothing final : Exchange {
  bool done() override { return true; }
  std::vector<int> unfinished() const override { return {}; }
};

/// Writes down what it is asked for and moves nothing.
class Recorder final : public Transport {
 public:
  explicit Recorder(std::vector<Message>& messages) : messages_(messages) {}
  std::unique_ptr<Exchange> post(std::vector<Message> sends, std::vector<Message> receives) override {
    for (Message& message : sends) messages_.push_back(std::move(message));
    for (Message& message : receives) messages_.push_back({-1 - message.peer, message.tag, message.range});
    return std::make_unique<Nothing>();
  }

 private:
  std::vector<Message>& messages_;
};

TEST(Communicator, LeavesOutTheTransportWhenNothingIsToMove) {
  const WithoutFingerprints alone;
  std::vector<Message> messages;
  Communicator communicator(std::make_unique<Recorder>(messages));

  communicator.exchange("nothing", {{3, at::empty({0})}}, {});
  EXPECT_TRUE(messages.empty());

  communicator.exchange("something", {{3, at::empty({0})}, {4, at::empty({1})}}, {{5, at::empty({1})}});
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].peer, 4);
  EXPECT_EQ(messages[1].peer, -6);
}

TEST(Communicator, TagsAreTheOrderOfTheProgramPeerByPeer) {
  const WithoutFingerprints alone;
  std::vector<Message> messages;
  Communicator communicator(std::make_unique<Recorder>(messages));
  const Tags late = communicator.take_tags({1, 2, 1}, {2});
  const Tags soon = communicator.take_tags({1}, {2, 3});

  EXPECT_EQ(late.sends, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(late.receives, (std::vector<int>{0}));
  EXPECT_EQ(soon.sends, (std::vector<int>{2}));
  EXPECT_EQ(soon.receives, (std::vector<int>{1, 0}));
  for (int i = 3; i < kTags; ++i) communicator.take_tags({1}, {});
  EXPECT_EQ(communicator.take_tags({1}, {}).sends, (std::vector<int>{0}));  // round again
}

TEST(Communicator, MessagesMayBePostedInAnotherOrderThanTheProgramsOwn) {
  if (Runtime::size() == 1) return;
  Communicator& world = Communicator::world();
  const int me = Runtime::rank();
  const at::Tensor first = at::empty({3}, at::kFloat);
  const at::Tensor second = at::empty({4}, at::kFloat);
  const Tags one = world.take_tags({next()}, {before()});
  const Tags two = world.take_tags({next()}, {before()});

  const auto a = [&] { return world.post("ring", one, {{next(), message(me, 3)}}, {{before(), first}}); };
  const auto b = [&] {
    return world.post("ring", two, {{next(), message(me + 50, 4)}}, {{before(), second}});
  };
  std::unique_ptr<Exchange> early = me % 2 == 0 ? a() : b();
  std::unique_ptr<Exchange> later = me % 2 == 0 ? b() : a();
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
