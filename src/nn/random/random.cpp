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

std::array<double, 4> uniforms(const std::array<std::uint32_t, 4>& words) {
  std::array<double, 4> draws{};
  for (std::size_t lane = 0; lane < 4; ++lane) draws[lane] = between_0_and_1(words[lane]);
  return draws;
}

template <typename Draw>
at::Tensor drawn(const std::vector<std::int64_t>& shape, const Boxes& boxes,
                 const std::vector<std::int64_t>& local_shape, const Draw& draw) {
  at::Tensor part = at::empty(local_shape, at::kDouble);
  double* data = part.data_ptr<double>();
  detail::draw_each(shape, boxes, draw, [data](std::int64_t i, double value) { data[i] = value; });
  return part;
}

}  // namespace

at::Tensor normal(const Space& X, std::uint64_t key) {
  return drawn(X.shape(), detail::boxes_here(X), X.local_shape(),
               [key](std::uint64_t block) { return normals(philox(key, block)); });
}

at::Tensor uniform(const Space& X, std::uint64_t key) {
  return drawn(X.shape(), detail::boxes_here(X), X.local_shape(),
               [key](std::uint64_t block) { return uniforms(philox(key, block)); });
}

at::Tensor normal(const Intervals& indices, std::uint64_t key) {
  return drawn({total(indices)}, {indices}, {total(indices)},
               [key](std::uint64_t block) { return normals(philox(key, block)); });
}

at::Tensor uniform(const Intervals& indices, std::uint64_t key) {
  return drawn({total(indices)}, {indices}, {total(indices)},
               [key](std::uint64_t block) { return uniforms(philox(key, block)); });
}

}  // namespace riesz
