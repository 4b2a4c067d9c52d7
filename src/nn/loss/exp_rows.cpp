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

#include <cstdint>
#include <limits>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/resolved.h"
#include "riesz/nn/kernels/compute_rows.h"
#include "riesz/nn/kernels/stored.h"
#include "riesz/nn/loss/exp_of_row.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz::detail {
namespace {

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

RowSums sums_by_rows(const at::Tensor& rows) {
  if (!of_stored_type(rows) || !rows.is_contiguous()) return sums_by_operators(rows);
  const std::int64_t n = rows.size(0), v = rows.size(1);
  const auto column = [&] { return at::empty({n, 1}, rows.options().dtype(at::kFloat)); };
  RowSums all{column(), column(), column()};
  float* const greatest = all.greatest.mutable_data_ptr<float>();
  float* const sum = all.sum.mutable_data_ptr<float>();
  float* const shifted = all.shifted.mutable_data_ptr<float>();
  for_stored(rows.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    compute_rows(rows.device(), n, v, SumsOfRow<Number>{numbers_of<Number>(rows), v, greatest, sum, shifted});
  });
  return all;
}

/// Has a device's library the kernels?
bool has_exp_rows(at::Device device) { return has_kernel<SumsOfRow<float>>(device); }

RowSums sums_there(const at::Tensor& rows) {
  return has_exp_rows(rows.device()) ? sums_by_rows(rows) : sums_by_operators(rows);
}

const Dispatched<RowSums(const at::Tensor&)> sums_of_rows{sums_by_rows, sums_there};

at::Tensor gradients_by_rows(const at::Tensor& rows, const RowFactors& factors, bool alone) {
  if (!of_stored_type(rows)) return row_gradients_by_operators(rows, factors);
  const auto floats = [](const at::Tensor& column) { return resolved(column.to(at::kFloat).contiguous()); };
  const at::Tensor g = floats(factors.g), of_exp = floats(factors.of_exp), of_each = floats(factors.of_each),
                   of_target = floats(factors.of_target), target = factors.target.contiguous();
  const at::Tensor result = alone ? rows : at::empty_like(rows);
  const std::int64_t v = rows.size(1);
  for_stored(rows.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    Number* const y = numbers_to<Number>(result);
    compute_rows(
        rows.device(), rows.size(0), v,
        GradientOfRow<Number>{numbers_of<Number>(rows), v, g.const_data_ptr<float>(),
                              of_exp.const_data_ptr<float>(), of_each.const_data_ptr<float>(),
                              of_target.const_data_ptr<float>(), target.const_data_ptr<std::int64_t>(), y});
  });
  return result;
}

at::Tensor gradients_there(const at::Tensor& rows, const RowFactors& factors, bool alone) {
  return has_exp_rows(rows.device()) ? gradients_by_rows(rows, factors, alone)
                                     : row_gradients_by_operators(rows, factors);
}

const Dispatched<at::Tensor(const at::Tensor&, const RowFactors&, bool)> gradients_of_rows{gradients_by_rows,
                                                                                           gradients_there};

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
