// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that go at once, without requests.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/progress/doorbell.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/shared/transport.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

std::vector<int> ranks_of_job() {
  std::vector<int> ranks(static_cast<std::size_t>(Runtime::size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int after() { return (Runtime::rank() + 1) % Runtime::size(); }
int ahead() { return (Runtime::rank() + Runtime::size() - 1) % Runtime::size(); }

Signature of(std::int64_t count, std::string_view text = "", std::uint64_t digest = 0) {
  return {text, digest == 0 ? no_label()->digest() : digest, 8 * count, at::kLong};
}

using Longs = std::vector<std::int64_t>;

bool send(SharedTransport& transport, int number, const Longs& values) {
  const auto pack = [&](std::byte* to) {
    std::copy_n(reinterpret_cast<const std::byte*>(values.data()), 8 * values.size(), to);
  };
  return transport.send_now(after(), number, of(static_cast<std::int64_t>(values.size())), pack);
}

Longs received(SharedTransport& transport, int number, std::size_t count) {
  Longs values(count);
  const auto unpack = [&](const std::byte* from) {
    std::copy_n(from, 8 * count, reinterpret_cast<std::byte*>(values.data()));
  };
  while (!transport.receive_now(ahead(), number, of(static_cast<std::int64_t>(count)), unpack)) {
    transport.progress_near();
    std::this_thread::yield();
  }
  return values;
}

/// Once all have come here, and what they have sent before is in the rings.
void meet(SharedTransport& transport) {
  for (int step = 1; step < Runtime::size(); step *= 2) {
    const int peer = (Runtime::rank() + step) % Runtime::size();
    const int from = (Runtime::rank() + Runtime::size() - step) % Runtime::size();
    const auto requests = transport.post({{peer, 9999, at::full({1}, 1, at::kLong)}},
                                         {{from, 9999, at::empty({1}, at::kLong)}});
    while (!requests->done()) std::this_thread::yield();
  }
}

TEST(AtOnce, GoesToOthersAloneAndOfAnySize) {
  SharedTransport transport(ranks_of_job());
  EXPECT_FALSE(transport.goes_now(Runtime::rank()));
  if (Runtime::size() == 1) return;
  EXPECT_TRUE(transport.goes_now(after()));
  for (const std::size_t count : {0, 1, 7, 8, 9, 1000, 2047}) {
    Longs values(count);
    std::iota(values.begin(), values.end(), 100 * Runtime::rank());
    while (!send(transport, static_cast<int>(count), values)) transport.progress_near();
    std::iota(values.begin(), values.end(), 100 * ahead());
    EXPECT_EQ(received(transport, static_cast<int>(count), count), values);
  }
}

/// Who takes a message has the other look at what it has sent before.
TEST(AtOnce, RingsByWhatItTakes) {
  if (Runtime::size() != 2) return;
  SharedTransport transport(ranks_of_job());
  const auto bell = transport.doorbell();
  ASSERT_TRUE(send(transport, 0, {Runtime::rank()}));
  bell->listen();
  Communicator::world().host_allgather("both listen", {after()}, at::full({1}, 1, at::kLong));

  EXPECT_EQ(received(transport, 0, 1), Longs{ahead()});
  const auto begin = std::chrono::steady_clock::now();
  bell->wait(std::chrono::seconds(60));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(AtOnce, IsKnownToAReservation) {
  Communicator communicator(std::make_unique<SharedTransport>(ranks_of_job()));
  const int me = Runtime::rank();

  EXPECT_FALSE(communicator.reserve({me}, {}).goes_now());
  EXPECT_FALSE(communicator.reserve({}, {me}).goes_now());
  if (Runtime::size() == 1) return;
  EXPECT_TRUE(communicator.reserve({after()}, {ahead()}).goes_now());
  EXPECT_FALSE(communicator.reserve({after()}, {me}).goes_now());
}

/// What comes earlier is kept for those who want it.
TEST(AtOnce, MatchesByKeyAloneWhateverTheOrder) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(ranks_of_job());
  for (int number = 0; number < 20; ++number) ASSERT_TRUE(send(transport, number, {number, 5}));
  transport.progress_near();
  for (int number = 19; number >= 0; --number) EXPECT_EQ(received(transport, number, 2), (Longs{number, 5}));
}

TEST(AtOnce, MeetsRequestsAtEitherEnd) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(ranks_of_job());
  const at::Tensor late = at::empty({3}, at::kLong);
  const auto posted = transport.post({{after(), 1, at::full({2}, 4, at::kLong)}}, {{ahead(), 0, late}});
  ASSERT_TRUE(send(transport, 0, {1, 2, 3}));
  EXPECT_EQ(received(transport, 1, 2), (Longs{4, 4}));
  while (!posted->done()) std::this_thread::yield();
  EXPECT_EQ(late.sum().item<std::int64_t>(), 6);
}

/// A large message that lies in front is answered meanwhile.
TEST(AtOnce, PassesWhatIsLarge) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(ranks_of_job());
  const at::Tensor large = at::full({100000}, Runtime::rank(), at::kLong);
  const at::Tensor comes = at::empty({100000}, at::kLong);
  const auto sent = transport.post({{after(), 0, large}}, {});
  ASSERT_TRUE(send(transport, 1, {7}));
  EXPECT_EQ(received(transport, 1, 1), Longs{7});
  const auto taken = transport.post({}, {{ahead(), 0, comes}});
  while (!taken->done() || !sent->done()) std::this_thread::yield();
  EXPECT_SAME_BITS(comes, at::full({100000}, ahead(), at::kLong));
}

/// Then it is to be posted, and nothing of it has been sent.
TEST(AtOnce, SaysThatThereIsNoRoom) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(ranks_of_job());
  SharedTransport meeting(ranks_of_job());
  const Longs values(1500, 3);
  int sent = 0;
  while (send(transport, sent, values)) ++sent;
  EXPECT_GT(sent, 8);
  EXPECT_LT(sent, 40);
  const auto posted = transport.post({{after(), sent, at::full({1500}, 3, at::kLong)}}, {});
  EXPECT_FALSE(send(transport, sent + 1, {1})) << "another waits for room";
  meet(meeting);  // nobody takes anything before
  for (int number = 0; number <= sent; ++number) EXPECT_EQ(received(transport, number, 1500), values);
  while (!posted->done()) std::this_thread::yield();
  meet(meeting);  // all is taken
  EXPECT_TRUE(send(transport, sent + 1, {1}));
  EXPECT_EQ(received(transport, sent + 1, 1), Longs{1});
}

TEST(AtOnce, NamesBothEndsWhereTheyDiffer) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(ranks_of_job());
  const auto nothing = [](auto*) {};
  ASSERT_TRUE(transport.send_now(after(), 0, of(2, "AllReduce over tp", 11), nothing));
  const auto large = transport.post({{after(), 1, at::full({50000}, 1, at::kLong)}}, {});
  meet(transport);
  const std::string from = "rank " + std::to_string(ahead()) + " sent ";
  EXPECT_ERROR(transport.receive_now(ahead(), 0, of(2, "AllGather over tp", 12), nothing),
               from + "16 bytes of Long in AllReduce over tp",
               "expects 16 bytes of Long in AllGather over tp");
  EXPECT_ERROR(transport.receive_now(ahead(), 1, of(1), nothing), from + "400000 bytes", "expects 8 bytes");
  while (!large->done()) std::this_thread::yield();  // its sender need not wait
  while (!send(transport, 2, {6})) transport.progress_near();
  EXPECT_EQ(received(transport, 2, 1), Longs{6}) << "what differed is gone";
}

/// Another label, of which a ring carries the text in the same place.
std::shared_ptr<const Label> in_the_place_of(const Label& label) {
  for (int i = 0;; ++i) {
    auto other = std::make_shared<const Label>("Halo " + std::to_string(i), DigestBuilder());
    if (other->digest() % 32 == label.digest() % 32) return other;
  }
}

/// A label's text goes along once. The receiver names it still, also after another label took its place.
TEST(AtOnce, NamesWhatHasGoneAlongBefore) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(ranks_of_job());
  const auto nothing = [](auto*) {};
  const auto shift = std::make_shared<const Label>("Shift", DigestBuilder());
  const std::shared_ptr<const Label> halo = in_the_place_of(*shift);
  const auto copy = std::make_shared<const Label>("Copy", DigestBuilder());
  const std::vector labels{shift, shift, shift, halo, shift, halo, copy, copy, halo};
  for (int i = 0; i < static_cast<int>(labels.size()); ++i) {
    const std::shared_ptr<const Label>& label = labels[static_cast<std::size_t>(i)];
    if (i % 3 == 2)  // posted ones have texts as well
      transport.post({{after(), i, at::full({1}, 1, at::kLong), label}}, {});
    else
      ASSERT_TRUE(transport.send_now(after(), i, of(1, label->text(), label->digest()), nothing));
  }
  transport.progress_near();
  meet(transport);  // all are kept
  for (int i = static_cast<int>(labels.size()); i-- > 0;)
    EXPECT_ERROR(transport.receive_now(ahead(), i, of(2), nothing),
                 "8 bytes of Long in " + labels[static_cast<std::size_t>(i)]->text() + ", where");
}

}  // namespace
}  // namespace riesz
