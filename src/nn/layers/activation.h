// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/vector.h"

namespace riesz {

// Each is point-wise, from x's space to itself, local, and differentiable. @throws Error on a Partial vector:
// a function of a sum is not the sum of the function.

/// GPT-2's gelu: x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks and Gimpel, 1606.08415).
Vector gelu(const Vector& x);

/// x·Φ(x) = x/2·(1 + erf(x/√2)), which `gelu` approximates to 5e-4.
Vector gelu_exact(const Vector& x);

/// max(x, 0); its derivative at 0 is 0.
Vector relu(const Vector& x);

/// x/(1 + exp(−x)), also named swish (Elfwing et al., 1702.03118).
Vector silu(const Vector& x);

/// The activation of this name: "gelu", "gelu_exact", "relu" or "silu". @throws Error that lists them.
Vector activate(const std::string& name, const Vector& x);

}  // namespace riesz
