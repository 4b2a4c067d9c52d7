// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team/host_tensor.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <optional>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

/// From the last rank to the first, so that a worker's place in the team is not its rank.
std::vector<int> backwards() {
  std::vector<int> ranks(static_cast<std::size_t>(Runtime::size()));
  std::iota(ranks.rbegin(), ranks.rend(), 0);
  return ranks;
}

/// What anyone wrote before it, all may read after it.
void meet() {
  std::vector<int> others = backwards();
  std::erase(others, Runtime::rank());
  if (!others.empty()) Communicator::world().host_allgather({"Meet", "Meet"}, others, at::zeros({1}));
}

TEST(HostTensor, IsOneMemoryOfItsHoldersAndCountsNothing) {
  const auto before = Counters::instance().by_operation();
  const HostTensor tensor(backwards(), {Runtime::size(), 1000}, at::kLong);
  const int me = Runtime::rank();
  const auto holds = [&](int rank) {
    return std::count(tensor.holders().begin(), tensor.holders().end(), rank);
  };
  EXPECT_TRUE(std::is_sorted(tensor.holders().rbegin(), tensor.holders().rend())) << "in the team's order";

  const at::Tensor kept = tensor.local();
  meet();  // all have it before one writes
  kept[me].copy_(at::arange(1000, at::kLong).add(me));
  meet();

  for (int rank = 0; rank < Runtime::size(); ++rank) {
    EXPECT_EQ(holds(rank), rank == me || Communicator::world().shares_memory_with(rank) ? 1 : 0);
    if (holds(rank) == 0) continue;
    EXPECT_TRUE(kept[rank].equal(at::arange(1000, at::kLong).add(rank)));
  }
  EXPECT_EQ(Counters::instance().by_operation(), before);
}

/// While it lives, no file, and no memory that is to be shared, may have more bytes.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(HostTensor, ThatTheSystemGivesNoMemoryForIsAnErrorOnAllItsHolders) {
  const int maker = ranks_sharing_memory(backwards()).front();
  const auto make = [] { return HostTensor(backwards(), {1 << 21}, at::kByte); };
  {
    const SmallFiles limit(1 << 20);
    if (ranks_sharing_memory(backwards()).size() == 1) {
      EXPECT_NO_THROW(make());
    } else if (maker == Runtime::rank()) {
      EXPECT_ERROR(make(),
                   "cannot make 2097152 bytes of memory to share: File too large; with RIESZ_TRANSPORT");
    } else {
      EXPECT_ERROR(make(), concat("rank ", maker, " cannot make it for this host"));
    }
  }
  EXPECT_EQ(make().local().numel(), 1 << 21) << "and then it goes on";
}

/// While it lives, this program opens no more files.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(HostTensor, ThatOneCannotOpenIsAnErrorOnAllItsHolders) {
  const std::vector<int> holders = ranks_sharing_memory(backwards());
  const auto make = [] { return HostTensor(backwards(), {1000}, at::kByte); };
  {
    std::optional<NoMoreFiles> limit;
    if (holders.size() > 1 && holders.back() == Runtime::rank()) limit.emplace();
    if (holders.size() == 1) {
      EXPECT_NO_THROW(make());
    } else {
      EXPECT_ERROR(make(), "the workers of this host cannot open each other's memory");
    }
  }
  EXPECT_EQ(make().local().numel(), 1000) << "and then it goes on";
}

TEST(HostTensor, IsOfATeamThatThisWorkerIsIn) {
  if (Runtime::size() == 1) return;
  EXPECT_ERROR(HostTensor({(Runtime::rank() + 1) % Runtime::size()}, {1}, at::kByte), "is not in the team");
}

}  // namespace
}  // namespace riesz
