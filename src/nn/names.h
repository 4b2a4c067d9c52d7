// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace riesz {

/// Does the pattern mean this path? Both are names with dots between; in a name of the pattern * stands for
/// any run of characters, ? for one, and [a-b] for an integer from a to b: "transformer.h.[0-11]". The
/// root, whose path is empty, is only meant by an empty pattern.
bool name_matches(const std::string& pattern, const std::string& path);

/// The paths, with commas between, as such patterns: "h.0", "h.1", "h.2" are "h.[0-2]".
std::string shortened(const std::vector<std::string>& paths);

}  // namespace riesz
