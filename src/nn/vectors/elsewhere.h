// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::detail {

/// A zero-volume stand-in, on a worker outside of Y's partition, for a vector that others compute from
/// `from`. It has the first one's type, requires a gradient where one of them does, and has an identity of
/// its own. By these a pipeline knows, on all workers alike, what is sent and whether a gradient comes back.
/// `constant`: all that it is computed from are constants, so it is one. Local.
Vector elsewhere(const Space& Y, const std::vector<at::Tensor>& from, bool constant = false);

}  // namespace riesz::detail
