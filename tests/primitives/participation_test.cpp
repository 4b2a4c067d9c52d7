// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Participation counts each call of an operator that communicates in either direction, once.
#include "riesz/partition/participation.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <thread>

#include "riesz/partition/pairing.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/between.h"

namespace riesz::testing {
namespace {

std::vector<std::string> texts(const ParticipationLog& log) {
  std::vector<std::string> all;
  for (const auto& label : log.labels()) all.push_back(label->text().substr(0, label->text().find(' ')));
  return all;
}

TEST(Participation, IsCountedAndLoggedOnceACall) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const at::NoGradGuard no_gradient;
  const Space X(world, {4});
  const Vector x(X, at::ones({4})), copies(X.copied("world"), at::ones({4}));
  const std::uint64_t before = participation_count();
  const ParticipationLog outer;
  {
    const ParticipationLog inner;
    between(X, X.copied("world"))(x);  // moves nothing, but its adjoint sums
    between(X.partial("world"), X)(Vector(X.partial("world"), at::ones({4})));  // two rounds
    std::thread([] { count_participation("elsewhere"); }).join();
    EXPECT_EQ(texts(inner), (std::vector<std::string>{"Copy", "AllReduce"}));
  }
  any_flag(world, {"world"}, true);
  collect("collected", world, at::ones({1}));
  between(X, X)(x);
  EXPECT_EQ(texts(outer), (std::vector<std::string>{"Copy", "AllReduce", "AllMax", "collected"}));
  EXPECT_EQ(participation_count() - before, 4U);
}

TEST(Participation, OfAWorkerOutsideOfAPartitionIsNone) {
  const Partition first = Partition::world().subset({0});
  const std::uint64_t before = participation_count();
  collect("collected", first, at::ones({1}));
  EXPECT_EQ(participation_count() - before, first.active() ? 1U : 0U);
}

}  // namespace
}  // namespace riesz::testing
