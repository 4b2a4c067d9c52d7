// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Sums over more workers than are added one after another have one order, whatever the shapes and the plan.
// One process is a worker of a larger job: the operators are the real ones, what the others send is written
// down.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/simulation.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

/// The first `count` elements of the term that the worker of `rank` has for this one.
at::Tensor term_of(int rank, std::int64_t count, at::ScalarType type) {
  std::mt19937 random(static_cast<unsigned>(rank));
  std::normal_distribution<float> normal;
  at::Tensor term = at::zeros({count}, at::kFloat);
  for (std::int64_t i = 0; i < count; ++i) term.mutable_data_ptr<float>()[i] = normal(random);
  return term.to(type);
}

struct Arrived final : Requests {
  bool done() override { return true; }
  std::vector<int> unfinished() const override { return {}; }
};

/// Every worker sends its term.
struct Terms final : Transport {
  std::unique_ptr<Requests> post(std::vector<Message> /*sends*/, std::vector<Message> receives) override {
    for (const Message& message : receives) {
      const TensorSpan& span = message.span;
      span.data.view({-1})
          .narrow(0, span.begin, span.count)
          .copy_(term_of(message.peer, span.count, span.data.scalar_type()));
    }
    return std::make_unique<Arrived>();
  }
};

at::Tensor expected_sum(int workers, std::int64_t count, at::ScalarType type) {
  std::vector<at::Tensor> terms;
  for (int rank = 0; rank < workers; ++rank) terms.push_back(term_of(rank, count, type));
  return ordered_sum(terms);
}

/// This worker's part of the sum of all workers' terms: from X, Partial, in which it holds all, to Y, in
/// which it holds boxes of it.
void expect_one_order(int rank, const Operator& A, at::ScalarType type) {
  const at::NoGradGuard guard;
  const Space& Y = A.range();
  const std::int64_t count = volume(Y.boxes(Y.partition().rank()));
  const at::Tensor local = at::zeros(A.domain().local_shape(), type);
  const at::Tensor flat = local.view({-1});
  const at::Tensor mine = term_of(rank, count, type);
  const at::Tensor held = global_indices(Y, Y.partition().rank()).view({-1});
  flat.index_copy_(0, held, mine);

  const at::Tensor y = A({A.domain(), local}).local();

  EXPECT_SAME_BITS(y.reshape({-1}), expected_sum(Partition::world().size(), count, type)) << to_string(A);
}

TEST(SumsOverManyWorkers, HaveOneOrderWhateverThePlan) {
  for (const int workers : {3, 32, 33, 65}) {
    for (const int rank : {0, workers / 2, workers - 1}) {
      const Simulation simulation(rank, workers);
      set_world_communicator(std::make_unique<Communicator>(std::make_unique<Terms>()));
      const Partition P = Partition::world();
      const Space S(P, {4 * workers, 2});
      const Space X = S.partial("world");
      const Space here(P.subset({rank}), S.shape());
      const Split strips = Split::zigzag(4 * workers, workers);
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kComplexFloat}) {
        expect_one_order(rank, between(X, S.sharded(0, "world")), type);
        expect_one_order(rank, between(X, S.sharded(0, "world", strips)), type);
        expect_one_order(rank, between(X, here), type);
      }
    }
  }
}

TEST(SumsOverManyWorkers, HaveTheSameOrderInAnAllReduce) {
  const at::NoGradGuard guard;
  constexpr int kWorkers = 33;
  for (const int rank : {0, 16, 32}) {
    const Simulation simulation(rank, kWorkers);
    set_world_communicator(std::make_unique<Communicator>(std::make_unique<Terms>()));
    const Space X(Partition::world(), {3 * kWorkers});
    const at::Tensor local = at::zeros({3 * kWorkers}, at::kFloat);
    local.narrow(0, 3 * rank, 3).copy_(term_of(rank, 3, at::kFloat));

    const Vector y = between(X.partial("world"), X)({X.partial("world"), local});

    EXPECT_SAME_BITS(y.local().narrow(0, 3 * rank, 3), expected_sum(kWorkers, 3, at::kFloat));
  }
}

TEST(SumsOverManyWorkers, WouldDifferInAnotherOrder) {
  at::Tensor one_after_another = term_of(0, 100, at::kFloat);
  for (int rank = 1; rank < 33; ++rank)
    one_after_another = one_after_another.add(term_of(rank, 100, at::kFloat));

  EXPECT_FALSE(same_bits(one_after_another, expected_sum(33, 100, at::kFloat)));
}

/// Elements that differ in how many terms they have: each has the order of its own number.
TEST(SumsOverManyWorkers, DependOnEachElementsTermsAlone) {
  constexpr int kWorkers = 40;
  const at::NoGradGuard guard;
  const Simulation simulation(0, kWorkers);
  set_world_communicator(std::make_unique<Communicator>(std::make_unique<Terms>()));
  std::vector<Intervals> held(kWorkers, Intervals{{0, 2}});  // 40 terms of the first two elements
  for (int rank = 0; rank < 33; ++rank) held[static_cast<std::size_t>(rank)] = {{0, 3}};  // 33 of the third
  held[0] = {{0, 4}};                                                                     // one of the last
  std::vector<std::int64_t> owned(kWorkers, 0);
  owned[0] = 4;
  const Space S(Partition::world(), {4});
  const Space X = dual(S.sharded(0, "world", Split::covering(4, held)));
  const Space Y = S.sharded(0, "world", Split::sizes(owned));
  const at::Tensor mine = term_of(0, 4, at::kFloat);

  const at::Tensor y = between(X, Y)({X, mine}).local();

  EXPECT_SAME_BITS(y.narrow(0, 0, 2), expected_sum(40, 3, at::kFloat).narrow(0, 0, 2));
  EXPECT_SAME_BITS(y.narrow(0, 2, 1), expected_sum(33, 3, at::kFloat).narrow(0, 2, 1));
  EXPECT_SAME_BITS(y.narrow(0, 3, 1), mine.narrow(0, 3, 1));
}

}  // namespace
}  // namespace riesz::testing
