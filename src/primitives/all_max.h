// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// The greatest of the workers' values along `axes`, element by element, the same bits on all of them. Not
/// linear, so without gradient: it takes part in program order and leaves the Chain alone. Local tensors have
/// one shape along the axes. Collective over the fibres; cost as AllReduce.
at::Tensor all_max(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x);

/// The least, likewise.
at::Tensor all_min(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x);

/// Is the flag set on any, or on every, worker along the axes? The same answer on all of them; cost as
/// all_max of one.
bool any_flag(const Partition& partition, const std::vector<std::string>& axes, bool flag);
bool every_flag(const Partition& partition, const std::vector<std::string>& axes, bool flag);

/// A barrier: returns once every worker of the partition has called it. What each did before, such as writing
/// a file, comes before what any does after. It waits for workers, not for what was started (`Pending`) or is
/// still on its way. Collective over the partition; cost as any_flag.
void wait_for_all(const Partition& partition);

}  // namespace riesz
