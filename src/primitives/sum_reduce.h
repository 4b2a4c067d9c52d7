// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// SumReduce: Partial on the axes that the partition P has more than Y's → Y. y_r = Σ x_s over the workers s of P at
/// r's coordinates, in P's rank order (bf16 and fp16 in fp32).
/// Adjoint: Broadcast. Cost: n elements and one message leave each worker of P for another: (p − 1)·n in all where a
/// root is one of its p senders, else p·n.
/// @throws Error naming both partitions unless Y's fits into P.
Step sum_reduce(const Space& Y, const Partition& P);

}  // namespace riesz::primitives
