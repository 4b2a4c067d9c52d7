// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/shared/transport.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/transports/router.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

std::vector<int> all_ranks() {
  std::vector<int> ranks(static_cast<std::size_t>(Runtime::size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int next() { return (Runtime::rank() + 1) % Runtime::size(); }
int before() { return (Runtime::rank() + Runtime::size() - 1) % Runtime::size(); }

/// What `from` has for `to`; its size differs by both.
at::Tensor payload(int from, int to, std::int64_t unit) {
  return at::arange(unit * (3 * from + to + 1), at::kDouble).add(1000 * from + 10 * to);
}

/// To the end, of all; what is asked moves the others too.
void finish(const std::vector<std::unique_ptr<Requests>>& requests) {
  for (bool all = false; !all;) {
    all = true;
    for (const auto& each : requests) all = each->done() && all;
    std::this_thread::yield();
  }
  for (const auto& each : requests) EXPECT_TRUE(each->unfinished().empty());
}

void exchange(Transport& transport, const std::vector<Message>& sends, const std::vector<Message>& receives) {
  const std::unique_ptr<Requests> messages = transport.post(sends, receives);
  while (!messages->done()) std::this_thread::yield();
  EXPECT_TRUE(messages->unfinished().empty());
}

/// Every rank to every other, twice by the same tag.
void all_to_all(Transport& transport, std::int64_t unit) {
  const int me = Runtime::rank();
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int peer = 0; peer < Runtime::size(); ++peer) {
    if (peer == me) continue;
    for (const double twice : {0., .5}) {
      sends.push_back({peer, 3, payload(me, peer, unit).add(twice)});
      receives.push_back({peer, 3, at::empty_like(payload(peer, me, unit))});
    }
  }
  exchange(transport, sends, receives);
  for (std::size_t i = 0; i < receives.size(); ++i)
    EXPECT_SAME_BITS(receives[i].span.data, payload(receives[i].peer, me, unit).add(i % 2 == 0 ? 0. : .5));
}

TEST(SharedTransport, MovesEveryMessageOfAnySizeToItsPeer) {
  SharedTransport transport(all_ranks());
  for (const std::int64_t unit : {1, 5, 400, 4096, 4097, 9000}) all_to_all(transport, unit);
}

TEST(RouterTransport, MovesEveryMessageWithinAndBetweenHosts) {
  for (const int ranks_per_host : {1, 2, 3}) {
    const auto transport = make_transport({TransportSettings::Way::automatic, ranks_per_host});
    for (const std::int64_t unit : {1, 30000}) all_to_all(*transport, unit);
    for (int rank = 0; rank < Runtime::size(); ++rank)
      EXPECT_EQ(transport->shares_memory_with(rank),
                rank / ranks_per_host == Runtime::rank() / ranks_per_host);
  }
}

TEST(SharedTransport, AMessageWithoutAReceiveBlocksNoOther) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  const int count = 40;  // of 400 kB, more than a ring holds; and small ones between them
  std::vector<std::unique_ptr<Requests>> requests;
  std::vector<at::Tensor> received;
  for (int tag = 0; tag < count; ++tag) {
    const std::int64_t size = tag % 2 == 0 ? 50000 : 100;
    requests.push_back(transport.post({{next(), tag, at::full({size}, tag, at::kDouble)}}, {}));
  }
  for (int tag = count - 1; tag >= 0; --tag) {  // the last first, each to its end
    received.push_back(at::empty({tag % 2 == 0 ? 50000 : 100}, at::kDouble));
    exchange(transport, {}, {{before(), tag, received.back()}});
    EXPECT_SAME_BITS(received.back(), at::full(received.back().sizes(), tag, at::kDouble));
  }
  finish(requests);
}

/// Else what is not received yet would heap up at the receiver, copied once more.
TEST(SharedTransport, HoldsUpWhoSendsMoreThanIsAwaited) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  SharedTransport meeting(all_ranks());
  std::vector<Message> sends, receives;
  for (int i = 0; i < 64; ++i) {  // of 16 KiB
    sends.push_back({next(), 5, at::full({2048}, i, at::kDouble)});
    receives.push_back({before(), 5, at::empty({2048}, at::kDouble)});
  }
  const std::unique_ptr<Requests> sending = transport.post(sends, {});
  all_to_all(meeting, 1);
  for (int i = 0; i < 300; ++i) {
    EXPECT_FALSE(sending->done());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  all_to_all(meeting, 1);  // nobody receives before all have tried
  const std::unique_ptr<Requests> receiving = transport.post({}, receives);
  for (bool all = false; !all; std::this_thread::yield()) {
    const bool received = receiving->done();
    all = sending->done() && received;
  }
  for (int i = 0; i < 64; ++i)
    EXPECT_SAME_BITS(receives[static_cast<std::size_t>(i)].span.data, at::full({2048}, i, at::kDouble));
}

TEST(SharedTransport, SaysWhoIsWaitedFor) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  const at::Tensor received = at::empty({3});
  const std::unique_ptr<Requests> waiting =
      transport.post({}, {{before(), 7, received}, {before(), 8, received}});
  EXPECT_FALSE(waiting->done());
  EXPECT_EQ(waiting->unfinished(), (std::vector<int>{before()}));
  all_to_all(transport, 2);
  exchange(transport, {{next(), 7, at::full({3}, 1.F)}, {next(), 8, at::full({3}, 1.F)}}, {});
  while (!waiting->done()) std::this_thread::yield();
  EXPECT_TRUE(waiting->unfinished().empty());
}

/// `mine` elements are sent, `theirs` expected, and those who see no error go on.
void expect_difference(Transport& transport, std::int64_t mine, std::int64_t theirs) {
  EXPECT_ERROR(exchange(transport, {{next(), 1, at::zeros({mine}, at::kDouble)}},
                        {{before(), 1, at::zeros({theirs}, at::kDouble)}}),
               "the workers' programs differ: rank " + std::to_string(before()) + " sent " +
                   std::to_string(8 * mine) + " bytes of Double, where this worker expects " +
                   std::to_string(8 * theirs) + " bytes of Double;");
}

TEST(SharedTransport, SeesAMessageOfAnotherSize) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  expect_difference(transport, 1, 2);
  expect_difference(transport, 2, 1);
  expect_difference(transport, 100000, 2);
  expect_difference(transport, 2, 100000);
  all_to_all(transport, 3000);  // others are not touched by it
}

/// What was posted may be given up: nobody waits for it, and other messages are not touched by it. What was
/// sent arrives.
TEST(Requests, GoesAwayWithoutWaiting) {
  if (Runtime::size() == 1) return;
  for (const auto way : {TransportSettings::Way::automatic, TransportSettings::Way::mpi}) {
    const auto transport = make_transport({way, 2});
    at::Tensor never = at::empty({3});
    { const auto dropped = transport->post({}, {{before(), 1, never}}); }
    for (const std::int64_t size : {10, 100000}) {
      const at::Tensor sent = at::full({size}, Runtime::rank(), at::kDouble);
      const at::Tensor received = at::empty({size}, at::kDouble);
      { const auto dropped = transport->post({{next(), 2, sent.clone()}}, {}); }
      exchange(*transport, {}, {{before(), 2, received}});
      EXPECT_SAME_BITS(received, at::full({size}, before(), at::kDouble));
      all_to_all(*transport, 1);
    }
    all_to_all(*transport, 1000);
  }
}

/// On hosts of two. An error on one way while a message on the other never comes: it is thrown at once.
void expect_error_beside_silence(bool error_is_near) {
  const auto transport = make_transport({TransportSettings::Way::automatic, 2});
  const int near = Runtime::rank() ^ 1;
  const int far = Runtime::rank() ^ 2;
  const int wrong = error_is_near ? near : far;
  const int silent = error_is_near ? far : near;
  const at::Tensor two = at::empty({2}, at::kDouble);
  const at::Tensor never = at::empty({100000}, at::kDouble);

  EXPECT_ERROR(exchange(*transport, {{wrong, 1, at::zeros({1}, at::kDouble)}, {silent, 7, never}},
                        {{wrong, 1, two}, {silent, 8, never}}),
               "rank " + std::to_string(wrong) + " sent 8 bytes of Double, where this worker expects 16");
}

TEST(RouterTransport, AnErrorOnOneWayDoesNotWaitForTheOther) {
  if (Runtime::size() % 4 != 0) return;
  expect_error_beside_silence(true);
  expect_error_beside_silence(false);
}

/// Also where the bytes come later, or are fetched from where they lie.
TEST(SharedTransport, SeesAMessageOfAnotherOperatorBeforeItsBytesAreTaken) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  TeamBuffer buffer(all_ranks(), 100000, at::kFloat);
  const auto label = [](int rank) {
    return std::make_shared<const Label>("operator of rank " + std::to_string(rank), DigestBuilder());
  };
  for (const std::int64_t size : {3, 50000}) {
    for (const at::Tensor& memory : {buffer.local(), at::full({size}, 1.F)}) {
      const at::Tensor received = at::full({size}, -1.F);
      EXPECT_ERROR(exchange(transport, {{next(), 1, {memory, 0, size}, label(Runtime::rank())}},
                            {{before(), 1, received, label(Runtime::rank())}}),
                   "of Float in operator of rank " + std::to_string(before()),
                   "of Float in operator of rank " + std::to_string(Runtime::rank()));
      EXPECT_SAME_BITS(received, at::full({size}, -1.F));
    }
  }
  all_to_all(transport, 3000);
}

TEST(SharedTransport, SeveralThreadsAsk) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&transport, thread] {
      for (int i = 0; i < 50; ++i) {
        const at::Tensor received = at::empty({1 + 6000 * (i % 3)}, at::kDouble);
        const at::Tensor sent = at::full(received.sizes(), 100. * thread + i, at::kDouble);
        exchange(transport, {{next(), thread, sent}}, {{before(), thread, received}});
        EXPECT_SAME_BITS(received, sent);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedTransport, TakesWhatLiesInATeamsBufferFromThere) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  TeamBuffer buffer(all_ranks(), 100000, at::kFloat);
  buffer.local().copy_(at::arange(100000).add(Runtime::rank()));
  const at::Tensor received = at::empty({50000});

  exchange(transport, {{next(), 2, {buffer.local(), 7, 50000}}}, {{before(), 2, received}});

  EXPECT_SAME_BITS(received, at::arange(50000).add(7 + before()).to(at::kFloat));
}

TEST(SharedTransport, OnesOwnBufferMayBeGoneForTheReceiver) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(all_ranks());
  auto buffer = std::make_unique<TeamBuffer>(all_ranks(), 100000, at::kFloat);
  at::Tensor sent = buffer->local().fill_(Runtime::rank());
  if (Runtime::rank() == 0) {  // whose neighbours still have it
    sent = sent.clone();
    buffer = nullptr;
  }
  const at::Tensor received = at::empty({100000});

  exchange(transport, {{next(), 2, sent}}, {{before(), 2, received}});

  EXPECT_SAME_BITS(received, at::full({100000}, static_cast<float>(before())));
}

/// An environment variable for a while.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    const char* now = std::getenv(name);
    if (now != nullptr) before_ = now;
    set_ = now != nullptr;
    setenv(name, value, 1);
  }
  ~Setting() { set_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool set_;
};

TEST(TransportSettings, ComeFromTheEnvironment) {
  const Setting way("RIESZ_TRANSPORT", "mpi");
  const Setting hosts("RIESZ_HOSTS", "3");
  EXPECT_EQ(TransportSettings::of_environment().way, TransportSettings::Way::mpi);
  EXPECT_EQ(TransportSettings::of_environment().ranks_per_host, 3);
  for (const char* name : {"auto", "shared"}) {
    const Setting again("RIESZ_TRANSPORT", name);
    EXPECT_NO_THROW(TransportSettings::of_environment());
  }
  const Setting bad("RIESZ_TRANSPORT", "pigeon");
  EXPECT_ERROR(TransportSettings::of_environment(),
               "RIESZ_TRANSPORT is \"pigeon\"; it must be auto, shared or mpi");
  const Setting good("RIESZ_TRANSPORT", "auto");
  for (const char* number : {"0", "-1", "two", "2x", ""}) {
    const Setting wrong("RIESZ_HOSTS", number);
    EXPECT_ERROR(TransportSettings::of_environment(), "RIESZ_HOSTS is", "a number of ranks per host");
  }
}

TEST(TransportSettings, SharedMeansOneHost) {
  if (Runtime::size() == 1) return;
  EXPECT_ERROR(make_transport({TransportSettings::Way::shared, 1}), "RIESZ_TRANSPORT is shared, but the",
               "workers are on several hosts: 1 on this one");
  EXPECT_FALSE(make_transport({TransportSettings::Way::mpi})->shares_memory_with(next()));
  EXPECT_TRUE(make_transport({TransportSettings::Way::shared})->shares_memory_with(next()));
}

}  // namespace
}  // namespace riesz
