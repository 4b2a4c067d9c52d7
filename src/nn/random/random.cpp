// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/random.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "riesz/nn/random/philox.h"

namespace riesz {
namespace {

/// The global indices that are held, in local order.
std::vector<std::int64_t> indices(const Intervals& held) {
  std::vector<std::int64_t> all;
  for (const Interval& interval : held) {
    for (std::int64_t i = interval.begin; i < interval.end; ++i) all.push_back(i);
  }
  return all;
}

/// Calls visit(first global index, count, first local index) for each run of the boxes that is contiguous in
/// the global row-major order, in local order.
template <typename Visit>
void for_each_run(const std::vector<std::int64_t>& shape, const Boxes& boxes, const Visit& visit) {
  const std::int64_t elements = volume(boxes);
  if (elements == 0) return;
  if (boxes.empty()) return visit(0, 1, 0);
  const std::size_t last = boxes.size() - 1;
  std::vector<std::vector<std::int64_t>> rows;  // by dim but the last
  for (std::size_t dim = 0; dim < last; ++dim) rows.push_back(indices(boxes[dim]));
  std::vector<std::size_t> at(last, 0);
  for (std::int64_t local = 0; local < elements;) {
    std::int64_t row = 0;
    for (std::size_t dim = 0; dim < last; ++dim) row = row * shape[dim] + rows[dim][at[dim]];
    for (const Interval& run : boxes[last]) {
      visit(row * shape[last] + run.begin, run.size(), local);
      local += run.size();
    }
    for (std::size_t dim = last; dim-- > 0;) {  // the next row: count up all dims but the last
      if (++at[dim] < rows[dim].size()) break;
      at[dim] = 0;
    }
  }
}

/// What this worker holds: nothing outside the partition.
Boxes boxes_here(const Space& X) {
  return X.partition().active() ? X.boxes(X.partition().rank()) : Boxes{Intervals{}};
}

std::vector<std::int64_t> sizes_of(const Boxes& boxes) {
  std::vector<std::int64_t> sizes;
  for (const Intervals& held : boxes) sizes.push_back(total(held));
  return sizes;
}

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

/// Calls set(local index, block's value for it) for every element; element i has lane i mod 4 of block i
/// div 4.
template <typename Draw, typename Set>
void draw_each(const std::vector<std::int64_t>& shape, const Boxes& boxes, const Draw& draw, const Set& set) {
  for_each_run(shape, boxes, [&](std::int64_t global, std::int64_t count, std::int64_t local) {
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
      X.shape(), boxes_here(X), [key](std::uint64_t block) { return normals(philox(key, block)); },
      [data](std::int64_t i, double draw) { data[i] = draw; });
  return part;
}

at::Tensor uniform(const Space& X, std::uint64_t key) {
  at::Tensor part = at::empty(X.local_shape(), at::kDouble);
  double* data = part.data_ptr<double>();
  draw_each(
      X.shape(), boxes_here(X), [key](std::uint64_t block) { return philox(key, block); },
      [data](std::int64_t i, std::uint32_t word) { data[i] = between_0_and_1(word); });
  return part;
}

at::Tensor dropout_mask(const std::vector<std::int64_t>& shape, const Boxes& boxes, std::uint64_t key,
                        std::uint64_t step, double p, const at::TensorOptions& options) {
  at::Tensor mask = at::empty(sizes_of(boxes), at::kFloat);
  float* data = mask.data_ptr<float>();
  const auto threshold = static_cast<std::uint64_t>(p * 0x1p32);
  draw_each(
      shape, boxes, [key, step](std::uint64_t block) { return philox(key, block, step); },
      [data, threshold](std::int64_t i, std::uint32_t word) { data[i] = word < threshold ? 0.0F : 1.0F; });
  return mask.to(options).mul_(1 / (1 - p));
}

at::Tensor dropout_mask(const Space& X, std::uint64_t key, std::uint64_t step, double p,
                        const at::TensorOptions& options) {
  return dropout_mask(X.shape(), boxes_here(X), key, step, p, options);
}

}  // namespace riesz
