// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/counters.h"

#include <gtest/gtest.h>

#include <string>
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
  Counters& counters = Counters::instance();
  counters.reset();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) counters.add("thread " + std::to_string(t % 2), {1, 2, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(counters.total(), (Traffic{4000, 8000, 4000}));
  EXPECT_EQ(counters.by_operation().at("thread 1"), (Traffic{2000, 4000, 2000}));
  counters.reset();
  EXPECT_EQ(counters.total(), Traffic{});
}

}  // namespace
}  // namespace riesz
