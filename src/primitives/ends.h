// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::primitives {

/// @throws Error naming both spaces unless they are on one partition, of one shape, and on every one of `axes` the
/// domain is placed as one of `from` and the range as one of `to`.
void check_ends(const std::string& name, const Space& X, const Space& Y, const std::vector<int>& axes,
                const std::vector<Placement>& from, const std::vector<Placement>& to);

}  // namespace riesz::primitives
