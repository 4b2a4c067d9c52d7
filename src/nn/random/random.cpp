// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/random.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cmath>
#include <numbers>

#include "riesz/nn/random/draw_each.h"

namespace riesz {
namespace {

double between_0_and_1(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

std::array<double, 4> normals(const std::array<std::uint32_t, 4>& words) {
  std::array<double, 4> draws{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double u = between_0_and_1(words[pair]);
    const double angle = 2 * std::numbers::pi * static_cast<double>(words[pair + 1]) * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(u));
    draws[pair] = radius * std::cos(angle);
    draws[pair + 1] = radius * std::sin(angle);
  }
  return draws;
}

}  // namespace

at::Tensor normal(const Space& X, std::uint64_t key) {
  at::Tensor part = at::empty(X.local_shape(), at::kDouble);
  double* data = part.data_ptr<double>();
  detail::draw_each(
      X.shape(), detail::boxes_here(X), [key](std::uint64_t block) { return normals(philox(key, block)); },
      [data](std::int64_t i, double draw) { data[i] = draw; });
  return part;
}

at::Tensor uniform(const Space& X, std::uint64_t key) {
  at::Tensor part = at::empty(X.local_shape(), at::kDouble);
  double* data = part.data_ptr<double>();
  detail::draw_each(
      X.shape(), detail::boxes_here(X), [key](std::uint64_t block) { return philox(key, block); },
      [data](std::int64_t i, std::uint32_t word) { data[i] = between_0_and_1(word); });
  return part;
}

}  // namespace riesz
