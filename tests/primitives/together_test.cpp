// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Products of spaces: several operators applied with their messages packed.
#include "riesz/primitives/together.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "random_spaces.h"
#include "riesz/comm/counters.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/moves.h"
#include "riesz/testing/custom_primitive.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

const std::vector<Placement> kAll{Placement::Replicated, Placement::Copied, Placement::Partial};

struct Program {
  std::vector<Operator> operators;
  std::vector<Vector> xs;
  std::vector<Vector> bars;
};

/// Operators on grids of their own, also on some of the workers only, and of several types.
Program random_program(std::uint64_t seed) {
  RandomSpaces random(seed);
  const Partition world = Partition::world();
  Program program;
  constexpr at::ScalarType types[] = {at::kDouble, at::kFloat, at::kBFloat16};
  const int count = 1 + random.any_of(4);
  for (int i = 0; i < count; ++i) {
    const bool some = random.any_of(3) == 0 && world.size() > 1;
    const Partition team = some ? world.subset({world.size() - 1, 0}) : world;
    const Space X = random.shape(random.grid(team));
    program.operators.push_back(between(random.place(X, kAll), random.place(X, kAll)));
    const Operator& A = program.operators.back();
    program.xs.push_back(random_vector(A.domain(), seed + 7, true, types[i % 3]));
    program.bars.push_back(random_vector(dual(A.range()), seed + 8, true, types[i % 3]));
  }
  return program;
}

TEST(Together, IsEachOperatorOfItsOwn) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed);
    std::vector<Vector> leaves;
    for (const Vector& x : program.xs) leaves.emplace_back(x.space(), x.local().clone().requires_grad_());
    Chain chain;
    Counters::instance().reset();
    const std::vector<Vector> ys = together(program.operators, leaves);
    const Traffic packed = Counters::instance().total();

    Counters::instance().reset();
    std::vector<Vector> expected;
    {
      const at::NoGradGuard guard;
      for (std::size_t i = 0; i < ys.size(); ++i) expected.push_back(program.operators[i](program.xs[i]));
    }
    const Traffic alone = Counters::instance().total();
    EXPECT_EQ(packed.elements, alone.elements);
    EXPECT_EQ(packed.bytes, alone.bytes);
    EXPECT_LE(packed.messages, alone.messages);

    for (std::size_t i = 0; i < ys.size(); ++i) {
      EXPECT_SAME_BITS(ys[i].local(), expected[i].local());
      const bool last = i + 1 == ys.size();
      const Vector found = pullback(ys[i], program.bars[i], {leaves[i]}, !last).front();
      const at::NoGradGuard guard;
      EXPECT_SAME_BITS(found.local(), adjoint(program.operators[i])(program.bars[i]).local());
    }
  }
}

TEST(Together, SendsOneMessageToAWorker) {
  const at::NoGradGuard guard;
  const Partition world = Partition::world();
  const Space X = Space(world, {11, 2}).sharded(0, "world");
  const Operator gather = between(X, Space(world, {11, 2}).copied("world"));
  const Vector x = random_vector(X, 1);
  Counters::instance().reset();

  together({gather, gather, gather}, {x, x, random_vector(X, 2, false, at::kFloat)});

  const Traffic one = gather.traffic(world.rank());
  std::map<std::string, Traffic> counted = Counters::instance().by_operation();
  EXPECT_EQ(counted["Together"].messages, one.messages);
  EXPECT_EQ(counted["AllGather"], (Traffic{3 * one.elements, (8 + 8 + 4) * one.elements, 0}));
}

/// Such a step cannot be packed with the others: it happens in its place among them.
TEST(Together, TakesStepsOfOnesOwnThatCommunicateInsideApply) {
  const Partition world = Partition::world();
  const Space S = Space(world, {7}).sharded(0, "world");
  const Space T = Space(world, {7}).partial("world");
  const Space C = Space(world, {7}).copied("world");
  const Operator gather = between(S, C);
  const Step sum = primitives::all_reduce(T, C, {0});
  const std::function<Step()> own = [&] {
    return custom(
        "Sum", T, C, [sum](const at::Tensor& x) { return sum->apply(x); }, own);
  };
  const Operator applied(T, C, {own()});
  const Operator started = between(T, C);
  const std::function<Step()> halves = [&] {
    return custom(
        "SumInHalves", T, C,
        [&](const at::Tensor& x) { return started.start(Vector(T, x.detach())).wait().local(); }, halves);
  };
  const Operator in_halves(T, C, {halves()});
  const std::vector<Vector> xs{random_vector(S, 1), random_vector(T, 2), random_vector(T, 3),
                               random_vector(S, 4)};
  const at::NoGradGuard guard;

  const std::vector<Vector> ys = together({gather, applied, in_halves, gather}, xs);

  EXPECT_SAME_BITS(ys[0].local(), gather(xs[0]).local());
  EXPECT_SAME_BITS(ys[1].local(), started(xs[1]).local());
  EXPECT_SAME_BITS(ys[2].local(), started(xs[2]).local());
  EXPECT_SAME_BITS(ys[3].local(), gather(xs[3]).local());
}

TEST(Together, OtherOperatorsOnAnotherWorkerAreSeen) {
  if (Partition::world().size() != 2) return;
  const at::NoGradGuard guard;
  const Space S = Space(Partition::world(), {4}).sharded(0, "world");
  const Operator copies = between(S, Space(Partition::world(), {4}).copied("world"));
  const Operator replicas = between(S, Space(Partition::world(), {4}));
  const std::vector<Vector> xs{random_vector(S, 1), random_vector(S, 2)};
  const bool first = Partition::world().rank() == 0;

  EXPECT_ERROR(first ? together({copies, replicas}, xs) : together({replicas, copies}, xs),
               "the workers' programs differ",
               "in Together of AllGather over world: Sharded(0) -> Copied of (4); AllGather",
               "in Together of AllGather over world: Sharded(0) -> Replicated of (4); AllGather");
  EXPECT_NO_THROW(together({copies, replicas}, xs));
}

TEST(Together, NeedsAVectorForEachOperator) {
  const Space X = Space(Partition::world(), {3});
  const Operator one = Operator::identity(X);

  EXPECT_ERROR(together({one, one}, {random_vector(X, 1)}), "2 operators for 1 vectors");
  EXPECT_ERROR(together({one}, {random_vector(Space(Partition::world(), {4}), 1)}), "has the domain");
}

TEST(ComplexVectors, HaveTheSameAdjoints) {
  RandomSpaces random(5);
  const at::NoGradGuard guard;
  for (int i = 0; i < 40; ++i) {
    const Space X = random.shape(random.grid(Partition::world()));
    const Operator A = between(random.place(X, kAll), random.place(X, kAll));
    const Vector x = random_vector(A.domain(), 3, true, at::kComplexDouble);
    const Vector y = random_vector(dual(A.range()), 4, true, at::kComplexDouble);
    const auto turned = [](const Vector& v) {  // by a phase of its own
      return Vector(v.space(), v.local().mul(c10::complex<double>(0.6, 0.8)));
    };

    const std::complex<double> left = complex_pairing(A(turned(x)), y);
    const std::complex<double> right = complex_pairing(turned(x), adjoint(A)(y));

    EXPECT_LE(std::abs(left - right), 1e-12 * (1 + std::abs(left))) << left << " is not " << right;
    EXPECT_LE(std::abs(left - std::conj(std::complex<double>(0.6, 0.8)) * complex_pairing(A(x), y)),
              1e-12 * (1 + std::abs(left)));
  }
}

}  // namespace
}  // namespace riesz::testing
