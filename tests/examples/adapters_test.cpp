// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Two branches that share one sum over workers, and trained layers beside frozen ones, at every layout.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "riesz/nn/vectors/to_space.h"
#include "training_llama.h"

namespace riesz::testing {
namespace {

/// down(x) + b(a(x)): two small Linears beside a third (LoRA, Hu et al., 2106.09685), and one sum for both.
class Adapted : public Layer<Adapted> {
 public:
  Adapted(Module& owner, const std::string& name) : Layer({owner, name}) {}

  Vector forward(const Vector& x) { return to_space(down(x) + b(a(x)), spaces().stream("btc")); }
  std::string describe() const override { return "Adapted"; }

  Linear down{*this, "down", "btf,cf->btc", {.terms = true}};

 private:
  Linear a{*this, "a", "btf,rf->btr", {.bias = false}};
  Linear b{*this, "b", "btr,cr->btc", {.bias = false, .terms = true}};
};

/// The same where no layout splits r, so that b(a(x)) is no sum of terms.
class AdaptedByLetters : public Layer<AdaptedByLetters> {
 public:
  AdaptedByLetters(Module& owner, const std::string& name) : Layer({owner, name}) {}

  Vector forward(const Vector& x) {
    return to_space(add(down(x), "btc", b(a(x)), "btc"), spaces().stream("btc"));
  }
  std::string describe() const override { return "AdaptedByLetters"; }

  Linear down{*this, "down", "btf,cf->btc", {.terms = true}};

 private:
  Linear a{*this, "a", "btf,rf->btr", {.bias = false}};
  Linear b{*this, "b", "btr,cr->btc", {.bias = false, .terms = true}};
};

/// Of which only the adapters and the head are trained.
template <typename Branches, const Role& rank>
class Rows : public Layer<Rows<Branches, rank>> {
 public:
  Rows(const Layout& layout, const LlamaConfig& sizes)
      : Layer<Rows<Branches, rank>>("", {layout, roles(sizes)}) {
    embed.freeze(), up.freeze(), adapted.down.freeze();
  }

  Vector forward(const Vector& ids) { return head(adapted(silu(up(embed(ids))))); }
  std::string describe() const override { return "Rows"; }

 private:
  static Roles roles(const LlamaConfig& sizes) {
    Roles all = sizes.roles();
    all['r'] = {rank, 5};
    return all;
  }

  Embedding embed{*this, "embed", "bt,vc->btc"};
  Linear up{*this, "up", "btc,fc->btf"};
  Branches adapted{*this, "adapted"};
  Linear head{*this, "head", "btc,vc->btv"};
};

using AdaptedRows = Rows<Adapted, Role::inner>;
using RowsByLetters = Rows<AdaptedByLetters, Role::whole>;

bool is_trained(const std::string& name) {
  return name.starts_with("head.") || name == "adapted.a.weight" || name == "adapted.b.weight";
}

TEST(Adapters, AreTrainedBesideFrozenLayersAtEveryLayout) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train<AdaptedRows>(spaces::one_d(alone), std::nullopt);
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const Layout made = layout.make(mesh, layout.sequence);
    SCOPED_TRACE(made.name + " on " + to_string(mesh));
    const TrainingRun run = train<AdaptedRows>(made, layout.stage);
    EXPECT_TRUE(compare_runs(run, one_worker));
    for (const auto& [name, w] : run.initial)
      EXPECT_EQ(at::equal(run.results.at(name + " after training"), w), !is_trained(name)) << name;
  }
}

TEST(Adapters, ThatAreNoTermsJoinThemByLetters) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train<RowsByLetters>(spaces::one_d(alone), std::nullopt);
  EXPECT_TRUE(compare_runs(one_worker, train<AdaptedRows>(spaces::one_d(alone), std::nullopt)));
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    if (layout.stage || layout.sequence != Sequence::whole) continue;
    EXPECT_TRUE(compare_runs(train<RowsByLetters>(layout.make(mesh, layout.sequence), {}), one_worker))
        << to_string(mesh);
  }
}

TEST(Adapters, AloneHaveGradientsAndAPlaceInTheStore) {
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    AdaptedRows model(layout.make(mesh, layout.sequence), kConfig);
    model.initialise(7, at::kDouble);
    const Zero zero(model.parameters(), {.axes = {mesh.axes().front().name}});
    std::int64_t elements = 0;
    for (const Parameter& p : model.parameters()) elements += is_trained(p.name()) ? p.leaf().numel() : 0;
    EXPECT_EQ(zero.holdings().gradients, 8 * elements);
    EXPECT_EQ(zero.store()->shares().size(), 4U) << "a, b, and the head's two";
  }
}

/// What layers of this path and below sent by an operator.
Traffic sent_by(const std::string& path, const std::string& operation) {
  Traffic sum;
  for (const TrafficRecord& record : Counters::instance().records())
    if (record.origin.layer.starts_with(path) && record.operation.starts_with(operation))
      sum += record.traffic;
  return {sum.elements, 0, sum.messages};
}

TEST(Adapters, ShareTheSumOfTheLayerBesideThem) {
  const int workers = Runtime::size();
  const std::int64_t p = workers, row = kBatch * kConfig.width, N = row * kTokens;
  const std::int64_t chunk = Split::balanced(N, workers)[Runtime::rank()].size();
  const std::int64_t kept = row * Split::balanced(kTokens, workers)[Runtime::rank()].size();
  const Partition mesh = Partition::world().grid({{"tp", workers}});
  const at::NoGradGuard no_gradient;
  for (const bool sequence : {false, true}) {
    AdaptedRows model(sequence ? spaces::sequence_parallel(mesh) : spaces::one_d(mesh), kConfig);
    model.initialise(7, at::kDouble);
    const Space tokens = model.spaces().stream("bt").with_shape({kBatch, kTokens});
    Counters::instance().record(true);
    model(distribute(tokens, ids_of(0)));
    EXPECT_EQ(sent_by("adapted", "AllReduce"),
              (sequence ? Traffic{} : Traffic{N - chunk + (p - 1) * chunk, 0, p == 2 ? 1 : 2 * (p - 1)}));
    EXPECT_EQ(sent_by("adapted", "ReduceScatter"), (sequence ? Traffic{N - kept, 0, p - 1} : Traffic{}));
    Counters::instance().record(false);
  }
}

}  // namespace
}  // namespace riesz::testing
