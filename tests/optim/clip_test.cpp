// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/clip.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "layouts.h"
#include "own_terms.h"
#include "riesz/comm/counters.h"
#include "riesz/partition/pairing.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"
#include "uneven_store.h"

namespace riesz::testing {
namespace {

at::Tensor draws(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  return random_part(Space(Partition::simulated(1), shape), 0, seed, true);
}

/// Three parameters placed in three ways, and their gradients.
struct Model {
  std::vector<Parameter> parameters;
  std::vector<at::Tensor> gradients;  // global

  explicit Model(const std::vector<Space>& spaces) {
    for (const Space& space : spaces) {
      parameters.emplace_back("w" + std::to_string(parameters.size()), space, ParameterOptions{});
      parameters.back().initialise(1, at::kDouble);
      gradients.push_back(draws(space.shape(), parameters.size()));
      parameters.back().value().local().mutable_grad() = distribute(space, gradients.back()).local().clone();
    }
  }
  double norm() const {
    double sum = 0;
    for (const at::Tensor& gradient : gradients) sum += gradient.square().sum().item<double>();
    return std::sqrt(sum);
  }
};

std::vector<Space> spaces() {
  const int size = Partition::world().size();
  const Partition mesh =
      Partition::world().grid({{"dp", size % 2 == 0 ? 2 : 1}, {"tp", size % 2 == 0 ? size / 2 : size}});
  return {Space(mesh, {7, 3}), Space(mesh, {5, 3}).sharded(0, "tp"),
          Space(mesh, {2}).sharded(0, "tp").sharded(0, "dp")};
}

TEST(ClipGradients, CountsEachParameterOnceAtEveryLayout) {
  Model model(spaces());

  const double norm = clip_gradients(*whole(model.parameters), 1e6);

  EXPECT_NEAR(norm, model.norm(), 1e-13 * norm);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_SAME_BITS(meant(model.parameters[i].gradient()),
                     model.gradients[i]);  // below the bound: untouched
  }
}

TEST(ClipGradients, ScalesToTheNormAllowed) {
  Model model(spaces());

  const double norm = clip_gradients(*whole(model.parameters), 0.5);

  double after = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const at::Tensor clipped = meant(model.parameters[i].gradient());
    EXPECT_LE(clipped.sub(model.gradients[i].mul(0.5 / norm)).abs().max().item<double>(), 1e-15);
    after += clipped.square().sum().item<double>();
  }
  EXPECT_NEAR(std::sqrt(after), 0.5, 1e-14);
}

TEST(ClipGradients, GivesTheSameBitsToAllForOneElementEach) {
  Model model(spaces());
  const Partition P = Partition::world();
  Counters::instance().reset();

  const double norm = clip_gradients(*whole(model.parameters), 0.5);

  const std::int64_t others = P.size() - 1;  // the first adds the terms and tells all
  EXPECT_EQ(Counters::instance().total().elements, P.rank() == 0 ? others : 1);
  for (const at::Tensor& theirs : collect("testing", P, at::full({}, norm, at::kDouble))) {
    EXPECT_EQ(theirs.item<double>(), norm);
  }
}

TEST(ClipGradients, CountsAMissingGradientAsZero) {
  Model model(spaces());
  for (Parameter parameter : model.parameters) parameter.zero_gradient();

  EXPECT_EQ(clip_gradients(*whole(model.parameters), 1), 0);
}

TEST(ClipGradients, TellsOfNaN) {
  Model model(spaces());
  model.parameters[1].value().local().mutable_grad().fill_(std::nan(""));

  EXPECT_TRUE(std::isnan(clip_gradients(*whole(model.parameters), 1)));
  EXPECT_SAME_BITS(meant(model.parameters[0].gradient()), model.gradients[0]);
}

TEST(ClipGradients, OfAStoreIsThatOfItsParameters) {
  for (const Partition& mesh : meshes()) {
    SCOPED_TRACE(to_string(mesh));
    const auto one = some_parameters(alone(), at::kDouble);
    give_gradients(one, 3);
    double expected = 0;
    for (const Parameter& parameter : one)
      expected += parameter.gradient().local().square().sum().item<double>();
    expected = std::sqrt(expected);

    const auto parameters = some_parameters(mesh, at::kDouble);
    for (const std::shared_ptr<Store>& store :
         {whole(parameters), std::shared_ptr<Store>(uneven(parameters))}) {
      give_gradients(parameters, 3);
      const double norm = clip_gradients(*store, 0.5);
      EXPECT_NEAR(norm, expected, 1e-13 * expected);
      for (const at::Tensor& theirs : collect("testing", mesh, at::full({}, norm, at::kDouble))) {
        EXPECT_EQ(theirs.item<double>(), norm);
      }
      EXPECT_NEAR(clip_gradients(*store, 1e9), 0.5, 1e-13);
    }
  }
  EXPECT_EQ(clip_gradients(*whole(std::vector<Parameter>()), 1), 0);
}

TEST(ClipGradients, SaysWhatDoesNotFit) {
  EXPECT_ERROR(clip_gradients(*whole(std::vector<Parameter>()), 0), "a largest norm of 0");
  OwnTerms own({});
  own.summed = false;
  EXPECT_ERROR(clip_gradients(own, 1), "each worker's own terms, not reduced", "set_reducing(true)");

  Model model(spaces());
  for (const Parameter& parameter : model.parameters) parameter.value().local().mutable_grad().fill_(1e160);
  EXPECT_ERROR(clip_gradients(*whole(model.parameters), 1), "the sum of their squares is not");
}

}  // namespace
}  // namespace riesz::testing
