// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/mpi.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

/// What `from` has for `to`; its size differs by both.
at::Tensor payload(int from, int to) {
  return at::arange(3 * from + to + 1, at::kDouble).add(1000 * from + 10 * to);
}

/// All at once, to the end.
void exchange(MpiTransport& transport, const std::vector<Message>& sends,
              const std::vector<Message>& receives) {
  const std::unique_ptr<Requests> messages = transport.post(sends, receives);
  while (!messages->done()) {
  }
  EXPECT_TRUE(messages->unfinished().empty());
}

/// Every rank to every other, over a transport of such messages.
void all_to_all(std::int64_t largest_message) {
  MpiTransport transport(largest_message);
  const int me = Runtime::rank();
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int peer = 0; peer < Runtime::size(); ++peer) {
    if (peer == me) continue;
    sends.push_back({peer, 3, payload(me, peer)});
    receives.push_back({peer, 3, at::empty_like(payload(peer, me))});
  }
  exchange(transport, sends, receives);
  for (const Message& received : receives) EXPECT_SAME_BITS(received.span.data, payload(received.peer, me));
}

TEST(MpiTransport, MovesEveryMessageToItsPeer) { all_to_all(1 << 30); }

TEST(MpiTransport, CutsLargeMessagesIntoPieces) {
  all_to_all(64);
  all_to_all(8);
  all_to_all(7);  // breaks elements
}

TEST(MpiTransport, SeesAMessageThatIsTooShort) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();

  EXPECT_ERROR(exchange(transport, {{next, 1, at::zeros({1}, at::kDouble)}},
                        {{before, 1, at::zeros({2}, at::kDouble)}}),
               "the workers' programs differ: rank " + std::to_string(before) +
                   " sent 8 bytes of Double, where this worker expects 16 bytes of Double");
}

TEST(MpiTransport, SeesAMessageThatIsTooLong) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;

  if (Runtime::rank() == 0) exchange(transport, {{1, 1, at::zeros({3}, at::kDouble)}}, {});
  if (Runtime::rank() == 1) {
    EXPECT_ERROR(
        exchange(transport, {}, {{0, 1, at::zeros({2}, at::kDouble)}}),
        "the workers' programs differ: rank 0 sent 24 bytes of Double, where this worker expects 16");
  }
}

TEST(MpiTransport, SeesAMessageOfAnotherOperator) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  const auto label = [](int rank) {
    return std::make_shared<const Label>("operator of rank " + std::to_string(rank), DigestBuilder());
  };
  for (const std::int64_t size : {3, 1500, 50000}) {
    const at::Tensor sent = at::zeros({size}, at::kDouble);
    EXPECT_ERROR(exchange(transport, {{next, 1, sent, label(Runtime::rank())}},
                          {{before, 1, at::empty_like(sent), label(Runtime::rank())}}),
                 "of Double in operator of rank " + std::to_string(before),
                 "of Double in operator of rank " + std::to_string(Runtime::rank()));
  }
}

/// Open MPI 4.1 writes behind a receive that is too short for its message.
TEST(MpiTransport, AMessageThatIsTooLongWritesNothing) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  for (const std::int64_t size : {20'000, 300'000}) {
    const at::Tensor memory = at::zeros({2 * size}, at::kDouble);
    const at::Tensor sent = at::zeros({size}, at::kDouble).fill_(3);
    EXPECT_ERROR(exchange(transport, {{next, 1, sent}}, {{before, 1, TensorSpan(memory, 0, size / 2)}}),
                 std::to_string(8 * size) + " bytes of Double");
    const at::Tensor received = at::empty_like(sent);
    for (const int tag : {2, 3}) exchange(transport, {{next, tag, sent}}, {{before, tag, received}});
    EXPECT_SAME_BITS(received, sent);
    EXPECT_SAME_BITS(memory, at::zeros_like(memory));
  }
}

/// MPI tells messages of one key apart by the order in which they are posted, whatever is asked for first.
TEST(MpiTransport, LargeMessagesOfOneKeyKeepTheirOrder) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  std::vector<std::unique_ptr<Requests>> sending, receiving;
  std::vector<at::Tensor> received;
  for (const double value : {1., 2., 3.}) {
    received.push_back(at::empty({100'000}, at::kDouble));
    receiving.push_back(transport.post({}, {{before, 1, received.back()}}));
    sending.push_back(transport.post({{next, 1, at::full({100'000}, value, at::kDouble)}}, {}));
  }
  const auto finish = [&](Requests& one) {
    while (!one.done()) {
      for (const auto& each : sending) each->done();
      std::this_thread::yield();
    }
  };
  for (std::size_t i = received.size(); i-- > 0;) {
    finish(*receiving[i]);
    EXPECT_SAME_BITS(received[i], at::full({100'000}, static_cast<double>(i + 1), at::kDouble));
  }
  for (const auto& each : sending) finish(*each);
}

/// Numbers share tags. Where a message overtakes one of its tag, neither is taken for the other.
TEST(MpiTransport, SeesMessagesOfOneTagInAnotherOrder) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  const int late = 5 + (1 << 14);
  for (const std::int64_t size : {3, 1000}) {
    const at::Tensor one = at::full({size}, 1., at::kDouble), two = at::full({size}, 2., at::kDouble);
    const at::Tensor first = at::zeros_like(one), second = at::zeros_like(one);
    exchange(transport, {{next, 5, one}, {next, late, two}}, {{before, 5, first}, {before, late, second}});
    EXPECT_SAME_BITS(first, one);
    EXPECT_SAME_BITS(second, two);

    EXPECT_ERROR(
        exchange(transport, {{next, 5, one}, {next, late, two}},
                 {{before, late, second}, {before, 5, first}}),
        "messages 5 and 16389 from rank " + std::to_string(before) + " are under way together in one channel",
        "in a channel of its own");
    exchange(transport, {{next, 6, one}}, {{before, 6, second}});
    EXPECT_SAME_BITS(second, one);
  }
}

/// Of three: the first never comes, the last has nobody's size. Whoever asks again is told again.
TEST(MpiTransport, SeesWhatIsWrongBehindWhatNeverComes) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  const at::Tensor never = at::empty({5}, at::kDouble);
  const at::Tensor large = at::empty({5000}, at::kDouble);
  const at::Tensor one = at::empty({1}, at::kDouble);
  const std::unique_ptr<Requests> exchange =
      transport.post({{next, 2, at::zeros({5000}, at::kDouble)}, {next, 3, at::zeros({2}, at::kDouble)}},
                     {{before, 1, never}, {before, 2, large}, {before, 3, one}});
  const auto wait = [&] {
    while (!exchange->done()) {
    }
  };

  for (int i = 0; i < 3; ++i) EXPECT_ERROR(wait(), "sent 16 bytes of Double", "expects 8 bytes of Double");
}

TEST(MpiTransport, CarriesMessagesOfAnySizeInTurn) {
  if (Runtime::size() == 1) return;
  MpiTransport transport;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  std::vector<Message> sends, receives;
  for (const std::int64_t size : {0, 1, 1023, 1024, 1025, 40000, 2}) {  // behind the head up to 8 KiB
    sends.push_back({next, 1, at::arange(size, at::kDouble).add(Runtime::rank())});
    receives.push_back({before, 1, at::empty({size}, at::kDouble)});
  }
  exchange(transport, sends, receives);
  for (const Message& received : receives) {
    const at::Tensor& data = received.span.data;
    EXPECT_SAME_BITS(data, at::arange(data.numel(), at::kDouble).add(before));
  }
}

TEST(MpiTransport, KeepsItsMessagesApartFromOtherTransports) {
  if (Runtime::size() == 1) return;
  MpiTransport first;
  MpiTransport second;
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  const at::Tensor a = at::empty({4}, at::kDouble);
  const at::Tensor b = at::empty({2}, at::kDouble);

  const bool even =
      Runtime::rank() % 2 == 0;  // the first rank sends on the second transport late, its peer receives early
  exchange(first, {{next, 1, at::arange(4, at::kDouble)}},
           even ? std::vector<Message>{} : std::vector<Message>{{before, 1, a}});
  exchange(second, {{next, 1, at::arange(2, at::kDouble)}}, {{before, 1, b}});
  if (even) exchange(first, {}, {{before, 1, a}});

  EXPECT_SAME_BITS(a, at::arange(4, at::kDouble));
  EXPECT_SAME_BITS(b, at::arange(2, at::kDouble));
}

/// Rank 1 to rank 0, over a transport made now.
void expect_next_is_its_own() {
  MpiTransport transport;
  const at::Tensor sent = at::full({3}, 7., at::kDouble);
  const at::Tensor received = at::zeros_like(sent);
  if (Runtime::rank() == 1) exchange(transport, {{0, 1, sent}}, {});
  if (Runtime::rank() == 0) {
    exchange(transport, {}, {{1, 1, received}});
    EXPECT_SAME_BITS(received, sent);
  }
}

TEST(MpiTransport, AReceiveThatIsLeftTakesNothingOfTheNext) {
  if (Runtime::size() == 1) return;
  {
    MpiTransport left;
    if (Runtime::rank() == 0) left.post({}, {{1, 1, at::empty({3}, at::kDouble)}});
  }
  expect_next_is_its_own();
}

/// It arrives while nobody asks MPI for it.
TEST(MpiTransport, AMessageThatIsLeftIsNotTakenForOneOfTheNext) {
  if (Runtime::size() == 1) return;
  {
    MpiTransport left;
    if (Runtime::rank() == 1) left.post({{0, 1, at::full({3}, -1., at::kDouble)}}, {});
    if (Runtime::rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  expect_next_is_its_own();
}

TEST(MpiTransport, RefusesLimitsThatMpiCannotCount) {
  EXPECT_ERROR(MpiTransport(0), "0 bytes; it must be from 1 to 2^30");
  EXPECT_ERROR(MpiTransport((std::int64_t{1} << 30) + 1), "it must be from 1 to 2^30");
}

}  // namespace
}  // namespace riesz
