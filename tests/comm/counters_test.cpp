// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace riesz {
namespace {

TEST(Traffic, AddsAndSubtractsPartByPart) {
  const Traffic a{10, 80, 2};
  const Traffic b{3, 24, 1};

  EXPECT_EQ(a + b, (Traffic{13, 104, 3}));
  EXPECT_EQ(a - b, (Traffic{7, 56, 1}));
  EXPECT_EQ(a + b - b, a);
}

TEST(Counters, AddUpByOperation) {
  Counters& counters = Counters::instance();
  counters.reset();

  counters.add("AllReduce", {1, 8, 1});
  counters.add("AllGather", {10, 40, 2});
  counters.add("AllReduce", {5, 40, 3});

  EXPECT_EQ(counters.total(), (Traffic{16, 88, 6}));
  EXPECT_EQ(counters.by_operation().size(), 2u);
  EXPECT_EQ(counters.by_operation().at("AllReduce"), (Traffic{6, 48, 4}));
  EXPECT_EQ(counters.by_operation().at("AllGather"), (Traffic{10, 40, 2}));
}

TEST(Counters, NameNoOperationThatMovedNothing) {
  Counters& counters = Counters::instance();
  counters.reset();

  counters.add("Copy", {});

  EXPECT_TRUE(counters.by_operation().empty());
  EXPECT_EQ(counters.total(), Traffic{});
}

TEST(Counters, LoseNothingBetweenThreads) {
  constexpr std::int64_t count = 20000;
  Counters& counters = Counters::instance();
  counters.reset();
  std::atomic<int> waiting = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      for (std::int64_t i = 0; i < count; ++i) counters.add(t % 2 == 0 ? "even" : "odd", {1, 2, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(counters.total(), (Traffic{4 * count, 8 * count, 4 * count}));
  EXPECT_EQ(counters.by_operation().at("odd"), (Traffic{2 * count, 4 * count, 2 * count}));
  counters.reset();
  EXPECT_EQ(counters.total(), Traffic{});
}

}  // namespace
}  // namespace riesz
