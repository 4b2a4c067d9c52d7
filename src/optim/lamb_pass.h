// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// A step of LAMB by element: u = first_scale·m/(second_scale·√v + ε) + λ·w. In step t the scales undo that m
/// and v began at 0.
struct LambElements {
  at::Tensor value;
  at::Tensor first;     ///< m
  at::Tensor second;    ///< v
  double first_scale;   ///< 1/(1 − β₁ᵗ)
  double second_scale;  ///< 1/√(1 − β₂ᵗ)
  double epsilon;
  double weight_decay;
};

/// Sums of squares, in fp64.
struct LambSquares {
  double value = 0;
  double direction = 0;
};

/// m ← β₁·m + (1 − β₁)·g and v ← β₂·v + (1 − β₂)·g²; returns Σ w² and Σ u². It is one pass over flat tensors
/// of the host, in LibTorch's threads. The order of the sums depends on the size alone, and an element's bits
/// on the element alone.
LambSquares lamb_moments(const LambElements& of, const at::Tensor& gradient, double beta1, double beta2);

/// w ← w − step·u, in one pass.
void lamb_apply(const LambElements& of, double step);

}  // namespace riesz
