// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// Adds the gradients of a loss to .grad of every leaf that requires them. The loss is a scalar, Replicated
/// on every axis. The seed is 1, never 1/p, on every worker of its partition. Collective over all workers
/// that took part in the current Chain, which starts anew.
/// @throws Error outside a Chain. @throws Error naming the missing operator if the loss is no Replicated
/// scalar, or is a constant (`Vector::is_constant`), on all workers alike.
void backward(const Vector& loss);

/// The same for any vectors y in Y, each with a gradient ȳ in Y*. Adds Σ ȳ ∂y/∂x, in X*, to .grad of every
/// leaf x that requires a gradient. So `backward(loss)` is `backward(loss, 1)`. A y that is not recorded on a
/// worker adds nothing there, and its ȳ is not read; what communicates is reached all the same. It is one
/// pass for all of them: a computation that several y have in common goes back once. The chain starts anew.
/// @throws Error outside a Chain; unless there is one ȳ for each y and one y at least; naming both spaces
/// unless ȳ is in Y*.
void backward(const Vector& y, const Vector& ybar);
void backward(const std::vector<Vector>& ys, const std::vector<Vector>& ybars);

/// The pull-back of ȳ in Y* along the recorded map from each x to y: gradients in X*, in the order of
/// `inputs`; zero where y does not depend on x. With `create_graph` they are differentiable again, in the
/// same Chain, which goes on; without, it starts anew. Collective like `backward`. @throws Error naming both
/// spaces unless ȳ is in Y*; outside a Chain.
std::vector<Vector> pullback(const Vector& y, const Vector& ybar, const std::vector<Vector>& inputs,
                             bool create_graph = false);

/// The gradient that `backward` left at a leaf x in X: a vector of X*, zero if none reached it. Local.
/// @throws Error on every worker alike if x requires no gradient, or was computed and does not retain its
/// gradient (`retain_grad`): there `backward` leaves none.
Vector gradient(const Vector& x);

}  // namespace riesz
