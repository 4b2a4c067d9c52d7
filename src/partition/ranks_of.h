// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/partition.h"

namespace riesz {

/// The ranks in the job of P's workers, such as "0, 1". For error texts: grids of other workers print alike.
std::string ranks_of(const Partition& P);

}  // namespace riesz
