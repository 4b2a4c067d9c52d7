// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

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

/// The terms of rows (…, v), `greatest` (…), a constant in derivatives. Differentiable in x, again and again.
/// No sum is in one order, which loses the small terms of a vocabulary beside a great one. Saves x; where
/// `is_exp_rows` holds it makes nothing else of x's size, and backward the gradient alone.
RowTerms row_terms(const at::Tensor& x, const at::Tensor& greatest, const WantedTargets& wanted,
                   const Intervals& held);

}  // namespace riesz::detail
