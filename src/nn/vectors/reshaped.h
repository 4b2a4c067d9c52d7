// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// Neighbouring dims of one shape that become neighbouring dims of another: [begin, end) of each.
struct DimGroup {
  int from;
  int from_end;
  int to;
  int to_end;
};

/// The space of X's vectors in another shape, as `reshape` says. The groups are all dims of both, in order.
/// @throws Error as there.
Space reshaped(const Space& X, const std::vector<std::int64_t>& shape, const std::vector<DimGroup>& groups);
/// The same with the finest possible groups.
Space reshaped(const Space& X, const std::vector<std::int64_t>& shape);

/// @throws Error naming both unless every worker holds the same elements in X and in Y, in the same row-major
/// order.
void check_same_elements(const Space& X, const Space& Y);

}  // namespace riesz::detail
