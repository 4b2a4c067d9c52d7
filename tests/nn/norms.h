// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "expect.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {

/// What a layer that normalises over the last dim gives on global tensors: of x and its parameters; recorded.
using Norm = std::function<at::Tensor(const at::Tensor& x, const std::vector<at::Tensor>& parameters)>;

/// Are the layer's value in X and its gradients, by x and by each parameter, the ones of `norm` on global
/// tensors?
template <typename Layer>
void expect_norm(const Space& X, const at::Tensor& x_global, const Norm& norm, double epsilon,
                 double tolerance = 1e-11) {
  SCOPED_TRACE("in " + to_string(X));
  Layer layer("norm", X, epsilon);
  layer.initialise(1, at::kDouble);
  const at::Tensor input = x_global.detach().clone().requires_grad_();
  const at::Tensor ybar = draws(X.shape(), 4);
  std::vector<Vector> leaves{leaf(X, x_global)};
  std::vector<at::Tensor> globals{input};
  std::vector<at::Tensor> parameters;
  for (const Parameter& parameter : layer.parameters()) {
    parameters.push_back(draws({X.shape().back()}, 10 + parameters.size()).requires_grad_());
    leaves.push_back(set(parameter, parameters.back().detach()));
    globals.push_back(parameters.back());
  }

  Chain chain;
  const Vector y = layer(leaves.front());
  const std::vector<Vector> gradients = pullback(y, distribute(dual(X), ybar), leaves);

  const at::Tensor expected = norm(input, parameters);
  expected.backward(ybar);
  EXPECT_EQ(y.space(), X);
  EXPECT_TRUE(means(y, expected, tolerance));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_TRUE(means(gradients[i], globals[i].grad(), tolerance)) << "gradient " << i;
  }
}

/// Some ways to shard (5, 3, 7), more workers than columns among them.
inline std::vector<Space> norm_layouts(const Partition& mesh) {
  const Space X(mesh, {5, 3, 7});
  return {X,
          X.sharded(0, "dp"),
          X.sharded(0, "dp").sharded(1, "tp"),
          X.sharded(1, "tp").sharded(1, "dp"),
          X.sharded(2, "tp"),
          X.sharded(0, "dp").sharded(2, "tp"),
          X.sharded(2, "dp").sharded(1, "tp"),
          X.sharded(2, "tp").sharded(2, "dp"),
          X.sharded(2, "dp").sharded(2, "tp")};
}

}  // namespace riesz::testing
