// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// SendRecv: a space on P → the same on Q, which has the same axes with other workers, or in another order,
/// or lacks or adds axes of one worker. y_r = x_s for the worker s of P at r's coordinates. Adjoint: the
/// reverse. Cost: n_s elements in one message leave each worker s whose counterpart is another; nothing moves
/// where the workers are the same.
/// @throws Error naming both partitions unless P fits into Q and Q into P.
Step send_recv(const Space& X, const Partition& Q);

}  // namespace riesz::primitives
