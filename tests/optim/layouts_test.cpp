// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "layouts.h"

#include <gtest/gtest.h>

#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/sgd.h"

namespace riesz::testing {
namespace {

/// Groups that part neighbours and match some parameters.
std::vector<Group> groups(bool has_momentum, bool has_beta2) {
  Group biases{.has = [](const Parameter& p) { return p.name() == "bias" || p.name() == "cube"; },
               .learning_rate_scale = 0.5,
               .weight_decay = 0.3};
  if (has_momentum) biases.momentum = 0.6;
  if (has_beta2) biases.beta2 = 0.9;
  return {biases};
}

template <typename O, typename Options>
MakeOptimizer make(const Options& options, const std::vector<Group>& groups) {
  return [=](std::shared_ptr<Store> store) { return std::make_unique<O>(std::move(store), options, groups); };
}

TEST(Layouts, SGD) {
  const SGDOptions options{.learning_rate = 0.05, .momentum = 0.8, .dampening = 0.1, .weight_decay = 0.1};
  expect_same_at_every_layout(make<SGD>(options, groups(true, false)));
}

TEST(Layouts, Adam) {
  expect_same_at_every_layout(
      make<Adam>(AdamOptions{.learning_rate = 0.05, .weight_decay = 0.1}, groups(true, true)));
}

TEST(Layouts, AdamW) {
  expect_same_at_every_layout(make<AdamW>(AdamWOptions{.learning_rate = 0.05}, groups(true, true)));
}

TEST(Layouts, Lamb) {
  expect_same_at_every_layout(make<Lamb>(LambOptions{.learning_rate = 0.05}, groups(true, true)));
}

TEST(Layouts, Adafactor) {
  expect_same_at_every_layout(
      make<Adafactor>(AdafactorOptions{.learning_rate = 0.5, .weight_decay = 0.01}, groups(false, false)));
}

}  // namespace
}  // namespace riesz::testing
