// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "riesz/partition/partition.h"

namespace riesz {

/// Runs `part` on this worker. Where it throws an Error on any, all throw that of the first such worker,
/// after all have come so far. What fails on one worker, such as a full disk, so leaves none waiting, and a
/// program may go on. Collective over P; cost: a text of each to each.
void all_or_none(const Partition& P, const std::function<void()>& part);

}  // namespace riesz
