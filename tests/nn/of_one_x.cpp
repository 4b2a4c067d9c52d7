// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "of_one_x.h"

#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "expect.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/random.h"

namespace riesz::testing {

std::vector<Vector> OfOneX::values(Handles handles) const {
  std::vector<Vector> ys;
  const Vector copy = x;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const Vector& one = i == 0 ? x : copy;
    ys.push_back(forms[i](handles == Handles::one ? one : Vector(x.space(), x.local()), ws[i]));
  }
  return ys;
}

Vector random_leaf(const Space& X, std::uint64_t seed) {
  Vector x = random_vector(X, seed, true);
  x.local().requires_grad_();
  return x;
}

OfOneX of_one_x(const Space& X, const std::vector<std::string>& specs, const std::vector<Space>& Ws,
                const std::vector<Space>& Ys, const ContractionOptions& options) {
  OfOneX s{random_leaf(X, 1), {}, {}, {}};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    s.forms.emplace_back(specs[i], X, Ws[i], Ys[i], options);
    s.ws.push_back(random_leaf(Ws[i], 2 + i));
    s.ybars.push_back(random_vector(dual(Ys[i]), 100 + i, true));
  }
  return s;
}

void pull_back(const std::vector<Vector>& ys, const std::vector<Vector>& ybars, bool again) {
  Chain& chain = *Chain::current();
  const at::Tensor token = chain.token();
  torch::autograd::variable_list roots{token}, seeds{at::zeros_like(token)};
  for (std::size_t i = 0; i < ys.size(); ++i) {
    if (!ys[i].local().requires_grad()) continue;
    roots.push_back(ys[i].local());
    seeds.push_back(ybars[i].local());
  }
  torch::autograd::backward(roots, seeds, again);
  if (!again) chain.restart();
}

std::vector<at::Tensor> taken_gradients(const OfOneX& s) {
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i <= s.ws.size(); ++i) {
    const Vector& leaf = i == 0 ? s.x : s.ws[i - 1];
    gradients.push_back(gradient(leaf).local().clone());
    leaf.local().mutable_grad().reset();
  }
  return gradients;
}

Outcome run(const OfOneX& s, Handles handles) {
  const Chain chain;
  Outcome outcome;
  const Traffic start = Counters::instance().total();
  const std::vector<Vector> ys = s.values(handles);
  const Traffic middle = Counters::instance().total();
  pull_back(ys, s.ybars);
  outcome.forward = middle - start;
  outcome.backward = Counters::instance().total() - middle;
  for (const Vector& y : ys) outcome.values.push_back(y.local().detach());
  outcome.gradients = taken_gradients(s);
  return outcome;
}

void expect_close(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(is_close(a[i], b[i], tolerance)) << i;
}

void expect_alike(const Outcome& a, const Outcome& b) {
  expect_close(a.values, b.values, 0);
  expect_close(a.gradients, b.gradients);
}

OfOneX column_parallel() {
  const std::int64_t p = Partition::world().size(), rows = 6;
  const Space X(Partition::world(), {rows, 4 * p}),
      W = Space(Partition::world(), {5, 4 * p}).sharded(0, "world");
  const Space Y = Space(Partition::world(), {rows, 5}).sharded(1, "world");
  return of_one_x(X, {"bi,oi->bo", "bi,oi->bo", "bi,oi->bo"}, {W, W, W}, {Y, Y, Y});
}

OfOneX sequence_parallel(const ContractionOptions& options) {
  const std::int64_t p = Partition::world().size();
  const Space X = Space(Partition::world(), {3 * p, 8}).sharded(0, "world");
  const Space W = Space(Partition::world(), {2 * p, 8}).sharded(0, "world"),
              V = Space(Partition::world(), {p, 8, 2}).sharded(0, "world");
  const Space Y = Space(Partition::world(), {3 * p, 2 * p}).sharded(1, "world");
  const Space Z = Space(Partition::world(), {3 * p, p, 2}).sharded(1, "world");
  return of_one_x(X, {"bi,oi->bo", "bi,oi->bo", "bi,hid->bhd"}, {W, W, V}, {Y, Y, Z}, options);
}

}  // namespace riesz::testing
