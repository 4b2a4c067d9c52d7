// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/simulation.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

TEST(Simulation, IsOneWorkerOfAnyJob) {
  const int rank = Runtime::rank();
  const int size = Runtime::size();
  Counters::instance().reset();
  {
    const Simulation job(5, 7);
    const at::Tensor received = at::ones({2, 3});

    Communicator::world().exchange("both", {{0, at::ones({4})}, {6, at::ones({1})}}, {{3, {received, 1, 4}}});

    EXPECT_EQ(Runtime::rank(), 5);
    EXPECT_EQ(Runtime::size(), 7);
    EXPECT_EQ(received.sum().item<float>(), 2) << "zeros arrive where they are expected";
    EXPECT_EQ(Counters::instance().by_operation().at("both"), (Traffic{5, 20, 2}));
  }
  EXPECT_EQ(Runtime::rank(), rank);
  EXPECT_EQ(Runtime::size(), size);
}

TEST(Simulation, LeavesTheJobAsItWas) {
  { const Simulation job(0, 2); }
  const int next = (Runtime::rank() + 1) % Runtime::size();
  const int before = (Runtime::rank() + Runtime::size() - 1) % Runtime::size();
  const at::Tensor received = at::zeros({3});

  if (Runtime::size() > 1)
    Communicator::world().exchange("ring", {{next, at::ones({3}).mul(Runtime::rank())}},
                                   {{before, received}});

  EXPECT_SAME_BITS(received, at::ones({3}).mul(Runtime::size() > 1 ? before : 0));
}

TEST(Simulation, NeedsARankOfTheJobAndIsNotWithinAnother) {
  EXPECT_ERROR(Simulation(2, 2), "rank 2 of 2 workers", "0 <= rank < size");
  EXPECT_ERROR(Simulation(-1, 2), "rank -1 of 2 workers");
  const Simulation job(1, 2);
  EXPECT_ERROR(Simulation(0, 2), "[rank 1 of 2, simulated]", "one is under way already");
}

}  // namespace
}  // namespace riesz
