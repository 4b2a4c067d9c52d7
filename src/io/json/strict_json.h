// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace riesz {

using Json = nlohmann::json;

/// Parses a text that is a JSON object. In each object a name may occur once. Objects and lists may be nested
/// at most `deepest` deep.
/// @throws Error that begins with `what` and says which rule is broken, and where.
Json strict_json(const std::string& what, std::string_view text, int deepest = 100);

/// Parses a text of any JSON. Where a name occurs twice in an object, the last counts.
/// @throws Error that begins with `what` where it is no JSON, or is nested too deep (`check_nesting`).
Json json_of(const std::string& what, std::string_view text);

/// @throws Error that begins with `what` where objects and lists are nested more than `deepest` deep. Values
/// are read and written by recursion, so a text of brackets could use up the stack. Also where a byte of it
/// is 0, which the parser would take for its end.
void check_nesting(const std::string& what, std::string_view text, int deepest = 100);

}  // namespace riesz
