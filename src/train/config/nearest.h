// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// Letters inserted, deleted or replaced, and neighbours exchanged, to make one text of the other.
std::size_t distance_of(std::string_view a, std::string_view b);

/// The name that a mistyped word most likely means: the first that begins with the word. Else the nearest of
/// which at most one letter in three differs, or a single one. "" if there is none.
std::string nearest_of(std::string_view word, const std::vector<std::string>& names);

}  // namespace riesz
