// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/operator.h"

namespace riesz::testing {

/// Operators on a partition of p workers, on one axis, each with a mistake that code written by hand makes;
/// all right for p = 1. Each is a wrong adjoint, which the checks of an adjoint must see.

/// Copy, whose adjoint takes the mean of the gradients where it must add them: p times too small.
Operator mean_for_sum(const Partition& P);

/// AllGather to copies, whose adjoint keeps only the own copy's gradient: the other workers' copies are not
/// added.
Operator copies_not_added(const Partition& P);

/// AllGather that puts the workers' pieces together in reversed order, with the adjoint of the right order.
Operator ranks_reversed(const Partition& P);

/// Copy, whose adjoint is right, but has an adjoint that is another operator.
Operator adjoint_of_adjoint_differs(const Partition& P);

}  // namespace riesz::testing
