// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/json/strict_json.h"

#include <algorithm>
#include <set>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

/// The names on the way to where a parser is, each object's so far.
class Names {
 public:
  Names(const std::string& what, int deepest) : what_(what), deepest_(deepest) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    const bool begins = event == Event::object_start || event == Event::array_start;
    RIESZ_CHECK(!begins || depth <= deepest_, what_, place(), ": objects and lists more than ", deepest_,
                " deep");
    if (event == Event::object_start) objects_.emplace_back();
    if (event == Event::object_end) objects_.pop_back();
    if (event == Event::key) add(parsed.get_ref<const std::string&>());
    return true;
  }

 private:
  struct Object {
    std::set<std::string> names;
    std::string last;
  };

  void add(const std::string& name) {
    Object& object = objects_.back();
    object.last.clear();
    RIESZ_CHECK(object.names.insert(name).second, what_, place(), ": the name ", in_quotes(name),
                " stands there twice");
    object.last = name;
  }

  std::string place() const {
    std::string path;
    for (const Object& object : objects_) {
      if (!object.last.empty()) path += (path.empty() ? ", in " : " / ") + in_quotes(object.last);
    }
    return path;
  }

  const std::string& what_;
  int deepest_;
  std::vector<Object> objects_;
};

/// Where a text stops being JSON, by its parser's exception: what a message says behind "is no JSON".
std::string where_no_json(std::string_view text, const Json::exception& error) {
  const auto* const fault = dynamic_cast<const Json::parse_error*>(&error);
  if (fault == nullptr) return ": a number in it is too great";
  if (fault->byte > text.size()) return concat(": it ends too early, after ", text.size(), " bytes");
  const std::size_t begin = std::max<std::size_t>(fault->byte, 1) - 1;
  return concat(" from byte ", begin + 1, " of ", text.size(), " on, ", in_quotes(text.substr(begin, 20)));
}

/// The parser takes a byte 0 for the text's end, and would pass over all that follows.
void check_no_zero(const std::string& what, std::string_view text) {
  const std::size_t zero = text.find('\0');
  RIESZ_CHECK(zero == std::string_view::npos, what, " is no JSON: byte ", zero + 1, " of ", text.size(),
              " is 0");
}

}  // namespace

void check_nesting(const std::string& what, std::string_view text, int deepest) {
  check_no_zero(what, text);
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++at;
    if (quoted) continue;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    RIESZ_CHECK(depth <= deepest, what, ": objects and lists more than ", deepest, " deep");
  }
}

Json json_of(const std::string& what, std::string_view text) {
  check_nesting(what, text);
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    throw_error(concat(what, " is no JSON", where_no_json(text, error)));
  }
}

Json strict_json(const std::string& what, std::string_view text, int deepest) {
  check_no_zero(what, text);
  Names names(what, deepest);
  Json object;
  try {
    object =
        Json::parse(text.begin(), text.end(), [&](int depth, Json::parse_event_t event, const Json& parsed) {
          return names(depth, event, parsed);
        });
  } catch (const Json::exception& error) {
    throw_error(concat(what, " is no JSON", where_no_json(text, error)));
  }
  RIESZ_CHECK(object.is_object(), what, " is no JSON object");
  return object;
}

}  // namespace riesz
