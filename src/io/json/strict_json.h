// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace riesz {

using Json = nlohmann::json;

/// The JSON object that a text is. In each object a name may stand once, and objects and lists may be nested
/// at most `deepest` deep.
/// @throws Error that begins with `what` and says which rule is broken, and where.
Json strict_json(const std::string& what, std::string_view text, int deepest = 100);

/// The JSON of a text, of any kind. Where a name stands twice in an object, the last counts.
/// @throws Error that begins with `what` where it is none, or is nested deeper (`check_nesting`).
Json json_of(const std::string& what, std::string_view text);

/// @throws Error that begins with `what` where objects and lists are nested more than `deepest` deep. The
/// parser's values are read and written by recursion, and a text of nothing but brackets would take all of
/// the stack. Also where a byte of it is 0, which the parser takes for its end.
void check_nesting(const std::string& what, std::string_view text, int deepest = 100);

}  // namespace riesz
