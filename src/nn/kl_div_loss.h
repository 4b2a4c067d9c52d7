// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/loss.h"

namespace riesz {

/// Σ y·(log y − x) over all elements, of which y = 0 adds none: x, log-probabilities, and y, probabilities,
/// or with `log_target` their logarithms, Σ exp(y)·(y − x). The mean over all elements is torch's KLDivLoss;
/// the divergence is the sum divided by the number of distributions. Placement, cost and errors are those of
/// `element_loss`.
Loss kl_div_loss(const Vector& x, const Vector& y, bool log_target = false);

}  // namespace riesz
