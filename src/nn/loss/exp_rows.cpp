// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/exp_rows.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/resolved.h"
#include "riesz/nn/kernels/lane_math.h"
#include "riesz/nn/kernels/rows.h"
#include "riesz/nn/kernels/stored.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz::detail {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// exp(x) of one number.
template <typename Team>
RIESZ_ROW float exp_of_one(float x) {
  typename Team::Numbers all = {}, y;
  all += x;
  exp_of(all, y);
  return y[0];
}

struct SumsSoFar {
  float greatest = kNone;
  double sum = 0, shifted = 0;
};

/// Adds the elements from `begin` to `end`, which fit the processor's nearest memory: they are read twice.
template <typename Team, typename Number>
RIESZ_ROW void add_block(const Number* x, std::int64_t begin, std::int64_t end, SumsSoFar& all) {
  using Numbers = typename Team::Numbers;
  constexpr std::int64_t kTerms = 8 * kLanesOf<Numbers>;
  Numbers most = {};
  most += kNone;
  Team::each(begin, end, [&](auto part) RIESZ_PART {
    Numbers a;
    part.load(x, a, kNone);
    most = a > most ? a : most;
  });
  const float greatest = Team::greatest(most);
  if (greatest > all.greatest) {
    if (begin > 0) {
      all.sum *= exp_of_one<Team>(all.greatest - greatest);
      all.shifted += static_cast<double>(begin) * (all.greatest - greatest);
    }
    all.greatest = greatest;
  }
  const float g = all.greatest == kNone ? 0 : all.greatest;
  for (std::int64_t at = begin; at < end; at += kTerms) {
    Numbers of_exp = {}, of_x = {};
    Team::each(at, std::min(end, at + kTerms), [&](auto part) RIESZ_PART {
      Numbers a, e;
      part.load(x, a, kNone);
      a -= g;
      exp_of(a, e);
      of_exp += e;
      part.load(x, a, g);
      of_x += a - g;
    });
    all.sum += Team::sum(of_exp), all.shifted += Team::sum(of_x);
  }
}

template <typename Number>
struct SumsOfRow {
  const Number* x;
  std::int64_t n;
  float *greatest, *sum, *shifted;

  template <typename Team>
  RIESZ_ROW void operator()(const Team& /*team*/, std::int64_t row) const {
    constexpr std::int64_t kBlock = 2048;
    SumsSoFar all;
    for (std::int64_t at = 0; at < n; at += kBlock)
      add_block<Team>(x + row * n, at, std::min(n, at + kBlock), all);
    greatest[row] = all.greatest;
    sum[row] = static_cast<float>(all.sum), shifted[row] = static_cast<float>(all.shifted);
  }
};

/// y may be x.
template <typename Number>
struct GradientOfRow {
  const Number* x;
  std::int64_t n;
  const float *g, *of_exp, *of_each, *of_target;
  const std::int64_t* target;
  Number* y;

  template <typename Team>
  RIESZ_ROW void operator()(const Team& /*team*/, std::int64_t row) const {
    using Numbers = typename Team::Numbers;
    const float greatest = g[row], a = of_exp[row], b = of_each[row], c = of_target[row];
    const auto gradient = [&](auto part, float more, Numbers& e) RIESZ_PART {
      Numbers of_x;
      part.load(x + row * n, of_x, greatest);
      of_x -= greatest;
      exp_of(of_x, e);
      e = e * a + (b + more);
    };
    const std::int64_t column = target[row];
    const RowPart<Numbers, false> one{column, 1};
    Numbers at_target = {};
    if (column >= 0) gradient(one, c, at_target);
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers e;
      gradient(part, 0, e);
      part.store(e, y + row * n);
    });
    if (column >= 0) one.store(at_target, y + row * n);
  }
};

RowSums sums_by_operators(const at::Tensor& rows) {
  const at::Tensor x = to_accumulation_type(rows);
  const std::int64_t n = x.size(0);
  const at::Tensor greatest = x.size(1) > 0
                                  ? at::amax(x, {1}, true)
                                  : at::full({n, 1}, -std::numeric_limits<double>::infinity(), x.options());
  const at::Tensor shifted =
      x.sub(greatest.masked_fill(greatest.eq(-std::numeric_limits<double>::infinity()), 0));
  return {greatest, at::sum(at::exp(shifted), {1}, true), at::sum(shifted, {1}, true)};
}

RowSums sums_in_memory(const at::Tensor& rows) {
  if (!stored_plainly(rows) || !rows.is_contiguous()) return sums_by_operators(rows);
  const std::int64_t n = rows.size(0), v = rows.size(1);
  const auto column = [&] { return at::empty({n, 1}, rows.options().dtype(at::kFloat)); };
  RowSums all{column(), column(), column()};
  float* const greatest = all.greatest.mutable_data_ptr<float>();
  float* const sum = all.sum.mutable_data_ptr<float>();
  float* const shifted = all.shifted.mutable_data_ptr<float>();
  for_stored(rows.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    for_each_row(n, v, SumsOfRow<Number>{rows.const_data_ptr<Number>(), v, greatest, sum, shifted});
  });
  return all;
}

const Dispatched<RowSums(const at::Tensor&)> sums_of_rows{sums_in_memory, sums_by_operators};

at::Tensor gradients_in_memory(const at::Tensor& rows, const RowFactors& factors, bool alone) {
  if (!stored_plainly(rows)) return row_gradients_by_operators(rows, factors);
  const auto floats = [](const at::Tensor& column) { return resolved(column.to(at::kFloat).contiguous()); };
  const at::Tensor g = floats(factors.g), of_exp = floats(factors.of_exp), of_each = floats(factors.of_each),
                   of_target = floats(factors.of_target), target = factors.target.contiguous();
  const at::Tensor result = alone ? rows : at::empty_like(rows);
  const std::int64_t v = rows.size(1);
  for_stored(rows.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    Number* const y = result.mutable_data_ptr<Number>();
    for_each_row(
        rows.size(0), v,
        GradientOfRow<Number>{rows.const_data_ptr<Number>(), v, g.const_data_ptr<float>(),
                              of_exp.const_data_ptr<float>(), of_each.const_data_ptr<float>(),
                              of_target.const_data_ptr<float>(), target.const_data_ptr<std::int64_t>(), y});
  });
  return result;
}

at::Tensor gradients_there(const at::Tensor& rows, const RowFactors& factors, bool /*alone*/) {
  return row_gradients_by_operators(rows, factors);
}

const Dispatched<at::Tensor(const at::Tensor&, const RowFactors&, bool)> gradients_of_rows{
    gradients_in_memory, gradients_there};

}  // namespace

RowSums row_sums(const at::Tensor& rows) { return sums_of_rows(rows.device(), rows); }

at::Tensor row_gradients_by_operators(const at::Tensor& rows, const RowFactors& factors) {
  at::Tensor y = at::exp(to_accumulation_type(rows).sub(factors.g)).mul(factors.of_exp).add(factors.of_each);
  if (rows.numel() > 0)
    y = y.scatter_add(1, factors.target.clamp_min(0), factors.of_target.masked_fill(factors.target.lt(0), 0));
  return y.to(rows.scalar_type());
}

at::Tensor row_gradients(const at::Tensor& rows, const RowFactors& factors, bool alone) {
  return gradients_of_rows(rows.device(), rows, factors, alone);
}

}  // namespace riesz::detail
