// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/make_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/optim/store.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/parameter_groups.h"
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

/// By how much a step of SGD moves each parameter, whose value and gradient are 1.
std::map<std::string, double> moved(const Config::Optimizer& config) {
  SmallGpt small(Runtime::size(), 1);
  const std::vector<Parameter> parameters = small.gpt.parameters();
  const at::NoGradGuard guard;
  for (const Parameter& parameter : parameters) {
    parameter.leaf().fill_(1);
    parameter.leaf().mutable_grad() = at::ones_like(parameter.leaf());
  }
  make_optimizer(config, whole(parameters), small.mesh)->step();
  std::map<std::string, double> all;
  for (const Parameter& parameter : parameters)
    all[parameter.name()] = 1 - parameter.leaf().flatten()[0].item<double>();
  return all;
}

TEST(MakeOptimizer, GivesGroupsTheirRatesAndDecays) {
  for (const bool by_shape : {false, true}) {
    SCOPED_TRACE(by_shape);
    const auto by = moved({.kind = "sgd",
                           .learning_rate = 0.25,
                           .momentum = 0,
                           .weight_decay = 0.5,
                           .decays = by_shape ? "matrices" : "linear",
                           .groups = "transformer.wte lm_head: learning_rate=0.125; transformer.h.*.mlp: "
                                     "weight_decay=0; transformer: learning_rate=0.5 weight_decay=1"});
    EXPECT_EQ(by.at("transformer.wte.weight"), 0.125 * (by_shape ? 1.5 : 1));
    EXPECT_EQ(by.at("lm_head.weight"), 0.125 * 1.5);
    EXPECT_EQ(by.at("transformer.h.0.mlp.c_fc.weight"), 0.25);
    EXPECT_EQ(by.at("transformer.h.0.mlp.c_fc.bias"), 0.25);
    EXPECT_EQ(by.at("transformer.ln_f.weight"), 0.5 * 2) << "also of what does not decay else";
    EXPECT_EQ(by.at("transformer.h.0.attn.c_attn.weight"), 0.5 * 2);
  }
}

TEST(ParameterGroups, SayWhatIsWrong) {
  const auto of = [](const std::string& text) { return parameter_groups(text, "optimizer.groups"); };
  EXPECT_TRUE(of(" ; ").empty());
  EXPECT_EQ(of("a b: weight_decay=0; c: learning_rate=1e-3").size(), 2U);
  for (const char* none : {"lm_head", "lm_head:", ": weight_decay=0"})
    EXPECT_ERROR(of(none), "optimizer.groups: the group", "is none; write patterns of parameters, a colon");
  for (const char* word :
       {"decay=1", "weight_decay=", "weight_decay=-1", "learning_rate=11", "learning_rate=1x"})
    EXPECT_ERROR(of(std::string("lm_head: ") + word), word, "with a number from 0 to 10");
  SmallGpt small(Runtime::size(), 1);
  EXPECT_ERROR(check_groups(of("lm_head h.0: weight_decay=0"), small.gpt.parameters(), "optimizer.groups"),
               "the pattern \"h.0\" means no parameter of the model", "such as transformer.wte.weight");
}

}  // namespace
}  // namespace riesz::testing
