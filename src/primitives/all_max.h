// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// The maximum of the workers' values along `axes`, element by element, the same bits on all of them. It is
/// not linear, so it has no gradient and does not touch the Chain; it is called in program order. Local
/// tensors have one shape along the axes. Collective over the fibres; cost as AllReduce.
at::Tensor all_max(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x);

/// The minimum, likewise.
at::Tensor all_min(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x);

/// True if the flag is set on any, or on every, worker along the axes. The same answer on all of them; cost
/// as all_max of one element.
bool any_flag(const Partition& partition, const std::vector<std::string>& axes, bool flag);
bool every_flag(const Partition& partition, const std::vector<std::string>& axes, bool flag);

/// A barrier: returns once every worker of the partition has called it. Effects before it, such as a written
/// file, come before effects after it on all workers. It does not wait for started calls (`Pending`) or
/// messages under way. Collective over the partition; cost as any_flag.
void wait_for_all(const Partition& partition);

}  // namespace riesz
