// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/layout.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// The greatest q for which q^power divides n, leaving at least `least`.
std::int64_t root(std::int64_t n, int power, std::int64_t least) {
  std::int64_t best = 1;
  for (std::int64_t q = 2; q * q <= n; ++q) {
    std::int64_t whole = 1;
    for (int i = 0; i < power; ++i) whole *= q;
    if (n % whole == 0 && n / whole >= least) best = q;
  }
  return best;
}

/// The axes that a tensor layout makes of tp workers, or nothing where it cannot.
std::optional<std::vector<Axis>> tensor_axes(const std::string& tensor, std::int64_t tp) {
  const auto extent = [](std::int64_t n) { return static_cast<int>(n); };
  if (tensor == "1d" || tensor == "sp") return std::vector<Axis>{{"tp", extent(tp)}};
  if (tensor == "2d") {
    std::int64_t rows = 1;
    for (std::int64_t q = 2; q * q <= tp; ++q) rows = tp % q == 0 ? q : rows;
    if (tp > 1 && rows == 1) return std::nullopt;
    return std::vector<Axis>{{"row", extent(rows)}, {"column", extent(tp / rows)}};
  }
  if (tensor == "2.5d") {
    const std::int64_t q = root(tp, 2, 2);
    if (tp > 1 && q == 1) return std::nullopt;
    return std::vector<Axis>{{"depth", extent(tp / (q * q))}, {"row", extent(q)}, {"column", extent(q)}};
  }
  const std::int64_t q = root(tp, 3, 1);
  if (q * q * q != tp) return std::nullopt;
  return std::vector<Axis>{{"a", extent(q)}, {"b", extent(q)}, {"c", extent(q)}};
}

const char* needs(const std::string& tensor) {
  if (tensor == "2d") return "rows x columns, both above 1: 4, 6, 8, 9 …";
  if (tensor == "2.5d") return "depth x rows x rows, depth and rows above 1: 8, 12, 16, 18 …";
  return "a cube: 8, 27 …";
}

/// Greatest first.
std::set<std::int64_t, std::greater<>> divisors(std::int64_t n) {
  std::set<std::int64_t, std::greater<>> all;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d == 0) all.insert({d, n / d});
  }
  return all;
}

/// Do tp of the ranks make this tensor layout, and not by name only?
bool makes(const std::string& tensor, std::int64_t tp, std::int64_t ranks) {
  return tensor_axes(tensor, tp) && (tp > 1 || tensor == "1d" || ranks == 1);
}

/// Such as `layout.tp = 2`.
template <class Value>
std::string setting(const char* what, const Value& value) {
  return concat("layout.", what, " = ", value);
}

/// The settings of the first few layouts.
std::string text_of(const std::vector<Config::Layout>& layouts, bool with_sp) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, layouts.size()); ++i) {
    text += concat(i > 0 ? ", or " : "", setting("dp", layouts[i].dp), ", ");
    if (with_sp) text += setting("sp", layouts[i].sp) + ", ";
    text += setting("tp", layouts[i].tp);
  }
  return text + (layouts.size() > kShown ? " …" : "");
}

}  // namespace

std::vector<Config::Layout> layouts_on(std::int64_t ranks, const std::string& tensor,
                                       const std::string& sequence) {
  std::vector<Config::Layout> all;
  for (const std::int64_t tp : divisors(ranks)) {
    if (!makes(tensor, tp, ranks)) continue;
    for (const std::int64_t sp : divisors(ranks / tp)) {
      if (ranks > 1 && (sp > 1) != (sequence != "none")) continue;
      all.push_back({.dp = ranks / tp / sp, .tp = tp, .sp = sp, .tensor = tensor, .sequence = sequence});
    }
  }
  return all;
}

std::string product_of(const Config::Layout& layout) {
  const bool stages = layout.pp > 1;
  return concat(stages ? "layout.pp x " : "",
                "layout.dp x layout.sp x layout.tp = ", stages ? concat(layout.pp, " x ") : "", layout.dp,
                " x ", layout.sp, " x ", layout.tp);
}

std::string possible_layouts(std::int64_t ranks, const Config::Layout& wanted) {
  const std::string job = concat("on ", ranks, ranks == 1 ? " rank" : " ranks");
  if (ranks % wanted.pp != 0) {
    std::string stages;
    for (const std::int64_t pp : divisors(ranks)) stages += concat(stages.empty() ? "" : " or ", pp);
    return concat(job, ": ", setting("pp", stages));
  }
  const std::int64_t of_stage = ranks / wanted.pp;
  const std::string where = wanted.pp > 1 ? concat(job, " with ", setting("pp", wanted.pp)) : job;
  const bool shared = wanted.sequence != "none";
  const auto fitting = layouts_on(of_stage, wanted.tensor, wanted.sequence);
  if (!fitting.empty()) return concat(where, ": ", text_of(fitting, shared || wanted.sp != 1));
  std::string others;
  for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
    if (layouts_on(of_stage, tensor, wanted.sequence).empty()) continue;
    others += concat(others.empty() ? "" : ", ", '"', tensor, '"');
  }
  const std::string with = shared ? concat(" with layout.sequence = \"", wanted.sequence, '"') : "";
  return concat(where, " there is no \"", wanted.tensor, '"', with, ", but ", others);
}

std::vector<Axis> layout_axes(const Config::Layout& layout) {
  const auto possible = [&] {
    return possible_layouts(layout.pp * layout.dp * layout.sp * layout.tp, layout);
  };
  RIESZ_CHECK(
      layout.sp == 1 || layout.sequence != "none", "layout.sp = ", layout.sp,
      " workers share each sequence, but layout.sequence = \"none\" leaves it whole; set it to \"ring\" or "
      "\"ulysses\", or layout.sp to 1; ",
      possible());
  const bool alone = layout.dp == 1 && layout.tp == 1;
  RIESZ_CHECK(layout.sp > 1 || layout.sequence == "none" || alone, "layout.sequence = \"", layout.sequence,
              "\" shares each sequence among layout.sp workers, but layout.sp = 1 leaves it whole; set "
              "layout.sequence to \"none\", or layout.sp above 1; ",
              possible());
  const auto tensor = tensor_axes(layout.tensor, layout.tp);
  RIESZ_CHECK(tensor.has_value(), "layout.tensor = \"", layout.tensor, "\" needs layout.tp workers that are ",
              needs(layout.tensor), ", not ", layout.tp, "; ", possible());
  std::vector<Axis> axes{{"dp", static_cast<int>(layout.dp)}};
  if (layout.sequence != "none") axes.push_back({"sp", static_cast<int>(layout.sp)});
  axes.insert(axes.end(), tensor->begin(), tensor->end());
  return axes;
}

std::vector<Axis> job_axes(const Config::Layout& layout) {
  std::vector<Axis> axes = layout_axes(layout);
  if (layout.pp > 1) axes.insert(axes.begin(), {"pp", static_cast<int>(layout.pp)});
  return axes;
}

}  // namespace riesz
