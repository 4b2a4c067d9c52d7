// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A gate at every layout of its tokens, against one worker's written plainly.
#include "riesz/nn/experts/top_k_gate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "expect.h"
#include "plain_experts.h"
#include "program_traffic.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/experts/gate_balance.h"
#include "riesz/nn/random/random.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Balance = GateOptions::Balance;
using Drop = GateOptions::Drop;
using Score = GateOptions::Score;

constexpr std::int64_t kRows = 3, kLength = 4, kExperts = 5;

/// Sequences over "a", in zigzag over "b", the same on all of "c".
Space logits_on(const Partition& grid) {
  Space L(grid, {kRows, kLength, kExperts});
  if (grid.find("b") >= 0) L = L.zigzag(1, "b");
  return L.sharded(0, "a");
}

/// Batch and sequence both over all axes, in another order.
Space cut_otherwise(const Partition& grid) {
  Space L(grid, {kRows, kLength, kExperts});
  for (const Axis& axis : grid.axes()) L = L.sharded(axis.name == "b" ? 0 : 1, axis.name);
  return L;
}

std::string text_of(Balance balance) {
  if (balance == Balance::gshard) return "gshard";
  if (balance == Balance::none) return "none";
  return balance == Balance::first_choice ? "first" : "all";
}

plain::Gate plainly(const GateOptions& o) {
  plain::Gate gate{o.k, o.score == Score::sigmoid, o.renormalise,    o.scale,    "none",
                   0,   text_of(o.balance),        o.balance_weight, o.z_weight, {},
                   {}};
  if (o.drop != Drop::none) gate.drop = o.drop == Drop::position ? "position" : "probability";
  const double tokens = kRows * kLength;
  gate.capacity = std::max<std::int64_t>(
      o.least_capacity,
      static_cast<std::int64_t>(std::ceil(tokens / kExperts * o.capacity_factor * static_cast<double>(o.k))));
  return gate;
}

/// The choices of this worker's tokens among those of all.
std::vector<std::int64_t> of_here(const Space& G, const plain::Gated& all) {
  std::vector<std::int64_t> mine;
  const at::Tensor indices = global_indices(G, G.partition().rank()).reshape({-1});
  const std::int64_t k = G.shape().back();
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    const std::int64_t index = indices[i].item<std::int64_t>();
    mine.push_back(all.choices[static_cast<std::size_t>(index / k)][static_cast<std::size_t>(index % k)]);
  }
  return mine;
}

void expect_plain(TopKGate& gate, const plain::Gate& plain, const Space& L, const at::Tensor& global) {
  const at::Tensor leaf_of_all = global.clone().requires_grad_();
  const plain::Gated all = plain::gated(plain, leaf_of_all.view({-1, kExperts}));
  const at::Tensor gbar = draws({kRows * kLength, plain.k}, 7);
  ((all.gate_values * gbar).sum() + 3 * all.loss).backward();

  const Vector logits = leaf(L, global);
  Chain chain;
  const Routing routing = gate(logits);
  backward({routing.gate_values, routing.loss},
           {distribute(dual(routing.gate_values.space()), gbar.view({kRows, kLength, plain.k})),
            distribute(dual(routing.loss.space()), at::zeros({}, at::kDouble).fill_(3))});

  EXPECT_EQ(routing.choices.experts, of_here(routing.gate_values.space(), all));
  EXPECT_TRUE(means(routing.gate_values, all.gate_values.view({kRows, kLength, plain.k})));
  EXPECT_TRUE(means(routing.loss, all.loss));
  EXPECT_TRUE(means(gradient(logits), leaf_of_all.grad()));
  EXPECT_TRUE(is_close(routing.statistics.load, all.load));
  EXPECT_NEAR(routing.statistics.dropped.item<double>(), all.dropped, 1e-12);
  EXPECT_NEAR(routing.statistics.entropy.item<double>(), all.entropy, 1e-12);
  if (plain.drop == "none") return;
  ASSERT_EQ(static_cast<int>(routing.counts.size()), L.partition().size());
  EXPECT_EQ(routing.counts[static_cast<std::size_t>(L.partition().rank())], routing.choices.counts(kExperts));
}

std::vector<GateOptions> some_options() {
  return {
      {.k = 1},
      {.k = 2, .balance = Balance::gshard, .balance_weight = 0.3, .z_weight = 0.01},
      {.k = 2, .score = Score::sigmoid, .scale = 2.5, .balance = Balance::all_choices, .balance_weight = 0.1},
      {.k = kExperts, .renormalise = false, .balance = Balance::first_choice, .balance_weight = 0.2},
      {.k = 2, .drop = Drop::position, .capacity_factor = 0.6, .least_capacity = 1},
      {.k = 3, .drop = Drop::position, .capacity_factor = 0.01, .least_capacity = 1},
      {.k = 2, .renormalise = false, .drop = Drop::probability, .capacity_factor = 0.7, .least_capacity = 1},
      {.k = 1,
       .score = Score::sigmoid,
       .drop = Drop::probability,
       .capacity_factor = 0.01,
       .least_capacity = 1}};
}

TEST(TopKGate, IsThatOfOneWorkerAtEveryLayout) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    for (const Space& L : {logits_on(grid), cut_otherwise(grid)}) {
      for (const GateOptions& options : some_options()) {
        SCOPED_TRACE(to_string(L) + ", k = " + std::to_string(options.k));
        TopKGate gate("gate", grid, kExperts, options);
        expect_plain(gate, plainly(options), L, draws({kRows, kLength, kExperts}, 5));
      }
    }
  });
}

/// By the quotient itself, of which the plain gate has another form.
TEST(TopKGate, DividesScoresByTheSumOfThoseKept) {
  for (const Score score : {Score::softmax, Score::sigmoid}) {
    for (const Drop drop : {Drop::none, Drop::position}) {
      const GateOptions options{
          .k = 3, .score = score, .drop = drop, .capacity_factor = 0.3, .least_capacity = 1};
      const Partition here = Partition::world().subset({Runtime::rank()});
      TopKGate gate("gate", here, kExperts, options);
      const Vector logits = leaf(Space(here, {8, kExperts}), draws({8, kExperts}, 5));
      const Routing routing = gate(logits);
      const at::Tensor x = logits.local().detach().clone().requires_grad_();
      const at::Tensor scores = score == Score::softmax ? x.softmax(1) : x.sigmoid();
      const at::Tensor choices = at::tensor(routing.choices.experts).view({8, 3}), kept = choices.ge(0);
      const at::Tensor of_kept = scores.gather(1, choices.clamp_min(0)) * kept;
      const at::Tensor sums = of_kept.sum(1, true), gates = of_kept / (sums + sums.eq(0));
      const at::Tensor gbar = draws({8, 3}, 7);
      (gates * gbar).sum().backward();
      (routing.gate_values.local() * gbar).sum().backward();
      EXPECT_TRUE(is_close(routing.gate_values.local(), gates));
      EXPECT_TRUE(is_close(logits.local().grad(), x.grad()));
    }
  }
}

/// Its weight is 1 whatever its logit is. A rest of rounding would move the router as far as any gradient,
/// for Adam divides by its size.
TEST(TopKGate, HasNoGradientOfAChoiceThatIsAlone) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    for (const Score score : {Score::softmax, Score::sigmoid}) {
      for (const Drop drop : {Drop::position, Drop::probability}) {
        TopKGate gate("gate", grid, kExperts,
                      {.k = 2, .score = score, .drop = drop, .capacity_factor = 0.3, .least_capacity = 1});
        const Vector logits = leaf(logits_on(grid), draws({kRows, kLength, kExperts}, 5).mul(4));
        const Chain chain;
        const Routing routing = gate(logits);
        const at::Tensor gbar = draws({kRows, kLength, 2}, 7);
        backward({routing.gate_values}, {distribute(dual(routing.gate_values.space()), gbar)});
        const at::Tensor kept = at::tensor(routing.choices.experts).view({-1, 2}).ge(0).sum(1);
        const at::Tensor found = gradient(logits).local().reshape({-1, kExperts}).abs().sum(1);
        EXPECT_SAME_BITS(found.gt(0), kept.eq(2));
      }
    }
  });
}

/// Equal logits, and many of equal ones: the expert of the lower number, and the token of the lower number.
TEST(TopKGate, BreaksTiesByTheLowerNumber) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    for (const at::Tensor& global : {at::zeros({kRows, kLength, kExperts}, at::kDouble),
                                     draws({kRows, kLength, kExperts}, 5).round().clamp(-1, 1)}) {
      for (const GateOptions& options : some_options()) {
        TopKGate gate("gate", grid, kExperts, options);
        expect_plain(gate, plainly(options), logits_on(grid), global);
      }
    }
  });
}

TEST(TopKGate, DrawsNoiseByTheGlobalIndex) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    const GateOptions options{
        .k = 2, .noise = 0.8, .drop = Drop::position, .capacity_factor = 0.6, .least_capacity = 1};
    TopKGate gate("gate", grid, kExperts, options);
    EXPECT_TRUE(gate.draws());
    for (const std::int64_t first : {0, 2}) {  // of a global batch of as many rows, or of more
      const ContextScope scope(
          {.training = true, .seed = 3, .step = 7, .first_row = first, .rows = first + kRows});
      const Space all(Partition::simulated(1), {first + kRows, kLength, kExperts});
      plain::Gate plain = plainly(options);
      plain.noise =
          normal(all, philox_key(3, "gate, step 7")).narrow(0, first, kRows).reshape({-1, kExperts}) * 0.8;
      expect_plain(gate, plain, logits_on(grid), draws({kRows, kLength, kExperts}, 5));
    }
    const ContextScope scope({.training = false});
    expect_plain(gate, plainly(options), logits_on(grid), draws({kRows, kLength, kExperts}, 5));
  });
}

/// The micro-batches of a step are one batch, in any order, and one that runs again counts once.
TEST(TopKGate, KnowsHowItChoseInAStep) {
  const GateOptions options{.k = 2, .drop = Drop::position, .capacity_factor = 0.6, .least_capacity = 1};
  for_each_grid(Partition::world(), [&](const Partition& grid) {
    TopKGate gate("gate", grid, kExperts, options);
    const Space all(grid, {kRows + 2, kLength, kExperts});
    const at::Tensor global = draws({kRows + 2, kLength, kExperts}, 5);
    const auto call = [&](bool training, std::int64_t step, std::int64_t first, std::int64_t rows) {
      const ContextScope scope({.training = training, .step = step, .first_row = first, .rows = kRows + 2});
      const Space L = logits_on(grid).with_shape({rows, kLength, kExperts});
      return gate(distribute(L, global.narrow(0, first, rows))).statistics;
    };
    EXPECT_FALSE(gate.statistics_of(3));
    const GateStatistics second = call(true, 3, 2, kRows), first = call(true, 3, 0, 2);
    call(true, 3, 2, kRows);
    call(false, 3, 0, kRows);  // a measurement
    const GateStatistics step = *gate.statistics_of(3);
    const double share = 2.0 / (kRows + 2);
    const auto near = [&](const at::Tensor& is, const at::Tensor& a, const at::Tensor& b) {
      EXPECT_TRUE(is.allclose(a * share + b * (1 - share), 1e-12, 1e-12));
    };
    near(step.load, first.load, second.load);
    near(step.dropped, first.dropped, second.dropped);
    near(step.entropy, first.entropy, second.entropy);
    EXPECT_GT(step.dropped.item<double>(), 0);
    call(true, 4, 0, 2);
    EXPECT_FALSE(gate.statistics_of(3));
    EXPECT_TRUE(gate.statistics_of(4)->load.equal(first.load));
  });
}

TEST(TopKGate, MovesItsBiasTowardsAnEvenLoad) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    const GateOptions options{.k = 2, .score = Score::sigmoid, .bias_rate = 0.25};
    TopKGate gate("gate", grid, kExperts, options);
    gate.initialise(1, at::kDouble);
    const at::Tensor global = draws({kRows, kLength, kExperts}, 5);
    plain::Gate plain = plainly(options);
    plain.bias = at::zeros({kExperts}, at::kDouble);
    for (int step = 0; step < 3; ++step) {
      expect_plain(gate, plain, logits_on(grid), global);
      const at::Tensor load = plain::gated(plain, global.view({-1, kExperts})).load;
      plain.bias = plain.bias + 0.25 * (load.mean() - load).sign();
      gate.move_bias();
      ASSERT_EQ(gate.parameters().size(), 1);
      EXPECT_FALSE(gate.parameters()[0].trained());
      EXPECT_TRUE(means(gate.parameters()[0].get(), plain.bias));
    }
  });
}

/// The balance of two gates together is that of one gate of all their tokens.
TEST(GateBalance, IsThatOfTheTokensOfAllGates) {
  for_each_grid(Partition::world(), [](const Partition& grid) {
    for (const Score score : {Score::softmax, Score::sigmoid}) {
      const GateOptions options{.k = 2, .score = score, .balance = Balance::over_gates};
      TopKGate gate("gate", grid, kExperts, options);
      const std::vector<std::int64_t> shape{kRows, kLength, kExperts};
      const at::Tensor one = draws(shape, 5).requires_grad_(), two = draws(shape, 6).requires_grad_();
      plain::Gate plain = plainly(options);
      plain.balance = "all", plain.balance_weight = 2;  // times k, for it is divided by k there
      const at::Tensor all =
          plain::gated(plain, at::cat({one.view({-1, kExperts}), two.view({-1, kExperts})})).loss;
      (3 * all).backward();

      const Vector x = leaf(logits_on(grid), one.detach()), y = leaf(cut_otherwise(grid), two.detach());
      Chain chain;
      const GateBalance balance = GateBalance::none(kExperts, x) + gate(x) + gate(y);
      const Vector loss = balance.loss(2, options.k);
      EXPECT_TRUE(means(loss, all.detach()));
      EXPECT_FALSE(loss.is_constant());
      backward({loss}, {distribute(dual(loss.space()), at::zeros({}, at::kDouble).fill_(3))});
      EXPECT_TRUE(means(gradient(x), one.grad()));
      EXPECT_TRUE(means(gradient(y), two.grad()));
    }
    TopKGate other("gate", grid, kExperts, {.k = 2, .balance = Balance::all_choices});
    const Chain chain;
    const Routing routing = other(leaf(logits_on(grid), draws({kRows, kLength, kExperts}, 5)));
    EXPECT_TRUE(routing.probability.is_constant() && routing.load.is_constant());
    EXPECT_TRUE(means(routing.load, routing.statistics.load));
  });
}

/// In zigzag a worker holds two runs of tokens, and the last one's are one.
TEST(TopKGate, CostsOneSumAndTheCountsOfEachRun) {
  const Partition grid = Partition::world().grid({{"a", Runtime::size()}});
  const int p = Runtime::size();
  const Space sums(grid, {3 * kExperts + 3});
  for (const std::int64_t runs : {1, 2}) {
    const Space L = runs == 1 ? Space(grid, {p, kLength, kExperts}).sharded(0, "a")
                              : Space(grid, {1, 2 * p, kExperts}).zigzag(1, "a");
    TopKGate gate("gate", grid, kExperts,
                  {.k = 2, .drop = Drop::position, .capacity_factor = 0.5, .balance = Balance::gshard});
    const Vector logits = leaf(L, draws(L.shape(), 5));
    Chain chain;
    Counters::instance().reset();
    const Routing routing = gate(logits);
    const std::int64_t numbers = runs * 2 * kExperts * (p - 1);
    const Traffic counts{numbers, 8 * numbers, p - 1};
    EXPECT_EQ(Counters::instance().by_operation()["RowCounts"], p > 1 ? counts : Traffic{});
    const std::int64_t sent = program_traffic().elements - (p > 1 ? counts.elements : 0);
    EXPECT_EQ(sent, map_to_space(sums.partial("a"), sums).traffic(grid.rank()).elements);
    Counters::instance().reset();
    backward({routing.gate_values, routing.loss}, {routing.gate_values, routing.loss});
    EXPECT_EQ(program_traffic(), Traffic{});
  }
}

TEST(TopKGate, RefusesWhatDoesNotFit) {
  const Partition world = Partition::world();
  EXPECT_ERROR(TopKGate("gate", world, 3, {.k = 4}), "gate gate", "k = 4 of 3 experts");
  EXPECT_ERROR(TopKGate("gate", world, 3, {.drop = Drop::position, .capacity_factor = 0}),
               "capacity factor of 0");
  EXPECT_ERROR(TopKGate("gate", world, 3, {.z_weight = -1}), "z_weight -1");
  TopKGate gate("gate", world, 3);
  EXPECT_ERROR(gate(Vector(Space(world, {2, 4}), at::zeros({2, 4}))), "logits of 3 experts");
  if (world.size() > 1) {
    const Space last = Space(world, {2, 3}).sharded(1, "world");
    EXPECT_ERROR(gate(Vector(last, at::zeros(last.local_shape()))), "Sharded on axis world",
                 "last dim is whole");
  }
  TopKGate noisy("gate", world, 3, {.noise = 1});
  EXPECT_ERROR(noisy(Vector(Space(world, {2, 3}), at::zeros({2, 3}))), "noise", "in no context");
}

/// Logits that a space says are alike, and are not, would send tokens to other experts on each worker.
TEST(TopKGate, ComparesChoicesWhereLogitsAreAlike) {
  const Partition world = Partition::world();
  if (world.size() == 1) return;
  const Space L(world, {2, 3});
  const at::Tensor logits = at::zeros(L.local_shape(), at::kDouble);
  TopKGate gate("gate", world, 3);
  const bool before = consistency_checks();
  set_consistency_checks(true);
  EXPECT_NO_THROW(gate(Vector(L, logits)));
  logits[1][world.rank() % 2] = 1;  // the first or the second one is chosen first
  EXPECT_ERROR(gate(Vector(L, logits)), "the choice of experts of gate gate", "(1, 0)");
  set_consistency_checks(before);
}

}  // namespace
}  // namespace riesz::testing
