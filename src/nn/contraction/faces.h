// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

#include "riesz/nn/contraction/plan.h"

namespace riesz::detail {

/// The three operands of a contraction, of which those that are computed stay undefined.
using Operands = std::array<at::Tensor, 3>;

/// A face to which others add before one of them writes it.
struct SharedFace {
  at::Tensor sum;  ///< of those before, and then of this one too, in the computing space; undefined: none yet
  bool write = true;  ///< is this the last?
};

/// The faces `wanted`, one or two operands: reads the others that they need, each once, multiplies locally,
/// and writes by the adjoint of their own reads. In panels if the plan streams: the next one comes while this
/// one is multiplied. `stored`: as given, on this worker. `gathered`: operands that are there as read; what
/// is read whole is put there. `shared_x`: the face of x is one of several that are written together; what is
/// not written yet is undefined among the results. Collective over the plan's partitions. Records no
/// gradient.
///
/// With a compute type operands are cast before they are read, and products are of that type. A face has the
/// type in which its operand is stored (of ȳ where that is not given: the plan's result type). A type wider
/// than the compute type is taken before the face is written.
Operands faces(const ContractionPlan& plan, const std::vector<std::size_t>& wanted, const Operands& stored,
               Operands& gathered, SharedFace* shared_x = nullptr);

}  // namespace riesz::detail
