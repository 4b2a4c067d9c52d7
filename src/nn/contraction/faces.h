// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

#include "riesz/nn/contraction/plan.h"

namespace riesz {

/// The three operands of a contraction, of which those that are computed stay undefined.
using Operands = std::array<at::Tensor, 3>;

/// The faces `wanted`, one or two operands: reads the others that they need, each once, multiplies locally,
/// and writes by the adjoint of their own reads. In panels if the plan streams: the next one comes while this
/// one is multiplied. `stored`: as given, on this worker. `gathered`: operands that are there as read; what
/// is read whole is put there. Collective over the plan's partitions. Records no gradient.
Operands faces(const ContractionPlan& plan, const std::vector<std::size_t>& wanted, const Operands& stored,
               Operands& gathered);

}  // namespace riesz
