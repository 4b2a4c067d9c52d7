// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Looks at documents of XML.
#pragma once

#include <regex>
#include <string>
#include <vector>

namespace riesz::testing {

inline std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

/// Is every element closed, in order?
inline bool well_formed(const std::string& text) {
  static const std::regex kTag("<(/?)([a-z]+)((?:\\s+[A-Za-z0-9-]+=\"[^\"<&]*\")*)\\s*(/?)>");
  std::vector<std::string> open;
  std::string rest;
  std::string::const_iterator from = text.begin();
  for (const std::smatch& tag : matches(text, kTag)) {
    rest.append(from, tag[0].first);
    from = tag[0].second;
    if (tag[1].length() == 0 && tag[4].length() == 0) open.push_back(tag[2]);
    if (tag[1].length() == 1) {
      if (open.empty() || open.back() != tag[2]) return false;
      open.pop_back();
    }
  }
  rest.append(from, text.end());
  return open.empty() && rest.find_first_of("<>") == std::string::npos;
}

}  // namespace riesz::testing
