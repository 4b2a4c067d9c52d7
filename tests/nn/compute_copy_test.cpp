// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A weight is copied to the compute type once, until it changes.
#include "riesz/nn/contraction/compute_copy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// y and the gradients of a step of three micro-batches.
std::vector<at::Tensor> step_of(Linear& linear, const Space& X) {
  std::vector<at::Tensor> results;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Chain chain;
    const Vector x(X, random_vector(X, i, true).local().to(at::kFloat).requires_grad_());
    const Vector y = linear(x);
    backward(y,
             Vector(dual(y.space()), random_vector(dual(y.space()), 9 + i, true).local().to(at::kBFloat16)));
    results.insert(results.end(), {y.local().detach(), gradient(x).local()});
  }
  results.push_back(linear.weight().gradient().local().clone());
  for (Parameter& parameter : linear.parameters()) parameter.zero_gradient();
  return results;
}

struct Layers {
  Layers()
      : P(Partition::world()),
        X(P, {6, 8}),
        W(Space(P, {16, 8}).sharded(0, "world")),
        linear({"linear"}, "bi,oi->bo", X, W, Space(P, {6, 16}).sharded(1, "world"),
               {.contraction = {.compute_type = at::kBFloat16}}) {
    linear.initialise(1, at::kFloat);
  }
  Partition P;
  Space X, W;
  Linear linear;
};

void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_SAME_BITS(a[i], b[i]);
}

TEST(ComputeCopy, IsMadeOnceForAllMicroBatchesAndFaces) {
  Layers a;
  const auto made = [before = detail::compute_copies_made()] {
    return detail::compute_copies_made() - before;
  };
  const std::vector<at::Tensor> first = step_of(a.linear, a.X);
  EXPECT_EQ(made(), 1);
  expect_same(step_of(a.linear, a.X), first);
  EXPECT_EQ(made(), 1) << "it has not changed";
  {
    const at::NoGradGuard no_gradient;
    a.linear(Vector(a.X, first[1]));
    EXPECT_EQ(made(), 1);
    a.linear.weight().leaf().mul_(2);
  }
  const std::vector<at::Tensor> second = step_of(a.linear, a.X);
  EXPECT_EQ(made(), 2) << "a write in place";
  Parameter weight = a.linear.weight();
  weight.set(random_vector(a.W, 5, true));
  const std::vector<at::Tensor> third = step_of(a.linear, a.X);
  EXPECT_EQ(made(), 3) << "set";
  Layers b;
  Parameter other = b.linear.weight();
  other.set(random_vector(b.W, 5, true));
  expect_same(step_of(b.linear, b.X), third);
  EXPECT_FALSE(at::equal(second[0], first[0]));
}

TEST(ComputeCopy, TakesTheWeightsElementsAndLivesAsLongAsTheWeight) {
  const MemoryMeter meter;
  const auto taken = [](Layers& a) {
    const at::NoGradGuard no_gradient;
    a.linear(Vector(a.X, random_vector(a.X, 1, true).local().to(at::kFloat)));
    const std::int64_t with_copy = MemoryMeter::alive();
    detail::forget_compute_copies(a.linear.weight().leaf());
    return with_copy - MemoryMeter::alive();
  };
  const std::int64_t before = MemoryMeter::alive();
  {
    Layers a;
    EXPECT_EQ(taken(a), 2 * a.linear.weight().leaf().numel());
    EXPECT_EQ(taken(a), 2 * a.linear.weight().leaf().numel());
    const at::NoGradGuard no_gradient;
    a.linear(Vector(a.X, random_vector(a.X, 1, true).local().to(at::kFloat)));
  }
  {
    Layers next;  // as its copy goes, so does that of the leaf that is freed
    EXPECT_EQ(taken(next), 2 * next.linear.weight().leaf().numel());
  }
  EXPECT_EQ(MemoryMeter::alive(), before);
}

}  // namespace
}  // namespace riesz::testing
