// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// The greatest of the workers' values along `axes`, element by element, the same bits on all of them. Not linear, so
/// without gradient: it takes part in program order and leaves the Chain alone. Local
/// tensors have one shape along the axes. Collective over the fibres; cost as AllReduce.
at::Tensor all_max(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x);

}  // namespace riesz
