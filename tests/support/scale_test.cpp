// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/scale.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

at::Tensor values(double a, double b) { return at::tensor({a, b}, at::kDouble); }

TrainingRun a_run(double weight = 1, double gradient = 2) {
  return {{{"w", values(weight, 3)}},
          {{"gradient of w", values(gradient, 4)}, {"loss", at::full({}, 5., at::kDouble)}}};
}

TEST(CompareRuns, HoldsForEqualRuns) { EXPECT_TRUE(compare_runs(a_run(), a_run())); }

TEST(CompareRuns, HoldsForRounding) { EXPECT_TRUE(compare_runs(a_run(1, 2 + 1e-11), a_run())); }

TEST(CompareRuns, SeesNamesThatAreMissingFirst) {
  TrainingRun run = a_run(7, 7);
  run.results.erase("loss");
  run.results["extra"] = values(0, 0);
  run.initial.erase("w");

  const std::string message = compare_runs(run, a_run()).message();

  EXPECT_THAT(message, HasSubstr("initial \"w\" is only in the reference"));
  EXPECT_THAT(message, HasSubstr("result \"loss\" is only in the reference"));
  EXPECT_THAT(message, HasSubstr("result \"extra\" is not in the reference"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("max|a - b|")));
}

TEST(CompareRuns, ComparesInitialWeightsExactly) {
  const ::testing::AssertionResult result = compare_runs(a_run(std::nextafter(1., 2.)), a_run());

  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("initial \"w\" is not the same: max|a - b| = 2.22045e-16"));
}

TEST(CompareRuns, GivesTheRatioOfAScaledGradient) {
  TrainingRun run = a_run();
  run.results["gradient of w"] = values(6, 12);

  const ::testing::AssertionResult result = compare_runs(run, a_run());

  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("\"gradient of w\": max|a - b| = 8 > 4e-10"));
  EXPECT_THAT(result.message(), HasSubstr("ratio 3"));
}

TEST(CompareRuns, BoundsATinyTensorByTheLargestOfAll) {
  TrainingRun reference = a_run();
  reference.results["tiny"] = values(1e-18, 0);
  TrainingRun run = a_run();
  run.results["tiny"] = values(5e-16, 0);  // 1e-10 * 1e-6 * 5 is the bound
  EXPECT_TRUE(compare_runs(run, reference));

  run.results["tiny"] = values(6e-16, 0);
  EXPECT_FALSE(compare_runs(run, reference));
}

TEST(CompareRuns, SeesNaNsShapesAndEmptyRuns) {
  TrainingRun run = a_run();
  run.results["loss"] = at::full({}, std::nan(""), at::kDouble);
  EXPECT_FALSE(compare_runs(run, a_run()));

  run.results["loss"] = at::full({1}, 5., at::kDouble);
  EXPECT_THAT(compare_runs(run, a_run()).message(), HasSubstr("has shape [1], in the reference []"));
  EXPECT_THAT(compare_runs({}, {}).message(), HasSubstr("nothing to compare"));
}

/// A run whose gradient is right but for a factor.
TrainingRun toy(const Partition& mesh, double mistake) {
  const at::NoGradGuard guard;
  const Space W = Space(mesh, {5}).sharded(0, "a");
  TrainingRun run;
  run.initial["w"] = full_tensor(distribute(W, at::full({5}, 2., at::kDouble)));
  run.results["gradient of w"] = full_tensor(mistake * random_vector(Space(mesh, {5}), 1));
  return run;
}

TEST(ScaleEquivalent, HoldsOnEveryMesh) {
  const Partition world = Partition::world();
  const std::vector<Partition> meshes{world.grid({{"a", world.size()}}),
                                      world.grid({{"a", 1}, {"b", world.size()}})};

  EXPECT_SCALE_EQUIVALENT([](const Partition& mesh, int) { return toy(mesh, 1); }, meshes, 1);
  EXPECT_FALSE(is_scale_equivalent([](const Partition& mesh, int) { return toy(mesh, 1); }, {}, 1));
}

TEST(ScaleEquivalent, NamesTheMeshWhereAGradientIsScaled) {
  const Partition world = Partition::world();
  const Partition mesh = world.grid({{"a", world.size()}});

  const ::testing::AssertionResult result =
      is_scale_equivalent([](const Partition& P, int) { return toy(P, P.size()); }, {mesh}, 1);

  ASSERT_EQ(result, world.size() == 1);
  if (world.size() == 1) return;
  EXPECT_THAT(result.message(), HasSubstr("on " + to_string(mesh) + " the run is not the reference:"));
  EXPECT_THAT(result.message(), HasSubstr("ratio " + std::to_string(world.size())));
}

}  // namespace
}  // namespace riesz::testing
