// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "riesz/partition/vector.h"

namespace riesz {

class Module;

// Values by which a model's own code branches, where its stages lie on different workers: all of these know
// them, and so take the same branch.

/// The global tensor of a vector x that some stage has computed. If the model is placed, the workers of all
/// its stages get it, else those of x. Without gradient. Collective over all who get it; each waits until x
/// is computed.
///
///     while (known_everywhere(*this, norm_of(x)).item<double>() > 1) x = part_(x);
at::Tensor known_everywhere(const Module& model, const Vector& x);

/// Gives the text of the first worker of a stage to the workers of all stages. The argument of other workers
/// is not read; they need not know its length. As collective as the function above.
std::string known_everywhere(const Module& model, int stage, const std::string& text);

}  // namespace riesz
