// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Every primitive, its adjoint and both halves, on another device: the bits and the traffic of the CPU.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "operators.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/loss/shares.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/all_to_all_v.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/moves.h"
#include "riesz/primitives/pending.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"
#include "riesz/testing/scale.h"
#include "there.h"

namespace riesz::testing {
namespace {

TEST(OnADevice, EveryPrimitiveIsThatOfTheCpu) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kComplexDouble}) {
    for (const Operator& A : type == at::kBFloat16 ? operators(1, 3) : operators()) {
      SCOPED_TRACE(to_string(A));
      SCOPED_TRACE(type);
      const Vector x = random_vector(A.domain(), 1, true, type);
      const Vector ybar = random_vector(dual(A.range()), 2, true, type);
      Counters::instance().reset();
      const std::vector<at::Tensor> here = called(A, x, ybar);
      const Traffic sent = Counters::instance().total();
      Counters::instance().reset();

      const std::vector<at::Tensor> results = called(A, there(x), there(ybar));

      for (std::size_t i = 0; i < here.size(); ++i) expect_there(results[i], here[i]);
      EXPECT_EQ(Counters::instance().total(), sent);
    }
  }
}

TEST(OnADevice, TheListHasEveryPrimitive) {
  std::set<std::string> names;
  for (const Operator& A : operators()) {
    for (const Operator& B : {A, adjoint(A)})
      for (const Step& step : B.steps()) names.insert(step->name());
  }
  if (Runtime::size() == 1) return;
  const std::set<std::string> all{"Agree",       "AllGather",     "AllReduce", "AllToAll", "Broadcast",
                                  "Copy",        "Gather",        "Halo",      "HaloSum",  "Pad",
                                  "Repartition", "ReduceScatter", "Scatter",   "SendRecv", "Shift",
                                  "Slice",       "SumReduce",     "Term"};
  EXPECT_EQ(names, all);
}

TEST(OnADevice, SeveralOperatorsGoTogether) {
  const at::NoGradGuard no_gradient;
  std::vector<Vector> here;
  std::vector<Vector> xs;
  for (const Operator& A : operators()) {
    here.push_back(random_vector(A.domain(), 1, true, here.size() % 2 == 0 ? at::kDouble : at::kFloat));
    xs.push_back(there(here.back()));
  }
  here = together(operators(), here);
  const std::vector<Vector> results = together(operators(), xs);
  for (std::size_t i = 0; i < here.size(); ++i) expect_there(results[i].local(), here[i].local());
}

TEST(OnADevice, OneChainHasVectorsOfTwoDevices) {
  const Space S = Space(row(), {5, 7}).partial("a");
  const Operator A = between(S, dual(S));
  const Vector x = random_vector(S, 1);
  const Vector ybar = random_vector(S, 2);
  const at::Tensor here = x.local().clone().requires_grad_();
  const at::Tensor far = x.local().to(pretend_device()).requires_grad_();
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    Chain chain;
    const Vector near_first = A(Vector(S, first ? here : far));
    const Vector second = A(Vector(S, first ? far : here));
    const Vector& y = first ? second : near_first;
    const std::vector<Vector> gradients = pullback(y, there(ybar), {Vector(S, far)});
    expect_there(gradients.front().local(), adjoint(A)(ybar).local());
  }
}

/// In the thread of the device's gradients, so after all of those that are due; whatever was first in the
/// chain.
TEST(OnADevice, MarksAreOnTheDeviceThatTheyAreOf) {
  const Space S = Space(row(), {5, 7}).partial("a");
  const Operator A = between(S, dual(S));
  for (const bool after_the_host : {false, true}) {
    SCOPED_TRACE(after_the_host);
    const at::Tensor here = random_vector(S, 1).local().requires_grad_();
    const at::Tensor far = there(random_vector(S, 1)).local().requires_grad_();
    bool accumulated = false;
    std::thread::id in;
    Chain chain;
    const Vector x = after_the_host ? A(Vector(S, here)) : Vector(dual(S), here);
    chain.on_backward(
        [&] {
          in = std::this_thread::get_id();
          accumulated = far.grad().defined();
        },
        pretend_device());
    const Vector y = A(Vector(S, far));

    backward(
        detail::add_shares(Space(row(), {}), {}, y.local().sum().add(x.local().to(pretend_device()).sum())));

    EXPECT_NE(in, std::this_thread::get_id());
    EXPECT_TRUE(accumulated);
    EXPECT_TRUE(here.grad().defined());
  }
}

TEST(OnADevice, WhatMovesWithoutGradientsMoves) {
  const Partition P = row();
  const at::Tensor here = at::arange(6, at::kDouble).mul(Runtime::rank() % 2 == 0 ? 1 : -1);
  const at::Tensor far = here.to(pretend_device());
  expect_there(all_max(P, {"a"}, far), all_max(P, {"a"}, here));
  expect_there(all_min(P, {"a"}, far), all_min(P, {"a"}, here));
  std::vector<at::Tensor> pieces;
  std::vector<at::Tensor> pieces_there;
  for (int i = 0; i < P.size(); ++i) {
    pieces.push_back(here.narrow(0, 0, 1 + i).view({1 + i, 1}));
    pieces_there.push_back(pieces.back().to(pretend_device()));
  }
  const std::vector<at::Tensor> got = all_to_all_v(P, {"a"}, pieces);
  const std::vector<at::Tensor> got_there = all_to_all_v(P, {"a"}, pieces_there);
  for (std::size_t i = 0; i < got.size(); ++i) expect_there(got_there[i], got[i]);
}

TEST(OnADevice, GlobalTensorsAreCutUpAndPutTogether) {
  const Space X = Space(row(), {5, 7});
  const at::Tensor global = at::arange(35, at::kDouble).view({5, 7});
  for (const Space& Y :
       {X, X.sharded(0, "a"), X.sharded(1, "a", Split::zigzag(7, row().size())), X.partial("a")}) {
    SCOPED_TRACE(to_string(Y));
    const Vector x = distribute(Y, global.to(pretend_device()));
    expect_there(x.local(), distribute(Y, global).local());
    expect_there(full_tensor(x), global);
  }
}

TEST(OnADevice, PairingsAreThoseOfTheCpu) {
  for (const Operator& A : operators()) {
    const Vector x = random_vector(A.domain(), 1, true);
    const Vector y = random_vector(dual(A.domain()), 2, true);
    EXPECT_EQ(pairing(there(x), there(y)), pairing(x, y));
  }
}

TEST(OnADevice, CopiesAreCheckedToBeAlike) {
  const Space C = Space(row(), {5, 7}).copied("a");
  const Operator A = between(C, C.sharded(0, "a"));
  const Operator B = between(Space(row(), {5, 7}), C);  // the adjoint communicates
  const bool before = consistency_checks();
  set_consistency_checks(true);
  const at::NoGradGuard no_gradient;
  const Vector x = random_vector(C, 1, true);
  expect_there(A(there(x)).local(), A(x).local());
  EXPECT_NO_THROW(B(Vector(B.domain(), there(x).local())));
  if (Runtime::size() > 1) {
    const Vector other = there(Vector(B.domain(), x.local().add(Runtime::rank())));
    EXPECT_ERROR(B(other), "there all workers must have the same bits");
  }
  set_consistency_checks(before);
}

}  // namespace
}  // namespace riesz::testing
