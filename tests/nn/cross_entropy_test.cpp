// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/local/vector_jacobian.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

/// The space of targets below logits of (B, T, V).
Space rows(const Space& X) { return select_dims(X, {0, 1}); }

struct Checking {
  Checking() { set_consistency_checks(true); }
  ~Checking() { set_consistency_checks(before); }
  bool before = consistency_checks();
};

/// torch's sum over the counted targets, with z-loss by its formula.
at::Tensor torchs(const at::Tensor& logits, const at::Tensor& targets, const CrossEntropyOptions& options) {
  const at::Tensor loss = at::cross_entropy_loss(logits.view({-1, logits.size(2)}), targets.view(-1), {},
                                                 at::Reduction::Sum, options.ignore, options.smoothing);
  if (options.z_loss == 0) return loss;
  return at::logsumexp(logits, {-1})
      .square()
      .mul(targets.ne(options.ignore))
      .sum()
      .mul(options.z_loss)
      .add(loss);
}

/// The mean over all counted targets and its gradient are torch's, for logits of any type.
void expect_torch(const Space& X, const at::Tensor& logits, const at::Tensor& targets,
                  const CrossEntropyOptions& options = {}, double tolerance = 1e-12) {
  SCOPED_TRACE("in " + to_string(X));
  const at::Tensor global = logits.detach().clone().requires_grad_();
  const at::Tensor wanted = targets.view({logits.size(0), logits.size(1)});
  const at::Tensor expected = torchs(global, wanted, options);
  const std::int64_t count = wanted.ne(options.ignore).sum().item<std::int64_t>();
  expected.div(count).backward();
  const Vector x = leaf(X, logits);

  Chain chain;
  const Loss loss = cross_entropy(x, distribute(rows(X), wanted), options);
  backward(loss.mean());

  EXPECT_EQ(loss.count, X.partition().active() ? count : 0);
  EXPECT_EQ(loss.sum.space(), Space(X.partition(), {}));
  EXPECT_TRUE(means(loss.sum, expected, tolerance));
  EXPECT_TRUE(means(gradient(x), global.grad(), tolerance));
}

std::vector<Space> layouts(const Partition& mesh, std::int64_t vocabulary) {
  const Space X(mesh, {5, 3, vocabulary});
  return {X.sharded(0, "dp"), X.sharded(0, "dp").sharded(2, "tp"), X.sharded(0, "dp").sharded(1, "tp"),
          X.sharded(2, "tp").sharded(2, "dp")};
}

at::Tensor some_targets(std::int64_t vocabulary) {
  at::Tensor targets = at::zeros({15}, at::kLong);
  for (std::int64_t i = 0; i < 15; ++i) targets[i] = i * 7 % vocabulary;
  return targets;
}

TEST(CrossEntropy, IsTorchsAtEveryLayoutAndVocabulary) {
  for (const Partition& mesh : meshes()) {
    for (const std::int64_t vocabulary : {1, 5, 13}) {
      for (const Space& X : layouts(mesh, vocabulary)) {
        expect_torch(X, draws({5, 3, vocabulary}, 1).mul(3), some_targets(vocabulary));
      }
    }
  }
}

TEST(CrossEntropy, LeavesOutTheIgnored) {
  for (const Partition& mesh : meshes()) {
    for (const Space& X : layouts(mesh, 13)) {
      at::Tensor targets = some_targets(13);
      targets.narrow(0, 0, 7).fill_(-1);  // all of the first sequences, so of some workers
      expect_torch(X, draws({5, 3, 13}, 1), targets);
      expect_torch(X, draws({5, 3, 13}, 1), some_targets(13), {.ignore = 7});  // a word of the vocabulary
    }
  }
}

TEST(CrossEntropy, OfNothingIsZeroOverZero) {
  for (const Partition& mesh : meshes()) {
    for (const Space& X : layouts(mesh, 13)) {
      const Vector x = leaf(X, draws({5, 3, 13}, 1));

      Chain chain;
      const Loss loss = cross_entropy(x, distribute(rows(X), at::full({5, 3}, -1, at::kLong)));
      backward(loss.sum);

      EXPECT_EQ(loss.count, 0);
      EXPECT_TRUE(means(loss.sum, at::zeros({}, at::kDouble), 0));
      EXPECT_TRUE(means(gradient(x), at::zeros({5, 3, 13}, at::kDouble), 0));
    }
  }
}

TEST(CrossEntropy, SmoothsLabelsAndPenalisesZ) {
  for (const Partition& mesh : meshes()) {
    for (const Space& X : layouts(mesh, 13)) {
      const at::Tensor logits = draws({5, 3, 13}, 1).mul(3);
      expect_torch(X, logits, some_targets(13), {.smoothing = 0.1});
      expect_torch(X, logits, some_targets(13), {.smoothing = 1});
      expect_torch(X, logits, some_targets(13), {.z_loss = 0.3});
      expect_torch(X, logits, some_targets(13), {.ignore = 7, .smoothing = 0.3, .z_loss = 0.01});
    }
  }
}

TEST(CrossEntropy, IsTorchsWhereverTheLogitsLie) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const Space X =
        random.place(Space(grid, {5, 3, 14}).unit(2, 1 + random.any_of(2)), {Placement::Replicated});
    expect_torch(X, draws({5, 3, 14}, 1), some_targets(14),
                 {.ignore = 7, .smoothing = 0.2 * random.any_of(2), .z_loss = 0.1 * random.any_of(2)});
  }
}

TEST(CrossEntropy, TakesPiecesOfSeveralIntervals) {
  const Partition P = Partition::world();
  for (const int dim : {1, 2}) {
    const Space X(P, {5, 3, 13});
    const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
    expect_torch(X.sharded(dim, "world", Split::zigzag(n, P.size())), draws({5, 3, 13}, 1), some_targets(13),
                 {.smoothing = 0.1});
  }
}

TEST(CrossEntropy, KeepsItsDigitsForLargeLogits) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {5, 3, 13}).sharded(0, "dp").sharded(2, "tp");
    for (const double centre : {1e4, -1e4}) {
      const at::Tensor logits = draws({5, 3, 13}, 1).add(centre);
      expect_torch(X, logits, some_targets(13), {}, 1e-14);
      expect_torch(X, logits.to(at::kFloat), some_targets(13), {}, 1e-6);
    }
    at::Tensor far = draws({5, 3, 13}, 2);
    far.select(2, 4).add_(1e4);
    far.select(2, 6).sub_(1e4);
    expect_torch(X, far, some_targets(13));
  }
}

/// In fp32, where a row's greatest logit stands far above thousands that are alike: rounding errors of a sum
/// in one order all have one sign, and small terms vanish beside a great one.
TEST(CrossEntropy, LosesNoSmallTermsOfALargeVocabulary) {
  const std::int64_t V = 49152;
  for (const Space& X :
       {Space(Partition::world(), {1, 8, V}), Space(Partition::world(), {1, 8, V}).sharded(2, "world")}) {
    for (const double above : {0.1, 4.0, 12.0, 17.0}) {
      SCOPED_TRACE(concat(above, " above in ", to_string(X)));
      at::Tensor logits = at::zeros({1, 8, V}, at::kFloat);
      logits.select(2, 7).fill_(above);
      at::Tensor targets = at::full({1, 8}, 7, at::kLong);
      targets.narrow(1, 4, 4).fill_(30000);
      const auto great = static_cast<double>(static_cast<float>(above));
      const double log_sum = std::log(std::exp(great) + static_cast<double>(V - 1));
      const Vector x = leaf(X, logits);

      Chain chain;
      const Loss loss = cross_entropy(x, distribute(rows(X), targets));
      backward(loss.sum);

      const double expected = 4 * (log_sum - great) + 4 * log_sum;
      EXPECT_NEAR(loss.sum.local().item<double>() / expected, 1, 3e-7);
      const at::Tensor gradients = meant(gradient(x)).to(at::kDouble);
      EXPECT_NEAR(gradients[0][0][7].item<double>(), std::expm1(great - log_sum), 1e-6);
      EXPECT_NEAR(gradients[0][4][7].item<double>() / std::exp(great - log_sum), 1, 1e-6);
      EXPECT_NEAR(gradients[0][4][8].item<double>() / std::exp(-log_sum), 1, 1e-6);
      float in_order = 1;
      for (std::int64_t i = 1; i < V; ++i) in_order += std::exp(-static_cast<float>(above));
      const double without = 4 * std::log(in_order) + 4 * (great + std::log(in_order));
      EXPECT_GT(std::abs(without / expected - 1), 1e-6) << "a sum in order would do";
    }
  }
}

/// In each place of a vector of the processor, and behind the last whole one.
TEST(CrossEntropy, OfANaNIsNaNWhateverItsBits) {
  const Partition one = Partition::world().subset({0});
  if (!one.active()) return;
  for (const std::int64_t V : {1, 3, 8, 16, 21, 40}) {
    for (const std::uint32_t bits : {0x7FC00000U, 0x7FC001FFU, 0xFFC00123U}) {
      const at::Tensor logits = at::zeros({1, 1, V}, at::kFloat);
      logits.select(2, V - 1).fill_(std::bit_cast<float>(bits));
      const Space X(one, {1, 1, V});
      const Vector x = leaf(X, logits);
      Chain chain;
      const Loss loss = cross_entropy(x, distribute(rows(X), at::zeros({1, 1}, at::kLong)));
      backward(loss.sum);
      EXPECT_TRUE(std::isnan(loss.sum.local().item<double>())) << V << " " << bits;
      EXPECT_TRUE(gradient(x).local().isnan().all().item<bool>()) << V << " " << bits;
    }
  }
}

/// A logit of minus infinity has no probability, and takes none.
TEST(CrossEntropy, TakesLogitsOfMinusInfinity) {
  const Partition one = Partition::world().subset({0});
  if (!one.active()) return;
  for (const std::int64_t V : {2, 9, 17, 40}) {
    const at::Tensor logits = at::zeros({1, 1, V}, at::kFloat);
    logits.select(2, V - 1).fill_(-std::numeric_limits<float>::infinity());
    const Space X(one, {1, 1, V});
    const Vector x = leaf(X, logits);
    Chain chain;
    const Loss loss = cross_entropy(x, distribute(rows(X), at::zeros({1, 1}, at::kLong)));
    backward(loss.sum);
    EXPECT_NEAR(loss.sum.local().item<double>(), std::log(static_cast<double>(V - 1)), 1e-6) << V;
    EXPECT_EQ(gradient(x).local()[0][0][V - 1].item<double>(), 0) << V;
  }
}

TEST(CrossEntropy, HasSecondDerivatives) {
  const at::Tensor logits = draws({1, 3, 13}, 1), direction = draws({1, 3, 13}, 2);
  const Space X(Partition::world(), {1, 3, 13});
  const CrossEntropyOptions options{.smoothing = 0.1, .z_loss = 0.2};
  const at::Tensor targets = at::tensor({3, 0, 12}, at::kLong);
  const auto curvature = [&](const auto& loss_of) {
    at::Tensor x = logits.clone().requires_grad_();
    const at::Tensor first = detail::vector_jacobian(loss_of(x), {x}, at::ones({}, at::kDouble), true)[0];
    return detail::vector_jacobian(first.mul(direction).sum(), {x}, at::ones({}, at::kDouble), false)[0];
  };
  const at::Tensor expected = curvature([&](const at::Tensor& x) { return torchs(x, targets, options); });
  const Chain chain;
  EXPECT_TRUE(
      is_close(curvature([&](const at::Tensor& x) {
                 return cross_entropy({X, x}, distribute(rows(X), targets.view({1, 3})), options).sum.local();
               }),
               expected));
}

TEST(CrossEntropy, TakesAPartOfTheVocabularyThatIsMaskedOut) {
  for (const Partition& mesh : meshes()) {
    for (const Space& X : layouts(mesh, 13)) {
      at::Tensor logits = draws({5, 3, 13}, 1);
      logits.narrow(2, 3, 10).fill_(-std::numeric_limits<double>::infinity());
      expect_torch(X, logits, some_targets(3));
    }
  }
}

TEST(CrossEntropy, IsInfiniteWhereTorchsIs) {
  const Space X = Space(Partition::world(), {5, 3, 13}).sharded(2, "world");
  at::Tensor logits = draws({5, 3, 13}, 1);
  logits.select(2, 4).fill_(-std::numeric_limits<double>::infinity());
  const at::Tensor targets = some_targets(4).view({5, 3});
  for (const double smoothing : {0.0, 0.1}) {
    Chain chain;
    const Loss loss =
        cross_entropy(distribute(X, logits), distribute(rows(X), targets), {.smoothing = smoothing});
    const double expected = torchs(logits, targets, {.smoothing = smoothing}).item<double>();

    EXPECT_EQ(std::isinf(expected), smoothing > 0);
    EXPECT_EQ(std::isinf(loss.sum.local().item<double>()), smoothing > 0);
  }
}

/// All is in fp32 but the logits, and their gradient, which is rounded once.
TEST(CrossEntropy, OfHalfTypesIsTakenInFloat) {
  const Space whole(Partition::world(), {5, 3, 13});
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    for (const Space& X : {whole, whole.sharded(2, "world"), whole.sharded(0, "world")}) {
      SCOPED_TRACE(std::string(at::toString(type)) + " in " + to_string(X));
      const at::Tensor logits = draws({5, 3, 13}, 1).to(type);
      const at::Tensor global = logits.to(at::kDouble).requires_grad_();
      const at::Tensor expected = torchs(global, some_targets(13), {});
      expected.backward();
      const Vector x = leaf(X, logits);

      Chain chain;
      const Loss loss = cross_entropy(x, distribute(rows(X), some_targets(13).view({5, 3})));
      backward(loss.sum);

      EXPECT_EQ(loss.sum.local().scalar_type(), at::kFloat);
      EXPECT_TRUE(means(loss.sum, expected.to(at::kFloat), 1e-6));
      EXPECT_EQ(gradient(x).local().scalar_type(), type);
      EXPECT_TRUE(is_within(meant(gradient(x)), global.grad(),
                            global.grad().abs().mul(unit_roundoff(type)).add(1e-6)));
    }
  }
}

TEST(CrossEntropy, MovesARowsMaximumAndTwoSumsAndNothingBackward) {
  const Partition P = Partition::world();
  const Space X = Space(P, {5, 3, 13}).sharded(2, "world"), R = rows(X), two(P, {2, 5, 3});
  const Vector x = leaf(X, draws({5, 3, 13}, 1));
  Counters::instance().reset();

  Chain chain;
  const Loss loss =
      cross_entropy(x, distribute(R, some_targets(13).view({5, 3})), {.smoothing = 0.1, .z_loss = 0.1});
  backward(loss.sum);

  const auto all_reduce = [&](const Space& S) { return between(S.partial("world"), S).traffic(P.rank()); };
  const auto counted = Counters::instance().by_operation();
  const auto elements = [&](const char* name) {
    return counted.contains(name) ? counted.at(name).elements : 0;
  };
  EXPECT_EQ(elements("AllMax"), all_reduce(R).elements);
  EXPECT_EQ(elements("AllReduce"), all_reduce(two).elements);
  EXPECT_EQ(Counters::instance().total().elements, (all_reduce(R) + all_reduce(two)).elements);
}

TEST(CrossEntropy, NamesOnEveryWorkerTheTargetThatOneHolds) {
  for (const Partition& mesh : meshes()) {
    for (const Space& X : layouts(mesh, 13)) {
      for (const std::int64_t bad : {13, -2}) {
        at::Tensor targets = some_targets(13);
        targets[14] = bad;
        const Vector x = leaf(X, draws({5, 3, 13}, 1));
        const Vector t = distribute(rows(X), targets.view({5, 3}));
        const Chain chain;

        EXPECT_ERROR(cross_entropy(x, t),
                     "the target " + std::to_string(bad) + " is outside the vocabulary of 13");
      }
    }
  }
}

TEST(CrossEntropy, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space X(P, {5, 3, 13}), R(P, {5, 3});
  const auto call = [&](const Space& logits, const Space& targets, std::int64_t target) {
    return cross_entropy(distribute(logits, at::ones(logits.shape())),
                         distribute(targets, at::full(targets.shape(), target, at::kLong)));
  };

  EXPECT_ERROR(call(X, R, 13), "the target 13 is outside the vocabulary of 13", "ignored -1");
  EXPECT_ERROR(call(X, R, -2), "the target -2 is outside");
  EXPECT_ERROR(call(X, R.sharded(0, "world"), 1), "targets of", "dim 0 over world", "which need targets of");
  EXPECT_ERROR(call(X, Space(P, {5, 4}), 1), "targets of", "(5, 4)");
  EXPECT_ERROR(call(X.partial("world"), R, 1), "cross_entropy", "Partial on axis world");
  EXPECT_ERROR(call(X.copied("world"), R.copied("world"), 1), "cross_entropy", "Copied on axis world",
               "between(X, Y)");
  EXPECT_ERROR(call(Space(P, {}), Space(P, {}), 1), "need a last dim");
  const Split halo = Split::covering(13, {{{0, 7}}, {{6, 13}}});
  EXPECT_ERROR(call(X.sharded(2, "world", halo), R, 1), "cross_entropy", "the splits of dim 2 overlap");
  const Vector x = distribute(X, at::ones(X.shape())), t = distribute(R, at::zeros(R.shape(), at::kLong));
  EXPECT_ERROR(cross_entropy(x, distribute(R, at::zeros(R.shape()))), "cross_entropy: targets of type Float",
               "tensor.to(at::kLong)");
  EXPECT_NO_THROW(cross_entropy(x, distribute(R, at::zeros(R.shape(), at::kInt))));
  EXPECT_ERROR(cross_entropy(x, t, {.smoothing = 1.5}), "a label smoothing of 1.5", "between 0 and 1");
  EXPECT_ERROR(cross_entropy(x, t, {.smoothing = -0.5}), "a label smoothing of -0.5");
  EXPECT_ERROR(cross_entropy(x, t, {.z_loss = -1}), "a z-loss coefficient of -1", "not negative");
}

/// The commonest fault of what loads data: one worker has other targets. They meet no operator that moves.
TEST(CrossEntropy, SeesTargetsThatDiffer) {
  if (Runtime::size() == 1) return;
  const Checking checking;
  const Space X = Space(Partition::world(), {1, 2, 12}).sharded(2, "world");
  const Vector logits(X, at::ones(X.local_shape(), at::kDouble));
  const bool last = Runtime::rank() + 1 == Runtime::size();
  EXPECT_ERROR(cross_entropy(logits, {rows(X), at::full({1, 2}, last ? 5 : 4, at::kLong)}),
               "cross_entropy: the vector of targets is Replicated on axis world", "rank 0 has 4 at (0, 0)");
  const Space Y(Partition::world(), {3});
  EXPECT_ERROR(mse_loss({Y, at::ones({3}, at::kDouble)}, {Y, at::full({3}, last ? 5. : 4., at::kDouble)}),
               "mse_loss: the target is Replicated on axis world");
}

}  // namespace
}  // namespace riesz::testing
