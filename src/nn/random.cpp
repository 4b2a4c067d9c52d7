// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cmath>
#include <numbers>

#include "riesz/nn/philox.h"

namespace riesz {
namespace {

/// Calls visit(first global index, count, first local index) for each run of a box that is contiguous in the global
/// row-major order.
template <typename Visit>
void for_each_run(const Space& X, const Visit& visit) {
  if (!X.partition().active()) return;
  const Box box = X.box(X.partition().rank());
  const std::int64_t elements = volume(box);
  if (elements == 0) return;
  const std::size_t dims = box.size();
  const std::int64_t count = dims == 0 ? 1 : box.back().size();
  std::vector<std::int64_t> at(dims, 0);
  for (std::int64_t local = 0; local < elements; local += count) {
    std::int64_t global = 0;
    for (std::size_t dim = 0; dim < dims; ++dim) global = global * X.shape()[dim] + box[dim].begin + at[dim];
    visit(global, count, local);
    for (std::size_t dim = dims; dim-- > 1;) {  // the next row: count up all dims but the last
      if (++at[dim - 1] < box[dim - 1].size()) break;
      at[dim - 1] = 0;
    }
  }
}

std::array<double, 4> normals(const std::array<std::uint32_t, 4>& words) {
  std::array<double, 4> draws{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double u = (static_cast<double>(words[pair]) + 0.5) * 0x1p-32;
    const double angle = 2 * std::numbers::pi * static_cast<double>(words[pair + 1]) * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(u));
    draws[pair] = radius * std::cos(angle);
    draws[pair + 1] = radius * std::sin(angle);
  }
  return draws;
}

/// Calls set(local index, block's value for it) for every element; element i has lane i mod 4 of block i div 4.
template <typename Draw, typename Set>
void draw_each(const Space& X, const Draw& draw, const Set& set) {
  for_each_run(X, [&](std::int64_t global, std::int64_t count, std::int64_t local) {
    std::int64_t i = 0;
    while (i < count) {
      const auto block = draw(static_cast<std::uint64_t>(global + i) / 4);
      for (auto lane = static_cast<std::size_t>((global + i) % 4); lane < 4 && i < count; ++lane, ++i) {
        set(local + i, block[lane]);
      }
    }
  });
}

}  // namespace

at::Tensor normal(const Space& X, std::uint64_t key) {
  at::Tensor part = at::empty(X.local_shape(), at::kDouble);
  double* data = part.data_ptr<double>();
  draw_each(
      X, [key](std::uint64_t block) { return normals(philox(key, block)); },
      [data](std::int64_t i, double draw) { data[i] = draw; });
  return part;
}

at::Tensor dropout_mask(const Space& X, std::uint64_t key, std::uint64_t step, double p,
                        const at::TensorOptions& options) {
  at::Tensor mask = at::empty(X.local_shape(), at::kFloat);
  float* data = mask.data_ptr<float>();
  const auto threshold = static_cast<std::uint64_t>(p * 0x1p32);
  draw_each(
      X, [key, step](std::uint64_t block) { return philox(key, block, step); },
      [data, threshold](std::int64_t i, std::uint32_t word) { data[i] = word < threshold ? 0.0F : 1.0F; });
  return mask.to(options).mul_(1 / (1 - p));
}

}  // namespace riesz
