// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/partition.h"

namespace riesz {

/// The ranks in the job of its workers, "0, 1"; for messages, where grids of other workers print alike.
std::string ranks_of(const Partition& P);

}  // namespace riesz
