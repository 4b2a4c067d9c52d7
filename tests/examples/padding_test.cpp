// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The padded batch of docs/guides/write_a_model.md: its loss and gradients are those of its sequences alone, at
// every layout.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "training_llama.h"

namespace riesz::testing {
namespace {

/// (B, T, C) -> (B, T, C): each position attends to all of its sequence.
class SeeingBlock : public Layer<SeeingBlock> {
 public:
  explicit SeeingBlock(OwnerAndName place) : Layer(std::move(place)) {}

  Vector forward(const Vector& x, const Vector& seen) {
    return x + o(attend(q(x), k(x), v(x), AttentionCall{.seen = seen}));
  }
  std::string describe() const override { return "block"; }

 private:
  Linear q{*this, "q", "btc,hdc->bthd", {.initial = Initial::normal(0.3)}};
  Linear k{*this, "k", "btc,gdc->btgd", {.initial = Initial::normal(0.3), .bias = false}};
  Linear v{*this, "v", "btc,gdc->btgd", {.initial = Initial::normal(0.3)}};
  Attention attend{*this, "", {.keys = "btgd"}};
  Linear o{*this, "o", "bthd,chd->btc", {.initial = Initial::normal(0.3)}};
};

class Seeing : public Layer<Seeing> {
 public:
  explicit Seeing(const Layout& layout) : Layer("", {layout, kConfig.roles()}) {}

  Vector forward(const Vector& ids, const Vector& seen) { return head(blocks(embed(ids), seen)); }
  std::string describe() const override { return "a model of padded batches"; }

 private:
  Embedding embed{*this, "embed", "bt,vc->btc", Initial::normal(1)};
  Repeated<SeeingBlock> blocks{*this, "blocks", 2};
  Linear head{*this, "head", "btc,vc->btv", {.initial = Initial::normal(0.3)}};
};

constexpr std::array<std::int64_t, kBatch> kLengths{13, 4, 9, 1, 12};

std::int64_t length_of(std::int64_t b) { return kLengths[static_cast<std::size_t>(b)]; }

/// The mean loss of a padded batch.
Vector loss_of(Seeing& model, const Space& tokens, const Space& targets) {
  at::Tensor ids = at::zeros({kBatch, kTokens}, at::kLong),
             wanted = at::full({kBatch, kTokens}, -1, at::kLong);
  at::Tensor not_padding = at::zeros({kBatch, kTokens}, at::kBool);
  for (std::int64_t b = 0; b < kBatch; ++b) {
    const std::int64_t n = length_of(b);
    ids.select(0, b).narrow(0, 0, n).copy_(ids_of(0).select(0, b).narrow(0, 0, n));
    wanted.select(0, b).narrow(0, 0, n).copy_(ids_of(1).select(0, b).narrow(0, 0, n));
    not_padding.select(0, b).narrow(0, 0, n).fill_(true);
  }
  const Vector seen = distribute(tokens, not_padding);  // it lies as the ids do
  const Vector logits = model(distribute(tokens, ids), seen);
  return cross_entropy(logits, distribute(targets, wanted)).mean();  // a target of -1 is not counted
}

TrainingRun padded(const Layout& layout, std::optional<int> stage, bool again) {
  Seeing model(layout);
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  std::optional<Zero> zero;
  if (stage) zero.emplace(model.parameters(), ZeroOptions{.stage = *stage, .keep = 50});
  if (again) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  Chain chain;
  const Vector loss = loss_of(model, model.spaces().stream("bt").with_shape({kBatch, kTokens}),
                              model.spaces().inside("bt").with_shape({kBatch, kTokens}));
  backward(loss);
  run.results["loss"] = TrainingRun::gathered(model, loss);
  run.add_gradients(model);
  return run;
}

/// Each sequence by itself, with nothing hidden, on this worker.
TrainingRun one_by_one() {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  Seeing model(spaces::one_d(alone));
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  std::int64_t count = 0;
  for (const std::int64_t n : kLengths) count += n;
  double sum = 0;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    const Space X = model.spaces().stream("bt").with_shape({1, length_of(b)});
    const auto row = [&](int step) { return ids_of(step).narrow(0, b, 1).narrow(1, 0, length_of(b)); };
    Chain chain;
    const Vector logits = model(distribute(X, row(0)), distribute(X, at::ones({1, length_of(b)}, at::kBool)));
    const Vector share =
        (1.0 / static_cast<double>(count)) * cross_entropy(logits, distribute(X, row(1))).sum;
    sum += share.local().item<double>();
    backward(share);
  }
  run.results["loss"] = at::full({}, sum, at::kDouble);
  run.add_gradients(model);
  return run;
}

TEST(PaddedBatch, HasTheLossOfItsSequencesAlone) {
  const TrainingRun alone = one_by_one();
  for (const LayoutCase& layout : layouts()) {
    const Layout made = layout.make(Partition::world().grid(layout.axes), layout.sequence);
    SCOPED_TRACE(made.name);
    EXPECT_TRUE(compare_runs(padded(made, layout.stage, false), alone));
    EXPECT_TRUE(compare_runs(padded(made, layout.stage, true), alone)) << "run again in backward";
  }
}

}  // namespace
}  // namespace riesz::testing
