// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "riesz/nn/loss/exp_rows.h"
#include "riesz/partition/interval.h"

namespace riesz::detail {

/// What cross-entropy takes of each row of logits x, relative to a number g of the row; of the part of the
/// vocabulary that this worker holds.
struct RowTerms {
  at::Tensor sum;     ///< Σ exp(x − g)
  at::Tensor wanted;  ///< Σ w·(x − g), w the wanted distribution: (1 − s)·[target] + s/V
};

/// The target of each row, a label smoothing s, and V, the whole vocabulary.
struct WantedTargets {
  at::Tensor targets;
  double smoothing = 0;
  std::int64_t vocabulary = 0;
};

/// `row_sums` of rows (…, v), each (…). No gradient is recorded.
RowSums sums_of_last_dim(const at::Tensor& x);

/// The terms of rows (…, v), in at least fp32, relative to g (…), from the rows' `sums`. Derivatives treat
/// `sums` and g as constants. Differentiable in x, again and again. It saves x as given, and g. Where the row
/// kernels compute, backward makes the gradient alone, in x's own memory if nobody else can reach it.
RowTerms row_terms(const at::Tensor& x, const RowSums& sums, const at::Tensor& g, const WantedTargets& wanted,
                   const Intervals& held);

}  // namespace riesz::detail
