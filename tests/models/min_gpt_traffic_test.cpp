// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "training.h"

namespace riesz::testing {
namespace {

const Problem kProblem{
    {.layers = 2, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0.1}, 5, 7};

/// An all-reduce of n elements over p workers, as it leaves the one at position r: a reduce-scatter and an
/// all-gather of flat balanced chunks, 2(p − 1)/p·n elements where p divides n. Two workers give each other
/// all of a small one.
Traffic all_reduce(std::int64_t n, int p, int r) {
  if (p == 2 && n > 0 && n <= 8192) return {n, 8 * n, 1};
  const Split chunks = Split::balanced(n, p);
  Traffic traffic;
  for (int other = 0; other < p; ++other) {
    if (other == r) continue;
    for (const int chunk : {other, r}) {
      if (chunks[chunk].size() > 0) traffic += {chunks[chunk].size(), chunks[chunk].size() * 8, 1};
    }
  }
  return traffic;
}

/// One training step of a layout, by hand: what leaves the worker at (d, t) of dp × tp.
struct Formula {
  int dp;
  int tp;
  int d;
  int t;
  std::int64_t rows;  // b·s of this worker

  Traffic over_tp(std::int64_t n) const { return all_reduce(n, tp, t); }
  Traffic over_dp(std::int64_t n) const { return all_reduce(n, dp, d); }

  /// b·s·h once for the embedding, and after attention and MLP of each layer.
  Traffic forward_over_tp() const {
    Traffic sum;
    for (int i = 0; i < 1 + 2 * 2; ++i) sum += over_tp(rows * kProblem.config.width);
    return sum;
  }
  /// b·s·h once for the output layer, and before attention and MLP of each layer.
  Traffic backward_over_tp() const { return forward_over_tp(); }
  /// The sums of exponentials and targets' logits; the loss, and the counts of targets and of wrong ones.
  Traffic loss() const { return over_tp(2 * rows) + over_dp(1) + over_dp(2); }
  /// The rows' greatest logits; the least and the greatest of the ids, which are checked.
  Traffic all_max() const { return over_tp(rows) + over_dp(2); }
  /// Every gradient, at the size that tensor parallelism leaves; of the position table, the rows in use.
  Traffic gradients_over_dp(const models::MinGpt& model) const {
    Traffic sum;
    for (const Parameter& parameter : model.parameters()) {
      const bool positions = parameter.name() == "transformer.wpe.weight";
      sum +=
          over_dp(positions ? kProblem.sequence * kProblem.config.width : parameter.value().local().numel());
    }
    return sum;
  }
};

TEST(MinGptTraffic, IsThatOfOneDimensionalTensorAndDataParallelism) {
  for (int dp = 1; dp <= Runtime::size(); ++dp) {
    if (Runtime::size() % dp != 0) continue;
    const Partition mesh = Partition::world().grid({{"dp", dp}, {"tp", Runtime::size() / dp}});
    models::MinGpt model(spaces::one_d(mesh), kProblem.config);
    model.initialise(kSeed, at::kDouble);
    const Space tokens = model.tokens().with_shape({kProblem.batch, kProblem.sequence});
    const Vector ids = distribute(tokens, ids_of(kProblem, 0));
    const Vector targets = distribute(tokens, targets_of(kProblem, 0));

    const ContextScope scope({.training = true, .seed = kSeed});
    Counters::instance().reset();
    Chain chain;
    const Loss loss = cross_entropy(model(ids), targets);
    backward(loss.mean());
    auto counted = Counters::instance().by_operation();

    const Formula formula{dp, mesh.extent("tp"), mesh.coordinates(mesh.rank())[0],
                          mesh.coordinates(mesh.rank())[1], ids.local().numel()};
    const Traffic expected = formula.forward_over_tp() + formula.loss() + formula.backward_over_tp() +
                             formula.gradients_over_dp(model);
    EXPECT_EQ(counted["AllReduce"].elements, expected.elements) << to_string(mesh);
    EXPECT_EQ(counted["AllReduce"].messages, expected.messages) << to_string(mesh);
    EXPECT_EQ(counted["AllReduce"].bytes, expected.bytes) << to_string(mesh);
    EXPECT_EQ(counted["AllMax"], formula.all_max()) << to_string(mesh);
    EXPECT_EQ(Counters::instance().total(), expected + formula.all_max()) << "nothing else moves";
  }
}

}  // namespace
}  // namespace riesz::testing
