// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/values.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "riesz/comm/runtime.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

/// A unit that was expected next, and is not: its values are on their way when they are let go. The last
/// worker comes later, so the others have to wait.
TEST(Values, ThatAreComingAreReleasedWhenTheyAreHere) {
  if (Runtime::size() == 1) return;
  const std::int64_t n = 50'000;
  const Team team = Team::along(Partition::world(), {"world"}, n);
  const auto memory = std::make_shared<TeamMemory>();
  memory->pieces = std::make_unique<TeamBuffer>(team.workers, team.largest(), at::kDouble);
  const Operation gather("AllGather");
  Values values(team, Lifetimes::Values::a_use, at::TensorOptions(at::kDouble), memory);
  const at::Tensor all = at::arange(n, at::kDouble);
  values.piece().copy_(all.narrow(0, team.begin(), team.end() - team.begin()));
  values.release();
  const bool last = Runtime::rank() == Runtime::size() - 1;
  if (last) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  values.fetch(gather);
  values.release();
  EXPECT_EQ(values.state(), Values::State::absent);
  if (!last) std::this_thread::sleep_for(std::chrono::milliseconds(40));  // nobody writes there meanwhile
  values.fetch(gather);
  values.wait();
  EXPECT_SAME_BITS(values.whole(), all);
}

}  // namespace
}  // namespace riesz
