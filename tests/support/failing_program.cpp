// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A test program whose tests fail, each in a way of its own; the process tests beside it run them one by one.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"

namespace riesz::testing {
namespace {

void meet() { collect("testing", Partition::world(), at::ones({1})); }

TEST(Failing, OnOneRank) { EXPECT_NE(Runtime::rank(), 1) << "said by one"; }

TEST(Failing, OnAllRanks) { ADD_FAILURE() << "said by all"; }

TEST(Failing, OnNoRank) { meet(); }

TEST(Failing, OneRankThrows) {
  if (Runtime::rank() == 1) throw std::runtime_error("thrown by one");
  meet();
}

TEST(Failing, OneRankFailsAndThrows) {
  if (Runtime::rank() != 1) return;
  ADD_FAILURE() << "said before";
  throw std::runtime_error("thrown after");
}

TEST(Failing, OneRankLeavesEarly) {
  ASSERT_NE(Runtime::rank(), 1) << "said by the one that left";
  meet();
}

}  // namespace
}  // namespace riesz::testing
