// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Adafactor's step on a device: the same sums by LibTorch's operations, without a number that the host reads.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "riesz/optim/adafactor.h"
#include "riesz/optim/global_sums.h"

namespace riesz {
namespace {

at::Tensor in_rows(const at::Tensor& flat, const LineBlock& block) {
  return flat.narrow(0, block.at, block.rows * block.columns).view({block.rows, block.columns});
}

/// Adds Σ g² of each row and column. Some rows at once: they are there in fp64 for a moment.
void add_squares(const Share& share, const Matrices& shape, const at::Tensor& rows,
                 const at::Tensor& columns) {
  constexpr std::int64_t at_once = 1 << 22;
  for (const LineBlock& block : blocks(share, shape)) {
    const at::Tensor all = in_rows(share.gradient, block);
    const std::int64_t some = std::max<std::int64_t>(1, at_once / block.columns);
    for (std::int64_t begin = 0; begin < block.rows; begin += some) {
      const std::int64_t n = std::min(some, block.rows - begin);
      const at::Tensor squares = all.narrow(0, begin, n).to(at::kDouble).square();
      rows.narrow(0, block.row + begin, n).add_(squares.sum(1));
      columns.narrow(0, block.column, block.columns).add_(squares.sum(0));
    }
  }
}

at::Tensor root_mean_square(const at::Tensor& sum, std::int64_t n) {
  return sum.sqrt().div(std::sqrt(static_cast<double>(n)));
}

at::Tensor mean(const at::Tensor& sum, const at::Tensor& like, std::int64_t n) {
  return sum.div(static_cast<double>(n)).to(like.scalar_type()).view(like.sizes());
}

}  // namespace

at::Tensor Adafactor::estimate_there(const Share& share, const Matrices& shape, const at::Tensor& rows,
                                     const at::Tensor& columns, const at::Tensor& mean) {
  at::Tensor result = at::empty_like(share.value);
  const at::Tensor row = rows.view({-1, 1});
  const at::Tensor column = columns.view({-1});
  for (const LineBlock& block : blocks(share, shape)) {
    in_rows(result, block)
        .copy_(row.narrow(0, block.row, block.rows)
                   .mul(column.narrow(0, block.column, block.columns))
                   .div_(mean[block.row / shape.rows]));
  }
  return result;
}

void Adafactor::move_there(const std::vector<Share>& shares, const std::vector<std::int64_t>& begins) {
  const std::vector<std::size_t> firsts = places_of_sums(extents());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (const auto& f = factors_[i]) {
      const std::int64_t first = begins[firsts[i]] + 1;
      const std::int64_t middle = first + f->rows.numel();
      const at::Tensor rows = mean(sums_.slice(0, first, middle), f->rows, f->shape.columns);
      const at::Tensor columns =
          mean(sums_.slice(0, middle, middle + f->columns.numel()), f->columns, f->shape.rows);
      write(f->rows, f->rows.lerp(rows, weight()));
      write(f->columns, f->columns.lerp(columns, weight()));
    } else {
      const at::Tensor variance = variance_.of(i);
      write(variance, variance.lerp(shares[i].gradient.square(), weight()));
    }
  }
}

at::Tensor Adafactor::direction_there(const Share& share, std::size_t i) const {
  const double epsilon = epsilon1(i);
  const auto& f = factors_[i];
  at::Tensor v = f ? estimate_there(share, f->shape, f->rows, f->columns, f->rows.mean(1).clamp_min_(epsilon))
                   : variance_.of(i).clone();
  return v.clamp_min_(epsilon * epsilon).rsqrt_().mul_(share.gradient);
}

void Adafactor::prepare_there(const std::vector<Share>& shares) {
  const std::vector<std::int64_t> begins = begins_of_sums();
  const auto numbers = finite().options().dtype(at::kDouble);
  sums_ = at::zeros({begins.back()}, numbers);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!shares[i].counted) continue;
    sums_[begins[i]].copy_(sum_of_squares_there(shares[i].value));
    const auto& f = factors_[i];
    if (!f) continue;
    const std::int64_t middle = begins[i] + 1 + f->rows.numel();
    add_squares(shares[i], f->shape, sums_.slice(0, begins[i] + 1, middle),
                sums_.slice(0, middle, middle + f->columns.numel()));
  }
  sums_ = global_sums(store()->partition(), sums_);
  move_there(shares, begins);
  std::vector<at::Tensor> squares;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    squares.push_back(shares[i].counted ? sum_of_squares_there(direction_there(shares[i], i))
                                        : at::zeros({}, numbers));
  }
  squares_there_ = global_sums(store()->partition(), at::stack(squares));
}

void Adafactor::update_there(const std::vector<Share>& shares, const StorePart& part) {
  const std::vector<std::int64_t> begins = begins_of_sums();
  const std::vector<std::size_t> firsts = places_of_sums(extents());
  for (std::size_t i = part.first; i < part.last; ++i) {
    const Setting s = setting(i);
    const std::int64_t n = shares[i].parameter.numel();
    const double rate = std::min(s.learning_rate, 1 / std::sqrt(static_cast<double>(steps())));
    const at::Tensor size = root_mean_square(sums_[begins[firsts[i]]], n).clamp_min(options_.epsilon2);
    const at::Tensor excess = root_mean_square(squares_there_[static_cast<std::int64_t>(firsts[i])], n)
                                  .div(options_.clip)
                                  .clamp_min(1);
    const at::Tensor step = size.mul(rate).div(excess);
    const at::Tensor& value = shares[i].value;
    const at::Tensor decayed = s.weight_decay == 0 ? value : value.mul(1 - s.learning_rate * s.weight_decay);
    write(value, decayed.sub(direction_there(shares[i], i).mul_(step)));
  }
}

}  // namespace riesz
