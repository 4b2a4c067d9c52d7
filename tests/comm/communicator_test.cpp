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

/// Writes down what it is asked for and moves nothing.
class Recorder final : public Transport {
 public:
  explicit Recorder(std::vector<int>& peers) : peers_(peers) {}
  void exchange(const std::vector<Parcel>& sends, const std::vector<Parcel>& receives) override {
    for (const Parcel& parcel : sends) peers_.push_back(parcel.peer);
    for (const Parcel& parcel : receives) peers_.push_back(-1 - parcel.peer);
  }

 private:
  std::vector<int>& peers_;
};

TEST(Communicator, LeavesOutTheTransportWhenNothingIsToMove) {
  std::vector<int> peers;
  Communicator communicator(std::make_unique<Recorder>(peers));

  communicator.exchange("nothing", {{3, at::empty({0})}}, {});
  EXPECT_TRUE(peers.empty());

  communicator.exchange("something", {{3, at::empty({0})}, {4, at::empty({1})}}, {{5, at::empty({1})}});
  EXPECT_EQ(peers, (std::vector<int>{4, -6}));
}

}  // namespace
}  // namespace riesz
