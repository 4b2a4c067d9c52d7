// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

#include "riesz/nn/contraction/plan.h"

namespace riesz::detail {

/// The three operands of a contraction; those to be computed are undefined.
using Operands = std::array<at::Tensor, 3>;

/// A face to which others add before one of them writes it.
struct SharedFace {
  at::Tensor sum;  ///< of those before, and then of this one too, in the computing space; undefined: none yet
  bool write = true;  ///< is this the last?
};

/// Computes the faces `wanted`, one or two operands. It reads the other operands that they need, each once,
/// multiplies locally, and writes each face by the adjoint of its own read. If the plan streams, it does so
/// in panels: the next one comes while this one is multiplied. `stored` has the operands as given on this
/// worker. `gathered` has operands as read; an operand that is read whole is put there. With `shared_x` the
/// face of x is one of several that are written together; it is undefined among the results until then.
/// If `wanted` is {w, x}, there is no `shared_x` and the plan does not stream, x is freed before its gradient
/// is made. Collective over the plan's
/// partitions. Records no gradient.
///
/// With a compute type operands are cast before they are read, and products are of that type. A face has the
/// type in which its operand is stored (of ȳ where that is not given: the plan's result type). A type wider
/// than the compute type is taken before the face is written.
Operands faces(const ContractionPlan& plan, const std::vector<std::size_t>& wanted, Operands stored,
               Operands& gathered, SharedFace* shared_x = nullptr);

}  // namespace riesz::detail
