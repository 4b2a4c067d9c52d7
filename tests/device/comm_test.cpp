// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Messages, moves and sums of tensors elsewhere than in host memory.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/standstill.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/untaken.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

const std::vector<at::ScalarType> kTypes{at::kDouble, at::kFloat, at::kBFloat16, at::kLong};

int next() { return (Runtime::rank() + 1) % Runtime::size(); }
int before() { return (Runtime::rank() + Runtime::size() - 1) % Runtime::size(); }

bool comes(const std::function<bool()>& condition) {
  const auto begin = std::chrono::steady_clock::now();
  while (!condition() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
    std::this_thread::yield();
  return condition();
}

at::Tensor message(int rank, std::int64_t count) { return at::arange(count, at::kFloat).add(100 * rank); }

TEST(OnADevice, MessagesGoThroughHostMemory) {
  if (Runtime::size() == 1) return;
  Counters::instance().reset();
  const at::Tensor sent = message(Runtime::rank(), 12).to(pretend_device());
  const at::Tensor received = at::full({9}, -1., sent.options());

  Communicator::world().exchange("ring", {{next(), {sent, 3, 5}}}, {{before(), {received, 2, 5}}});

  expect_there(received.narrow(0, 2, 5), message(before(), 12).narrow(0, 3, 5));
  EXPECT_EQ(received.cpu().eq(-1).sum().item<int>(), 4);
  EXPECT_EQ(Counters::instance().by_operation().at("ring"), (Traffic{5, 20, 1}));
}

TEST(OnADevice, OneRoundHasMessagesOfTheHostToo) {
  if (Runtime::size() == 1) return;
  const int me = Runtime::rank();
  const at::Tensor there = at::empty({3}, at::device(pretend_device()).dtype(at::kFloat));
  const at::Tensor here = at::empty({4}, at::kFloat);

  Communicator::world().exchange(
      "ring", {{next(), message(me, 3)}, {next(), message(me + 50, 4).to(pretend_device())}},
      {{before(), there}, {before(), here}});

  expect_there(there, message(before(), 3));
  EXPECT_SAME_BITS(here, message(before() + 50, 4));
}

/// One wait by polling for each message out of the device, and none for those into it.
TEST(OnADevice, AMessageWaitsByPollingForItsCopy) {
  const LatenessScope latest(Lateness::latest);  // so no copy is done when it is queried first
  const at::Tensor sent = at::full({4}, 7., at::device(pretend_device()));
  const at::Tensor received = at::empty({4}, sent.options()), here = at::empty({4}, at::kFloat);
  const NoHostReads none;
  if (Runtime::size() > 1) {
    Communicator::world().exchange("ring", {{next(), sent}}, {{before(), received}});
    EXPECT_EQ(none.polled(), 1);
    Communicator::world().exchange("ring", {{next(), at::full({4}, 1.)}}, {{before(), received}});
    EXPECT_EQ(none.polled(), 1);
    Communicator::world().exchange("ring", {{next(), sent}, {next(), received}},
                                   {{before(), here}, {before(), here}});
    EXPECT_EQ(none.polled(), 3);
  }
  Counters::instance().reset();
  const Space S = Space(row(), {3, 70}).partial("a");
  const at::Tensor x = at::full({3, 70}, 1., sent.options());
  const std::int64_t before_it = none.polled();
  const Vector sum = between(S, dual(S))(Vector(S, x));
  EXPECT_EQ(none.polled() - before_it, Counters::instance().total().messages);
}

/// As the host's: their end waits for no device, and others wait for them.
TEST(OnADevice, MessagesThatAreDroppedAreSentAllTheSame) {
  if (Runtime::size() == 1) return;
  const LatenessScope latest(Lateness::latest);  // so none is copied when it is dropped
  Communicator& world = Communicator::world();
  {
    const NoHostReads none;
    const at::Tensor sent = at::full({4}, 7. + Runtime::rank(), at::device(pretend_device()));
    world.reserve({next()}, {}).post("dropped", {{next(), sent}}, {}, Counted::nothing);
  }
  const at::Tensor received = at::empty({4}, at::kFloat);
  const auto arriving =
      world.reserve({}, {before()}).post("dropped", {}, {{before(), received}}, Counted::nothing);
  ASSERT_TRUE(comes([&] { return arriving->done(); }));
  EXPECT_SAME_BITS(received, at::full({4}, 7. + before()));
}

/// Ends when it is let end. While it is under way, the background sleeps until somebody rings.
class Still final : public BackgroundTask {
 public:
  std::atomic<bool> may_end = false;

 private:
  bool progress() override { return may_end; }
  const std::string& operation() const override { return text_; }
  std::vector<int> waits_for() const override { return {}; }

  std::string text_ = "a test";
};

/// Nobody rings when a copy out of a device is done.
TEST(OnADevice, TheBackgroundLooksOftenWhileACopyIsUnderWay) {
  const LatenessScope latest(Lateness::latest);
  set_longest_sleep(std::chrono::seconds(60));
  const auto still = std::make_shared<Still>();
  run_in_background(still);
  std::vector<int> team;
  PieceOffsets pieces{0};
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    team.push_back(rank);
    pieces.push_back(3 * (rank + 1));
  }
  TeamBuffer buffer(team, pieces.back(), at::kDouble, pretend_device());
  for (int i = 0; i < 3; ++i) {
    buffer.local().fill_(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * i));  // by then the background sleeps
    const auto sum = buffer.all_reduce("AllReduce", pieces);
    EXPECT_TRUE(comes([&] { return sum->ended(); })) << "and no thread waits for it";
    sum->wait();
  }
  still->may_end = true;
  still->wait();
  set_longest_sleep(kLongestSleep);
  expect_there(buffer.local(), at::full({pieces.back()}, Runtime::size(), at::kDouble));
}

/// The second send is held back until the first is taken, and the other worker waits for this one. But what
/// it waits for is being copied.
TEST(OnADevice, ACopyThatIsUnderWayIsNoStandstill) {
  if (Runtime::size() != 2) return;
  const std::int64_t most = most_untaken();
  set_most_untaken(1);
  set_standstill(std::chrono::milliseconds(200));
  const at::Tensor first = at::empty({3}, at::kFloat), second = at::empty({3}, at::kFloat);
  Communicator& world = Communicator::world();
  if (Runtime::rank() == 0) {
    sleep_there(1000);
    const at::Tensor sent = at::full({3}, 7., at::device(pretend_device()));
    EXPECT_NO_THROW({
      world.reserve({1}, {}).send("first", {{1, sent}});
      world.reserve({1}, {}).send("second", {{1, sent}});
    });
  } else {
    world.exchange("first", {}, {{0, first}});
    world.exchange("second", {}, {{0, second}});
    for (const at::Tensor& each : {first, second}) EXPECT_SAME_BITS(each, at::full({3}, 7.));
  }
  set_standstill(kStandstill);
  set_most_untaken(most);
}

TEST(OnADevice, MessagesAreContiguous) {
  const at::Tensor turned = at::full({2, 3}, 1., at::device(pretend_device())).t();
  EXPECT_ERROR(Communicator::world().exchange("turned", {{next(), turned}}, {}), "not contiguous");
}

TEST(OnADevice, SumsAreThoseOfTheHost) {
  for (const at::ScalarType type : kTypes) {
    SCOPED_TRACE(type);
    for (const int count : {1, 2, 5, 40}) {
      std::vector<at::Tensor> here;
      std::vector<at::Tensor> there;
      for (int i = 0; i < count; ++i) {
        here.push_back(at::arange(7, at::kDouble).add(i).mul(1.0 / 3).sin().mul(9).to(type));
        there.push_back(here.back().to(pretend_device()));
      }
      const at::Tensor into = at::empty({7}, there.front().options());
      ordered_sum_to(there, into);

      expect_there(ordered_sum(there), ordered_sum(here));
      expect_there(into, ordered_sum(here));
    }
  }
}

/// The moves of a team's buffer, one after another, and what was sent.
std::pair<std::vector<at::Tensor>, Traffic> moved(at::ScalarType type, at::Device device) {
  std::vector<int> team;
  for (int rank = Runtime::size(); rank-- > 0;) team.push_back(rank);
  const Split split = Split::balanced(11, Runtime::size());
  PieceOffsets pieces;
  for (int i = 0; i < Runtime::size(); ++i) pieces.push_back(split[i].begin);
  pieces.push_back(11);
  TeamBuffer buffer(team, 13, type, device);
  const auto fill = [&] {
    buffer.local().copy_(at::arange(13, at::kDouble).add(Runtime::rank()).sin().mul(9).to(type));
  };
  const auto begin = static_cast<std::size_t>(buffer.position());
  const std::int64_t size = pieces[begin + 1] - pieces[begin];
  std::vector<at::Tensor> results;
  Counters::instance().reset();

  fill();
  buffer.all_reduce("AllReduce", pieces)->wait();
  results.push_back(buffer.local().clone());
  for (const bool add : {false, true}) {
    fill();
    results.push_back(at::full({size}, 5, buffer.local().options()));
    buffer.reduce_scatter("ReduceScatter", pieces, results.back(), add)->wait();
  }
  fill();
  const at::Tensor piece = buffer.local().narrow(0, pieces[begin], size);
  buffer.reduce_scatter("ReduceScatter", pieces, piece)->wait();
  buffer.all_gather("AllGather", pieces, TeamBuffer::Contents::whole, buffer.local())->wait();
  results.push_back(buffer.local().clone());
  fill();
  results.push_back(at::full({11}, 5, buffer.local().options()));
  buffer.all_gather("AllGather", pieces, TeamBuffer::Contents::piece, results.back(), 2)->wait();
  return {results, Counters::instance().total()};
}

TEST(OnADevice, TeamsMoveBuffersAsOnTheHost) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
    SCOPED_TRACE(type);
    const auto [here, sent_here] = moved(type, at::kCPU);
    const auto [there, sent_there] = moved(type, pretend_device());
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) expect_there(there[i], here[i]);
    EXPECT_EQ(sent_there.elements, sent_here.elements);
    EXPECT_EQ(sent_there.bytes, sent_here.bytes);
  }
}

TEST(OnADevice, ATeamsResultIsWhereItsBufferIs) {
  TeamBuffer buffer({Runtime::rank()}, 3, at::kFloat, pretend_device());
  EXPECT_ERROR(
      buffer.all_gather("AllGather", {0, 3}, TeamBuffer::Contents::whole, at::empty({3}, at::kFloat)),
      "out has Float on cpu", "Float on pretend:0", "they must be alike");
}

}  // namespace
}  // namespace riesz::testing
