// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/loss/loss.h"

namespace riesz {

/// Σ ‖x_b − y_b‖/‖y_b‖ over the rows b of the first dim, with the norm of all their elements; counted are the
/// rows. The mean is the relative error by which neural operators are trained (Li et al., 2010.08895). x and
/// y are in one space; computed in fp32 at least. A row with x = y has a gradient of 0. Cost: two AllReduces
/// of a number for each row, over the axes that shard other dims; and one of one element, over the axes that
/// shard rows. Backward moves nothing.
/// @pre no row of y is 0. @throws Error naming both spaces unless they are one.
Loss relative_error(const Vector& x, const Vector& y);

}  // namespace riesz
