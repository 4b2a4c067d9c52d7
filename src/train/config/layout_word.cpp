// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/layout_word.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/train/config/nearest.h"

namespace riesz {
namespace {

/// "2x1" as {2, 1}; empty where it is nothing of the kind.
std::vector<std::int64_t> counts_in(const std::string& text) {
  std::vector<std::int64_t> counts;
  const char* at = text.data();
  const char* const last = at + text.size();
  for (bool more = true; more; at += more ? 1 : 0) {
    const auto [end, error] = std::from_chars(at, last, counts.emplace_back());
    if (error != std::errc() || counts.back() < 1) return {};
    at = end;
    more = at != last && *at == 'x';
  }
  return at == last ? counts : std::vector<std::int64_t>{};
}

/// What is wrong with a part of the word.
std::string fault_of(const std::string& part, const std::string& axis, std::size_t counts) {
  const std::vector<std::string>& axes = axes_of_layouts();
  if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
    const std::string near = nearest_of(axis, axes);
    return concat(in_quotes(part), " is no axis and its extent",
                  near.empty() ? "" : concat("; did you mean ", in_quotes(near), "?"));
  }
  if (axis == "space" && counts > 0)
    return concat(in_quotes(part), " has ", counts, counts == 1 ? " number" : " numbers",
                  "; space has rows x columns, such as space2x1");
  return in_quotes(part) + " is no extent";
}

}  // namespace

const std::vector<std::string>& axes_of_layouts() {
  static const std::vector<std::string> axes{"pp", "dp", "ep", "space", "sp", "tp"};
  return axes;
}

std::vector<AxisExtent> extents_of(const std::string& origin, const std::string& text) {
  const char* const rule =
      "; it must be axes (pp, dp, ep, space, sp, tp) with their extents, such as dp2.tp4 or dp2.space2x2";
  const std::string what = concat(origin, ": layout is ", in_quotes(text));
  std::vector<AxisExtent> all;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '.');) {
    const std::string axis = part.substr(0, std::min(part.find_first_of("0123456789"), part.size()));
    const std::vector<std::int64_t> counts = counts_in(part.substr(axis.size()));
    const bool known = std::count(axes_of_layouts().begin(), axes_of_layouts().end(), axis) > 0;
    RIESZ_CHECK(known && counts.size() == (axis == "space" ? 2U : 1U), what, ", where ",
                fault_of(part, axis, counts.size()), rule);
    for (const AxisExtent& before : all)
      RIESZ_CHECK(before.axis != axis, what, ", which names ", axis, " twice");
    all.push_back({axis, counts});
  }
  RIESZ_CHECK(!all.empty() && !text.ends_with('.'), what, rule);
  return all;
}

}  // namespace riesz
