// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/cells.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/io/draws.h"
#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kDark = 0.3, kNoise = 0.1;  // the background's grey, and the standard deviation of noise
constexpr double kMean = 0.35, kDeviation = 0.16;  // of all pixels, about

at::Tensor centres(const Interval& of) { return at::arange(of.begin, of.end, at::kDouble).add(0.5); }

}  // namespace

/// In pixels; a disc has two equal half-axes.
struct CellImages::Cell {
  std::int64_t label;
  double row, column, a, b, angle, grey;

  /// Of each pixel: is it inside?
  at::Tensor covers(const Interval& rows, const Interval& columns) const {
    const at::Tensor y = centres(rows).sub(row).unsqueeze(1), x = centres(columns).sub(column);
    const double c = std::cos(angle), s = std::sin(angle);
    const at::Tensor along = x.mul(c).add(y.mul(s)).div(a), across = y.mul(c).sub(x.mul(s)).div(b);
    return along.square().add(across.square()).le(1);
  }
};

CellImages::CellImages(std::int64_t size, std::uint64_t seed)
    : size_(size), seed_(seed), noise_(philox_key(seed, "noise of cells")) {
  RIESZ_CHECK(size >= 16, "CellImages: ", size, " x ", size, " pixels; cells need 16 x 16 at least");
}

std::vector<CellImages::Cell> CellImages::cells_of(std::int64_t number) const {
  Draws draws(seed_, "cells", static_cast<std::uint64_t>(number));
  const auto between = [&](double low, double high) { return low + (high - low) * draws.uniform(); };
  const auto n = static_cast<double>(size_);
  std::vector<Cell> cells(4 + draws.below(5));
  for (Cell& cell : cells) {
    cell.label = 1 + static_cast<std::int64_t>(draws.below(2));
    cell.row = between(0, n), cell.column = between(0, n);
    cell.a = n * (cell.label == 1 ? between(0.07, 0.12) : between(0.11, 0.17));
    cell.b = cell.label == 1 ? cell.a : cell.a * between(0.4, 0.55);
    cell.angle = between(0, kPi);
    cell.grey = between(0.5, 0.8);
  }
  return cells;
}

at::Tensor CellImages::pixels(const std::vector<std::int64_t>& numbers, const Interval& rows,
                              const Interval& columns) const {
  const auto images = static_cast<std::int64_t>(numbers.size());
  const at::Tensor all = at::empty({images, 1, rows.size(), columns.size()}, at::kFloat);
  for (std::int64_t i = 0; i < images; ++i) {
    const std::int64_t number = numbers[static_cast<std::size_t>(i)];
    Intervals places;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t first = (number * size_ + row) * size_;
      places.push_back({first + columns.begin, first + columns.end});
    }
    const at::Tensor noise = normal(places, noise_).view({rows.size(), columns.size()});
    at::Tensor grey = at::empty({rows.size(), columns.size()}, at::kDouble).fill_(kDark);
    for (const Cell& cell : cells_of(number)) grey.masked_fill_(cell.covers(rows, columns), cell.grey);
    all.select(0, i).select(0, 0).copy_(noise.mul(kNoise).add(grey).sub(kMean).div(kDeviation));
  }
  return all;
}

at::Tensor CellImages::label_maps(const std::vector<std::int64_t>& numbers, const Interval& rows,
                                  const Interval& columns) const {
  const auto images = static_cast<std::int64_t>(numbers.size());
  const at::Tensor all = at::empty({images, rows.size(), columns.size()}, at::kLong).fill_(0);
  for (std::int64_t i = 0; i < images; ++i) {
    at::Tensor labels = all.select(0, i);
    for (const Cell& cell : cells_of(numbers[static_cast<std::size_t>(i)]))
      labels.masked_fill_(cell.covers(rows, columns), cell.label);
  }
  return all;
}

}  // namespace riesz
