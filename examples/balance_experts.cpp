// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trains a small transformer with experts. Its gates balance them by a bias, without a loss:
//   riesz-mpirun -n 4 balance_experts [EP]
// EP workers share the experts out; the losses are the same for any number of workers.
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "riesz/riesz.h"

using namespace riesz;

constexpr std::int64_t kExperts = 8, kWidth = 32, kHeads = 4, kWords = 61;

/// e: the experts, which lie over the axis "ep". r: a token's logits of all experts, which are whole.
Roles roles() {
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'c', {Role::width, kWidth}},
          {'h', {Role::heads, kHeads}},
          {'d', {Role::whole, kWidth / kHeads}},
          {'f', {Role::inner, 48}},
          {'e', {expert_role(), kExperts}},
          {'r', {Role::whole, kExperts}},
          {'v', {Role::vocabulary, kWords}}};
}

class SparseBlock : public Layer<SparseBlock> {
 public:
  explicit SparseBlock(OwnerAndName place) : Layer(std::move(place)) {}

  Vector forward(Vector x) {  // (B, T, C) -> (B, T, C)
    const Vector n = norm_1(x);
    x = x + o(attend(q(n), k(n), v(n)));
    const Vector m = norm_2(x);
    const Routing routing = gate(to_space(router(m), experts.gate_space(kExperts)));
    return x + experts(m, routing);
  }
  std::string describe() const override { return "block with experts"; }

 private:
  RmsNorm norm_1{*this, "norm_1", "btc"};
  Linear q{*this, "q", "btc,hdc->bthd"}, k{*this, "k", "btc,hdc->bthd"}, v{*this, "v", "btc,hdc->bthd"};
  Attention attend{*this, "", {.causal = true}};
  Linear o{*this, "o", "bthd,chd->btc"};
  RmsNorm norm_2{*this, "norm_2", "btc"};
  Linear router{*this, "router", "btc,rc->btr", {.bias = false}};
  Experts experts{*this, "experts", "btc", "ef", {.activation = "silu", .gated = true}};

 public:
  TopKGate gate{{*this, "gate"},
                spaces().mesh(),
                kExperts,
                {.k = 2, .score = GateOptions::Score::sigmoid, .bias_rate = 0.01}};
};

class SparseModel : public Layer<SparseModel> {
 public:
  explicit SparseModel(const Layout& layout) : Layer("", {layout, roles()}) {}

  Vector forward(const Vector& ids) { return head(norm(blocks(embed(ids)))); }  // (B, T) -> (B, T, V)
  std::string describe() const override { return "transformer with experts"; }

 private:
  Embedding embed{*this, "embed", "bt,vc->btc"};

 public:
  Repeated<SparseBlock> blocks{*this, "blocks", 2};

 private:
  RmsNorm norm{*this, "norm", "btc"};
  Linear head{*this, "head", "btc,vc->btv", {.bias = false}};
};

/// Sequences to learn, alike on all workers: squares, modulo the vocabulary.
at::Tensor squares(std::int64_t from) {
  const at::Tensor count = at::arange(from, from + 8 * 32, at::kLong).view({8, 32});
  return at::remainder(count.mul(count), kWords);
}

int work(int count, char** words) {
  const int ep = count > 1 ? std::atoi(words[1]) : 1;
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size() / ep}, {"ep", ep}});
  SparseModel model(spaces::with_experts(spaces::one_d(mesh), "dp"));
  model.initialise(1, at::kDouble);
  AdamW optimizer(model.parameters(), {.learning_rate = 3e-3});
  const Space tokens = model.spaces().stream("bt").with_shape({8, 32});
  const Space targets = model.spaces().inside("bt").with_shape({8, 32});
  for (int step = 0; step < 10; ++step) {
    const ContextScope scope({.training = true, .seed = 1, .step = step});
    Chain chain;
    const Vector logits = model(distribute(tokens, squares(0)));
    const Vector loss = cross_entropy(logits, distribute(targets, squares(1))).mean();
    backward(loss);
    optimizer.step();
    optimizer.zero_gradients();
    double load = 0;  // 1 / kExperts: even
    for (SparseBlock& block : model.blocks) {
      load = std::max(load, block.gate.statistics_of(step)->load.max().item<double>());
      block.gate.move_bias();
    }
    if (Runtime::rank() == 0)
      std::printf("step %d: loss %.9f, the most chosen expert has %.2f times its share\n", step,
                  loss.local().item<double>(), kExperts * load);
  }
  return 0;
}

int main(int count, char** words) { return run_main(count, words, work); }
