// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/loss.h"

namespace riesz {

// Placement, cost and errors of both are those of `element_loss`.

/// Σ |x − y| over all elements. The mean is torch's L1Loss.
Loss l1_loss(const Vector& x, const Vector& y);

/// Σ (x − y)² over all elements. The mean is torch's MSELoss.
Loss mse_loss(const Vector& x, const Vector& y);

}  // namespace riesz
