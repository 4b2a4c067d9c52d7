// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/safetensors/tensor_sums.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace riesz {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{1} << 18;

void each_piece(std::int64_t n, const std::function<void(const Interval&)>& f) {
  for (std::int64_t begin = 0; begin < n; begin += kAtOnce) f({begin, std::min(begin + kAtOnce, n)});
}

/// Elements as fp64, flat.
at::Tensor doubles(const StoredTensors& files, const StoredTensor& tensor, const Interval& piece) {
  const bool complex = at::isComplexType(tensor.type);
  const at::Tensor x = at::empty({piece.size()}, complex ? tensor.type : at::kDouble);
  files.read(tensor.name, {piece}, x);
  return complex ? at::view_as_real(x).reshape({-1}).to(at::kDouble) : x;
}

/// Integers as the format has them, flat, in int64; one of 64 bits without a sign keeps its bits.
at::Tensor elements(const StoredTensors& files, const StoredTensor& tensor, const Interval& piece) {
  const bool as_it_is = tensor.type == at::kUInt64;
  const at::Tensor x = at::empty({piece.size()}, as_it_is ? tensor.type : at::kLong);
  files.read(tensor.name, {piece}, x);
  return as_it_is ? x.view(at::kLong) : x;
}

void add_whole(TensorDifference& difference, const at::Tensor& one, const at::Tensor& other, bool with_sign) {
  const auto* x = one.const_data_ptr<std::int64_t>();
  const auto* y = other.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < one.numel(); ++i) {
    if (x[i] == y[i]) continue;
    ++difference.elements;
    const auto u = static_cast<std::uint64_t>(x[i]), v = static_cast<std::uint64_t>(y[i]);
    const std::uint64_t apart = (with_sign ? x[i] > y[i] : u > v) ? u - v : v - u;
    difference.greatest = std::max(difference.greatest, static_cast<double>(apart));
  }
}

void add(TensorDifference& difference, const at::Tensor& one, const at::Tensor& other) {
  const auto* x = one.const_data_ptr<double>();
  const auto* y = other.const_data_ptr<double>();
  for (std::int64_t i = 0; i < one.numel(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    ++difference.elements;
    const double apart = std::abs(x[i] - y[i]);
    if (std::isfinite(x[i]) && std::isfinite(y[i]))
      difference.greatest = std::max(difference.greatest, apart);
    else
      ++difference.not_finite;
  }
}

}  // namespace

TensorSums sums_of(const StoredTensors& files, const StoredTensor& tensor) {
  TensorSums sums;
  each_piece(tensor.numel(), [&](const Interval& piece) {
    const at::Tensor all = doubles(files, tensor, piece);
    const auto* x = all.const_data_ptr<double>();
    for (std::int64_t i = 0; i < all.numel(); ++i) {
      if (!std::isfinite(x[i])) {
        ++sums.not_finite;
        continue;
      }
      sums.sum += x[i];
      sums.greatest = std::max(sums.greatest, std::abs(x[i]));
    }
  });
  return sums;
}

TensorDifference difference_of(const StoredTensors& a, const StoredTensors& b, const StoredTensor& tensor) {
  TensorDifference difference;
  const bool whole = at::isIntegralType(tensor.type, /*includeBool=*/true);
  each_piece(tensor.numel(), [&](const Interval& piece) {
    if (whole)
      add_whole(difference, elements(a, tensor, piece), elements(b, tensor, piece),
                tensor.type != at::kUInt64);
    else
      add(difference, doubles(a, tensor, piece), doubles(b, tensor, piece));
  });
  return difference;
}

}  // namespace riesz
