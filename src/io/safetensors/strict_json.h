// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace riesz {

using Json = nlohmann::json;

/// The JSON object that a text is. In each object a name may stand once, and objects and lists may be nested
/// at most `deepest` deep. @throws Error that begins with `what` and says which rule is broken, and where.
Json strict_json(const std::string& what, std::string_view text, int deepest = 100);

/// The JSON that a text is, of any kind; of a name that stands twice in an object the last counts.
/// @throws Error that begins with `what` where it is none, or is nested deeper (`check_nesting`).
Json json_of(const std::string& what, std::string_view text);

/// What reads or writes nested objects and lists calls itself, so a text that is nothing but brackets would
/// take all of the stack. @throws Error that begins with `what` where they are nested more than `deepest`
/// deep.
void check_nesting(const std::string& what, std::string_view text, int deepest = 100);

/// What a message says of a text that is no JSON behind "is no JSON": where it stops being any. Of its
/// parser's exception.
std::string where_no_json(std::string_view text, const Json::exception& error);

}  // namespace riesz
