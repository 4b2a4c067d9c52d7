// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// Of local rows (…, n): a mean and a scale a row, (…, 1), and a weight and a bias a column, which broadcast.
/// The mean and the bias may be undefined, and are then zero.
struct Normalisation {
  at::Tensor mean, scale, weight, bias;
};

/// y = (x − mean)·scale·weight + bias, computed in at least fp32 and given in x's type: what a norm does when
/// it knows its rows' moments. Saves its operands for backward and nothing as large as x besides, where the
/// same by four of torch's operations saves x − mean and (x − mean)·scale too. Local. Differentiable.
at::Tensor normalised(const at::Tensor& x, const Normalisation& by);

/// Σ (x − mean)² over the last dim, in at least fp32: (…, n) and (…, 1) → (…). Saves its operands alone.
/// Local. Differentiable.
at::Tensor squared_deviations(const at::Tensor& x, const at::Tensor& mean);

}  // namespace riesz
