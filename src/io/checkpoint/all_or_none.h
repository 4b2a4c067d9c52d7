// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "riesz/partition/agreement/side_channel.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// Runs `part` on every worker, and returns once all have run it. If it throws on some of them, every worker
/// throws the first such worker's text as an Error. So a failure on one, such as a full disk, leaves no other
/// waiting, and the program may go on. Collective over P. Cost: a text from each worker to each.
void all_or_none(const Partition& P, const std::function<void()>& part);

/// The same among the threads that meet in a side channel.
void all_or_none(const SideChannel& channel, const std::function<void()>& part);

}  // namespace riesz
