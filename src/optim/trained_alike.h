// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/nn/parameter.h"

namespace riesz {

/// With RIESZ_CHECK=1, checks that the workers of each parameter's partition train the same parameters. What
/// backward leaves out for a frozen weight follows from this, so a worker that freezes one alone would leave
/// the others waiting. `whole` and `Zero`, which are `what`, call it with all that they are given. Collective
/// over the partitions, one after another; without checks, local.
/// @throws Error on all workers of a partition, naming the first parameter that differs and who has it how.
void check_trained_alike(const std::string& what, const std::vector<Parameter>& parameters);

}  // namespace riesz
