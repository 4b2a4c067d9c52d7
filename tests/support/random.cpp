// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/random.h"

#include <ATen/ops/empty.h>

#include <random>

namespace riesz::testing {

at::Tensor random_part(const Space& X, int rank, std::uint64_t seed, bool equal_copies, at::ScalarType type) {
  const int leader = equal_copies ? X.leader(rank, {Placement::Replicated, Placement::Copied})
                                  : X.leader(rank, {Placement::Replicated});
  std::seed_seq key{seed, static_cast<std::uint64_t>(leader)};
  std::mt19937_64 generator(key);
  std::normal_distribution<double> normal;
  at::Tensor part = at::empty(X.local_shape(rank), at::kDouble);
  for (std::int64_t i = 0; i < part.numel(); ++i) {
    double value = 0;
    while (value == 0) value = normal(generator);
    part.mutable_data_ptr<double>()[i] = value;
  }
  return part.to(type);
}

std::vector<at::Tensor> random_parts(const Space& X, std::uint64_t seed, bool equal_copies,
                                     at::ScalarType type) {
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    parts.push_back(random_part(X, rank, seed, equal_copies, type));
  }
  return parts;
}

Vector random_vector(const Space& X, std::uint64_t seed, bool equal_copies, at::ScalarType type) {
  if (!X.partition().active()) return {X, at::empty({0}, type)};
  return {X, random_part(X, X.partition().rank(), seed, equal_copies, type)};
}

Vector part_of(const Space& X, const std::vector<at::Tensor>& parts) {
  if (!X.partition().active()) return {X, at::empty({0}, parts.front().options())};
  return {X, parts.at(static_cast<std::size_t>(X.partition().rank()))};
}

}  // namespace riesz::testing
