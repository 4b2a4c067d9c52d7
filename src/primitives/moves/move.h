// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// The move of this name from X to Y along these axes. @throws Error as `check_ends` does.
Step named_move(std::string_view name, const Space& X, const Space& Y, const std::vector<int>& axes);
/// The same between two partitions, where no axis is compared.
Step named_move(std::string_view name, const Space& X, const Space& Y);

}  // namespace riesz::primitives
