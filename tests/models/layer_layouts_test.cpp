// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Each layer by itself is the same layer at every layout: over five steps of AdamW, with dropout, in uneven
// sizes. Its input is trained too, so that the gradient it passes on is compared as well.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/random/random.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "training.h"

namespace riesz::testing {
namespace {

constexpr int kSteps = 5;

const Problem kOdd{
    {.layers = 1, .heads = 3, .width = 15, .hidden = 44, .vocabulary = 97, .context = 13, .dropout = 0.1},
    5,
    13};

/// S with the batch and the sequence of the problem as its dims of any extent.
Space sized(const Space& S) {
  std::vector<std::int64_t> shape = S.shape();
  std::vector<std::int64_t> left{kOdd.sequence, kOdd.batch};
  for (std::int64_t& n : shape) {
    if (n != Space::any) continue;
    n = left.back();
    left.pop_back();
  }
  return S.with_shape(shape);
}

/// A layer and what it is fed; all of it is trained.
class Trained : public Module {
 public:
  explicit Trained(const MinGptSpaces& s) : Module("", s.all) {}
  virtual Vector output(int step) = 0;
  std::string describe() const override { return "a layer and its input"; }
};

/// A layer of one vector.
template <typename Of>
class OneLayer : public Trained {
 public:
  template <typename... Args>
  OneLayer(const MinGptSpaces& s, const Space& X, const std::string& name, Args&&... args)
      : Trained(s),
        input_(parameter("input", sized(X), {Initial::normal(1), true})),
        layer_({*this, name}, std::forward<Args>(args)...) {}
  Vector output(int) override { return layer_(input_.value()); }

 private:
  Parameter input_;
  Of layer_;
};

class Tokens : public Trained {
 public:
  explicit Tokens(const MinGptSpaces& s)
      : Trained(s), ids_(sized(s.tokens)), table_({*this, "wte"}, s.tokens, s.token_table, s.stream) {}
  Vector output(int step) override { return table_(distribute(ids_, ids_of(kOdd, step))); }

 private:
  Space ids_;
  Embedding table_;
};

/// The input and the embeddings of its positions, as the model adds them.
class Positions : public Trained {
 public:
  explicit Positions(const MinGptSpaces& s)
      : Trained(s),
        input_(parameter("input", sized(s.stream), {Initial::normal(1), true})),
        ids_(spaces().stream("t").with_shape({kOdd.sequence})),
        table_(*this, "wpe", "t,pc->tc") {}
  Vector output(int) override {
    return add(input_.value(), "btc", table_(distribute(ids_, at::arange(kOdd.sequence, at::kLong))), "tc");
  }

 private:
  Parameter input_;
  Space ids_;
  Embedding table_;
};

/// Attention of sequences that are padded behind, each from another position on.
class Padded : public Trained {
 public:
  explicit Padded(const MinGptSpaces& s)
      : Trained(s),
        input_(parameter("input", sized(s.stream), {Initial::normal(1), true})),
        seen_(sized(spaces().inside("bt"))) {}
  Vector output(int) override {
    const at::Tensor lengths = at::tensor({13, 9, 4, 1, 12}, at::kLong).unsqueeze(1);
    const Vector seen = distribute(seen_, at::arange(kOdd.sequence, at::kLong).lt(lengths));
    return c_proj_(attend_(c_attn_(input_.value()), AttentionCall{.seen = seen}));
  }

 private:
  Parameter input_;
  Space seen_;
  Linear c_attn_{*this, "c_attn", "btc,cqhd->qbthd", kOdd.config.linear()};
  Attention attend_{*this, "", {.causal = true, .dropout = 0.1}};
  Linear c_proj_{*this, "c_proj", "bthd,hdc->btc", kOdd.config.back_to_stream()};
};

class Logits : public Trained {
 public:
  explicit Logits(const MinGptSpaces& s)
      : Trained(s), logits_(parameter("logits", sized(s.logits), {Initial::normal(1)})) {}
  Vector output(int) override { return logits_.value(); }

 private:
  Parameter logits_;
};

/// The mean of ȳ·y, ȳ random by its global index.
Vector weighed(const MinGptSpaces&, const Vector& y) {
  const Space Y = dual(y.space());
  const std::string indices = std::string("abcde").substr(0, static_cast<std::size_t>(Y.dims()));
  const Vector ybar(Y, normal(Y, philox_key(kSeed, "weights of the loss")));
  const Vector sum = contract(indices + "," + indices + "->", ybar, y, Space(Y.partition(), {}));
  return (1.0 / static_cast<double>(Y.numel())) * sum;
}

Vector mean_cross_entropy(const MinGptSpaces& s, const Vector& logits) {
  const Loss loss = cross_entropy(logits, distribute(sized(s.targets), targets_of(kOdd, 0)));
  return loss.mean();
}

struct LayerCase {
  std::string name;
  std::function<std::unique_ptr<Trained>(const MinGptSpaces&)> make;
  Vector (*loss)(const MinGptSpaces& s, const Vector& y) = weighed;
};

template <typename Of, typename... Args>
std::unique_ptr<Trained> one(const MinGptSpaces& s, const Space& X, Args&&... args) {
  return std::make_unique<OneLayer<Of>>(s, X, std::forward<Args>(args)...);
}

/// The Linears of a block and of the output.
std::vector<LayerCase> linears() {
  return {{"queries, keys and values",
           [](const MinGptSpaces& s) {
             return one<Linear>(s, s.stream, "c_attn", "bti,iqhd->qbthd", s.stream, s.qkv_weight, s.qkv,
                                LinearOptions{.weight_shape = {15, 45}, .bias_shape = {45}});
           }},
          {"from the heads",
           [](const MinGptSpaces& s) {
             return one<Linear>(s, s.heads, "c_proj", "bthd,hdo->bto", s.heads, s.heads_weight, s.stream,
                                LinearOptions{.weight_shape = {15, 15}});
           }},
          {"up",
           [](const MinGptSpaces& s) {
             return one<Linear>(s, s.stream, "c_fc", "bti,io->bto", s.stream, s.up_weight, s.hidden,
                                LinearOptions{});
           }},
          {"down",
           [](const MinGptSpaces& s) {
             return one<Linear>(s, s.hidden, "c_proj", "bti,io->bto", s.hidden, s.down_weight, s.stream,
                                LinearOptions{});
           }},
          {"cross-entropy of the output layer",
           [](const MinGptSpaces& s) {
             return one<Linear>(s, s.stream, "lm_head", "btc,vc->btv", s.stream, s.logits_weight, s.logits,
                                LinearOptions{.bias = false});
           },
           mean_cross_entropy}};
}

std::vector<LayerCase> others() {
  return {
      {"token embedding", [](const MinGptSpaces& s) { return std::make_unique<Tokens>(s); }},
      {"position embedding", [](const MinGptSpaces& s) { return std::make_unique<Positions>(s); }},
      {"LayerNorm", [](const MinGptSpaces& s) { return one<LayerNorm>(s, s.stream, "ln", s.stream); }},
      {"RmsNorm", [](const MinGptSpaces& s) { return one<RmsNorm>(s, s.stream, "norm", s.stream); }},
      {"attention",
       [](const MinGptSpaces& s) { return one<models::SelfAttention>(s, s.stream, "attn", kOdd.config); }},
      {"attention of seen keys", [](const MinGptSpaces& s) { return std::make_unique<Padded>(s); }},
      {"MLP", [](const MinGptSpaces& s) { return one<models::Mlp>(s, s.stream, "mlp", kOdd.config); }},
      {"cross-entropy", [](const MinGptSpaces& s) { return std::make_unique<Logits>(s); },
       mean_cross_entropy},
  };
}

struct LayoutCase {
  std::string tensor, sequence;  // as of a configuration
  std::vector<Axis> axes;
};

/// Those of as many workers as the job has.
std::vector<LayoutCase> layouts() {
  std::vector<LayoutCase> all{
      {"2d", "none", {{"row", 2}, {"column", 2}}},
      {"2d", "none", {{"row", 2}, {"column", 3}}},
      {"2.5d", "none", {{"depth", 2}, {"row", 2}, {"column", 2}}},
      {"3d", "none", {{"a", 2}, {"b", 2}, {"c", 2}}},
      {"1d", "none", {{"dp", 2}, {"tp", 2}}},
      {"sp", "none", {{"dp", 2}, {"tp", 3}}},
      {"sp", "none", {{"dp", 2}, {"tp", 4}}},
      {"2d", "none", {{"dp", 2}, {"row", 2}, {"column", 2}}},
      {"3d", "none", {{"dp", 2}, {"a", 1}, {"b", 2}, {"c", 2}}},
      {"1d", "ring", {{"dp", 3}, {"sp", 2}}},
      {"1d", "ring", {{"dp", 2}, {"sp", 2}, {"tp", 2}}},
      {"1d", "ulysses", {{"dp", 2}, {"sp", 3}}},
      {"1d", "ulysses", {{"dp", 2}, {"sp", 4}}},
      {"sp", "ulysses", {{"dp", 2}, {"sp", 2}, {"tp", 2}}},
  };
  for (const int p : {2, 3, 4}) {
    all.push_back({"1d", "none", {{"tp", p}}});
    all.push_back({"sp", "none", {{"tp", p}}});
    all.push_back({"1d", "ring", {{"sp", p}}});
    all.push_back({"1d", "ulysses", {{"sp", p}}});
  }
  std::erase_if(all, [](const LayoutCase& layout) {
    int workers = 1;
    for (const Axis& axis : layout.axes) workers *= axis.extent;
    return workers != Runtime::size();
  });
  return all;
}

/// Outputs and losses of all steps, gradients of the last, and the weights after.
TrainingRun train(const LayerCase& layer, const MinGptSpaces& s, int steps) {
  const std::unique_ptr<Trained> model = layer.make(s);
  model->initialise(kSeed, at::kDouble);
  TrainingRun run;
  run.add_initial(*model);
  AdamW optimizer(model->parameters(),
                  {.learning_rate = kLearningRate, .epsilon = kEpsilon, .weight_decay = kWeightDecay});
  for (int step = 0; step < steps; ++step) {
    const ContextScope scope({.training = true, .seed = kSeed, .step = step});
    Chain chain;
    const Vector y = model->output(step);
    const Vector loss = layer.loss(s, y);
    backward(loss);
    run.results["output of step " + std::to_string(step)] = full_tensor(y);
    run.results["loss of step " + std::to_string(step)] = loss.local().detach().clone();
    if (step == steps - 1) run.add_gradients(*model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(*model);
  return run;
}

void expect_scale_equivalent(const std::vector<LayerCase>& layers) {
  ASSERT_EQ(layouts().empty(), Runtime::size() == 1);
  for (const LayerCase& layer : layers) {
    std::optional<TrainingRun> one_worker;  // the same for all layouts
    for (const LayoutCase& layout : layouts()) {
      SCOPED_TRACE(layer.name + ", " + layout.tensor + ", sequence " + layout.sequence);
      const auto make = [&](const Partition& mesh, int steps) {
        if (mesh.size() == 1 && one_worker) return *one_worker;
        const MinGptSpaces lying(spaces::named(layout.tensor, layout.sequence, mesh), kOdd.config);
        const TrainingRun run = train(layer, lying, steps);
        if (mesh.size() == 1) one_worker = run;
        return run;
      };
      EXPECT_SCALE_EQUIVALENT(make, {Partition::world().grid(layout.axes)}, kSteps);
    }
  }
}

TEST(LayerLayouts, EachLinearTrainsAsOnOneWorker) { expect_scale_equivalent(linears()); }

TEST(LayerLayouts, EachOtherLayerTrainsAsOnOneWorker) { expect_scale_equivalent(others()); }

}  // namespace
}  // namespace riesz::testing
