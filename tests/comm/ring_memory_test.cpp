// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// How much memory the rings between workers take, and what is said where there is none.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "full_memory.h"
#include "riesz/comm/progress/doorbell.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/shared/memory.h"
#include "riesz/comm/shared/ring.h"
#include "riesz/comm/shared/transport.h"
#include "riesz/comm/transports/router.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

constexpr auto kFirst = static_cast<std::int64_t>(SharedRing::kFirst);
constexpr auto kMost = static_cast<std::int64_t>(SharedRing::kBytes);

/// Bytes of memory that this process has taken to share.
std::int64_t taken() {
  std::int64_t bytes = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    char name[64] = {};
    struct stat status {};
    if (readlinkat(dirfd(folder), entry->d_name, name, sizeof name - 1) <= 0) continue;
    if (!std::string(name).starts_with("/memfd:riesz")) continue;
    if (fstat(std::atoi(entry->d_name), &status) == 0) bytes += 512 * std::int64_t{status.st_blocks};
  }
  closedir(folder);
  return bytes;
}

/// Bytes of shared memory, of anyone, that are in this process's page tables.
std::int64_t mapped() {
  std::ifstream maps("/proc/self/smaps");
  std::int64_t kib = 0, sum = 0;
  bool shared = false;
  for (std::string line, word; std::getline(maps, line);) {
    std::istringstream words(line);
    words >> word;
    if (word.back() != ':') shared = line.find("/memfd:riesz") != std::string::npos;  // the head of a mapping
    if (shared && word == "Rss:" && words >> kib) sum += 1024 * kib;
  }
  return sum;
}

std::vector<int> workers() {
  std::vector<int> ranks(static_cast<std::size_t>(Runtime::size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int behind(int by) { return (Runtime::rank() + by) % Runtime::size(); }
int ahead(int by) { return (Runtime::rank() + Runtime::size() - by) % Runtime::size(); }

/// By MPI, so that no ring is used.
void meet(Transport& by_mpi) {
  std::vector<Message> sends, receives;
  for (int by = 1; by < Runtime::size(); ++by) {
    sends.push_back({behind(by), 0, at::full({1}, 0.)});
    receives.push_back({ahead(by), 0, at::empty({1})});
  }
  const std::unique_ptr<Requests> all = by_mpi.post(sends, receives);
  while (!all->done()) std::this_thread::yield();
}

std::unique_ptr<Transport> by_mpi() { return make_transport({TransportSettings::Way::mpi}); }

/// To each of the next `peers` workers.
void send_to_next(Transport& transport, int peers, std::int64_t count) {
  std::vector<Message> sends, receives;
  for (int by = 1; by <= peers; ++by) {
    sends.push_back({behind(by), 1, at::full({count}, 1. * Runtime::rank(), at::kDouble)});
    receives.push_back({ahead(by), 1, at::empty({count}, at::kDouble)});
  }
  const std::unique_ptr<Requests> all = transport.post(sends, receives);
  while (!all->done()) std::this_thread::yield();
  for (const Message& each : receives)
    EXPECT_SAME_BITS(each.span.data, at::full({count}, 1. * each.peer, at::kDouble));
}

TEST(RingMemory, IsTakenForThoseWhoAreTalkedTo) {
  const int p = Runtime::size();
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::unique_ptr<Transport> meeting = by_mpi();
  const std::int64_t before = taken(), mapped_before = mapped();
  SharedTransport transport(workers());
  const auto heads = static_cast<std::int64_t>(workers().size() * sizeof(SharedRing::Head) +
                                               sizeof(Doorbell) + sizeof(std::uint64_t));
  const std::int64_t of_heads = (heads + page - 1) / page * page;

  EXPECT_EQ(taken() - before, of_heads);
  EXPECT_EQ(mapped() - mapped_before, p * of_heads);
  for (int peers = 0; peers < p; ++peers) {
    for (int i = 0; i < 60; ++i) {  // more than the first memory holds
      send_to_next(transport, peers, 60);
      meet(*meeting);
    }
    EXPECT_EQ(taken() - before, of_heads + peers * kFirst) << peers << " peers";
    EXPECT_LE(mapped() - mapped_before, p * of_heads + 2 * peers * kFirst) << peers << " peers";
    EXPECT_GE(mapped() - mapped_before, p * of_heads + 2 * peers * page) << peers << " peers";
  }
}

TEST(RingMemory, IsAsMuchAsIsUnderWay) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(workers());
  const std::int64_t before = taken();
  const auto message = [](int peer, std::int64_t kib) {
    return Message{peer, 2, at::empty({128 * kib}, at::kDouble)};
  };
  std::vector<std::unique_ptr<Requests>> sent;
  std::vector<std::int64_t> growth;
  for (int i = 0; i < 20; ++i) {
    sent.push_back(transport.post({message(behind(1), 15)}, {}));
    if (growth.empty() || growth.back() != taken() - before) growth.push_back(taken() - before);
  }
  EXPECT_EQ(growth, (std::vector<std::int64_t>{kFirst, 2 * kFirst, 4 * kFirst, 8 * kFirst, kMost}));
  EXPECT_FALSE(sent.back()->done());  // the ring is full
  meet(*by_mpi());
  std::vector<Message> receives;
  for (int i = 0; i < 20; ++i) receives.push_back(message(ahead(1), 15));
  sent.push_back(transport.post({}, receives));
  for (const auto& each : sent) {
    while (!each->done()) std::this_thread::yield();
  }
  send_to_next(transport, 1, 500'000);
  const std::int64_t of_answers =
      Runtime::size() > 2 ? kFirst : 0;  // to who sent, which is not who is sent to
  EXPECT_EQ(taken() - before, kMost + of_answers);
}

TEST(RingMemory, ThatIsNotThereIsSaidAndAskedForAgain) {
  if (Runtime::size() == 1) return;
  SharedTransport transport(workers());
  const at::Tensor sent = at::full({3}, 1. * Runtime::rank());
  const at::Tensor received = at::empty({3});
  const std::unique_ptr<Requests> receives = transport.post({}, {{ahead(1), 1, received}});
  const std::string error = "cannot make 16384 bytes of memory to share for messages to rank " +
                            std::to_string(behind(1)) +
                            ": No space left on device; with RIESZ_TRANSPORT=mpi none is shared";

  set_memory_full(true);
  EXPECT_ERROR(transport.post({{behind(1), 1, sent}}, {}), error);
  EXPECT_ERROR(receives->done(), error);
  meet(*by_mpi());
  set_memory_full(false);

  while (!receives->done()) std::this_thread::yield();
  EXPECT_SAME_BITS(received, at::full({3}, 1. * ahead(1)));
}

/// What is in a ring, or goes to others, does not wait for memory: they are rung for what is there.
TEST(RingMemory, ThatEndsInTheMiddleOfAMoveHoldsUpNothingElse) {
  using std::chrono::seconds;
  if (Runtime::size() == 1) return;
  const int me = Runtime::rank(), last = Runtime::size() - 1;
  SharedTransport transport(workers());
  if (me == 0) {
    for (int peer = 1; peer <= last; ++peer)
      transport.post({{peer, 1, at::full({1}, 1.)}}, {})->done();  // the first memory
  }
  const at::Tensor small = at::empty({1}), large = at::empty({3000}, at::kDouble);
  std::vector<std::unique_ptr<Requests>> receives;
  if (me > 0) {
    const std::unique_ptr<Requests> first = transport.post({}, {{0, 1, small}});
    while (!first->done()) std::this_thread::yield();
    receives.push_back(transport.post({}, {{0, 2, small}}));
    if (me == 1) receives.push_back(transport.post({}, {{0, 3, large}}));
    transport.doorbell()->listen();
  }
  meet(*by_mpi());
  if (me == 0) {
    set_memory_full(true);
    std::vector<Message> sends{{1, 2, at::full({1}, 2.)}, {1, 3, at::full({3000}, 3., at::kDouble)}};
    for (int peer = 2; peer <= last; ++peer) sends.push_back({peer, 2, at::full({1}, 2.)});
    EXPECT_ERROR(transport.post(sends, {}), "bytes of memory to share for messages to rank 1: No space left");
  } else {
    const auto begin = std::chrono::steady_clock::now();
    transport.doorbell()->wait(seconds(30));
    while (!receives[0]->done() && std::chrono::steady_clock::now() - begin < seconds(20))
      std::this_thread::yield();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(20));
    EXPECT_SAME_BITS(small, at::full({1}, 2.));
  }
  meet(*by_mpi());
  set_memory_full(false);
  transport.progress();
  for (const auto& each : receives) {
    while (!each->done()) std::this_thread::yield();
  }
  if (me == 1) {
    EXPECT_SAME_BITS(large, at::full({3000}, 3., at::kDouble));
  }
  meet(*by_mpi());
}

TEST(RingMemory, IsRefusedAtTheStartToo) {
  set_memory_full(true);
  EXPECT_ERROR(
      SharedMemory::make(100, 1000),
      "cannot make 1100 bytes of memory to share: No space left on device; with RIESZ_TRANSPORT=mpi");
  set_memory_full(false);
}

}  // namespace
}  // namespace riesz
