// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace riesz {

/// An axis of a layout and its workers: "tp" and {4}, "space" and {2, 1}.
struct AxisExtent {
  std::string axis;
  std::vector<std::int64_t> counts;
};

/// The axes that a layout may have; layout.AXIS is the key of each.
const std::vector<std::string>& axes_of_layouts();

/// The axes that a layout in one word names: of "dp2.tp4" dp and tp. Its grammar:
///
///     layout = part { "." part }     part = axis extent     extent = count { "x" count }
///     axis = "pp" | "dp" | "ep" | "space" | "sp" | "tp"
///
/// Each axis is there at most once, in any order, with a count of 1 or more; space with two of them.
/// @throws Error naming `origin`, the word and its part that is wrong.
std::vector<AxisExtent> extents_of(const std::string& origin, const std::string& text);

}  // namespace riesz
