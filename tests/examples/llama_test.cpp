// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The model of docs/guides/write_a_model.md beside the same in plain LibTorch, at every layout and stage.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/testing/parts.h"
#include "training_llama.h"

namespace riesz::testing {
namespace {

/// x ↦ gain·x, a number for each channel.
class Scale : public Layer<Scale> {
 public:
  Scale(Module& owner, const std::string& name) : Layer({owner, name}) {}

  Vector forward(const Vector& x) { return mul(x, "btc", gain_.value(), "c"); }
  std::string describe() const override { return "Scale"; }

 private:
  Parameter gain_{parameter("gain", spaces().weight("btc,c->btc"), {Initial::ones()})};
};

class ScaledRows : public Layer<ScaledRows> {
 public:
  ScaledRows(const Layout& layout, const LlamaConfig& sizes) : Layer("", {layout, sizes.roles()}) {}

  Vector forward(const Vector& ids) { return head(scale(embed(ids))); }
  std::string describe() const override { return "ScaledRows"; }

 private:
  Embedding embed{*this, "embed", "bt,vc->btc"};
  Scale scale{*this, "scale"};
  Linear head{*this, "head", "btc,vc->btv"};
};

/// Written from the published architecture; under the names and in the shapes of the run, flat.
struct Plain {
  std::map<std::string, at::Tensor> w;

  at::Tensor matrix(const std::string& name, std::int64_t rows) const {
    return w.at(name + ".weight").reshape({rows, -1});
  }

  at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    return at::rms_norm(x, {kConfig.width}, w.at(name + ".weight"), kConfig.epsilon);
  }

  at::Tensor turned(const at::Tensor& x) const {  // (B, heads, T, d), by halves
    const std::int64_t half = x.size(-1) / 2;
    const at::Tensor frequencies =
        at::pow(kConfig.base, at::arange(0, half, at::kDouble).mul(-1.0 / static_cast<double>(half)));
    const at::Tensor angles = at::outer(at::arange(x.size(2), at::kDouble), frequencies);
    const at::Tensor a = x.narrow(-1, 0, half), b = x.narrow(-1, half, half);
    return at::cat({a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()}, -1);
  }

  at::Tensor block(const std::string& h, at::Tensor x) const {
    const std::int64_t H = kConfig.heads, G = kConfig.key_value_heads, C = kConfig.width, d = C / H;
    const at::Tensor n = norm(h + ".input_layernorm", x);
    const auto heads = [&](const std::string& name, std::int64_t count) {
      return at::linear(n, matrix(h + ".self_attn." + name, count * d))
          .view({kBatch, kTokens, count, d})
          .transpose(1, 2);
    };
    const auto shared = [&](const at::Tensor& y) { return y.repeat_interleave(H / G, 1); };
    const at::Tensor y =
        at::scaled_dot_product_attention(turned(heads("q_proj", H)), shared(turned(heads("k_proj", G))),
                                         shared(heads("v_proj", G)), std::nullopt, 0.0, true);
    x = x + at::linear(y.transpose(1, 2).reshape({kBatch, kTokens, C}), matrix(h + ".self_attn.o_proj", C));
    const at::Tensor m = norm(h + ".post_attention_layernorm", x);
    const at::Tensor gate = at::linear(m, matrix(h + ".mlp.gate_proj", kConfig.hidden));
    const at::Tensor up = at::linear(m, matrix(h + ".mlp.up_proj", kConfig.hidden));
    return x + at::linear(at::silu(gate) * up, matrix(h + ".mlp.down_proj", C));
  }

  at::Tensor operator()(const at::Tensor& ids) const {
    at::Tensor x = at::embedding(w.at("model.embed_tokens.weight"), ids);
    for (std::int64_t layer = 0; layer < kConfig.layers; ++layer)
      x = block("model.layers." + std::to_string(layer), x);
    return at::linear(norm("model.norm", x), w.at("lm_head.weight"));
  }
};

TrainingRun train_plainly(const TrainingRun& one_worker) {
  Plain plain;
  std::map<std::string, at::Tensor> momentum;
  for (const auto& [name, w] : one_worker.initial) plain.w[name] = w.clone().requires_grad_();
  TrainingRun run;
  run.initial = one_worker.initial;
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor logits = plain(ids_of(step));
    const at::Tensor loss =
        at::cross_entropy_loss(logits.view({-1, kConfig.vocabulary}), ids_of(step + 1).view({-1}));
    loss.backward();
    run.results["loss of step " + std::to_string(step)] = loss.detach();
    if (step == 0) run.results["logits"] = logits.detach();
    const at::NoGradGuard no_gradient;
    for (auto& [name, w] : plain.w) {
      if (step == 0) run.results["gradient of " + name] = w.grad().clone();
      at::Tensor& m = momentum[name];
      m = m.defined() ? m * 0.9 + w.grad() : w.grad().clone();
      w.sub_(m * kRate);
      w.mutable_grad().reset();
    }
  }
  for (const auto& [name, w] : plain.w) run.results[name + " after training"] = w.detach();
  return run;
}

TEST(Llama, IsThePlainModelAtEveryLayout) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train<Llama>(spaces::one_d(alone), std::nullopt);
  EXPECT_TRUE(compare_runs(one_worker, train_plainly(one_worker)));
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const Layout made = layout.make(mesh, layout.sequence);
    EXPECT_TRUE(compare_runs(train<Llama>(made, layout.stage), one_worker))
        << made.name << " on " << to_string(mesh);
  }
}

/// What leaves this worker, in forward and in backward.
struct Sent {
  std::int64_t forward = 0, backward = 0;
};

Sent sent_by_step(const Layout& layout, std::int64_t layers) {
  LlamaConfig config = kConfig;
  config.layers = layers;
  config.key_value_heads = config.heads;  // no two workers need the same one
  Llama model(layout, config);
  model.initialise(7, at::kDouble);
  const Vector ids = distribute(model.spaces().stream("bt").with_shape({kBatch, kTokens}), ids_of(0));
  const Vector targets = distribute(model.spaces().inside("bt").with_shape({kBatch, kTokens}), ids_of(1));
  Chain chain;
  const std::int64_t start = Counters::instance().total().elements;
  const Vector loss = cross_entropy(model(ids), targets).mean();
  const std::int64_t middle = Counters::instance().total().elements;
  backward(loss);
  return {middle - start, Counters::instance().total().elements - middle};
}

/// Of one block: what three layers send, less what two do.
Sent sent_by_block(const Layout& layout) {
  const Sent three = sent_by_step(layout, 3), two = sent_by_step(layout, 2);
  return {three.forward - two.forward, three.backward - two.backward};
}

/// What q, k and v read is gathered once, and so is what gate and up read; in backward once more, and their
/// gradients are one sum.
TEST(Llama, ABlockGathersOnceWhatSeveralLayersRead) {
  const std::int64_t p = Runtime::size(), C = kConfig.width, N = kBatch * kTokens * C;
  const auto own = [&](std::int64_t n) {
    return Split::balanced(n, Runtime::size())[Runtime::rank()].size();
  };
  const auto all_reduce = [&](std::int64_t n) { return n - own(n) + (p - 1) * own(n); };
  const Partition mesh = Partition::world().grid({{"tp", Runtime::size()}});

  const Sent columns = sent_by_block(spaces::one_d(mesh));
  EXPECT_EQ(columns.forward, 2 * all_reduce(N)) << "after o and down";
  EXPECT_EQ(columns.backward, 2 * all_reduce(N))
      << "before q, k, v, and before gate, up; 5 if each had its own";

  const std::int64_t n = kBatch * own(kTokens) * C;  // of the stream, on this worker
  const std::int64_t gather = (p - 1) * n, scatter = N - n;
  const Sent sequence = sent_by_block(spaces::sequence_parallel(mesh));
  EXPECT_EQ(sequence.forward, 2 * gather + 2 * scatter) << "5 gathers if each had its own";
  EXPECT_EQ(sequence.backward, 4 * gather + 2 * scatter + 2 * all_reduce(C))
      << "both inputs again, both outputs' gradients, two sums, and the norms' weights; 7 gathers and 5 sums";
}

TEST(Llama, ALayerOfOnesOwnIsTheSameAtEveryLayout) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train<ScaledRows>(spaces::one_d(alone), std::nullopt);
  EXPECT_GT(one_worker.results.at("gradient of scale.gain").abs().min().item<double>(), 0);
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const Layout made = layout.make(mesh, layout.sequence);
    EXPECT_TRUE(compare_runs(train<ScaledRows>(made, layout.stage), one_worker))
        << made.name << " on " << to_string(mesh);
  }
}

TEST(Llama, TakesTheWeightsOfAnotherLayout) {
  Llama model(spaces::one_d(Partition::world().grid({{"dp", Runtime::size()}})), kConfig);
  model.initialise(1, at::kDouble);
  std::map<std::string, at::Tensor> saved;
  for (const Parameter& p : model.parameters()) saved[p.name()] = full_tensor(p.get()).view(p.shape());
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    Llama other(layout.make(mesh, layout.sequence), kConfig);
    other.initialise(2, at::kDouble);
    for (Parameter p : other.parameters()) p.set(saved.at(p.name()));
    for (const Parameter& p : other.parameters())
      EXPECT_SAME_BITS(full_tensor(p.get()).view(p.shape()), saved.at(p.name()));
  }
}

TEST(Llama, GeneratesWithCachesWhatTheWholeForwardGives) {
  const at::NoGradGuard no_gradient;
  const at::Tensor ids = ids_of(0);
  for (const LayoutCase& layout : layouts()) {
    if (layout.stage || layout.sequence == Sequence::ring) continue;
    Llama model(layout.make(Partition::world().grid(layout.axes), layout.sequence), kConfig);
    SCOPED_TRACE(model.spaces().layout().name);
    model.initialise(7, at::kDouble);
    const Space tokens = model.spaces().stream("bt");
    const at::Tensor whole = full_tensor(model(distribute(tokens.with_shape({kBatch, kTokens}), ids)));
    ModelCache cache;
    for (const std::int64_t n : {9, 1, 3}) {  // a prompt of 9 tokens, then more
      const std::int64_t before = cache.positions();
      const CacheScope scope(cache, n);
      const Vector logits = model(distribute(tokens.with_shape({kBatch, n}), ids.narrow(1, before, n)));
      const at::Tensor apart = full_tensor(logits).sub(whole.narrow(1, before, n));
      EXPECT_LE(apart.abs().max().item<double>(), 1e-12) << before;
    }
  }
}

/// Its blocks on two parts of the job, of other layouts.
Layout in_two_places() {
  std::vector<int> first, rest;
  for (int rank = 0; rank < Runtime::size(); ++rank)
    (rank < Runtime::size() / 2 ? first : rest).push_back(rank);
  const Partition a = Partition::world().subset(first.empty() ? rest : first);
  const Partition b = Partition::world().subset(rest);
  return spaces::placed({spaces::sequence_parallel(a.grid({{"dp", 1}, {"tp", a.size()}})),
                         spaces::one_d(b.grid({{"dp", b.size()}, {"tp", 1}}))},
                        {{"model.layers.1", 1}, {"model.layers.2", 1}, {"lm_head", 1}});
}

TEST(Llama, IsTheSameInStages) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}});
  EXPECT_TRUE(compare_runs(train<Llama>(in_two_places(), std::nullopt),
                           train<Llama>(spaces::one_d(alone), std::nullopt)));
}

TEST(Llama, GeneratesInStages) {
  const at::NoGradGuard no_gradient;
  Llama model(in_two_places(), kConfig);
  model.initialise(7, at::kDouble);
  const Space tokens = model.spaces().stream("bt");
  const auto full = [&](const Vector& logits) { return TrainingRun::gathered(model, logits); };
  const at::Tensor whole = full(model(distribute(tokens.with_shape({kBatch, kTokens}), ids_of(0))));
  ModelCache cache;
  for (const std::int64_t n : {4, 4, 1, 1, 3}) {  // a range may be known from the call before
    const std::int64_t before = cache.positions();
    const Vector next = distribute(tokens.with_shape({kBatch, n}), ids_of(0).narrow(1, before, n));
    const CacheScope scope(cache, n);
    const at::Tensor apart = full(model(next)).sub(whole.narrow(1, before, n));
    EXPECT_LE(apart.abs().max().item<double>(), 1e-12) << before;
  }
}

TEST(Llama, HasThePublishedNamesAndShapes) {
  const Llama model(spaces::one_d(Partition::simulated(1).grid({{"dp", 1}})), {.layers = 1});
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const Parameter& parameter : model.parameters()) shapes[parameter.name()] = parameter.shape();

  EXPECT_EQ(shapes, (std::map<std::string, std::vector<std::int64_t>>{
                        {"model.embed_tokens.weight", {97, 48}},
                        {"model.layers.0.input_layernorm.weight", {48}},
                        {"model.layers.0.self_attn.q_proj.weight", {48, 48}},
                        {"model.layers.0.self_attn.k_proj.weight", {16, 48}},
                        {"model.layers.0.self_attn.v_proj.weight", {16, 48}},
                        {"model.layers.0.self_attn.o_proj.weight", {48, 48}},
                        {"model.layers.0.post_attention_layernorm.weight", {48}},
                        {"model.layers.0.mlp.gate_proj.weight", {128, 48}},
                        {"model.layers.0.mlp.up_proj.weight", {128, 48}},
                        {"model.layers.0.mlp.down_proj.weight", {48, 128}},
                        {"model.norm.weight", {48}},
                        {"lm_head.weight", {97, 48}}}));
}

}  // namespace
}  // namespace riesz::testing
