// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/make_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/optim/store.h"
#include "small_gpt.h"

namespace riesz::testing {
namespace {

/// The parameters that a step without gradients changes, where every value was 1.
std::set<std::string> decayed(const Config::Optimizer& config) {
  SmallGpt small(Runtime::size(), 1);
  const std::vector<Parameter> parameters = small.gpt.parameters();
  const at::NoGradGuard guard;
  for (const Parameter& parameter : parameters) parameter.leaf().fill_(1);
  make_optimizer(config, whole(parameters), small.mesh)->step();
  std::set<std::string> names;
  for (const Parameter& parameter : parameters) {
    const at::Tensor local = parameter.leaf();
    if (local.ne(1).all().item<bool>()) names.insert(parameter.name());
    EXPECT_EQ(local.eq(local.flatten()[0]).all().item<bool>(), true) << parameter.name();
  }
  return names;
}

TEST(MakeOptimizer, DecaysLinearLayersOrAllMatrices) {
  const std::set<std::string> linear{"lm_head.weight", "transformer.h.0.attn.c_attn.weight",
                                     "transformer.h.0.attn.c_proj.weight", "transformer.h.0.mlp.c_fc.weight",
                                     "transformer.h.0.mlp.c_proj.weight"};
  std::set<std::string> matrices = linear;
  matrices.insert({"transformer.wte.weight", "transformer.wpe.weight"});
  for (const char* kind : {"adamw", "adam", "sgd", "lamb", "adafactor"}) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(decayed({.kind = kind, .weight_decay = 0.5}), linear);
    EXPECT_EQ(decayed({.kind = kind, .weight_decay = 0.5, .decays = "matrices"}), matrices);
    EXPECT_EQ(decayed({.kind = kind, .weight_decay = 0, .decays = "matrices"}), std::set<std::string>());
  }
}

}  // namespace
}  // namespace riesz::testing
