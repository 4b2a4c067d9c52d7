// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/loss/loss.h"

namespace riesz {

// Placement, cost and errors of each are those of `element_loss`.

/// Σ |x − y| over all elements. The mean is torch's L1Loss.
Loss l1_loss(const Vector& x, const Vector& y);

/// Σ (x − y)² over all elements. The mean is torch's MSELoss.
Loss mse_loss(const Vector& x, const Vector& y);

/// Σ −(y·log p + (1 − y)·log(1 − p)) over all elements, with logarithms of at least −100: p, the
/// probabilities, and y, the targets, between 0 and 1. The mean is torch's BCELoss. Costs also an AllMax of
/// two elements over the axes that shard p.
/// @throws Error on every worker alike, naming the p outside [0, 1].
Loss bce_loss(const Vector& p, const Vector& y);

/// The same of p = 1/(1 + exp(−x)), which keeps the digits of large |x|. The mean is torch's
/// BCEWithLogitsLoss.
Loss bce_with_logits_loss(const Vector& x, const Vector& y);

/// Σ y·(log y − x) over all elements, of which y = 0 adds none: x, log-probabilities, and y, probabilities,
/// or with `log_target` their logarithms, Σ exp(y)·(y − x). The mean over all elements is torch's KLDivLoss;
/// the divergence is the sum divided by the number of distributions.
Loss kl_div_loss(const Vector& x, const Vector& y, bool log_target = false);

struct PoissonNllOptions {
  bool log_input = true;  ///< x is the logarithm of the rate, else the rate
  bool full = false;      ///< add log y! by Stirling's formula, where y > 1
  double epsilon = 1e-8;  ///< added to a rate whose logarithm is taken
};

/// Σ exp(x) − y·x over all elements, or with log_input = false Σ x − y·log(x + ε): −log of Poisson's
/// probability of the counts y. The mean is torch's PoissonNLLLoss.
Loss poisson_nll_loss(const Vector& x, const Vector& y, const PoissonNllOptions& options = {});

}  // namespace riesz
