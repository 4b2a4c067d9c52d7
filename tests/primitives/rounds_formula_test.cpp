// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Rounds beside the definition of a natural map, element by element: the plans of all workers are followed
// with names of elements for values, so that each element of y says of which terms it is the sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "followed_plans.h"
#include "random_spaces.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/plan/rounds.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;
using Worker = PlannedWorker;

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

/// Elements of a worker's part that belong together: with `terms`, those that are copies of one term; else
/// those that are terms of one copy.
Numbers class_of(const Space& S, int rank, std::int64_t place, bool terms) {
  Numbers key;
  const std::vector<int> coordinates = S.partition().coordinates(rank);
  for (std::size_t a = 0; a < coordinates.size(); ++a) {
    const auto axis = static_cast<int>(a);
    const int dim = S.dim_of(axis);
    const bool term = S.placement(axis) == Placement::Partial || (dim >= 0 && S.terms(dim));
    key.push_back(term == terms ? coordinates[a] : 0);
  }
  const std::vector<std::int64_t> shape = S.local_shape(rank);
  for (int dim = S.dims(); dim-- > 0;) {
    const std::int64_t size = shape[static_cast<std::size_t>(dim)];
    key.push_back(S.terms(dim) == terms ? place % size : 0);
    place /= size;
  }
  return key;
}

/// By element of the vector: what has each of its terms once.
using Classes = std::map<std::int64_t, std::set<Numbers>>;

void expect_the_vector_meant(const Primitive& step, const std::map<int, Worker>& workers) {
  const Space &X = step.domain(), &Y = step.range();
  std::vector<Numbers> of_x;  // by rank: which elements of the vector
  Classes terms;
  const auto numbers = [](const Space& S, int rank) {
    const at::Tensor all = global_indices(S, rank).contiguous();
    return Numbers(all.const_data_ptr<std::int64_t>(), all.const_data_ptr<std::int64_t>() + all.numel());
  };
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    of_x.push_back(numbers(X, rank));
    for (std::size_t i = 0; i < of_x.back().size(); ++i)
      terms[of_x.back()[i]].insert(class_of(X, rank, static_cast<std::int64_t>(i), true));
  }
  std::map<std::pair<std::int64_t, Numbers>, std::multiset<Numbers>> found;  // by element and copy of it
  for (int rank = 0; rank < Y.partition().size(); ++rank) {
    const Worker& worker = workers.at(Y.partition().world_rank(rank));
    const Numbers elements_of_y = numbers(Y, rank);
    ASSERT_EQ(elements_of_y.size(), worker.y.size());
    for (std::size_t i = 0; i < worker.y.size(); ++i) {
      const std::int64_t element = elements_of_y[i];
      auto& of_copy = found[{element, class_of(Y, rank, static_cast<std::int64_t>(i), false)}];
      EXPECT_TRUE(std::is_sorted(worker.y[i].begin(), worker.y[i].end(), [](const Term& a, const Term& b) {
        return a.first < b.first;
      })) << "added in rank order";
      for (const auto& [from, place] : worker.y[i]) {
        EXPECT_EQ(of_x[static_cast<std::size_t>(from)][static_cast<std::size_t>(place)], element);
        of_copy.insert(class_of(X, from, place, true));
      }
    }
  }
  for (const auto& [which, of_copy] : found) {
    const std::set<Numbers>& each = terms[which.first];
    EXPECT_TRUE(std::equal(of_copy.begin(), of_copy.end(), each.begin(), each.end()))
        << "element " << which.first << " has " << of_copy.size() << " terms of " << each.size();
  }
}

bool all_sharded(const Space& S) {
  for (int axis = 0; axis < static_cast<int>(S.partition().axes().size()); ++axis) {
    if (S.placement(axis) != Placement::Sharded) return false;
  }
  return true;
}

bool any_dim(const Space& S, bool (Space::*has)(int) const) {
  for (int dim = 0; dim < S.dims(); ++dim) {
    if ((S.*has)(dim)) return true;
  }
  return false;
}

/// Between sharded ends: what a worker has of one term itself, nobody sends it.
void expect_nothing_sent_that_is_there(const Primitive& step, const std::map<int, Worker>& workers) {
  const Space &X = step.domain(), &Y = step.range();
  if (!all_sharded(X) || !all_sharded(Y)) return;  // else copies go from place to place
  const bool its_own = X.partition() != Y.partition() && !any_dim(Y, &Space::terms);
  if (any_dim(X, &Space::copies) && !its_own) return;
  for (int rank = 0; rank < Y.partition().size(); ++rank) {
    const int world = Y.partition().world_rank(rank), mine = X.partition().rank_in(world);
    if (mine < 0) continue;
    std::set<std::pair<std::int64_t, Numbers>> there;
    const at::Tensor held = global_indices(X, mine).contiguous().view({-1});
    for (std::int64_t i = 0; i < held.numel(); ++i)
      there.emplace(held.const_data_ptr<std::int64_t>()[i], class_of(X, mine, i, true));
    for (const Sum& sum : workers.at(world).y) {
      for (const auto& [from, place] : sum) {
        if (from == mine) continue;
        const at::Tensor of = global_indices(X, from).contiguous().view({-1});
        const std::int64_t element = of.const_data_ptr<std::int64_t>()[place];
        EXPECT_FALSE(there.contains({element, class_of(X, from, place, true)}))
            << "rank " << from << " sends element " << element << " to rank " << rank;
      }
    }
  }
}

const std::vector<Placement> kAll{Placement::Replicated, Placement::Copied, Placement::Partial};

/// A few kinds of pairs of spaces: on one grid, of any kind, or all sharded; between any two; from or to one
/// worker; to or from copies on a larger grid; the same on other workers.
std::vector<Step> random_steps(std::uint64_t seed, int workers, int me) {
  RandomSpaces random(seed);
  const Partition world = Partition::simulated(workers, me);
  const Space ground = random.shape(random.grid(world));
  const auto on = [&](const Partition& P) {
    Space S(P, ground.shape());
    for (int dim = 0; dim < S.dims(); ++dim) S = S.unit(dim, ground.unit_of(dim));
    return S;
  };
  const Partition some = world.subset({0, workers - 1});
  const Space one = on(world.subset({workers - 1}));
  const Space sharded = random.shard_all(on(random.grid(random.some_of(world))), false);
  const auto steps = [](const Operator& A) { return A.steps(); };
  switch (seed % 7) {
    case 0:
      return steps(between(random.shard_all(ground, false), random.shard_all(ground, true)));
    case 1:
      return steps(adjoint(between(random.shard_all(ground, false), random.shard_all(ground, true))));
    case 2: {
      const Space there = on(random.grid(random.some_of(world)));
      return steps(between(random.lay_out(on(random.grid(random.some_of(world))), kAll, true),
                           random.lay_out(there, kAll, true)));
    }
    case 3:
      return steps(random.any_of(2) == 0 ? between(one, sharded) : between(sharded, one));
    case 4: {
      const Space small = random.lay_out(on(some.grid({{"a", 2}})), {Placement::Copied}, false);
      const Partition large = world.subset(workers % 2 == 0 ? [&] {
        std::vector<int> all;
        for (int rank = workers; rank-- > 0;) all.push_back(rank);
        return all;
      }() : std::vector<int>{0, workers - 1}).grid({{"a", 2}, {"b", workers % 2 == 0 ? workers / 2 : 1}});
      const Operator A = between(small, small.on(large).copied("b"));
      return steps(random.any_of(2) == 0 ? A : adjoint(A));
    }
    case 5: {
      const Space S = random.lay_out(on(some), kAll, true);
      return steps(between(S, S.on(world.subset({workers - 1, 0}))));
    }
    default:
      return steps(between(random.lay_out(ground, kAll, true), random.lay_out(ground, kAll, true)));
  }
}

void expect_formula(std::uint64_t seed, int workers, std::set<std::string>& seen) {
  std::vector<std::vector<Step>> all;
  for (int me = 0; me < workers; ++me) all.push_back(random_steps(seed, workers, me));
  for (std::size_t n = 0; n < all[0].size(); ++n) {
    const Primitive& step = *all[0][n];
    if (step.rounds() == nullptr) continue;
    const Space &X = step.domain(), &Y = step.range();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(workers) +
                 " workers: " + to_string(step) + "\n  from " + to_string(X) + "\n  to " + to_string(Y));
    seen.insert(step.name());
    std::map<int, Worker> job;
    for (int me = 0; me < workers; ++me) {
      const int in_X = X.partition().rank_in(me), in_Y = Y.partition().rank_in(me);
      Worker worker{all[static_cast<std::size_t>(me)][n]->rounds(), {0}, {0}, {}, {}};
      if (in_X >= 0) worker.x_shape = X.local_shape(in_X);
      if (in_Y >= 0) worker.y_shape = Y.local_shape(in_Y);
      for (std::int64_t i = 0; i < elements(worker.x_shape); ++i) worker.x.push_back({{in_X, i}});
      worker.y.resize(static_cast<std::size_t>(elements(worker.y_shape)));
      if (worker.rounds->identity && in_Y >= 0) worker.y = worker.x;
      if (worker.rounds->flat) worker.x_shape = worker.y_shape = {elements(worker.x_shape)};
      job.emplace(me, std::move(worker));
    }
    follow_plans(job);
    expect_the_vector_meant(step, job);
    expect_nothing_sent_that_is_there(step, job);
  }
}

TEST(RoundsOfAllKinds, GiveEachElementItsTermsOnceInRankOrder) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 140; ++seed)
    expect_formula(seed, 2 + static_cast<int>(seed / 7 % 7), seen);
  EXPECT_EQ(seen, (std::set<std::string>{"AllGather", "AllReduce", "AllToAll", "Broadcast", "Gather", "Halo",
                                         "HaloSum", "ReduceScatter", "Repartition", "Scatter", "SendRecv",
                                         "Shift", "SumReduce"}));
}

}  // namespace
}  // namespace riesz::testing
