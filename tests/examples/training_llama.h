// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trains a model of examples/llama.h, or of its layers, at every layout.
#pragma once

#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>

#include <optional>
#include <string>
#include <vector>

#include "../../examples/llama.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {

inline constexpr std::int64_t kBatch = 5, kTokens = 13;
inline constexpr int kSteps = 5;
inline constexpr double kRate = 0.1;
// Three layers; no layout divides 5 sequences of 13 tokens, 6 heads, 22 or 97 evenly; two query heads share
// one of 3.
inline const LlamaConfig kConfig{.layers = 3, .width = 24, .heads = 6, .key_value_heads = 3, .hidden = 22};

inline at::Tensor ids_of(int step) {
  const at::Tensor count = at::arange(kBatch * kTokens, at::kLong).view({kBatch, kTokens}).add(17 * step);
  return at::remainder(count.mul(count), kConfig.vocabulary);
}

template <typename Model>
TrainingRun train(const Layout& layout, std::optional<int> stage) {
  Model model(layout, kConfig);
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  std::optional<Zero> zero;
  if (stage) zero.emplace(model.parameters(), ZeroOptions{.stage = *stage, .keep = 50});
  SGD optimizer(zero ? zero->store() : whole(model.parameters()), {.learning_rate = kRate, .momentum = 0.9});
  const Space tokens = model.spaces().stream("bt").with_shape({kBatch, kTokens});
  const Space targets = model.spaces().inside("bt").with_shape({kBatch, kTokens});
  for (int step = 0; step < kSteps; ++step) {
    Chain chain;
    const Vector logits = model(distribute(tokens, ids_of(step)));
    const Space aims = targets.on(logits.space().partition());
    const Vector loss = cross_entropy(logits, distribute(aims, ids_of(step + 1))).mean();
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

struct LayoutCase {
  Layout (*make)(const Partition&, Sequence);
  Sequence sequence;
  std::vector<Axis> axes;
  std::optional<int> stage = {};
};

inline std::vector<LayoutCase> layouts() {
  using namespace spaces;
  const int p = Runtime::size();
  std::vector<LayoutCase> all{{one_d, Sequence::whole, {{"dp", p}}},
                              {one_d, Sequence::whole, {{"dp", p}}, 2},
                              {one_d, Sequence::whole, {{"dp", p}}, 3},
                              {one_d, Sequence::whole, {{"tp", p}}},
                              {sequence_parallel, Sequence::whole, {{"tp", p}}},
                              {one_d, Sequence::ring, {{"sp", p}}},
                              {one_d, Sequence::ulysses, {{"sp", p}}}};
  if (p % 2 == 0 && p > 2) {
    const int half = p / 2;
    all.push_back({two_d, Sequence::whole, {{"row", half}, {"column", 2}}});
    all.push_back({sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", half}}, 2});
    all.push_back({one_d, Sequence::ring, {{"sp", half}, {"tp", 2}}});
    all.push_back({one_d, Sequence::ulysses, {{"sp", 2}, {"tp", half}}});
  }
  if (p == 8) all.push_back({three_d, Sequence::whole, {{"a", 2}, {"b", 2}, {"c", 2}}});
  return all;
}

}  // namespace riesz::testing
