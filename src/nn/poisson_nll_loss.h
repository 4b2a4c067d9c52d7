// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/loss.h"

namespace riesz {

struct PoissonNllOptions {
  bool log_input = true;  ///< x is the logarithm of the rate, else the rate
  bool full = false;      ///< add log y! by Stirling's formula, where y > 1
  double epsilon = 1e-8;  ///< added to a rate whose logarithm is taken
};

/// Σ exp(x) − y·x over all elements, or with log_input = false Σ x − y·log(x + ε): −log of Poisson's
/// probability of the counts y. The mean is torch's PoissonNLLLoss. Placement, cost and errors are those of
/// `element_loss`.
Loss poisson_nll_loss(const Vector& x, const Vector& y, const PoissonNllOptions& options = {});

}  // namespace riesz
