// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "expect_vectors.h"

#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <string>

#include "expect.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {

void expect_as_global(const std::vector<Space>& spaces, const OnVectors& on_vectors,
                      const OnTensors& on_tensors, double tolerance) {
  std::vector<Vector> vectors;
  std::vector<at::Tensor> tensors;
  std::string where;
  for (const Space& X : spaces) {
    where += "\nof a vector in " + to_string(X);
    const std::vector<at::Tensor> parts = random_parts(X, vectors.size() + 1, true);
    vectors.emplace_back(X, part_of(X, parts).local().detach().clone().requires_grad_());
    tensors.push_back(meant(X, parts).detach().clone().requires_grad_());
  }
  SCOPED_TRACE(where);

  Chain chain;
  const Vector y = on_vectors(vectors);
  const at::Tensor global = on_tensors(tensors);
  EXPECT_TRUE(means({y.space(), y.local().detach()}, global.detach(), tolerance));

  const std::vector<at::Tensor> ybar_parts = random_parts(dual(y.space()), 100, true);
  global.backward(meant(dual(y.space()), ybar_parts));
  const std::vector<Vector> gradients = pullback(y, part_of(dual(y.space()), ybar_parts), vectors);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const at::Tensor& expected = tensors[i].grad();
    EXPECT_TRUE(means(gradients[i], expected.defined() ? expected : at::zeros_like(tensors[i]), tolerance))
        << "the gradient by operand " << i;
  }
}

Space any_lay_out(RandomSpaces& random, const Space& shape) {
  return random.lay_out(shape, {Placement::Replicated, Placement::Copied, Placement::Partial}, true);
}

}  // namespace riesz::testing
