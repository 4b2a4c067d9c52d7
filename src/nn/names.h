// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace riesz {

/// True if the pattern matches the path: * stands for any characters but dots, ? for one, and [a-b] for an
/// integer from a to b: "transformer.h.[0-11]". Only an empty pattern matches the root, whose path is empty.
/// @throws Error on a [ without ], or without a range of integers in between.
bool name_matches(const std::string& pattern, const std::string& path);

/// The paths, with commas between, as such patterns: "h.0", "h.1", "h.2" are "h.[0-2]".
std::string shortened(const std::vector<std::string>& paths);

}  // namespace riesz
