// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "random_program.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "riesz/partition/pairing.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Coordinates = std::vector<std::pair<int, std::int64_t>>;  // world rank, element

Coordinates coordinates_of(const Space& X) {
  Coordinates coordinates;
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    if (X.leader(rank, {Placement::Replicated}) != rank) continue;
    for (std::int64_t i = 0; i < volume(X.boxes(rank)); ++i) {
      coordinates.emplace_back(X.partition().world_rank(rank), i);
    }
  }
  return coordinates;
}

Vector unit_vector(const Space& X, const std::pair<int, std::int64_t>& coordinate) {
  at::Tensor local = at::zeros(X.local_shape(), at::kDouble);
  const Partition& P = X.partition();
  if (P.active() && P.world_rank(X.leader(P.rank(), {Placement::Replicated})) == coordinate.first) {
    local.mutable_data_ptr<double>()[coordinate.second] = 1;
  }
  return {X, local};
}

bool agrees(const Operator& A) {
  return std::any_of(A.steps().begin(), A.steps().end(),
                     [](const Step& step) { return step->name() == "Agree"; });
}

}  // namespace

void for_each_seed(int count, const std::function<void(std::uint64_t)>& f) {
  const char* one = std::getenv("RIESZ_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + (one != nullptr ? 1 : static_cast<std::uint64_t>(count));
       ++seed) {
    SCOPED_TRACE("replay with RIESZ_SEED=" + std::to_string(seed));
    try {
      f(seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();  // with the seed
      throw;
    }
  }
}

Space random_ground(RandomSpaces& random, bool small) {
  const Partition one = Partition::world().subset({0});
  if (!small) return random.shape(one);
  return {one, {1 + random.any_of(3), 1 + random.any_of(2)}};
}

Space next_space(RandomSpaces& random, const Space& last, const std::vector<Placement>& kinds, bool terms) {
  const bool stays = random.any_of(2) == 0;
  const Partition P = stays ? last.partition() : random.grid(random.some_of(Partition::world()));
  Space X(P, last.shape());
  for (int dim = 0; dim < X.dims(); ++dim) X = X.unit(dim, last.unit_of(dim));
  return random.lay_out(X, kinds, terms);
}

std::vector<Operator> random_program(RandomSpaces& random, bool small, int number) {
  const std::vector<Placement> all{Placement::Replicated, Placement::Copied, Placement::Partial};
  Space last = next_space(random, random_ground(random, small), all, true);
  std::vector<Operator> moves;
  for (int left = number > 0 ? number : 2 + random.any_of(11); left > 0; --left) {
    const Space next = next_space(random, last, all, true);
    moves.push_back(between(last, next));
    last = next;
  }
  return moves;
}

Operator composed(const std::vector<Operator>& moves) {
  Operator A = moves.front();
  for (std::size_t i = 1; i < moves.size(); ++i) A = moves[i] * A;
  return A;
}

bool needs_equal_copies(const Operator& A) { return agrees(A) || agrees(adjoint(A)); }

double sum_of_all(double mine) {
  double sum = 0;
  for (const at::Tensor& term :
       collect("testing", Partition::world(), at::scalar_tensor(mine, at::kDouble))) {
    sum += term.item<double>();
  }
  return sum;
}

double my_pairing(const Vector& x, const at::Tensor& y) {
  const Partition& P = x.space().partition();
  if (!P.active() || x.space().leader(P.rank(), {Placement::Replicated}) != P.rank()) return 0;
  return x.local().detach().mul(y.detach()).sum().item<double>();
}

Eigen::MatrixXd matrix_of(const Operator& A) {
  const at::NoGradGuard guard;
  const Coordinates columns = coordinates_of(A.domain());
  const Coordinates rows = coordinates_of(A.range());
  const std::int64_t mine = at::zeros(A.range().local_shape(), at::kByte).numel();
  const at::Tensor block = at::zeros({static_cast<std::int64_t>(columns.size()), mine}, at::kDouble);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const Vector y = A(unit_vector(A.domain(), columns[column]));
    block[static_cast<std::int64_t>(column)].copy_(y.local().reshape({mine}));
  }
  const std::vector<at::Tensor> blocks = all_parts(Partition::world(), block);
  Eigen::MatrixXd M(rows.size(), columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const at::Tensor& of_row = blocks[static_cast<std::size_t>(rows[row].first)];
    for (std::size_t column = 0; column < columns.size(); ++column) {
      M(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
          of_row.const_data_ptr<double>()[static_cast<std::int64_t>(column) * of_row.size(1) +
                                          rows[row].second];
    }
  }
  return M;
}

}  // namespace riesz::testing
