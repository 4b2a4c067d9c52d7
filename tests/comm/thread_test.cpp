// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Threads that take part: what they begin with, and messages and waits of several at once.
#include "riesz/comm/thread.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/channel.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/wait.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

/// How many threads a kernel of this thread would use, and the number of its arena: asked of the libraries
/// that there are.
int kernel_threads() {
  const auto ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  return ask != nullptr ? ask() : -1;
}
unsigned arena() {
  using Ask = int (*)(const char*, void*, std::size_t*, void*, std::size_t);
  const auto ask = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "mallctl"));
  unsigned number = 0;
  std::size_t size = sizeof number;
  if (ask != nullptr) ask("thread.arena", &number, &size, nullptr, 0);
  return number;
}

/// While it lives this process maps no more than that beside what it has.
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t more) {
    getrlimit(RLIMIT_AS, &before_);
    long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(file, "%ld", &pages), 1);
    std::fclose(file);
    const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    const rlimit limit{static_cast<rlim_t>(pages) * page + more, before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Thread, ThatTheSystemRefusesSaysWhatLimitsIt) {
  std::promise<void> end;
  const std::shared_future<void> ends = end.get_future().share();
  std::vector<std::unique_ptr<Thread>> threads;  // some have stacks of threads that have ended
  const auto start_many = [&] {
    const MemoryLimit limit(rlim_t{4} << 20);
    for (int i = 0; i < 100; ++i) threads.push_back(std::make_unique<Thread>([ends] { ends.wait(); }));
  };

  EXPECT_ERROR(start_many(), "cannot start a thread: Resource temporarily unavailable; raise the limit");

  end.set_value();
  threads.clear();
}

TEST(Thread, BeginsWithItsMakersState) {
  const at::NoGradGuard guard;
  const LayerScope layer("the maker's");
  const ChannelScope channel(5);
  const int before = at::get_num_threads();
  at::set_num_threads(before + 3);  // unlike what a thread has of itself
  const int threads = kernel_threads();
  const unsigned memory = arena();
  bool ran = false;

  Thread thread([&] {
    EXPECT_FALSE(at::GradMode::is_enabled());
    EXPECT_EQ(LayerScope::current()->layer, "the maker's");
    EXPECT_EQ(current_channel(), 5);
    EXPECT_EQ(kernel_threads(), threads);
    EXPECT_EQ(arena(), memory);
    ran = true;
  });
  thread.join();

  EXPECT_TRUE(ran);
  at::set_num_threads(before);
  thread.join();  // has no more to say
}

TEST(Thread, ThrowsWhereItIsJoined) {
  Thread thread([] {
    const LayerScope layer("the thread's");
    throw std::runtime_error("thrown in a thread");
  });

  EXPECT_THROW(thread.join(), std::runtime_error);
  EXPECT_EQ(LayerScope::left_by_exception(), "the thread's");
  EXPECT_NO_THROW(thread.join());
  LayerScope::forget_exception();
}

/// Rounds around the ring in a channel of its own, of small and of large messages.
void go_round(int channel) {
  const ChannelScope in(channel);
  const int me = Runtime::rank();
  const int size = Runtime::size();
  std::minstd_rand own(static_cast<unsigned>(100 * channel + me + 1));
  for (int round = 0; round < 12; ++round) {
    const std::int64_t count = round % 3 == 0 ? 20000 + channel : 3 + channel;
    const int by = 1 + (round + channel) % (size - 1);
    const int from = (me + size - by) % size;
    const at::Tensor received = at::empty({count});
    for (auto left = own() % 5; left > 0; --left) std::this_thread::yield();
    Communicator::world().exchange(
        "round " + std::to_string(round),
        {{(me + by) % size, at::full({count}, 1000. * channel + 100 * round + me)}}, {{from, received}});
    EXPECT_SAME_BITS(received, at::full({count}, 1000. * channel + 100 * round + from));
  }
}

TEST(Threads, EachInAChannelOfItsOwnExchangeAtOnce) {
  if (Runtime::size() == 1) return;
  std::vector<int> team;
  PieceOffsets pieces{0};
  for (int rank = 0; rank < Runtime::size(); ++rank) {
    team.push_back(rank);
    pieces.push_back(1000 * (rank + 1) / Runtime::size());
  }
  TeamBuffer buffer(team, 1000, at::kDouble);
  buffer.local().fill_(Runtime::rank() + 1.);
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int channel = 1; channel < 6; ++channel)
      threads.push_back(std::make_unique<Thread>([channel] { go_round(channel); }));
    threads.push_back(
        std::make_unique<Thread>([&] {  // moves are in a channel of their own, whoever begins them
          for (int i = 0; i < 3; ++i) buffer.all_reduce("sum", pieces)->wait();
        }));
    go_round(0);
  }
  const double p = Runtime::size();
  EXPECT_SAME_BITS(buffer.local(), at::full({1000}, p * (p + 1) / 2 * p * p, at::kDouble));
}

TEST(Threads, TheBoardTellsTheFirstOfSeveralWaits) {
  const std::string first = "the first wait";
  const std::string second = "the second wait";
  const auto mine = [] {
    for (WorkerStatus& status : StatusBoard::read())
      if (status.rank == Runtime::rank()) return status;
    return WorkerStatus{};
  };
  const auto one = std::make_unique<Wait>(first);
  auto two = std::make_unique<Wait>(second);
  EXPECT_EQ(mine().waiting, 0);  // one that is over soon is never there
  while (mine().waiting < 1) one->pause();
  while (mine().waiting < 2) two->pause();

  EXPECT_EQ(mine().operation, first);
  EXPECT_NE(to_string(mine()).find("first of 2 threads that wait"), std::string::npos);
  StatusBoard::enter("a call of a third");
  EXPECT_EQ(mine().operation, first);
  two->look({});
  two = nullptr;
  EXPECT_EQ(mine().waiting, 1);
  EXPECT_EQ(mine().operation, first);
}

}  // namespace
}  // namespace riesz
