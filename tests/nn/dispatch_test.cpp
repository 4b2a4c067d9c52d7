// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Tokens to their experts and back, by routings of every kind.
#include "riesz/nn/experts/dispatch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "expect.h"
#include "program_traffic.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// How tokens choose. At random: any experts, and a fifth of the choices is dropped.
enum class Way { random, all_to_one, none };

struct Case {
  Space X;
  ExpertParts experts;
  std::int64_t k;
  Way way;

  int workers() const { return X.partition().extent("a"); }
  int me() const { return X.partition().coordinate(X.partition().rank(), 0); }
  static std::int64_t tokens(int worker) { return (3 * worker + 2) % 5; }

  Choices choices(int worker) const {
    Choices all{{}, k};
    std::mt19937 random(static_cast<unsigned>(worker));
    std::vector<std::int64_t> any(static_cast<std::size_t>(experts.experts()));
    std::iota(any.begin(), any.end(), 0);
    for (std::int64_t token = 0; token < tokens(worker); ++token) {
      std::shuffle(any.begin(), any.end(), random);
      for (std::int64_t j = 0; j < k; ++j) {
        const bool dropped = way == Way::none || (way == Way::random && random() % 5 == 0) ||
                             (way == Way::all_to_one && j > 0);
        const std::int64_t chosen =
            way == Way::random ? any[static_cast<std::size_t>(j)] : experts.experts() - 1;
        all.experts.push_back(dropped ? -1 : chosen);
      }
    }
    return all;
  }
  Dispatch dispatch() const { return riesz::dispatch(X, "a", experts, choices(me())); }

  /// Calls f(worker, token, choice, part) of each row for this worker's parts, in the order of the rows.
  template <typename Function>
  void each_row(int of, const Function& f) const {
    for (const Interval& held : experts.split().held(of)) {
      for (std::int64_t part = held.begin; part < held.end; ++part) {
        const std::int64_t expert = experts.parts()[static_cast<std::size_t>(part)].expert;
        for (int worker = 0; worker < workers(); ++worker) {
          const Choices theirs = choices(worker);
          for (std::size_t i = 0; i < theirs.experts.size(); ++i)
            if (theirs.experts[i] == expert)
              f(worker, static_cast<std::int64_t>(i) / k, static_cast<std::int64_t>(i), part);
        }
      }
    }
  }
};

/// (N, 3, 2): tokens over "a", uneven and on some workers none; columns over "b", and copies over "c".
Space tokens_over(const Partition& grid) {
  std::vector<std::int64_t> sizes;
  for (int worker = 0; worker < grid.extent("a"); ++worker) sizes.push_back(Case::tokens(worker));
  const Split split = Split::sizes(sizes);
  Space X(grid, {split.extent(), 3, 2});
  for (std::size_t axis = 1; axis < grid.axes().size(); ++axis) {
    const std::string& name = grid.axes()[axis].name;
    X = axis == 1 ? X.sharded(1, name) : X.copied(name);
  }
  return X.sharded(0, "a", split);
}

template <typename Check>
void for_each_case(const Check& check) {
  for_each_grid(Partition::world(), [&](const Partition& grid) {
    const int p = grid.extent("a");
    for (const std::int64_t experts : std::set<std::int64_t>{1, 3, 2 * p + 1}) {
      for (const std::int64_t k : std::set<std::int64_t>{1, std::min<std::int64_t>(2, experts), experts}) {
        for (const Way way : {Way::random, Way::all_to_one, Way::none}) {
          SCOPED_TRACE(to_string(grid) + ", " + std::to_string(experts) + " experts, k = " +
                       std::to_string(k) + ", way " + std::to_string(static_cast<int>(way)));
          check(Case{tokens_over(grid), ExpertParts(experts, 4, p), k, way});
        }
      }
    }
  });
}

/// A name for each element of a worker's tokens.
at::Tensor named_token(const Space& X, int worker, std::int64_t token) {
  std::vector<std::int64_t> shape = X.local_shape();
  shape[0] = 1;
  const at::Tensor places = at::arange(c10::multiply_integers(shape), at::kDouble).view(shape);
  return places.add(static_cast<double>(100 * (50 * worker + token)));
}

at::Tensor named_tokens(const Case& of) {
  std::vector<at::Tensor> all{named_token(of.X, 0, 0).narrow(0, 0, 0)};
  for (std::int64_t token = 0; token < Case::tokens(of.me()); ++token)
    all.push_back(named_token(of.X, of.me(), token));
  return at::cat(all);
}

Vector in_dual(const Vector& y) { return {dual(y.space()), y.local()}; }

TEST(Dispatch, BringsEachChoiceToItsExpertAndAddsThemBack) {
  const at::NoGradGuard no_gradient;
  for_each_case([](const Case& of) {
    std::vector<at::Tensor> expected{named_token(of.X, 0, 0).narrow(0, 0, 0)};
    std::vector<at::Tensor> numbers{at::zeros({0}, at::kDouble)};
    std::vector<std::int64_t> rows;
    std::int64_t last = -1;
    for (const Interval& held : of.experts.split().held(of.me()))
      rows.insert(rows.end(), static_cast<std::size_t>(held.size()), 0);
    const std::int64_t first = of.experts.split().held(of.me()).front().begin;
    of.each_row(of.me(), [&](int worker, std::int64_t token, std::int64_t choice, std::int64_t part) {
      expected.push_back(named_token(of.X, worker, token));
      numbers.push_back(at::zeros({1}, at::kDouble).add(static_cast<double>(1000 * worker + choice)));
      ++rows[static_cast<std::size_t>(part - first)];
      last = part;
    });
    const Vector x(of.X, named_tokens(of));

    const Dispatch d = of.dispatch();
    const Vector y = d.tokens(x);

    EXPECT_EQ(d.rows, rows);
    EXPECT_SAME_BITS(y.local(), at::cat(expected));
    const at::Tensor mine =
        at::arange(static_cast<std::int64_t>(of.choices(of.me()).experts.size()), at::kDouble);
    EXPECT_SAME_BITS(d.gate_values(Vector(d.gate_values.domain(), mine.add(1000.0 * of.me()))).local(),
                     at::cat(numbers));
    // back: each token as often as it chose, once for each part
    at::Tensor back = x.local().clone();
    const Choices choices = of.choices(of.me());
    for (std::int64_t token = 0; token < choices.tokens(); ++token) {
      std::int64_t copies = 0;
      for (std::int64_t j = 0; j < of.k; ++j) {
        const std::int64_t expert = choices.experts[static_cast<std::size_t>(token * of.k + j)];
        if (expert >= 0) copies += of.experts.parts_of(expert).size();
      }
      back.select(0, token).mul_(static_cast<double>(copies));
    }
    EXPECT_SAME_BITS(adjoint(d.tokens)(in_dual(y)).local(), back);
  });
}

TEST(Dispatch, AndCombineAreAdjoint) {
  for_each_case([](const Case& of) {
    const Dispatch d = of.dispatch();
    EXPECT_ADJOINT(d.tokens);
    EXPECT_ADJOINT(d.gate_values);
  });
}

/// A sum of up to 9 copies, which fp32 has exactly, is rounded once; a tie goes to either side.
TEST(Dispatch, AddsCopiesOfHalfTypesInFp32) {
  const at::NoGradGuard no_gradient;
  const Partition grid = Partition::world().grid({{"a", Runtime::size()}});
  const Dispatch d = Case{tokens_over(grid), ExpertParts(9, 4, Runtime::size()), 9, Way::random}.dispatch();
  const Operator combine = adjoint(d.tokens);
  const at::Tensor drawn = random_vector(combine.domain(), 1).local().abs().frac().add(1);  // below 2
  for (const auto& [type, steps] : {std::pair(at::kBFloat16, 128.0), std::pair(at::kHalf, 1024.0)}) {
    const at::Tensor y = drawn.mul(steps).floor().div(steps);
    const at::Tensor exactly = combine(Vector(combine.domain(), y)).local();
    const at::Tensor found = combine(Vector(combine.domain(), y.to(type))).local();
    EXPECT_EQ(found.scalar_type(), type);
    EXPECT_TRUE(is_within(found.to(at::kDouble), exactly, exactly.mul(unit_roundoff(type))));
  }
}

TEST(Dispatch, CostsWhatTheRoutingSays) {
  for_each_case([](const Case& of) {
    const std::int64_t row = of.X.local_shape()[1] * of.X.local_shape()[2];
    Traffic counts, there, back, both;
    for (int worker = 0; worker < of.workers(); ++worker) {
      if (worker == of.me()) continue;
      counts += {of.experts.experts(), 8 * of.experts.experts(), 1};
      std::int64_t leaving = 0, coming = 0;
      of.each_row(worker,
                  [&](int from, std::int64_t, std::int64_t, std::int64_t) { leaving += from == of.me(); });
      of.each_row(of.me(),
                  [&](int from, std::int64_t, std::int64_t, std::int64_t) { coming += from == worker; });
      if (leaving > 0) both += {leaving * (row + 1), 8 * leaving * (row + 1), 1};
      if (leaving > 0 && row > 0) there += {leaving * row, 8 * leaving * row, 1};
      if (coming > 0 && row > 0) back += {coming * row, 8 * coming * row, 1};
    }
    const Vector x(of.X, random_vector(of.X, 1).local().requires_grad_());
    Counters::instance().reset();
    const Dispatch d = of.dispatch();
    EXPECT_EQ(program_traffic(), counts);
    Counters::instance().reset();
    const Chain chain;
    const Vector y = d.tokens(x);
    EXPECT_EQ(program_traffic(), there);
    Counters::instance().reset();
    pullback(y, in_dual(y), {x});
    EXPECT_EQ(program_traffic(), back);
    Counters::instance().reset();
    const at::NoGradGuard no_gradient;
    together({d.tokens, d.gate_values},
             {x, random_vector(d.gate_values.domain(), 2)});  // one message to each for both
    EXPECT_EQ(program_traffic(), both);
  });
}

TEST(Dispatch, OfKnownCountsSendsNoneAndIsTheSame) {
  for_each_case([](const Case& of) {
    RowCounts all;
    for (int worker = 0; worker < of.workers(); ++worker)
      all.push_back(of.choices(worker).counts(of.experts.experts()));
    Counters::instance().reset();
    const Dispatch known = dispatch(of.X, "a", of.experts, of.choices(of.me()), all);
    EXPECT_EQ(program_traffic(), Traffic{});
    EXPECT_EQ(known.tokens, of.dispatch().tokens);
  });
}

TEST(Dispatch, IsRefusedWhereChoicesDoNotFit) {
  const Partition world = Partition::world();
  const Space X = Space(world, {2 * world.size(), 3}).sharded(0, "world");
  const ExpertParts experts(3, 4, world.size());
  Counters::instance().reset();
  EXPECT_ERROR(dispatch(X, "world", experts, {{0, 1, 2}, 2}), "3 choices", "k = 2");
  EXPECT_ERROR(dispatch(X, "world", experts, {{0, 1, 2}, 1}), "of 3 tokens", "k choices for each");
  EXPECT_ERROR(dispatch(X, "world", experts, {{0, 3}, 1}), "expert 3", "there are 3");
  const RowCounts few(static_cast<std::size_t>(world.size()), {1, 1});
  EXPECT_ERROR(dispatch(X, "world", experts, {{0, 1}, 1}, few), "2 counts", "3 experts");
  const RowCounts others(static_cast<std::size_t>(world.size()), {1, 0, 1});
  EXPECT_ERROR(dispatch(X, "world", experts, {{0, 1}, 1}, others), "not those of this worker's choices");
  EXPECT_EQ(program_traffic(), Traffic{});
}

}  // namespace
}  // namespace riesz::testing
