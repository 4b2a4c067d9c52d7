// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "riesz/partition/vector.h"

namespace riesz {

class Module;

// What a model's own code decides by, where its stages lie on different workers: all of them go the same way.

/// The global tensor of a vector that some stage has computed, on the workers of all stages of a placed
/// model; of one that is not placed, on those of x. Without gradient. Collective over all of them: each waits
/// until that stage has come there.
///
///     while (known_everywhere(*this, norm_of(x)).item<double>() > 1) x = part_(x);
at::Tensor known_everywhere(const Module& model, const Vector& x);

/// The text that the first worker of a stage gives, of any length, which the others need not know: what they
/// give is not read. As collective.
std::string known_everywhere(const Module& model, int stage, const std::string& text);

}  // namespace riesz
