// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Tasks whose data a seed makes.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "riesz/train/config/config.h"
#include "riesz/train/data/task.h"

namespace riesz {
namespace {

Config of_task(const std::string& task) {
  Config config;
  config.data.task = task;
  config.data.count = 4;
  config.data.held_out = 0.25;
  config.data.digits = 1;
  config.model.image = 16;
  return config;
}

/// Each change makes other data and the seed by which they are drawn.
TEST(SyntheticTasks, HaveADigestOfTheirOwnForEachSetOfData) {
  for (const char* task : {"adder", "cells", "darcy"}) {
    SCOPED_TRACE(task);
    const bool adder = std::string(task) == "adder";
    std::set<std::uint64_t> digests;
    const std::vector<std::function<void(Config&)>> changes{
        [](Config&) {},
        [](Config& config) { config.data.held_out = 0.5; },
        [&](Config& config) { (adder ? config.train.seed : config.data.seed) = 7; },
        [&](Config& config) { (adder ? config.data.digits : config.model.image) = adder ? 2 : 20; },
    };
    for (const auto& change : changes) {
      Config config = of_task(task);
      change(config);
      digests.insert(make_task(config)->digest());
    }
    EXPECT_EQ(digests.size(), changes.size());
    EXPECT_TRUE(digests.contains(make_task(of_task(task))->digest()));
  }
}

}  // namespace
}  // namespace riesz
