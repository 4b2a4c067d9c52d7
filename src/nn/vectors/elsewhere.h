// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::detail {

/// The value, on a worker outside of Y's partition, of a vector that others compute of `from`. It has no
/// volume, the first one's type, a gradient where one of them has, and an identity of its own, as there. A
/// pipeline tells by these, on all workers alike, what is sent and whether a gradient comes back. Local.
Vector elsewhere(const Space& Y, const std::vector<at::Tensor>& from);

}  // namespace riesz::detail
