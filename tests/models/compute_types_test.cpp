// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// minGPT with fp32 parameters, computed in bf16: what is of which type, what it sends, and that it is plain
// torch with the same casts.
#include <gtest/gtest.h>

#include <optional>

#include "plain_min_gpt.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "training.h"

namespace riesz::testing {
namespace {

Problem problem_in(std::optional<at::ScalarType> type) {
  return {{.layers = 2,
           .heads = 4,
           .width = 16,
           .vocabulary = 32,
           .context = 8,
           .dropout = 0,
           .contraction = {.compute_type = type}},
          8,
          8};
}
const Problem kProblem = problem_in(at::kBFloat16);

Layout one_worker() { return spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"tp", 1}})); }

double norm(const at::Tensor& x) { return x.to(at::kDouble).square().sum().sqrt().item<double>(); }

TEST(ComputeTypes, OfOneWorkerArePlainTorchWithTheSameCasts) {
  models::MinGpt model(one_worker(), kProblem.config);
  model.initialise(kSeed, at::kFloat);
  plain::Weights weights;
  for (const Parameter& w : model.parameters())
    weights[w.name()] = full_tensor(w.value()).detach().reshape(w.shape()).clone().requires_grad_();
  const at::Tensor ids = ids_of(kProblem, 0), targets = targets_of(kProblem, 0);

  const ContextScope scope({.training = true, .seed = kSeed});
  Chain chain;
  const Space tokens = model.tokens().with_shape({kProblem.batch, kProblem.sequence});
  const Vector logits = model(distribute(tokens, ids));
  const Vector loss = cross_entropy(logits, distribute(tokens, targets)).mean();
  backward(loss);
  const at::Tensor expected = plain::min_gpt(kProblem.config, weights, ids);
  const at::Tensor expected_loss = plain::cross_entropy(expected.to(at::kFloat), targets);
  expected_loss.backward();

  EXPECT_EQ(logits.local().scalar_type(), at::kBFloat16);
  EXPECT_EQ(loss.local().scalar_type(), at::kFloat);
  EXPECT_TRUE(logits.local().equal(expected));
  EXPECT_NEAR(loss.local().item<double>(), expected_loss.item<double>(), 1e-6);
  for (const Parameter& w : model.parameters()) {
    const at::Tensor gradient = w.gradient().local().reshape(w.shape()), same = weights[w.name()].grad();
    EXPECT_EQ(w.leaf().scalar_type(), at::kFloat) << w.name();
    EXPECT_EQ(gradient.scalar_type(), at::kFloat) << w.name();
    EXPECT_LE(norm(gradient.sub(same)), 1e-2 * norm(same)) << w.name();
  }
}

}  // namespace
}  // namespace riesz::testing
