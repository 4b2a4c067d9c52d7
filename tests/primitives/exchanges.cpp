// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "exchanges.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/matrix.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kSmall = 40;  // columns of a matrix that is worth its time

std::vector<at::Tensor> whole_numbers(const Space& X, std::uint64_t seed) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : random_parts(X, seed, true)) parts.push_back(part.mul(100).round().add(0.));
  return parts;
}

void expect_meaning_kept(const Operator& A) {
  const at::NoGradGuard guard;
  const Space& X = A.domain();
  const Space& Y = A.range();
  const std::vector<at::Tensor> parts = whole_numbers(X, 3);
  const Vector x(X, part_of(X, parts).local().clone());
  Counters::instance().reset();

  const Vector y = A(x);

  const Traffic counted = Counters::instance().total();
  const Partition& P = X.partition();
  const Traffic stated = P.active() ? A.traffic(P.rank()) : Traffic{};
  EXPECT_EQ(counted, (Traffic{stated.elements, 8 * stated.elements, stated.messages}));
  EXPECT_SAME_BITS(x.local(), part_of(X, parts).local());
  const std::vector<at::Tensor> found = all_parts(Y.partition(), y.local());
  if (!Y.partition().active()) return;
  EXPECT_TRUE(belongs(Y, found, true));
  const at::Tensor v = meant(X, parts);
  EXPECT_TRUE(at::equal(meant(Y, found), v)) << text_of(meant(Y, found)) << "\nis not " << text_of(v);
}

bool has_agree(const Operator& A) {
  return std::any_of(A.steps().begin(), A.steps().end(),
                     [](const Step& step) { return step->name() == "Agree"; });
}

std::int64_t coordinates(const Space& X) {
  std::int64_t count = 0;
  for (int rank = 0; rank < X.partition().size(); ++rank) count += volume(X.boxes(rank));
  return count;
}

std::vector<std::int64_t> held_by(const Space& X, int rank) {
  const at::Tensor indices = global_indices(X, rank).contiguous();
  const auto* first = indices.const_data_ptr<std::int64_t>();
  return {first, first + indices.numel()};
}

/// On the axes of one grid that X does not shard, do they stand at the same place?
bool may_send(const Space& X, int s, const Space& Y, int r) {
  if (X.partition() != Y.partition()) return true;
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    const bool other = X.partition().coordinate(s, a) != X.partition().coordinate(r, a);
    if (X.placement(a) != Placement::Sharded && other) return false;
  }
  return true;
}

bool overlaps(const Space& X) {
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (X.copies(dim) || X.terms(dim)) return true;
  }
  return false;
}

}  // namespace

void expect_natural(const Space& X, const Space& Y) {
  SCOPED_TRACE("from " + to_string(X) + "\n  to " + to_string(Y));
  const Operator A = between(X, Y);
  EXPECT_EQ(adjoint(A), between(dual(Y), dual(X)));
  EXPECT_EQ(adjoint(adjoint(A)), A);
  EXPECT_ADJOINT(A);
  expect_meaning_kept(A);
  const bool equal_copies = has_agree(A) || has_agree(adjoint(A));
  if (!equal_copies && coordinates(X) + coordinates(Y) <= kSmall) {
    EXPECT_MATRIX_ADJOINT(A);
  }
}

void expect_minimal(const Space& X, const Space& Y) {
  SCOPED_TRACE("from " + to_string(X) + "\n  to " + to_string(Y));
  const Partition& P = X.partition();
  const Partition& Q = Y.partition();
  const Operator A = between(X, Y);
  std::vector<std::set<std::int64_t>> own;
  for (int s = 0; s < P.size(); ++s) {
    const std::vector<std::int64_t> held = held_by(X, s);
    own.emplace_back(held.begin(), held.end());
  }
  std::vector<std::vector<std::int64_t>> moved(static_cast<std::size_t>(P.size()));  // [s][r]
  for (auto& row : moved) row.assign(static_cast<std::size_t>(Q.size()), 0);
  for (int r = 0; r < Q.size(); ++r) {
    const int here = P.rank_in(Q.world_rank(r));
    for (const std::int64_t index : held_by(Y, r)) {
      if (here >= 0 && own[static_cast<std::size_t>(here)].count(index) > 0) continue;
      int s = 0;
      while (own[static_cast<std::size_t>(s)].count(index) == 0 || !may_send(X, s, Y, r)) ++s;
      ++moved[static_cast<std::size_t>(s)][static_cast<std::size_t>(r)];
    }
  }
  Traffic all;
  for (int s = 0; s < P.size(); ++s) {
    Traffic sent;
    for (const std::int64_t count : moved[static_cast<std::size_t>(s)]) {
      if (count > 0) sent += {count, 0, 1};
    }
    if (!overlaps(X)) {
      EXPECT_EQ(A.traffic(s), sent) << "worker " << s << " of the domain sends";
    }
    all += A.traffic(s);
  }
  std::int64_t needed = 0;
  for (int r = 0; r < Q.size(); ++r) {
    Traffic received;
    for (const auto& row : moved) {
      const std::int64_t count = row[static_cast<std::size_t>(r)];
      if (count > 0) received += {count, 0, 1};
    }
    const Traffic back = adjoint(A).traffic(r);
    EXPECT_EQ(back.elements, received.elements) << "worker " << r << " of the range sends back";
    if (!overlaps(X)) {
      EXPECT_EQ(back.messages, received.messages);
    }
    needed += received.elements;
  }
  EXPECT_EQ(all.elements, needed);
}

}  // namespace riesz::testing
