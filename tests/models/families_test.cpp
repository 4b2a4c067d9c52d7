// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// GPT-J, Llama and ViT are the published models, values and gradients, and the same at every layout: in sizes
// that nothing divides.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plain_families.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/optim/sgd.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr int kFamilySteps = 3;
constexpr double kFamilyRate = 0.1;

/// Integers of any shape below n, others at each step; alike on all workers.
at::Tensor numbers_of(std::vector<std::int64_t> shape, std::int64_t n, int step) {
  std::int64_t count = 1;
  for (const std::int64_t each : shape) count *= each;
  const at::Tensor i = at::arange(count, at::kLong).add(17 * step + 3);
  return at::remainder(i.mul(i).add(i), n).view(shape);
}

/// How one family is trained: what it reads and is compared with at a step, by Riesz and plainly.
template <typename Model, typename Config>
struct FamilyCase {
  Config config;
  std::function<at::Tensor(int step)> input, target;
  std::function<Space(const Model&)> reads;
  std::function<at::Tensor(const plain::Weights&, int step)> plainly;
};

FamilyCase<models::GptJ, models::GptJConfig> gpt_j_case() {
  const models::GptJConfig config{
      .layers = 2, .heads = 3, .width = 18, .hidden = 22, .vocabulary = 97, .context = 8, .rotary_dims = 4};
  const auto ids = [](int step) { return numbers_of({5, 7}, 97, step); };
  return {config, ids, [ids](int step) { return ids(step + 1); },
          [](const models::GptJ& model) { return model.tokens(); },
          [=](const plain::Weights& w, int step) { return plain::gpt_j(config, w, ids(step)); }};
}

FamilyCase<models::Llama, models::LlamaConfig> llama_case(bool tied) {
  models::LlamaConfig config{.layers = 2, .heads = 6, .key_value_heads = 3, .width = 18, .head_width = 4};
  config.hidden = 22, config.vocabulary = 97, config.context = 8, config.rotary_base = 100,
  config.tied = tied;
  config.attention_bias = config.mlp_bias = !tied;
  if (!tied) config.rotary_scaling = RotaryScaling{.factor = 4, .original_max_position = 32};
  const auto ids = [](int step) { return numbers_of({5, 7}, 97, step); };
  return {config, ids, [ids](int step) { return ids(step + 1); },
          [](const models::Llama& model) { return model.tokens(); },
          [=](const plain::Weights& w, int step) { return plain::llama(config, w, ids(step)); }};
}

FamilyCase<models::Vit, models::VitConfig> vit_case() {
  const models::VitConfig config{
      .layers = 2, .heads = 3, .width = 15, .hidden = 22, .image = 9, .patch = 3, .channels = 2, .labels = 7};
  const auto images = [](int step) {
    return numbers_of({5, 2, 9, 9}, 101, step).to(at::kDouble).div(50).sub(1);
  };
  return {config, [=](int step) { return models::patches_of(images(step), config); },
          [](int step) { return numbers_of({5}, 7, step); },
          [](const models::Vit& model) { return model.patches(); },
          [=](const plain::Weights& w, int step) { return plain::vit(config, w, images(step)); }};
}

template <typename Model, typename Config>
TrainingRun train_family(const FamilyCase<Model, Config>& family, const riesz::Layout& layout,
                         std::optional<int> stage = {}) {
  Model model(layout, family.config);
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  std::optional<Zero> zero;
  if (stage) zero.emplace(model.parameters(), ZeroOptions{.stage = *stage, .keep = 50});
  SGD optimizer(zero ? zero->store() : whole(model.parameters()),
                {.learning_rate = kFamilyRate, .momentum = 0.9});
  for (int step = 0; step < kFamilySteps; ++step) {
    Chain chain;
    const at::Tensor input = family.input(step), target = family.target(step);
    const Vector logits = model(distribute(family.reads(model).with_shape(input.sizes().vec()), input));
    const Space aims = model.targets().with_shape(target.sizes().vec());
    const Vector loss = cross_entropy(logits, distribute(aims, target)).mean();
    backward(loss);
    run.results["loss of step " + std::to_string(step)] = TrainingRun::gathered(model, loss);
    if (step == 0) run.results["logits"] = TrainingRun::gathered(model, logits);
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

template <typename Model, typename Config>
TrainingRun train_family_plainly(const FamilyCase<Model, Config>& family, const TrainingRun& one_worker,
                                 const std::vector<Parameter>& parameters) {
  plain::Weights leaves, weights, momentum;
  for (const auto& [name, w] : one_worker.initial) leaves[name] = w.clone().requires_grad_();
  TrainingRun run;
  run.initial = one_worker.initial;
  for (int step = 0; step < kFamilySteps; ++step) {
    for (const Parameter& each : parameters) weights[each.name()] = leaves.at(each.name()).view(each.shape());
    const at::Tensor logits = family.plainly(weights, step);
    const at::Tensor loss = plain::cross_entropy(logits, family.target(step));
    loss.backward();
    run.results["loss of step " + std::to_string(step)] = loss.detach();
    if (step == 0) run.results["logits"] = logits.detach();
    const at::NoGradGuard no_gradient;
    for (auto& [name, w] : leaves) {
      if (step == 0) run.results["gradient of " + name] = w.grad().clone();
      at::Tensor& m = momentum[name];
      m = m.defined() ? m * 0.9 + w.grad() : w.grad().clone();
      w.sub_(m * kFamilyRate);
      w.mutable_grad().reset();
    }
  }
  for (const auto& [name, w] : leaves) run.results[name + " after training"] = w.detach();
  return run;
}

struct FamilyLayout {
  riesz::Layout (*make)(const Partition&, Sequence);
  Sequence sequence;
  std::vector<Axis> axes;
  std::optional<int> stage = {};
};

std::vector<FamilyLayout> family_layouts() {
  using namespace spaces;
  const int p = Runtime::size();
  std::vector<FamilyLayout> all{{one_d, Sequence::whole, {{"dp", p}}, 3},
                                {one_d, Sequence::whole, {{"tp", p}}},
                                {sequence_parallel, Sequence::whole, {{"tp", p}}},
                                {one_d, Sequence::ring, {{"sp", p}}},
                                {one_d, Sequence::ulysses, {{"sp", p}}}};
  if (p % 2 == 0 && p > 2) {
    all.push_back({two_d, Sequence::whole, {{"row", p / 2}, {"column", 2}}});
    all.push_back({sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", p / 2}}, 2});
  }
  if (p == 8) all.push_back({three_d, Sequence::whole, {{"a", 2}, {"b", 2}, {"c", 2}}});
  return all;
}

template <typename Model, typename Config>
void expect_the_published_model_at_every_layout(const FamilyCase<Model, Config>& family) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train_family(family, spaces::one_d(alone));
  const std::vector<Parameter> parameters = Model(spaces::one_d(alone), family.config).parameters();
  EXPECT_TRUE(compare_runs(one_worker, train_family_plainly(family, one_worker, parameters)));
  for (const FamilyLayout& layout : family_layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const riesz::Layout made = layout.make(mesh, layout.sequence);
    EXPECT_TRUE(compare_runs(train_family(family, made, layout.stage), one_worker))
        << made.name << " on " << to_string(mesh);
  }
}

TEST(Families, GptJIsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(gpt_j_case());
}

TEST(Families, LlamaIsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(llama_case(/*tied=*/true));
  expect_the_published_model_at_every_layout(llama_case(/*tied=*/false));
}

TEST(Families, VitIsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(vit_case());
}

/// The cache gives what the whole forward gives, token after token.
template <typename Model, typename Config>
void expect_caches_to_give_the_whole(Config config) {
  config.context = 8;
  const at::NoGradGuard no_gradient;
  const at::Tensor ids = numbers_of({3, 7}, config.vocabulary, 0);
  for (const FamilyLayout& layout : family_layouts()) {
    if (layout.stage || layout.sequence == Sequence::ring) continue;
    Model model(layout.make(Partition::world().grid(layout.axes), layout.sequence), config);
    SCOPED_TRACE(model.spaces().layout().name);
    model.initialise(7, at::kDouble);
    const at::Tensor whole = full_tensor(model(distribute(model.tokens().with_shape({3, 7}), ids)));
    std::vector<KeyValueCache> caches(static_cast<std::size_t>(config.layers));
    for (const std::int64_t n : {4, 1, 2}) {
      const std::int64_t before = caches.front().positions();
      const at::Tensor next = ids.narrow(1, before, n);
      const Vector logits = model(distribute(model.tokens().with_shape({3, n}), next), caches);
      const at::Tensor apart = full_tensor(logits).sub(whole.narrow(1, before, n));
      EXPECT_LE(apart.abs().max().template item<double>(), 1e-12) << before;
    }
    const Vector two = distribute(model.tokens().with_shape({3, 2}), ids.narrow(1, 0, 2));
    EXPECT_ERROR(model(two, caches), "a sequence of 9 tokens", "context of 8");
  }
}

TEST(Families, CachesGiveWhatTheWholeForwardGives) {
  expect_caches_to_give_the_whole<models::GptJ>(gpt_j_case().config);
  expect_caches_to_give_the_whole<models::Llama>(llama_case(true).config);
  expect_caches_to_give_the_whole<models::MinGpt>(models::MinGptConfig{
      .layers = 2, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0, .tied = true});
}

/// What leaves this worker in the forward pass of so many blocks.
std::int64_t sent_forward(std::int64_t layers, double dropout) {
  models::GptJConfig config = gpt_j_case().config;
  config.layers = layers, config.residual_dropout = dropout;
  models::GptJ model(spaces::one_d(Partition::world().grid({{"tp", Runtime::size()}})), config);
  model.initialise(7, at::kDouble);
  const ContextScope scope({.training = true, .seed = 7});
  const at::Tensor ids = numbers_of({5, 7}, 97, 0);
  const std::int64_t before = Counters::instance().total().elements;
  model(distribute(model.tokens().with_shape({5, 7}), ids));
  return Counters::instance().total().elements - before;
}

/// Two branches, one sum of B·T·C over tp; with a mask of its own on each, two.
TEST(Families, GptJsBranchesShareOneSum) {
  const at::NoGradGuard no_gradient;
  const std::int64_t p = Runtime::size(), N = 5 * 7 * 18;
  const std::int64_t own = Split::balanced(N, Runtime::size())[Runtime::rank()].size();
  const std::int64_t one = N - own + (p - 1) * own;
  EXPECT_EQ(sent_forward(3, 0) - sent_forward(2, 0), one);
  EXPECT_EQ(sent_forward(3, 0.1) - sent_forward(2, 0.1), 2 * one);
}

TEST(Families, SayWhatDoesNotFit) {
  EXPECT_ERROR((models::GptJConfig{.heads = 3, .width = 16}.roles()), "GPT-J", "a width of 16", "3 heads");
  EXPECT_ERROR((models::GptJConfig{.heads = 2, .width = 16, .rotary_dims = 10}.roles()),
               "10 dims turn, of 8");
  EXPECT_ERROR((models::LlamaConfig{.heads = 4, .key_value_heads = 3}.roles()), "4 query heads", "of 3");
  EXPECT_ERROR((models::LlamaConfig{.heads = 4, .key_value_heads = 2, .width = 6}.roles()),
               "give head_width");
  EXPECT_ERROR((models::VitConfig{.image = 10, .patch = 3}.roles()), "an image of 10", "a patch of 3");
  EXPECT_ERROR(models::patches_of(at::arange(16).view({1, 1, 4, 4}), vit_case().config),
               "ViT: images of [1, 1", "(B, 2, 9, 9)");
}

}  // namespace
}  // namespace riesz::testing
