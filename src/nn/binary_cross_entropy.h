// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/loss.h"

namespace riesz {

// Placement, cost and errors of both are those of `element_loss`.

/// Σ −(y·log p + (1 − y)·log(1 − p)) over all elements, with logarithms of at least −100: p, the
/// probabilities, and y, the targets, between 0 and 1. The mean is torch's BCELoss. Costs also an AllMax of
/// two elements over the axes that shard p.
/// @throws Error on every worker alike, naming the p outside [0, 1].
Loss bce_loss(const Vector& p, const Vector& y);

/// The same of p = 1/(1 + exp(−x)), which keeps the digits of large |x|. The mean is torch's
/// BCEWithLogitsLoss.
Loss bce_with_logits_loss(const Vector& x, const Vector& y);

}  // namespace riesz
