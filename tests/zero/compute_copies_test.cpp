// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A weight is copied to the compute type once a step under data parallelism and ZeRO 1 and 2, and once a
// gathered value under ZeRO 3; a frozen one once.
#include <gtest/gtest.h>

#include <vector>

#include "riesz/nn/contraction/compute_copy.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/optim/adam.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr int kMicroBatches = 3, kSteps = 3;

class TwoInHalf : public Layer<TwoInHalf> {
 public:
  explicit TwoInHalf(const Partition& P) : Layer("two"), P_(P) {}
  Vector forward(const Vector& x) { return down(gelu(up(x))); }
  std::string describe() const override { return "TwoInHalf"; }
  Space rows(std::int64_t width) const { return Space(P_, {Space::any, width}).sharded(0, "dp"); }

 private:
  static LinearOptions half() { return {.bias = false, .contraction = {.compute_type = at::kBFloat16}}; }

  Partition P_;
  Linear up{{*this, "up"}, "bi,io->bo", rows(6), Space(P_, {6, 8}), rows(8), half()};
  Linear down{{*this, "down"}, "bi,io->bo", rows(8), Space(P_, {8, 3}), rows(3), half()};
};

struct Trained {
  std::vector<at::Tensor> weights;
  std::vector<std::int64_t> made;  ///< of each step
};

/// `anew`: each micro-batch makes copies of its own.
Trained trained_at(int stage, bool anew = false, bool frozen = false, std::int64_t keep = 0) {
  const Partition P = Partition::world().grid({{"dp", Partition::world().size()}});
  TwoInHalf model(P);
  model.initialise(1, at::kFloat);
  if (frozen) model.parameters().front().freeze();
  Zero zero(model.parameters(), {.stage = stage, .keep = keep});
  AdamW optimizer(zero.store(), {.learning_rate = 0.1});
  Trained result;
  const Space X = model.rows(6).with_shape({5, 6});
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t before = detail::compute_copies_made();
    for (int i = 0; i < kMicroBatches; ++i) {
      if (anew)
        for (const Parameter& each : model.parameters()) detail::forget_compute_copies(each.leaf());
      zero.begin(i, kMicroBatches);
      const Chain chain;
      const auto seed = static_cast<std::uint64_t>(10 * step + i);
      const Vector y = model(Vector(X, random_vector(X, seed, true).local().to(at::kFloat)));
      backward(sum(Vector(y.space(), y.local().to(at::kFloat).square()), {}, {.all_reduce = true}));
    }
    result.made.push_back(detail::compute_copies_made() - before);
    optimizer.step();
    optimizer.zero_gradients();
  }
  for (const Parameter& each : model.parameters()) result.weights.push_back(meant(each.get()));
  return result;
}

TEST(ComputeCopies, AreMadeOnceAStep) {
  const std::vector<at::Tensor> expected = trained_at(0, true).weights;
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    const Trained run = trained_at(stage);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_SAME_BITS(run.weights[i], expected[i]);
    const bool gathered = stage == 3 && Partition::world().size() > 1;
    // Forward gathers both, and backward, which begins with the last, the first again.
    const std::int64_t step = gathered ? 3 * kMicroBatches : 2;
    if (!gathered) {
      EXPECT_EQ(run.made, std::vector<std::int64_t>(kSteps, step));
    } else {
      for (const std::int64_t made : run.made) EXPECT_LE(made, step);
    }
  }
}

/// Gathered values that stay until the step have one copy too.
TEST(ComputeCopies, AreMadeOnceWhereGatheredValuesStay) {
  const Trained run = trained_at(3, false, false, 1000);
  EXPECT_EQ(run.made, std::vector<std::int64_t>(kSteps, 2));
}

TEST(ComputeCopies, OfAFrozenWeightAreMadeOnce) {
  for (const int stage : {0, 2})
    EXPECT_EQ(trained_at(stage, false, true).made, (std::vector<std::int64_t>{2, 1, 1}));
}

}  // namespace
}  // namespace riesz::testing
