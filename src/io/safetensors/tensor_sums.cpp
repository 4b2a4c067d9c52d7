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
  each_piece(tensor.numel(), [&](const Interval& piece) {
    const at::Tensor one = doubles(a, tensor, piece), other = doubles(b, tensor, piece);
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
  });
  return difference;
}

}  // namespace riesz
