// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/random.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/empty.h>

#include <random>

namespace riesz::testing {

namespace {

at::Tensor random_numbers(const std::vector<std::int64_t>& shape, std::uint64_t seed, int rank) {
  std::seed_seq key{seed, static_cast<std::uint64_t>(rank)};
  std::mt19937_64 generator(key);
  std::normal_distribution<double> normal;
  at::Tensor numbers = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    double value = 0;
    while (value == 0) value = normal(generator);
    numbers.mutable_data_ptr<double>()[i] = value;
  }
  return numbers;
}

/// Of a dim that is whole, what the worker of `rank` holds.
at::Tensor held_of(const at::Tensor& numbers, const Space& X, int dim, int rank) {
  std::vector<at::Tensor> pieces{numbers.narrow(dim, 0, 0)};
  const Boxes boxes = X.boxes(rank);
  for (const Interval& interval : boxes[static_cast<std::size_t>(dim)]) {
    pieces.push_back(numbers.narrow(dim, interval.begin, interval.size()));
  }
  return at::cat(pieces, dim);
}

}  // namespace

at::Tensor random_part(const Space& X, int rank, std::uint64_t seed, bool equal_copies, at::ScalarType type) {
  if (at::isComplexType(type)) {
    return at::complex(random_part(X, rank, seed, equal_copies), random_part(X, rank, ~seed, equal_copies))
        .to(type);
  }
  int leader = equal_copies ? X.leader(rank, {Placement::Replicated, Placement::Copied})
                            : X.leader(rank, {Placement::Replicated});
  std::vector<std::int64_t> shape = X.local_shape(rank);
  std::vector<int> coordinates = X.partition().coordinates(leader);
  for (int dim = 0; equal_copies && dim < X.dims(); ++dim) {
    if (!X.copies(dim)) continue;
    shape[static_cast<std::size_t>(dim)] = X.shape()[static_cast<std::size_t>(dim)];
    coordinates[static_cast<std::size_t>(X.shards(dim).front().axis)] = 0;
  }
  leader = X.partition().rank_of(coordinates);
  at::Tensor part = random_numbers(shape, seed, leader);
  for (int dim = 0; equal_copies && dim < X.dims(); ++dim) {
    if (X.copies(dim)) part = held_of(part, X, dim, rank);
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
