// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// LoRA of examples/lora.h: adapters alone are trained, and nothing else costs a backward, at every layout.
#include "../../examples/lora.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "riesz/testing/error.h"
#include "training_llama.h"

namespace riesz::testing {
namespace {

struct Adapting : LoraLlama {
  Adapting(const Layout& layout, const LlamaConfig& sizes) : LoraLlama(layout, sizes) { train_adapters(); }
};

bool is_adapter(const std::string& name) { return name.find(".lora_") != std::string::npos; }

TEST(Lora, TrainsTheAdaptersAloneAlikeAtEveryLayout) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train<Adapting>(spaces::one_d(alone), std::nullopt);
  TrainingRun whole = train<LoraLlama>(spaces::one_d(alone), std::nullopt);
  for (const auto& [name, w] : whole.initial) {
    EXPECT_EQ(at::equal(one_worker.results.at(name + " after training"), w), !is_adapter(name)) << name;
    const at::Tensor gradient = one_worker.results.at("gradient of " + name);
    const at::Tensor of_all = whole.results.at("gradient of " + name);
    EXPECT_LE(gradient.sub(of_all.mul(is_adapter(name) ? 1 : 0)).abs().max().item<double>(), 1e-13) << name;
  }
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const Layout made = layout.make(mesh, layout.sequence);
    SCOPED_TRACE(made.name + " on " + to_string(mesh));
    EXPECT_TRUE(compare_runs(train<Adapting>(made, layout.stage), one_worker));
  }
}

/// What a backward of the model's loss sends, by layer.
template <typename Model>
std::map<std::string, Traffic> sent_in_backward(Model& model) {
  const Space tokens = model.spaces().stream("bt").with_shape({kBatch, kTokens});
  const Space targets = model.spaces().inside("bt").with_shape({kBatch, kTokens});
  const Chain chain;
  const Vector loss =
      cross_entropy(model(distribute(tokens, ids_of(0))), distribute(targets, ids_of(1))).mean();
  Counters::instance().record(true);
  backward(loss);
  std::map<std::string, Traffic> sent;
  for (const TrafficRecord& record : Counters::instance().records())
    sent[record.origin.layer] += record.traffic;
  Counters::instance().record(false);
  return sent;
}

/// Of a Llama all frozen but its head, at every layout: what the trunk computed is a constant on all workers.
TEST(FrozenTrunk, HasNoBackward) {
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const Layout made = layout.make(mesh, layout.sequence);
    SCOPED_TRACE(made.name + " on " + to_string(mesh));
    Llama model(made, kConfig);
    model.initialise(7, at::kDouble);
    freeze_all_but(model, {"lm_head"});
    std::optional<Zero> zero;
    if (layout.stage) zero.emplace(model.parameters(), ZeroOptions{.stage = *layout.stage});
    const std::map<std::string, Traffic> sent = sent_in_backward(model);
    if (zero) zero->store()->shares();  // waits for what is reduced
    for (const auto& [name, traffic] : sent)
      EXPECT_FALSE(name.starts_with("model.")) << name << " sent " << traffic.elements << " elements";
  }
}

/// One AllReduce of n elements, over all.
std::int64_t all_reduced(std::int64_t n) {
  const std::int64_t mine = Split::balanced(n, Runtime::size())[Runtime::rank()].size();
  return n - mine + (Runtime::size() - 1) * mine;
}

TEST(Lora, UnderTensorParallelismSendsTheGradientsOfXAndOfTheFewRowsAlone) {
  const std::int64_t rows = kBatch * kTokens, r = 4;
  const Partition mesh = Partition::world().grid({{"tp", Runtime::size()}});
  LlamaConfig config = kConfig;
  config.key_value_heads = config.heads;  // no worker needs another's
  LoraLlama model(spaces::one_d(mesh), config);
  model.initialise(7, at::kDouble);
  model.train_adapters();
  std::map<std::string, std::int64_t> blocks;
  for (const auto& [name, traffic] : sent_in_backward(model))
    if (name.starts_with("model.layers.")) blocks[name.substr(0, 14)] += traffic.elements;
  // The gradients of both columns' inputs, and of what A gives, of q and of v. The first block's input is a
  // constant: its norm's result goes back to A of q and v alone, which is no sum over workers.
  const std::int64_t column = all_reduced(rows * kConfig.width), few = all_reduced(rows * r);
  EXPECT_EQ(blocks["model.layers.2"], 2 * column + 2 * few);
  EXPECT_EQ(blocks["model.layers.1"], 2 * column + 2 * few);
  EXPECT_EQ(blocks["model.layers.0"], column + 2 * few);
}

TEST(Lora, UnderSequenceParallelismSumsTheFewRowsForAdaptersAlone) {
  const std::int64_t r = 4, C = kConfig.width;
  const Partition mesh = Partition::world().grid({{"tp", Runtime::size()}});
  LlamaConfig config = kConfig;
  config.key_value_heads = config.heads;  // no worker needs another's
  LoraLlama model(spaces::sequence_parallel(mesh), config);
  model.initialise(7, at::kDouble);
  model.train_adapters();
  std::map<std::string, std::int64_t> blocks;
  for (const auto& [name, traffic] : sent_in_backward(model))
    if (name.starts_with("model.layers.")) blocks[name.substr(0, 14)] += traffic.elements;
  const std::int64_t mine = kBatch * Split::balanced(kTokens, Runtime::size())[Runtime::rank()].size();
  const auto gathered = [&](std::int64_t width) { return (Runtime::size() - 1) * mine * width; };
  const auto scattered = [&](std::int64_t width) { return (kBatch * kTokens - mine) * width; };
  // Of q and of v: A x is whole on all workers, so its gradient is summed, and so is A's. No x is gathered.
  const std::int64_t adapters = 2 * (all_reduced(kBatch * kTokens * r) + all_reduced(r * C));
  EXPECT_EQ(blocks["model.layers.2"], 2 * gathered(C) + 2 * scattered(C) + adapters);
  EXPECT_EQ(blocks["model.layers.1"], 2 * gathered(C) + 2 * scattered(C) + adapters);
  EXPECT_EQ(blocks["model.layers.0"], 2 * gathered(C) + scattered(C) + adapters);
}

TEST(Lora, KeepsStateOfTheAdaptersAlone) {
  for (const LayoutCase& layout : layouts()) {
    Adapting model(layout.make(Partition::world().grid(layout.axes), layout.sequence), kConfig);
    model.initialise(7, at::kDouble);
    std::size_t adapters = 0;
    for (const Parameter& p : model.parameters()) adapters += is_adapter(p.name());
    EXPECT_EQ(adapters, 4U * static_cast<std::size_t>(kConfig.layers));
    EXPECT_EQ(whole(model.parameters())->shares().size(), adapters);
    if (layout.stage) {
      const Zero zero(model.parameters(), {.stage = *layout.stage});
      EXPECT_EQ(zero.store()->shares().size(), adapters);
    }
  }
}

TEST(Freeze, TakesPatternsOfNames) {
  const Partition mesh = Partition::world().grid({{"tp", Runtime::size()}});
  const auto frozen = [&](const std::vector<std::string>& patterns) {
    Llama model(spaces::one_d(mesh), kConfig);
    freeze(model, patterns);
    std::vector<std::string> names;
    for (const Parameter& p : model.parameters())
      if (!p.trained()) names.push_back(p.name());
    return names;
  };
  EXPECT_EQ(frozen({"lm_head"}), std::vector<std::string>{"lm_head.weight"});
  EXPECT_EQ(frozen({"model.*norm", "model.layers.[0-1].mlp.up_proj.weight"}),
            (std::vector<std::string>{"model.layers.0.mlp.up_proj.weight",
                                      "model.layers.1.mlp.up_proj.weight", "model.norm.weight"}));
  EXPECT_EQ(frozen({"*"}).size(), 3U + 9U * static_cast<std::size_t>(kConfig.layers));
  EXPECT_ERROR(frozen({"lm_head", "model.layer"}), "the pattern \"model.layer\" means no parameter",
               "model.embed_tokens");
  Llama model(spaces::one_d(mesh), kConfig);
  EXPECT_ERROR(freeze_all_but(model, {"adapters"}), "\"adapters\" means no parameter");
}

}  // namespace
}  // namespace riesz::testing
