// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// An operator of one's own, and its tests: the code of docs/guides/write_an_operator.md, which a test
// compares with this file.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <gtest/gtest.h>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/custom_primitive.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/matrix.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

using namespace riesz;
using namespace riesz::testing;

/// y_i = Σ x_j over j ≤ i along the dim that the axis shards; upward, over j ≥ i.
class RunningSum final : public Primitive {
 public:
  RunningSum(const Space& X, int axis, bool upward)
      : Primitive(upward ? "RunningSumUp" : "RunningSum", X, X, {axis}), dim_(X.dim_of(axis)), up_(upward) {}

  at::Tensor apply(const at::Tensor& x) const override {
    const Partition& P = domain().partition();
    const at::Tensor total = x.sum({dim_}, true).contiguous();
    std::vector<Transfer> sends, receives;
    for (int r : receivers(P.rank(), up_)) sends.push_back({P.world_rank(r), total});
    for (int r : receivers(P.rank(), !up_)) receives.push_back({P.world_rank(r), at::empty_like(total)});
    Communicator::world().exchange(operation(), sends, receives);
    at::Tensor y = up_ ? x.flip({dim_}).cumsum(dim_).flip({dim_}) : x.cumsum(dim_);
    for (const Transfer& before : receives) y.add_(before.span.data);
    return y;
  }

  Step adjoint() const override { return std::make_shared<RunningSum>(dual(domain()), axes()[0], !up_); }

  Traffic traffic(int rank) const override {
    std::int64_t total = 1;
    for (int dim = 0; dim < domain().dims(); ++dim)
      total *= dim == dim_ ? 1 : domain().local_shape(rank)[dim];
    const std::int64_t messages = total > 0 ? receivers(rank, up_).size() : 0;
    return {total * messages, 0, messages};
  }

  bool sends() const override { return domain().partition().axes()[axes()[0]].extent > 1; }

 private:
  /// The workers of the fibre whose sums have this one's elements: those after it, or upward those before it.
  std::vector<int> receivers(int rank, bool up) const {
    std::vector<int> fibre = domain().partition().fibre(rank, axes());
    std::erase_if(fibre, [=](int r) { return up ? r >= rank : r <= rank; });
    return fibre;
  }

  int dim_;
  bool up_;
};

Operator running_sum(const Space& X, const std::string& axis) {
  const int a = X.partition().index(axis);
  const int dim = X.dim_of(a);
  RIESZ_CHECK(dim >= 0 && X.shards(dim).size() == 1 && !X.shards(dim)[0].split, "running_sum: axis ", axis,
              " must shard a dim alone, in balanced pieces, unlike in ", to_string(X));
  return {X, X, {std::make_shared<RunningSum>(X, a, false)}};
}

/// Spaces whose dim 0 the axis shards, evenly or not, with empty pieces too, and all other axes placed alike.
template <typename F>
void for_each_space(const F& f) {
  for_each_grid(Partition::world(), [&](const Partition& P) {
    for (const Placement other : {Placement::Replicated, Placement::Copied, Placement::Partial}) {
      for (const std::int64_t n : {7, 2}) {
        Space X = Space(P, {n, 3}).sharded(0, "a");
        for (const Axis& axis : P.axes()) X = axis.name == "a" ? X : X.placed(axis.name, other);
        f(X);
      }
    }
  });
}

TEST(RunningSum, HasTheAdjointItSays) {
  for_each_space([](const Space& X) {
    EXPECT_ADJOINT(running_sum(X, "a"));
    EXPECT_MATRIX_ADJOINT(running_sum(X, "a"));
  });
}

TEST(RunningSum, ComposesWithTheLibrarys) {
  for_each_space([](const Space& X) {
    const Operator gather = between(X, X.copied("a"));
    EXPECT_ADJOINT(gather * running_sum(X, "a"));
  });
}

TEST(RunningSum, IsWhatOneWorkerComputes) {
  const at::NoGradGuard guard;
  for_each_space([](const Space& X) {
    const Vector x = random_vector(X, 1, true);
    const at::Tensor expected = meant(x).cumsum(0);
    const at::Tensor found = meant(running_sum(X, "a")(x));
    EXPECT_LE(found.sub(expected).abs().max().item<double>(), 1e-13);
  });
}

TEST(RunningSum, SendsWhatItForetells) {
  const at::NoGradGuard guard;
  for_each_space([](const Space& X) {
    const Operator A = running_sum(X, "a");
    const Vector x = random_vector(X, 1);
    Counters::instance().reset();
    A(x);
    const Traffic sent = Counters::instance().total();
    EXPECT_EQ(sent, (A.traffic(X.partition().rank()) + Traffic{0, 8 * sent.elements, 0}));
  });
}

/// The running sum with an adjoint that someone got wrong.
Operator with_adjoint(const Space& X, const CustomPrimitive::Map& map) {
  const Step right = running_sum(X, "world").steps().front();
  const Step wrong = custom("RunningSumUp", dual(X), dual(X), map, [=] { return right; });
  const auto apply = [=](const at::Tensor& x) { return right->apply(x); };
  return {X, X, {custom("RunningSum", X, X, apply, [=] { return wrong; })}};
}

TEST(Wrong, DISABLED_TheAdjointRunsTheSameWay) {
  const Space X = Space(Partition::world(), {7}).sharded(0, "world");
  const Step down = running_sum(X, "world").steps().front();
  const Operator A = with_adjoint(X, [=](const at::Tensor& y) { return down->apply(y); });
  EXPECT_ADJOINT(A);
}

TEST(Wrong, DISABLED_TheAdjointIsScaledByTheWorkers) {
  const Space X = Space(Partition::world(), {7}).sharded(0, "world");
  const Step up = running_sum(X, "world").steps().front()->adjoint();
  const int p = Partition::world().size();
  const Operator A = with_adjoint(X, [=](const at::Tensor& y) { return up->apply(y).mul(p); });
  EXPECT_ADJOINT(A);
}
